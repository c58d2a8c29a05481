//! Events of the page, and the streams that tell browsers of them.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use futures_core::Stream;
use serde::Serialize;
use tokio::sync::{mpsc, watch};

use crate::answer;

/// How often a stream without events shows that it is alive.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);

/// The number of events that a browser can miss and still get.
const KEPT_EVENTS: usize = 1_024;

/// A change of something that the page shows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Change {
    #[serde(skip)]
    pub(crate) kind: ChangeKind,
    pub(crate) id: String,
    pub(crate) status: String,
    pub(crate) revision: u64,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ChangeKind {
    Call,
    Checkpoint,
    Run,
    Runner,
    Decision,
    Task,
}

impl ChangeKind {
    fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Call => "call",
            ChangeKind::Checkpoint => "checkpoint",
            ChangeKind::Run => "run",
            ChangeKind::Runner => "runner",
            ChangeKind::Decision => "decision",
            ChangeKind::Task => "task",
        }
    }
}

/// The last events.
pub(crate) struct Events {
    /// Differs for each server, so that an id of another one means nothing here.
    epoch: String,
    log: Mutex<EventLog>,
    last: watch::Sender<u64>,
}

#[derive(Default)]
struct EventLog {
    /// The number of the last event.
    last: u64,
    events: VecDeque<(u64, Change)>,
}

impl Events {
    pub(crate) fn new(epoch: String) -> Events {
        Events { epoch, log: Mutex::default(), last: watch::Sender::new(0) }
    }

    fn log(&self) -> MutexGuard<'_, EventLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells all streams of changes.
    pub(crate) fn add(&self, changes: impl IntoIterator<Item = Change>) {
        let mut log = self.log();
        for change in changes {
            log.last += 1;
            let number = log.last;
            log.events.push_back((number, change));
        }
        let surplus = log.events.len().saturating_sub(KEPT_EVENTS);
        log.events.drain(..surplus);
        self.last.send_replace(log.last);
    }

    /// Returns the number after which a stream continues, and whether nothing is missing there.
    fn place(&self, last_event_id: Option<&str>) -> (u64, bool) {
        let log = self.log();
        let number = last_event_id
            .and_then(|id| id.strip_prefix(&self.epoch)?.strip_prefix('-')?.parse::<u64>().ok())
            .filter(|number| *number <= log.last && log.last - number <= log.events.len() as u64);
        (number.unwrap_or(log.last), number.is_some())
    }

    /// Writes the events after a number, and returns the number of the last.
    fn after(&self, number: u64, out: &mut String) -> u64 {
        let log = self.log();
        for (number, change) in log.events.iter().filter(|(events, _)| number < *events) {
            let data = serde_json::to_string(change).expect("plain members are JSON");
            let (epoch, kind) = (&self.epoch, change.kind.as_str());
            let _ = write!(out, "id: {epoch}-{number}\nevent: {kind}\ndata: {data}\n\n");
        }
        log.last
    }
}

/// Answers with a stream that ends at a time, with `permit`, or when the browser leaves.
pub(crate) fn stream<P: Send + 'static>(
    events: Arc<Events>,
    last_event_id: Option<&str>,
    until: Instant,
    permit: P,
) -> Response {
    let (mut number, is_complete) = events.place(last_event_id);
    let mut last = events.last.subscribe();
    let (sender, receiver) = mpsc::channel(8);
    let hello = format!(
        "retry: 1000\nid: {}-{number}\nevent: hello\ndata: {{\"complete\":{is_complete}}}\n\n",
        events.epoch
    );
    tokio::spawn(async move {
        let _permit = permit;
        let mut text = hello;
        loop {
            last.mark_unchanged();
            number = events.after(number, &mut text);
            if !text.is_empty() && sender.send(Bytes::from(std::mem::take(&mut text))).await.is_err() {
                return;
            }
            tokio::select! {
                changed = last.changed() => if changed.is_err() {
                    return;
                },
                () = tokio::time::sleep(COMMENT_INTERVAL) => text.push_str(": still here\n\n"),
                () = tokio::time::sleep_until(until.into()) => return,
                () = sender.closed() => return,
            }
        }
    });
    answer::text(StatusCode::OK, "text/event-stream", Body::from_stream(Frames(receiver)))
}

/// The parts of a stream.
struct Frames(mpsc::Receiver<Bytes>);

impl Stream for Frames {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(Ok))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(id: &str) -> Change {
        Change { kind: ChangeKind::Call, id: id.to_owned(), status: "pending".to_owned(), revision: 1 }
    }

    #[test]
    fn a_stream_continues_after_the_last_event() {
        let events = Events::new("e1".to_owned());
        events.add([change("a"), change("b")]);
        let (number, is_complete) = events.place(Some("e1-1"));
        assert_eq!((number, is_complete), (1, true));
        let mut text = String::new();
        assert_eq!(events.after(number, &mut text), 2);
        let data = r#"{"id":"b","status":"pending","revision":1}"#;
        assert_eq!(text, format!("id: e1-2\nevent: call\ndata: {data}\n\n"));
        for id in [None, Some("e2-1"), Some("e1-3"), Some("e1"), Some("x")] {
            assert_eq!(events.place(id), (2, false), "{id:?}");
        }
    }

    #[test]
    fn an_event_that_is_no_longer_kept_is_missing() {
        let events = Events::new("e1".to_owned());
        events.add((0..2_000).map(|number| change(&number.to_string())));
        assert_eq!(events.place(Some("e1-1000")), (1_000, true));
        assert_eq!(events.place(Some("e1-900")), (2_000, false));
    }
}
