//! Changing the queue under its lock: one read, check and durable write after the other.

use std::cell::RefCell;
use std::collections::HashMap;

use brigade_call::{
    Call, CallStatus, Checkpoint, CheckpointStatus, Claim, Duplicate, Receipt, RecordVersion, find_duplicate,
};
use brigade_core::{CallId, CheckpointId, IdPrefix, Json, RunId, Timestamp};
use brigade_fs::Lock;

use crate::aside;
use crate::catch_up;
use crate::check::Compaction;
use crate::checkpoints::{self, StoredCheckpoint};
use crate::compact;
use crate::entry::{BatchMark, content_key, duplicate_key};
use crate::error::QueueError;
use crate::finish;
use crate::layout;
use crate::queue::{
    Answer, Enqueued, Finished, LockedQueue, MakeCall, Match, OnDuplicate, QueueView, Review,
};
use crate::record::StoredCall;
use crate::rescue;
use crate::state::State;
use crate::view::View;

/// The journal while its lock is held.
pub(crate) struct LockedJournal {
    pub(crate) view: View,
    _lock: Lock,
    /// Whether a write failed, so that what is in memory may not be what is on the disk.
    is_stale: bool,
}

impl LockedJournal {
    pub(crate) fn new(view: View, lock: Lock, now: Timestamp) -> Result<LockedJournal, QueueError> {
        let mut journal = LockedJournal { view, _lock: lock, is_stale: false };
        if journal.view.state.is_blocked {
            // Only a compaction does anything here.
            return Ok(journal);
        }
        rescue::rescue(&mut journal, now)?;
        finish::record_abandoned(&mut journal, now)?;
        catch_up::catch_up(&mut journal, now)?;
        Ok(journal)
    }

    /// Makes the journal one that can be appended to: ours, and without unreadable lines.
    pub(crate) fn prepare(&mut self, now: Timestamp) -> Result<(), QueueError> {
        if self.is_stale {
            self.view.state = State::load(&self.view.fs)?;
            self.is_stale = false;
        }
        compact::require_our_version(&self.view.state)?;
        self.view.require_journal()?;
        if compact::is_needed(&self.view.state)? {
            compact::rewrite(&mut self.view, 0, now)?;
        }
        Ok(())
    }

    /// Appends revisions of calls as one durable write.
    pub(crate) fn append(&mut self, calls: &[&StoredCall], now: Timestamp) -> Result<(), QueueError> {
        if calls.is_empty() {
            return Ok(());
        }
        self.prepare(now)?;
        let mut bytes = String::new();
        let generation = self.view.state.header.as_ref().map_or(0, |header| header.generation);
        for (rest, call) in (0..calls.len() as u64).rev().zip(calls) {
            // Without a mark, a crash in the middle of the write would leave a part of what belongs together.
            let batch = (1 < calls.len()).then_some(BatchMark { generation, rest });
            bytes.push_str(&call.to_marked_line(batch));
        }
        self.append_lines(bytes.as_bytes(), now)
    }

    /// Appends whole lines as one durable write.
    pub(crate) fn append_lines(&mut self, lines: &[u8], now: Timestamp) -> Result<(), QueueError> {
        self.prepare(now)?;
        let mut bytes = lines;
        let with_feed;
        if let Some(journal) = &self.view.state.journal
            && journal.scanned()?.is_unterminated
        {
            with_feed = [b"\n", lines].concat();
            bytes = &with_feed;
        }
        self.is_stale = true;
        self.view.fs.append_durable(&layout::calls(), bytes)?;
        // From here on it is durable: what fails now makes the next writer do more, and nobody lose anything.
        self.is_stale = self.after_append(now).is_err();
        Ok(())
    }

    fn after_append(&mut self, now: Timestamp) -> Result<(), QueueError> {
        if let Some(journal) = &mut self.view.state.journal {
            journal.extend()?;
            journal.refresh_index()?;
        }
        // An index that was deleted, or is an earlier version's, is made again by whoever had to do without.
        for segment in self.view.state.segments.iter_mut().filter(|segment| segment.is_open()) {
            segment.refresh_index()?;
        }
        if compact::is_due(&self.view.state)? {
            compact::rewrite(&mut self.view, 0, now)?;
        }
        Ok(())
    }

    /// Returns a call that may be changed.
    pub(crate) fn changeable(&mut self, id: &CallId, now: Timestamp) -> Result<StoredCall, QueueError> {
        self.prepare(now)?;
        let stored = self.view.stored(id)?.ok_or_else(|| QueueError::NoSuchCall(id.clone()))?;
        match stored.version {
            RecordVersion::Newer => Err(QueueError::Newer(format!("{}: {id}", layout::calls()))),
            RecordVersion::Adopted | RecordVersion::Current => Ok(stored),
        }
    }

