//! Searches a file of records: the index for the part that it covers, and a scan for the rest.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::{Bound, Range};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use brigade_fs::{FsError, Lines, ReadFile, RelPath};

use crate::entry::{BatchMark, Content, Entry, Kind, PeekedRecord, Span, StatusCode, codes, look_at};
use crate::error::JournalError;
use crate::index::{FileSummary, Hit, ID_BYTES, Index, IndexData, IndexError, id_hash};
use crate::state::Journal;

/// The latest line of a record, read from the file.
#[derive(Clone, Debug)]
pub struct LatestLine {
    /// The content of the line.
    pub line: Vec<u8>,
    /// The position in the order of records, also for records without a `sequence`.
    pub sequence: u64,
}

/// A line that is known but not read yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedLine {
    /// Creation time in microseconds since 1970, or the maximum if the record has none.
    pub created: i64,
    /// The position in the order of records.
    pub sequence: u64,
    /// The position in the file.
    pub span: Span,
    /// The status of the record.
    pub status: StatusCode,
}

impl Hit {
    /// Returns the line, of a hit by status.
    fn listed(&self) -> ListedLine {
        ListedLine { created: self.created, sequence: self.sequence, span: self.span, status: self.status }
    }
}

impl Entry {
    fn listed(&self) -> ListedLine {
        ListedLine { created: self.created, sequence: self.sequence, span: self.span, status: self.status }
    }
}

/// The result of scanning a part of a file.
#[derive(Debug, Default)]
pub(crate) struct ScanResult {
    /// The latest line of each record.
    entries: BTreeMap<Box<str>, Entry>,
    /// How many of them have each status.
    counts: Vec<u64>,
    /// The records that are not finished. There are few, however long the file is.
    living: BTreeSet<Box<str>>,
    /// The records in the order of their first lines, for a file with an index. The index may have them, too.
    arrived: Option<Vec<Box<str>>>,
    hashes: HashSet<u64>,
    by_key: HashMap<u64, Vec<Box<str>>>,
    /// Lines that are not recognized.
    pub(crate) broken: Vec<Span>,
    /// The number of lines without a sequence, which v0.30 wrote.
    pub(crate) foreign: u64,
    /// The number of lines with records, including replaced ones.
    lines: u64,
    max_sequence: u64,
    /// The highest ledger sequence that a line names.
    max_ledger: u64,
    /// Lines of an incomplete batch at the end: cut off by a crash, or being written right now.
    pub(crate) unfinished: Vec<Span>,
    /// The offset of the next line.
    pub(crate) end: u64,
    /// Whether the last line lacks its line feed. It is broken unless it is a complete record.
    pub(crate) is_unterminated: bool,
}

impl ScanResult {
    fn starting_at(offset: u64, max_sequence: u64) -> ScanResult {
        ScanResult { end: offset, max_sequence, ..ScanResult::default() }
    }

