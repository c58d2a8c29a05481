//! The rules of the queue, independent of the store: how decisions, runs and answers change a call, and how runs end
//! whose runner is gone.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use brigade_call::{
    ApprovedBy, Binding, Call, CallStatus, Checkpoint, CheckpointStatus, Claim, HostOffer, Receipt, Replan,
    WrongStep,
};
use brigade_core::{CallId, CheckpointId, Fingerprint, IdPrefix, Json, RunId, Timestamp};

use crate::error::QueueError;
use crate::finish::{self, current_state, is_abandoned};
use crate::host::Host;
use crate::outcome::Outcome;
use crate::report::Answer;
use crate::store::{
    CallQuery, Chain, ChainEnd, CheckpointList, Checkpoints, Detail, Durability, ExaminedRun, FoundCall,
    FoundReceipt, NewReceipt, OnRunTaken, Order, ReceiptQuery, Records, RunList, Snapshot, Store, StoredCall,
    StoredCheckpoint, StoredReceipt, Transaction, Verification,
};

/// The maximum number of candidates listed for an ambiguous prefix.
pub const CANDIDATES: usize = 20;

/// The result of looking up a typed id.
#[derive(Clone, Debug, PartialEq)]
pub enum Match<T> {
    /// Exactly one match.
    One(T),
    /// No id starts with the prefix.
    None,
    /// Several ids start with the prefix, and none equals it: the first [`CANDIDATES`], sorted.
    Ambiguous(Vec<String>),
}

/// The calls to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Calls {
    /// All calls.
    All,
    /// Calls with one status.
    Of(CallStatus),
}

/// A user's decision about a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Review {
    /// Approves exactly what is bound, and says who or what approved. Also covers what these other hosts of a team
    /// would run, by its [fingerprint](Binding::host_part).
    Approve(Box<Binding>, ApprovedBy, Vec<Fingerprint>),
    /// Withdraws the call, because its caller no longer wants it.
    Withdraw(String),
    /// Not a decision: replaces the queued plan with the current one, which the user was shown.
    Replan(Box<Replan>),
    /// Rejects the call, with a reason.
    Reject(String),
    /// Holds the call, with a reason.
    Hold(String),
    /// Withdraws an approval, with a reason, so that the call needs a new decision.
    Reopen(String),
}

impl Review {
    /// Returns its name for the log.
    fn word(&self) -> &'static str {
        match self {
            Review::Approve(..) => "approve",
            Review::Withdraw(_) => "withdraw",
            Review::Replan(_) => "replan",
            Review::Reject(_) => "reject",
            Review::Hold(_) => "hold",
            Review::Reopen(_) => "reopen",
        }
    }
}

/// A recorded run.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedRun {
    /// The call after the run.
    pub call: StoredCall,
    /// The stored receipt.
    pub receipt: StoredReceipt,
    /// The stored checkpoints.
    pub checkpoints: Vec<StoredCheckpoint>,
    /// Whether the ledger was complete before the receipt's entry was appended.
    pub chain: ChainEnd,
}

/// The queue of a workspace, on any store.
#[derive(Clone)]
pub struct Queue {
    store: Arc<dyn Store>,
    host: Arc<dyn Host>,
}

impl Queue {
    /// Creates the queue of a store without accessing it.
    pub fn new(store: Arc<dyn Store>, host: Arc<dyn Host>) -> Queue {
        Queue { store, host }
    }

