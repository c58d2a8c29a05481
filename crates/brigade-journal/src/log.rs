//! A file of records that is searched: its index for the part that the index covers, a scan for the rest.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use brigade_fs::{FsError, Lines, ReadFile, RelPath};

use crate::entry::{BatchMark, Content, Entry, Kind, Peeked, Span, StatusCode, codes, look_at};
use crate::error::JournalError;
use crate::index::{About, Hit, ID_BYTES, Index, IndexData, IndexError, id_hash};
use crate::state::Journal;

/// The latest line of a record, found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The line.
    pub line: Vec<u8>,
    /// Its place in the order of records, also of those that do not name one.
    pub sequence: u64,
}

/// A line that is known and not read yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// When the record was created, in microseconds since 1970; the greatest number when it does not say.
    pub created: i64,
    /// Its place in the order of records.
    pub sequence: u64,
    /// Where it is.
    pub span: Span,
    /// Its status.
    pub status: StatusCode,
}

/// What a scan found in a part of a file.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    /// The latest line of each record.
    entries: BTreeMap<Box<str>, Entry>,
    hashes: HashSet<u64>,
    by_key: HashMap<u64, Vec<Box<str>>>,
    /// Lines that are nothing we know.
    pub(crate) broken: Vec<Span>,
    /// Lines that have no sequence: records of the Python program.
    pub(crate) foreign: u64,
    /// Lines of records, those that later ones replace included.
    lines: u64,
    max_sequence: u64,
    /// The greatest place in the ledger that a line names.
    max_ledger: u64,
    /// The lines at the end of which more were to follow: a batch that a crash cut off, or that is being written right
    /// now.
    pub(crate) unfinished: Vec<Span>,
    /// Where the next line begins.
    pub(crate) end: u64,
    /// Whether the last line lacks its line feed; it is broken unless it is a whole record.
    pub(crate) is_unterminated: bool,
}

impl Scanned {
    fn starting_at(offset: u64, max_sequence: u64) -> Scanned {
        Scanned { end: offset, max_sequence, ..Scanned::default() }
    }

    /// Takes in the lines up to the end of a file of this generation.
    fn scan(&mut self, kind: &dyn Kind, file: &dyn ReadFile, generation: u64) -> Result<(), FsError> {
        // A batch whose end is not there yet is looked at again.
        if let Some(first) = self.unfinished.first() {
            self.end = first.offset;
            self.broken.retain(|span| span.offset < self.end);
            self.unfinished.clear();
        }
        let mut held: Vec<(Peeked, Span)> = Vec::new();
        let mut lines = Lines::new(file, self.end, file.len()?);
        while let Some(line) = lines.next_line()? {
            let length = u32::try_from(line.bytes.len()).unwrap_or(u32::MAX);
            let span = Span { offset: line.offset, length };
            self.end = line.offset + line.bytes.len() as u64 + u64::from(line.is_complete);
            self.is_unterminated = !line.is_complete;
            // A line of 4 GiB cannot be pointed at, and is no record of anybody.
            let content = if length == u32::MAX { Content::Broken } else { look_at(kind, line.bytes) };
            match content {
                Content::Record(peeked) => {
                    let rest = peeked.batch.filter(|mark| mark.generation == generation);
                    let rest = rest.map_or(0, |mark: BatchMark| mark.rest);
                    held.push((peeked, span));
                    // Whatever follows the lines of a batch shows that the batch was acknowledged: a writer that finds
                    // an unfinished one moves it away first.
                    let follows = held.len() < 2
                        || held[held.len() - 2].0.batch.is_some_and(|before| before.rest == rest + 1);
                    let ready = match (follows, rest) {
                        (_, 0) => held.len(),
                        (true, _) => 0,
                        (false, _) => held.len() - 1,
                    };
                    for (peeked, span) in held.drain(..ready) {
                        self.take_in(kind, peeked, span);
                    }
                }
                Content::Header | Content::Blank => {}
                Content::Broken => {
                    self.broken.push(span);
                    // A crash tears lines and does not end them: here something else happened to a whole batch.
                    if line.is_complete {
                        for (peeked, span) in held.drain(..) {
                            self.take_in(kind, peeked, span);
                        }
                    }
                }
            }
        }
        self.unfinished = held.into_iter().map(|(_, span)| span).collect();
        Ok(())
    }

