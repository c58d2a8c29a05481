//! The file `registered.json`: the definitions that tools were registered from. A comparison shows what changed since.

use brigade_core::json::write_document;
use brigade_core::{Dialect, Json};
use serde::Serialize;

use crate::found::{DiscoveredEntry, known};

/// The schema id of the file.
const SCHEMA: &str = "brigade.registered.v1";

/// The definitions from which tools were registered. This is a cache: without it, the catalog entry of a tool is
/// compared instead.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegistrationCache {
    definitions: Vec<DiscoveredEntry>,
}

#[derive(Serialize)]
struct Document {
    schema: String,
    definitions: Vec<DiscoveredEntry>,
}

impl RegistrationCache {
    /// Reads the file. An unreadable file or another version gives an empty cache. Unreadable definitions are skipped.
    pub fn parse(bytes: &[u8]) -> RegistrationCache {
        let Ok(document) = Json::parse_bytes(bytes, Dialect::Lenient) else {
            return RegistrationCache::default();
        };
        let is_of_version = document.get("schema").and_then(Json::as_str) == Some(SCHEMA);
        let definitions = document.get("definitions").and_then(Json::as_array).filter(|_| is_of_version);
        RegistrationCache { definitions: definitions.map(|list| known(list).0).unwrap_or_default() }
    }

    /// Serializes the file.
    pub fn to_text(&self) -> Vec<u8> {
        let document = Document { schema: SCHEMA.to_owned(), definitions: self.definitions.clone() };
        let mut text = Vec::new();
        write_document(&mut text, &document).expect("a document is written to memory");
        text
    }

    /// Adds a definition with its places.
    pub fn add(&mut self, entry: &DiscoveredEntry) {
        let known = self.definitions.iter_mut().find(|known| known.fingerprint == entry.fingerprint);
        let Some(known) = known else {
            self.definitions.push(DiscoveredEntry { registered_as: None, ..entry.clone() });
            return;
        };
        for origin in &entry.origins {
            if !known.origins.contains(origin) {
                known.origins.push(origin.clone());
            }
        }
    }

    /// Adds all definitions of another file.
    pub fn add_all(&mut self, other: &RegistrationCache) {
        other.definitions.iter().for_each(|definition| self.add(definition));
    }

    /// Removes the definitions with other fingerprints than these.
    pub fn keep(&mut self, fingerprints: &[&str]) {
        self.definitions.retain(|known| fingerprints.contains(&known.fingerprint.to_hex().as_str()));
    }

    /// Returns the definition with a fingerprint.
    pub fn definition(&self, fingerprint: &str) -> Option<&DiscoveredEntry> {
        self.definitions.iter().find(|known| known.fingerprint.to_hex() == fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{harness, natives};

    #[test]
    fn definitions_are_kept_by_fingerprint() {
        let entries = natives(harness("gemini").unwrap(), "/bin/gemini");
        let mut registered = RegistrationCache::default();
        entries[..3].iter().chain(&entries[..2]).for_each(|entry| registered.add(entry));
        let read = RegistrationCache::parse(&registered.to_text());
        assert_eq!(read, registered);
        let marks: Vec<String> = entries.iter().map(|entry| entry.fingerprint.to_hex()).collect();
        let found = read.definition(&marks[1]).unwrap();
        assert_eq!((&found.name, &found.origins), (&entries[1].name, &entries[1].origins));
        assert_eq!(read.definition(&marks[3]), None);
        registered.keep(&[&marks[1]]);
        assert_eq!(
            (registered.definition(&marks[0]), registered.definition(&marks[1]).is_some()),
            (None, true)
        );
        registered.add_all(&read);
        assert!(marks[..3].iter().all(|mark| registered.definition(mark).is_some()));
    }

    #[test]
    fn an_unreadable_file_gives_an_empty_cache() {
        let text = String::from_utf8(RegistrationCache::default().to_text()).unwrap();
        for broken in ["", "{", "[]", &text.replace(".v1", ".v2"), &text[..text.len() / 2]] {
            assert_eq!(RegistrationCache::parse(broken.as_bytes()), RegistrationCache::default());
        }
    }
}
