//! Changes to the journal, under its lock.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use brigade_core::Timestamp;
use brigade_core::json::RecordLine;
use brigade_fs::{DeferredFs, Fs as _, Lock};

use crate::compact::{self, Rewrite};
use crate::entry::{BatchMark, Content, PeekedRecord, look_at_written};
use crate::error::JournalError;
use crate::log::MIN_INDEXED_BYTES;
use crate::quarantine;
use crate::recover;
use crate::state::{State, millis};

/// How many dead lines trigger a rewrite of the journal; the second value is for a process that writes repeatedly.
const REWRITE_THRESHOLD: u64 = 256;
const LONG_LIVED_REWRITE_THRESHOLD: u64 = 4096;

/// How many bytes after its index trigger a new index, for a process that writes repeatedly.
const LONG_LIVED_INDEX_THRESHOLD: u64 = 1 << 20;

/// A journal whose lock is held.
pub struct Writer {
    pub(crate) state: State,
    _lock: Lock,
    /// Whether a write failed, so that memory and disk may differ.
    is_stale: bool,
    /// Whether the writer started from a known state and read only the lines appended since.
    is_known: bool,
    /// The tree that delays the syncs of appends.
    late: Option<Arc<DeferredFs>>,
}

impl Writer {
    pub(crate) fn new(state: State, lock: Lock, is_known: bool) -> Writer {
        Writer { state, _lock: lock, is_stale: false, is_known, late: None }
    }

    /// Returns whether the writer started from a known state and read only the lines appended since.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// Makes later appends use delayed syncs. A rewrite of the journal syncs them first.
    pub fn write_late(&mut self, late: Arc<DeferredFs>) {
        self.late = Some(late);
    }

    /// Replaces the journal, after syncing everything that was written before.
    fn rewrite(&mut self, ledger: u64, now: Timestamp) -> Result<Rewrite, JournalError> {
        if let Some(late) = &self.late {
            late.sync()?;
        }
        compact::rewrite(&mut self.state, ledger, now)
    }

    /// Releases the lock, and returns the state for the next writer of this process. Returns `None` if a write failed,
    /// because the state may then differ from the files.
    pub fn into_state(self) -> Option<State> {
        (!self.is_stale).then_some(self.state)
    }

