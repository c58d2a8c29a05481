//! The file `.brigade/tools/discovered.json`: the result of the last saved discovery.

use std::collections::BTreeMap;

use brigade_core::json::{from_json, write_document};
use brigade_core::{Dialect, IssueType, Json, Timestamp};
use brigade_macros::part;
use serde::Serialize;
use thiserror::Error;

use crate::found::{DiscoveredEntry, DiscoveryIssue, EntryOrigin, changed_members, known};
use crate::inventory::name_again;

/// The schema id of the file.
const SCHEMA: &str = "brigade.discovered.v1";

/// The prefix that the schema ids of all versions share.
const SCHEMA_OF_ANY_VERSION: &str = "brigade.discovered.v";

/// The result of a discovery, and when it was made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RememberedEntries {
    schema: String,
    /// When it was made.
    pub made_at: Timestamp,
    /// The entries.
    pub entries: Vec<DiscoveredEntry>,
    /// The issues.
    pub issues: Vec<DiscoveryIssue>,
    /// The number of entries and issues that were skipped, because they are damaged or use unknown words.
    #[serde(skip)]
    pub left_out: usize,
}

/// Why the file is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RememberedFileError {
    /// A newer version of Brigade wrote it.
    #[error("a newer version of Brigade wrote it")]
    Newer,
    /// It is damaged or something else.
    #[error("it is damaged")]
    Damaged,
}

/// An entry that changed.
#[part(PartialEq, Eq)]
pub struct ChangedEntry {
    /// The id of the entry.
    pub id: String,
    /// The members that changed.
    pub fields: Vec<String>,
}

/// The difference between the discovered entries and the remembered ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Ids of new entries.
    pub added: Vec<String>,
    /// Entries that changed.
    pub changed: Vec<ChangedEntry>,
    /// Ids of removed entries.
    pub removed: Vec<String>,
    /// The number of unchanged entries.
    pub unchanged: usize,
}

impl RememberedEntries {
    /// Creates the file from the result of a discovery.
    pub fn new(
        made_at: Timestamp,
        entries: Vec<DiscoveredEntry>,
        issues: Vec<DiscoveryIssue>,
    ) -> RememberedEntries {
        RememberedEntries { schema: SCHEMA.to_owned(), made_at, entries, issues, left_out: 0 }
    }

    /// Reads the file. Skips entries and issues that cannot be read.
    ///
    /// # Errors
    /// Fails if a newer version wrote the file, or if it is damaged.
    pub fn parse(bytes: &[u8]) -> Result<RememberedEntries, RememberedFileError> {
        let json = Json::parse_bytes(bytes, Dialect::Lenient).map_err(|_| RememberedFileError::Damaged)?;
        let id = json.get("schema").and_then(Json::as_str).unwrap_or_default();
        if id != SCHEMA {
            let is_newer = id.starts_with(SCHEMA_OF_ANY_VERSION);
            return Err(if is_newer { RememberedFileError::Newer } else { RememberedFileError::Damaged });
        }
        let list = |key| json.get(key).and_then(Json::as_array).ok_or(RememberedFileError::Damaged);
        let made_at =
            json.get("made_at").and_then(|at| from_json(at).ok()).ok_or(RememberedFileError::Damaged)?;
        let (entries, unread_entries) = known(list("entries")?);
        let (issues, unread_issues) = known(list("issues")?);
        Ok(RememberedEntries {
            left_out: unread_entries + unread_issues,
            ..RememberedEntries::new(made_at, entries, issues)
        })
    }

    /// Returns a message about skipped entries and issues, if there are any.
    pub fn says_left_out(&self) -> Option<String> {
        let count = self.left_out;
        (0 < count).then(|| format!("{count} of its records cannot be read and are left out"))
    }

