//! Rewrites the journal: finished records move to segments, unreadable lines to a quarantine, and records of an earlier
//! program are converted.
//!
//! Replacing the journal is the commit. Files written before it are not used until then, and files are removed only
//! after it. A crash therefore leaves either the old state or the new one.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use brigade_core::Timestamp;
use brigade_fs::{FileMode, Fs, FsError, ReadFile, Replacement, is_temporary};

use crate::entry::{Adoption, Content, Entry, Kind, Span, look_at};
use crate::error::JournalError;
use crate::index::{FileSummary, IndexData};
use crate::layout::segment_number;
use crate::log::{ListedLine, Log};
use crate::quarantine;
use crate::state::{JOURNAL_VERSION, Journal, State, millis, segments_on_disk};

/// The number of lines converted at a time.
const BATCH: usize = 2_048;

/// The result of a rewrite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewrite {
    /// Whether the state of an earlier program was adopted.
    pub is_adoption: bool,
    /// The number of finished records moved out of the journal.
    pub moved: u64,
    /// The number of unreadable lines (of the journal and the ledger) moved to a quarantine, and of missing segments.
    pub quarantined: u64,
    /// The number of removed files: replaced segments and temporary files left by crashes.
    pub removed: u64,
}

/// A file of records under construction.
struct Output<'a> {
    kind: &'a dyn Kind,
    replacement: Replacement<'a, dyn Fs + 'a>,
    buffer: Vec<u8>,
    offset: u64,
    entries: Vec<Entry>,
    max_ledger: u64,
}

