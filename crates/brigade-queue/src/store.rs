//! The interface of a store for calls, receipts and checkpoints.
//!
//! A store keeps and finds records. It decides nothing: [`crate::Queue`] has the rules for calls, duplicates and
//! interrupted runs. Eleven methods read and four write, and a table or two in a database can answer each.
//! Two more have defaults, for what only a store of files has.
//! [`crate::JournalStore`] keeps records in files, [`crate::MemoryStore`] in memory.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use brigade_call::{
    CHECKPOINTS, Call, CallStatus, Checkpoint, LedgerLink, Paths, RUNS, Receipt, RecordVersion, RunSummary,
};
use brigade_core::{CallId, CheckpointId, Fingerprint, Object, Timestamp, words};

use crate::error::QueueError;

/// A stored call, with what the queue records about it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCall {
    /// The call.
    pub call: Call,
    /// The kind of program that wrote it last. A record of a newer version can be read but not changed.
    pub version: RecordVersion,
    /// The position in queue order.
    pub sequence: u64,
    /// The number of changes. A change names the revision that it is based on.
    pub revision: u64,
    /// The documents of the checkpoints of its runs, by id. They are authoritative, even if copies are kept elsewhere.
    pub checkpoints: Object,
}

/// A stored receipt.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredReceipt {
    /// The receipt.
    pub receipt: Receipt,
    /// The id that it is stored under, which may differ from what it says itself.
    pub stored_id: String,
    /// The sha256 of the stored bytes.
    pub sha256: Fingerprint,
}

/// Something in the place of a receipt that is not a valid one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadReceipt {
    /// The place, as reports name it.
    pub place: String,
    /// The problem and its position, without quoting the content.
    pub problem: String,
}

/// What stands in the place of a receipt.
#[derive(Clone, Debug, PartialEq)]
pub enum FoundReceipt {
    /// A receipt.
    Good(Box<StoredReceipt>),
    /// Something that is not a valid one.
    Bad(BadReceipt),
}

impl FoundReceipt {
    /// Returns the receipt, if it is valid.
    pub fn good(self) -> Option<StoredReceipt> {
        match self {
            FoundReceipt::Good(stored) => Some(*stored),
            FoundReceipt::Bad(_) => None,
        }
    }
}

/// A receipt of which only some members were read.
#[derive(Clone, Debug, PartialEq)]
pub struct ExaminedReceipt {
    /// The receipt with the requested members and the required ones.
    pub receipt: Receipt,
    /// The id that it is stored under.
    pub stored_id: String,
}

/// Receipts, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunList {
    /// The readable receipts.
    pub receipts: Vec<StoredReceipt>,
    /// The unreadable ones.
    pub errors: Vec<BadReceipt>,
}

/// A stored checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCheckpoint {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The id that it is stored under.
    pub stored_id: String,
    /// The members in which its copy differs from the record of its call. If there are any, the call cannot be resumed.
    /// Empty if the store has no copies.
    pub differs: Vec<String>,
}

/// Names the receipt that is stored under an id, as reports do, whatever the store is.
pub fn receipt_name(stored_id: &str) -> String {
    format!("{RUNS}/{stored_id}.json")
}

impl StoredReceipt {
    /// Returns the name that reports have for it, relative to the workspace.
    pub fn name(&self) -> String {
        receipt_name(&self.stored_id)
    }

    /// Sums up the run for lists.
    pub fn summary(&self, paths: &impl Paths) -> RunSummary {
        let mut receipt = self.receipt.clone();
        receipt.receipt_path = Some(self.name());
        RunSummary::of(receipt.shown(paths))
    }
}

impl StoredCheckpoint {
    /// Returns a checkpoint that is stored under its own id, as its call's record has it.
    pub(crate) fn recorded(checkpoint: Checkpoint) -> StoredCheckpoint {
        StoredCheckpoint { stored_id: checkpoint.id.to_string(), checkpoint, differs: Vec::new() }
    }

    /// Returns the checkpoint as reports show it.
    pub fn shown(&self, paths: &impl Paths) -> Checkpoint {
        let path = paths.absolute(&format!("{CHECKPOINTS}/{}.json", self.stored_id));
        let mut checkpoint = self.checkpoint.clone();
        checkpoint.checkpoint_path = Some(path);
        checkpoint
    }

    /// Appends a number to an id that is taken.
    pub fn numbered(wanted: &str, number: u64) -> CheckpointId {
        // A very long id is shortened to make room for the suffix.
        let suffix = format!("-{number}");
        let room = 200 - suffix.len();
        let stem = &wanted[..wanted.len().min(room)];
        format!("{stem}{suffix}").parse().expect("an id with a suffix is an id")
    }
}

