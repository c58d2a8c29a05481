//! Verifies that all receipts are present, unchanged and in order.

use std::collections::{HashMap, HashSet};

use brigade_call::{CallStatus, RunOutput, StreamOutput};
use brigade_core::json::{RawJson, from_json, members};
use brigade_core::{Dialect, Fingerprint};
use brigade_fs::{Fs, FsErrorKind, Lines, RelPath, fingerprint, read_many};
use brigade_journal::{ChainFault, ChainFaultKind, LedgerEntry, LedgerLine, Log, State, check_chain};

use super::receipts::{self, ReadReceipts};
use super::{reconcile, snapshot};
use crate::error::QueueError;
use crate::store::{Finding, Tampering, Verification};

/// The link from a call to its receipt.
struct Link {
    sequence: u64,
    sha256: String,
    run_id: String,
}

/// Verifies the chain from a ledger entry on. Reuses `read`, the receipts that were read before.
pub(crate) fn verify(
    state: &State,
    from: u64,
    read: Option<&ReadReceipts>,
) -> Result<Verification, QueueError> {
    let mut findings = Vec::new();
    let lines = match state.place().ledger().lines() {
        Ok(Some(mut lines)) => {
            // A line cut off by a crash was never acknowledged; the next write moves it to a quarantine.
            lines.retain(|line| line.is_complete || line.entry.is_some());
            Some(lines)
        }
        Ok(None) => None,
        Err(error) if error.kind == FsErrorKind::NotAFile => {
            let detail = "the ledger is not a file";
            findings.push(Finding::new(None, "", Tampering::Removed, detail));
            Some(Vec::new())
        }
        Err(error) => return Err(error.into()),
    };
    let is_own = |line: &LedgerLine| line.entry.as_ref().is_some_and(|entry| !entry.is_adopted);
    let has_own = lines.iter().flatten().any(is_own);
    let files = match read {
        Some(read) => read.paths.clone(),
        None => receipts::files(&**state.place().fs())?,
    };
    let is_unadopted = is_unadopted(state, has_own, &files, read);
    if lines.is_none() && is_unadopted {
        // If nothing ever ran, there is nothing to adopt.
        let is_unadopted = !files.is_empty();
        return Ok(Verification { is_unadopted, ..Verification::default() });
    }
    let links = links(state)?;
    let detail = if lines.is_some() { "the ledger ends before it" } else { "there is no ledger" };
    let lines = lines.unwrap_or_default();
    let known = links.iter().map(|link| link.sequence).max().unwrap_or(0);
    findings.extend(check_chain(&lines, from, known).into_iter().map(Finding::from));
    let entries: Vec<&LedgerEntry> = lines.iter().filter_map(|line| line.entry.as_ref()).collect();
    let checked: Vec<&LedgerEntry> = entries.iter().copied().filter(|entry| from <= entry.sequence).collect();
    check_files(state, &checked, read, &mut findings);
    check_links(&entries, &links, from, detail, &mut findings);
    for entry in forgotten(state, &checked, &links)? {
        let detail = "its call does not know the run: the journal is older than the ledger";
        findings.push(Finding::new(Some(entry.sequence), &entry.run_id, Tampering::Forgotten, detail));
    }
    if !is_unadopted {
        check_additions(state, &files, &entries, &mut findings)?;
    }
    // Keep one finding per place, preferably one that names the run.
    findings.sort_by_key(|finding| {
        (finding.sequence.unwrap_or(u64::MAX), finding.tampering, finding.run_id.is_empty())
    });
    findings.dedup_by(|next, kept| {
        let is_same = next.sequence.is_some() && next.sequence == kept.sequence;
        if is_same && kept.run_id.is_empty() {
            std::mem::swap(&mut kept.run_id, &mut next.run_id);
        }
        if is_same {
            kept.line = kept.line.or(next.line);
        }
        is_same
    });
    let named: HashSet<String> = findings
        .iter()
        .filter(|finding| finding.sequence.is_some() && !finding.run_id.is_empty())
        .map(|finding| finding.run_id.clone())
        .collect();
    findings.retain(|finding| finding.sequence.is_some() || !named.contains(&finding.run_id));
    let last = entries.iter().map(|entry| entry.sequence).max().unwrap_or(0);
    Ok(Verification { checked: checked.len() as u64, findings, last, is_unadopted })
}