    fn take_in(&mut self, kind: &dyn Kind, peeked: Peeked, span: Span) {
        let existing = self.entries.get(&peeked.facts.id).map(|entry| entry.sequence);
        self.foreign += u64::from(peeked.sequence.is_none());
        self.max_ledger = self.max_ledger.max(peeked.ledger.unwrap_or(0));
        let sequence = peeked.sequence.or(existing).unwrap_or(self.max_sequence + 1);
        self.add(kind, peeked.at(span, sequence));
    }

    /// The lines that the next writer moves to a quarantine, in the order of the file.
    pub(crate) fn set_aside(&self) -> Vec<Span> {
        let mut spans = [self.broken.as_slice(), &self.unfinished].concat();
        spans.sort_unstable_by_key(|span| span.offset);
        spans
    }

    fn add(&mut self, kind: &dyn Kind, entry: Entry) {
        self.lines += 1;
        self.max_sequence = self.max_sequence.max(entry.sequence);
        self.hashes.insert(id_hash(&entry.id));
        if kind.is_unique(entry.status) {
            let same = self.by_key.entry(entry.key).or_default();
            if !same.contains(&entry.id) {
                same.push(entry.id.clone());
            }
        }
        self.entries.insert(entry.id.clone(), entry);
    }
}

/// The index and what was scanned behind it.
#[derive(Default)]
struct Parts {
    index: Option<Index>,
    scanned: Scanned,
}

/// A file of records: the journal, or a segment.
pub struct Log {
    journal: Arc<Journal>,
    pub(crate) path: RelPath,
    index_path: RelPath,
    pub(crate) file: Box<dyn ReadFile>,
    /// The journal's generation, or the segment's number.
    pub(crate) generation: u64,
    /// Where the first record begins.
    start: u64,
    parts: OnceLock<Parts>,
    /// Takes the place of `parts` when the index turns out to be damaged.
    rebuilt: OnceLock<Parts>,
}

/// From this length on, a journal gets an index.
const WORTH_INDEX: u64 = 64 * 1024;

impl Log {
    pub(crate) fn new(
        journal: Arc<Journal>,
        path: RelPath,
        index_path: RelPath,
        file: Box<dyn ReadFile>,
        generation: u64,
        start: u64,
    ) -> Log {
        let (parts, rebuilt) = (OnceLock::new(), OnceLock::new());
        Log { journal, path, index_path, file, generation, start, parts, rebuilt }
    }

    fn parts(&self) -> Result<&Parts, FsError> {
        if let Some(parts) = self.rebuilt.get().or_else(|| self.parts.get()) {
            return Ok(parts);
        }
        let parts = self.open_parts()?;
        Ok(self.parts.get_or_init(|| parts))
    }

    fn open_parts(&self) -> Result<Parts, FsError> {
        let index = self.open_index()?;
        let (start, max_sequence) =
            index.as_ref().map_or((self.start, 0), |index| (index.covered, index.max_sequence));
        let mut scanned = Scanned::starting_at(start, max_sequence);
        // Asked after the index was opened, so that the file is not shorter than what the index covers.
        scanned.scan(&*self.journal.kind, &*self.file, self.generation)?;
        Ok(Parts { index, scanned })
    }

    fn open_index(&self) -> Result<Option<Index>, FsError> {
        if self.file.len()? < WORTH_INDEX {
            return Ok(None);
        }
        let Ok(file) = self.journal.fs.open(&self.index_path) else { return Ok(None) };
        match Index::open(file, &*self.file, self.generation, codes(&*self.journal.kind)) {
            Ok(index) => Ok(Some(index)),
            Err(IndexError::Unusable) => Ok(None),
            Err(IndexError::Fs(error)) => Err(error),
        }
    }

    /// Asks the index and what was scanned behind it; when the index is damaged, scans the whole file and asks again.
    fn ask<T>(
        &self,
        question: impl Fn(Option<&Index>, &Scanned) -> Result<T, IndexError>,
    ) -> Result<T, JournalError> {
        let parts = self.parts()?;
        match question(parts.index.as_ref(), &parts.scanned) {
            Ok(answer) => return Ok(answer),
            Err(IndexError::Fs(error)) => return Err(error.into()),
            Err(IndexError::Unusable) => {}
        }
        let mut scanned = Scanned::starting_at(self.start, 0);
        scanned.scan(&*self.journal.kind, &*self.file, self.generation)?;
        let parts = self.rebuilt.get_or_init(|| Parts { index: None, scanned });
        match question(None, &parts.scanned) {
            Ok(answer) => Ok(answer),
            Err(IndexError::Fs(error)) => Err(error.into()),
            Err(IndexError::Unusable) => {
                Err(JournalError::BadRecord { path: self.path.to_string(), offset: self.start })
            }
        }
    }

