//! The transport of 2024-11-05: one stream of the server's messages, and an address for those of the client.

use std::collections::HashMap;
use std::io::BufReader;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use brigade_core::Json;
use brigade_core::web_url::WebUrl;
use ureq::http::Method;

use super::exchange::is_answer;
use super::{Bridge, MAX_MESSAGE_BYTES, Message, Step, next_message};
use crate::error::RemoteError;
use crate::events::next_event;

/// The requests that wait for an answer in the stream.
type Waiting = Arc<Mutex<HashMap<String, Json>>>;

/// Carries messages. The stream is opened for the first request.
pub(super) fn carry(bridge: &Arc<Bridge>, taken: &Receiver<Step>) {
    let waiting = Waiting::default();
    let mut place: Option<WebUrl> = None;
    while let Some(message) = next_message(taken) {
        let sent = match &place {
            Some(place) => send(bridge, place, &message, &waiting),
            None => open(bridge, &waiting).and_then(|opened| {
                let opened = place.insert(opened);
                send(bridge, opened, &message, &waiting)
            }),
        };
        if let (Err(error), Some(id)) = (sent, &message.id) {
            waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id.to_compact());
            bridge.fail(id, &error);
        }
    }
}

/// Opens the stream, and returns the address that it names for messages.
fn open(bridge: &Arc<Bridge>, waiting: &Waiting) -> Result<WebUrl, RemoteError> {
    let not_mcp = |why: &str| RemoteError::NotMcp { origin: bridge.url.origin(), why: why.to_owned() };
    let (answer, _) = bridge.ask(&bridge.client, &Method::GET, &bridge.url, None, None)?;
    if answer.status != 200 {
        return Err(RemoteError::Status { origin: bridge.url.origin(), status: answer.status });
    }
    if answer.media_type != "text/event-stream" {
        return Err(not_mcp("it does not answer with a stream; a newer server needs `transport = \"http\"`"));
    }
    let base = answer.url.clone();
    let mut stream = BufReader::new(answer.stream());
    let place = loop {
        match next_event(&mut stream, MAX_MESSAGE_BYTES) {
            Ok(Some(event)) if event.name == "endpoint" => {
                break base
                    .join(event.data.trim())
                    .map_err(|_| not_mcp("it names no address for messages"))?;
            }
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return Err(not_mcp("its stream names no address for messages")),
        }
    };
    if place.origin() != base.origin() {
        return Err(RemoteError::Redirect(place.origin()));
    }
    let (reading, waiting) = (Arc::clone(bridge), Arc::clone(waiting));
    thread::spawn(move || {
        while let Ok(Some(event)) = next_event(&mut stream, MAX_MESSAGE_BYTES) {
            let Ok(json) = Json::parse(&event.data) else { continue };
            if let Some(id) = json.get("id").filter(|id| is_answer(&json, id)) {
                waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id.to_compact());
            }
            reading.pass(&event.data);
        }
        let left = std::mem::take(&mut *waiting.lock().unwrap_or_else(PoisonError::into_inner));
        for id in left.values() {
            reading.fail(id, &RemoteError::Ended(reading.url.origin()));
        }
        reading.stop();
    });
    Ok(place)
}

fn send(bridge: &Bridge, place: &WebUrl, message: &Message, waiting: &Waiting) -> Result<(), RemoteError> {
    if let Some(id) = &message.id {
        waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_compact(), id.clone());
    }
    let (answer, _) = bridge.ask(&bridge.short, &Method::POST, place, Some(&message.json), None)?;
    match answer.status {
        200..=299 => Ok(()),
        status => Err(RemoteError::Status { origin: place.origin(), status }),
    }
}
