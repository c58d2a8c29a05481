//! Adopts the state of v0.30.0, which was a Python program.
//!
//! This happens once, before the first write. The original journal is copied byte for byte. Receipts and checkpoints
//! are not changed. The ledger gets an entry for each receipt, marked as adopted.

use std::collections::HashMap;

use brigade_call::{LedgerLink, ReceiptLink, RecordVersion};
use brigade_core::{Fingerprint, Json, Object, Timestamp};
use brigade_fs::{FileMode, FsError, ReadFile, RelPath, Replacement, read_many};
use brigade_journal::{Adoption, Journal, JournalError, LedgerEntry, NewEntry, State};

use super::{checkpoints, receipts};
use crate::store::{StoredCall, StoredReceipt};

/// The ledger status of an adopted file that is not a valid receipt.
pub(crate) const UNREADABLE: &str = "unreadable";

/// The receipts and checkpoints of adopted calls.
#[derive(Debug, Default)]
struct Links {
    /// Ledger links by run.
    receipts: HashMap<String, LedgerLink>,
    /// Checkpoints by call.
    checkpoints: HashMap<String, Object>,
    /// The absolute path of the workspace, with which paths in the records start.
    root: String,
}

impl Links {
    /// Converts a record of v0.30. Other lines stay unchanged, byte for byte.
    fn convert(&self, line: Vec<u8>, sequence: u64) -> Vec<u8> {
        // A line with a MAC is not of v0.30, and stays unchanged.
        let Some((mut stored, _)) = StoredCall::with_mac(&line, sequence) else { return line };
        if stored.version != RecordVersion::Adopted {
            return line;
        }
        let call = &mut stored.call;
        let run_id = call.claim.as_ref().map(|claim| claim.run_id.as_str());
        if let Some(link) = run_id.and_then(|run_id| self.receipts.get(run_id))
            && let Some(path) = run_id.and_then(receipts::receipt_path)
        {
            call.receipt = Some(ReceiptLink { path: path.to_string(), ledger: Some(link.clone()) });
        }
        if let Some(policy) = &mut call.policy {
            self.make_relative(&mut policy.policy_path);
        }
        for row in call.projection_summary.iter_mut().flat_map(|summary| &mut summary.projections) {
            row.projection_path.iter_mut().for_each(|path| self.make_relative(path));
        }
        if let Some(checkpoints) = self.checkpoints.get(call.id.as_str()) {
            stored.checkpoints = checkpoints.clone();
        }
        // The revision stays 0, because adoption changes nothing that a user's decision depends on.
        let mut line = stored.to_line().into_bytes();
        line.pop();
        line
    }

    /// Makes a path relative to the workspace, so that the workspace can be moved.
    fn make_relative(&self, path: &mut String) {
        let inside = path.strip_prefix(&self.root).and_then(|rest| rest.strip_prefix('/'));
        if let Some(inside) = inside.filter(|_| !self.root.is_empty()).map(str::to_owned) {
            *path = inside;
        }
    }
}

/// Copies the original journal, adds the receipts to the ledger, and collects the links of calls.
pub(crate) fn adopt(state: &State, now: Timestamp) -> Result<Adoption<'static>, JournalError> {
    let place = state.place();
    let fs = &**place.fs();
    if let Some(journal) = state.journal()
        && !journal.file().is_empty()?
    {
        copy_original(place, journal.file())?;
    }
    let mut links = Links { root: fs.root().to_string_lossy().into_owned(), ..Links::default() };
    let (receipts, ledger) = adopt_receipts(place, state.max_ledger()?, now)?;
    links.receipts = receipts;
    for (_, result) in checkpoints::read_all(fs)? {
        if let Ok(checkpoint) = result {
            let document = Json::Object(checkpoint.to_document());
            let of_call = links.checkpoints.entry(checkpoint.call_id.to_string()).or_default();
            of_call.insert(checkpoint.id.as_str().to_owned(), document);
        }
    }
    let is_empty = links.receipts.is_empty() && links.checkpoints.is_empty();
    tracing::info!(
        receipts = links.receipts.len(),
        calls_with_checkpoints = links.checkpoints.len(),
        "adopted the state of v0.30"
    );
    Ok(Adoption { convert: Box::new(move |line, sequence| links.convert(line, sequence)), ledger, is_empty })
}

