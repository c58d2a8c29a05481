//! Changing the journal under its lock.

use std::time::Instant;

use brigade_core::Timestamp;
use brigade_fs::Lock;

use crate::aside;
use crate::compact::{self, Rewrite};
use crate::entry::BatchMark;
use crate::error::JournalError;
use crate::rescue;
use crate::state::{State, millis};

/// A journal while its lock is held.
pub struct Writer {
    pub(crate) state: State,
    _lock: Lock,
    /// Whether a write failed, so that what is in memory may not be what is on the disk.
    is_stale: bool,
}

impl Writer {
    pub(crate) fn new(state: State, lock: Lock) -> Writer {
        Writer { state, _lock: lock, is_stale: false }
    }

    /// Returns all records as they are under the lock.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Takes in what is only in segments that the journal does not name, as a crash or an older copy of the journal
    /// leaves them.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn rescue(&mut self, now: Timestamp) -> Result<(), JournalError> {
        rescue::rescue(self, now)
    }

    /// Makes the journal one that can be appended to: ours, and without unreadable lines.
    ///
    /// # Errors
    /// When a newer version wrote it, it is not a file, or the disk fails.
    pub fn prepare(&mut self, now: Timestamp) -> Result<(), JournalError> {
        if self.is_stale {
            self.state = self.state.place().load()?;
            self.is_stale = false;
        }
        self.state.require_our_version()?;
        self.state.require_journal()?;
        if compact::is_needed(&self.state)? {
            compact::rewrite(&mut self.state, 0, now)?;
        }
        Ok(())
    }

    /// Appends several records as one durable write: readers see all of them or none. `line` writes the line of the
    /// record number `n`, with the mark that it must carry.
    ///
    /// # Errors
    /// As [`Writer::append`].
    pub fn append_batch(
        &mut self,
        count: usize,
        line: &dyn Fn(usize, Option<BatchMark>) -> String,
        now: Timestamp,
    ) -> Result<(), JournalError> {
        if count == 0 {
            return Ok(());
        }
        self.prepare(now)?;
        let mut bytes = String::new();
        let generation = self.state.header.as_ref().map_or(0, |header| header.generation);
        for place in 0..count {
            let rest = (count - 1 - place) as u64;
            // Without a mark, a crash in the middle of the write would leave a part of what belongs together.
            bytes.push_str(&line(place, (1 < count).then_some(BatchMark { generation, rest })));
        }
        self.append(bytes.as_bytes(), now)
    }

    /// Appends whole lines as one durable write.
    ///
    /// # Errors
    /// When a newer version wrote the journal, it is not a file, or the disk fails.
    pub fn append(&mut self, lines: &[u8], now: Timestamp) -> Result<(), JournalError> {
        self.prepare(now)?;
        let mut bytes = lines;
        let with_feed;
        if let Some(journal) = &self.state.journal
            && journal.scanned()?.is_unterminated
        {
            with_feed = [b"\n", lines].concat();
            bytes = &with_feed;
        }
        self.is_stale = true;
        let started = Instant::now();
        let place = self.state.place().clone();
        place.fs.append_durable(&place.layout.journal(), bytes)?;
        tracing::debug!(bytes = bytes.len(), took_ms = millis(started), "appended to the journal and synced");
        // From here on it is durable: what fails now makes the next writer do more, and nobody lose anything.
        self.is_stale = self.after_append(now).is_err();
        Ok(())
    }

    fn after_append(&mut self, now: Timestamp) -> Result<(), JournalError> {
        if let Some(journal) = &mut self.state.journal {
            journal.extend()?;
            journal.refresh_index()?;
        }
        // An index that was deleted, or is an earlier version's, is made again by whoever had to do without.
        for segment in self.state.segments.iter_mut().filter(|segment| segment.is_open()) {
            segment.refresh_index()?;
        }
        if compact::is_due(&self.state)? {
            compact::rewrite(&mut self.state, 0, now)?;
        }
        Ok(())
    }

    /// Rewrites the journal and remembers that the ledger is settled up to a place, although no record knows it.
    ///
    /// # Errors
    /// When the disk fails; everything is as before then.
    pub fn settle_ledger(&mut self, ledger: u64, now: Timestamp) -> Result<(), JournalError> {
        compact::rewrite(&mut self.state, ledger, now).map(drop)
    }

    /// Moves finished records out of the journal and what cannot be read to a quarantine, and removes what crashes
    /// left, whether or not it is due. Takes over what an earlier program left.
    ///
    /// # Errors
    /// When a newer version wrote the journal, or the disk fails; everything is as before then.
    pub fn compact(&mut self, now: Timestamp) -> Result<Rewrite, JournalError> {
        self.state.require_our_version()?;
        self.is_stale = true;
        let moved = aside::move_folders(self.state.place())?;
        let mut report = compact::rewrite(&mut self.state, 0, now)?;
        report.quarantined += moved;
        self.is_stale = false;
        Ok(report)
    }
}
