//! Checks that the lines of a ledger are a chain.

use std::collections::HashSet;
use std::ops::Range;

use crate::ledger::{LedgerLine, NO_HASH};

/// A place where a ledger is not a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainFault {
    /// The sequence number of the entry, if it is known.
    pub sequence: Option<u64>,
    /// The line, from 1, if the line is not an entry.
    pub line: Option<u64>,
    /// The id of the document; empty if it is unknown.
    pub run_id: String,
    /// What happened to the entry.
    pub kind: ChainFaultKind,
    /// How it was detected.
    pub detail: &'static str,
}

/// What happened to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainFaultKind {
    /// It was changed, or something else is in its place.
    Changed,
    /// It is missing.
    Removed,
    /// It is in another position.
    Reordered,
}

/// Checks sequence numbers, hashes, and that each entry follows the one before. Reports faults from the sequence number
/// `from` on. `known` is the highest sequence number that a record names.
pub fn check_chain(lines: &[LedgerLine], from: u64, known: u64) -> Vec<ChainFault> {
    let mut faults = Vec::new();
    let present: HashSet<u64> = lines.iter().filter_map(|line| Some(line.entry.as_ref()?.sequence)).collect();
    let mut expected = 1;
    let mut previous = NO_HASH.to_owned();
    // The unreadable lines since the last entry.
    let mut broken: Vec<u64> = Vec::new();
    for (number, line) in (1..).zip(lines) {
        let Some(entry) = &line.entry else {
            broken.push(number);
            continue;
        };
        let was_broken = !broken.is_empty();
        report_broken(&mut broken, expected..entry.sequence, from, &mut faults);
        let mut find = |sequence: u64, run_id: &str, kind: ChainFaultKind, detail: &'static str| {
            if from <= sequence {
                let (sequence, run_id) = (Some(sequence), run_id.to_owned());
                faults.push(ChainFault { sequence, line: None, run_id, kind, detail });
            }
        };
        let run_id = &entry.run_id;
        if !line.has_right_hash {
            find(entry.sequence, run_id, ChainFaultKind::Changed, "its entry in the ledger was changed");
        } else if entry.sequence != expected {
            if entry.sequence < expected || present.contains(&expected) {
                find(entry.sequence, run_id, ChainFaultKind::Reordered, "its ledger entry is out of order");
            } else if !was_broken {
                find(expected, "", ChainFaultKind::Removed, "its entry is missing from the ledger");
            }
        } else if entry.previous != previous {
            find(entry.sequence, run_id, ChainFaultKind::Changed, "its entry does not follow the one before");
        }
        expected = entry.sequence + 1;
        previous = entry.hash.to_hex();
    }
    report_broken(&mut broken, expected..known + 1, from, &mut faults);
    faults
}

/// Reports unreadable lines. A line in the place of a missing entry is taken for that entry. Any other line belongs to
/// no document.
fn report_broken(broken: &mut Vec<u64>, mut missing: Range<u64>, from: u64, faults: &mut Vec<ChainFault>) {
    let start = missing.start;
    for line in broken.drain(..) {
        let sequence = missing.next();
        let detail = match sequence {
            Some(_) => "its line in the ledger is not an entry",
            None => "a line of the ledger is not an entry",
        };
        if from <= sequence.unwrap_or(start) {
            let (line, run_id) = (Some(line), String::new());
            faults.push(ChainFault { sequence, line, run_id, kind: ChainFaultKind::Changed, detail });
        }
    }
}

#[cfg(test)]
mod tests {
    use brigade_core::{Fingerprint, Timestamp};
    use brigade_fs::{FileMode, Fs as _, MemoryFs, RelPath};

    use super::*;
    use crate::ledger::{Ledger, NewEntry};

    /// Writes a ledger of three entries, edits its lines, and expects these faults: sequence, line and kind.
    #[track_caller]
    fn check(
        edit: impl Fn(&mut Vec<String>),
        known: u64,
        expect: &[(Option<u64>, Option<u64>, ChainFaultKind)],
    ) {
        let (fs, folder): (_, RelPath) = (MemoryFs::new(), "runs".parse().unwrap());
        let ledger = Ledger::new(&fs, &folder);
        let new = ["run-a", "run-b", "run-c"].map(|run| NewEntry {
            run_id: run.to_owned(),
            record_id: None,
            sha256: Fingerprint::of_bytes(run.as_bytes()),
            started_at: String::new(),
            status: "completed".to_owned(),
            is_adopted: false,
        });
        ledger.append(&new, 0, Timestamp::from_unix_micros(0)).unwrap();
        let text = String::from_utf8(fs.read(&ledger.path(), 10_000).unwrap()).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        edit(&mut lines);
        let text = lines.join("\n") + "\n";
        fs.write_atomic(&ledger.path(), text.as_bytes(), FileMode::Private).unwrap();
        let faults = check_chain(&ledger.lines().unwrap().unwrap(), 1, known);
        let found: Vec<_> = faults.iter().map(|fault| (fault.sequence, fault.line, fault.kind)).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn every_break_of_the_chain_is_found_at_its_entry() {
        use ChainFaultKind::{Changed, Removed, Reordered};
        check(|_| {}, 3, &[]);
        check(|lines| drop(lines.remove(1)), 3, &[(Some(2), None, Removed)]);
        let swapped = [2, 1, 3].map(|sequence| (Some(sequence), None, Reordered));
        check(|lines| lines.swap(0, 1), 3, &swapped);
        check(|lines| lines[1] = lines[1].replace("completed", "failed"), 3, &[(Some(2), None, Changed)]);
        check(|lines| lines[1] = "x".to_owned(), 3, &[(Some(2), Some(2), Changed)]);
        check(|lines| lines.insert(1, "x".to_owned()), 3, &[(None, Some(2), Changed)]);
        check(|lines| lines[2] = "x".to_owned(), 3, &[(Some(3), Some(3), Changed)]);
        check(|lines| lines[2] = "x".to_owned(), 2, &[(None, Some(3), Changed)]);
    }

    #[test]
    fn unknown_members_are_covered_by_the_hash() {
        let later = |lines: &mut Vec<String>| lines[2] = lines[2].replacen('{', "{\"later\":1,", 1);
        check(later, 3, &[(Some(3), None, ChainFaultKind::Changed)]);
    }
}
