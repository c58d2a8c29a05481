//! Receipts: finding and listing them by the ledger, or by their folder where there is no ledger yet.

use std::collections::HashMap;

use brigade_call::Receipt;
use brigade_core::json::members;
use brigade_core::{Dialect, Fingerprint, IdPrefix, Json, Object, RunId};
use brigade_fs::{DirEntry, FileKind, Fs, FsError, FsErrorKind, ReadFile, RelPath, read_many};

use crate::error::QueueError;
use crate::ledger::{self, LedgerEntry};
use crate::queue::{ExaminedRun, FoundRun};
use crate::state::State;
use crate::{Match, layout};

/// The longest receipt that is read, in bytes.
pub(crate) const RECEIPT_LIMIT: u64 = 64 * 1024 * 1024;

/// A receipt as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredReceipt {
    /// The receipt.
    pub receipt: Receipt,
    /// Its file, relative to the workspace.
    pub path: String,
    /// The sha256 of its bytes.
    pub sha256: Fingerprint,
}

/// A receipt's file that cannot be read as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadReceipt {
    /// The file, relative to the workspace.
    pub path: String,
    /// What is wrong, with the place and without quoting.
    pub problem: String,
}

/// A receipt of which only some members were read.
#[derive(Clone, Debug, PartialEq)]
pub struct ExaminedReceipt {
    /// The receipt with the members that were asked for, besides those that make it one.
    pub receipt: Receipt,
    /// Its file, relative to the workspace.
    pub path: String,
}

/// What lies in the folder of receipts, listed once.
#[derive(Clone, Debug, Default)]
pub struct RunFolder {
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
            // That it is no folder is damage, and is said there.
            Err(error) if error.is_not_found() || error.kind == FsErrorKind::NotADirectory => {
                Ok(RunFolder::default())
            }
            Err(error) => Err(error),
        }
    }

    /// Tells whether something of this name lies there.
    pub fn contains(&self, name: &str) -> bool {
        self.entries.binary_search_by(|entry| entry.name.as_str().cmp(name)).is_ok()
    }

    /// Lists the folders that have the names of receipts.
    fn misplaced(&self) -> impl Iterator<Item = BadReceipt> {
        let folders = self.entries.iter().filter(|entry| {
            entry.kind == FileKind::Directory && entry.name.ends_with(".json") && !entry.name.starts_with('.')
        });
        folders.filter_map(|entry| {
            let path = layout::runs().join(&entry.name).ok()?;
            Some(BadReceipt { path: path.to_string(), problem: FsErrorKind::NotAFile.to_string() })
        })
    }

    /// Lists the files that are receipts by their names.
    pub(crate) fn receipts(&self) -> Vec<RelPath> {
        let is_receipt = |name: &str| name.ends_with(".json") && !name.starts_with('.');
        self.entries
            .iter()
            .filter(|entry| entry.kind != FileKind::Directory && is_receipt(&entry.name))
            .filter_map(|entry| layout::runs().join(&entry.name).ok())
            .collect()
    }
}

/// How many receipts to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// All, also those that are in no ledger.
    All,
    /// The newest ones.
    Newest(usize),
}

/// Receipts, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunList {
    /// Those that can be read.
    pub receipts: Vec<StoredReceipt>,
    /// Those that cannot.
    pub errors: Vec<BadReceipt>,
}

pub(crate) fn read_receipt(
    path: &RelPath,
    bytes: Result<Vec<u8>, FsError>,
) -> Result<StoredReceipt, BadReceipt> {
    let bad = |problem: String| BadReceipt { path: path.to_string(), problem };
    let bytes = bytes.map_err(|error| bad(error.kind.to_string()))?;
    let json = Json::parse_bytes(&bytes, Dialect::Lenient).map_err(|error| bad(error.to_string()))?;
    let receipt = Receipt::from_json(json).map_err(|error| bad(error.to_string()))?;
    Ok(StoredReceipt { receipt, path: path.to_string(), sha256: Fingerprint::of_bytes(&bytes) })
}