    /// Reads the queue as it is now. Never waits and never writes.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn read(&self) -> Result<View<'static>, QueueError> {
        Ok(View { snapshot: SnapshotRef::Own(self.store.read()?), host: self.host.clone() })
    }

    /// Waits to become the only writer, until the result is dropped. Hold it for one read, check and write, never while
    /// a child process runs. Runs whose runner is gone are first recorded as interrupted. In a shared store, others may
    /// change other calls before [`LockedQueue::lock_all`].
    ///
    /// # Errors
    /// Fails if another writer does not finish in time, or the store cannot be written.
    pub fn lock(&self, now: Timestamp) -> Result<LockedQueue<'_>, QueueError> {
        self.locked(now, Durability::AtOnce)
    }

    /// Like [`Queue::lock`], for records that [may be synced a little later](Durability::Soon).
    ///
    /// # Errors
    /// Like [`Queue::lock`].
    pub fn lock_late(&self, now: Timestamp) -> Result<LockedQueue<'_>, QueueError> {
        self.locked(now, Durability::Soon)
    }

    /// Lists the ends of runs of this host that a shared store does not know yet. The next writer reports them.
    pub fn unreported(&self) -> Vec<Outcome> {
        self.host.unreported()
    }

    /// Like [`Queue::lock`], for the claim and the end of a run. Leaves the expired claims in a shared store to those
    /// who queue and decide.
    ///
    /// # Errors
    /// Like [`Queue::lock`].
    pub fn lock_for_run(
        &self,
        now: Timestamp,
        durability: Durability,
    ) -> Result<LockedQueue<'_>, QueueError> {
        match self.store.shared_name() {
            Some(_) => self.begin(now, durability),
            None => self.locked(now, durability),
        }
    }

    fn begin(&self, now: Timestamp, durability: Durability) -> Result<LockedQueue<'_>, QueueError> {
        let _span = tracing::debug_span!("begin", ?durability).entered();
        let mut transaction = self.store.begin(now, durability)?;
        finish::report_kept(&mut *transaction, &*self.host, now)?;
        Ok(LockedQueue { transaction, host: self.host.clone() })
    }

    fn locked(&self, now: Timestamp, durability: Durability) -> Result<LockedQueue<'_>, QueueError> {
        let mut locked = self.begin(now, durability)?;
        finish::record_abandoned(&mut *locked.transaction, &*self.host, now)?;
        Ok(locked)
    }
}

enum SnapshotRef<'a> {
    Own(Arc<dyn Snapshot>),
    Lent(&'a dyn Snapshot),
}

/// The queue at one moment. Calls whose runner is gone are shown as interrupted, or with the outcome in their receipt.
pub struct View<'a> {
    snapshot: SnapshotRef<'a>,
    host: Arc<dyn Host>,
}

