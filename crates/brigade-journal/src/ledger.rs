//! The ledger: a hash chain over documents. `ledger.jsonl` in their directory has one entry per line and is only
//! appended to.
//!
//! An entry's `hash` is the sha256 of its canonical JSON (RFC 8785) without the member `hash`. `previous` is the `hash`
//! of the entry before, or 64 zeros for the first; `sequence` counts from 1; `receipt_sha256` covers the bytes of the
//! document `<run_id>.json`. All members are strings, booleans and small integers, so in Python the canonical JSON is
//! `json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)`.
//!
//! `started_at` and `newest` allow finding the newest runs from the end. `newest` is the greatest `started_at` up to
//! and including this entry. Once enough runs are found that are not older than the next entry's `newest`, no earlier
//! entry can matter.

mod counts;
mod end;

use std::time::Instant;

use brigade_core::json::{compact_text, from_json};
use brigade_core::{Dialect, Extra, Fingerprint, Json, Object, Timestamp, record};
use brigade_fs::{Fs, FsError, ReadFile, RelPath};

use serde::{Deserialize, Serialize};

use crate::line_file::LineFile;
use crate::state::millis;

pub use end::LedgerEnd;

/// The version of the entries that this code writes.
const LEDGER_VERSION: i64 = 1;

/// The value of `previous` in the first entry.
pub(crate) const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// An entry of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[non_exhaustive]
pub struct LedgerEntry {
    /// The version of the format.
    #[serde(default)]
    pub ledger_version: i64,
    /// The number of the entry, from 1.
    pub sequence: u64,
    /// The id of the document, whose file is `<run_id>.json`.
    pub run_id: String,
    /// The record that the document belongs to. Absent in entries of earlier versions, and for adopted files that are
    /// not valid documents.
    #[serde(rename = "call_id", skip_serializing_if = "Option::is_none")]
    pub record_id: Option<String>,
    /// The sha256 of the document.
    #[serde(rename = "receipt_sha256")]
    pub sha256: Fingerprint,
    /// The hash of the previous entry, or 64 zeros for the first.
    pub previous: String,
    /// The sort key of newest-first lists, usually a time.
    pub started_at: String,
    /// The greatest `started_at` up to and including this entry.
    pub newest: String,
    /// The final status of the document.
    pub status: String,
    /// When the entry was written.
    pub recorded_at: String,
    /// Whether the document existed before the ledger.
    #[serde(rename = "adopted", default, skip_serializing_if = "is_false")]
    pub is_adopted: bool,
    /// The hash of this entry.
    pub hash: Fingerprint,
    /// Members that this version does not know.
    #[serde(skip)]
    pub extra: Extra,
}

record!(LedgerEntry);

fn is_false(value: &bool) -> bool {
    !value
}

/// A document to append to the ledger. The fields are those of [`LedgerEntry`].
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "see the entry")]
pub struct NewEntry {
    pub run_id: String,
    pub record_id: Option<String>,
    pub sha256: Fingerprint,
    pub started_at: String,
    pub status: String,
    pub is_adopted: bool,
}

impl LedgerEntry {
    fn after(last: Option<&LedgerEntry>, known: u64, new: &NewEntry, now: Timestamp) -> LedgerEntry {
        let newest = last.map_or("", |last| &last.newest).max(&new.started_at).to_owned();
        let mut entry = LedgerEntry {
            ledger_version: LEDGER_VERSION,
            sequence: last.map_or(0, |last| last.sequence).max(known) + 1,
            run_id: new.run_id.clone(),
            record_id: new.record_id.clone(),
            sha256: new.sha256,
            previous: last.map_or_else(|| NO_HASH.to_owned(), |last| last.hash.to_hex()),
            started_at: new.started_at.clone(),
            newest,
            status: new.status.clone(),
            recorded_at: now.to_string(),
            is_adopted: new.is_adopted,
            hash: Fingerprint::of_bytes(b""),
            extra: Extra::default(),
        };
        entry.hash = hash_of(entry.to_members());
        entry
    }

