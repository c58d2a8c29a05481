//! Finds and lists receipts, by the ledger or by their directory if there is no ledger yet.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use brigade_call::{LedgerLink, Receipt};
use brigade_core::json::members;
use brigade_core::{Dialect, Fingerprint, Json, Object, Timestamp};
use brigade_fs::{DirEntry, FileKind, Fs, FsError, FsErrorKind, ReadFile, RelPath, in_directory, read_many};
use brigade_journal::{Ledger, LedgerEnd, NewEntry, State, find_prefix_if_whole, newest, set_file_aside};
use memchr::memmem::Finder;

use super::layout;
use crate::error::QueueError;
use crate::store::{
    BadReceipt, ChainEnd, ExaminedReceipt, ExaminedRun, FoundReceipt, OnRunTaken, RunList, StoredReceipt,
    receipt_name,
};

/// The maximum size of a receipt, in bytes.
pub(crate) const RECEIPT_LIMIT: u64 = 64 * 1024 * 1024;

/// The directory of receipts, listed once.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunFolder {
    /// Sorted by name.
    entries: Vec<DirEntry>,
}

impl RunFolder {
    pub(crate) fn list(fs: &dyn Fs) -> Result<RunFolder, FsError> {
        match fs.list_dir(&layout::runs()) {
            Ok(mut entries) => {
                entries.sort_unstable_by(|left, right| left.name.cmp(&right.name));
                Ok(RunFolder { entries })
            }
            // A path that is not a directory is damage and reported as such.
            Err(error) if error.is_not_found() || error.kind == FsErrorKind::NotADirectory => {
                Ok(RunFolder::default())
            }
            Err(error) => Err(error),
        }
    }

    /// Lists directories with the name of a receipt.
    fn misplaced(&self) -> impl Iterator<Item = BadReceipt> {
        let folders = self.entries.iter().filter(|entry| {
            entry.kind == FileKind::Directory && entry.name.ends_with(".json") && !entry.name.starts_with('.')
        });
        folders.filter_map(|entry| {
            let path = layout::runs().join(&entry.name).ok()?;
            Some(BadReceipt { place: path.to_string(), problem: FsErrorKind::NotAFile.to_string() })
        })
    }

    /// Lists the files with the name of a receipt.
    pub(crate) fn receipts(&self) -> Vec<RelPath> {
        let is_receipt = |name: &str| name.ends_with(".json") && !name.starts_with('.');
        self.entries
            .iter()
            .filter(|entry| entry.kind != FileKind::Directory && is_receipt(&entry.name))
            .filter_map(|entry| layout::runs().join(&entry.name).ok())
            .collect()
    }
}

impl StoredReceipt {
    /// Parses the bytes of a receipt that is stored under this id.
    ///
    /// # Errors
    /// Returns why the bytes are not a receipt.
    pub fn from_bytes(stored_id: &str, bytes: &[u8]) -> Result<StoredReceipt, BadReceipt> {
        let bad = |problem: String| BadReceipt { place: receipt_name(stored_id), problem };
        let json = Json::parse_bytes(bytes, Dialect::Lenient).map_err(|error| bad(error.to_string()))?;
        let receipt = Receipt::from_json(json).map_err(|error| bad(error.to_string()))?;
        Ok(StoredReceipt { receipt, stored_id: stored_id.to_owned(), sha256: Fingerprint::of_bytes(bytes) })
    }
}

pub(crate) fn read_receipt(
    path: &RelPath,
    bytes: Result<Vec<u8>, FsError>,
) -> Result<StoredReceipt, BadReceipt> {
    let bad = |problem: String| BadReceipt { place: path.to_string(), problem };
    let bytes = bytes.map_err(|error| bad(error.kind.to_string()))?;
    let stored = StoredReceipt::from_bytes(&layout::stored_id(path), &bytes);
    stored.map_err(|error| bad(error.problem))
}