impl From<ChainFault> for Finding {
    fn from(fault: ChainFault) -> Finding {
        let tampering = match fault.kind {
            ChainFaultKind::Changed => Tampering::Changed,
            ChainFaultKind::Removed => Tampering::Removed,
            ChainFaultKind::Reordered => Tampering::Reordered,
        };
        let ChainFault { sequence, line, run_id, detail, .. } = fault;
        Finding { sequence, line, run_id, tampering, detail }
    }
}

impl Finding {
    fn new(sequence: Option<u64>, run_id: &str, tampering: Tampering, detail: &'static str) -> Finding {
        Finding { sequence, line: None, run_id: run_id.to_owned(), tampering, detail }
    }
}

/// Checks that each file has the recorded hash.
fn check_files(
    state: &State,
    entries: &[&LedgerEntry],
    read: Option<&ReadReceipts>,
    findings: &mut Vec<Finding>,
) {
    let paths: Vec<Option<RelPath>> =
        entries.iter().map(|entry| receipts::receipt_path(&entry.run_id)).collect();
    // A file that was not read may still exist under a name that receipts do not have.
    let known = |path: &RelPath| read.and_then(|read| read.hashes.get(path)).copied();
    let unread: Vec<RelPath> = paths.iter().flatten().filter(|path| known(path).is_none()).cloned().collect();
    let mut hashes = read_many(&**state.place().fs(), &unread, receipts::RECEIPT_LIMIT, |index, bytes| {
        let bytes = bytes.ok()?;
        let log = changed_log(&**state.place().fs(), &unread[index], &bytes);
        Some((Fingerprint::of_bytes(&bytes), log))
    })
    .into_iter();
    for (entry, path) in entries.iter().zip(&paths) {
        let found = path
            .as_ref()
            .and_then(|path| known(path).map(|hash| (hash, None)).or_else(|| hashes.next().flatten()));
        let (tampering, detail) = match found {
            Some((hash, None)) if hash == entry.sha256 => continue,
            Some((hash, Some(log))) if hash == entry.sha256 => (Tampering::Changed, log),
            Some(_) => (Tampering::Changed, "its file was changed"),
            None => (Tampering::Removed, "its file is missing or cannot be read"),
        };
        findings.push(Finding::new(Some(entry.sequence), &entry.run_id, tampering, detail));
    }
}

/// Returns the problem with the logs of a receipt that records their hashes. A missing log is accepted, because logs
/// may be deleted.
fn changed_log(fs: &dyn Fs, receipt: &RelPath, bytes: &[u8]) -> Option<&'static str> {
    memchr::memmem::find(bytes, b"\"log_sha256\"")?;
    let mut output = None;
    members(bytes, |key, value| {
        if key.raw() == "output" {
            output = Some(value);
        }
    })
    .ok()?;
    let output: RunOutput = from_json(&output?.parse(Dialect::Lenient).ok()?).ok()?;
    let stem = receipt.name().strip_suffix(".json")?;
    let changed = |stream: &str, said: &StreamOutput| {
        let (length, sha256) = (said.log_bytes?, said.log_sha256?);
        let path = receipt.parent().join(&format!("{stem}.{stream}.log")).ok()?;
        let is_as_said = match fs.open(&path) {
            Ok(log) => log.len() == Ok(length) && fingerprint(&*log).is_ok_and(|found| found == sha256),
            Err(error) => error.is_not_found(),
        };
        (!is_as_said).then_some(())
    };
    if changed("stdout", &output.stdout).is_some() {
        Some("its log of standard output was changed")
    } else {
        changed("stderr", &output.stderr).map(|()| "its log of standard error was changed")
    }
}

/// Checks that the ledger matches the links of the calls.
fn check_links(
    entries: &[&LedgerEntry],
    links: &[Link],
    from: u64,
    cut: &'static str,
    findings: &mut Vec<Finding>,
) {
    let by_sequence: HashMap<u64, &LedgerEntry> =
        entries.iter().map(|entry| (entry.sequence, *entry)).collect();
    let last = entries.iter().map(|entry| entry.sequence).max().unwrap_or(0);
    for link in links.iter().filter(|link| from <= link.sequence) {
        let (tampering, detail) = match by_sequence.get(&link.sequence) {
            Some(entry) if entry.run_id == link.run_id && entry.sha256.to_hex() == link.sha256 => {
                continue;
            }
            Some(_) => (Tampering::Changed, "its call names another receipt than the ledger"),
            None if last < link.sequence => (Tampering::CutOff, cut),
            None => (Tampering::Removed, "its entry is missing from the ledger"),
        };
        findings.push(Finding::new(Some(link.sequence), &link.run_id, tampering, detail));
    }
}