    fn to_line(&self) -> String {
        format!("{}\n", compact_text(self).expect("a record is JSON"))
    }

    /// Parses a line without verifying the hash.
    pub fn from_line(line: &[u8]) -> Option<LedgerEntry> {
        LedgerEntry::from_members(members(line)?).ok()
    }
}

/// An entry of any version, as far as its hash covers it.
#[derive(Deserialize)]
struct HashedEntry {
    hash: Fingerprint,
    #[serde(flatten)]
    members: Object,
}

fn members(line: &[u8]) -> Option<Object> {
    match Json::parse_bytes(line, Dialect::Strict) {
        Ok(Json::Object(members)) => Some(members),
        _ => None,
    }
}

/// Returns the hash of an entry's members, ignoring `hash`.
fn hash_of(mut members: Object) -> Fingerprint {
    members.remove("hash");
    Fingerprint::of_bytes(Json::Object(members).to_canonical().as_bytes())
}

/// Returns whether a line's `hash` matches its other members, including those of newer versions.
fn has_right_hash(line: &[u8]) -> bool {
    let Some(members) = members(line) else { return false };
    from_json(&Json::Object(members)).is_ok_and(|HashedEntry { hash, members }| hash_of(members) == hash)
}

/// Reads lines from the end of a file to the start.
struct ReverseLines<'a> {
    file: &'a dyn ReadFile,
    /// Everything from this offset on was read.
    position: u64,
    /// Bytes that were read but not returned, in file order.
    buffer: Vec<u8>,
    is_first: bool,
}

const CHUNK: u64 = 64 * 1024;

impl<'a> ReverseLines<'a> {
    fn new(file: &'a dyn ReadFile) -> Result<ReverseLines<'a>, FsError> {
        Ok(ReverseLines { file, position: file.len()?, buffer: Vec::new(), is_first: true })
    }

    /// Returns the previous line, and whether it ends in a line feed. Only the last line of the file may lack one.
    fn next_line(&mut self) -> Result<Option<(Vec<u8>, bool)>, FsError> {
        loop {
            let is_complete = !self.is_first || self.buffer.last() == Some(&b'\n');
            let end = self.buffer.len() - usize::from(self.buffer.last() == Some(&b'\n'));
            let start = memchr::memrchr(b'\n', &self.buffer[..end]);
            let start = match start {
                Some(feed) => feed + 1,
                None if self.position == 0 && self.buffer.is_empty() => return Ok(None),
                None if self.position == 0 => 0,
                None => {
                    let length = self.position.min(CHUNK);
                    self.position -= length;
                    let mut chunk = self
                        .file
                        .read_range(self.position, usize::try_from(length).expect("at most one chunk"))?;
                    chunk.append(&mut self.buffer);
                    self.buffer = chunk;
                    continue;
                }
            };
            let line = self.buffer[start..end].to_vec();
            self.buffer.truncate(start);
            self.is_first = false;
            return Ok(Some((line, is_complete)));
        }
    }
}

/// The result of an append.
pub struct AppendResult {
    /// The new entries.
    pub entries: Vec<LedgerEntry>,
    /// Whether the ledger ended with the expected entry. False if its end was lost, or other data followed.
    pub follows: bool,
}

/// A line of the ledger.
pub struct LedgerLine {
    /// The entry, or `None` if the line is not one.
    pub entry: Option<LedgerEntry>,
    /// Whether the hash matches the other members, including those of newer versions.
    pub has_right_hash: bool,
    /// Whether the line ends in a line feed.
    pub is_complete: bool,
}

/// The ledger of the documents in a directory.
#[derive(Clone, Copy)]
pub struct Ledger<'f> {
    file: LineFile<'f>,
}