/// The receipt's file of a run that may be named by another program.
pub(crate) fn receipt_path(run_id: &str) -> Option<RelPath> {
    if run_id.contains('/') { None } else { layout::runs().join(&format!("{run_id}.json")).ok() }
}

/// Lists the files in the folder of receipts, sorted by name.
pub(crate) fn files(fs: &dyn Fs) -> Result<Vec<RelPath>, FsError> {
    Ok(RunFolder::list(fs)?.receipts())
}

/// Opens the ledger if it can tell what runs there are: it is there, and reaches as far as the calls know. What is wrong
/// with one that cannot is for `verify` to report.
pub(crate) fn usable_ledger(fs: &dyn Fs, state: &State) -> Result<Option<Box<dyn ReadFile>>, FsError> {
    match ledger::open(fs) {
        Ok(Some(file)) => {
            let last = ledger::last_sequence(fs)?;
            // Asked only now: without a ledger nobody has to look how far the calls know it.
            Ok((0 < last && state.max_ledger()? <= last).then_some(file))
        }
        Ok(None) => Ok(None),
        Err(error) if error.kind == FsErrorKind::NotAFile => Ok(None),
        Err(error) => Err(error),
    }
}

/// Lists receipts, newest first.
pub(crate) fn list(fs: &dyn Fs, which: Runs, state: &State) -> Result<RunList, FsError> {
    let folder = layout::runs();
    if fs.metadata(&folder).is_ok_and(|found| found.kind != FileKind::Directory) {
        let bad = BadReceipt { path: folder.to_string(), problem: FsErrorKind::NotADirectory.to_string() };
        return Ok(RunList { receipts: Vec::new(), errors: vec![bad] });
    }
    let ledger = match which {
        Runs::Newest(_) => usable_ledger(fs, state)?,
        Runs::All => None,
    };
    match (which, ledger) {
        (Runs::Newest(limit), Some(file)) => {
            // Files that cannot be read leave room for older ones.
            let mut wanted = limit;
            loop {
                let Some(entries) = ledger::newest(&*file, wanted)? else {
                    let mut list = read(fs, &files(fs)?);
                    list.receipts.truncate(limit);
                    return Ok(list);
                };
                let is_all = entries.len() < wanted;
                let list = read(
                    fs,
                    &entries.iter().filter_map(|entry| receipt_path(&entry.run_id)).collect::<Vec<_>>(),
                );
                if limit <= list.receipts.len() || is_all {
                    let mut list = list;
                    list.receipts.truncate(limit);
                    return Ok(list);
                }
                wanted += (limit - list.receipts.len()).max(16);
            }
        }
        (Runs::Newest(limit), None) => {
            let mut list = read(fs, &files(fs)?);
            list.receipts.truncate(limit);
            Ok(list)
        }
        (Runs::All, _) => {
            let folder = RunFolder::list(fs)?;
            let mut list = read(fs, &folder.receipts());
            list.errors.extend(folder.misplaced());
            Ok(list)
        }
    }
}

/// Hands out all receipts as they are read.
pub(crate) fn for_each(fs: &dyn Fs, found: &FoundRun<'_>) -> Result<(), FsError> {
    let paths = files(fs)?;
    read_many(fs, &paths, RECEIPT_LIMIT, |index, bytes| found(read_receipt(&paths[index], bytes)));
    Ok(())
}

/// Hands out all receipts with some of their members, and returns the sha256 of each file that could be read.
pub(crate) fn examine(
    fs: &dyn Fs,
    folder: &RunFolder,
    wanted: &[&str],
    found: &ExaminedRun<'_>,
) -> HashMap<RelPath, Fingerprint> {
    let paths = folder.receipts();
    let hashes = read_many(fs, &paths, RECEIPT_LIMIT, |index, bytes| {
        let path = &paths[index];
        let hash = bytes.as_ref().ok().map(|bytes| Fingerprint::of_bytes(bytes));
        found(examined(path, bytes, wanted), folder);
        hash
    });
    paths.into_iter().zip(hashes).filter_map(|(path, hash)| Some((path, hash?))).collect()
}

