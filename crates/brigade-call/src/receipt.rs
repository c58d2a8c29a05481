//! The receipt of a run: what ran, by whose agreement, and what came of it.

use brigade_core::{Json, Object, Timestamp};
use thiserror::Error;

/// A receipt as it stands in its file.
///
/// Keeps the whole document, also of other versions and programs, and reads from it what lists and checks need.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    document: Object,
}

/// A JSON value that is not a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a receipt: {0}")]
pub struct NotAReceipt(&'static str);

impl Receipt {
    /// Wraps a document.
    ///
    /// # Errors
    /// When it has no texts `id`, `call_id` and `status`.
    pub fn from_json(document: Json) -> Result<Receipt, NotAReceipt> {
        let Json::Object(document) = document else {
            return Err(NotAReceipt("expected an object"));
        };
        for (key, problem) in [
            ("id", "`id` must be a text"),
            ("call_id", "`call_id` must be a text"),
            ("status", "`status` must be a text"),
        ] {
            if document.get(key).and_then(Json::as_str).is_none() {
                return Err(NotAReceipt(problem));
            }
        }
        Ok(Receipt { document })
    }

    /// Returns the whole document.
    pub fn document(&self) -> &Object {
        &self.document
    }

    /// Gives the document away.
    pub fn into_document(self) -> Object {
        self.document
    }

    /// Returns the bytes of the receipt's file: indented JSON with a final newline.
    pub fn to_bytes(&self) -> Vec<u8> {
        Json::Object(self.document.clone()).to_pretty().into_bytes()
    }

    /// Returns the run's id.
    pub fn id(&self) -> &str {
        self.text("id").unwrap_or_default()
    }

    /// Returns the call's id.
    pub fn call_id(&self) -> &str {
        self.text("call_id").unwrap_or_default()
    }

    /// Returns the word for how the run ended.
    pub fn status(&self) -> &str {
        self.text("status").unwrap_or_default()
    }

    /// Returns the tool's id.
    pub fn tool_id(&self) -> &str {
        self.text("tool_id").unwrap_or_default()
    }

    /// Returns when the run started.
    pub fn started_at(&self) -> Option<Timestamp> {
        self.text("started_at")?.parse().ok()
    }

    /// Returns when the run ended.
    pub fn completed_at(&self) -> Option<Timestamp> {
        self.text("completed_at")?.parse().ok()
    }

    /// Returns the exit code.
    pub fn exit_code(&self) -> Option<i64> {
        self.document.get("exit_code")?.as_i64()
    }

    /// Returns the text that newest-first lists are sorted by: when it started, else when it ended, else its id.
    pub fn sort_key(&self) -> &str {
        self.text("started_at").or_else(|| self.text("completed_at")).unwrap_or_else(|| self.id())
    }

    /// Returns a member that is a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.document.get(key)?.as_str()
    }
}

#[cfg(test)]
mod tests;
