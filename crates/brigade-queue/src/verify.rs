//! Checking that the receipts are those that were written, all of them, in their order.

use std::collections::{HashMap, HashSet};

use brigade_call::CallStatus;
use brigade_core::Fingerprint;
use brigade_fs::{FsErrorKind, Lines, RelPath, read_many};

use crate::error::QueueError;
use crate::ledger::{self, LedgerEntry, NO_HASH};
use crate::log::Log;
use crate::peek::{Raw, members};
use crate::runs;
use crate::view::View;

/// What happened to a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tampering {
    /// The file, or its entry in the ledger, is not what was written.
    Changed,
    /// The file or the entry is gone.
    Removed,
    /// Its entry stands at another place.
    Reordered,
    /// The file is there and no entry names it.
    Added,
    /// A call names it, and the ledger ends before it.
    CutOff,
}

impl Tampering {
    /// Returns the word that reports use.
    pub fn as_str(self) -> &'static str {
        match self {
            Tampering::Changed => "changed",
            Tampering::Removed => "removed",
            Tampering::Reordered => "reordered",
            Tampering::Added => "added",
            Tampering::CutOff => "cut-off",
        }
    }
}

/// One thing that does not fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its place in the ledger, where it has one.
    pub sequence: Option<u64>,
    /// The run, where it is known.
    pub run_id: String,
    /// What happened.
    pub tampering: Tampering,
    /// How that was seen.
    pub detail: &'static str,
}

/// The result of checking the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// How many entries of the ledger were checked.
    pub checked: u64,
    /// What does not fit together, the first of the chain first; files that no entry names come last.
    pub findings: Vec<Finding>,
    /// Whether there is no ledger yet because nothing was written since the Python program.
    pub is_unadopted: bool,
}

impl Verification {
    /// Returns the first receipt that is not as it was.
    pub fn first(&self) -> Option<&Finding> {
        self.findings.first()
    }
}

/// The link that a call holds to its receipt.
struct Link {
    sequence: u64,
    sha256: String,
    run_id: String,
}