    /// Serializes the file.
    pub fn to_text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        write_document(&mut text, self).expect("a document is written to memory");
        text
    }

    /// Shrinks the result to at most this many bytes: drops the contents of the largest files, with one issue per file.
    pub fn fit(&mut self, limit: usize) {
        let mut size = self.to_text().len();
        let mut told: Vec<DiscoveryIssue> = Vec::new();
        while limit < size {
            let mut by_path: BTreeMap<&str, usize> = BTreeMap::new();
            let of_entries = self.entries.iter().flat_map(|entry| {
                let size = size_of(entry);
                entry.origins.iter().map(move |origin| (origin.path.as_str(), size))
            });
            let of_issues =
                self.issues.iter().filter_map(|issue| Some((issue.path.as_deref()?, size_of(issue))));
            of_entries.chain(of_issues).for_each(|(path, size)| *by_path.entry(path).or_default() += size);
            let mut by_size: Vec<(String, usize)> =
                by_path.into_iter().map(|(path, size)| (path.to_owned(), size)).collect();
            if by_size.is_empty() {
                break;
            }
            by_size.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
            // Drops several files at once and then measures again.
            let all: usize = by_size.iter().map(|(_, size)| size).sum();
            let mut over = (size - limit) / 10 * 9;
            for (path, of_path) in by_size {
                told.extend(self.forget(&path, limit));
                let share = of_path.saturating_mul(size) / all.max(1);
                if over <= share {
                    break;
                }
                over -= share;
            }
            size = self.to_text().len() + told.iter().map(size_of).sum::<usize>();
        }
        self.issues.extend(told);
    }

    /// Drops the contents of a file, and returns an issue for each harness that reads it.
    fn forget(&mut self, path: &str, limit: usize) -> Vec<DiscoveryIssue> {
        let mut harnesses: Vec<Option<String>> = Vec::new();
        for entry in &mut self.entries {
            let is_of = |origin: &EntryOrigin| origin.path == path;
            harnesses
                .extend(entry.origins.iter().filter(|origin| is_of(origin)).map(|o| Some(o.harness.clone())));
            entry.origins.retain(|origin| !is_of(origin));
        }
        self.entries.retain(|entry| !entry.origins.is_empty());
        let is_of = |issue: &DiscoveryIssue| issue.path.as_deref() == Some(path);
        harnesses.extend(self.issues.iter().filter(|issue| is_of(issue)).map(|issue| issue.harness.clone()));
        self.issues.retain(|issue| !is_of(issue));
        harnesses.sort_unstable();
        harnesses.dedup();
        let issue = |harness| {
            let limit = limit >> 20;
            let message =
                format!("the contents of the file are not saved: the cache would exceed {limit} MiB");
            let issue = DiscoveryIssue::new(IssueType::TooManyEntries, message);
            DiscoveryIssue { harness, path: Some(path.to_owned()), ..issue }
        };
        harnesses.into_iter().map(issue).collect()
    }

    /// Restores the remembered entries of files that cannot be read now, and returns their paths. `is_unread` gets
    /// paths. Reports names again whose definitions now differ.
    ///
    /// A skill is found by its directory even if its file cannot be read. In this case the remembered entry replaces
    /// it.
    pub fn keep(
        &self,
        is_unread: impl Fn(&str) -> bool,
        now: &mut Vec<DiscoveredEntry>,
        issues: &mut Vec<DiscoveryIssue>,
    ) -> Vec<String> {
        let mut kept = Vec::new();
        for entry in &self.entries {
            let origins: Vec<EntryOrigin> =
                entry.origins.iter().filter(|origin| is_unread(&origin.path)).cloned().collect();
            if origins.is_empty() {
                continue;
            }
            let is_known = |all: &[EntryOrigin], one: &EntryOrigin| {
                all.iter().any(|known| known.reference == one.reference && known.path == one.path)
            };
            let is_same = |other: &DiscoveredEntry| {
                other.fingerprint == entry.fingerprint
                    && other.source == entry.source
                    && other.name == entry.name
            };
            for other in now.iter_mut().filter(|other| !is_same(other)) {
                other.origins.retain(|origin| !is_known(&origins, origin));
            }
            now.retain(|other| !other.origins.is_empty());
            if let Some(same) = now.iter_mut().find(|other| is_same(other)) {
                let new = origins.into_iter().filter(|origin| !is_known(&same.origins, origin));
                let new: Vec<EntryOrigin> = new.collect();
                kept.extend(new.iter().map(|origin| origin.path.clone()));
                same.origins.extend(new);
                continue;
            }
            let enabled = origins.iter().any(|origin| origin.enabled);
            kept.extend(origins.iter().map(|origin| origin.path.clone()));
            now.push(DiscoveredEntry { enabled, origins, ..entry.clone() });
        }
        if !kept.is_empty() {
            name_again(now, issues);
        }
        now.sort_by(|left, right| {
            (&left.source, &left.name, &left.id).cmp(&(&right.source, &right.name, &right.id))
        });
        kept
    }

    /// Compares with the result of a new discovery.
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