    fn at_revision(&mut self, id: &CallId, revision: u64, now: Timestamp) -> Result<StoredCall, QueueError> {
        let stored = self.changeable(id, now)?;
        if stored.revision == revision { Ok(stored) } else { Err(QueueError::Changed { id: id.clone() }) }
    }

    /// Marks the checkpoints that a call waits for as rejected with it. One that cannot be read keeps nobody from that.
    fn void_checkpoints(&self, stored: &mut StoredCall, reason: &str, now: Timestamp) {
        for id in stored.call.checkpoint_ids.clone() {
            let known = stored.checkpoints.get(id.as_str()).cloned();
            let known = known.and_then(|document| Checkpoint::from_document(document).ok());
            let checkpoint = known.or_else(|| match self.view.find_checkpoint(&IdPrefix::new(id.as_str())) {
                Ok(Match::One(found)) if found.checkpoint.id == id => Some(found.checkpoint),
                Ok(_) | Err(_) => None,
            });
            if let Some(checkpoint) = checkpoint {
                let document = Json::Object(checkpoint.void(reason, now).to_document());
                stored.checkpoints.insert(id.as_str().to_owned(), document);
            }
        }
    }

    /// Takes the next step of a call and writes it.
    pub(crate) fn step(
        &mut self,
        mut stored: StoredCall,
        step: impl FnOnce(Call) -> Result<Call, brigade_call::WrongStep>,
        now: Timestamp,
    ) -> Result<StoredCall, QueueError> {
        let id = stored.call.id.clone();
        stored.call = step(stored.call).map_err(|reason| QueueError::WrongStep { id, reason })?;
        stored.revision += 1;
        self.append(&[&stored], now)?;
        Ok(stored)
    }

    /// Finds the call that makes a new one superfluous among those that are stored.
    fn duplicate_of(&self, new: &Call) -> Result<Option<Enqueued>, QueueError> {
        let args = new.args.to_compact();
        let arguments: Json = Json::object(
            new.arguments.iter().map(|(name, value)| (name.clone(), Json::from(value.as_str()))),
        );
        let arguments = arguments.to_compact();
        let own = duplicate_key(
            new.call_fingerprint.as_deref(),
            &new.tool_id,
            args.as_bytes(),
            arguments.as_bytes(),
        );
        // Calls of the Python program are known by their content, because their fingerprints are others.
        let by_content = content_key(&new.tool_id, args.as_bytes(), arguments.as_bytes());
        let mut candidates: Vec<StoredCall> = Vec::new();
        for log in self.view.state.logs() {
            for key in [own, by_content] {
                for found in log.find_duplicates(key)? {
                    candidates.push(self.view.parse(&found, log)?);
                }
            }
        }
        candidates.sort_by_key(|stored| stored.sequence);
        let found = match find_duplicate(candidates.iter().map(|stored| &stored.call), new) {
            Duplicate::No => return Ok(None),
            Duplicate::Queued(id) | Duplicate::Rejected(id) => id,
        };
        let stored = candidates.into_iter().find(|stored| stored.call.id == found);
        Ok(stored.map(duplicate))
    }
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

/// The calls of a batch that are not written yet.
#[derive(Default)]
struct Batch {
    calls: Vec<StoredCall>,
    by_id: HashMap<CallId, usize>,
    by_fingerprint: HashMap<String, usize>,
}

impl Batch {
    fn same_as(&self, new: &Call) -> Option<&StoredCall> {
        let place = self.by_fingerprint.get(new.call_fingerprint.as_ref()?)?;
        Some(&self.calls[*place])
    }

    fn push(&mut self, stored: StoredCall) {
        self.by_id.insert(stored.call.id.clone(), self.calls.len());
        if let Some(fingerprint) = &stored.call.call_fingerprint {
            self.by_fingerprint.entry(fingerprint.clone()).or_insert(self.calls.len());
        }
        self.calls.push(stored);
    }
}

impl LockedQueue for LockedJournal {
    fn view(&self) -> &dyn QueueView {
        &self.view
    }

    fn enqueue_all(
        &mut self,
        count: usize,
        on_duplicate: OnDuplicate,
        make: &mut MakeCall<'_>,
        now: Timestamp,
    ) -> Result<Vec<Enqueued>, QueueError> {
        self.prepare(now)?;
        let mut sequence = self.view.state.max_sequence()?;
        let mut batch = Batch::default();
        let mut outcomes = Vec::with_capacity(count);
        for number in 0..count {
            let failed: RefCell<Option<QueueError>> = RefCell::new(None);
            let is_taken = |id: &CallId| match self.view.state.find(id.as_str()) {
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
                    Some(same) => Some(duplicate(same.clone())),
                    None => self.duplicate_of(&call)?,
                };
                if let Some(existing) = existing {
                    outcomes.push(existing);
                    continue;
                }
            }
            if is_id_taken {
                return Err(QueueError::IdTaken(call.id));
            }
            sequence += 1;
            let checkpoints = brigade_core::Object::new();
            let stored =
                StoredCall { call, version: RecordVersion::Current, sequence, revision: 1, checkpoints };
            outcomes.push(Enqueued::Queued(Box::new(stored.clone())));
            batch.push(stored);
        }
        self.append(&batch.calls.iter().collect::<Vec<_>>(), now)?;
        Ok(outcomes)
    }

