//! The hash chain over the receipts: `runs/ledger.jsonl`, one entry a line, only ever appended to.
//!
//! An entry's `hash` is the sha256 of its canonical JSON (RFC 8785) without the member `hash`; `previous` is the `hash` of the
//! entry before, 64 zeros for the first; `sequence` counts from 1; `receipt_sha256` is over the bytes of
//! `runs/<run_id>.json`. All members are texts, truth values and small integers, so that in Python the canonical JSON is
//! `json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)`.
//!
//! `started_at` and `newest` let the newest runs be found from the end: `newest` is the greatest `started_at` up to
//! and including this entry, so once enough runs are found that are not older than the next entry's `newest`, no earlier
//! entry can matter.

use brigade_core::{Dialect, Fingerprint, Json, Object, Timestamp};
use brigade_fs::{FileMode, Fs, FsError, FsErrorKind, ReadFile, RelPath, Replacement};

use crate::layout;

/// The version of the entries that this code writes.
const LEDGER_VERSION: i64 = 1;

/// What stands before the first entry's `previous`.
pub(crate) const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// One entry of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Its number, from 1.
    pub sequence: u64,
    /// The run; the receipt's file is `runs/<run_id>.json`.
    pub run_id: String,
    /// The call that ran; absent in entries of adopted receipts that are none, and in those of earlier versions.
    pub call_id: Option<String>,
    /// The sha256 of the receipt's bytes.
    pub receipt_sha256: Fingerprint,
    /// The hash of the entry before; 64 zeros for the first.
    pub previous: String,
    /// What newest-first lists are sorted by: when the run started, else when it ended, else its id.
    pub started_at: String,
    /// The greatest `started_at` up to and including this entry.
    pub newest: String,
    /// How the run ended; `unreadable` for an adopted receipt that is none.
    pub status: String,
    /// When the entry was written.
    pub recorded_at: String,
    /// Whether the receipt was there before the ledger.
    pub is_adopted: bool,
    /// The hash of this entry.
    pub hash: Fingerprint,
}

/// A receipt that is about to enter the ledger.
#[derive(Clone, Debug)]
pub(crate) struct NewEntry {
    pub(crate) run_id: String,
    pub(crate) call_id: Option<String>,
    pub(crate) receipt_sha256: Fingerprint,
    pub(crate) started_at: String,
    pub(crate) status: String,
    pub(crate) is_adopted: bool,
}

impl LedgerEntry {
    fn after(last: Option<&LedgerEntry>, known: u64, new: &NewEntry, now: Timestamp) -> LedgerEntry {
        let newest = last.map_or("", |last| &last.newest).max(&new.started_at).to_owned();
        let mut entry = LedgerEntry {
            sequence: last.map_or(0, |last| last.sequence).max(known) + 1,
            run_id: new.run_id.clone(),
            call_id: new.call_id.clone(),
            receipt_sha256: new.receipt_sha256,
            previous: last.map_or_else(|| NO_HASH.to_owned(), |last| last.hash.to_hex()),
            started_at: new.started_at.clone(),
            newest,
            status: new.status.clone(),
            recorded_at: now.to_string(),
            is_adopted: new.is_adopted,
            hash: Fingerprint::of_bytes(b""),
        };
        entry.hash = hash_of(&entry.members());
        entry
    }

    /// The members without `hash`.
    fn members(&self) -> Object {
        let mut members = Object::from([
            ("ledger_version".to_owned(), Json::from(LEDGER_VERSION)),
            ("sequence".to_owned(), Json::from(self.sequence)),
            ("run_id".to_owned(), Json::from(self.run_id.as_str())),
            ("receipt_sha256".to_owned(), Json::from(self.receipt_sha256.to_hex())),
            ("previous".to_owned(), Json::from(self.previous.as_str())),
            ("started_at".to_owned(), Json::from(self.started_at.as_str())),
            ("newest".to_owned(), Json::from(self.newest.as_str())),
            ("status".to_owned(), Json::from(self.status.as_str())),
            ("recorded_at".to_owned(), Json::from(self.recorded_at.as_str())),
        ]);
        if let Some(call_id) = &self.call_id {
            members.insert("call_id".to_owned(), Json::from(call_id.as_str()));
        }
        if self.is_adopted {
            members.insert("adopted".to_owned(), Json::from(true));
        }
        members
    }