/// Returns the approximate size of a record in the file.
fn size_of(record: &impl Serialize) -> usize {
    let mut text = Vec::new();
    write_document(&mut text, record).expect("a document is written to memory");
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Extent, Inventory, Source, harness, natives, read_config};

    fn remembered() -> RememberedEntries {
        let entries = natives(harness("gemini").unwrap(), "/bin/gemini");
        RememberedEntries::new(Timestamp::from_unix_micros(0), entries, Vec::new())
    }

    #[test]
    fn written_files_are_read_back() {
        let text = remembered().to_text();
        assert_eq!(RememberedEntries::parse(&text), Ok(remembered()));
        let text = String::from_utf8(text).unwrap();
        assert_eq!(
            RememberedEntries::parse(text.replace(".v1", ".v2").as_bytes()),
            Err(RememberedFileError::Newer)
        );
        for broken in ["", "{", "[]", &text.replace("\"entries\"", "\"rows\""), &text[..text.len() / 2]] {
            assert_eq!(RememberedEntries::parse(broken.as_bytes()), Err(RememberedFileError::Damaged));
        }
    }

    #[test]
    fn an_entry_with_an_unknown_word_takes_no_other_down() {
        let text = String::from_utf8(remembered().to_text()).unwrap();
        for (word, other) in [("source", "plugin"), ("family", "hook"), ("scope", "organization")] {
            let at = text.find(&format!("\"{word}\": \"")).unwrap();
            let (before, after) = text.split_at(at + word.len() + 5);
            let changed = format!("{before}{other}{}", &after[after.find('"').unwrap()..]);
            let read = RememberedEntries::parse(changed.as_bytes()).unwrap();
            assert_eq!((&*read.entries, read.left_out), (&remembered().entries[1..], 1), "{word}");
        }
    }

    #[test]
    fn contents_stay_while_a_file_is_unreadable() {
        let before = remembered();
        let mut now = before.entries[1..].to_vec();
        let keep =
            |path: &str, now: &mut Vec<DiscoveredEntry>| before.keep(|of| of == path, now, &mut Vec::new());
        assert_eq!(keep("/bin/other", &mut now), [""; 0]);
        assert_eq!(now.len(), 7);
        assert_eq!(keep("/bin/gemini", &mut now), ["/bin/gemini"]);
        assert_eq!(now, before.entries);
        assert_eq!(keep("/bin/gemini", &mut now), [""; 0]);
        // Issue 15: discovery lists the file without reading it, so its remembered contents are kept.
        now[2].description = None;
        now[2].fingerprint = now[3].fingerprint;
        assert_eq!(keep("/bin/gemini", &mut now), ["/bin/gemini"]);
        assert_eq!(now, before.entries);
        let mut moved = before.entries.clone();
        moved[0].origins[0].line = Some(7);
        assert_eq!(before.compare(&moved), Difference { unchanged: 8, ..Difference::default() });
    }

    /// Issue 15: an entry of another file keeps its id while a file with a different definition cannot be read.
    #[test]
    fn unreadable_definitions_still_differ() {
        let read = |label: &str, path: &str, word: &str| {
            let text = format!("{{\"mcpServers\": {{\"a\": {{\"command\": \"{word}\"}}}}}}");
            let harness = harness(label).unwrap();
            let configs = harness.configs();
            let source = Source { harness, extent: Extent::User, path, workspace: "/w" };
            read_config(&source, &configs[0], text.as_bytes())
        };
        let found = |files: &[(&str, &str, &str)]| {
            let mut inventory = Inventory::default();
            for (label, path, word) in files {
                let read = read(label, path, word);
                inventory.add_all(read.entries, read.launches);
            }
            inventory.finish()
        };
        let (one, other) = (("cursor", "/c.json", "x"), ("gemini", "/g.json", "y"));
        let (entries, issues) = found(&[one, other]);
        let before = RememberedEntries::new(Timestamp::from_unix_micros(0), entries.clone(), issues.clone());
        let (mut now, mut told) = found(&[other]);
        assert_eq!(now[0].id, "mcp:a");
        assert_eq!(before.keep(|path| path == "/c.json", &mut now, &mut told), ["/c.json"]);
        assert_eq!((now, told), (entries, issues));
    }

    #[test]
    fn files_that_say_too_much_are_left_out_and_named() {
        let mut all = remembered();
        let small = all.to_text().len();
        let large: Vec<DiscoveredEntry> = all.entries.iter().take(2).cloned().collect();
        for (mut entry, path) in large.into_iter().zip(["/large", "/larger"]) {
            entry.command = vec!["word".to_owned(); 100 * path.len()];
            entry.id = path.to_owned();
            entry.origins[0].path = path.to_owned();
            all.entries.push(entry);
        }
        let mut fits = all.clone();
        fits.fit(all.to_text().len());
        assert_eq!(fits, all);
        let mut one = all.clone();
        one.fit(all.to_text().len() - 1);
        assert_eq!(one.entries.len(), all.entries.len() - 1);
        let told = &one.issues[0];
        let told = (told.code.code(), told.path.as_deref(), told.harness.as_deref());
        assert_eq!((one.issues.len(), told), (1, ("too_many_entries", Some("/larger"), Some("gemini"))));
        let mut both = all.clone();
        both.fit(small + 1_000);
        assert_eq!((both.entries, both.issues.len()), (remembered().entries, 2));
        let mut none = all.clone();
        none.fit(10);
        assert_eq!(none.entries, []);
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
