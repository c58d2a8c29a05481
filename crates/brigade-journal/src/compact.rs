//! Rewriting the journal: finished records move to segments, unreadable lines to a quarantine, and records of an
//! earlier program become ours.
//!
//! Everything that is written before the journal is replaced counts for nothing until then; everything that is removed
//! is removed afterwards. So a crash at any instant leaves the old state or the new one.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use brigade_core::Timestamp;
use brigade_fs::{FileMode, Fs, FsError, ReadFile, Replacement, is_temporary};

use crate::aside;
use crate::entry::{Adoption, Content, Entry, Kind, Span, look_at};
use crate::error::JournalError;
use crate::index::{About, IndexData};
use crate::layout::segment_number;
use crate::log::{Listed, Log};
use crate::state::{JOURNAL_VERSION, Journal, State, millis, segments_on_disk};

/// How many lines are converted at a time.
const BATCH: usize = 2_048;

/// What a rewrite did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewrite {
    /// Whether it took over what an earlier program left.
    pub is_adoption: bool,
    /// Finished records that moved out of the journal.
    pub moved: u64,
    /// Unreadable lines of the journal and of the ledger that moved to a quarantine, and segments that are gone.
    pub quarantined: u64,
    /// Files that were removed: replaced segments and what crashes left.
    pub removed: u64,
}

/// A file of records that is being written.
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

    /// Writes a record's line, which has no line feed.
    fn line(&mut self, line: &[u8], sequence: u64) -> Result<(), FsError> {
        if let Content::Record(peeked) = look_at(self.kind, line) {
            let length = u32::try_from(line.len()).unwrap_or(u32::MAX);
            self.max_ledger = self.max_ledger.max(peeked.ledger.unwrap_or(0));
            self.entries.push(peeked.at(Span { offset: self.offset, length }, sequence));
        }
        self.bytes(line)?;
        self.bytes(b"\n")
    }

    /// Makes it durable; returns the records and the greatest place in the ledger that they name.
    fn commit(mut self) -> Result<(Vec<Entry>, u64), FsError> {
        self.replacement.write(&self.buffer)?;
        self.replacement.commit()?;
        Ok((self.entries, self.max_ledger))
    }
}

/// Replaces the journal by one that is clean and short, and loads the state anew.
///
/// `ledger` says how far the ledger is settled although no record knows its last entries; 0 when they all do.
pub(crate) fn rewrite(state: &mut State, ledger: u64, now: Timestamp) -> Result<Rewrite, JournalError> {
    let started = Instant::now();
    let place = state.place.clone();
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
        fs.rename(&layout.journal(), &layout.quarantine(aside::free_quarantine(fs, layout)?))?;
        fs.sync_dir(layout.directory())?;
        report.quarantined += 1;
    }
    report.quarantined += aside::quarantine(state)? + place.ledger().mend()?;
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
        "the journal is rewritten"
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
    let (living, finished): (Vec<Listed>, Vec<Listed>) =
        listed.into_iter().partition(|listed| !kind.is_finished(listed.status));

    let mut header = state.header.clone().unwrap_or_default();
    header.version = JOURNAL_VERSION;
    header.generation += 1;
    header.sequence = state.max_sequence()?;
    header.segments = state.segments.iter().map(|segment| segment.generation).collect();
    header.ledger = Some(state.max_ledger()?.max(ledger));

    // A segment with lines that cannot be read is written anew, with everything newer.
    let whole = aside::whole_segments(state)?;
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
            let about = About { generation: number, lines: entries.len() as u64, max_ledger };
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
        let about = About { generation: header.generation, lines: entries.len() as u64, max_ledger };
        save_index(place, &layout.journal(), &layout.journal_index(), &entries, about)?;
    }
    Ok(())
}

/// Decides how many of the oldest segments stay as they are; the others are merged with the new lines.
///
/// A segment is merged when it is not more than twice as long as everything newer, so their number grows with the
/// logarithm of the history, and each line is rewritten as many times at most.
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

/// Merges segments and finished lines of the journal by their sequence.
fn write_segment(
    state: &State,
    finished: &[Listed],
    merged: &[Log],
    adoption: &Adoption<'_>,
    output: &mut Output<'_>,
) -> Result<(), JournalError> {
    // Of two lines of one record in two files, which a crash can leave, the journal's is the later one and comes first.
    let mut order: Vec<(usize, Listed)> = Vec::new();
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
        let part: Vec<Listed> = order[start..start + run].iter().map(|(_, listed)| *listed).collect();
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

/// Reads lines, makes ours of those of an earlier program, and hands them on in order.
fn convert(
    log: &Log,
    listed: &[Listed],
    adoption: &Adoption<'_>,
    mut write: impl FnMut(&[u8], u64) -> Result<(), FsError>,
) -> Result<(), JournalError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    for batch in listed.chunks(BATCH) {
        let one = |listed: &Listed| -> Result<Vec<u8>, FsError> {
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
    about: About,
) -> Result<(), FsError> {
    let data: Box<dyn ReadFile> = place.fs.open(data)?;
    let bytes = IndexData::of(&*place.kind, entries).encode(&*data, data.len()?, about)?;
    // Only a cache: without it, readers scan.
    let _ = place.fs.write_cache(index, &bytes);
    Ok(())
}

/// Removes segments that were merged into another and temporary files, and returns how many. What cannot be removed
/// stays.
fn clean_up(state: &State, before: &[u64]) -> u64 {
    let Some(header) = &state.header else { return 0 };
    let (fs, layout) = (&*state.place.fs, &state.place.layout);
    let mut folders = layout.folders();
    folders.push(layout.directory().clone());
    let mut removed = 0;
    let mut remove = |path: brigade_fs::RelPath| removed += u64::from(fs.remove(&path).is_ok());
    for folder in folders {
        let Ok(entries) = fs.list_dir(&folder) else { continue };
        for entry in entries {
            let Ok(path) = folder.join(&entry.name) else { continue };
            // Others also write in the folder above; only what is ours there is known to be left over.
            let is_ours = folder != *layout.directory() || entry.name.starts_with(&layout.temporary_prefix());
            let number = entry.name.strip_suffix(".index").map(|stem| format!("{stem}.jsonl"));
            let number = segment_number(number.as_deref().unwrap_or(&entry.name));
            let is_unnamed = folder == layout.segments()
                && number
                    .is_some_and(|number| before.contains(&number) && !header.segments.contains(&number));
            if is_unnamed || (is_temporary(&entry.name) && is_ours) {
                remove(path);
            }
        }
    }
    removed
}

/// Tells whether rewriting is due: more lines stand in the journal for nothing than it is worth.
pub(crate) fn is_due(state: &State) -> Result<bool, JournalError> {
    let Some(journal) = &state.journal else { return Ok(false) };
    let (dead, living) = journal.dead_and_living()?;
    Ok(256 + living / 2 < dead)
}

/// Tells whether rewriting must come before the next append.
pub(crate) fn is_needed(state: &State) -> Result<bool, JournalError> {
    let Some(journal) = &state.journal else { return Ok(true) };
    let scanned = journal.scanned()?;
    let is_old = state.header.as_ref().is_none_or(|header| header.ledger.is_none());
    Ok(is_old || scanned.foreign != 0 || !scanned.set_aside().is_empty())
}