    fn to_line(&self) -> String {
        let mut members = self.members();
        members.insert("hash".to_owned(), Json::from(self.hash.to_hex()));
        format!("{}\n", Json::Object(members).to_compact())
    }

    /// Reads a line; does not compare the hash.
    pub(crate) fn from_line(line: &[u8]) -> Option<LedgerEntry> {
        let json = Json::parse_bytes(line, Dialect::Strict).ok()?;
        let text = |key: &str| Some(json.get(key)?.as_str()?.to_owned());
        Some(LedgerEntry {
            sequence: u64::try_from(json.get("sequence")?.as_i64()?).ok()?,
            run_id: text("run_id")?,
            call_id: text("call_id"),
            receipt_sha256: text("receipt_sha256")?.parse().ok()?,
            previous: text("previous")?,
            started_at: text("started_at")?,
            newest: text("newest")?,
            status: text("status")?,
            recorded_at: text("recorded_at")?,
            is_adopted: json.get("adopted").and_then(Json::as_bool).unwrap_or(false),
            hash: text("hash")?.parse().ok()?,
        })
    }
}

/// The hash of an entry's members; `hash` itself does not count.
fn hash_of(members: &Object) -> Fingerprint {
    let mut members = members.clone();
    members.remove("hash");
    Fingerprint::of_bytes(Json::Object(members).to_canonical().as_bytes())
}

/// Tells whether a line's `hash` is that of its other members, those of newer versions included.
pub(crate) fn has_right_hash(line: &[u8]) -> bool {
    let Ok(Json::Object(members)) = Json::parse_bytes(line, Dialect::Strict) else { return false };
    members.get("hash").and_then(Json::as_str) == Some(hash_of(&members).to_hex().as_str())
}

/// The ledger's file, where there is one.
pub(crate) fn open(fs: &dyn Fs) -> Result<Option<Box<dyn ReadFile>>, FsError> {
    match fs.open(&layout::ledger()) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.is_not_found() || error.kind == FsErrorKind::NotADirectory => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads lines from the end of a file to its beginning.
pub(crate) struct Backwards<'a> {
    file: &'a dyn ReadFile,
    /// Everything from here on was read.
    position: u64,
    /// What was read and not returned, in the order of the file.
    buffer: Vec<u8>,
    is_first: bool,
}

const CHUNK: u64 = 64 * 1024;