    /// Reads lines up to the end of a file of this generation.
    fn scan(&mut self, kind: &dyn Kind, file: &dyn ReadFile, generation: u64) -> Result<(), FsError> {
        // Read an incomplete batch again, because its end may have arrived.
        if let Some(first) = self.unfinished.first() {
            self.end = first.offset;
            self.broken.retain(|span| span.offset < self.end);
            self.unfinished.clear();
        }
        let mut held: Vec<(PeekedRecord, Span)> = Vec::new();
        let mut lines = Lines::new(file, self.end, file.len()?);
        while let Some(line) = lines.next_line()? {
            let length = u32::try_from(line.bytes.len()).unwrap_or(u32::MAX);
            let span = Span { offset: line.offset, length };
            self.end = line.offset + line.bytes.len() as u64 + u64::from(line.is_complete);
            self.is_unterminated = !line.is_complete;
            // A line of 4 GiB does not fit in a span and cannot be a valid record.
            let content = if length == u32::MAX { Content::Broken } else { look_at(kind, line.bytes) };
            match content {
                Content::Record(peeked) => {
                    let rest = peeked.batch.filter(|mark| mark.generation == generation);
                    let rest = rest.map_or(0, |mark: BatchMark| mark.rest);
                    held.push((peeked, span));
                    // Any record after the lines of a batch shows that the batch was acknowledged, because a writer
                    // moves an unfinished batch away first.
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
                    // A crash cuts lines off and leaves them unterminated. A complete broken line is other damage, in a
                    // batch that was acknowledged.
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

    /// Adds complete lines that directly follow the scanned ones.
    fn take_in_written(
        &mut self,
        kind: &dyn Kind,
        length: usize,
        written: Vec<(PeekedRecord, Range<usize>)>,
    ) {
        for (peeked, at) in written {
            let offset = self.end + at.start as u64;
            let length = u32::try_from(at.len()).unwrap_or(u32::MAX);
            self.take_in(kind, peeked, Span { offset, length });
        }
        self.end += length as u64;
    }

    fn take_in(&mut self, kind: &dyn Kind, peeked: PeekedRecord, span: Span) {
        let existing = self.entries.get(&peeked.facts.id).map(|entry| entry.sequence);
        self.foreign += u64::from(peeked.sequence.is_none());
        self.max_ledger = self.max_ledger.max(peeked.ledger.unwrap_or(0));
        let sequence = peeked.sequence.or(existing).unwrap_or(self.max_sequence + 1);
        self.add(kind, peeked.at(span, sequence));
    }

    /// Returns the lines that the next writer moves to a quarantine, in file order.
    pub(crate) fn unreadable(&self) -> Vec<Span> {
        let mut spans = [self.broken.as_slice(), &self.unfinished].concat();
        spans.sort_unstable_by_key(|span| span.offset);
        spans
    }

    fn add(&mut self, kind: &dyn Kind, entry: Entry) {
        self.lines += 1;
        self.max_sequence = self.max_sequence.max(entry.sequence);
        self.counts.resize(codes(kind), 0);
        self.counts[usize::from(entry.status.byte())] += 1;
        if kind.is_finished(entry.status) {
            self.living.remove(&entry.id);
        } else if !self.living.contains(&entry.id) {
            self.living.insert(entry.id.clone());
        }
        self.hashes.insert(id_hash(&entry.id));
        if kind.is_unique(entry.status) {
            let same = self.by_key.entry(entry.key).or_default();
            if !same.contains(&entry.id) {
                same.push(entry.id.clone());
            }
        }
        let id = entry.id.clone();
        let before = self.entries.insert(id.clone(), entry);
        match (before, &mut self.arrived) {
            (Some(before), _) => self.counts[usize::from(before.status.byte())] -= 1,
            (None, Some(arrived)) => arrived.push(id),
            (None, None) => {}
        }
    }
}

/// The index, and the scan of the lines after it.
#[derive(Default)]
struct Parts {
    index: Option<Index>,
    scanned: ScanResult,
    replaced: Mutex<ReplacedRecords>,
}

/// The records of the index that scanned lines replace, as far as they were looked up.
#[derive(Default)]
struct ReplacedRecords {
    /// How many of the scanned records were looked up.
    known: usize,
    /// How many of the index have each status.
    counts: Vec<u64>,
}

impl Parts {
    fn new(index: Option<Index>, scanned: ScanResult) -> Parts {
        Parts { index, scanned, replaced: Mutex::default() }
    }
}

/// A file of records: the journal or a segment.
pub struct Log {
    journal: Arc<Journal>,
    pub(crate) path: RelPath,
    index_path: RelPath,
    pub(crate) file: Box<dyn ReadFile>,
    /// The journal generation, or the segment number.
    pub(crate) generation: u64,
    /// The offset of the first record.
    start: u64,
    parts: OnceLock<Parts>,
    /// Replaces `parts` if the index turns out to be damaged.
    rebuilt: OnceLock<Parts>,
    read: Mutex<ReadCache>,
}

/// A cache of parsed lines, by their offset. Lines in a file of records are never overwritten, and another file is
/// another [`Log`].
type ReadCache = HashMap<u64, (u32, Arc<dyn Any + Send + Sync>)>;

/// The maximum number of cached lines.
const MAX_CACHED_LINES: usize = 64;

/// A journal of at least this length gets an index.
pub(crate) const MIN_INDEXED_BYTES: u64 = 64 * 1024;

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
        let read = Mutex::default();
        Log { journal, path, index_path, file, generation, start, parts, rebuilt, read }
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
        let mut scanned = ScanResult::starting_at(start, max_sequence);
        scanned.arrived = index.is_some().then(Vec::new);
        // The length is read after the index is opened, so it is not less than what the index covers.
        scanned.scan(&*self.journal.kind, &*self.file, self.generation)?;
        Ok(Parts::new(index, scanned))
    }

    fn open_index(&self) -> Result<Option<Index>, FsError> {
        if self.file.len()? < MIN_INDEXED_BYTES {
            return Ok(None);
        }
        let Ok(file) = self.journal.fs.open(&self.index_path) else { return Ok(None) };
        match Index::open(file, &*self.file, self.generation, codes(&*self.journal.kind)) {
            Ok(index) => Ok(Some(index)),
            Err(IndexError::Unusable) => Ok(None),
            Err(IndexError::Fs(error)) => Err(error),
        }
    }

    /// Queries the index and the scan. If the index is damaged, scans the whole file and queries again.
    fn ask<T>(&self, question: impl Fn(&Parts) -> Result<T, IndexError>) -> Result<T, JournalError> {
        let parts = self.parts()?;
        match question(parts) {
            Ok(answer) => return Ok(answer),
            Err(IndexError::Fs(error)) => return Err(error.into()),
            Err(IndexError::Unusable) => {}
        }
        let mut scanned = ScanResult::starting_at(self.start, 0);
        scanned.scan(&*self.journal.kind, &*self.file, self.generation)?;
        let parts = self.rebuilt.get_or_init(|| Parts::new(None, scanned));
        match question(parts) {
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
    /// Fails on a disk error.
    pub fn line(&self, span: Span) -> Result<Vec<u8>, FsError> {
        self.file.read_range(span.offset, span.length as usize)
    }

    /// Reads the line that an index refers to, and verifies that it is a record with that id.
    fn checked(&self, hit: &Hit) -> Result<(Box<str>, LatestLine), IndexError> {
        let line = self.line(hit.span)?;
        match look_at(&*self.journal.kind, &line) {
            Content::Record(peeked) if id_hash(&peeked.facts.id) == hit.id_hash => {
                Ok((peeked.facts.id, LatestLine { line, sequence: peeked.sequence.unwrap_or(hit.sequence) }))
            }
            Content::Record(_) | Content::Header | Content::Blank | Content::Broken => {
                Err(IndexError::Unusable)
            }
        }
    }

    /// Returns the latest line of a record if it comes after the indexed part, whose lines are in memory.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn known(&self, id: &str) -> Result<Option<ListedLine>, FsError> {
        Ok(self.scanned()?.entries.get(id).map(Entry::listed))
    }

    fn read_before(&self) -> MutexGuard<'_, ReadCache> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Caches the parsed form of a line for [`Log::was_read_as`].
    pub fn remember(&self, span: Span, record: Arc<dyn Any + Send + Sync>) {
        let mut read = self.read_before();
        if MAX_CACHED_LINES <= read.len() {
            read.clear();
        }
        read.insert(span.offset, (span.length, record));
    }

    /// Removes a line from the cache.
    pub fn forget(&self, span: Span) {
        self.read_before().remove(&span.offset);
    }

    /// Returns the parsed form of a line if it is cached.
    pub fn was_read_as<T: Any + Send + Sync>(&self, span: Span) -> Option<Arc<T>> {
        let read = self.read_before();
        let (_, record) = read.get(&span.offset).filter(|(length, _)| *length == span.length)?;
        record.clone().downcast().ok()
    }

    fn scanned_line(&self, entry: &Entry) -> Result<LatestLine, FsError> {
        Ok(LatestLine { line: self.line(entry.span)?, sequence: entry.sequence })
    }

    /// Finds the latest line of a record.
    pub(crate) fn find(&self, id: &str) -> Result<Option<LatestLine>, JournalError> {
        self.ask(|Parts { index, scanned, .. }| {
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

    /// Finds the records whose id starts with a prefix, at most `limit`, sorted by id.
    pub(crate) fn find_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<Box<str>>, JournalError> {
        self.ask(|Parts { index, scanned, .. }| {
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
                    // A prefix longer than the indexed part finds too many ids; they are filtered below.
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
    pub(crate) fn find_key(&self, key: u64) -> Result<Vec<LatestLine>, JournalError> {
        self.ask(|Parts { index, scanned, .. }| {
            let mut found = Vec::new();
            for id in scanned.by_key.get(&key).into_iter().flatten() {
                // A later line may have replaced this one.
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

    /// Lists the latest lines with one status, or all of them, in no particular order.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn list(&self, status: Option<StatusCode>) -> Result<Vec<ListedLine>, JournalError> {
        self.ask(|Parts { index, scanned, .. }| {
            let row = Entry::listed;
            let is_wanted = |entry: &&Entry| status.is_none_or(|status| status == entry.status);
            let mut listed: Vec<ListedLine> = match status {
                Some(status) if !self.journal.kind.is_finished(status) => {
                    let living = scanned.living.iter().filter_map(|id| scanned.entries.get(id));
                    living.filter(is_wanted).map(row).collect()
                }
                _ => scanned.entries.values().filter(is_wanted).map(row).collect(),
            };
            if let Some(index) = index {
                let hits = index.by_status(status)?;
                let is_latest = |hit: &&Hit| !scanned.hashes.contains(&hit.id_hash);
                listed.extend(hits.iter().filter(is_latest).map(Hit::listed));
            }
            Ok(listed)
        })
    }

    /// Lists the latest lines of records that were created at a moment or later, in no particular order.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn list_since(&self, created: i64) -> Result<Vec<ListedLine>, JournalError> {
        self.ask(|Parts { index, scanned, .. }| {
            let entries = scanned.entries.values().filter(|entry| created <= entry.created);
            let mut listed: Vec<ListedLine> = entries.map(Entry::listed).collect();
            if let Some(index) = index {
                let hits = index.by_status_since(created)?;
                let is_latest = |hit: &&Hit| !scanned.hashes.contains(&hit.id_hash);
                listed.extend(hits.iter().filter(is_latest).map(Hit::listed));
            }
            Ok(listed)
        })
    }

    /// Counts the records by their status.
    pub(crate) fn counts(&self) -> Result<Vec<u64>, JournalError> {
        self.ask(|parts| {
            let Parts { index, scanned, replaced } = parts;
            let mut counts = vec![0; codes(&*self.journal.kind)];
            counts.iter_mut().zip(&scanned.counts).for_each(|(count, scanned)| *count = *scanned);
            let (Some(index), Some(arrived)) = (index, &scanned.arrived) else { return Ok(counts) };
            let mut replaced = replaced.lock().unwrap_or_else(PoisonError::into_inner);
            replaced.counts.resize(counts.len(), 0);
            while let Some(id) = arrived.get(replaced.known) {
                for hit in index.by_id(id)? {
                    replaced.counts[usize::from(hit.status.byte())] += 1;
                }
                replaced.known += 1;
            }
            for ((count, indexed), replaced) in counts.iter_mut().zip(&index.counts).zip(&replaced.counts) {
                *count += indexed.checked_sub(*replaced).ok_or(IndexError::Unusable)?;
            }
            Ok(counts)
        })
    }

    /// Returns the highest sequence in the file.
    pub(crate) fn max_sequence(&self) -> Result<u64, FsError> {
        Ok(self.parts()?.scanned.max_sequence)
    }

    /// Returns the highest ledger sequence that a line of the file names.
    pub(crate) fn max_ledger(&self) -> Result<u64, FsError> {
        let parts = self.parts()?;
        Ok(parts.index.as_ref().map_or(0, |index| index.max_ledger).max(parts.scanned.max_ledger))
    }

    /// Returns whether the file was queried before, so that the index and the scan are in memory.
    pub(crate) fn is_open(&self) -> bool {
        self.parts.get().is_some() || self.rebuilt.get().is_some()
    }

    /// Returns whether the last scanned line is complete, so that the next one begins after it.
    pub(crate) fn ends_with_a_line(&self) -> bool {
        let scanned = self.rebuilt.get().or_else(|| self.parts.get()).map(|parts| &parts.scanned);
        scanned.is_none_or(|scanned| !scanned.is_unterminated)
    }

    /// Returns the generation of the journal, or the number of the segment.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns where the known lines end, without those of an incomplete batch or an incomplete last line.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn settled_end(&self) -> Result<u64, FsError> {
        let scanned = self.scanned()?;
        let last = scanned.broken.last().filter(|_| scanned.is_unterminated);
        let open = scanned.unfinished.first().or(last);
        Ok(open.map_or(scanned.end, |span| span.offset))
    }

    /// Returns the scan of the lines after the index.
    pub(crate) fn scanned(&self) -> Result<&ScanResult, FsError> {
        Ok(&self.parts()?.scanned)
    }

    /// Counts dead lines (replaced ones and finished records) and living ones.
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

    /// Counts the lines with records.
    pub(crate) fn lines(&self) -> Result<u64, FsError> {
        let parts = self.parts()?;
        Ok(parts.index.as_ref().map_or(0, |index| index.lines) + parts.scanned.lines)
    }

    /// Adds lines that the holder of the lock appended: `length` bytes, with the positions of their records in
    /// `written`. Without `written`, or if more bytes are new, the file is read.
    pub(crate) fn extend(
        &mut self,
        length: usize,
        written: Vec<(PeekedRecord, Range<usize>)>,
    ) -> Result<(), FsError> {
        if let Some(rebuilt) = self.rebuilt.take() {
            self.parts = OnceLock::from(rebuilt);
        }
        let Some(Parts { scanned, .. }) = self.parts.get_mut() else { return Ok(()) };
        let kind = &*self.journal.kind;
        let is_known = !written.is_empty() && scanned.unfinished.is_empty() && !scanned.is_unterminated;
        if is_known && self.file.len()? == scanned.end + length as u64 {
            scanned.take_in_written(kind, length, written);
            return Ok(());
        }
        scanned.scan(kind, &*self.file, self.generation)
    }

    /// Writes a new index if enough bytes follow the current one. The caller must hold the lock.
    pub(crate) fn refresh_index(&mut self, worth: u64) -> Result<(), FsError> {
        let parts = self.parts()?;
        let covered = parts.index.as_ref().map_or(0, |index| index.covered);
        let behind = parts.scanned.end - covered.max(self.start);
        if behind < worth.max(covered / 128)
            || parts.scanned.foreign != 0
            || !parts.scanned.broken.is_empty()
            || !parts.scanned.unfinished.is_empty()
        {
            return Ok(());
        }
        self.write_index()?;
        // Drop the old parts, so that the new index is used and not written again for the next line.
        (self.parts, self.rebuilt) = (OnceLock::new(), OnceLock::new());
        Ok(())
    }

    /// Writes the index of the whole file. The caller must hold the lock.
    fn write_index(&self) -> Result<(), FsError> {
        let parts = self.parts()?;
        let Parts { index, scanned, .. } = parts;
        let kind = &*self.journal.kind;
        let data = match index {
            None => Ok(IndexData::build(kind, scanned.entries.values())),
            Some(index) => {
                index.extended(kind, |hash| scanned.hashes.contains(&hash), scanned.entries.values())
            }
        };
        // A damaged index is not extended; the next reader notices and scans.
        let Ok(data) = data else { return Ok(()) };
        let lines = index.as_ref().map_or(0, |index| index.lines) + scanned.lines;
        let about = FileSummary { generation: self.generation, lines, max_ledger: self.max_ledger()? };
        let bytes = data.encode(&*self.file, scanned.end, about)?;
        self.journal.fs.write_cache(&self.index_path, &bytes)
    }
}
