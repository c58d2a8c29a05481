//! The queue as the rest of Brigade sees it. The journal of this crate is one implementation; a store that a team shares
//! would be another.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use brigade_call::{Binding, Call, CallStatus, Checkpoint, Claim, Receipt, Replan};
use brigade_core::{CallId, CheckpointId, IdPrefix, RunId, Timestamp};

use crate::check::{Check, Compaction};
use crate::checkpoints::{CheckpointList, StoredCheckpoint};
use crate::error::QueueError;
use crate::record::{ListedCall, StoredCall};
use crate::runs::{BadReceipt, ExaminedReceipt, RunFolder, RunList, Runs, StoredReceipt};
use crate::state::Damage;
use crate::verify::Verification;

/// How many candidates an ambiguous prefix lists at most.
pub const CANDIDATES: usize = 20;

/// What a typed id stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Match<T> {
    /// Exactly this one.
    One(T),
    /// Nothing has an id that starts so.
    None,
    /// Several ids start so, and none equals it: the first [`CANDIDATES`] of them, sorted.
    Ambiguous(Vec<String>),
}

/// Which calls to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Calls {
    /// All, in the order of their creation.
    All,
    /// Those of one status, the oldest first.
    Of(CallStatus),
}

/// What is done with each receipt, or with a file that is none.
pub type FoundRun<'a> = dyn Fn(Result<StoredReceipt, BadReceipt>) + Sync + 'a;

/// What is done with each receipt that is examined, or with a file that is none; the folder tells which logs are there.
pub type ExaminedRun<'a> = dyn Fn(Result<ExaminedReceipt, BadReceipt>, &RunFolder) + Sync + 'a;

/// Whether the chain of receipts is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    /// It is, from its beginning.
    Check,
    /// It is not, and nothing is found.
    Trust,
}

/// Where calls, runs and checkpoints are kept.
pub trait Queue: Send + Sync {
    /// Looks at the queue as it is now. Never waits for anybody and never writes.
    ///
    /// # Errors
    /// When the disk fails.
    fn read(&self) -> Result<Box<dyn QueueView + '_>, QueueError>;

    /// Waits for the lock, and holds it until the result is dropped: for one read, check and write, never while a child
    /// process runs. Runs whose runner is gone are recorded as interrupted first.
    ///
    /// # Errors
    /// When somebody else holds the lock for too long, or the disk fails.
    fn lock(&self, now: Timestamp) -> Result<Box<dyn LockedQueue + '_>, QueueError>;
}

/// The queue at one moment. Everything is as it was when it was opened; calls whose runner is gone are shown as
/// interrupted.
pub trait QueueView: Sync {
    /// Fails when the calls cannot be read at all, for whoever would take that for an empty queue.
    ///
    /// # Errors
    /// [`QueueError::Blocked`].
    fn require_calls(&self) -> Result<(), QueueError>;

    /// Returns a call by its whole id.
    ///
    /// # Errors
    /// When the disk fails.
    fn call(&self, id: &CallId) -> Result<Option<StoredCall>, QueueError>;

    /// Finds the call that is meant.
    ///
    /// # Errors
    /// When the disk fails, or the journal is no file.
    fn find_call(&self, prefix: &IdPrefix) -> Result<Match<StoredCall>, QueueError>;

    /// Hands out calls one after the other, without holding more than one, until `found` breaks.
    ///
    /// # Errors
    /// When the disk fails.
    fn for_each_call(
        &self,
        which: &Calls,
        found: &mut dyn FnMut(StoredCall) -> ControlFlow<()>,
    ) -> Result<(), QueueError>;

    /// Hands out calls like [`QueueView::for_each_call`], but the newest first; reads only as many as it hands out, and those
    /// of other statuses that it passes over.
    ///
    /// # Errors
    /// When the disk fails, or the journal is no file.
    fn for_each_newest(
        &self,
        which: &Calls,
        found: &mut dyn FnMut(StoredCall) -> ControlFlow<()>,
    ) -> Result<(), QueueError>;