pub(crate) fn verify(view: &View, from: u64) -> Result<Verification, QueueError> {
    let fs = &*view.fs;
    let mut findings = Vec::new();
    let lines = match ledger::open(fs) {
        Ok(Some(file)) => {
            let mut lines = Vec::new();
            let mut reader = Lines::new(&*file, 0, file.len()?);
            while let Some(line) = reader.next_line()? {
                let entry = LedgerEntry::from_line(line.bytes);
                // An end that a crash tore was never acknowledged; the next write sets it aside.
                if line.is_complete || entry.is_some() {
                    lines.push((entry, ledger::has_right_hash(line.bytes)));
                }
            }
            Some(lines)
        }
        Ok(None) => None,
        Err(error) if error.kind == FsErrorKind::NotAFile => Some(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let links = links(view)?;
    // Before adoption, and when a crash stopped one, receipts need not be in the ledger.
    let is_unadopted = view.state.is_unadopted() && view.state.segments.is_empty();
    let Some(lines) = lines else {
        if is_unadopted {
            return Ok(Verification { is_unadopted: true, ..Verification::default() });
        }
        findings.extend(links.iter().map(|link| cut_off(link, "there is no ledger")));
        findings.sort_by_key(|finding| finding.sequence);
        return Ok(Verification { checked: 0, findings, is_unadopted: false });
    };
    check_chain(&lines, from, &mut findings);
    let entries: Vec<&LedgerEntry> = lines.iter().filter_map(|(entry, _)| entry.as_ref()).collect();
    let checked: Vec<&LedgerEntry> = entries.iter().copied().filter(|entry| from <= entry.sequence).collect();
    check_files(view, &checked, &mut findings);
    check_links(&entries, &links, from, &mut findings);
    if !is_unadopted {
        check_additions(view, &entries, &mut findings)?;
    }
    // One finding a place, and the one that can name the run.
    findings.sort_by_key(|finding| {
        (finding.sequence.unwrap_or(u64::MAX), finding.tampering, finding.run_id.is_empty())
    });
    findings.dedup_by(|next, kept| {
        let is_same = next.sequence.is_some() && next.sequence == kept.sequence;
        if is_same && kept.run_id.is_empty() {
            std::mem::swap(&mut kept.run_id, &mut next.run_id);
        }
        is_same
    });
    let named: HashSet<String> = findings
        .iter()
        .filter(|finding| finding.sequence.is_some())
        .map(|finding| finding.run_id.clone())
        .collect();
    findings.retain(|finding| finding.sequence.is_some() || !named.contains(&finding.run_id));
    Ok(Verification { checked: checked.len() as u64, findings, is_unadopted })
}

fn cut_off(link: &Link, detail: &'static str) -> Finding {
    let (sequence, run_id) = (Some(link.sequence), link.run_id.clone());
    Finding { sequence, run_id, tampering: Tampering::CutOff, detail }
}

/// Checks sequence numbers, hashes, and that each entry follows from the one before.
fn check_chain(lines: &[(Option<LedgerEntry>, bool)], from: u64, findings: &mut Vec<Finding>) {
    let present: HashSet<u64> =
        lines.iter().filter_map(|(entry, _)| Some(entry.as_ref()?.sequence)).collect();
    let mut expected = 1;
    let mut previous = NO_HASH.to_owned();
    for (entry, has_right_hash) in lines {
        let mut find = |sequence: u64, run_id: &str, tampering: Tampering, detail: &'static str| {
            if from <= sequence {
                let (sequence, run_id) = (Some(sequence), run_id.to_owned());
                findings.push(Finding { sequence, run_id, tampering, detail });
            }
        };
        let Some(entry) = entry else {
            find(expected, "", Tampering::Changed, "its line in the ledger is not an entry");
            expected += 1;
            previous.clear();
            continue;
        };
        let run_id = &entry.run_id;
        if !has_right_hash {
            find(entry.sequence, run_id, Tampering::Changed, "its entry in the ledger was changed");
        } else if entry.sequence != expected {
            if entry.sequence < expected || present.contains(&expected) {
                find(
                    entry.sequence,
                    run_id,
                    Tampering::Reordered,
                    "its entry stands at another place of the ledger",
                );
            } else {
                find(expected, "", Tampering::Removed, "its entry is missing in the ledger");
            }
        } else if !previous.is_empty() && entry.previous != previous {
            find(entry.sequence, run_id, Tampering::Changed, "its entry does not follow from the one before");
        }
        expected = entry.sequence + 1;
        previous = entry.hash.to_hex();
    }
}

/// Checks that each file is the one whose hash was written down.
fn check_files(view: &View, entries: &[&LedgerEntry], findings: &mut Vec<Finding>) {
    let paths: Vec<Option<RelPath>> = entries.iter().map(|entry| runs::receipt_path(&entry.run_id)).collect();
    let readable: Vec<RelPath> = paths.iter().flatten().cloned().collect();
    let hashes: Vec<Option<Fingerprint>> =
        read_many(&*view.fs, &readable, runs::RECEIPT_LIMIT, |_, bytes| {
            bytes.ok().map(|bytes| Fingerprint::of_bytes(&bytes))
        });
    let mut hashes = hashes.into_iter();
    for (entry, path) in entries.iter().zip(&paths) {
        let found = path.as_ref().and_then(|_| hashes.next().flatten());
        let (tampering, detail) = match found {
            Some(hash) if hash == entry.receipt_sha256 => continue,
            Some(_) => (Tampering::Changed, "its file was changed"),
            None => (Tampering::Removed, "its file is missing or cannot be read"),
        };
        let (sequence, run_id) = (Some(entry.sequence), entry.run_id.clone());
        findings.push(Finding { sequence, run_id, tampering, detail });
    }
}

/// Checks that the ledger says what the calls remember of it.
fn check_links(entries: &[&LedgerEntry], links: &[Link], from: u64, findings: &mut Vec<Finding>) {
    let by_sequence: HashMap<u64, &LedgerEntry> =
        entries.iter().map(|entry| (entry.sequence, *entry)).collect();
    let last = entries.iter().map(|entry| entry.sequence).max().unwrap_or(0);
    for link in links.iter().filter(|link| from <= link.sequence) {
        match by_sequence.get(&link.sequence) {
            Some(entry) if entry.run_id == link.run_id && entry.receipt_sha256.to_hex() == link.sha256 => {}
            Some(_) => findings.push(Finding {
                sequence: Some(link.sequence),
                run_id: link.run_id.clone(),
                tampering: Tampering::Changed,
                detail: "its call names another receipt than the ledger",
            }),
            None if last < link.sequence => findings.push(cut_off(link, "the ledger ends before it")),
            None => findings.push(Finding {
                sequence: Some(link.sequence),
                run_id: link.run_id.clone(),
                tampering: Tampering::Removed,
                detail: "its entry is missing in the ledger",
            }),
        }
    }
}

/// Finds receipts that no entry names, other than those of runs that are just being recorded.
fn check_additions(
    view: &View,
    entries: &[&LedgerEntry],
    findings: &mut Vec<Finding>,
) -> Result<(), QueueError> {
    let mut known: HashSet<String> = entries.iter().map(|entry| entry.run_id.clone()).collect();
    for stored in view.living(&CallStatus::Running)? {
        known.extend(stored.call.claim.map(|claim| claim.run_id.as_str().to_owned()));
    }
    for path in runs::files(&*view.fs)? {
        let stem = path.name().strip_suffix(".json").unwrap_or_default();
        if !known.contains(stem) {
            findings.push(Finding {
                sequence: None,
                run_id: stem.to_owned(),
                tampering: Tampering::Added,
                detail: "no entry of the ledger names it",
            });
        }
    }
    Ok(())
}

/// Collects what all calls remember of the ledger, without parsing their records.
fn links(view: &View) -> Result<Vec<Link>, QueueError> {
    let mut links = Vec::new();
    for log in view.state.logs() {
        let mut take = |line: &[u8]| links.extend(link_of(line));
        if view.is_journal(log) {
            for listed in log.list(None)? {
                take(&log.line(listed.span)?);
            }
        } else {
            each_line(log, take)?;
        }
    }
    Ok(links)
}

fn each_line(log: &Log, mut take: impl FnMut(&[u8])) -> Result<(), QueueError> {
    let mut lines = Lines::new(&*log.file, 0, log.file.len()?);
    while let Some(line) = lines.next_line()? {
        take(line.bytes);
    }
    Ok(())
}

fn link_of(line: &[u8]) -> Option<Link> {
    // Most lines of a long history have a link; those that have none are told apart without walking them.
    memchr::memmem::find(line, b"\"receipt_sequence\":")?;
    let mut fields: [Option<Raw<'_>>; 3] = [None; 3];
    members(line, |key, value| match key {
        b"receipt_sequence" => fields[0] = Some(value),
        b"receipt_sha256" => fields[1] = Some(value),
        b"run_id" => fields[2] = Some(value),
        _ => {}
    })
    .ok()?;
    Some(Link {
        sequence: fields[0]?.natural()?,
        sha256: fields[1]?.text()?.into_owned(),
        run_id: fields[2]?.text()?.into_owned(),
    })
}
