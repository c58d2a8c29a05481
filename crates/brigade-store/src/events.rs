//! What happened to manifests and executions.

use brigade_core::json::from_json;
use brigade_core::{Json, Timestamp};
use rusqlite::{Row, Transaction, params};
use serde::{Deserialize, Serialize};

use crate::error::{StoreError, damaged};
use crate::store::{Store, json, time};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    /// Its number among those of its execution, from 1. Events of a manifest alone have 0.
    pub sequence: i64,
    /// What, as a word.
    pub event_type: String,
    /// More about it.
    pub payload: Json,
    /// Where in a workflow. A record has it in the payload.
    pub visited: Visited,
    /// When.
    pub recorded_at: Timestamp,
}

/// Where in a workflow something happened. Other executions and manifests have no states.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visited {
    /// The state.
    pub state: Option<String>,
    /// How often the execution had come to it then.
    pub visit: Option<i64>,
}

/// What an event is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    pub(crate) manifest: Option<&'a str>,
    pub(crate) execution: Option<&'a str>,
}

impl<'a> About<'a> {
    pub(crate) fn manifest(id: &'a str) -> About<'a> {
        About { manifest: Some(id), execution: None }
    }
}

/// Adds an event whose payload has texts alone.
pub(crate) fn add_event(
    transaction: &Transaction<'_>,
    about: &About<'_>,
    event_type: &str,
    payload: &[(&str, &str)],
    now: Timestamp,
) -> Result<(), StoreError> {
    let payload = Json::object(payload.iter().map(|(name, text)| (*name, Json::from(*text))));
    add_event_with(transaction, about, event_type, &payload, now)
}

/// Adds an event.
pub(crate) fn add_event_with(
    transaction: &Transaction<'_>,
    about: &About<'_>,
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
            // Such as `null`, where there is no more to say.
            _ => Visited::default(),
        },
        payload,
        recorded_at: time(row, "recorded_at")?,
    })
}

/// Reads a page of events, the oldest first, and how many there are in all.
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
    let mut statement = transaction.prepare(&sql)?;
    let (limit, offset) =
        (i64::try_from(limit).unwrap_or(i64::MAX), i64::try_from(offset).unwrap_or(i64::MAX));
    let rows = statement.query_map(params![id, limit, offset], read)?;
    Ok((rows.collect::<Result<_, _>>()?, usize::try_from(total).unwrap_or_default()))
}

impl Store {
    /// Lists what happened to a manifest, also after it was deleted: a page, the oldest first, and the true total.
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