impl<'a> Backwards<'a> {
    pub(crate) fn new(file: &'a dyn ReadFile) -> Result<Backwards<'a>, FsError> {
        Ok(Backwards { file, position: file.len()?, buffer: Vec::new(), is_first: true })
    }

    /// Returns the line before, and whether a line feed ends it; only the last line of the file can be without.
    pub(crate) fn next_line(&mut self) -> Result<Option<(Vec<u8>, bool)>, FsError> {
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

/// What was appended.
pub(crate) struct Appended {
    pub(crate) entries: Vec<LedgerEntry>,
    /// Whether the ledger ended with the entry that was to come before; not when it lost its end, or something else stood there.
    pub(crate) follows: bool,
}

/// Appends receipts, and returns their entries. Only the holder of the lock may do this.
///
/// What stands behind the last entry and is none, as a crash or somebody else left it, is moved to a quarantine first, and so
/// is whatever else has the ledger's name. `known` is the greatest sequence that the calls name: a ledger that lost its end
/// goes on behind it, so that no number is given twice and the gap stays to be seen.
pub(crate) fn append(fs: &dyn Fs, new: &[NewEntry], known: u64, now: Timestamp) -> Result<Appended, FsError> {
    if new.is_empty() {
        return Ok(Appended { entries: Vec::new(), follows: true });
    }
    let mut last = None;
    let mut bytes = String::new();
    let moved = move_away(fs)?;
    match open(fs)? {
        None => fs.create_dir_all(&layout::runs())?,
        Some(file) => {
            let mut lines = Backwards::new(&*file)?;
            let mut behind = 0;
            while let Some((line, is_complete)) = lines.next_line()? {
                last = LedgerEntry::from_line(&line).filter(|_| is_complete || has_right_hash(&line));
                if last.is_some() {
                    bytes.extend((!is_complete).then_some('\n'));
                    break;
                }
                behind += line.len() as u64 + u64::from(is_complete);
            }
            if 0 < behind {
                let start = file.len()? - behind;
                let length = usize::try_from(behind).expect("its lines were in memory");
                quarantine(fs, &file.read_range(start, length)?)?;
                let mut file = fs.open_append(&layout::ledger())?;
                file.truncate(start)?;
                file.sync()?;
            }
        }
    }
    let mut entries: Vec<LedgerEntry> = Vec::with_capacity(new.len());
    for item in new {
        let entry = LedgerEntry::after(entries.last().or(last.as_ref()), known, item, now);
        bytes.push_str(&entry.to_line());
        entries.push(entry);
    }
    fs.append_durable(&layout::ledger(), bytes.as_bytes())?;
    let follows = !moved && known <= last.map_or(0, |last| last.sequence);
    Ok(Appended { entries, follows })
}

/// Moves the lines that are no entries to a quarantine, and whatever else has the ledger's name; returns how many lines and
/// things that are. Only the holder of the lock may do this.
pub(crate) fn mend(fs: &dyn Fs) -> Result<u64, FsError> {
    if move_away(fs)? {
        return Ok(1);
    }
    let Some(file) = open(fs)? else { return Ok(0) };
    let is_sound = |line: &brigade_fs::Line<'_>| {
        LedgerEntry::from_line(line.bytes).is_some() && (line.is_complete || has_right_hash(line.bytes))
    };
    let mut broken = Vec::new();
    let mut count = 0;
    let mut lines = brigade_fs::Lines::new(&*file, 0, file.len()?);
    while let Some(line) = lines.next_line()? {
        if !is_sound(&line) {
            count += 1;
            broken.extend_from_slice(line.bytes);
            broken.push(b'\n');
        }
    }
    if count == 0 {
        return Ok(0);
    }
    quarantine(fs, &broken)?;
    let mut replacement = Replacement::begin(fs, &layout::ledger(), FileMode::Private)?;
    let mut lines = brigade_fs::Lines::new(&*file, 0, file.len()?);
    while let Some(line) = lines.next_line()? {
        if is_sound(&line) {
            replacement.write(line.bytes)?;
            replacement.write(b"\n")?;
        }
    }
    replacement.commit()?;
    Ok(count)
}

/// Moves something that is no file and has the ledger's name to a quarantine; tells whether there was any.
fn move_away(fs: &dyn Fs) -> Result<bool, FsError> {
    match open(fs) {
        Err(error) if error.kind == FsErrorKind::NotAFile => {
            fs.rename(&layout::ledger(), &free_quarantine(fs)?)?;
            fs.sync_dir(&layout::runs())?;
            Ok(true)
        }
        found => found.map(|_| false),
    }
}

/// Writes a quarantine file, unless a crash came between one of the same content and what was to follow.
fn quarantine(fs: &dyn Fs, bytes: &[u8]) -> Result<(), FsError> {
    let free = free_quarantine_number(fs)?;
    let is_there = 1 < free
        && matches!(fs.read(&layout::ledger_quarantine(free - 1), bytes.len() as u64), Ok(last) if last == bytes);
    if is_there { Ok(()) } else { fs.create_new_durable(&layout::ledger_quarantine(free), bytes) }
}

fn free_quarantine(fs: &dyn Fs) -> Result<RelPath, FsError> {
    free_quarantine_number(fs).map(layout::ledger_quarantine)
}

fn free_quarantine_number(fs: &dyn Fs) -> Result<u64, FsError> {
    let mut number = 1;
    while fs.exists(&layout::ledger_quarantine(number))? {
        number += 1;
    }
    Ok(number)
}

/// Returns the entries behind a sequence, in the order of the ledger, without reading those before.
///
/// Lines that are no entries are passed over. No entry when there is no ledger, or something else in its place.
pub(crate) fn behind(fs: &dyn Fs, known: u64) -> Result<Vec<LedgerEntry>, FsError> {
    let file = match open(fs) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(Vec::new()),
        Err(error) if error.kind == FsErrorKind::NotAFile => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    let mut lines = Backwards::new(&*file)?;
    while let Some((line, _)) = lines.next_line()? {
        match LedgerEntry::from_line(&line) {
            Some(entry) if entry.sequence <= known => break,
            entry => found.extend(entry),
        }
    }
    found.reverse();
    Ok(found)
}

/// Returns the sequence of the last entry; 0 when there is none.
pub(crate) fn last_sequence(fs: &dyn Fs) -> Result<u64, FsError> {
    let file = match open(fs) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(0),
        Err(error) if error.kind == FsErrorKind::NotAFile => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut lines = Backwards::new(&*file)?;
    while let Some((line, _)) = lines.next_line()? {
        if let Some(entry) = LedgerEntry::from_line(&line) {
            return Ok(entry.sequence);
        }
    }
    Ok(0)
}

/// Finds the entries of the runs whose id starts with a prefix, in the order of the ledger.
pub(crate) fn find_prefix(file: &dyn ReadFile, prefix: &str) -> Result<Vec<LedgerEntry>, FsError> {
    let quoted = Json::from(prefix).to_compact();
    let wanted = format!("\"run_id\":{}", quoted.strip_suffix('"').unwrap_or(&quoted));
    let finder = memchr::memmem::Finder::new(&wanted);
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

/// Returns all entries, or none when some line is no entry or an entry is missing, so that the ledger cannot tell.
pub(crate) fn whole(file: &dyn ReadFile) -> Result<Option<Vec<LedgerEntry>>, FsError> {
    let mut entries: Vec<LedgerEntry> = Vec::new();
    let mut lines = brigade_fs::Lines::new(file, 0, file.len()?);
    while let Some(line) = lines.next_line()? {
        match LedgerEntry::from_line(line.bytes) {
            Some(entry) if entry.sequence == entries.len() as u64 + 1 => entries.push(entry),
            None if !line.is_complete => {}
            Some(_) | None => return Ok(None),
        }
    }
    Ok(Some(entries))
}

/// As [`find_prefix`]; none when the ledger has not as many lines as its last entry says, so that it cannot tell.
pub(crate) fn find_prefix_if_whole(
    file: &dyn ReadFile,
    prefix: &str,
) -> Result<Option<Vec<LedgerEntry>>, FsError> {
    let mut backwards = Backwards::new(file)?;
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

/// Finds the last entry of a run.
pub(crate) fn find(fs: &dyn Fs, run_id: &str) -> Result<Option<LedgerEntry>, FsError> {
    let Some(file) = open(fs)? else { return Ok(None) };
    Ok(find_prefix(&*file, run_id)?.into_iter().rfind(|entry| entry.run_id == run_id))
}

/// Returns the newest `limit` entries by `started_at`, newest first; none when there is something among them that is no
/// entry or not in its order, so that the ledger cannot tell.
pub(crate) fn newest(file: &dyn ReadFile, limit: usize) -> Result<Option<Vec<LedgerEntry>>, FsError> {
    let mut best: Vec<LedgerEntry> = Vec::new();
    let mut next = None;
    let mut lines = Backwards::new(file)?;
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
    use brigade_fs::MemoryFs;
    use proptest::prelude::*;

    use super::*;

    fn new(run: &str, started_at: &str) -> NewEntry {
        NewEntry {
            run_id: run.to_owned(),
            call_id: Some("call-a".to_owned()),
            receipt_sha256: Fingerprint::of_bytes(run.as_bytes()),
            started_at: started_at.to_owned(),
            status: "completed".to_owned(),
            is_adopted: false,
        }
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
        let text = fs.read(&layout::ledger(), 10_000).unwrap();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            assert!(has_right_hash(line));
            assert!(!has_right_hash(&line.to_ascii_uppercase()));
        }
        let file = open(&fs).unwrap().unwrap();
        assert_eq!(find_prefix(&*file, "run-").unwrap().len(), 3);
        assert_eq!(find(&fs, "run-b").unwrap().as_ref(), Some(&first[1]));
        assert_eq!(find(&fs, "run-").unwrap(), None);
    }

    #[test]
    fn a_torn_end_is_set_aside_and_does_not_merge() {
        let fs = MemoryFs::new();
        append(&fs, &[new("run-a", "1"), new("run-b", "2")], 0, now()).unwrap();
        let whole = fs.read(&layout::ledger(), 10_000).unwrap();
        for cut in 1..whole.len() {
            let fs = MemoryFs::new();
            fs.create_dir_all(&layout::runs()).unwrap();
            fs.write_atomic(&layout::ledger(), &whole[..cut], FileMode::Private).unwrap();
            append(&fs, &[new("run-c", "3")], 0, now()).unwrap();
            let text = fs.read(&layout::ledger(), 10_000).unwrap();
            let lines: Vec<&[u8]> = text.strip_suffix(b"\n").unwrap().split(|byte| *byte == b'\n').collect();
            assert!(lines.iter().all(|line| has_right_hash(line)), "{cut}");
            assert_eq!(LedgerEntry::from_line(lines[lines.len() - 1]).unwrap().sequence, lines.len() as u64);
        }
    }

    #[test]
    fn lines_that_are_no_entries_are_set_aside_wherever_they_stand() {
        let fs = MemoryFs::new();
        append(&fs, &[new("run-a", "1"), new("run-b", "2")], 0, now()).unwrap();
        let whole = fs.read(&layout::ledger(), 10_000).unwrap();
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for at in [0, first, whole.len()] {
            let fs = MemoryFs::new();
            fs.create_dir_all(&layout::runs()).unwrap();
            let damaged = [&whole[..at], b"garbage\n{}\n", &whole[at..]].concat();
            fs.write_atomic(&layout::ledger(), &damaged, FileMode::Private).unwrap();
            let appended = append(&fs, &[new("run-c", "3")], 2, now()).unwrap();
            assert!(appended.follows && appended.entries[0].sequence == 3, "{at}");
            assert_eq!(mend(&fs).unwrap(), if at == whole.len() { 0 } else { 2 });
            let set_aside = fs.read(&layout::ledger_quarantine(1), 100).unwrap();
            assert_eq!(set_aside, b"garbage\n{}\n");
            let text = fs.read(&layout::ledger(), 10_000).unwrap();
            assert!(text.starts_with(&whole) && text[whole.len()..].starts_with(b"{\"call_id\""), "{at}");
            assert_eq!(mend(&fs).unwrap(), 0);
        }
    }

    proptest! {
        #[test]
        fn the_newest_are_found_from_the_end(starts in prop::collection::vec(0u32..50, 0..60), limit in 0usize..8) {
            let fs = MemoryFs::new();
            fs.create_dir_all(&layout::runs()).unwrap();
            fs.write_atomic(&layout::ledger(), b"", FileMode::Private).unwrap();
            let items: Vec<NewEntry> =
                starts.iter().enumerate().map(|(index, start)| new(&format!("r{index}"), &format!("{start:02}"))).collect();
            append(&fs, &items, 0, now()).unwrap();
            let file = open(&fs).unwrap().unwrap();
            let found: Vec<String> = newest(&*file, limit).unwrap().unwrap().into_iter().map(|entry| entry.started_at).collect();
            let mut expect: Vec<String> = starts.iter().map(|start| format!("{start:02}")).collect();
            expect.sort_unstable_by(|left, right| right.cmp(left));
            expect.truncate(limit);
            prop_assert_eq!(found, expect);
        }

        #[test]
        fn lines_backwards_are_the_lines(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'x')], 0..80)) {
            let fs = MemoryFs::new();
            let path = "f".parse().unwrap();
            fs.write_atomic(&path, &bytes, FileMode::Private).unwrap();
            let file = fs.open(&path).unwrap();
            let mut backwards = Backwards::new(&*file).unwrap();
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