    /// Hands out all calls in the order of their creation, as text where that is how they stand: for lists that are as
    /// long as the history. See [`brigade_core::json::reprint`].
    ///
    /// # Errors
    /// When the disk fails, or the journal is no file.
    fn list_calls(&self, found: &mut dyn FnMut(ListedCall<'_>) -> ControlFlow<()>) -> Result<(), QueueError>;

    /// Counts the calls by status; statuses that no call has are left out.
    ///
    /// # Errors
    /// When the disk fails.
    fn call_counts(&self) -> Result<BTreeMap<String, u64>, QueueError>;

    /// Lists receipts, newest first. [`Runs::Newest`] reads only as many files as it returns.
    ///
    /// # Errors
    /// When the disk fails.
    fn runs(&self, which: Runs) -> Result<RunList, QueueError>;

    /// Hands out every receipt, and every file that is none, on several threads at once and in any order, without holding
    /// more than a few.
    ///
    /// # Errors
    /// When the disk fails.
    fn for_each_run(&self, found: &FoundRun<'_>) -> Result<(), QueueError>;

    /// Hands out every receipt like [`QueueView::for_each_run`], but of each only the members that are named, and checks the
    /// chain like [`QueueView::verify`]: every file is read once for both.
    ///
    /// # Errors
    /// When the disk fails; what does not fit together is in the result.
    fn examine_runs(
        &self,
        members: &[&str],
        chain: Chain,
        found: &ExaminedRun<'_>,
    ) -> Result<Verification, QueueError>;

    /// Reads the receipt in a file that was handed out.
    fn receipt_in(&self, path: &str) -> Result<StoredReceipt, BadReceipt>;

    /// Finds the receipt that is meant; its file may be unreadable.
    ///
    /// # Errors
    /// When the disk fails.
    fn find_run(&self, prefix: &IdPrefix) -> Result<Match<Result<StoredReceipt, BadReceipt>>, QueueError>;

    /// Counts the runs by how they ended, from the ledger alone where there is one.
    ///
    /// # Errors
    /// When the disk fails.
    fn run_counts(&self) -> Result<BTreeMap<String, u64>, QueueError>;

    /// Lists the checkpoints, newest first, and the files that are none.
    ///
    /// # Errors
    /// When the disk fails.
    fn checkpoints(&self) -> Result<CheckpointList, QueueError>;

    /// Finds the checkpoint that is meant.
    ///
    /// # Errors
    /// When the disk fails, or its file is damaged.
    fn find_checkpoint(&self, prefix: &IdPrefix) -> Result<Match<StoredCheckpoint>, QueueError>;

    /// Checks the chain of receipts from an entry of the ledger on (1 for all of it).
    ///
    /// # Errors
    /// When the disk fails; what does not fit together is in the result.
    fn verify(&self, from: u64) -> Result<Verification, QueueError>;

    /// Lists what cannot be read. The next write moves it to a quarantine file.
    ///
    /// # Errors
    /// When the disk fails.
    fn damage(&self) -> Result<Vec<Damage>, QueueError>;

    /// Looks over the whole state.
    ///
    /// # Errors
    /// When the disk fails.
    fn check(&self) -> Result<Check, QueueError>;
}

/// Whether a call is queued although another one asks for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDuplicate {
    /// No: one that waits for its decision or run, or was rejected, makes it superfluous.
    Skip,
    /// Yes, as for a replay.
    Queue,
}

/// What became of a call that was to be queued.
#[derive(Clone, Debug, PartialEq)]
pub enum Enqueued {
    /// It is queued, and durable.
    Queued(Box<StoredCall>),
    /// Nothing was stored: this one already waits for a decision or its run.
    Duplicate(Box<StoredCall>),
    /// Nothing was stored: this one asked for the same and was rejected.
    Rejected(Box<StoredCall>),
}

/// Makes the call number `n` of a batch, with an id that the given function does not call taken; usually
/// [`brigade_call::Plan::to_call`].
pub type MakeCall<'a> = dyn FnMut(usize, &dyn Fn(&CallId) -> bool) -> Call + 'a;

/// A person's decision about a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Review {
    /// Agrees to exactly what is bound.
    Approve(Box<Binding>),
    /// Decides nothing yet: takes what the call would be today, which a person was told, in the place of what was queued.
    Replan(Box<Replan>),
    /// Declines, and why.
    Reject(String),
    /// Puts it aside, and why.
    Hold(String),
}

/// A person's answer to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Go on, with this choice.
    Approve(String),
    /// Do not go on, and why.
    Reject(String),
}

