//! The file `.brigade/tools/connected.json`: which entries Brigade wrote, and where.

use brigade_core::json::{from_json, write_document};
use brigade_core::{Dialect, Json, Timestamp};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::edit::Traces;

/// The schema id of the file.
const SCHEMA: &str = "brigade.connected.v1";

/// The prefix that the schema ids of all versions share.
const SCHEMA_OF_ANY_VERSION: &str = "brigade.connected.v";

/// The entries that Brigade wrote, in the order of their files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectedEntries {
    schema: String,
    /// The entries.
    pub entries: Vec<ConnectedEntry>,
}

/// An entry that Brigade wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectedEntry {
    /// The client.
    pub client: String,
    /// `project` or `user`.
    pub scope: String,
    /// `stdio` or `http`.
    pub transport: String,
    /// The agent that the client acts as.
    #[serde(rename = "as")]
    pub agent: String,
    /// The file: relative to the workspace, beginning with `~/`, or absolute.
    pub path: String,
    /// The entry as written.
    pub entry: Json,
    /// What was created around the entry.
    pub traces: Traces,
    /// When it was last written.
    pub written_at: Timestamp,
}

/// Why the file is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ConnectedFileError {
    /// A newer version of Brigade wrote it.
    #[error("a newer version of Brigade wrote it")]
    Newer,
    /// It is damaged or something else.
    #[error("it cannot be read")]
    Broken,
}

impl Default for ConnectedEntries {
    fn default() -> ConnectedEntries {
        ConnectedEntries { schema: SCHEMA.to_owned(), entries: Vec::new() }
    }
}

impl ConnectedEntries {
    /// Reads the file.
    ///
    /// # Errors
    /// Fails if a newer version wrote the file, or if it is damaged.
    pub fn parse(bytes: &[u8]) -> Result<ConnectedEntries, ConnectedFileError> {
        let json = Json::parse_bytes(bytes, Dialect::Lenient).map_err(|_| ConnectedFileError::Broken)?;
        let read = from_json::<ConnectedEntries>(&json).ok().filter(|read| read.schema == SCHEMA);
        let id = json.get("schema").and_then(Json::as_str).unwrap_or_default();
        let is_newer = id != SCHEMA && id.starts_with(SCHEMA_OF_ANY_VERSION);
        read.ok_or(if is_newer { ConnectedFileError::Newer } else { ConnectedFileError::Broken })
    }

    /// Serializes the file.
    pub fn to_text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        write_document(&mut text, self).expect("a document is written to memory");
        text
    }

    /// Returns the entry that was written to a file.
    pub fn entry(&self, client: &str, path: &str) -> Option<&ConnectedEntry> {
        self.entries.iter().find(|entry| entry.client == client && entry.path == path)
    }

    /// Records an entry. Replaces an earlier one of the same file.
    pub fn note(&mut self, entry: ConnectedEntry) {
        self.forget(&entry.client, &entry.path);
        self.entries.push(entry);
        self.entries.sort_by(|left, right| (&left.path, &left.client).cmp(&(&right.path, &right.client)));
    }

    /// Forgets the entry of a file. Returns whether there was one.
    pub fn forget(&mut self, client: &str, path: &str) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| !(entry.client == client && entry.path == path));
        self.entries.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_read_back_and_newer_ones_are_left() {
        let entry = |path: &str| ConnectedEntry {
            client: "cursor".to_owned(),
            scope: "project".to_owned(),
            transport: "stdio".to_owned(),
            agent: "local".to_owned(),
            path: path.to_owned(),
            entry: Json::object([("command", Json::from("brigade"))]),
            traces: Traces { container: true, ..Traces::default() },
            written_at: Timestamp::from_unix_micros(0),
        };
        let mut connected = ConnectedEntries::default();
        connected.note(entry("b"));
        connected.note(entry("a"));
        connected.note(entry("b"));
        let text = connected.to_text();
        assert_eq!(ConnectedEntries::parse(&text), Ok(connected.clone()));
        assert_eq!(connected.entries.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!(connected.forget("cursor", "a") && !connected.forget("cursor", "a"));
        let text = String::from_utf8(text).unwrap();
        let newer = text.replace(".v1", ".v2").replace("entries", "rows");
        assert_eq!(ConnectedEntries::parse(newer.as_bytes()), Err(ConnectedFileError::Newer));
        for broken in ["", "[]", "{}", &text.replace("\"path\"", "\"paths\"")] {
            assert_eq!(
                ConnectedEntries::parse(broken.as_bytes()),
                Err(ConnectedFileError::Broken),
                "{broken}"
            );
        }
    }
}