    /// Returns the file.
    pub fn file(&self) -> &dyn ReadFile {
        &*self.file
    }

    /// Reads a line.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn line(&self, span: Span) -> Result<Vec<u8>, FsError> {
        self.file.read_range(span.offset, span.length as usize)
    }

    /// Reads the line that an index points at and checks that a record of that id is there.
    fn checked(&self, hit: &Hit) -> Result<(Box<str>, Found), IndexError> {
        let line = self.line(hit.span)?;
        match look_at(&*self.journal.kind, &line) {
            Content::Record(peeked) if id_hash(&peeked.facts.id) == hit.id_hash => {
                Ok((peeked.facts.id, Found { line, sequence: peeked.sequence.unwrap_or(hit.sequence) }))
            }
            Content::Record(_) | Content::Header | Content::Blank | Content::Broken => {
                Err(IndexError::Unusable)
            }
        }
    }

    fn scanned_line(&self, entry: &Entry) -> Result<Found, FsError> {
        Ok(Found { line: self.line(entry.span)?, sequence: entry.sequence })
    }

    /// Finds the latest line of a record.
    pub(crate) fn find(&self, id: &str) -> Result<Option<Found>, JournalError> {
        self.ask(|index, scanned| {
            if let Some(entry) = scanned.entries.get(id) {
                return Ok(Some(self.scanned_line(entry)?));
            }
            let Some(index) = index else { return Ok(None) };
            for hit in index.by_id(id)? {
                let (found_id, found) = self.checked(&hit)?;
                if &*found_id == id {
                    return Ok(Some(found));
                }
            }
            Ok(None)
        })
    }

    /// Finds the records whose id starts with a prefix, at most `limit` of them, sorted by id.
    pub(crate) fn find_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<Box<str>>, JournalError> {
        self.ask(|index, scanned| {
            let behind = scanned
                .entries
                .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
                .map(|(id, _)| id);
            let mut ids: Vec<Box<str>> =
                behind.take_while(|id| id.starts_with(prefix)).take(limit).cloned().collect();
            if let Some(index) = index {
                let mut hits = Vec::new();
                index.by_id_prefix(prefix, |hit| {
                    if !scanned.hashes.contains(&hit.id_hash) {
                        hits.push(hit);
                    }
                    // A longer prefix than the index holds finds too many, which are sorted out below.
                    hits.len() < limit || ID_BYTES < prefix.len()
                })?;
                for hit in hits {
                    let (id, _) = self.checked(&hit)?;
                    if id.starts_with(prefix) {
                        ids.push(id);
                    }
                }
            }
            ids.sort_unstable();
            ids.truncate(limit);
            Ok(ids)
        })
    }

    /// Finds the lines of unique records that may have this key.
    pub(crate) fn find_key(&self, key: u64) -> Result<Vec<Found>, JournalError> {
        self.ask(|index, scanned| {
            let mut found = Vec::new();
            for id in scanned.by_key.get(&key).into_iter().flatten() {
                // The latest line of that record may be another one by now.
                if let Some(entry) = scanned.entries.get(id)
                    && entry.key == key
                    && self.journal.kind.is_unique(entry.status)
                {
                    found.push(self.scanned_line(entry)?);
                }
            }
            if let Some(index) = index {
                for hit in index.by_key(key)? {
                    if !scanned.hashes.contains(&hit.id_hash) {
                        found.push(self.checked(&hit)?.1);
                    }
                }
            }
            Ok(found)
        })
    }

    /// Lists the latest lines of one status, or of all, in no order.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn list(&self, status: Option<StatusCode>) -> Result<Vec<Listed>, JournalError> {
        self.ask(|index, scanned| {
            let mut listed: Vec<Listed> = scanned
                .entries
                .values()
                .filter(|entry| status.is_none_or(|status| status == entry.status))
                .map(|entry| Listed {
                    created: entry.created,
                    sequence: entry.sequence,
                    span: entry.span,
                    status: entry.status,
                })
                .collect();
            if let Some(index) = index {
                let hits = index.by_status(status)?;
                listed.extend(hits.iter().filter(|hit| !scanned.hashes.contains(&hit.id_hash)).map(|hit| {
                    Listed {
                        created: hit.created,
                        sequence: hit.sequence,
                        span: hit.span,
                        status: hit.status,
                    }
                }));
            }
            Ok(listed)
        })
    }

    /// Counts the records by their status.
    pub(crate) fn counts(&self) -> Result<Vec<u64>, JournalError> {
        self.ask(|index, scanned| {
            let mut counts =
                index.map_or_else(|| vec![0; codes(&*self.journal.kind)], |index| index.counts.clone());
            for entry in scanned.entries.values() {
                if let Some(index) = index {
                    for hit in index.by_id(&entry.id)? {
                        let count = &mut counts[usize::from(hit.status.byte())];
                        *count = count.checked_sub(1).ok_or(IndexError::Unusable)?;
                    }
                }
                counts[usize::from(entry.status.byte())] += 1;
            }
            Ok(counts)
        })
    }

    /// Returns the greatest sequence in the file.
    pub(crate) fn max_sequence(&self) -> Result<u64, FsError> {
        Ok(self.parts()?.scanned.max_sequence)
    }

    /// Returns the greatest place in the ledger that a line of the file names.
    pub(crate) fn max_ledger(&self) -> Result<u64, FsError> {
        let parts = self.parts()?;
        Ok(parts.index.as_ref().map_or(0, |index| index.max_ledger).max(parts.scanned.max_ledger))
    }

    /// Tells whether a question was asked already, so that what is known needs no reading.
    pub(crate) fn is_open(&self) -> bool {
        self.parts.get().is_some() || self.rebuilt.get().is_some()
    }

    /// Returns what the scan found behind the index.
    pub(crate) fn scanned(&self) -> Result<&Scanned, FsError> {
        Ok(&self.parts()?.scanned)
    }

    /// Counts the lines whose place is not here any more: finished records, and lines that later ones replace.
    pub(crate) fn dead_and_living(&self) -> Result<(u64, u64), JournalError> {
        let counts = self.counts()?;
        let kind = &*self.journal.kind;
        let is_finished = |(code, _): &(u8, &u64)| kind.is_finished(StatusCode::at(*code));
        let finished: u64 = (0u8..).zip(&counts).filter(is_finished).map(|(_, count)| count).sum();
        let records: u64 = counts.iter().sum();
        let parts = self.parts()?;
        let lines = parts.index.as_ref().map_or(0, |index| index.lines) + parts.scanned.lines;
        Ok((finished + lines.saturating_sub(records), records - finished))
    }

    /// Takes in what was appended to the file by the holder of the lock.
    pub(crate) fn extend(&mut self) -> Result<(), FsError> {
        if let Some(mut rebuilt) = self.rebuilt.take() {
            rebuilt.scanned.scan(&*self.journal.kind, &*self.file, self.generation)?;
            self.parts = OnceLock::from(rebuilt);
            return Ok(());
        }
        match self.parts.get_mut() {
            Some(parts) => parts.scanned.scan(&*self.journal.kind, &*self.file, self.generation),
            None => Ok(()),
        }
    }

    /// Writes a new index when enough lines stand behind the one there is. Only the holder of the lock may do this.
    pub(crate) fn refresh_index(&mut self) -> Result<(), FsError> {
        let parts = self.parts()?;
        let covered = parts.index.as_ref().map_or(0, |index| index.covered);
        let behind = parts.scanned.end - covered.max(self.start);
        if behind < WORTH_INDEX.max(covered / 128)
            || parts.scanned.foreign != 0
            || !parts.scanned.broken.is_empty()
            || !parts.scanned.unfinished.is_empty()
        {
            return Ok(());
        }
        self.write_index()?;
        // From now on the new index answers, so that it is not written again for the next line.
        (self.parts, self.rebuilt) = (OnceLock::new(), OnceLock::new());
        Ok(())
    }

    /// Writes the index of the whole file. Only the holder of the lock may do this.
    fn write_index(&self) -> Result<(), FsError> {
        let parts = self.parts()?;
        let Parts { index, scanned } = parts;
        let kind = &*self.journal.kind;
        let data = match index {
            None => Ok(IndexData::of(kind, scanned.entries.values())),
            Some(index) => {
                index.extended(kind, |hash| scanned.hashes.contains(&hash), scanned.entries.values())
            }
        };
        // A damaged index is only not extended; the next reader finds out and scans.
        let Ok(data) = data else { return Ok(()) };
        let lines = index.as_ref().map_or(0, |index| index.lines) + scanned.lines;
        let about = About { generation: self.generation, lines, max_ledger: self.max_ledger()? };
        let bytes = data.encode(&*self.file, scanned.end, about)?;
        self.journal.fs.write_cache(&self.index_path, &bytes)
    }
}