/// Finds the entries of runs that their calls do not know.
fn forgotten<'e>(
    state: &State,
    entries: &[&'e LedgerEntry],
    links: &[Link],
) -> Result<Vec<&'e LedgerEntry>, QueueError> {
    let linked: HashSet<u64> = links.iter().map(|link| link.sequence).collect();
    let is_open = |entry: &&&LedgerEntry| !entry.is_adopted && !linked.contains(&entry.sequence);
    let mut found = Vec::new();
    let mut now: Option<State> = None;
    for entry in entries.iter().filter(is_open) {
        if !reconcile::is_forgotten(state, entry)? {
            continue;
        }
        // The run may have ended after the calls were read and before the ledger was.
        let now = match &now {
            Some(now) => now,
            None => now.insert(state.place().load()?),
        };
        if reconcile::is_forgotten(now, entry)? {
            found.push(*entry);
        }
    }
    Ok(found)
}

/// Returns runs that are in the directory but not in the ledger, and runs in the ledger that their calls do not know.
///
/// Reads only receipts, entries and the calls that they name, so it costs less than [`verify`] if there are many calls.
pub(crate) fn unrecorded_and_forgotten(state: &State) -> Result<(Vec<String>, Vec<String>), QueueError> {
    let entries = match state.place().ledger().find_prefix("") {
        Ok(entries) => entries,
        Err(error) if error.kind == FsErrorKind::NotAFile => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let entries: Vec<&LedgerEntry> = entries.iter().collect();
    let forgotten = forgotten(state, &entries, &[])?.into_iter().map(|entry| entry.run_id.clone()).collect();
    let files = receipts::files(&**state.place().fs())?;
    if is_unadopted(state, entries.iter().any(|entry| !entry.is_adopted), &files, None) {
        return Ok((Vec::new(), forgotten));
    }
    let mut findings = Vec::new();
    check_additions(state, &files, &entries, &mut findings)?;
    Ok((findings.into_iter().map(|finding| finding.run_id).collect(), forgotten))
}

/// Returns whether receipts may be missing from the ledger: before adoption, or if it was interrupted. A missing
/// journal looks the same, unless there are receipts that only this version writes.
fn is_unadopted(state: &State, has_own_entry: bool, files: &[RelPath], read: Option<&ReadReceipts>) -> bool {
    let is_unadopted = state.is_unadopted() && state.segment_count() == 0 && !has_own_entry;
    is_unadopted && !read.map_or_else(|| receipts::has_own(&**state.place().fs(), files), |read| read.has_own)
}

/// Finds receipts without a ledger entry, except those of runs that are just being recorded.
fn check_additions(
    state: &State,
    files: &[RelPath],
    entries: &[&LedgerEntry],
    findings: &mut Vec<Finding>,
) -> Result<(), QueueError> {
    let mut known: HashSet<String> = entries.iter().map(|entry| entry.run_id.clone()).collect();
    for stored in snapshot::living(state, &CallStatus::Running)? {
        known.extend(stored.call.claim.map(|claim| claim.run_id.as_str().to_owned()));
    }
    for path in files {
        let stem = path.name().strip_suffix(".json").unwrap_or_default();
        if !known.contains(stem) {
            findings.push(Finding::new(None, stem, Tampering::Added, "it has no ledger entry"));
        }
    }
    Ok(())
}

/// Collects the ledger links of all calls, without parsing their records.
fn links(state: &State) -> Result<Vec<Link>, QueueError> {
    let mut links = Vec::new();
    for log in state.logs() {
        let mut take = |line: &[u8]| links.extend(link_of(line));
        if state.journal().is_some_and(|journal| std::ptr::eq(journal, log)) {
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
    let file = log.file();
    let mut lines = Lines::new(file, 0, file.len()?);
    while let Some(line) = lines.next_line()? {
        take(line.bytes);
    }
    Ok(())
}

fn link_of(line: &[u8]) -> Option<Link> {
    // Most lines of a long history have a link. This quick search skips the others.
    memchr::memmem::find(line, b"\"receipt_sequence\":")?;
    let mut fields: [Option<RawJson<'_>>; 3] = [None; 3];
    members(line, |key, value| match key.raw() {
        "receipt_sequence" => fields[0] = Some(value),
        "receipt_sha256" => fields[1] = Some(value),
        "run_id" => fields[2] = Some(value),
        _ => {}
    })
    .ok()?;
    Some(Link {
        sequence: fields[0]?.natural()?,
        sha256: fields[1]?.text()?.into_owned(),
        run_id: fields[2]?.text()?.into_owned(),
    })
}
