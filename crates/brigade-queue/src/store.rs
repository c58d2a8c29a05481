//! Where calls, receipts and checkpoints are kept: what a store must offer.
//!
//! A store keeps records and finds them. It takes no decisions: what becomes of a call, its duplicates and its
//! interrupted runs is decided once, by [`crate::Queue`]. Ten methods read and four write, each of which a table or two
//! in a database can answer. [`crate::JournalStore`] keeps them in files, [`crate::MemoryStore`] in memory.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use brigade_call::{Call, CallStatus, Checkpoint, LedgerLink, Receipt, RecordVersion};
use brigade_core::{CallId, CheckpointId, Fingerprint, Object, Timestamp};

use crate::error::QueueError;

/// A call as it is stored, with what the queue knows of it besides.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCall {
    /// The call.
    pub call: Call,
    /// Which program wrote it last. One of a newer version can be read and not changed.
    pub version: RecordVersion,
    /// Its place in the order in which calls were queued.
    pub sequence: u64,
    /// How often it was written; a change names the revision it is based on.
    pub revision: u64,
    /// The documents of the checkpoints of its runs, by id, as they stand. Where checkpoints are also kept apart, this
    /// is the truth.
    pub checkpoints: Object,
}

/// A receipt as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredReceipt {
    /// The receipt.
    pub receipt: Receipt,
    /// What reports show as its file, relative to the workspace.
    pub path: String,
    /// The sha256 of its bytes.
    pub sha256: Fingerprint,
}

/// Something in the place of a receipt that cannot be read as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadReceipt {
    /// What reports show as its file, relative to the workspace.
    pub path: String,
    /// What is wrong, with the place and without quoting.
    pub problem: String,
}

/// A receipt of which only some members were read.
#[derive(Clone, Debug, PartialEq)]
pub struct ExaminedReceipt {
    /// The receipt with the members that were asked for, besides those that make it one.
    pub receipt: Receipt,
    /// What reports show as its file, relative to the workspace.
    pub path: String,
}

/// Receipts, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunList {
    /// Those that can be read.
    pub receipts: Vec<StoredReceipt>,
    /// Those that cannot.
    pub errors: Vec<BadReceipt>,
}

/// A checkpoint as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCheckpoint {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// What reports show as its file, relative to the workspace.
    pub path: String,
    /// The members in which a copy of it differs from the record of its call. Nobody goes on behind such a checkpoint.
    /// Empty where there are no copies.
    pub differs: Vec<String>,
}

impl StoredCheckpoint {
    /// Returns an id like a taken one, with a number behind it.
    pub fn numbered(wanted: &str, number: u64) -> CheckpointId {
        // An id may be so long that a suffix does not fit; then its end makes room.
        let suffix = format!("-{number}");
        let room = 200 - suffix.len();
        let stem = &wanted[..wanted.len().min(room)];
        format!("{stem}{suffix}").parse().expect("an id with a suffix is an id")
    }
}

/// A copy of a checkpoint that cannot be read as one, or says something else than the record of its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadCheckpoint {
    /// The file, relative to the workspace.
    pub path: String,
    /// What is wrong, with the place and without quoting.
    pub problem: String,
    /// Whether the record of its call has the checkpoint, so that the copy can be written anew.
    pub is_recorded: bool,
}

/// Checkpoints, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckpointList {
    /// Those that can be read.
    pub checkpoints: Vec<StoredCheckpoint>,
    /// Those that cannot.
    pub errors: Vec<BadCheckpoint>,
}

/// Which records are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// Calls.
    Calls,
    /// Runs that are over.
    Runs,
}

/// In which order calls are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they were queued.
    Queued,
    /// The latest queued first.
    Newest,
    /// By the time at which they were created, the oldest first.
    Oldest,
}

/// Which calls are meant, and in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallQuery {
    /// Only those stored with this status.
    pub status: Option<CallStatus>,
    /// Their order.
    pub order: Order,
}

/// Which checkpoints are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoints<'a> {
    /// Those that the records of their calls know.
    Known,
    /// Those that were added for this run, whether or not a record knows them yet.
    AddedFor(&'a str),
}

/// What is done with each call. It breaks when it has seen enough.
pub type FoundCall<'a> = dyn FnMut(StoredCall) -> ControlFlow<()> + 'a;

/// What is done with each receipt that is examined, or with what cannot be read as one.
pub type ExaminedRun<'a> = dyn Fn(Result<ExaminedReceipt, BadReceipt>) + Sync + 'a;

/// Whether the chain of receipts is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    /// It is, from its beginning.
    Check,
    /// It is not, and nothing is found.
    Trust,
}

/// Keeps calls, receipts and checkpoints.
pub trait Store: Send + Sync {
    /// Looks at everything as it is now. Never waits for a writer and never writes.
    ///
    /// # Errors
    /// When the store cannot be reached.
    fn read(&self) -> Result<Box<dyn Snapshot>, QueueError>;

    /// Waits for the place of the one writer, and holds it until the result is dropped.
    ///
    /// # Errors
    /// When another writer holds it for too long, or the store cannot be reached.
    fn begin(&self, now: Timestamp) -> Result<Box<dyn Transaction + '_>, QueueError>;
}

/// Everything at one moment, as it is stored. Methods fail when the store cannot be read.
#[expect(clippy::missing_errors_doc, reason = "all fail for the same reason")]
pub trait Snapshot: Send + Sync {
    /// Returns a call by its whole id.
    fn call(&self, id: &CallId) -> Result<Option<StoredCall>, QueueError>;

