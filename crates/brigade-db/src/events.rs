//! Events of manifests and executions.

use brigade_core::json::{from_json, to_json};
use brigade_core::{Json, Object, Timestamp};
use rusqlite::{Row, Transaction, params};
use serde::{Deserialize, Serialize};

use crate::error::{StoreError, damaged};
use crate::store::{self, Store, json, list, time};

/// A stored event.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    /// The number among the events of its execution, from 1. Events of a manifest alone have 0.
    pub sequence: i64,
    /// The type of the event.
    pub event_type: String,
    /// The details of the event.
    pub payload: Json,
    /// Where in a workflow it happened. Records keep this in the payload.
    pub visited: StateVisit,
    /// When it happened.
    pub recorded_at: Timestamp,
}

/// The place of an event in a workflow. Tasks and manifests have no states.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StateVisit {
    /// The state.
    pub state: Option<String>,
    /// How often the execution had entered the state.
    pub visit: Option<u64>,
}

/// What an event belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventSubject<'a> {
    pub(crate) manifest: Option<&'a str>,
    pub(crate) execution: Option<&'a str>,
}

impl<'a> EventSubject<'a> {
    pub(crate) fn manifest(id: &'a str) -> EventSubject<'a> {
        EventSubject { manifest: Some(id), execution: None }
    }
}

/// An event of a manifest or an execution. The variant gives the stored type, and the members give the payload.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names of the members are what is stored")]
pub enum Event<'a> {
    /// A manifest was deployed for the first time.
    Deployed { version: &'a str, by: &'a str },
    /// A manifest was deployed again.
    Updated { version: &'a str, by: &'a str },
    /// The scope of a manifest changed.
    ScopeChanged { scope: &'a str, by: &'a str },
    /// A manifest was deleted.
    Deleted { by: &'a str },
    /// A task was created.
    TaskCreated { execution_id: &'a str, by: &'a str, version: &'a str },
    /// The first try of a task began.
    TaskStarted { run_id: &'a str },
    /// A try of a task began.
    IterationStarted { iteration: u64, run_id: &'a str },
    /// A try of a task ended.
    IterationEnded {
        iteration: u64,
        run_id: &'a str,
        exit_code: Option<i64>,
        code: Option<&'a str>,
        message: Option<&'a str>,
    },
    /// A task ended.
    TaskEnded { status: &'a str, code: Option<&'a str>, message: Option<&'a str> },
    /// A message waits for the next try of a task.
    MessageSent { message_id: &'a str, by: &'a str },
    /// An execution of a workflow began.
    WorkflowStarted { by: &'a str, version: &'a str },
    /// A workflow came to a state.
    StateEntered,
    /// A state asked for a call.
    CallAsked { call_id: &'a str, tool: &'a str },
    /// A state began an approved call.
    CallBegun { call_id: &'a str },
    /// A state asked a person.
    PersonAsked { question: &'a str },
    /// A person answered a state.
    PersonAnswered { by: &'a str },
    /// A person said what an interrupted call had done.
    OutcomeTold { answer: &'a str },
    /// A state ended, with its outcome.
    StateEnded(Object),
    /// A person or an agent changed the blackboard of a workflow.
    BlackboardWritten { members: Vec<&'a str> },
    /// The workflow was paused: it enters no new state.
    WorkflowPaused,
    /// The workflow was resumed.
    WorkflowResumed,
    /// Another process drives a workflow.
    WorkflowTakenOver,
    /// An execution of a workflow ended.
    WorkflowEnded { status: &'a str, code: Option<&'a str>, message: Option<&'a str> },
}

impl Event<'_> {
    /// Returns the type and the payload of the event. The payload is `null` if there are no details.
    pub(crate) fn parts(&self) -> (String, Json) {
        match to_json(self).expect("an event is JSON") {
            Json::Object(event) => event.into_iter().next().expect("an event has one name"),
            word => (word.as_str().unwrap_or_default().to_owned(), Json::Null),
        }
    }
}

/// Adds an event.
pub(crate) fn add_event(
    transaction: &Transaction<'_>,
    about: &EventSubject<'_>,
    event: &Event<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (event_type, payload) = event.parts();
    add_parts(transaction, about, &event_type, &payload, now)
}

/// Adds an event with a payload that has more details than the event.
pub(crate) fn add_parts(
    transaction: &Transaction<'_>,
    about: &EventSubject<'_>,
    event_type: &str,
    payload: &Json,
    now: Timestamp,
) -> Result<(), StoreError> {
    transaction.execute(
        "INSERT INTO event (manifest, execution, sequence, event_type, payload, recorded_at) VALUES (?1, ?2, \
         CASE WHEN ?2 IS NULL THEN 0 ELSE (SELECT count(*) + 1 FROM event WHERE execution = ?2) END, ?3, ?4, ?5)",
        params![about.manifest, about.execution, event_type, payload.to_compact(), now.unix_micros()],
    )?;
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<StoredEvent> {
    let payload = json(row, "payload")?;
    Ok(StoredEvent {
        sequence: row.get("sequence")?,
        event_type: row.get("event_type")?,
        visited: match &payload {
            Json::Object(_) => from_json(&payload).map_err(|_| damaged("payload"))?,
            // For example `null`, if there are no details.
            _ => StateVisit::default(),
        },
        payload,
        recorded_at: time(row, "recorded_at")?,
    })
}

/// Reads a page of events, oldest first, and their total number.
pub(crate) fn page(
    transaction: &Transaction<'_>,
    column: &str,
    id: &str,
    limit: usize,
    offset: usize,
) -> Result<(Vec<StoredEvent>, usize), StoreError> {
    let count = format!("SELECT count(*) FROM event WHERE {column} = ?1");
    let total: i64 = transaction.query_row(&count, [id], |row| row.get(0))?;
    let sql = format!(
        "SELECT sequence, event_type, payload, recorded_at FROM event WHERE {column} = ?1 ORDER BY row LIMIT ?2 OFFSET ?3"
    );
    let events = list(transaction, &sql, params![id, store::limit(limit), store::limit(offset)], read)?;
    Ok((events, usize::try_from(total).unwrap_or_default()))
}

impl Store {
    /// Lists the events of a manifest, even if it was deleted: a page, oldest first, and the total number.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn manifest_events(
        &self,
        id: &str,
        limit: usize,
        offset: usize,
    ) -> Result<(Vec<StoredEvent>, usize), StoreError> {
        self.look(|transaction| page(transaction, "manifest", id, limit, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_word_and_its_members() {
        for (event, word, payload) in [
            (Event::StateEntered, "state_entered", "null"),
            (Event::Deleted { by: "ada" }, "deleted", r#"{"by":"ada"}"#),
            (
                Event::TaskEnded { status: "completed", code: None, message: None },
                "task_ended",
                r#"{"code":null,"message":null,"status":"completed"}"#,
            ),
            (
                Event::StateEnded(Object::from([("status".to_owned(), Json::from("success"))])),
                "state_ended",
                r#"{"status":"success"}"#,
            ),
            (
                Event::BlackboardWritten { members: vec!["a", "b"] },
                "blackboard_written",
                r#"{"members":["a","b"]}"#,
            ),
        ] {
            let (found, members) = event.parts();
            assert_eq!((found.as_str(), members.to_compact().as_str()), (word, payload));
        }
    }
}
