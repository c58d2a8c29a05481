//! Streamable HTTP: requests, notifications, the stream of the server's own messages, and the end of the session.

use std::io::BufReader;
use std::thread;
use std::time::Duration;

use brigade_core::Json;
use ureq::http::Method;

use super::{Bridge, MAX_MESSAGE_BYTES, Message};
use crate::error::RemoteError;
use crate::events::{StreamProblem, next_event};
use crate::http::{Answer, Ask, Client};

/// How often a broken stream is continued without a new event.
const MAX_CONTINUATIONS: usize = 5;

/// How long to wait before a broken stream is continued.
const CONTINUE_INTERVAL: Duration = Duration::from_secs(1);

/// The maximum size of the body of an error, in bytes.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// The id of our own first request of a new session.
const RENEWAL_ID: &str = "brigade-new-session";

const EVENT_STREAM: &str = "text/event-stream";

/// The session that the server gave.
#[derive(Default)]
pub(crate) struct Session {
    id: Option<String>,
    /// The revision of the protocol, once it is known.
    version: Option<String>,
    /// The first request of the client, for a new session.
    first: Option<Json>,
    /// How many sessions there were.
    count: u64,
}

impl Bridge {
    /// Makes a request with the headers of the connection and the session. Returns the session that it was made in.
    pub(crate) fn ask(
        &self,
        client: &Client,
        method: &Method,
        url: &brigade_core::web_url::WebUrl,
        body: Option<&Json>,
        last_event: Option<&str>,
    ) -> Result<(Answer, u64), RemoteError> {
        let mut may_repeat = true;
        loop {
            let (session, version, count) = {
                let session = self.session();
                (session.id.clone(), session.version.clone(), session.count)
            };
            let stated = body.and_then(|body| {
                body.get("params")?.get("_meta")?.get("io.modelcontextprotocol/protocolVersion")?.as_str()
            });
            let accept = match *method {
                Method::GET => EVENT_STREAM,
                _ => "application/json, text/event-stream",
            };
            let mut headers = vec![("Accept".to_owned(), accept.to_owned())];
            let mut add = |name: &str, value: Option<String>| {
                headers.extend(value.map(|value| (name.to_owned(), value)));
            };
            add("Content-Type", body.map(|_| "application/json".to_owned()));
            add("MCP-Protocol-Version", version.or_else(|| stated.map(str::to_owned)));
            add("Last-Event-ID", last_event.map(str::to_owned));
            let mut own_headers = self.access.headers(&self.short, self.now())?;
            let credentials = own_headers.clone();
            own_headers.extend(session.map(|id| ("Mcp-Session-Id".to_owned(), id)));
            let body = body.map(|body| body.to_compact().into_bytes()).unwrap_or_default();
            let answer = client.ask(&Ask { method: method.clone(), url, headers, own_headers, body })?;
            let is_refused = answer.status == 401
                || (answer.status == 403
                    && answer
                        .header("www-authenticate")
                        .is_some_and(|text| text.contains("insufficient_scope")));
            if !is_refused {
                return Ok((answer, count));
            }
            self.access.replace(&credentials, &self.short, self.now())?;
            if !std::mem::take(&mut may_repeat) {
                return Err(RemoteError::LoginRequired);
            }
        }
    }

    /// Makes a POST request, in a new session if the server has forgotten this one.
    fn post(&self, client: &Client, body: &Json) -> Result<Answer, RemoteError> {
        let post = || self.ask(client, &Method::POST, &self.url, Some(body), None);
        let (answer, count) = post()?;
        if answer.status != 404 || self.session().id.is_none() {
            return Ok(answer);
        }
        self.renew_session(count)?;
        Ok(post()?.0)
    }