impl<'f> Ledger<'f> {
    /// Creates a handle to the ledger of a directory, without accessing the disk.
    pub fn new(fs: &'f dyn Fs, folder: &'f RelPath) -> Ledger<'f> {
        Ledger { file: LineFile::new(fs, folder, "ledger") }
    }

    /// Returns the path of the ledger.
    pub fn path(&self) -> RelPath {
        self.file.path()
    }

    /// Opens the file. Returns `None` if it does not exist.
    ///
    /// # Errors
    /// Fails on a disk error, or if the path is not a file.
    pub fn open(&self) -> Result<Option<Box<dyn ReadFile>>, FsError> {
        self.file.open()
    }

    /// Reads all lines. Returns `None` if there is no ledger.
    ///
    /// # Errors
    /// Fails on a disk error, or if the path is not a file.
    pub fn lines(&self) -> Result<Option<Vec<LedgerLine>>, FsError> {
        let Some(file) = self.open()? else { return Ok(None) };
        let mut found = Vec::new();
        let mut lines = brigade_fs::Lines::new(&*file, 0, file.len()?);
        while let Some(line) = lines.next_line()? {
            found.push(LedgerLine {
                entry: LedgerEntry::from_line(line.bytes),
                has_right_hash: has_right_hash(line.bytes),
                is_complete: line.is_complete,
            });
        }
        Ok(Some(found))
    }

    /// Appends documents and returns their entries. The caller must hold the lock.
    ///
    /// Data after the last entry, left by a crash or another program, is moved to a quarantine first, as is anything
    /// else with the ledger's name. `known` is the highest sequence that the records name. A ledger that lost its end
    /// continues after it, so no number is reused and the gap stays visible.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn append(&self, new: &[NewEntry], known: u64, now: Timestamp) -> Result<AppendResult, FsError> {
        self.append_after(&mut None, new, known, now)
    }

    /// Like [`Ledger::append`], for a caller that may know the end of the ledger. Updates `end`.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn append_after(
        &self,
        end: &mut Option<LedgerEnd>,
        new: &[NewEntry],
        known: u64,
        now: Timestamp,
    ) -> Result<AppendResult, FsError> {
        let started = Instant::now();
        let fs = self.file.fs;
        if new.is_empty() {
            return Ok(AppendResult { entries: Vec::new(), follows: true });
        }
        let _span = tracing::debug_span!("append", file = %self.path(), entries = new.len()).entered();
        let mut last = None;
        let mut bytes = String::new();
        let known_end = end.take().filter(|end| self.ends_so(end));
        let moved = if known_end.is_some() { false } else { self.file.move_away()? };
        match known_end {
            Some(end) => last = Some(end.last),
            None => match self.open()? {
                None => fs.create_dir_all(self.file.folder)?,
                Some(file) => {
                    let mut lines = ReverseLines::new(&*file)?;
                    let mut torn = 0;
                    while let Some((line, is_complete)) = lines.next_line()? {
                        last = LedgerEntry::from_line(&line).filter(|_| is_complete || has_right_hash(&line));
                        if last.is_some() {
                            bytes.extend((!is_complete).then_some('\n'));
                            break;
                        }
                        torn += line.len() as u64 + u64::from(is_complete);
                    }
                    if 0 < torn {
                        let start = file.len()? - torn;
                        let length = usize::try_from(torn).expect("the lines were in memory");
                        self.file.quarantine(&file.read_range(start, length)?)?;
                        let mut file = fs.open_append(&self.path())?;
                        file.truncate(start)?;
                        file.sync()?;
                    }
                }
            },
        }
        let mut entries: Vec<LedgerEntry> = Vec::with_capacity(new.len());
        for item in new {
            let entry = LedgerEntry::after(entries.last().or(last.as_ref()), known, item, now);
            bytes.push_str(&entry.to_line());
            entries.push(entry);
        }
        fs.append_durable(&self.path(), bytes.as_bytes())?;
        tracing::debug!(entries = entries.len(), took_ms = millis(started), "appended to the ledger");
        let before = last.map_or(0, |last| last.sequence);
        self.keep_counts(before, entries.last().map_or(before, |last| last.sequence));
        let follows = !moved && known <= before;
        *end = entries.last().and_then(|last| self.end_with(last.clone()));
        Ok(AppendResult { entries, follows })
    }

    /// Moves lines that are not entries to a quarantine, and anything else with the ledger's name. Returns the number
    /// of lines and other items. The caller must hold the lock.
    pub(crate) fn repair(&self) -> Result<u64, FsError> {
        self.file.set_aside(|line| {
            LedgerEntry::from_line(line.bytes).is_some() && (line.is_complete || has_right_hash(line.bytes))
        })
    }

    /// Returns the entries after a sequence, in ledger order, without reading the earlier ones.
    ///
    /// Lines that are not entries are skipped. Returns no entries if there is no ledger, or its name is taken.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn after(&self, known: u64) -> Result<Vec<LedgerEntry>, FsError> {
        let Some(file) = self.file.open_if_file()? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        let mut lines = ReverseLines::new(&*file)?;
        while let Some((line, _)) = lines.next_line()? {
            match LedgerEntry::from_line(&line) {
                Some(entry) if entry.sequence <= known => break,
                entry => found.extend(entry),
            }
        }
        found.reverse();
        Ok(found)
    }

    /// Returns the sequence of the last entry, or 0 for an empty ledger.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn last_sequence(&self) -> Result<u64, FsError> {
        let Some(file) = self.file.open_if_file()? else { return Ok(0) };
        let mut lines = ReverseLines::new(&*file)?;
        while let Some((line, _)) = lines.next_line()? {
            if let Some(entry) = LedgerEntry::from_line(&line) {
                return Ok(entry.sequence);
            }
        }
        Ok(0)
    }

    /// Finds the entries whose document id starts with a prefix, in ledger order. Returns none if there is no ledger.
    ///
    /// # Errors
    /// Fails on a disk error, or if the path is not a file.
    pub fn find_prefix(&self, prefix: &str) -> Result<Vec<LedgerEntry>, FsError> {
        let Some(file) = self.open()? else { return Ok(Vec::new()) };
        find_prefix(&*file, prefix)
    }

    /// Finds the last entry of a document.
    ///
    /// # Errors
    /// Fails on a disk error, or if the path is not a file.
    pub fn find(&self, run_id: &str) -> Result<Option<LedgerEntry>, FsError> {
        Ok(self.find_prefix(run_id)?.into_iter().rfind(|entry| entry.run_id == run_id))
    }
}

