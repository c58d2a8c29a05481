//! Checks the whole state.

use std::collections::BTreeSet;

use brigade_fs::{FileKind, FsErrorKind, Lines, RelPath, fingerprint, is_temporary};
use brigade_journal::{Damage, DamageRepair, State};

use super::{adopt, layout, receipts, verify};
use crate::error::QueueError;

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// The size of the journal in bytes.
    pub journal_bytes: u64,
    /// The number of segments of finished calls.
    pub segments: u64,
    /// Whether the state of v0.30 is still to be adopted by the first write.
    pub is_unadopted: bool,
    /// Everything unreadable or missing.
    pub damage: Vec<Damage>,
    /// Receipts that the ledger names but whose files are missing.
    pub lost_receipts: Vec<String>,
    /// Receipts that are missing from the ledger.
    pub unrecorded_receipts: Vec<String>,
    /// Receipts in the ledger whose calls do not know the run, because the journal is older than the ledger. The next
    /// change finishes their calls, so that they do not run again.
    pub forgotten_receipts: Vec<String>,
    /// Receipts that were unreadable when they were adopted, and have not changed since.
    pub bad_when_adopted: Vec<String>,
    /// Quarantine files, with the number of lines in each.
    pub quarantined: Vec<(String, u64)>,
    /// Temporary files that are being written, or were left by a crash.
    pub temporary: Vec<String>,
}

/// The result of a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    /// Whether the state of v0.30 was adopted.
    pub is_adoption: bool,
    /// The number of finished calls moved out of the journal.
    pub moved: u64,
    /// The number of unreadable lines (of calls and the ledger) moved to a quarantine, and of missing segments.
    pub quarantined: u64,
    /// The number of missing calls restored from their receipts.
    pub restored: u64,
    /// The number of checkpoint files rewritten from the records of their calls.
    pub restored_checkpoints: u64,
    /// The number of removed files: replaced segments and leftovers of crashes.
    pub removed: u64,
}

pub(crate) fn check(state: &State) -> Result<Check, QueueError> {
    let place = state.place();
    let fs = &**place.fs();
    let mut check = Check {
        segments: state.segment_count() as u64,
        is_unadopted: state.is_unadopted() && state.journal().is_some(),
        damage: state.damage()?,
        ..Check::default()
    };
    if let Some(journal) = state.journal() {
        check.journal_bytes = journal.file().len()?;
    }
    check.damage.extend(ledger_damage(state)?);
    // Read the ledger before the directory is listed, because a receipt is written before its entry.
    let entries = place.ledger().find_prefix("").unwrap_or_default();
    let recorded: Vec<RelPath> =
        entries.iter().filter_map(|entry| receipts::receipt_path(&entry.run_id)).collect();
    for entry in entries.iter().filter(|entry| entry.is_adopted && entry.status == adopt::UNREADABLE) {
        if let Some(path) = receipts::receipt_path(&entry.run_id)
            && fs.open(&path).and_then(|file| fingerprint(&*file)).is_ok_and(|hash| hash == entry.sha256)
        {
            check.bad_when_adopted.push(path.to_string());
        }
    }
    let files: BTreeSet<RelPath> = receipts::files(fs)?.into_iter().collect();
    let lost = recorded.iter().filter(|path| !files.contains(*path));
    check.lost_receipts = lost.map(RelPath::to_string).collect();
    let path_of = |run: &String| receipts::receipt_path(run).map(|path| path.to_string());
    let (unrecorded, forgotten) = verify::unrecorded_and_forgotten(state)?;
    check.unrecorded_receipts = unrecorded.iter().filter_map(path_of).collect();
    check.forgotten_receipts = forgotten.iter().filter_map(path_of).collect();
    for folder in
        [place.layout().directory().clone(), place.layout().segments(), layout::runs(), layout::checkpoints()]
    {
        let Ok(entries) = fs.list_dir(&folder) else { continue };
        for entry in entries {
            let Ok(path) = folder.join(&entry.name) else { continue };
            if is_temporary(&entry.name) {
                check.temporary.push(path.to_string());
            } else if entry.name.contains(".quarantine-") {
                let lines = match entry.kind {
                    FileKind::File => count_lines(state, &path)?,
                    FileKind::Directory | FileKind::Link | FileKind::Other => 0,
                };
                check.quarantined.push((path.to_string(), lines));
            }
        }
    }
    Ok(check)
}

/// Lists the damage to the ledger file.
fn ledger_damage(state: &State) -> Result<Vec<Damage>, QueueError> {
    let ledger = state.place().ledger();
    let damage = |line, problem, mending| Damage { path: ledger.path().to_string(), line, problem, mending };
    let known = state.max_ledger()?;
    let lines = match ledger.lines() {
        Ok(Some(lines)) => lines,
        Ok(None) if known == 0 => return Ok(Vec::new()),
        Ok(None) => {
            return Ok(vec![damage(
                None,
                "it is missing, but calls name receipts in it",
                DamageRepair::Stays,
            )]);
        }
        Err(error) if error.kind == FsErrorKind::NotAFile => {
            return Ok(vec![damage(None, "it is not a file", DamageRepair::SetAside)]);
        }
        Err(error) => return Err(error.into()),
    };
    let mut found = Vec::new();
    let mut last = 0;
    for (number, line) in (1..).zip(lines) {
        match line.entry {
            Some(entry) => {
                if entry.sequence != last + 1 {
                    found.push(damage(Some(number), "not the next entry of the ledger", DamageRepair::Stays));
                }
                last = entry.sequence;
            }
            // A line cut off by a crash was never acknowledged; the next write moves it to a quarantine.
            None if !line.is_complete => {}
            None => found.push(damage(Some(number), "not an entry of the ledger", DamageRepair::SetAside)),
        }
    }
    if last < known {
        found.push(damage(None, "it ends before receipts that calls name", DamageRepair::Stays));
    }
    Ok(found)
}

fn count_lines(state: &State, path: &RelPath) -> Result<u64, QueueError> {
    let file = state.place().fs().open(path)?;
    let mut lines = Lines::new(&*file, 0, file.len()?);
    let mut count = 0;
    while lines.next_line()?.is_some() {
        count += 1;
    }
    Ok(count)
}
