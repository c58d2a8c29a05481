//! Receipts: finding and listing them by the ledger, or by their folder where there is no ledger yet.

use brigade_call::Receipt;
use brigade_core::{Dialect, Fingerprint, IdPrefix, Json, RunId};
use brigade_fs::{FileKind, Fs, FsError, FsErrorKind, RelPath, read_many};

use crate::error::QueueError;
use crate::ledger::{self, LedgerEntry};
use crate::queue::FoundRun;
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
    let entries = match fs.list_dir(&layout::runs()) {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let is_receipt = |name: &str| name.ends_with(".json") && !name.starts_with('.');
    Ok(entries
        .iter()
        .filter(|entry| entry.kind != FileKind::Directory && is_receipt(&entry.name))
        .filter_map(|entry| layout::runs().join(&entry.name).ok())
        .collect())
}

/// Lists receipts, newest first.
pub(crate) fn list(fs: &dyn Fs, which: Runs) -> Result<RunList, FsError> {
    let ledger = match ledger::open(fs) {
        Ok(ledger) => ledger,
        // What stands in its place is for `verify` to report.
        Err(error) if error.kind == FsErrorKind::NotAFile => None,
        Err(error) => return Err(error),
    };
    match (which, ledger) {
        (Runs::Newest(limit), Some(file)) => {
            // Files that cannot be read leave room for older ones.
            let mut wanted = limit;
            loop {
                let entries = ledger::newest(&*file, wanted)?;
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
        (Runs::All, _) => Ok(read(fs, &files(fs)?)),
    }
}

/// Hands out all receipts as they are read.
pub(crate) fn for_each(fs: &dyn Fs, found: &FoundRun<'_>) -> Result<(), FsError> {
    let paths = files(fs)?;
    read_many(fs, &paths, RECEIPT_LIMIT, |index, bytes| found(read_receipt(&paths[index], bytes)));
    Ok(())
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
    let mut ids: Vec<String> = match ledger::open(fs) {
        Ok(Some(file)) => {
            ledger::find_prefix(&*file, text)?.into_iter().map(|entry: LedgerEntry| entry.run_id).collect()
        }
        Ok(None) | Err(_) => Vec::new(),
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
