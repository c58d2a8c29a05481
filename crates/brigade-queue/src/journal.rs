//! The store in files: calls in a journal, receipts and checkpoints in one file each.

mod adopt;
mod approved;
mod check;
mod checkpoints;
mod kind;
mod layout;
mod line;
mod outcomes;
mod receipts;
mod recent;
mod reconcile;
mod snapshot;
mod transfer;
mod verify;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use brigade_call::Checkpoint;
use brigade_core::Timestamp;
use brigade_fs::{DeferredFs, Fs, FsError, WorkspaceKey};
use brigade_journal::{BatchMark, Damage, Journal, LedgerEnd, State, Writer};

pub use check::{Check, Compaction};
pub use layout::TOOLS;
pub(crate) use line::write_shown;
pub use outcomes::{OutcomeReservation, left_outcomes};
pub(crate) use outcomes::{forget_outcome, kept_outcome, kept_outcomes};
pub use transfer::ChainedReceipt;

use crate::error::QueueError;
use crate::store::{
    Durability, NewReceipt, RecordedReceipt, Snapshot, Store, StoredCall, StoredCheckpoint, Transaction,
};
use receipts::LedgerPresence;

/// The store of a workspace, in `.brigade/tools`.
///
/// It implements [`Store`]. The other methods concern only files: damage, compaction and the state of v0.30.
pub struct JournalStore {
    journal: Arc<Journal>,
    key: Arc<WorkspaceKey>,
    /// Whether git tracks the journal, once that is known.
    untracked: OnceLock<Result<(), FsError>>,
    holder: String,
    lock_timeout: Duration,
    known: Mutex<KnownFiles>,
    /// The tree that delays syncs.
    late: Option<Arc<DeferredFs>>,
}

/// The state of the files when they were last read or written here, so that no line is read twice.
#[derive(Default)]
struct KnownFiles {
    state: Option<Arc<State>>,
    /// Whether a writer has already recovered records that the journal had lost.
    is_recovered: bool,
    ledger: Option<LedgerEnd>,
}

impl JournalStore {
    /// Opens the store of a workspace without accessing the disk. Approvals count only if they were signed with the
    /// key.
    ///
    /// Processes that wait too long for the lock are shown `holder` and the time since when it is held.
    pub fn new(
        fs: Arc<dyn Fs>,
        key: Arc<WorkspaceKey>,
        holder: impl Into<String>,
        lock_timeout: Duration,
    ) -> JournalStore {
        let journal = kind::journal(fs, key.clone());
        let holder = holder.into();
        JournalStore {
            journal,
            key,
            untracked: OnceLock::new(),
            holder,
            lock_timeout,
            known: Mutex::default(),
            late: None,
        }
    }

    /// Returns the key that signs approvals.
    pub fn key(&self) -> &Arc<WorkspaceKey> {
        &self.key
    }

    /// Sets the tree for [delayed syncs](Durability::Soon). The caller syncs it.
    #[must_use]
    pub fn with_late(self, late: Arc<DeferredFs>) -> JournalStore {
        JournalStore { late: Some(late), ..self }
    }

    fn known(&self) -> MutexGuard<'_, KnownFiles> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the current state. If it was read before, reads only the lines appended since.
    fn load(&self) -> Result<Arc<State>, QueueError> {
        let mut known = self.known();
        if let Some(state) = &mut known.state {
            if state.is_current() {
                return Ok(state.clone());
            }
            if let Some(own) = Arc::get_mut(state)
                && own.catch_up()?
            {
                return Ok(state.clone());
            }
        }
        self.require_untracked()?;
        let state = Arc::new(self.journal.load()?);
        *known = KnownFiles { state: Some(state.clone()), ..KnownFiles::default() };
        Ok(state)
    }

    /// Reads the current state from the files, without using memory.
    fn read_anew(&self) -> Result<State, QueueError> {
        *self.known() = KnownFiles::default();
        self.require_untracked()?;
        Ok(self.journal.load()?)
    }

