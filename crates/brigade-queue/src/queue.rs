//! The rules of the queue, above any store: which calls make a new one superfluous, what a decision, a run and an
//! answer change, and what becomes of runs whose runner is gone.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use brigade_call::{
    Binding, Call, CallStatus, Checkpoint, Claim, Duplicate, Receipt, RecordVersion, Replan, WrongStep,
    find_duplicate,
};
use brigade_core::{CallId, CheckpointId, IdPrefix, Json, Object, RunId, Timestamp};

use crate::error::QueueError;
use crate::finish::{self, as_it_stands, is_abandoned};
use crate::host::Host;
use crate::store::{
    BadReceipt, CallQuery, Chain, ChainEnd, CheckpointList, Checkpoints, ExaminedRun, FoundCall, Order,
    Records, RunList, Snapshot, Store, StoredCall, StoredCheckpoint, StoredReceipt, Transaction,
    Verification,
};

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
    /// All.
    All,
    /// Those of one status.
    Of(CallStatus),
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
    /// Decides nothing yet: takes what the call would be today, which a person was told, in the place of what was
    /// queued.
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

/// The queue of a workspace, over any store.
#[derive(Clone)]
pub struct Queue {
    store: Arc<dyn Store>,
    host: Arc<dyn Host>,
}

impl Queue {
    /// Makes the queue over a store; touches nothing.
    pub fn new(store: Arc<dyn Store>, host: Arc<dyn Host>) -> Queue {
        Queue { store, host }
    }

    /// Looks at the queue as it is now. Never waits and never writes.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn read(&self) -> Result<View<'static>, QueueError> {
        Ok(View { snapshot: Held::Own(self.store.read()?), host: self.host.clone() })
    }

    /// Waits for the place of the one writer, and holds it until the result is dropped: for one read, check and write,
    /// never while a child process runs. Runs whose runner is gone are recorded as interrupted first.
    ///
    /// # Errors
    /// When another writer holds it for too long, or the store cannot be written.
    pub fn lock(&self, now: Timestamp) -> Result<LockedQueue<'_>, QueueError> {
        let mut transaction = self.store.begin(now)?;
        finish::record_abandoned(&mut *transaction, &*self.host, now)?;
        Ok(LockedQueue { transaction, host: self.host.clone() })
    }
}

enum Held<'a> {
    Own(Box<dyn Snapshot>),
    Lent(&'a dyn Snapshot),
}

/// The queue at one moment. Calls whose runner is gone are shown as interrupted, or as their receipt says.
pub struct View<'a> {
    snapshot: Held<'a>,
    host: Arc<dyn Host>,
}