/// A copy of a checkpoint that is not valid, or differs from the record of its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadCheckpoint {
    /// The place, as reports name it.
    pub place: String,
    /// The problem and its position, without quoting the content.
    pub problem: String,
    /// Whether the record of its call has the checkpoint, so that the copy can be rewritten.
    pub is_recorded: bool,
}

/// Checkpoints, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckpointList {
    /// The readable checkpoints.
    pub checkpoints: Vec<StoredCheckpoint>,
    /// The unreadable ones.
    pub errors: Vec<BadCheckpoint>,
}

/// A kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// Calls.
    Calls,
    /// Finished runs.
    Runs,
}

/// The order of a list of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In queue order.
    Queued,
    /// The latest queued first.
    Newest,
    /// By creation time, oldest first.
    Oldest,
}

/// Which calls to list, and in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallQuery {
    /// Only calls stored with this status.
    pub status: Option<CallStatus>,
    /// The order.
    pub order: Order,
}

/// Which checkpoints to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoints<'a> {
    /// Those that the records of their calls know.
    Known,
    /// Those that were added for this run, even if no record knows them yet.
    AddedFor(&'a str),
}

/// A call of a long list.
#[derive(Debug)]
pub enum ListedCall<'a> {
    /// A record that a report shows as it is stored.
    AsStored {
        /// One line with a JSON object.
        record: &'a [u8],
        /// The members that the store adds for itself.
        own: &'a [&'a str],
    },
    /// A call that is shown differently than stored: v0.30 wrote it, or it is running and its runner may be gone.
    Parsed(Box<StoredCall>),
}

/// Called with each call of a long list. Breaks to stop.
pub type FoundListed<'a> = dyn FnMut(ListedCall<'_>) -> ControlFlow<()> + 'a;

/// Called with each call. Breaks to stop.
pub type FoundCall<'a> = dyn FnMut(StoredCall) -> ControlFlow<()> + 'a;

/// Called with each examined receipt, or with an unreadable one.
pub type ExaminedRun<'a> = dyn Fn(Result<ExaminedReceipt, BadReceipt>) + Sync + 'a;

/// Whether the chain of receipts is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    /// Verify it from the start.
    Check,
    /// Do not verify it, and report no findings.
    Trust,
}

/// Stores calls, receipts and checkpoints.
pub trait Store: Send + Sync {
    /// Reads everything as it is now. Never waits for a writer and never writes.
    ///
    /// # Errors
    /// Fails if the store cannot be reached.
    fn read(&self) -> Result<Arc<dyn Snapshot>, QueueError>;

    /// Waits to become the only writer, until the result is dropped.
    ///
    /// # Errors
    /// Fails if another writer does not finish in time, or the store cannot be reached.
    fn begin(&self, now: Timestamp) -> Result<Box<dyn Transaction + '_>, QueueError>;

    /// Like [`Store::begin`], for records that a power loss may take within the next moment, but no killed process:
    /// they are written at once and may be synced a little later, in the order of their writing.
    ///
    /// # Errors
    /// Like [`Store::begin`].
    fn begin_late(&self, now: Timestamp) -> Result<Box<dyn Transaction + '_>, QueueError> {
        self.begin(now)
    }
}

/// The stored records at one moment. Methods fail if the store cannot be read.
#[expect(clippy::missing_errors_doc, reason = "all fail for the same reason")]
pub trait Snapshot: Send + Sync {
    /// Returns a call by its full id.
    fn call(&self, id: &CallId) -> Result<Option<StoredCall>, QueueError>;