    /// Hands out calls one after the other, without holding many, until `found` breaks.
    fn calls(&self, query: &CallQuery, found: &mut FoundCall<'_>) -> Result<(), QueueError>;

    /// Returns the pending, approved and rejected calls that may ask for the same as a new one, in the order in which
    /// they were queued. May return more.
    fn similar_calls(&self, call: &Call) -> Result<Vec<StoredCall>, QueueError>;

    /// Lists the ids that start with a prefix, at most `limit`, sorted.
    fn ids(&self, of: Records, prefix: &str, limit: usize) -> Result<Vec<String>, QueueError>;

    /// Counts by stored status; statuses that nothing has are left out.
    fn counts(&self, of: Records) -> Result<BTreeMap<String, u64>, QueueError>;

    /// Returns the receipt of a run, by its whole id.
    fn receipt(&self, run: &str) -> Result<Option<Result<StoredReceipt, BadReceipt>>, QueueError>;

    /// Lists receipts, newest first, at most `limit`; `usize::MAX` for all. Reads about as many as it returns.
    fn receipts(&self, limit: usize) -> Result<RunList, QueueError>;

    /// Hands out every receipt with some of its members, on several threads at once and in any order, and checks the
    /// chain on the way.
    fn examine(
        &self,
        members: &[&str],
        chain: Chain,
        found: &ExaminedRun<'_>,
    ) -> Result<Verification, QueueError>;

    /// Checks the chain of receipts from an entry of the ledger on (1 for all of it).
    fn verify(&self, from: u64) -> Result<Verification, QueueError>;

    /// Lists checkpoints, newest first.
    fn checkpoints(&self, which: Checkpoints<'_>) -> Result<CheckpointList, QueueError>;
}

/// The store, while nobody else can change it. What a method returns is durable, and each method takes effect as a
/// whole or not at all. Methods fail when the store cannot be written.
#[expect(clippy::missing_errors_doc, reason = "all fail for the same reason")]
pub trait Transaction {
    /// Looks at everything as it is in this transaction.
    fn snapshot(&self) -> &dyn Snapshot;

    /// Gets ready to be written. Called before anything is read that a change is based on.
    fn prepare(&mut self) -> Result<(), QueueError> {
        Ok(())
    }

    /// Writes calls, all of them or none. Those whose sequence is 0 are new and get the next ones.
    fn put(&mut self, calls: &mut [StoredCall]) -> Result<(), QueueError>;

    /// Stores new checkpoints, under other ids where theirs are taken.
    fn add_checkpoints(&mut self, checkpoints: Vec<Checkpoint>) -> Result<Vec<StoredCheckpoint>, QueueError>;

    /// Stores the receipt of a run. The same receipt may be stored again.
    fn add_receipt(
        &mut self,
        receipt: &Receipt,
        taken: Taken,
    ) -> Result<(StoredReceipt, InLedger), QueueError>;

    /// Enters a stored receipt into the ledger, unless it is there.
    fn enter(
        &mut self,
        receipt: &StoredReceipt,
        known: InLedger,
    ) -> Result<(LedgerLink, ChainEnd), QueueError>;
}

/// What is done when there is another receipt of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// [`QueueError::RunTaken`].
    Refuse,
    /// The other one cannot be used; it is set aside.
    SetAside,
}

/// Whether a receipt can be in the ledger before its call says so. Looking for it may read the whole ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InLedger {
    /// It was stored just now.
    No,
    /// An earlier try may have come as far as that.
    Perhaps,
}

/// How the chain of receipts ended before an entry was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainEnd {
    /// With the entry before.
    Whole,
    /// With something else: its end, or all of it, was lost. The gap stays to be seen.
    Lost,
}

/// What happened to a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tampering {
    /// The file, or its entry in the ledger, is not what was written.
    Changed,
    /// The file or the entry is gone.
    Removed,
    /// Its entry stands at another place.
    Reordered,
    /// The file is there and no entry names it.
    Added,
    /// A call names it, and the ledger ends before it.
    CutOff,
    /// The ledger names it, and its call does not know of the run, or is gone: the journal is older than the ledger.
    Forgotten,
}

impl Tampering {
    /// Returns the word that reports use.
    pub fn as_str(self) -> &'static str {
        match self {
            Tampering::Changed => "changed",
            Tampering::Removed => "removed",
            Tampering::Reordered => "reordered",
            Tampering::Added => "added",
            Tampering::CutOff => "cut-off",
            Tampering::Forgotten => "forgotten",
        }
    }
}

/// One thing that does not fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its place in the ledger, where it has one.
    pub sequence: Option<u64>,
    /// The line of the ledger, from 1, where that is what is damaged.
    pub line: Option<u64>,
    /// The run, where it is known.
    pub run_id: String,
    /// What happened.
    pub tampering: Tampering,
    /// How that was seen.
    pub detail: &'static str,
}

/// The result of checking the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// How many entries of the ledger were checked.
    pub checked: u64,
    /// What does not fit together, the first of the chain first; files that no entry names come last.
    pub findings: Vec<Finding>,
    /// The sequence of the last entry; 0 without one.
    pub last: u64,
    /// Whether there is no ledger yet because nothing was written since the Python program.
    pub is_unadopted: bool,
}

impl Verification {
    /// Returns what was found of a run.
    pub fn of_run(&self, run_id: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.run_id == run_id)
    }

    /// Returns the first receipt that is not as it was.
    pub fn first(&self) -> Option<&Finding> {
        self.findings.first()
    }
}