    fn review(
        &mut self,
        id: &CallId,
        revision: u64,
        review: Review,
        now: Timestamp,
    ) -> Result<StoredCall, QueueError> {
        let mut stored = self.at_revision(id, revision, now)?;
        let had_run = stored.call.claim.is_some() || !stored.call.checkpoint_ids.is_empty();
        if let Review::Reject(reason) = &review {
            self.void_checkpoints(&mut stored, reason, now);
        }
        let step = |call: Call| match review {
            Review::Approve(binding) => call.approve(*binding, now),
            Review::Replan(replan) => call.replan(*replan),
            Review::Reject(reason) => call.reject(&reason, now),
            Review::Hold(reason) => call.hold(&reason, now),
        };
        let stored = self.step(stored, step, now)?;
        if had_run {
            // The record is the truth; a file that cannot be written is written with the next change of the call.
            let _ = checkpoints::copy_out(&*self.view.fs, &stored);
        }
        Ok(stored)
    }

    fn claim(
        &mut self,
        id: &CallId,
        revision: u64,
        claim: Claim,
        now: Timestamp,
    ) -> Result<StoredCall, QueueError> {
        let stored = match self.at_revision(id, revision, now) {
            Err(changed @ QueueError::Changed { .. }) => {
                let call = self.changeable(id, now)?.call;
                return Err(call.claim.filter(|_| !may_run(&call.status)).map_or(changed, |claim| {
                    QueueError::HasRun { id: id.clone(), run: claim.run_id, status: call.status }
                }));
            }
            stored => stored?,
        };
        if self.view.fs.exists(&layout::receipt(&claim.run_id))? {
            // The journal lost the run between two lines that it still has.
            let Some(stored) = catch_up::from_receipt(self, stored, &claim.run_id, now)? else {
                return Err(QueueError::RunTaken(claim.run_id));
            };
            let status = stored.call.status;
            return Err(QueueError::HasRun { id: id.clone(), run: claim.run_id, status });
        }
        let step = |call: Call| match call.status {
            CallStatus::ResumePending => call.claim_resume(claim, now),
            _ => call.claim(claim, now),
        };
        self.step(stored, step, now)
    }

    fn finish(
        &mut self,
        id: &CallId,
        run: &RunId,
        checkpoints: Vec<Checkpoint>,
        receipt: &mut dyn FnMut(&[Checkpoint]) -> Receipt,
        now: Timestamp,
    ) -> Result<Finished, QueueError> {
        finish::finish(self, id, run, checkpoints, receipt, now)
    }

    fn answer(
        &mut self,
        id: &CheckpointId,
        answer: &Answer,
        now: Timestamp,
    ) -> Result<(StoredCheckpoint, StoredCall), QueueError> {
        self.prepare(now)?;
        let Match::One(found) = self.view.find_checkpoint(&IdPrefix::new(id.as_str()))? else {
            return Err(QueueError::NoSuchCheckpoint(id.clone()));
        };
        let not_waiting =
            || QueueError::NotWaiting { id: id.clone(), call: found.checkpoint.call_id.clone() };
        let call_id: CallId = found.checkpoint.call_id.parse().map_err(|_| not_waiting())?;
        let mut stored = match self.changeable(&call_id, now) {
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
        let is_approved = |wanted: &CheckpointId| {
            let document = stored.checkpoints.get(wanted.as_str()).cloned();
            document
                .and_then(|document| Checkpoint::from_document(document).ok())
                .is_some_and(|checkpoint| checkpoint.status == CheckpointStatus::Approved)
        };
        let all_approved = stored.call.checkpoint_ids.iter().all(is_approved);
        let step = |call: Call| if all_approved { call.ready_to_resume(now) } else { Ok(call) };
        let stored = self.step(stored, step, now)?;
        // The record is the truth; a file that cannot be written is written with the next change of the call.
        let _ = checkpoints::copy_out(&*self.view.fs, &stored);
        Ok((StoredCheckpoint { checkpoint: answered, path: found.path, differs: Vec::new() }, stored))
    }

    fn compact(&mut self, now: Timestamp) -> Result<Compaction, QueueError> {
        compact::require_our_version(&self.view.state)?;
        self.is_stale = true;
        let moved = aside::move_folders(&*self.view.fs)?;
        let mut report = compact::rewrite(&mut self.view, 0, now)?;
        report.quarantined += moved;
        self.is_stale = false;
        report.restored = catch_up::restore(self, now)?;
        report.restored_checkpoints = checkpoints::restore(&self.view)?;
        Ok(report)
    }
}