    /// Calls `found` for one call after the other until it breaks, without holding many in memory.
    fn calls(&self, query: &CallQuery, found: &mut FoundCall<'_>) -> Result<(), QueueError>;

    /// Returns the pending, approved and rejected calls that may be equivalent to a new one, in queue order. The list
    /// may contain others.
    fn similar_calls(&self, call: &Call) -> Result<Vec<StoredCall>, QueueError>;

    /// Lists the calls of a tool that a person approved last, the last first, as far as the store remembers them at a
    /// cost that does not grow with the history. A call may be gone.
    fn last_approved(&self, tool_id: &str) -> Result<Vec<CallId>, QueueError>;

    /// Lists at most `limit` ids that start with a prefix, sorted.
    fn ids(&self, of: Records, prefix: &str, limit: usize) -> Result<Vec<String>, QueueError>;

    /// Counts records by stored status. Statuses without records are omitted.
    fn counts(&self, of: Records) -> Result<BTreeMap<String, u64>, QueueError>;

    /// Returns the receipt of a run by its full id, or what stands in its place.
    fn receipt(&self, run: &str) -> Result<Option<FoundReceipt>, QueueError>;

    /// Lists at most `limit` receipts, newest first; `usize::MAX` for all. Reads about as many as it returns.
    fn receipts(&self, limit: usize) -> Result<RunList, QueueError>;

    /// Calls `found` with some members of every receipt, on several threads and in any order, and optionally checks the
    /// chain.
    fn examine(
        &self,
        members: &[&str],
        chain: Chain,
        found: &ExaminedRun<'_>,
    ) -> Result<Verification, QueueError>;

    /// Verifies the chain of receipts from a ledger entry on (1 for all of it).
    fn verify(&self, from: u64) -> Result<Verification, QueueError>;

    /// Lists checkpoints, newest first.
    fn checkpoints(&self, which: Checkpoints<'_>) -> Result<CheckpointList, QueueError>;

    /// Lists what stands in the place of receipts and is not even a file. A store without such places has none.
    fn misplaced_receipts(&self) -> Result<Vec<BadReceipt>, QueueError> {
        Ok(Vec::new())
    }

    /// Calls `found` for all calls in queue order, as text where a report shows them as stored, for lists as long as
    /// the history. Returns `false` if the store has no such texts, so that [`calls`](Snapshot::calls) lists them.
    fn listed_calls(&self, found: &mut FoundListed<'_>) -> Result<bool, QueueError> {
        let _ = found;
        Ok(false)
    }
}

/// The store while one writer holds it. Everything that a method returns is durable, and each method takes effect
/// completely or not at all. Methods fail if the store cannot be written.
#[expect(clippy::missing_errors_doc, reason = "all fail for the same reason")]
pub trait Transaction {
    /// Returns the content as seen in this transaction.
    fn snapshot(&self) -> &dyn Snapshot;

    /// Prepares the store for writing. Called before reading anything that a change is based on.
    fn prepare(&mut self) -> Result<(), QueueError> {
        Ok(())
    }

    /// Writes calls, all or none. A call with sequence 0 is new and gets the next sequence.
    fn put(&mut self, calls: &mut [StoredCall]) -> Result<(), QueueError>;

    /// Stores new checkpoints. A checkpoint whose id is taken gets another one.
    fn add_checkpoints(&mut self, checkpoints: Vec<Checkpoint>) -> Result<Vec<StoredCheckpoint>, QueueError>;

    /// Stores the receipt of a run. Storing the same receipt again succeeds.
    fn add_receipt(
        &mut self,
        receipt: &Receipt,
        taken: Taken,
    ) -> Result<(StoredReceipt, InLedger), QueueError>;

    /// Adds a stored receipt to the ledger, unless it is already there.
    fn enter(
        &mut self,
        receipt: &StoredReceipt,
        known: InLedger,
    ) -> Result<(LedgerLink, ChainEnd), QueueError>;
}

/// What to do if the run already has another receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Return [`QueueError::RunTaken`].
    Refuse,
    /// Move the other receipt to a quarantine, because it is unusable.
    SetAside,
}

/// Whether the ledger may already contain a receipt. Searching for it may read the whole ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InLedger {
    /// No, the receipt was just stored.
    No,
    /// Perhaps, from an earlier attempt.
    Perhaps,
}

/// The end of the ledger before an entry was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainEnd {
    /// The expected entry.
    Whole,
    /// Something else, because the end or all of the ledger was lost. The gap stays visible.
    Lost,
}

words! {
    /// What happened to a receipt.
    Tampering {
        /// The file or its ledger entry was changed.
        Changed = "changed",
        /// The file or its ledger entry is missing.
        Removed = "removed",
        /// Its ledger entry is in another position.
        Reordered = "reordered",
        /// The file has no ledger entry.
        Added = "added",
        /// A call names it, but the ledger ends before its entry.
        CutOff = "cut-off",
        /// The ledger names it, but its call is missing or does not know the run, because the journal is older than the
        /// ledger.
        Forgotten = "forgotten",
    }
}

/// An inconsistency in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The ledger sequence, if there is one.
    pub sequence: Option<u64>,
    /// The line of the ledger, from 1, if the line is damaged.
    pub line: Option<u64>,
    /// The run, if it is known.
    pub run_id: String,
    /// What happened.
    pub tampering: Tampering,
    /// How it was detected.
    pub detail: &'static str,
}

/// The result of verifying the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// The number of ledger entries that were checked.
    pub checked: u64,
    /// The inconsistencies in chain order. Files without an entry come last.
    pub findings: Vec<Finding>,
    /// The sequence of the last entry, or 0 if there is none.
    pub last: u64,
    /// Whether there is no ledger yet, because nothing was written since v0.30.
    pub is_unadopted: bool,
}

impl Verification {
    /// Returns the finding for a run.
    pub fn of_run(&self, run_id: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.run_id == run_id)
    }

    /// Returns the first finding about a receipt.
    pub fn first(&self) -> Option<&Finding> {
        self.findings.first()
    }
}