/// Returns the path of a run's receipt. The run id may come from another program.
pub(crate) fn receipt_path(run_id: &str) -> Option<RelPath> {
    if run_id.contains('/') { None } else { layout::runs().join(&format!("{run_id}.json")).ok() }
}

/// Lists the files in the directory of receipts, sorted by name.
pub(crate) fn files(fs: &dyn Fs) -> Result<Vec<RelPath>, FsError> {
    Ok(RunFolder::list(fs)?.receipts())
}

/// Reads the receipt of a run. Returns `None` if there is no file.
pub(crate) fn read_one(fs: &dyn Fs, run: &str) -> Result<Option<FoundReceipt>, FsError> {
    match receipt_path(run) {
        Some(path) if fs.exists(&path)? => {
            Ok(Some(match read_receipt(&path, fs.read(&path, RECEIPT_LIMIT)) {
                Ok(stored) => FoundReceipt::Good(Box::new(stored)),
                Err(bad) => FoundReceipt::Bad(bad),
            }))
        }
        Some(_) | None => Ok(None),
    }
}

/// Opens the ledger if it is complete: it exists and includes every sequence that the calls name. Problems in an
/// incomplete ledger are reported by `verify`.
fn usable_ledger(state: &State) -> Result<Option<Box<dyn ReadFile>>, FsError> {
    let ledger = state.place().ledger();
    match ledger.open() {
        Ok(Some(file)) => {
            let last = ledger.last_sequence()?;
            // Only needed if there is a ledger, because it reads the calls.
            Ok((0 < last && state.max_ledger()? <= last).then_some(file))
        }
        Ok(None) => Ok(None),
        Err(error) if error.kind == FsErrorKind::NotAFile => Ok(None),
        Err(error) => Err(error),
    }
}

/// Lists receipts, newest first. A full list contains every file in the directory, even if the ledger does not name it.
pub(crate) fn list(state: &State, limit: usize) -> Result<RunList, FsError> {
    let fs = &**state.place().fs();
    if limit == usize::MAX {
        let mut list = read(fs, &files(fs)?);
        list.errors.extend(misplaced(fs)?);
        return Ok(list);
    }
    if fs.metadata(&layout::runs()).is_ok_and(|found| found.kind != FileKind::Directory) {
        return Ok(RunList { receipts: Vec::new(), errors: misplaced(fs)? });
    }
    let mut list = match usable_ledger(state)? {
        Some(ledger) => newest_in(fs, &*ledger, limit)?,
        None => read(fs, &files(fs)?),
    };
    list.receipts.truncate(limit);
    Ok(list)
}

/// Lists the receipts after the `skip` newest ones, newest first. Reads only these, if the ledger is complete.
pub(crate) fn part(state: &State, skip: usize, limit: usize) -> Result<RunList, FsError> {
    let fs = &**state.place().fs();
    let needed = skip.saturating_add(limit);
    let entries = match usable_ledger(state)? {
        Some(ledger) => newest(&*ledger, needed)?,
        None => None,
    };
    if let Some(entries) = entries {
        let paths = entries.iter().skip(skip).filter_map(|entry| receipt_path(&entry.run_id));
        return Ok(read(fs, &paths.collect::<Vec<_>>()));
    }
    let mut list = read(fs, &files(fs)?);
    list.receipts = list.receipts.into_iter().skip(skip).take(limit).collect();
    if 0 < skip {
        list.errors.clear();
    }
    Ok(list)
}

/// Lists everything that has the name of a receipt but is not a file, and the directory if it is not one.
pub(crate) fn misplaced(fs: &dyn Fs) -> Result<Vec<BadReceipt>, FsError> {
    let folder = layout::runs();
    if fs.metadata(&folder).is_ok_and(|found| found.kind != FileKind::Directory) {
        return Ok(vec![BadReceipt {
            place: folder.to_string(),
            problem: FsErrorKind::NotADirectory.to_string(),
        }]);
    }
    Ok(RunFolder::list(fs)?.misplaced().collect())
}

