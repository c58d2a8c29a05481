//! `.brigade/tools/discovered.json`: what was found when somebody looked last.

use std::collections::BTreeMap;

use brigade_core::json::{from_json, write_document};
use brigade_core::{Dialect, Json, Timestamp};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::found::{DiscoveredEntry, DiscoveryIssue, EntryOrigin, changed_members};

/// The schema id of the file.
const SCHEMA: &str = "brigade.discovered.v1";

/// What the ids of all versions begin with.
const SCHEMA_OF_ANY_VERSION: &str = "brigade.discovered.v";

/// What was found, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    schema: String,
    /// When it was written.
    pub made_at: Timestamp,
    /// The entries.
    pub entries: Vec<DiscoveredEntry>,
    /// The issues.
    pub issues: Vec<DiscoveryIssue>,
}

/// Why the file is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotRemembered {
    /// A newer version wrote it.
    #[error("a newer version of Brigade wrote it")]
    Newer,
    /// It is something else.
    #[error("it is damaged")]
    Damaged,
}

/// An entry that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ChangedEntry {
    /// The id of the entry.
    pub id: String,
    /// The members that changed.
    pub fields: Vec<String>,
}

/// How what was found differs from what was remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Ids that are new.
    pub added: Vec<String>,
    /// Entries that changed.
    pub changed: Vec<ChangedEntry>,
    /// Ids that are gone.
    pub removed: Vec<String>,
    /// How many entries are as they were.
    pub unchanged: usize,
}

impl Remembered {
    /// Remembers what was found.
    pub fn new(made_at: Timestamp, entries: Vec<DiscoveredEntry>, issues: Vec<DiscoveryIssue>) -> Remembered {
        Remembered { schema: SCHEMA.to_owned(), made_at, entries, issues }
    }

    /// Reads the file.
    ///
    /// # Errors
    /// Fails if it is of a newer version, or damaged.
    pub fn parse(bytes: &[u8]) -> Result<Remembered, NotRemembered> {
        let json = Json::parse_bytes(bytes, Dialect::Lenient).map_err(|_| NotRemembered::Damaged)?;
        let read = from_json::<Remembered>(&json).ok().filter(|read| read.schema == SCHEMA);
        let id = json.get("schema").and_then(Json::as_str).unwrap_or_default();
        let is_newer = id != SCHEMA && id.starts_with(SCHEMA_OF_ANY_VERSION);
        read.ok_or(if is_newer { NotRemembered::Newer } else { NotRemembered::Damaged })
    }

    /// Writes the file.
    pub fn to_text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        write_document(&mut text, self).expect("a document is written to memory");
        text
    }

    /// Puts what was remembered of files that cannot be read now back into what is found. `is_unread` takes paths.
    pub fn keep(&self, is_unread: impl Fn(&str) -> bool, now: &mut Vec<DiscoveredEntry>) {
        for entry in &self.entries {
            let origins = || entry.origins.iter().filter(|origin| is_unread(&origin.path)).cloned();
            let is_same = |other: &&mut DiscoveredEntry| {
                other.fingerprint == entry.fingerprint
                    && other.source == entry.source
                    && other.name == entry.name
            };
            if let Some(same) = now.iter_mut().find(is_same) {
                let new = |origin: &EntryOrigin| {
                    !same.origins.iter().any(|known| known.reference == origin.reference)
                };
                let origins: Vec<EntryOrigin> = origins().filter(new).collect();
                same.origins.extend(origins);
                continue;
            }
            let Some(first) = origins().next() else { continue };
            let is_taken = now.iter().any(|other| other.id == entry.id);
            let id = if is_taken { first.reference } else { entry.id.clone() };
            let enabled = origins().any(|origin| origin.enabled);
            now.push(DiscoveredEntry { id, enabled, origins: origins().collect(), ..entry.clone() });
        }
        now.sort_by(|left, right| {
            (&left.source, &left.name, &left.id).cmp(&(&right.source, &right.name, &right.id))
        });
    }

    /// Compares with what is found now.
    pub fn compare(&self, now: &[DiscoveredEntry]) -> Difference {
        let by_id = |entries: &[DiscoveredEntry]| -> BTreeMap<String, usize> {
            entries.iter().enumerate().map(|(at, entry)| (entry.id.clone(), at)).collect()
        };
        let (before, after) = (by_id(&self.entries), by_id(now));
        let mut difference = Difference::default();
        for (id, at) in &after {
            match before.get(id) {
                None => difference.added.push(id.clone()),
                Some(earlier) => {
                    let fields = changed_members(&self.entries[*earlier], &now[*at]);
                    if fields.is_empty() {
                        difference.unchanged += 1;
                    } else {
                        difference.changed.push(ChangedEntry { id: id.clone(), fields });
                    }
                }
            }
        }
        difference.removed = before.into_keys().filter(|id| !after.contains_key(id)).collect();
        difference
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{harness, natives};

    fn remembered() -> Remembered {
        let entries = natives(harness("gemini").unwrap(), "/bin/gemini");
        Remembered::new(Timestamp::from_unix_micros(0), entries, Vec::new())
    }

    #[test]
    fn what_is_written_reads_back() {
        let text = remembered().to_text();
        assert_eq!(Remembered::parse(&text), Ok(remembered()));
        let text = String::from_utf8(text).unwrap();
        assert_eq!(Remembered::parse(text.replace(".v1", ".v2").as_bytes()), Err(NotRemembered::Newer));
        for broken in ["", "{", "[]", &text.replace("\"entries\"", "\"rows\""), &text[..text.len() / 2]] {
            assert_eq!(Remembered::parse(broken.as_bytes()), Err(NotRemembered::Damaged));
        }
    }

    #[test]
    fn what_a_file_said_stays_while_it_cannot_be_read() {
        let before = remembered();
        let mut now = before.entries[1..].to_vec();
        before.keep(|path| path == "/bin/other", &mut now);
        assert_eq!(now.len(), 7);
        before.keep(|path| path == "/bin/gemini", &mut now);
        assert_eq!(now, before.entries);
        let mut moved = before.entries.clone();
        moved[0].origins[0].line = Some(7);
        assert_eq!(before.compare(&moved), Difference { unchanged: 8, ..Difference::default() });
    }

    #[test]
    fn differences_are_named_by_field() {
        let before = remembered();
        assert_eq!(before.compare(&before.entries), Difference { unchanged: 8, ..Difference::default() });
        let mut after = before.entries.clone();
        after[0].enabled = false;
        after[0].cwd = Some("x".to_owned());
        let gone = after.remove(1);
        let new = DiscoveredEntry { id: "mcp:new".to_owned(), ..gone.clone() };
        after.push(new);
        let difference = before.compare(&after);
        assert_eq!((difference.added, difference.removed), (vec!["mcp:new".to_owned()], vec![gone.id]));
        let fields = vec!["cwd".to_owned(), "enabled".to_owned()];
        assert_eq!(difference.changed, [ChangedEntry { id: "harness:gemini.glob".to_owned(), fields }]);
        assert_eq!(difference.unchanged, 6);
    }
}
