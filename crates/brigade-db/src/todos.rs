//! The todo list of a session.

use brigade_core::{ErrorCode, Timestamp, words};
use rusqlite::{OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::store::{Store, stored};

words! {
    /// The status of an entry.
    TodoStatus {
        /// Work has not begun.
        Pending = "pending",
        /// Work has begun.
        InProgress = "in_progress",
        /// It is done.
        Completed = "completed",
    }
}

/// The maximum number of entries of a list.
pub const MAX_TODOS: usize = 200;

/// The maximum length of an entry, in characters.
pub const MAX_TODO: usize = 2_000;

/// How long the list of a session is kept after its last change, in days.
const RETENTION_DAYS: i64 = 30;

/// An entry of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// Its id within the list.
    pub id: String,
    /// The task.
    pub content: String,
    /// Its status.
    #[serde(with = "status")]
    pub status: TodoStatus,
}

/// Serializes a status as a word.
mod status {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::TodoStatus;

    pub(super) fn serialize<S: Serializer>(status: &TodoStatus, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(status.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TodoStatus, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Store {
    /// Replaces the list of a session. Also removes lists that did not change for a month.
    ///
    /// # Errors
    /// Returns `too_long` for too many or too long entries, and `duplicate_id` for an id that appears twice. Also fails
    /// on a disk error.
    pub fn write_todos(&self, session: &str, todos: &[Todo], now: Timestamp) -> Result<(), StoreError> {
        if MAX_TODOS < todos.len() {
            return Err(StoreError::refused(
                ErrorCode::TooLong,
                format!("a list has at most {MAX_TODOS} entries"),
            ));
        }
        for (index, todo) in todos.iter().enumerate() {
            if MAX_TODO < todo.content.chars().count() {
                let message = format!("an entry has at most {MAX_TODO} characters");
                return Err(StoreError::refused(ErrorCode::TooLong, message));
            }
            if todos[..index].iter().any(|other| other.id == todo.id) {
                return Err(StoreError::refused(ErrorCode::DuplicateId, "an id appears twice in the list"));
            }
        }
        let items = serde_json::to_string(todos).map_err(|error| StoreError::Database(error.to_string()))?;
        let oldest = now.unix_micros() - RETENTION_DAYS * 86_400_000_000;
        self.change(|transaction| {
            transaction.execute("DELETE FROM todo WHERE updated_at < ?1", [oldest])?;
            transaction.execute(
                "INSERT INTO todo (session, items, updated_at) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (session) DO UPDATE SET items = ?2, updated_at = ?3",
                params![session, items, now.unix_micros()],
            )?;
            Ok(())
        })
    }

    /// Returns the list of a session. It is empty until it is first written.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn read_todos(&self, session: &str) -> Result<Vec<Todo>, StoreError> {
        self.look(|transaction| {
            let sql = "SELECT items FROM todo WHERE session = ?1";
            let items = transaction.query_row(sql, [session], |row| stored(row, "items")).optional()?;
            Ok(items.unwrap_or_default())
        })
    }
}