/// Reads the newest receipts that a ledger names, and few others.
fn newest_in(fs: &dyn Fs, ledger: &dyn ReadFile, limit: usize) -> Result<RunList, FsError> {
    // Unreadable files make room for older ones.
    let mut needed = limit;
    loop {
        let Some(entries) = newest(ledger, needed)? else { return Ok(read(fs, &files(fs)?)) };
        let is_all = entries.len() < needed;
        let paths: Vec<_> = entries.iter().filter_map(|entry| receipt_path(&entry.run_id)).collect();
        let list = read(fs, &paths);
        if limit <= list.receipts.len() || is_all {
            return Ok(list);
        }
        needed += (limit - list.receipts.len()).max(16);
    }
}

/// Counts runs by status, from the ledger alone if it is complete.
pub(crate) fn counts(state: &State) -> Result<BTreeMap<String, u64>, QueueError> {
    if usable_ledger(state)?.is_some()
        && let Some(counts) = state.place().ledger().counts()?
    {
        return Ok(counts);
    }
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let fs = &**state.place().fs();
    let paths = files(fs)?;
    let status = |index: usize, bytes| {
        examined(&paths[index], bytes, &[]).ok().map(|found| found.receipt.status.as_str().to_owned())
    };
    for status in read_many(fs, &paths, RECEIPT_LIMIT, status).into_iter().flatten() {
        *counts.entry(status).or_default() += 1;
    }
    Ok(counts)
}

/// Lists run ids that start with a prefix, sorted, at most `limit`.
pub(crate) fn ids(state: &State, prefix: &str, limit: usize) -> Result<Vec<String>, QueueError> {
    let mut ids: Vec<String> = match usable_ledger(state)? {
        Some(file) => {
            let entries = find_prefix_if_whole(&*file, prefix)?.unwrap_or_default();
            entries.into_iter().map(|entry| entry.run_id).collect()
        }
        None => Vec::new(),
    };
    if ids.is_empty() {
        let names = files(&**state.place().fs())?;
        let stems = names.iter().filter_map(|path| path.name().strip_suffix(".json"));
        ids = stems.filter(|stem| stem.starts_with(prefix)).map(str::to_owned).collect();
    }
    ids.sort_unstable();
    ids.dedup();
    ids.truncate(limit);
    Ok(ids)
}

/// Whether the ledger may already contain a receipt. Searching for it may read the whole ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LedgerPresence {
    /// No, the receipt was just stored.
    No,
    /// Possibly, from an earlier attempt.
    Perhaps,
}

/// Writes the receipt of a run.
pub(crate) fn add(
    fs: &dyn Fs,
    receipt: &Receipt,
    taken: OnRunTaken,
) -> Result<(StoredReceipt, LedgerPresence), QueueError> {
    let bytes = receipt.to_bytes();
    let run = &receipt.id;
    let path = receipt_path(run.as_str()).expect("a run id is a file name");
    let known = match in_directory(fs, &layout::runs(), || fs.create_new_durable(&path, &bytes)) {
        Ok(()) => match taken {
            OnRunTaken::Refuse => LedgerPresence::No,
            // The runner is gone, and may have added the receipt to the ledger before the file was lost.
            OnRunTaken::SetAside => LedgerPresence::Perhaps,
        },
        Err(error) if error.is_exists() => match (fs.read(&path, RECEIPT_LIMIT), taken) {
            // A retry after the disk failed halfway.
            (Ok(existing), _) if existing == bytes => LedgerPresence::Perhaps,
            (_, OnRunTaken::Refuse) => return Err(QueueError::RunTaken(run.clone())),
            (_, OnRunTaken::SetAside) => {
                set_file_aside(fs, &path)?;
                fs.create_new_durable(&path, &bytes)?;
                LedgerPresence::Perhaps
            }
        },
        Err(error) => return Err(error.into()),
    };
    let sha256 = Fingerprint::of_bytes(&bytes);
    Ok((StoredReceipt { receipt: receipt.clone(), stored_id: run.to_string(), sha256 }, known))
}