    /// Begins a new session with the first request of the client, unless another thread has done it.
    fn renew_session(&self, forgotten: u64) -> Result<(), RemoteError> {
        let first = {
            let mut session = self.session();
            if session.count != forgotten {
                return Ok(());
            }
            (session.id, session.count) = (None, forgotten + 1);
            session.first.clone()
        };
        let Some(Json::Object(mut first)) = first else { return Ok(()) };
        first.insert("id".to_owned(), Json::from(RENEWAL_ID));
        let first = Json::Object(first);
        let (answer, _) = self.ask(&self.short, &Method::POST, &self.url, Some(&first), None)?;
        self.take_session(&answer);
        let answered = self.read_answer(answer, &Json::from(RENEWAL_ID), &mut |_, _| {});
        if answered?.get("result").is_none() {
            return Err(self.not_mcp("it does not begin a new session"));
        }
        let ready = Json::object([
            ("jsonrpc", Json::from("2.0")),
            ("method", Json::from("notifications/initialized")),
        ]);
        self.ask(&self.short, &Method::POST, &self.url, Some(&ready), None).map(drop)
    }

    fn take_session(&self, answer: &Answer) {
        let is_plain = |id: &String| {
            !id.is_empty() && id.len() <= 4096 && id.bytes().all(|byte| byte.is_ascii_graphic())
        };
        self.session().id = answer.header("mcp-session-id").filter(is_plain);
    }

    fn not_mcp(&self, why: &str) -> RemoteError {
        RemoteError::NotMcp { origin: self.url.origin(), why: why.to_owned() }
    }

    /// Reads the answer to a request: JSON, or a stream. `take` gets every message with its text.
    fn read_answer(
        &self,
        answer: Answer,
        id: &Json,
        take: &mut dyn FnMut(&str, &Json),
    ) -> Result<Json, RemoteError> {
        let (origin, status) = (answer.url.origin(), answer.status);
        if !(200..300).contains(&status) {
            // Some servers answer with an error of the protocol.
            let body = answer.read(MAX_ERROR_BYTES).unwrap_or_default();
            let json = std::str::from_utf8(&body).ok().and_then(|text| Json::parse(text).ok());
            return match json {
                Some(Json::Object(mut json)) if json.contains_key("error") && json.contains_key("jsonrpc") => {
                    json.insert("id".to_owned(), id.clone());
                    let json = Json::Object(json);
                    take(&json.to_compact(), &json);
                    Ok(json)
                }
                _ if matches!(status, 404 | 405) => Err(self.not_mcp(&format!(
                    "it answers with status {status}; a server of the older transport needs `transport = \"sse\"`"
                ))),
                _ => Err(RemoteError::Status { origin, status }),
            };
        }
        if answer.media_type != EVENT_STREAM {
            if answer.media_type != "application/json" {
                let kind = short(&answer.media_type);
                return Err(self.not_mcp(&format!("it answers with `{kind}` and not with JSON or a stream")));
            }
            let body = answer.read(MAX_MESSAGE_BYTES)?;
            let text = String::from_utf8_lossy(&body);
            let json = Json::parse(&text).map_err(|_| self.not_mcp("its answer is not JSON"))?;
            let all = match &json {
                Json::Array(all) => all.clone(),
                one => vec![one.clone()],
            };
            all.iter().for_each(|json| take(&json.to_compact(), json));
            let found = all.into_iter().find(|json| is_answer(json, id));
            return found.ok_or_else(|| self.not_mcp("its answer is for another request"));
        }
        self.read_stream(answer, id, take)
    }