/// Finds the entries whose document id starts with a prefix, in ledger order.
fn find_prefix(file: &dyn ReadFile, prefix: &str) -> Result<Vec<LedgerEntry>, FsError> {
    let quoted = Json::from(prefix).to_compact();
    let needle = format!("\"run_id\":{}", quoted.strip_suffix('"').unwrap_or(&quoted));
    let finder = memchr::memmem::Finder::new(&needle);
    let mut lines = brigade_fs::Lines::new(file, 0, file.len()?);
    let mut found = Vec::new();
    while let Some(line) = lines.next_line()? {
        if finder.find(line.bytes).is_some()
            && let Some(entry) = LedgerEntry::from_line(line.bytes)
            && entry.run_id.starts_with(prefix)
        {
            found.push(entry);
        }
    }
    Ok(found)
}

/// Like [`Ledger::find_prefix`], for an open ledger. Returns `None` if the number of lines does not match the last
/// entry, because the ledger is then incomplete.
///
/// # Errors
/// Fails on a disk error.
pub fn find_prefix_if_whole(file: &dyn ReadFile, prefix: &str) -> Result<Option<Vec<LedgerEntry>>, FsError> {
    let mut backwards = ReverseLines::new(file)?;
    let Some((last, true)) = backwards.next_line()? else { return Ok(None) };
    let Some(last) = LedgerEntry::from_line(&last) else { return Ok(None) };
    let (mut count, mut offset) = (0, 0);
    loop {
        let chunk = file.read_range(offset, 1 << 20)?;
        if chunk.is_empty() {
            break;
        }
        offset += chunk.len() as u64;
        count += memchr::memchr_iter(b'\n', &chunk).count() as u64;
    }
    Ok(if count == last.sequence { Some(find_prefix(file, prefix)?) } else { None })
}