    /// Refuses a journal that git tracks. Looks once.
    fn require_untracked(&self) -> Result<(), QueueError> {
        let file = self.journal.layout().journal();
        let look = || brigade_fs::require_untracked(&**self.journal.fs(), file.as_str());
        Ok(self.untracked.get_or_init(look).clone()?)
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
        Ok(self.read_anew()?.damage()?)
    }

    /// Lists the calls that could run or resume if this host had signed their approvals, as they are stored.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn approved_elsewhere(&self) -> Result<Vec<StoredCall>, QueueError> {
        snapshot::approved_elsewhere(&self.read_anew()?)
    }

    /// Signs the approvals of these calls, which a person was shown. Skips calls that have changed since.
    ///
    /// # Errors
    /// Fails on a disk error. Then all or none are signed.
    pub fn adopt(&self, shown: &[StoredCall], now: Timestamp) -> Result<Vec<StoredCall>, QueueError> {
        *self.known() = KnownFiles::default();
        let mut transaction = self.transaction(now, Durability::AtOnce)?;
        transaction.prepare()?;
        let mut calls = snapshot::approved_elsewhere(transaction.state())?;
        calls.retain(|stored| shown.contains(stored));
        calls.iter_mut().for_each(|stored| stored.revision += 1);
        transaction.put(&mut calls)?;
        Ok(calls)
    }

    /// Checks all files without changing them.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn check(&self) -> Result<Check, QueueError> {
        check::check(&self.read_anew()?)
    }

    /// Moves finished calls to segments and unreadable lines to a quarantine, and removes leftovers of crashes, even if
    /// it is not due. Adopts the state of v0.30 first.
    ///
    /// # Errors
    /// Fails on a disk error. The state is then unchanged.
    pub fn compact(&self, now: Timestamp) -> Result<Compaction, QueueError> {
        *self.known() = KnownFiles::default();
        let mut transaction = self.transaction(now, Durability::AtOnce)?;
        let rewrite = transaction.writer().compact(now)?;
        Ok(Compaction {
            is_adoption: rewrite.is_adoption,
            moved: rewrite.moved,
            quarantined: rewrite.quarantined,
            removed: rewrite.removed,
            restored: reconcile::restore(&mut transaction, now)?,
            restored_checkpoints: checkpoints::restore(transaction.state())?,
        })
    }

    fn transaction(
        &self,
        now: Timestamp,
        durability: Durability,
    ) -> Result<JournalTransaction<'_>, QueueError> {
        let late = self.late.as_ref().filter(|_| durability == Durability::Soon);
        let holder = format!("{}, since {now}", self.holder);
        let (mut ledger, mut is_recovered) = (None, false);
        let known = || {
            let known = std::mem::take(&mut *self.known());
            is_recovered = known.is_recovered;
            ledger = known.ledger;
            // A state that a reader still uses is not reused.
            known.state.and_then(Arc::into_inner)
        };
        self.require_untracked()?;
        let mut writer = self.journal.lock_knowing(known, &holder, self.lock_timeout)?;
        match (late, &self.late) {
            (Some(late), _) => writer.write_late(late.clone()),
            // The synced line must not come after an unsynced one.
            (None, Some(pending)) if pending.is_pending() => pending.sync()?,
            (None, _) => {}
        }
        let ledger = ledger.filter(|_| writer.is_known());
        let late = late.cloned();
        let mut transaction = JournalTransaction { writer: Some(writer), ledger, store: self, late, now };
        let writer = transaction.writer();
        // If the journal's name is taken, only a compaction can proceed.
        if !writer.state().is_blocked() {
            if !(writer.is_known() && is_recovered) {
                writer.recover(now)?;
            }
            let is_settled = match &transaction.ledger {
                Some(end) => transaction.ledger_is_at(end)?,
                None => false,
            };
            if !is_settled {
                reconcile::reconcile(&mut transaction, now)?;
            }
        }
        Ok(transaction)
    }
}