#[expect(clippy::missing_errors_doc, reason = "all fail when the store cannot be read")]
impl View<'_> {
    pub(crate) fn snapshot(&self) -> &dyn Snapshot {
        match &self.snapshot {
            SnapshotRef::Own(snapshot) => &**snapshot,
            SnapshotRef::Lent(snapshot) => *snapshot,
        }
    }

    /// Returns the current view of a stored call. If its runner is gone, its receipt decides, or it is interrupted.
    pub fn current_state(&self, stored: StoredCall) -> Result<StoredCall, QueueError> {
        current_state(self.snapshot(), &*self.host, stored)
    }

    /// Lists the calls whose runner is gone or could not record the end, in their current view.
    pub(crate) fn abandoned(&self) -> Result<Vec<StoredCall>, QueueError> {
        let found = finish::abandoned(self.snapshot(), &*self.host)?;
        found.into_iter().map(|stored| self.current_state(stored)).collect()
    }

    /// Returns a call by its full id.
    pub fn call(&self, id: &CallId) -> Result<Option<StoredCall>, QueueError> {
        self.snapshot().call(id)?.map(|stored| self.current_state(stored)).transpose()
    }

    pub(crate) fn candidates(
        &self,
        of: Records,
        prefix: &IdPrefix,
        limit: usize,
    ) -> Result<Vec<String>, QueueError> {
        match prefix.as_str() {
            "" => Ok(Vec::new()),
            text => self.snapshot().ids(of, text, limit),
        }
    }

    /// Calls `found` for each call until it breaks, without holding many in memory. All calls come in queue order,
    /// calls with one status oldest first.
    pub fn for_each_call(&self, which: &Calls, found: &mut FoundCall<'_>) -> Result<(), QueueError> {
        let order = if *which == Calls::All { Order::Queued } else { Order::Oldest };
        self.hand_out(which, order, None, found)
    }

    /// Like [`View::for_each_call`], but the latest queued first.
    pub fn for_each_newest(&self, which: &Calls, found: &mut FoundCall<'_>) -> Result<(), QueueError> {
        self.hand_out(which, Order::Newest, None, found)
    }

    /// Like [`View::for_each_newest`], but only calls that were queued before the one with this sequence.
    pub fn for_each_before(
        &self,
        which: &Calls,
        sequence: u64,
        found: &mut FoundCall<'_>,
    ) -> Result<(), QueueError> {
        self.hand_out(which, Order::Newest, Some(sequence), &mut |stored| {
            if stored.sequence < sequence { found(stored) } else { ControlFlow::Continue(()) }
        })
    }

    /// Calls `found` with the current view of each call of a query until it breaks.
    pub(crate) fn each_current(
        &self,
        query: &CallQuery<'_>,
        found: &mut FoundCall<'_>,
    ) -> Result<(), QueueError> {
        let mut trouble = None;
        self.snapshot().each_call(query, &mut |stored| match self.current_state(stored) {
            Ok(stored) => found(stored),
            Err(error) => {
                trouble = Some(error);
                ControlFlow::Break(())
            }
        })?;
        trouble.map_or(Ok(()), Err)
    }

    fn hand_out(
        &self,
        which: &Calls,
        order: Order,
        before: Option<u64>,
        found: &mut FoundCall<'_>,
    ) -> Result<(), QueueError> {
        let snapshot = self.snapshot();
        let Calls::Of(status) = which else {
            return self.each_current(&CallQuery::List { status: None, order, before }, found);
        };
        let key = |stored: &StoredCall| match order {
            Order::Queued => (0, stored.sequence),
            Order::Newest => (0, u64::MAX - stored.sequence),
            Order::Oldest => {
                (stored.call.created_at.map_or(i64::MAX, Timestamp::unix_micros), stored.sequence)
            }
        };
        // Calls whose runner is gone are stored as running, so their position in the list differs.
        let mut moved = self.abandoned()?;
        moved.retain(|stored| stored.call.status == *status);
        moved.sort_by_key(key);
        let mut moved = moved.into_iter().peekable();
        let mut is_over = false;
        snapshot.each_call(&CallQuery::List { status: Some(status), order, before }, &mut |stored| {
            if is_abandoned(&stored, &*self.host) {
                return ControlFlow::Continue(());
            }
            while let Some(before) = moved.next_if(|before| key(before) < key(&stored)) {
                if found(before).is_break() {
                    is_over = true;
                    return ControlFlow::Break(());
                }
            }
            is_over = found(stored).is_break();
            if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        for stored in moved {
            if is_over || found(stored).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Lists what the hosts of a team would run for a call, by host. Empty for a store of one host.
    pub fn offers(&self, id: &CallId) -> Result<Vec<HostOffer>, QueueError> {
        self.snapshot().offers(id)
    }

    /// Returns the host of a team that made a run, if it is another one.
    pub fn other_host(&self, run: &str) -> Result<Option<String>, QueueError> {
        self.snapshot().other_host(run)
    }

    /// Lists the hosts of a team that have a runner now, sorted.
    pub fn runner_hosts(&self) -> Result<Vec<String>, QueueError> {
        self.snapshot().runner_hosts()
    }

    /// Counts calls by status. Statuses without calls are omitted.
    pub fn call_counts(&self) -> Result<BTreeMap<String, u64>, QueueError> {
        let mut counts = self.snapshot().counts(Records::Calls)?;
        for stored in self.abandoned()? {
            if let Some(running) = counts.get_mut(CallStatus::Running.as_str()) {
                *running = running.saturating_sub(1);
            }
            *counts.entry(stored.call.status.as_str().to_owned()).or_default() += 1;
        }
        counts.retain(|_, count| 0 < *count);
        Ok(counts)
    }

    /// Lists at most `limit` receipts, newest first; `usize::MAX` for all. Reads about as many as it returns.
    pub fn receipts(&self, limit: usize) -> Result<RunList, QueueError> {
        self.snapshot().receipts(&ReceiptQuery::Newest(limit))
    }

    /// Lists at most `limit` receipts after the `skip` newest ones, newest first, for a history that is read in parts.
    pub fn receipts_after(&self, skip: usize, limit: usize) -> Result<RunList, QueueError> {
        self.snapshot().receipts(&ReceiptQuery::Part { skip, limit })
    }

    /// Lists the unanswered checkpoints that calls wait on, as the records of these calls have them. Reads no others.
    pub fn open_checkpoints(&self) -> Result<Vec<Checkpoint>, QueueError> {
        let mut open = Vec::new();
        self.for_each_call(&Calls::Of(CallStatus::Waiting), &mut |stored| {
            let ids = stored.call.checkpoint_ids.iter();
            let found = ids.filter_map(|id| stored.checkpoints.get(id.as_str()).and_then(checkpoint_of));
            open.extend(found.filter(|checkpoint| checkpoint.status == CheckpointStatus::Pending));
            ControlFlow::Continue(())
        })?;
        Ok(open)
    }

    /// Calls `found` with every receipt in this detail, on several threads and in any order, and optionally verifies
    /// the chain.
    pub fn examine_runs(
        &self,
        detail: Detail,
        chain: Chain,
        found: &ExaminedRun<'_>,
    ) -> Result<Verification, QueueError> {
        self.snapshot().examine(chain, Some((detail, found)))
    }

    /// Returns the receipt of a run by its full id. It may be unreadable.
    pub fn receipt(&self, run: &str) -> Result<Option<FoundReceipt>, QueueError> {
        self.snapshot().receipt(run)
    }

    /// Finds the receipt of the run with a prefix. An exact id takes precedence over longer ones. The receipt may be
    /// unreadable.
    pub fn find_run(&self, prefix: &IdPrefix) -> Result<Match<FoundReceipt>, QueueError> {
        if prefix.as_str().parse::<RunId>().is_ok()
            && let Some(exact) = self.receipt(prefix.as_str())?
        {
            return Ok(Match::One(exact));
        }
        let ids = self.candidates(Records::Runs, prefix, CANDIDATES)?;
        Ok(match ids.as_slice() {
            [] => Match::None,
            [one] => self.receipt(one)?.map_or(Match::None, Match::One),
            _ => Match::Ambiguous(ids),
        })
    }

    /// Counts runs by status.
    pub fn run_counts(&self) -> Result<BTreeMap<String, u64>, QueueError> {
        self.snapshot().counts(Records::Runs)
    }

    /// Lists the checkpoints, newest first, and unreadable ones.
    pub fn checkpoints(&self) -> Result<CheckpointList, QueueError> {
        let mut list = self.snapshot().checkpoints(Checkpoints::Known)?;
        for stored in self.abandoned()? {
            for found in &mut list.checkpoints {
                let document = stored.checkpoints.get(found.checkpoint.id.as_str());
                if found.checkpoint.call_id == stored.call.id
                    && let Some(checkpoint) = document.and_then(checkpoint_of)
                {
                    found.checkpoint = checkpoint;
                }
            }
        }
        Ok(list)
    }

    /// Finds the checkpoint with a prefix.
    pub fn find_checkpoint(&self, prefix: &IdPrefix) -> Result<Match<StoredCheckpoint>, QueueError> {
        let text = prefix.as_str();
        if text.is_empty() {
            return Ok(Match::None);
        }
        let mut found = self.checkpoints()?.checkpoints;
        found.retain(|stored| stored.checkpoint.id.as_str().starts_with(text));
        if let Some(exact) = found.iter().find(|stored| stored.checkpoint.id.as_str() == text) {
            return Ok(Match::One(exact.clone()));
        }
        found.sort_by(|left, right| left.checkpoint.id.cmp(&right.checkpoint.id));
        Ok(match found.as_slice() {
            [] => Match::None,
            [one] => Match::One(one.clone()),
            many => {
                let ids = many.iter().take(CANDIDATES).map(|stored| stored.checkpoint.id.to_string());
                Match::Ambiguous(ids.collect())
            }
        })
    }

    /// Checks that the call could be resumed after an answer. Used before the queue is locked; writes nothing.
    ///
    /// # Errors
    /// Returns [`QueueError::NothingBound`] if the call was approved by v0.30. Also fails if the store cannot be read.
    pub fn check_answer(&self, checkpoint: &Checkpoint, answer: &Answer) -> Result<(), QueueError> {
        let call = &checkpoint.call_id;
        let cannot_go_on = matches!(answer, Answer::Approve(_))
            && self.call(call)?.is_some_and(|stored| {
                stored.call.status == CallStatus::Waiting && stored.call.approval.is_none()
            });
        match cannot_go_on {
            true => Err(QueueError::NothingBound { id: checkpoint.id.clone(), call: call.clone() }),
            false => Ok(()),
        }
    }

    /// Verifies the chain of receipts from a ledger entry on (1 for all of it).
    pub fn verify(&self, from: u64) -> Result<Verification, QueueError> {
        self.snapshot().examine(Chain::From(from), None)
    }
}

/// Reads a checkpoint from the record of its call.
pub(crate) fn checkpoint_of(document: &Json) -> Option<Checkpoint> {
    Checkpoint::from_document(document.clone()).ok()
}

/// The queue while it is locked. Everything that a method returns is durable, or [soon is](Durability::Soon).
pub struct LockedQueue<'a> {
    pub(crate) transaction: Box<dyn Transaction + 'a>,
    host: Arc<dyn Host>,
}

impl LockedQueue<'_> {
    /// Makes sure that no other writer changes any call, also in a shared store. Call it before a decision that depends
    /// on other calls than the changed one.
    ///
    /// # Errors
    /// Fails if another writer does not finish in time, or the store cannot be reached.
    pub fn lock_all(&mut self) -> Result<(), QueueError> {
        self.transaction.lock_queue()
    }

    /// Reads the queue under the lock.
    pub fn view(&self) -> View<'_> {
        View { snapshot: SnapshotRef::Lent(self.transaction.snapshot()), host: self.host.clone() }
    }

    /// Records a decision about the revision of a call that the user saw.
    ///
    /// # Errors
    /// Fails if the call was changed in the meantime, the step is not allowed, a newer version wrote it, or the store
    /// fails.
    pub fn review(
        &mut self,
        id: &CallId,
        revision: u64,
        review: Review,
        now: Timestamp,
    ) -> Result<StoredCall, QueueError> {
        let _span = tracing::debug_span!("review", call = %id, decision = review.word()).entered();
        let mut stored = self.at_revision(id, revision)?;
        if let Review::Reject(reason) | Review::Withdraw(reason) = &review {
            self.void_checkpoints(&mut stored, reason, now);
        }
        let step = |call: Call| match review {
            Review::Approve(binding, by, hosts) => {
                call.approve(*binding, by, now).map(|call| call.covering(hosts))
            }
            Review::Withdraw(reason) => call.withdraw(&reason, now),
            Review::Replan(replan) => call.replan(*replan),
            Review::Reject(reason) => call.reject(&reason, now),
            Review::Hold(reason) => call.hold(&reason, now),
            Review::Reopen(reason) => call.reopen(&reason, now),
        };
        self.step(stored, step)
    }

    /// Sets an approved or resume-pending call to `running`, in one durable write before anything is started.
    ///
    /// # Errors
    /// Fails if the call was changed in the meantime or has another status, the run already has a receipt, or the store
    /// fails.
    pub fn claim(
        &mut self,
        id: &CallId,
        revision: u64,
        claim: Claim,
        now: Timestamp,
    ) -> Result<StoredCall, QueueError> {
        let _span = tracing::debug_span!("claim", call = %id, run = %claim.run_id).entered();
        let stored = match self.at_revision(id, revision) {
            Err(changed @ QueueError::Changed { .. }) => {
                let call = self.changeable(id)?.call;
                return Err(call.claim.filter(|_| !may_run(&call.status)).map_or(changed, |claim| {
                    QueueError::HasRun { id: id.clone(), run: claim.run_id, status: call.status }
                }));
            }
            stored => stored?,
        };
        let run = claim.run_id.clone();
        if let Some(receipt) = self.transaction.snapshot().receipt(run.as_str())? {
            // The store lost the run, but has revisions from before and after it.
            let receipt = receipt.good();
            let Some(stored) = finish::from_receipt(&mut *self.transaction, stored, &run, receipt, now)?
            else {
                return Err(QueueError::RunTaken(run));
            };
            return Err(QueueError::HasRun { id: id.clone(), run, status: stored.call.status });
        }
        let step = |call: Call| match call.status {
            CallStatus::ResumePending => call.claim_resume(claim, now),
            _ => call.claim(claim, now),
        };
        let stored = self.step(stored, step)?;
        tracing::debug!(revision = stored.revision, "the call was claimed");
        Ok(stored)
    }

    /// Records the end of a run: its checkpoints, its receipt, the ledger entry and the call, in this order.
    ///
    /// A checkpoint whose id is taken gets another one, because nothing is overwritten. `receipt` builds the receipt
    /// from the stored checkpoints. Its `status` decides how the call ends.
    ///
    /// # Errors
    /// Fails if the call is not running as `run`, the receipt belongs to another run, or the store fails.
    pub fn finish(
        &mut self,
        id: &CallId,
        run: &RunId,
        checkpoints: Vec<Checkpoint>,
        receipt: &mut dyn FnMut(&[Checkpoint]) -> Receipt,
        now: Timestamp,
    ) -> Result<FinishedRun, QueueError> {
        let _span = tracing::debug_span!("finish", call = %id, run = %run).entered();
        let stored = self.changeable(id)?;
        finish::finish(&mut *self.transaction, stored, run, checkpoints, receipt, now)
    }

    /// Stores the receipt of a worker's attempt, and adds it to the ledger. Changes no call.
    ///
    /// # Errors
    /// Fails if the run has another receipt, or the store fails.
    pub fn record_attempt(&mut self, receipt: &Receipt) -> Result<StoredReceipt, QueueError> {
        Ok(self.transaction.record(NewReceipt::Unstored(receipt, OnRunTaken::Refuse))?.receipt)
    }

    /// Records an answer to a checkpoint. Once all checkpoints of a call are approved, the call becomes resume-pending.
    ///
    /// # Errors
    /// Fails if the checkpoint was answered or is void, its call is not waiting for it or cannot be resumed, or the
    /// store fails.
    pub fn answer(
        &mut self,
        id: &CheckpointId,
        answer: &Answer,
        now: Timestamp,
    ) -> Result<(StoredCheckpoint, StoredCall), QueueError> {
        let _span = tracing::debug_span!("answer", checkpoint = %id).entered();
        let found = self.known_checkpoint(id)?;
        let call_id = found.checkpoint.call_id.clone();
        let not_waiting = || QueueError::NotWaiting { id: id.clone(), call: call_id.clone() };
        self.view().check_answer(&found.checkpoint, answer)?;
        self.transaction.prepare()?;
        let found = self.known_checkpoint(id)?;
        let mut stored = match self.changeable(&call_id) {
            Err(QueueError::NoSuchCall(_)) => return Err(not_waiting()),
            result => result?,
        };
        if matches!(answer, Answer::Approve(_)) && !found.differs.is_empty() {
            return Err(QueueError::CheckpointChanged { id: id.clone(), differs: found.differs.join(", ") });
        }
        let refused = |reason| QueueError::Checkpoint { id: id.clone(), reason };
        let answered = match answer {
            Answer::Approve(choice) => found.checkpoint.clone().approve(choice, now),
            Answer::Reject(reason) => found.checkpoint.clone().reject(reason, now),
        }
        .map_err(refused)?;
        if stored.call.status != CallStatus::Waiting || !stored.call.checkpoint_ids.contains(id) {
            return Err(not_waiting());
        }
        stored.checkpoints.insert(id.as_str().to_owned(), Json::Object(answered.to_document()));
        let all_approved = finish::are_approved(&stored);
        let step = |call: Call| if all_approved { call.ready_to_resume(now) } else { Ok(call) };
        let stored = self.step(stored, step)?;
        tracing::debug!(call = %call_id, all_approved, "a checkpoint was answered");
        Ok((StoredCheckpoint { checkpoint: answered, differs: Vec::new(), ..found }, stored))
    }

    fn known_checkpoint(&self, id: &CheckpointId) -> Result<StoredCheckpoint, QueueError> {
        match self.view().find_checkpoint(&IdPrefix::new(id.as_str()))? {
            Match::One(found) if found.checkpoint.id == *id => Ok(found),
            _ => Err(QueueError::NoSuchCheckpoint(id.clone())),
        }
    }

    /// Returns a call that this version may change.
    fn changeable(&mut self, id: &CallId) -> Result<StoredCall, QueueError> {
        finish::changeable(&mut *self.transaction, id)
    }

    fn at_revision(&mut self, id: &CallId, revision: u64) -> Result<StoredCall, QueueError> {
        let stored = self.changeable(id)?;
        if stored.revision == revision { Ok(stored) } else { Err(QueueError::Changed { id: id.clone() }) }
    }

    fn step(
        &mut self,
        stored: StoredCall,
        step: impl FnOnce(Call) -> Result<Call, WrongStep>,
    ) -> Result<StoredCall, QueueError> {
        finish::step(&mut *self.transaction, stored, step)
    }

    /// Marks the checkpoints of a rejected call as rejected. Unreadable ones are skipped.
    fn void_checkpoints(&self, stored: &mut StoredCall, reason: &str, now: Timestamp) {
        for id in stored.call.checkpoint_ids.clone() {
            let known = stored.checkpoints.get(id.as_str()).and_then(checkpoint_of);
            let known = known.or_else(|| self.known_checkpoint(&id).ok().map(|found| found.checkpoint));
            if let Some(checkpoint) = known {
                let document = Json::Object(checkpoint.void(reason, now).to_document());
                stored.checkpoints.insert(id.as_str().to_owned(), document);
            }
        }
    }
}

/// Returns whether a runner may claim calls with this status.
fn may_run(status: &CallStatus) -> bool {
    matches!(status, CallStatus::Approved | CallStatus::ResumePending)
}