fn examined(
    path: &RelPath,
    bytes: Result<Vec<u8>, FsError>,
    wanted: &[&str],
) -> Result<ExaminedReceipt, BadReceipt> {
    if let Ok(bytes) = &bytes
        && let Some(some) = some_members(bytes, wanted)
        && let Ok(receipt) = Receipt::from_json(Json::Object(some))
    {
        return Ok(ExaminedReceipt { receipt, path: path.to_string() });
    }
    // It says what is wrong, if anything is.
    read_receipt(path, bytes).map(|stored| ExaminedReceipt { receipt: stored.receipt, path: stored.path })
}

/// The members without which a document is no receipt.
const NEEDED: [&str; 3] = ["id", "call_id", "status"];

/// Reads some members of an object; none when that is not as simple as it should be.
fn some_members(bytes: &[u8], wanted: &[&str]) -> Option<Object> {
    let mut is_plain = true;
    let mut some = Object::new();
    members(bytes, |key, value| {
        is_plain &= key.plain().is_some();
        let is_wanted = |name: &&&str| **name == key.raw();
        if let Some(name) = NEEDED.iter().find(is_wanted).or_else(|| wanted.iter().find(is_wanted)) {
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
    list.receipts.sort_by(|left, right| right.receipt.sort_key().cmp(left.receipt.sort_key()));
    list
}

/// Finds the one receipt that is meant: an equal id wins over those that only start with the prefix.
pub(crate) fn find(
    fs: &dyn Fs,
    prefix: &IdPrefix,
    limit: usize,
    state: &State,
) -> Result<Match<Result<StoredReceipt, BadReceipt>>, QueueError> {
    let text = prefix.as_str();
    let get = |path: &RelPath| read_receipt(path, fs.read(path, RECEIPT_LIMIT));
    if let Ok(run) = text.parse::<RunId>()
        && fs.exists(&layout::receipt(&run))?
    {
        return Ok(Match::One(get(&layout::receipt(&run))));
    }
    if text.is_empty() {
        return Ok(Match::None);
    }
    let mut ids: Vec<String> = match usable_ledger(fs, state)? {
        Some(file) => {
            let entries = ledger::find_prefix_if_whole(&*file, text)?.unwrap_or_default();
            entries.into_iter().map(|entry: LedgerEntry| entry.run_id).collect()
        }
        None => Vec::new(),
    };
    if ids.is_empty() {
        let names = files(fs)?;
        let stems = names.iter().filter_map(|path| path.name().strip_suffix(".json"));
        ids = stems.filter(|stem| stem.starts_with(text)).map(str::to_owned).collect();
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(match ids.as_slice() {
        [] => Match::None,
        [one] => receipt_path(one).map_or(Match::None, |path| Match::One(get(&path))),
        _ => {
            ids.truncate(limit);
            Match::Ambiguous(ids)
        }
    })
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
            let mut document = stored.receipt.into_document();
            document.retain(|key, _| NEEDED.contains(&key.as_str()) || WANTED.contains(&key.as_str()));
            document
        });
        let some = examined(&path, bytes(), WANTED).map(|found| {
            let mut document = found.receipt.into_document();
            document.retain(|key, _| NEEDED.contains(&key.as_str()) || WANTED.contains(&key.as_str()));
            document
        });
        assert_eq!(some, whole, "{text}");
    }

    #[test]
    fn some_members_are_what_the_whole_receipt_says() {
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
        fn some_members_are_what_the_whole_receipt_says_for_all_text(
            rest in r#"(,"(tool_id|args|a|\\u0069d|id)":[\[\]{}:,"0-9.a-z\\ ]{0,12}){0,3}\}?"#,
        ) {
            check(&format!("{{\"id\":\"run-1\",\"call_id\":\"c\",\"status\":\"failed\"{rest}"));
        }
    }
}