    /// Returns all records, as read under the lock.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Recovers records that are only in segments that the journal does not name, after a crash or if an older journal
    /// was restored.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn recover(&mut self, now: Timestamp) -> Result<(), JournalError> {
        recover::recover(self, now)
    }

    /// Prepares the journal for appending: adopts it if needed, and removes unreadable lines.
    ///
    /// # Errors
    /// Fails if the journal was written by a newer version or is not a file, or on a disk error.
    pub fn prepare(&mut self, now: Timestamp) -> Result<(), JournalError> {
        if self.is_stale {
            self.state = self.state.place().load()?;
            self.is_stale = false;
        }
        self.state.require_our_version()?;
        self.state.require_journal()?;
        if compact::is_needed(&self.state)? {
            self.rewrite(0, now)?;
        }
        Ok(())
    }

    /// Appends several records in one durable write: readers see all of them or none. `line` formats record number `n`
    /// with the given mark.
    ///
    /// # Errors
    /// Like [`Writer::append`].
    pub fn append_batch(
        &mut self,
        count: usize,
        line: &dyn Fn(usize, Option<BatchMark>) -> RecordLine,
        now: Timestamp,
    ) -> Result<(), JournalError> {
        if count == 0 {
            return Ok(());
        }
        self.prepare(now)?;
        let mut bytes = String::new();
        let mut written = Vec::with_capacity(count);
        let kind = self.state.place().kind.clone();
        let generation = self.state.header.as_ref().map_or(0, |header| header.generation);
        for place in 0..count {
            let rest = (count - 1 - place) as u64;
            // Without a mark, a crash during the write could leave only a part of the batch.
            let line = line(place, (1 < count).then_some(BatchMark { generation, rest }));
            if let Content::Record(peeked) = look_at_written(&*kind, &line) {
                written.push((peeked, bytes.len()..bytes.len() + line.as_str().len()));
            }
            bytes.push_str(line.as_str());
            bytes.push('\n');
        }
        let are_all_records = written.len() == count;
        self.append_written(bytes.as_bytes(), if are_all_records { written } else { Vec::new() }, now)
    }

    /// Appends complete lines in one durable write.
    ///
    /// # Errors
    /// Fails if the journal was written by a newer version or is not a file, or on a disk error.
    pub fn append(&mut self, lines: &[u8], now: Timestamp) -> Result<(), JournalError> {
        self.append_written(lines, Vec::new(), now)
    }

    /// Appends lines. `written` has the records of the lines, if known; they must belong to at most one batch.
    fn append_written(
        &mut self,
        lines: &[u8],
        mut written: Vec<(PeekedRecord, Range<usize>)>,
        now: Timestamp,
    ) -> Result<(), JournalError> {
        self.prepare(now)?;
        let mut bytes = lines;
        let with_feed;
        if let Some(journal) = &self.state.journal
            && journal.scanned()?.is_unterminated
        {
            with_feed = [b"\n", lines].concat();
            bytes = &with_feed;
            written.clear();
        }
        self.is_stale = true;
        let started = Instant::now();
        let place = self.state.place().clone();
        let _span =
            tracing::debug_span!("append", file = %place.layout.journal(), bytes = bytes.len()).entered();
        match &self.late {
            Some(late) => late.append_durable(&place.layout.journal(), bytes)?,
            None => place.fs.append_durable(&place.layout.journal(), bytes)?,
        }
        tracing::debug!(bytes = bytes.len(), took_ms = millis(started), "appended to the journal");
        // From here on the write is done. Later failures only leave more work to the next writer.
        self.is_stale = self.after_append(bytes.len(), written, now).is_err();
        Ok(())
    }

    fn after_append(
        &mut self,
        length: usize,
        written: Vec<(PeekedRecord, Range<usize>)>,
        now: Timestamp,
    ) -> Result<(), JournalError> {
        // A process that writes repeatedly has all lines in memory, so it waits longer before a rewrite.
        let (worth, dead) = if self.is_known {
            (LONG_LIVED_INDEX_THRESHOLD, LONG_LIVED_REWRITE_THRESHOLD)
        } else {
            (MIN_INDEXED_BYTES, REWRITE_THRESHOLD)
        };
        if let Some(journal) = &mut self.state.journal {
            journal.extend(length, written)?;
            journal.refresh_index(worth)?;
        }
        self.state.appended()?;
        // Rebuild indexes that were missing or outdated when this process used them.
        for segment in self.state.segments.iter_mut().filter(|segment| segment.is_open()) {
            segment.refresh_index(MIN_INDEXED_BYTES)?;
        }
        if compact::is_due(&self.state, dead)? {
            self.rewrite(0, now)?;
        }
        Ok(())
    }

    /// Rewrites the journal and records that the ledger is settled up to a sequence that no record names.
    ///
    /// # Errors
    /// Fails on a disk error. The state is then unchanged.
    pub fn settle_ledger(&mut self, ledger: u64, now: Timestamp) -> Result<(), JournalError> {
        self.rewrite(ledger, now).map(drop)
    }

    /// Moves finished records to segments and unreadable lines to a quarantine, and removes leftovers of crashes, even
    /// if it is not due. Adopts the state of an earlier program.
    ///
    /// # Errors
    /// Fails if the journal was written by a newer version, or on a disk error. The state is then unchanged.
    pub fn compact(&mut self, now: Timestamp) -> Result<Rewrite, JournalError> {
        self.state.require_our_version()?;
        self.is_stale = true;
        let moved = quarantine::move_not_directories(self.state.place())?;
        let mut report = self.rewrite(0, now)?;
        report.quarantined += moved;
        self.is_stale = false;
        Ok(report)
    }
}
