//! The store in files: calls in a journal, receipts and checkpoints in a file each.

mod adopt;
mod catch_up;
mod check;
mod checkpoints;
mod kind;
mod layout;
mod line;
mod receipts;
mod snapshot;
mod verify;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use brigade_call::{Checkpoint, LedgerLink, Receipt};
use brigade_core::Timestamp;
use brigade_fs::Fs;
use brigade_journal::{BatchMark, Damage, Journal, Writer};

pub use check::{Check, Compaction};
pub use kind::OWN_MEMBERS;
pub use layout::TOOLS;
pub use snapshot::ListedCall;

use crate::error::QueueError;
use crate::store::{
    BadReceipt, ChainEnd, InLedger, Snapshot, Store, StoredCall, StoredCheckpoint, StoredReceipt, Taken,
    Transaction,
};

/// The store of a workspace, in `.brigade/tools`.
///
/// As a [`Store`] it is like any other. What is only true of files is here: damage, compaction, the state of v0.30, and
/// records as text.
pub struct JournalStore {
    journal: Arc<Journal>,
    holder: String,
    lock_timeout: Duration,
}

impl JournalStore {
    /// Opens the store of a workspace; touches nothing.
    ///
    /// `holder` is what others read who wait for the lock in vain: process id, command, since when.
    pub fn new(fs: Arc<dyn Fs>, holder: impl Into<String>, lock_timeout: Duration) -> JournalStore {
        JournalStore { journal: kind::journal(fs), holder: holder.into(), lock_timeout }
    }

    /// Fails when the calls cannot be read at all, so that nobody takes that for an empty queue.
    ///
    /// # Errors
    /// [`QueueError::Blocked`]; or when the disk fails.
    pub fn require_calls(&self) -> Result<(), QueueError> {
        Ok(self.journal.load()?.require_journal()?)
    }

    /// Lists what cannot be read. The next write moves it to a quarantine file.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn damage(&self) -> Result<Vec<Damage>, QueueError> {
        Ok(self.journal.load()?.damage()?)
    }

    /// Lists what has the name of a receipt and is not a file, and the folder of receipts if it is not one.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn misplaced_receipts(&self) -> Result<Vec<BadReceipt>, QueueError> {
        Ok(receipts::misplaced(&**self.journal.fs())?)
    }

    /// Looks over all files. Changes nothing.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn check(&self) -> Result<Check, QueueError> {
        check::check(&self.journal.load()?)
    }

    /// Hands out all calls in the order in which they were queued, as text where that is how they are shown: for lists
    /// that are as long as the history. See [`brigade_core::json::reprint`].
    ///
    /// # Errors
    /// When the disk fails, or the journal is not a file.
    pub fn list_calls(
        &self,
        found: &mut dyn FnMut(ListedCall<'_>) -> ControlFlow<()>,
    ) -> Result<(), QueueError> {
        snapshot::export(&self.journal.load()?, found)
    }

    /// Moves finished calls out of the journal and unreadable lines to a quarantine, and removes what is left over from
    /// crashes, whether or not it is due. Adopts the state of v0.30 first.
    ///
    /// # Errors
    /// When the disk fails; everything is as before then.
    pub fn compact(&self, now: Timestamp) -> Result<Compaction, QueueError> {
        let mut transaction = self.transaction(now)?;
        let rewrite = transaction.writer.compact(now)?;
        Ok(Compaction {
            is_adoption: rewrite.is_adoption,
            moved: rewrite.moved,
            quarantined: rewrite.quarantined,
            removed: rewrite.removed,
            restored: catch_up::restore(&mut transaction, now)?,
            restored_checkpoints: checkpoints::restore(transaction.writer.state())?,
        })
    }

    fn transaction(&self, now: Timestamp) -> Result<JournalTransaction, QueueError> {
        let writer = self.journal.lock(&self.holder, self.lock_timeout)?;
        let mut transaction = JournalTransaction { writer, now };
        // Where the journal should be is something else: only a compaction does anything here.
        if !transaction.writer.state().is_blocked() {
            transaction.writer.rescue(now)?;
            catch_up::catch_up(&mut transaction, now)?;
        }
        Ok(transaction)
    }
}

impl Store for JournalStore {
    fn read(&self) -> Result<Box<dyn Snapshot>, QueueError> {
        Ok(Box::new(self.journal.load()?))
    }

    fn begin(&self, now: Timestamp) -> Result<Box<dyn Transaction + '_>, QueueError> {
        Ok(Box::new(self.transaction(now)?))
    }
}

/// The files while the lock is held.
struct JournalTransaction {
    writer: Writer,
    now: Timestamp,
}

impl JournalTransaction {
    fn fs(&self) -> &dyn Fs {
        &**self.writer.state().place().fs()
    }
}

impl Transaction for JournalTransaction {
    fn snapshot(&self) -> &dyn Snapshot {
        self.writer.state()
    }

    fn prepare(&mut self) -> Result<(), QueueError> {
        Ok(self.writer.prepare(self.now)?)
    }

    fn put(&mut self, calls: &mut [StoredCall]) -> Result<(), QueueError> {
        self.prepare()?;
        let mut sequence = None;
        for stored in calls.iter_mut().filter(|stored| stored.sequence == 0) {
            let next = match sequence {
                Some(last) => last + 1,
                None => self.writer.state().max_sequence()? + 1,
            };
            stored.sequence = next;
            sequence = Some(next);
        }
        let calls = &*calls;
        let line = |place: usize, mark: Option<BatchMark>| calls[place].to_marked_line(mark);
        self.writer.append_batch(calls.len(), &line, self.now)?;
        for stored in calls.iter().filter(|stored| !stored.checkpoints.is_empty()) {
            // The record is the truth; a file that cannot be written is written with the next change of the call.
            let _ = checkpoints::copy_out(self.fs(), stored);
        }
        Ok(())
    }

    fn add_checkpoints(&mut self, checkpoints: Vec<Checkpoint>) -> Result<Vec<StoredCheckpoint>, QueueError> {
        checkpoints::create(self.fs(), checkpoints)
    }

    fn add_receipt(
        &mut self,
        receipt: &Receipt,
        taken: Taken,
    ) -> Result<(StoredReceipt, InLedger), QueueError> {
        receipts::add(self.fs(), receipt, taken)
    }

    fn enter(
        &mut self,
        receipt: &StoredReceipt,
        known: InLedger,
    ) -> Result<(LedgerLink, ChainEnd), QueueError> {
        receipts::enter(&self.writer, receipt, known, self.now)
    }
}
