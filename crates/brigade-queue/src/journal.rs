//! The store in files: calls in a journal, receipts and checkpoints in one file each.

mod adopt;
mod check;
mod checkpoints;
mod kind;
mod layout;
mod line;
mod receipts;
mod reconcile;
mod snapshot;
mod verify;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use brigade_call::{Checkpoint, LedgerLink, Receipt};
use brigade_core::Timestamp;
use brigade_fs::Fs;
use brigade_journal::{BatchMark, Damage, Journal, State, Writer};

pub use check::{Check, Compaction};
pub(crate) use kind::OWN_MEMBERS;
pub use layout::TOOLS;
pub use snapshot::ListedCall;

use crate::error::QueueError;
use crate::store::{
    BadReceipt, ChainEnd, InLedger, Snapshot, Store, StoredCall, StoredCheckpoint, StoredReceipt, Taken,
    Transaction,
};

/// The store of a workspace, in `.brigade/tools`.
///
/// It implements [`Store`]. The other methods concern only files: damage, compaction, the state of v0.30, and records
/// as text.
pub struct JournalStore {
    journal: Arc<Journal>,
    holder: String,
    lock_timeout: Duration,
    /// The state that is being read. It is shared until the files change, so that an operation with several questions
    /// scans them once.
    shared: Mutex<Weak<State>>,
}

impl JournalStore {
    /// Opens the store of a workspace without accessing the disk.
    ///
    /// `holder` is shown to processes that wait for the lock in vain, with the time since when it is held.
    pub fn new(fs: Arc<dyn Fs>, holder: impl Into<String>, lock_timeout: Duration) -> JournalStore {
        let journal = kind::journal(fs);
        JournalStore { journal, holder: holder.into(), lock_timeout, shared: Mutex::default() }
    }

    /// Reads the state as it is now, or returns the one that is being read if the files have not changed since.
    fn load(&self) -> Result<Arc<State>, QueueError> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = shared.upgrade()
            && state.is_current()
        {
            return Ok(state);
        }
        let state = Arc::new(self.journal.load()?);
        *shared = Arc::downgrade(&state);
        Ok(state)
    }

    /// Checks that calls can be read, so that an unreadable journal is not mistaken for an empty queue.
    ///
    /// # Errors
    /// Returns [`QueueError::Blocked`] if they cannot. Also fails on a disk error.
    pub fn require_calls(&self) -> Result<(), QueueError> {
        Ok(self.load()?.require_journal()?)
    }

    /// Lists everything unreadable. The next write moves it to a quarantine file.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn damage(&self) -> Result<Vec<Damage>, QueueError> {
        Ok(self.load()?.damage()?)
    }

    /// Lists everything that has the name of a receipt but is not a file, and the directory of receipts if it is not
    /// one.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn misplaced_receipts(&self) -> Result<Vec<BadReceipt>, QueueError> {
        Ok(receipts::misplaced(&**self.journal.fs())?)
    }

    /// Checks all files without changing them.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn check(&self) -> Result<Check, QueueError> {
        check::check(&*self.load()?)
    }

    /// Passes on all calls in queue order, as text if they are shown as stored. Used for lists as long as the history.
    /// See [`brigade_core::json::reprint`].
    ///
    /// # Errors
    /// Fails on a disk error, or if the journal is not a file.
    pub fn list_calls(
        &self,
        found: &mut dyn FnMut(ListedCall<'_>) -> ControlFlow<()>,
    ) -> Result<(), QueueError> {
        snapshot::export(&*self.load()?, found)
    }

    /// Moves finished calls to segments and unreadable lines to a quarantine, and removes leftovers of crashes, even if
    /// it is not due. Adopts the state of v0.30 first.
    ///
    /// # Errors
    /// Fails on a disk error. The state is then unchanged.
    pub fn compact(&self, now: Timestamp) -> Result<Compaction, QueueError> {
        let mut transaction = self.transaction(now)?;
        let rewrite = transaction.writer.compact(now)?;
        Ok(Compaction {
            is_adoption: rewrite.is_adoption,
            moved: rewrite.moved,
            quarantined: rewrite.quarantined,
            removed: rewrite.removed,
            restored: reconcile::restore(&mut transaction, now)?,
            restored_checkpoints: checkpoints::restore(transaction.writer.state())?,
        })
    }

    fn transaction(&self, now: Timestamp) -> Result<JournalTransaction, QueueError> {
        let holder = format!("{}, since {now}", self.holder);
        let writer = self.journal.lock(&holder, self.lock_timeout)?;
        *self.shared.lock().unwrap_or_else(PoisonError::into_inner) = Weak::new();
        let mut transaction = JournalTransaction { writer, now };
        // If the journal's name is taken, only a compaction can proceed.
        if !transaction.writer.state().is_blocked() {
            transaction.writer.recover(now)?;
            reconcile::reconcile(&mut transaction, now)?;
        }
        Ok(transaction)
    }
}

impl Store for JournalStore {
    fn read(&self) -> Result<Arc<dyn Snapshot>, QueueError> {
        Ok(self.load()?)
    }

    fn begin(&self, now: Timestamp) -> Result<Box<dyn Transaction + '_>, QueueError> {
        Ok(Box::new(self.transaction(now)?))
    }
}

/// The files, while the lock is held.
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
            // The record is authoritative. A file that cannot be written now is written with the next change of the
            // call.
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