impl<'a> Output<'a> {
    fn begin(place: &'a Journal, path: &brigade_fs::RelPath) -> Result<Output<'a>, FsError> {
        let replacement = Replacement::begin(&*place.fs, path, FileMode::Private)?;
        Ok(Output {
            kind: &*place.kind,
            replacement,
            buffer: Vec::new(),
            offset: 0,
            entries: Vec::new(),
            max_ledger: 0,
        })
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), FsError> {
        self.offset += bytes.len() as u64;
        self.buffer.extend_from_slice(bytes);
        if 1 << 20 <= self.buffer.len() {
            self.replacement.write(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes the line of a record, given without a line feed.
    fn line(&mut self, line: &[u8], sequence: u64) -> Result<(), FsError> {
        if let Content::Record(peeked) = look_at(self.kind, line) {
            let length = u32::try_from(line.len()).unwrap_or(u32::MAX);
            self.max_ledger = self.max_ledger.max(peeked.ledger.unwrap_or(0));
            self.entries.push(peeked.at(Span { offset: self.offset, length }, sequence));
        }
        self.bytes(line)?;
        self.bytes(b"\n")
    }

    /// Makes the file durable. Returns the records and the highest ledger sequence that they name.
    fn commit(mut self) -> Result<(Vec<Entry>, u64), FsError> {
        self.replacement.write(&self.buffer)?;
        self.replacement.commit()?;
        Ok((self.entries, self.max_ledger))
    }
}

/// Replaces the journal with a clean, short one, and reloads the state.
///
/// `ledger` is the sequence up to which the ledger is settled although no record names its last entries. It is 0 if
/// records name them all.
pub(crate) fn rewrite(state: &mut State, ledger: u64, now: Timestamp) -> Result<Rewrite, JournalError> {
    let started = Instant::now();
    let place = state.place.clone();
    let _span = tracing::debug_span!("compact", file = %place.layout.journal()).entered();
    let (fs, layout) = (&*place.fs, &place.layout);
    let mut report = Rewrite::default();
    fs.create_dir_all(&layout.segments())?;
    let nothing = Adoption { convert: Box::new(|line, _| line), ledger: 0, is_empty: true };
    let adoption = if state.is_unadopted() {
        let adoption = place.kind.adopt(state, now)?;
        let has_records = match &state.journal {
            Some(journal) => !journal.file.is_empty()?,
            None => false,
        };
        report.is_adoption = has_records || !adoption.is_empty;
        adoption
    } else {
        nothing
    };
    if state.is_blocked {
        fs.rename(&layout.journal(), &layout.quarantine(quarantine::free_quarantine(fs, layout)?))?;
        fs.sync_dir(layout.directory())?;
        report.quarantined += 1;
    }
    report.quarantined += quarantine::copy_unreadable(state)? + place.ledger().repair()?;
    write_files(state, &adoption, ledger.max(adoption.ledger), &mut report)?;
    let before: Vec<u64> = state.segments.iter().map(|segment| segment.generation).collect();
    *state = place.load()?;
    report.removed = clean_up(state, &before);
    tracing::info!(
        moved = report.moved,
        quarantined = report.quarantined,
        removed = report.removed,
        adoption = report.is_adoption,
        segments = state.segments.len(),
        took_ms = millis(started),
        "the journal was rewritten"
    );
    Ok(report)
}

/// Writes the new segment and the new journal.
fn write_files(
    state: &State,
    adoption: &Adoption<'_>,
    ledger: u64,
    report: &mut Rewrite,
) -> Result<(), JournalError> {
    let place: &Arc<Journal> = &state.place;
    let (fs, layout, kind) = (&*place.fs, &place.layout, &*place.kind);
    let mut listed = match &state.journal {
        Some(journal) => journal.list(None)?,
        None => Vec::new(),
    };
    listed.sort_unstable_by_key(|listed| (listed.sequence, listed.span.offset));
    let (living, finished): (Vec<ListedLine>, Vec<ListedLine>) =
        listed.into_iter().partition(|listed| !kind.is_finished(listed.status));

    let mut header = state.header.clone().unwrap_or_default();
    header.version = JOURNAL_VERSION;
    header.generation += 1;
    header.sequence = state.max_sequence()?;
    header.segments = state.segments.iter().map(|segment| segment.generation).collect();
    header.ledger = Some(state.max_ledger()?.max(ledger));

    // A segment with unreadable lines is rewritten, with every newer segment.
    let whole = quarantine::whole_segments(state)?;
    if !finished.is_empty() || state.is_unadopted() || whole < state.segments.len() {
        let kept = segments_to_keep(state, finished.len() as u64)?.min(whole);
        let merged = &state.segments[kept..];
        if !finished.is_empty() || !merged.is_empty() {
            let number =
                segments_on_disk(fs, layout)?.last().copied().unwrap_or(0).max(header.generation) + 1;
            let path = layout.segment(number);
            let mut output = Output::begin(place, &path)?;
            write_segment(state, &finished, merged, adoption, &mut output)?;
            let (entries, max_ledger) = output.commit()?;
            let about = FileSummary { generation: number, lines: entries.len() as u64, max_ledger };
            save_index(place, &path, &layout.segment_index(number), &entries, about)?;
            header.segments.truncate(kept);
            header.segments.push(number);
        }
        report.moved = finished.len() as u64;
    }

    let mut output = Output::begin(place, &layout.journal())?;
    output.bytes(header.to_line().as_bytes())?;
    if let Some(journal) = &state.journal {
        convert(journal, &living, adoption, |line, sequence| output.line(line, sequence))?;
    }
    let length = output.offset;
    let (entries, max_ledger) = output.commit()?;
    if 64 * 1024 <= length {
        let about = FileSummary { generation: header.generation, lines: entries.len() as u64, max_ledger };
        save_index(place, &layout.journal(), &layout.journal_index(), &entries, about)?;
    }
    Ok(())
}

/// Returns how many of the oldest segments are kept. The others are merged with the new lines.
///
/// A segment is merged if it has at most twice as many lines as everything newer. The number of segments, and of
/// rewrites of a line, therefore grows with the logarithm of the history.
fn segments_to_keep(state: &State, new_lines: u64) -> Result<usize, JournalError> {
    if state.is_unadopted() {
        return Ok(0);
    }
    let mut kept = state.segments.len();
    let mut newer = new_lines;
    while let Some(segment) = kept.checked_sub(1).map(|last| &state.segments[last]) {
        let lines: u64 = segment.counts()?.iter().sum();
        if newer * 2 < lines {
            break;
        }
        newer += lines;
        kept -= 1;
    }
    Ok(kept)
}

/// Merges segments and finished lines of the journal in order of sequence.
fn write_segment(
    state: &State,
    finished: &[ListedLine],
    merged: &[Log],
    adoption: &Adoption<'_>,
    output: &mut Output<'_>,
) -> Result<(), JournalError> {
    // After a crash, two files may contain lines of the same record. The journal's line is newer and comes first.
    let mut order: Vec<(usize, ListedLine)> = Vec::new();
    for (number, segment) in merged.iter().enumerate() {
        order.extend(segment.list(None)?.into_iter().map(|listed| (number, listed)));
    }
    order.extend(finished.iter().map(|listed| (merged.len(), *listed)));
    order.sort_unstable_by_key(|(source, listed)| {
        (listed.sequence, std::cmp::Reverse(*source), listed.span.offset)
    });
    let mut ids: HashSet<Box<str>> = HashSet::new();
    let mut last_sequence = None;
    let mut write = |line: &[u8], sequence: u64| -> Result<(), FsError> {
        if last_sequence != Some(sequence) {
            ids.clear();
            last_sequence = Some(sequence);
        }
        match look_at(&*state.place.kind, line) {
            Content::Record(peeked) if !ids.insert(peeked.facts.id.clone()) => Ok(()),
            Content::Record(_) | Content::Header | Content::Blank | Content::Broken => {
                output.line(line, sequence)
            }
        }
    };
    let mut start = 0;
    while start < order.len() {
        let source = order[start].0;
        let run = order[start..].iter().take(BATCH).take_while(|(other, _)| *other == source).count();
        let part: Vec<ListedLine> = order[start..start + run].iter().map(|(_, listed)| *listed).collect();
        match (merged.get(source), &state.journal) {
            (Some(segment), _) => {
                for listed in part {
                    write(&segment.line(listed.span)?, listed.sequence)?;
                }
            }
            (None, Some(journal)) => convert(journal, &part, adoption, &mut write)?,
            (None, None) => {}
        }
        start += run;
    }
    Ok(())
}

/// Reads lines, converts those of an earlier program, and passes them on in order.
fn convert(
    log: &Log,
    listed: &[ListedLine],
    adoption: &Adoption<'_>,
    mut write: impl FnMut(&[u8], u64) -> Result<(), FsError>,
) -> Result<(), JournalError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    for batch in listed.chunks(BATCH) {
        let one = |listed: &ListedLine| -> Result<Vec<u8>, FsError> {
            Ok((adoption.convert)(log.line(listed.span)?, listed.sequence))
        };
        if threads == 1 || batch.len() < 256 || log.scanned()?.foreign == 0 {
            for listed in batch {
                write(&one(listed)?, listed.sequence)?;
            }
            continue;
        }
        let parts: Vec<Result<Vec<Vec<u8>>, FsError>> = std::thread::scope(|scope| {
            let workers: Vec<_> = batch
                .chunks(batch.len().div_ceil(threads))
                .map(|part| scope.spawn(move || part.iter().map(one).collect()))
                .collect();
            workers.into_iter().map(|worker| worker.join().expect("converting does not panic")).collect()
        });
        let mut sequences = batch.iter().map(|listed| listed.sequence);
        for part in parts {
            for (line, sequence) in part?.iter().zip(&mut sequences) {
                write(line, sequence)?;
            }
        }
    }
    Ok(())
}

fn save_index(
    place: &Journal,
    data: &brigade_fs::RelPath,
    index: &brigade_fs::RelPath,
    entries: &[Entry],
    about: FileSummary,
) -> Result<(), FsError> {
    let data: Box<dyn ReadFile> = place.fs.open(data)?;
    let bytes = IndexData::build(&*place.kind, entries).encode(&*data, data.len()?, about)?;
    // The index is only a cache: readers scan the file without it.
    let _ = place.fs.write_cache(index, &bytes);
    Ok(())
}

/// Removes temporary files and segments that were merged into others, and returns how many. Files that cannot be
/// removed stay.
fn clean_up(state: &State, before: &[u64]) -> u64 {
    let Some(header) = &state.header else { return 0 };
    let (fs, layout) = (&*state.place.fs, &state.place.layout);
    let mut directories = layout.directories();
    directories.push(layout.directory().clone());
    let mut removed = 0;
    let mut remove = |path: brigade_fs::RelPath| removed += u64::from(fs.remove(&path).is_ok());
    for directory in directories {
        let Ok(entries) = fs.list_dir(&directory) else { continue };
        for entry in entries {
            let Ok(path) = directory.join(&entry.name) else { continue };
            // Other programs write in the parent directory too. Only names with our prefix are known to be leftovers.
            let is_ours =
                directory != *layout.directory() || entry.name.starts_with(&layout.temporary_prefix());
            let number = entry.name.strip_suffix(".index").map(|stem| format!("{stem}.jsonl"));
            let number = segment_number(number.as_deref().unwrap_or(&entry.name));
            let is_unnamed = directory == layout.segments()
                && number
                    .is_some_and(|number| before.contains(&number) && !header.segments.contains(&number));
            if is_unnamed || (is_temporary(&entry.name) && is_ours) {
                remove(path);
            }
        }
    }
    removed
}

/// Returns whether the journal contains enough dead lines to be worth rewriting, and not less than this many.
pub(crate) fn is_due(state: &State, dead_at_least: u64) -> Result<bool, JournalError> {
    let Some(journal) = &state.journal else { return Ok(false) };
    // The exact count takes longer than this check, which is usually enough.
    if journal.lines()? <= dead_at_least {
        return Ok(false);
    }
    let (dead, living) = journal.dead_and_living()?;
    Ok(dead_at_least + living / 2 < dead)
}

/// Returns whether the journal must be rewritten before the next append.
pub(crate) fn is_needed(state: &State) -> Result<bool, JournalError> {
    let Some(journal) = &state.journal else { return Ok(true) };
    let scanned = journal.scanned()?;
    let is_old = state.header.as_ref().is_none_or(|header| header.ledger.is_none());
    Ok(is_old || scanned.foreign != 0 || !scanned.unreadable().is_empty())
}