/// Returns the newest `limit` entries by `started_at`, newest first. Returns `None` if a line among them is not an
/// entry or is out of order, because the ledger is then incomplete.
///
/// # Errors
/// Fails on a disk error.
pub fn newest(file: &dyn ReadFile, limit: usize) -> Result<Option<Vec<LedgerEntry>>, FsError> {
    let mut best: Vec<LedgerEntry> = Vec::new();
    let mut next = None;
    let mut lines = ReverseLines::new(file)?;
    let order = |left: &LedgerEntry, right: &LedgerEntry| {
        (&right.started_at, right.sequence).cmp(&(&left.started_at, left.sequence))
    };
    while let Some((line, is_complete)) = lines.next_line()? {
        let Some(entry) = LedgerEntry::from_line(&line) else {
            if is_complete {
                return Ok(None);
            }
            continue;
        };
        if next.is_some_and(|next| entry.sequence + 1 != next) {
            return Ok(None);
        }
        next = Some(entry.sequence);
        if best.len() == limit {
            match best.last() {
                Some(last) if entry.newest <= last.started_at => break,
                Some(_) => {}
                None => break,
            }
        }
        let place = best.partition_point(|other| order(other, &entry).is_lt());
        best.insert(place, entry);
        best.truncate(limit);
    }
    let is_whole = best.len() == limit || next.is_none_or(|first| first == 1);
    Ok(is_whole.then_some(best))
}

#[cfg(test)]
mod tests {
    use brigade_fs::{FileMode, MemoryFs};
    use proptest::prelude::*;

    use super::*;

    fn new(run: &str, started_at: &str) -> NewEntry {
        NewEntry {
            run_id: run.to_owned(),
            record_id: Some("call-a".to_owned()),
            sha256: Fingerprint::of_bytes(run.as_bytes()),
            started_at: started_at.to_owned(),
            status: "completed".to_owned(),
            is_adopted: false,
        }
    }

    fn folder() -> RelPath {
        "runs".parse().unwrap()
    }

    fn append(fs: &MemoryFs, new: &[NewEntry], known: u64, now: Timestamp) -> Result<AppendResult, FsError> {
        Ledger::new(fs, &folder()).append(new, known, now)
    }

    fn ledger_path() -> RelPath {
        "runs/ledger.jsonl".parse().unwrap()
    }

    fn now() -> Timestamp {
        Timestamp::from_unix_micros(1_700_000_000_000_000)
    }