    /// Reads a stream until it has the answer, and continues it where it breaks.
    fn read_stream(
        &self,
        mut answer: Answer,
        id: &Json,
        take: &mut dyn FnMut(&str, &Json),
    ) -> Result<Json, RemoteError> {
        let origin = answer.url.origin();
        let mut last = None;
        let mut tries = 0;
        loop {
            let mut stream = BufReader::new(answer.stream());
            loop {
                match next_event(&mut stream, MAX_MESSAGE_BYTES) {
                    Ok(Some(event)) => {
                        tries = 0;
                        last = event.id.clone().or(last);
                        let Ok(json) = Json::parse(&event.data) else { continue };
                        take(&event.data, &json);
                        if is_answer(&json, id) {
                            return Ok(json);
                        }
                    }
                    Err(StreamProblem::TooLong) => return Err(RemoteError::TooLong(origin)),
                    Ok(None) | Err(StreamProblem::Broken) => break,
                }
            }
            tries += 1;
            let Some(event) = last.as_deref().filter(|_| tries <= MAX_CONTINUATIONS) else {
                return Err(RemoteError::Ended(origin));
            };
            thread::park_timeout(CONTINUE_INTERVAL);
            (answer, _) = self.ask(&self.client, &Method::GET, &self.url, None, Some(event))?;
            if answer.status != 200 || answer.media_type != EVENT_STREAM {
                return Err(RemoteError::Ended(origin));
            }
        }
    }
}

/// Makes a request of the client, and passes on the answer and what comes with it.
pub(super) fn request(bridge: &Bridge, message: &Message, id: &Json) -> Result<(), RemoteError> {
    let is_first = message.method() == Some("initialize");
    if is_first {
        let mut session = bridge.session();
        let count = session.count + 1;
        *session = Session { first: Some(message.json.clone()), count, ..Session::default() };
    }
    let answer = bridge.post(&bridge.client, &message.json)?;
    if is_first && answer.status < 300 {
        bridge.take_session(&answer);
    }
    bridge.read_answer(answer, id, &mut |text, json| {
        if is_first && let Some(version) = json.get("result").and_then(|result| result.get("protocolVersion"))
        {
            bridge.session().version = version.as_str().map(str::to_owned);
        }
        bridge.pass(text);
    })?;
    Ok(())
}

/// Sends a notification or a response of the client. It has no answer, so an error is not reported.
pub(super) fn notify(bridge: &Bridge, message: &Message) -> Result<(), RemoteError> {
    let answer = bridge.post(&bridge.short, &message.json)?;
    match answer.status {
        200..=299 => Ok(()),
        status => Err(RemoteError::Status { origin: bridge.url.origin(), status }),
    }
}

/// Passes on what the server sends without a request. Many servers offer no such stream.
pub(super) fn listen(bridge: &Bridge) {
    let mut last: Option<String> = None;
    let mut tries = 0;
    while tries < MAX_CONTINUATIONS {
        let asked = bridge.ask(&bridge.client, &Method::GET, &bridge.url, None, last.as_deref());
        match asked {
            Ok((answer, _)) if answer.status == 200 && answer.media_type == EVENT_STREAM => {
                let mut stream = BufReader::new(answer.stream());
                while let Ok(Some(event)) = next_event(&mut stream, MAX_MESSAGE_BYTES) {
                    tries = 0;
                    last = event.id.or(last);
                    if Json::parse(&event.data).is_ok() {
                        bridge.pass(&event.data);
                    }
                }
            }
            Ok((answer, _)) if answer.status < 500 => return,
            _ => {}
        }
        tries += 1;
        thread::park_timeout(CONTINUE_INTERVAL);
    }
}

/// Ends the session.
pub(super) fn end(bridge: &Bridge) {
    if bridge.session().id.is_some() {
        // The server may not support it.
        let _ = bridge.ask(&bridge.short, &Method::DELETE, &bridge.url, None, None);
    }
}

/// Returns whether a message is the answer to a request. Some servers return a number as text.
pub(super) fn is_answer(json: &Json, id: &Json) -> bool {
    let text = |id: &Json| id.as_str().map_or_else(|| id.to_compact(), str::to_owned);
    let is_same = json.get("id").is_some_and(|answered| text(answered) == text(id));
    is_same && (json.get("result").is_some() || json.get("error").is_some())
}

fn short(kind: &str) -> String {
    kind.chars().filter(|c| c.is_ascii_graphic()).take(60).collect()
}