/// Adds a receipt to the ledger, unless it is already there.
pub(crate) fn enter(
    state: &State,
    fs: &dyn Fs,
    end: &mut Option<LedgerEnd>,
    receipt: &StoredReceipt,
    known: LedgerPresence,
    now: Timestamp,
) -> Result<(LedgerLink, ChainEnd), QueueError> {
    let ledger = Ledger::new(fs, state.place().layout().documents());
    let run_id = &receipt.receipt.id;
    let existing = match known {
        LedgerPresence::No => None,
        LedgerPresence::Perhaps => ledger.find(run_id.as_str())?,
    };
    let mut chain = ChainEnd::Whole;
    let entry = match existing {
        Some(entry) if entry.sha256 == receipt.sha256 => entry,
        Some(_) | None => {
            let new = NewEntry {
                run_id: run_id.to_string(),
                record_id: Some(receipt.receipt.call_id.to_string()),
                sha256: receipt.sha256,
                started_at: receipt.receipt.sort_key(),
                status: receipt.receipt.status.as_str().to_owned(),
                is_adopted: false,
            };
            let appended = ledger.append_after(end, &[new], state.max_ledger()?, now)?;
            if !appended.follows {
                chain = ChainEnd::Lost;
            }
            let mut entries = appended.entries;
            entries.pop().expect("one entry was appended")
        }
    };
    Ok((LedgerLink { sequence: entry.sequence, sha256: entry.sha256 }, chain))
}

/// The result of reading all receipts for a verification.
pub(crate) struct ReadReceipts {
    /// All files, sorted by name.
    pub(crate) paths: Vec<RelPath>,
    /// The sha256 of each readable file, if hashes were requested.
    pub(crate) hashes: HashMap<RelPath, Fingerprint>,
    /// Whether there is a receipt in our own format.
    pub(crate) has_own: bool,
}

/// Calls `found` with some members of every receipt, and returns what a verification needs.
pub(crate) fn examine(
    fs: &dyn Fs,
    needed: &[&str],
    hashes: Hashes,
    found: &ExaminedRun<'_>,
) -> Result<ReadReceipts, FsError> {
    let paths = files(fs)?;
    let own = Finder::new(OWN_PREFIX);
    let has_own = AtomicBool::new(false);
    let read = read_many(fs, &paths, RECEIPT_LIMIT, |index, bytes| {
        let path = &paths[index];
        let text = bytes.as_deref().unwrap_or_default();
        let hash = (hashes == Hashes::Compute && bytes.is_ok()).then(|| Fingerprint::of_bytes(text));
        if !has_own.load(Relaxed) && own.find(text).is_some() {
            has_own.store(true, Relaxed);
        }
        found(examined(path, bytes, needed));
        hash
    });
    let hashes = paths.iter().zip(read).filter_map(|(path, hash)| Some((path.clone(), hash?))).collect();
    Ok(ReadReceipts { paths, hashes, has_own: has_own.into_inner() })
}

/// Whether to compute the sha256 of each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hashes {
    Compute,
    Skip,
}

/// The start of a receipt in our own format.
pub(super) const OWN_PREFIX: &str = "\"schema\": \"brigade.receipt.v";

/// Returns whether there is a receipt in our own format.
pub(crate) fn has_own(fs: &dyn Fs, paths: &[RelPath]) -> bool {
    let own = Finder::new(OWN_PREFIX);
    let is_own = |_, bytes: Result<Vec<u8>, FsError>| bytes.is_ok_and(|bytes| own.find(&bytes).is_some());
    read_many(fs, paths, RECEIPT_LIMIT, is_own).contains(&true)
}