/// The queue, while nobody else can change it. What a method returns is durable.
pub trait LockedQueue {
    /// Looks at the queue as it is under the lock.
    fn view(&self) -> &dyn QueueView;

    /// Queues `count` calls as one durable write; duplicates are found among them too.
    ///
    /// # Errors
    /// When an id is taken after all, or the disk fails; nothing of the batch is acknowledged then.
    fn enqueue_all(
        &mut self,
        count: usize,
        on_duplicate: OnDuplicate,
        make: &mut MakeCall<'_>,
        now: Timestamp,
    ) -> Result<Vec<Enqueued>, QueueError>;

    /// Records a decision about a call at the revision that the person saw.
    ///
    /// # Errors
    /// When it was changed meanwhile, the step does not follow, a newer version wrote it, or the disk fails.
    fn review(
        &mut self,
        id: &CallId,
        revision: u64,
        review: Review,
        now: Timestamp,
    ) -> Result<StoredCall, QueueError>;

    /// Makes an approved or resume-pending call `running`, in one durable write before anything is started.
    ///
    /// # Errors
    /// When it was changed meanwhile, is neither, or the run has a receipt already; or when the disk fails.
    fn claim(
        &mut self,
        id: &CallId,
        revision: u64,
        claim: Claim,
        now: Timestamp,
    ) -> Result<StoredCall, QueueError>;

    /// Records how a run ended: its checkpoints, its receipt, the ledger's entry and the call, in this order.
    ///
    /// The checkpoints may get other ids, because one that is taken is never overwritten; `receipt` makes the receipt of
    /// the checkpoints as they are stored. Its `status` decides how the call ends.
    ///
    /// # Errors
    /// When the call does not run as `run`, the receipt is not one of this run, or the disk fails.
    fn finish(
        &mut self,
        id: &CallId,
        run: &RunId,
        checkpoints: Vec<Checkpoint>,
        receipt: &mut dyn FnMut(&[Checkpoint]) -> Receipt,
        now: Timestamp,
    ) -> Result<Finished, QueueError>;

    /// Records an answer to a checkpoint. When all checkpoints that the call waits for are approved, it becomes
    /// resume-pending.
    ///
    /// # Errors
    /// When the checkpoint was answered, is void, or its call does not wait for it; or when the disk fails.
    fn answer(
        &mut self,
        id: &CheckpointId,
        answer: &Answer,
        now: Timestamp,
    ) -> Result<(StoredCheckpoint, StoredCall), QueueError>;

    /// Moves finished calls out of the journal, unreadable lines to a quarantine, and removes what is left over from
    /// crashes, whether or not it is due. Adopts the Python program's state first.
    ///
    /// # Errors
    /// When the disk fails; everything is as before then.
    fn compact(&mut self, now: Timestamp) -> Result<Compaction, QueueError>;
}

/// A run that is recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// The call as it is now.
    pub call: StoredCall,
    /// The receipt as it is stored.
    pub receipt: StoredReceipt,
    /// The checkpoints as they are stored.
    pub checkpoints: Vec<StoredCheckpoint>,
    /// What the receipt's entry was appended to.
    pub chain: ChainEnd,
}

/// How the chain of receipts ended before an entry was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainEnd {
    /// With the entry before.
    Whole,
    /// With something else: its end, or all of it, was lost. The gap stays to be seen.
    Lost,
}
