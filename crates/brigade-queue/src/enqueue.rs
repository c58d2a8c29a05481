//! Queues calls: alone, in batches, or with their claim. Finds the stored call of which a new one is a duplicate.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;

use brigade_call::{Call, CallStatus, Claim, Duplicate, RecordVersion, find_duplicate};
use brigade_core::{CallId, Object, Timestamp};

use crate::error::QueueError;
use crate::queue::LockedQueue;
use crate::store::{CallQuery, Snapshot, StoredCall};

/// Whether a call is queued if it is a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDuplicate {
    /// Do not queue it if an equivalent call is waiting for its decision or run, or was rejected.
    Skip,
    /// Queue it anyway, as for a replay.
    Queue,
}

/// The result of queueing a call.
#[derive(Clone, Debug, PartialEq)]
pub enum EnqueueOutcome {
    /// The call is queued and durable.
    Queued(Box<StoredCall>),
    /// Nothing was stored, because this equivalent call is waiting for its decision or run.
    Duplicate(Box<StoredCall>),
    /// Nothing was stored, because this equivalent call was rejected.
    Rejected(Box<StoredCall>),
}

impl EnqueueOutcome {
    /// Returns the call, and why nothing was stored, if nothing was.
    pub fn into_call(self) -> (StoredCall, Option<String>) {
        match self {
            EnqueueOutcome::Queued(call) => (*call, None),
            EnqueueOutcome::Duplicate(call) => {
                let reason = format!("an equivalent call is {}", call.call.status);
                (*call, Some(reason))
            }
            EnqueueOutcome::Rejected(call) => {
                let reason = "the same call was rejected; change its arguments or the tool's contract";
                (*call, Some(reason.to_owned()))
            }
        }
    }
}

/// Builds call number `n` of a batch. The given function returns whether an id is taken. Usually
/// [`brigade_call::Plan::to_call`].
pub type MakeCall<'a> = dyn FnMut(usize, &dyn Fn(&CallId) -> bool) -> Call + 'a;

impl LockedQueue<'_> {
    /// Queues `count` calls in one durable write. Duplicates within the batch are found too.
    ///
    /// # Errors
    /// Fails if an id is taken, or the store fails. No call of the batch is then acknowledged.
    pub fn enqueue_all(
        &mut self,
        count: usize,
        on_duplicate: OnDuplicate,
        make: &mut MakeCall<'_>,
    ) -> Result<Vec<EnqueueOutcome>, QueueError> {
        let _span = tracing::debug_span!("enqueue", calls = count).entered();
        self.transaction.lock_queue()?;
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
        tracing::debug!(queued = calls.len(), asked = count, "calls were queued");
        let enqueued = |outcome| match outcome {
            Outcome::Stored(enqueued) => enqueued,
            Outcome::SameAs(place) => duplicate(calls[place].clone()),
            Outcome::New(place) => EnqueueOutcome::Queued(Box::new(calls[place].clone())),
        };
        Ok(outcomes.into_iter().map(enqueued).collect())
    }

    /// Queues an approved call that is set to `running` at once, in one durable write before anything is started.
    ///
    /// # Errors
    /// Fails if its id or its run is taken, the call has another status, or the store fails.
    pub fn enqueue_claimed(
        &mut self,
        call: Call,
        claim: Claim,
        now: Timestamp,
    ) -> Result<StoredCall, QueueError> {
        let _span = tracing::debug_span!("claim", call = %call.id, run = %claim.run_id).entered();
        self.transaction.lock_queue()?;
        let snapshot = self.transaction.snapshot();
        if snapshot.call(&call.id)?.is_some() {
            return Err(QueueError::IdTaken(call.id));
        }
        if snapshot.receipt(claim.run_id.as_str())?.is_some() {
            return Err(QueueError::RunTaken(claim.run_id));
        }
        let id = call.id.clone();
        let call = call.claim(claim, now).map_err(|reason| QueueError::WrongStep { id, reason })?;
        let (version, checkpoints) = (RecordVersion::Current, Object::new());
        let mut calls = [StoredCall { call, version, sequence: 0, revision: 1, checkpoints }];
        self.transaction.put(&mut calls)?;
        let [stored] = calls;
        tracing::debug!("the call was queued and claimed");
        Ok(stored)
    }
}

/// Finds a stored call that is equivalent to a new one.
pub(crate) fn duplicate_of(
    snapshot: &dyn Snapshot,
    new: &Call,
) -> Result<Option<EnqueueOutcome>, QueueError> {
    let mut candidates = Vec::new();
    snapshot.each_call(&CallQuery::Similar(new), &mut |stored| {
        candidates.push(stored);
        ControlFlow::Continue(())
    })?;
    let found = match find_duplicate(candidates.iter().map(|stored| &stored.call), new) {
        Duplicate::No => return Ok(None),
        Duplicate::Queued(id) | Duplicate::Rejected(id) => id,
    };
    let stored = candidates.into_iter().find(|stored| stored.call.id == found);
    Ok(stored.map(duplicate))
}

fn duplicate(stored: StoredCall) -> EnqueueOutcome {
    if stored.call.status == CallStatus::Rejected {
        EnqueueOutcome::Rejected(Box::new(stored))
    } else {
        EnqueueOutcome::Duplicate(Box::new(stored))
    }
}

/// The outcome for one call of a batch.
enum Outcome {
    /// An equivalent call is stored already.
    Stored(EnqueueOutcome),
    /// It is equivalent to the call at this index of the batch.
    SameAs(usize),
    /// It is the call at this index of the batch.
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
