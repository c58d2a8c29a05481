//! What agents remember.

use brigade_core::json::{from_json, to_json};
use serde::{Deserialize, Serialize};

use super::*;

/// The structured result of `memory.add`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryAdded {
    /// Whether the memory was saved.
    pub saved: bool,
    /// `candidate`, `promoted` or `rejected`.
    pub durability: String,
    /// Its id.
    pub id: Option<String>,
    /// Its tier.
    pub tier: Option<i64>,
    /// Whether an equal memory existed.
    pub deduped: bool,
    /// The id of the memory that it was merged into.
    pub merged_into_id: Option<String>,
    /// Why it was not saved, or saved otherwise than it was asked for.
    pub reason: Option<String>,
}

impl MemoryAdded {
    /// Returns the result of a memory that was not saved.
    pub fn rejected(reason: &str) -> MemoryAdded {
        MemoryAdded {
            saved: false,
            durability: "rejected".to_owned(),
            id: None,
            tier: None,
            deduped: false,
            merged_into_id: None,
            reason: Some(reason.to_owned()),
        }
    }

    /// Reads the text of a result. `None` if the text is cut or of another tool.
    pub fn read(text: &str) -> Option<MemoryAdded> {
        from_json(&Json::parse(text).ok()?).ok()
    }

    /// Writes the result as a document.
    pub fn to_json(&self) -> Json {
        to_json(self).expect("a result is JSON")
    }
}