/// Copies the journal unchanged, unless an earlier, interrupted adoption has copied it.
fn copy_original(place: &Journal, file: &dyn ReadFile) -> Result<(), FsError> {
    let fs = &**place.fs();
    let mut number = 0;
    let path = loop {
        let path = place.layout().original_copy("0.30.0", number);
        match fs.open(&path) {
            Ok(copy) if is_equal(file, &*copy)? => return Ok(()),
            Err(error) if error.is_not_found() => break path,
            Ok(_) | Err(_) => number += 1,
        }
    };
    let mut copy = Replacement::begin(fs, &path, FileMode::Private)?;
    let mut offset = 0;
    loop {
        let bytes = file.read_range(offset, CHUNK)?;
        if bytes.is_empty() {
            break;
        }
        offset += bytes.len() as u64;
        copy.write(&bytes)?;
    }
    copy.commit()
}

const CHUNK: usize = 1 << 20;

fn is_equal(left: &dyn ReadFile, right: &dyn ReadFile) -> Result<bool, FsError> {
    let length = left.len()?;
    if length != right.len()? {
        return Ok(false);
    }
    let mut offset = 0;
    while offset < length {
        if left.read_range(offset, CHUNK)? != right.read_range(offset, CHUNK)? {
            return Ok(false);
        }
        offset += CHUNK as u64;
    }
    Ok(true)
}

/// Adds the missing receipts to the ledger, oldest first. Returns the links of all receipts, and the last sequence up
/// to which all entries are adopted.
fn adopt_receipts(
    place: &Journal,
    known: u64,
    now: Timestamp,
) -> Result<(HashMap<String, LedgerLink>, u64), FsError> {
    let (fs, ledger) = (&**place.fs(), place.ledger());
    let mut links = HashMap::new();
    let (mut adopted, mut has_own) = (0, false);
    let mut count = |entry: &LedgerEntry| {
        has_own |= !entry.is_adopted;
        if !has_own {
            adopted = entry.sequence;
        }
    };
    for entry in ledger.find_prefix("")? {
        count(&entry);
        let link = LedgerLink { sequence: entry.sequence, sha256: entry.sha256 };
        links.insert(entry.run_id, link);
    }
    let stem = |path: &RelPath| path.name().strip_suffix(".json").unwrap_or_default().to_owned();
    let mut paths = receipts::files(fs)?;
    paths.retain(|path| !links.contains_key(&stem(path)));
    let mut entries: Vec<NewEntry> = read_many(fs, &paths, receipts::RECEIPT_LIMIT, |index, bytes| {
        let sha256 = Fingerprint::of_bytes(bytes.as_deref().unwrap_or_default());
        let read = receipts::read_receipt(&paths[index], bytes);
        let (started_at, status, record_id) = match read {
            Ok(StoredReceipt { receipt, .. }) => {
                (receipt.sort_key(), receipt.status.as_str().to_owned(), Some(receipt.call_id.to_string()))
            }
            // Sorted before all others, because it has no time.
            Err(_) => (String::new(), UNREADABLE.to_owned(), None),
        };
        let run_id = stem(&paths[index]);
        NewEntry { run_id, record_id, sha256, started_at, status, is_adopted: true }
    });
    entries.sort_by(|left, right| (&left.started_at, &left.run_id).cmp(&(&right.started_at, &right.run_id)));
    for entry in ledger.append(&entries, known, now)?.entries {
        count(&entry);
        links.insert(entry.run_id, LedgerLink { sequence: entry.sequence, sha256: entry.sha256 });
    }
    Ok((links, adopted))
}