    #[test]
    fn entries_are_chained() {
        let fs = MemoryFs::new();
        let first = append(&fs, &[new("run-a", "1"), new("run-b", "2")], 0, now()).unwrap().entries;
        let second = append(&fs, &[new("run-c", "0")], 0, now()).unwrap().entries;
        assert_eq!(first[0].previous, NO_HASH);
        assert_eq!(second[0].previous, first[1].hash.to_hex());
        assert_eq!((second[0].sequence, second[0].newest.as_str()), (3, "2"));
        let text = fs.read(&ledger_path(), 10_000).unwrap();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            assert!(has_right_hash(line));
            assert!(!has_right_hash(&line.to_ascii_uppercase()));
        }
        let folder = folder();
        let ledger = Ledger::new(&fs, &folder);
        assert_eq!(ledger.find_prefix("run-").unwrap().len(), 3);
        assert_eq!(ledger.find("run-b").unwrap().as_ref(), Some(&first[1]));
        assert_eq!(ledger.find("run-").unwrap(), None);
    }

    #[test]
    fn a_torn_end_is_quarantined_and_does_not_merge() {
        let fs = MemoryFs::new();
        append(&fs, &[new("run-a", "1"), new("run-b", "2")], 0, now()).unwrap();
        let whole = fs.read(&ledger_path(), 10_000).unwrap();
        for cut in 1..whole.len() {
            let fs = MemoryFs::new();
            fs.create_dir_all(&folder()).unwrap();
            fs.write_atomic(&ledger_path(), &whole[..cut], FileMode::Private).unwrap();
            append(&fs, &[new("run-c", "3")], 0, now()).unwrap();
            let text = fs.read(&ledger_path(), 10_000).unwrap();
            let lines: Vec<&[u8]> = text.strip_suffix(b"\n").unwrap().split(|byte| *byte == b'\n').collect();
            assert!(lines.iter().all(|line| has_right_hash(line)), "{cut}");
            assert_eq!(LedgerEntry::from_line(lines[lines.len() - 1]).unwrap().sequence, lines.len() as u64);
        }
    }

    #[test]
    fn broken_lines_are_quarantined_at_any_position() {
        let fs = MemoryFs::new();
        append(&fs, &[new("run-a", "1"), new("run-b", "2")], 0, now()).unwrap();
        let whole = fs.read(&ledger_path(), 10_000).unwrap();
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for at in [0, first, whole.len()] {
            let fs = MemoryFs::new();
            fs.create_dir_all(&folder()).unwrap();
            let damaged = [&whole[..at], b"garbage\n{}\n", &whole[at..]].concat();
            fs.write_atomic(&ledger_path(), &damaged, FileMode::Private).unwrap();
            let appended = append(&fs, &[new("run-c", "3")], 2, now()).unwrap();
            assert!(appended.follows && appended.entries[0].sequence == 3, "{at}");
            assert_eq!(Ledger::new(&fs, &folder()).repair().unwrap(), if at == whole.len() { 0 } else { 2 });
            let unreadable = fs.read(&"runs/ledger.quarantine-1.jsonl".parse().unwrap(), 100).unwrap();
            assert_eq!(unreadable, b"garbage\n{}\n");
            let text = fs.read(&ledger_path(), 10_000).unwrap();
            assert!(text.starts_with(&whole) && text[whole.len()..].starts_with(b"{\"call_id\""), "{at}");
            assert_eq!(Ledger::new(&fs, &folder()).repair().unwrap(), 0);
        }
    }

    proptest! {
        #[test]
        fn the_newest_are_found_from_the_end(starts in prop::collection::vec(0u32..50, 0..60), limit in 0usize..8) {
            let fs = MemoryFs::new();
            fs.create_dir_all(&folder()).unwrap();
            fs.write_atomic(&ledger_path(), b"", FileMode::Private).unwrap();
            let items: Vec<NewEntry> =
                starts.iter().enumerate().map(|(index, start)| new(&format!("r{index}"), &format!("{start:02}"))).collect();
            append(&fs, &items, 0, now()).unwrap();
            let file = Ledger::new(&fs, &folder()).open().unwrap().unwrap();
            let found: Vec<String> = newest(&*file, limit).unwrap().unwrap().into_iter().map(|entry| entry.started_at).collect();
            let mut expect: Vec<String> = starts.iter().map(|start| format!("{start:02}")).collect();
            expect.sort_unstable_by(|left, right| right.cmp(left));
            expect.truncate(limit);
            prop_assert_eq!(found, expect);
        }

        #[test]
        fn reading_backwards_gives_the_same_lines(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'x')], 0..80)) {
            let fs = MemoryFs::new();
            let path = "f".parse().unwrap();
            fs.write_atomic(&path, &bytes, FileMode::Private).unwrap();
            let file = fs.open(&path).unwrap();
            let mut backwards = ReverseLines::new(&*file).unwrap();
            let mut found = Vec::new();
            while let Some((line, is_complete)) = backwards.next_line().unwrap() {
                found.push((line, is_complete));
            }
            found.reverse();
            let mut whole = Vec::new();
            for (line, is_complete) in found {
                whole.extend(line);
                whole.extend(is_complete.then_some(b'\n'));
            }
            prop_assert_eq!(whole, bytes);
        }
    }
}