impl Store for JournalStore {
    fn read(&self) -> Result<Arc<dyn Snapshot>, QueueError> {
        Ok(self.load()?)
    }

    fn begin(&self, now: Timestamp, durability: Durability) -> Result<Box<dyn Transaction + '_>, QueueError> {
        Ok(Box::new(self.transaction(now, durability)?))
    }
}

/// The files, while the lock is held.
struct JournalTransaction<'a> {
    /// `Some` until the transaction is dropped.
    writer: Option<Writer>,
    /// The end of the ledger, if it is known.
    ledger: Option<LedgerEnd>,
    store: &'a JournalStore,
    late: Option<Arc<DeferredFs>>,
    now: Timestamp,
}

impl Drop for JournalTransaction<'_> {
    fn drop(&mut self) {
        // The state is stored before the lock is released, so that the next writer of this process finds it.
        let mut known = self.store.known();
        let state = self.writer.take().and_then(Writer::into_state);
        known.ledger = self.ledger.take().filter(|_| state.is_some());
        known.is_recovered = true;
        known.state = state.map(Arc::new);
    }
}

impl JournalTransaction<'_> {
    fn writer(&mut self) -> &mut Writer {
        self.writer.as_mut().expect("a transaction has its writer until it is dropped")
    }

    fn state(&self) -> &State {
        self.writer.as_ref().expect("a transaction has its writer until it is dropped").state()
    }

    fn fs(&self) -> &dyn Fs {
        match &self.late {
            Some(late) => &**late,
            None => &**self.state().place().fs(),
        }
    }

    /// Returns whether the ledger still has this end and the records name its last entry.
    fn ledger_is_at(&self, end: &LedgerEnd) -> Result<bool, QueueError> {
        let state = self.state();
        Ok(state.place().ledger().ends_so(end) && end.sequence() <= state.max_ledger()?)
    }
}

impl Transaction for JournalTransaction<'_> {
    fn snapshot(&self) -> &dyn Snapshot {
        self.state()
    }

    fn prepare(&mut self) -> Result<(), QueueError> {
        let now = self.now;
        Ok(self.writer().prepare(now)?)
    }

    fn put(&mut self, calls: &mut [StoredCall]) -> Result<(), QueueError> {
        self.prepare()?;
        let mut sequence = None;
        for stored in calls.iter_mut().filter(|stored| stored.sequence == 0) {
            let next = match sequence {
                Some(last) => last + 1,
                None => self.state().max_sequence()? + 1,
            };
            stored.sequence = next;
            sequence = Some(next);
        }
        let calls = &*calls;
        // What a person or a rule approved counts on this host only.
        let macs: Vec<Option<String>> =
            calls.iter().map(|stored| stored.mac(&self.store.key)).collect::<Result<_, _>>()?;
        let line =
            |place: usize, mark: Option<BatchMark>| calls[place].to_marked_line(mark, macs[place].as_deref());
        let now = self.now;
        snapshot::forget(self.state(), calls);
        self.writer().append_batch(calls.len(), &line, now)?;
        snapshot::remember(self.state(), calls);
        approved::remember(self.fs(), calls);
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

    fn record(&mut self, receipt: NewReceipt<'_>) -> Result<RecordedReceipt, QueueError> {
        let (receipt, known) = match receipt {
            NewReceipt::Unstored(receipt, taken) => receipts::add(self.fs(), receipt, taken)?,
            NewReceipt::Stored(receipt) => (*receipt, LedgerPresence::Perhaps),
        };
        let mut end = self.ledger.take();
        let (link, chain) = receipts::enter(self.state(), self.fs(), &mut end, &receipt, known, self.now)?;
        self.ledger = end;
        Ok(RecordedReceipt { receipt, link, chain })
    }
}