#[expect(clippy::missing_errors_doc, reason = "all fail when the store cannot be read")]
impl View<'_> {
    fn snapshot(&self) -> &dyn Snapshot {
        match &self.snapshot {
            Held::Own(snapshot) => &**snapshot,
            Held::Lent(snapshot) => *snapshot,
        }
    }

    /// Shows a stored call as it stands: one whose runner is gone as its receipt says, or interrupted.
    pub fn as_it_stands(&self, stored: StoredCall) -> Result<StoredCall, QueueError> {
        as_it_stands(self.snapshot(), &*self.host, stored)
    }

    /// Lists the calls whose runner is gone, as they stand.
    fn abandoned(&self) -> Result<Vec<StoredCall>, QueueError> {
        let found = finish::abandoned(self.snapshot(), &*self.host)?;
        found.into_iter().map(|stored| self.as_it_stands(stored)).collect()
    }

    /// Returns a call by its whole id.
    pub fn call(&self, id: &CallId) -> Result<Option<StoredCall>, QueueError> {
        self.snapshot().call(id)?.map(|stored| self.as_it_stands(stored)).transpose()
    }

    /// Finds the call that is meant.
    pub fn find_call(&self, prefix: &IdPrefix) -> Result<Match<StoredCall>, QueueError> {
        if let Ok(id) = prefix.as_str().parse::<CallId>()
            && let Some(exact) = self.call(&id)?
        {
            return Ok(Match::One(exact));
        }
        let ids = self.candidates(Records::Calls, prefix)?;
        Ok(match ids.as_slice() {
            [] => Match::None,
            [one] => match one.parse::<CallId>() {
                Ok(id) => self.call(&id)?.map_or(Match::None, Match::One),
                Err(_) => Match::None,
            },
            _ => Match::Ambiguous(ids),
        })
    }

    fn candidates(&self, of: Records, prefix: &IdPrefix) -> Result<Vec<String>, QueueError> {
        match prefix.as_str() {
            "" => Ok(Vec::new()),
            text => self.snapshot().ids(of, text, CANDIDATES),
        }
    }

    /// Hands out calls one after the other, without holding many, until `found` breaks: all in the order in which they
    /// were queued, or those of one status, the oldest first.
    pub fn for_each_call(&self, which: &Calls, found: &mut FoundCall<'_>) -> Result<(), QueueError> {
        let order = if *which == Calls::All { Order::Queued } else { Order::Oldest };
        self.hand_out(which, order, found)
    }

    /// Hands out calls like [`View::for_each_call`], but the latest queued first.
    pub fn for_each_newest(&self, which: &Calls, found: &mut FoundCall<'_>) -> Result<(), QueueError> {
        self.hand_out(which, Order::Newest, found)
    }

    fn hand_out(&self, which: &Calls, order: Order, found: &mut FoundCall<'_>) -> Result<(), QueueError> {
        let snapshot = self.snapshot();
        let Calls::Of(status) = which else {
            let mut trouble = None;
            snapshot.calls(
                &CallQuery { status: None, order },
                &mut |stored| match self.as_it_stands(stored) {
                    Ok(stored) => found(stored),
                    Err(error) => {
                        trouble = Some(error);
                        ControlFlow::Break(())
                    }
                },
            )?;
            return trouble.map_or(Ok(()), Err);
        };
        let key = |stored: &StoredCall| match order {
            Order::Queued => (0, stored.sequence),
            Order::Newest => (0, u64::MAX - stored.sequence),
            Order::Oldest => {
                (stored.call.created_at.map_or(i64::MAX, Timestamp::unix_micros), stored.sequence)
            }
        };
        // Calls whose runner is gone are stored as running, and are elsewhere in the list.
        let mut moved = self.abandoned()?;
        moved.retain(|stored| stored.call.status == *status);
        moved.sort_by_key(key);
        let mut moved = moved.into_iter().peekable();
        let mut is_over = false;
        snapshot.calls(&CallQuery { status: Some(status.clone()), order }, &mut |stored| {
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

    /// Counts the calls by status; statuses that no call has are left out.
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

    /// Lists receipts, newest first, at most `limit`; `usize::MAX` for all. Reads about as many as it returns.
    pub fn receipts(&self, limit: usize) -> Result<RunList, QueueError> {
        self.snapshot().receipts(limit)
    }

    /// Hands out every receipt with some of its members, on several threads at once and in any order, and checks the
    /// chain on the way.
    pub fn examine_runs(
        &self,
        members: &[&str],
        chain: Chain,
        found: &ExaminedRun<'_>,
    ) -> Result<Verification, QueueError> {
        self.snapshot().examine(members, chain, found)
    }

    /// Returns the receipt of a run, by its whole id. It may be unreadable.
    pub fn receipt(&self, run: &str) -> Result<Option<Result<StoredReceipt, BadReceipt>>, QueueError> {
        self.snapshot().receipt(run)
    }

    /// Finds the receipt that is meant: an equal id wins over those that only start with the prefix. It may be
    /// unreadable.
    pub fn find_run(
        &self,
        prefix: &IdPrefix,
    ) -> Result<Match<Result<StoredReceipt, BadReceipt>>, QueueError> {
        if prefix.as_str().parse::<RunId>().is_ok()
            && let Some(exact) = self.receipt(prefix.as_str())?
        {
            return Ok(Match::One(exact));
        }
        let ids = self.candidates(Records::Runs, prefix)?;
        Ok(match ids.as_slice() {
            [] => Match::None,
            [one] => self.receipt(one)?.map_or(Match::None, Match::One),
            _ => Match::Ambiguous(ids),
        })
    }

    /// Counts the runs by how they ended.
    pub fn run_counts(&self) -> Result<BTreeMap<String, u64>, QueueError> {
        self.snapshot().counts(Records::Runs)
    }

    /// Lists the checkpoints, newest first, and what cannot be read as one.
    pub fn checkpoints(&self) -> Result<CheckpointList, QueueError> {
        let mut list = self.snapshot().checkpoints(Checkpoints::Known)?;
        for stored in self.abandoned()? {
            for found in &mut list.checkpoints {
                let document = stored.checkpoints.get(found.checkpoint.id.as_str());
                if found.checkpoint.call_id == stored.call.id.as_str()
                    && let Some(checkpoint) = document.and_then(checkpoint_of)
                {
                    found.checkpoint = checkpoint;
                }
            }
        }
        Ok(list)
    }

    /// Finds the checkpoint that is meant.
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

    /// Refuses an answer behind which the call could not go on. Asked before the queue is locked, it writes nothing.
    ///
    /// # Errors
    /// [`QueueError::NothingBound`] when the call was approved by v0.30; or when the store cannot be read.
    pub fn check_answer(&self, checkpoint: &Checkpoint, answer: &Answer) -> Result<(), QueueError> {
        let Ok(call) = checkpoint.call_id.parse::<CallId>() else { return Ok(()) };
        let cannot_go_on = matches!(answer, Answer::Approve(_))
            && self.call(&call)?.is_some_and(|stored| {
                stored.call.status == CallStatus::Waiting && stored.call.approval.is_none()
            });
        if cannot_go_on { Err(QueueError::NothingBound { id: checkpoint.id.clone(), call }) } else { Ok(()) }
    }

    /// Checks the chain of receipts from an entry of the ledger on (1 for all of it).
    pub fn verify(&self, from: u64) -> Result<Verification, QueueError> {
        self.snapshot().verify(from)
    }
}

/// Reads a checkpoint out of the record of its call.
pub(crate) fn checkpoint_of(document: &Json) -> Option<Checkpoint> {
    Checkpoint::from_document(document.clone()).ok()
}

/// The queue, while nobody else can change it. What a method returns is durable.
pub struct LockedQueue<'a> {
    transaction: Box<dyn Transaction + 'a>,
    host: Arc<dyn Host>,
}

impl LockedQueue<'_> {
    /// Looks at the queue as it is under the lock.
    pub fn view(&self) -> View<'_> {
        View { snapshot: Held::Lent(self.transaction.snapshot()), host: self.host.clone() }
    }

    /// Queues `count` calls as one durable write; duplicates are found among them too.
    ///
    /// # Errors
    /// When an id is taken after all, or the store fails; nothing of the batch is acknowledged then.
    pub fn enqueue_all(
        &mut self,
        count: usize,
        on_duplicate: OnDuplicate,
        make: &mut MakeCall<'_>,
    ) -> Result<Vec<Enqueued>, QueueError> {
        self.transaction.prepare()?;
        let snapshot = self.transaction.snapshot();
        let mut batch = Batch::default();
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(count);
        for number in 0..count {
            let failed: RefCell<Option<QueueError>> = RefCell::new(None);
            let is_taken = |id: &CallId| match snapshot.call(id) {
                Ok(found) => found.is_some() || batch.by_id.contains_key(id),
                Err(error) => {
                    failed.replace(Some(error));
                    false
                }
            };
            let call = make(number, &is_taken);
            let is_id_taken = is_taken(&call.id);
            if let Some(error) = failed.into_inner() {
                return Err(error);
            }
            if on_duplicate == OnDuplicate::Skip {
                let existing = match batch.same_as(&call) {
                    Some(place) => Some(Outcome::SameAs(place)),
                    None => duplicate_of(snapshot, &call)?.map(Outcome::Stored),
                };
                if let Some(existing) = existing {
                    outcomes.push(existing);
                    continue;
                }
            }
            if is_id_taken {
                return Err(QueueError::IdTaken(call.id));
            }
            outcomes.push(Outcome::New(batch.calls.len()));
            let (version, checkpoints) = (RecordVersion::Current, Object::new());
            batch.push(StoredCall { call, version, sequence: 0, revision: 1, checkpoints });
        }
        let mut calls = batch.calls;
        self.transaction.put(&mut calls)?;
        tracing::debug!(queued = calls.len(), asked = count, "calls are queued");
        let enqueued = |outcome| match outcome {
            Outcome::Stored(enqueued) => enqueued,
            Outcome::SameAs(place) => duplicate(calls[place].clone()),
            Outcome::New(place) => Enqueued::Queued(Box::new(calls[place].clone())),
        };
        Ok(outcomes.into_iter().map(enqueued).collect())
    }

    /// Records a decision about a call at the revision that the person saw.
    ///
    /// # Errors
    /// When it was changed meanwhile, the step does not follow, a newer version wrote it, or the store fails.
    pub fn review(
        &mut self,
        id: &CallId,
        revision: u64,
        review: Review,
        now: Timestamp,
    ) -> Result<StoredCall, QueueError> {
        let mut stored = self.at_revision(id, revision)?;
        if let Review::Reject(reason) = &review {
            self.void_checkpoints(&mut stored, reason, now);
        }
        let step = |call: Call| match review {
            Review::Approve(binding) => call.approve(*binding, now),
            Review::Replan(replan) => call.replan(*replan),
            Review::Reject(reason) => call.reject(&reason, now),
            Review::Hold(reason) => call.hold(&reason, now),
        };
        self.step(stored, step)
    }

    /// Makes an approved or resume-pending call `running`, in one durable write before anything is started.
    ///
    /// # Errors
    /// When it was changed meanwhile, is neither, or the run has a receipt already; or when the store fails.
    pub fn claim(
        &mut self,
        id: &CallId,
        revision: u64,
        claim: Claim,
        now: Timestamp,
    ) -> Result<StoredCall, QueueError> {
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
            // The store lost the run between two revisions that it still has.
            let receipt = receipt.ok();
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
        tracing::debug!(call = %id, run = %run, revision = stored.revision, "the call is claimed");
        Ok(stored)
    }

    /// Records how a run ended: its checkpoints, its receipt, the ledger's entry and the call, in this order.
    ///
    /// The checkpoints may get other ids, because one that is taken is never overwritten; `receipt` makes the receipt
    /// of the checkpoints as they are stored. Its `status` decides how the call ends.
    ///
    /// # Errors
    /// When the call does not run as `run`, the receipt is not one of this run, or the store fails.
    pub fn finish(
        &mut self,
        id: &CallId,
        run: &RunId,
        checkpoints: Vec<Checkpoint>,
        receipt: &mut dyn FnMut(&[Checkpoint]) -> Receipt,
        now: Timestamp,
    ) -> Result<Finished, QueueError> {
        let stored = self.changeable(id)?;
        finish::finish(&mut *self.transaction, stored, run, checkpoints, receipt, now)
    }

    /// Records an answer to a checkpoint. When all checkpoints that the call waits for are approved, it becomes
    /// resume-pending.
    ///
    /// # Errors
    /// When the checkpoint was answered, is void, or its call does not wait for it or could not go on behind it; or
    /// when the store fails.
    pub fn answer(
        &mut self,
        id: &CheckpointId,
        answer: &Answer,
        now: Timestamp,
    ) -> Result<(StoredCheckpoint, StoredCall), QueueError> {
        let found = self.known_checkpoint(id)?;
        let not_waiting =
            || QueueError::NotWaiting { id: id.clone(), call: found.checkpoint.call_id.clone() };
        let call_id: CallId = found.checkpoint.call_id.parse().map_err(|_| not_waiting())?;
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
        tracing::debug!(checkpoint = %id, call = %call_id, all_approved, "a checkpoint is answered");
        Ok((StoredCheckpoint { checkpoint: answered, path: found.path, differs: Vec::new() }, stored))
    }

    fn known_checkpoint(&self, id: &CheckpointId) -> Result<StoredCheckpoint, QueueError> {
        match self.view().find_checkpoint(&IdPrefix::new(id.as_str()))? {
            Match::One(found) if found.checkpoint.id == *id => Ok(found),
            _ => Err(QueueError::NoSuchCheckpoint(id.clone())),
        }
    }

    /// Returns a call that may be changed.
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

    /// Marks the checkpoints that a call waits for as rejected with it. One that cannot be read keeps nobody from that.
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