fn examined(
    path: &RelPath,
    bytes: Result<Vec<u8>, FsError>,
    needed: &[&str],
) -> Result<ExaminedReceipt, BadReceipt> {
    if let Ok(bytes) = &bytes
        && let Some(some) = some_members(bytes, needed)
        && let Ok(receipt) = Receipt::from_json(Json::Object(some))
    {
        return Ok(ExaminedReceipt { receipt, stored_id: layout::stored_id(path) });
    }
    // The full parser reports the problem, if there is one.
    read_receipt(path, bytes)
        .map(|stored| ExaminedReceipt { receipt: stored.receipt, stored_id: stored.stored_id })
}

/// The members that a receipt must have.
const NEEDED: [&str; 3] = ["id", "call_id", "status"];

/// Reads some members of an object. Returns `None` if the text needs the full parser.
fn some_members(bytes: &[u8], needed: &[&str]) -> Option<Object> {
    let mut is_plain = true;
    let mut some = Object::new();
    members(bytes, |key, value| {
        is_plain &= key.plain().is_some();
        let is_wanted = |name: &&&str| **name == key.raw();
        if let Some(name) = NEEDED.iter().find(is_wanted).or_else(|| needed.iter().find(is_wanted)) {
            match value.parse(Dialect::Lenient) {
                Ok(value) => drop(some.insert((*name).to_owned(), value)),
                Err(_) => is_plain = false,
            }
        }
    })
    .ok()?;
    is_plain.then_some(some)
}

fn read(fs: &dyn Fs, paths: &[RelPath]) -> RunList {
    let mut list = RunList::default();
    for result in read_many(fs, paths, RECEIPT_LIMIT, |index, bytes| read_receipt(&paths[index], bytes)) {
        match result {
            Ok(receipt) => list.receipts.push(receipt),
            Err(error) => list.errors.push(error),
        }
    }
    list.receipts.sort_by_cached_key(|stored| Reverse(stored.receipt.sort_key()));
    list
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WANTED: &[&str] = &["tool_id", "args"];

    #[track_caller]
    fn check(text: &str) {
        let path = layout::runs().join("run-1.json").unwrap();
        let bytes = || Ok(text.as_bytes().to_vec());
        let whole = read_receipt(&path, bytes()).map(|stored| {
            let mut document = stored.receipt.to_members();
            document.retain(|key, _| NEEDED.contains(&key.as_str()) || WANTED.contains(&key.as_str()));
            document
        });
        let some = examined(&path, bytes(), WANTED).map(|found| {
            let mut document = found.receipt.to_members();
            document.retain(|key, _| NEEDED.contains(&key.as_str()) || WANTED.contains(&key.as_str()));
            document
        });
        assert_eq!(some, whole, "{text}");
    }

    #[test]
    fn reading_some_members_agrees_with_the_whole_receipt() {
        check(r#"{"id":"run-1","call_id":"c","status":"completed","args":{"a":[1.50,null]},"other":{}}"#);
        check(r#"{"id":"run-1","call_id":"c","status":"failed","status":"completed"}"#);
        check(r#"{"\u0069d":"run-1","call_id":"c","status":"completed","tool_id":"é\n"}"#);
        check(r#"{"id":1,"call_id":"c","status":"completed"}"#);
        check(r#"{"id":"run-1","call_id":"c"}"#);
        check(r#"{"id":"run-1","call_id":"c","status":"completed","#);
        check("[]");
        check("");
    }

    proptest! {
        #[test]
        fn reading_some_members_agrees_for_all_text(
            rest in r#"(,"(tool_id|args|a|\\u0069d|id)":[\[\]{}:,"0-9.a-z\\ ]{0,12}){0,3}\}?"#,
        ) {
            check(&format!("{{\"id\":\"run-1\",\"call_id\":\"c\",\"status\":\"failed\"{rest}"));
        }
    }
}