/// Finds the call that makes a new one superfluous among those that are stored.
fn duplicate_of(snapshot: &dyn Snapshot, new: &Call) -> Result<Option<Enqueued>, QueueError> {
    let candidates = snapshot.similar_calls(new)?;
    let found = match find_duplicate(candidates.iter().map(|stored| &stored.call), new) {
        Duplicate::No => return Ok(None),
        Duplicate::Queued(id) | Duplicate::Rejected(id) => id,
    };
    let stored = candidates.into_iter().find(|stored| stored.call.id == found);
    Ok(stored.map(duplicate))
}

/// Tells whether a call of a status is one that a runner may claim.
fn may_run(status: &CallStatus) -> bool {
    matches!(status, CallStatus::Approved | CallStatus::ResumePending)
}

fn duplicate(stored: StoredCall) -> Enqueued {
    if stored.call.status == CallStatus::Rejected {
        Enqueued::Rejected(Box::new(stored))
    } else {
        Enqueued::Duplicate(Box::new(stored))
    }
}

/// What becomes of a call of a batch.
enum Outcome {
    /// A stored one makes it superfluous.
    Stored(Enqueued),
    /// The one at this place of the batch makes it superfluous.
    SameAs(usize),
    /// It is at this place of the batch.
    New(usize),
}

/// The calls of a batch that are not written yet.
#[derive(Default)]
struct Batch {
    calls: Vec<StoredCall>,
    by_id: HashMap<CallId, usize>,
    by_fingerprint: HashMap<String, usize>,
}

impl Batch {
    fn same_as(&self, new: &Call) -> Option<usize> {
        self.by_fingerprint.get(new.call_fingerprint.as_ref()?).copied()
    }

    fn push(&mut self, stored: StoredCall) {
        self.by_id.insert(stored.call.id.clone(), self.calls.len());
        if let Some(fingerprint) = &stored.call.call_fingerprint {
            self.by_fingerprint.entry(fingerprint.clone()).or_insert(self.calls.len());
        }
        self.calls.push(stored);
    }
}
