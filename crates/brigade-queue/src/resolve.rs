//! Resolves a prefix to a call or run, including runs without a receipt.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use brigade_call::{Call, CallStatus};
use brigade_core::{CallId, Fingerprint, IdPrefix, PrefixMatch, RunId};

use crate::enqueue::duplicate_of;
use crate::short_ids;
use crate::store::CallQuery;
use crate::{CANDIDATES, Calls, FoundReceipt, Match, QueueError, Records, StoredCall, StoredReceipt, View};

/// The maximum number of calls with a prefix that are examined for a step.
const MAX_EXAMINED_CALLS: usize = 1_000;

/// How many equal calls are compared to find the last one.
const MAX_COMPARED_CALLS: usize = 32;

/// How many of the newest runs are searched for the last approved call of a tool, if the store does not remember it.
const RECENT: usize = 32;

/// A run that a prefix resolved to.
#[derive(Clone, Debug, PartialEq)]
pub enum ResolvedRun {
    /// It has ended.
    Over(Box<StoredReceipt>),
    /// It is running.
    Running(OpenRun),
    /// Its runner is gone. The next change of the queue stores its receipt.
    Abandoned(OpenRun),
}

/// A run that has no receipt yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRun {
    /// Its id.
    pub run_id: RunId,
    /// Its call.
    pub call_id: CallId,
}

impl ResolvedRun {
    /// Returns its id.
    pub fn id(&self) -> &RunId {
        match self {
            ResolvedRun::Over(stored) => &stored.receipt.id,
            ResolvedRun::Running(run) | ResolvedRun::Abandoned(run) => &run.run_id,
        }
    }

    /// Returns the id that its receipt is or will be stored under, which is also the id of its logs. The receipt itself
    /// may have another id.
    pub fn stored_id(&self) -> &str {
        match self {
            ResolvedRun::Over(stored) => &stored.stored_id,
            ResolvedRun::Running(run) | ResolvedRun::Abandoned(run) => run.run_id.as_str(),
        }
    }
}

impl View<'_> {
    /// Finds the call with a prefix. An exact id takes precedence. Of several matches, only calls that `fits` accepts
    /// count. If it accepts none, the match is ambiguous and has no candidates.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn find_call(
        &self,
        prefix: &IdPrefix,
        fits: &dyn Fn(&Call) -> bool,
    ) -> Result<Match<StoredCall>, QueueError> {
        if let Ok(id) = prefix.as_str().parse::<CallId>()
            && let Some(exact) = self.call(&id)?
        {
            return Ok(Match::One(exact));
        }
        let (start, end) = short_ids::parts(prefix.as_str());
        let mut ids = self.candidates(Records::Calls, &IdPrefix::new(start), MAX_EXAMINED_CALLS)?;
        ids.retain(|id| match (end, short_ids::repeat_of(id)) {
            (None, _) => true,
            // The mark alone excludes the calls that repeat the first one.
            (Some(""), own) => own.is_none(),
            (Some(end), own) => own.is_some_and(|own| own.starts_with(end)),
        });
        if 1 < ids.len() {
            let mut fitting = Vec::new();
            for id in ids.iter().filter_map(|id| id.parse::<CallId>().ok()) {
                fitting.extend(self.call(&id)?.filter(|stored| fits(&stored.call)).map(|_| id.to_string()));
                if CANDIDATES <= fitting.len() {
                    break;
                }
            }
            if fitting.is_empty() {
                return Ok(Match::Ambiguous(fitting));
            }
            ids = fitting;
        }
        Ok(match ids.as_slice() {
            [] => Match::None,
            [one] => match one.parse::<CallId>() {
                Ok(id) => self.call(&id)?.map_or(Match::None, Match::One),
                Err(_) => Match::None,
            },
            _ => Match::Ambiguous(ids),
        })
    }

    /// Returns the last finished call of the same caller with the same request. If there are many, compares only the
    /// newest.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn ran_like(&self, call: &Call) -> Result<Option<StoredCall>, QueueError> {
        let Some(short) =
            call.call_fingerprint.as_deref().and_then(|digits| digits.parse::<Fingerprint>().ok())
        else {
            return Ok(None);
        };
        // The latest run is usually recent, which costs the same however many there were.
        if let (Some(request), Some(now)) = (&call.call_fingerprint, call.created_at)
            && let Some(id) = self.last_run_of(&call.caller, request, now)?
            && id != call.id
            && let Some(stored) = self.call(&id)?
            && stored.call.claim.is_some()
            && stored.call.asks_the_same_as(call)
        {
            return Ok(Some(stored));
        }
        let prefix = IdPrefix::new(&format!("call-{}", short.short()));
        let ids = self.candidates(Records::Calls, &prefix, MAX_COMPARED_CALLS + 1)?;
        let mut last: Option<StoredCall> = None;
        let mut count = 0;
        let mut compare = |stored: StoredCall| {
            let ended = |stored: &StoredCall| stored.call.completed_at.max(stored.call.created_at);
            let is_like = stored.call.id != call.id
                && stored.call.claim.is_some()
                && stored.call.caller == call.caller
                && stored.call.asks_the_same_as(call);
            count += usize::from(is_like);
            if is_like && last.as_ref().is_none_or(|last| ended(last) < ended(&stored)) {
                last = Some(stored);
            }
            if count < MAX_COMPARED_CALLS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        if MAX_COMPARED_CALLS < ids.len() {
            self.for_each_newest(&Calls::All, &mut compare)?;
        } else {
            for id in ids.iter().filter_map(|id| id.parse::<CallId>().ok()) {
                if let Some(stored) = self.call(&id)? {
                    let _ = compare(stored);
                }
            }
        }
        Ok(last)
    }

    /// Returns the stored call that makes a new one a duplicate.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn existing_duplicate(&self, new: &Call) -> Result<Option<StoredCall>, QueueError> {
        Ok(duplicate_of(self.snapshot(), new)?.map(|found| found.into_call().0))
    }

    /// Returns the call with the same request as a new one that is pending, approved, waiting at a checkpoint, rejected
    /// or held.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn waiting_like(&self, new: &Call) -> Result<Option<StoredCall>, QueueError> {
        if let Some(found) = self.existing_duplicate(new)? {
            return Ok(Some(found));
        }
        self.like(new, &[CallStatus::Held, CallStatus::Waiting, CallStatus::ResumePending])
    }

    /// Returns the running call of the same caller with the same request as a new one.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn running_like(&self, new: &Call) -> Result<Option<StoredCall>, QueueError> {
        self.like(new, &[CallStatus::Running])
    }

    /// Returns the newest call of the same caller with the same request, by the first status that has one.
    fn like(&self, new: &Call, statuses: &[CallStatus]) -> Result<Option<StoredCall>, QueueError> {
        let mut found = None;
        for status in statuses {
            self.for_each_newest(&Calls::Of(status.clone()), &mut |stored| {
                if stored.call.caller == new.caller && stored.call.asks_the_same_as(new) {
                    found = Some(stored);
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })?;
            if found.is_some() {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the call of a tool that was approved last.
    ///
    /// This is the call that the store remembers, which a person approved. Without one, it is found among the newest 32
    /// runs, which a rule or Brigade v0.30 may have approved. The cost does not grow with the history.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn last_approved(&self, tool_id: &str, except: &CallId) -> Result<Option<StoredCall>, QueueError> {
        let is_one = |stored: &StoredCall| {
            stored.call.tool_id == tool_id && stored.call.id != *except && stored.call.was_approved()
        };
        let mut last = None;
        self.each_current(&CallQuery::LastApproved(tool_id), &mut |stored| {
            last = Some(stored).filter(is_one);
            if last.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if last.is_some() {
            return Ok(last);
        }
        let recent = self.receipts(RECENT)?.receipts;
        for run in recent.iter().filter(|run| run.receipt.tool_id == tool_id) {
            if let Some(stored) = self.call(&run.receipt.call_id)?.filter(is_one) {
                return Ok(Some(stored));
            }
        }
        Ok(None)
    }

    /// Finds the run with a prefix, including a running one.
    ///
    /// # Errors
    /// Fails if the store fails, or the receipt is unreadable.
    pub(crate) fn resolve_run(&self, prefix: &IdPrefix) -> Result<Match<ResolvedRun>, QueueError> {
        if let Match::One(FoundReceipt::Good(stored)) = self.find_run(prefix)?
            && stored.receipt.id.as_str() == prefix.as_str()
        {
            return Ok(Match::One(ResolvedRun::Over(stored)));
        }
        let running = self.open_runs(CallStatus::Running)?;
        // Search again, because a run that ended meanwhile has its receipt now.
        let (stored, over) = match self.find_run(prefix)? {
            Match::One(FoundReceipt::Good(stored)) => {
                let id = stored.receipt.id.to_string();
                (Some(stored), vec![id])
            }
            Match::One(FoundReceipt::Bad(bad)) => return Err(QueueError::Unreadable(bad)),
            Match::None => (None, Vec::new()),
            Match::Ambiguous(candidates) => (None, candidates),
        };
        let ids: BTreeSet<String> =
            over.into_iter().chain(running.iter().map(|run| run.run_id.to_string())).collect();
        let id = match prefix.resolve(ids.into_iter().map(|id| (id.clone(), id))) {
            PrefixMatch::One(id) => id,
            PrefixMatch::Ambiguous(candidates) => return Ok(Match::Ambiguous(candidates)),
            PrefixMatch::None => return self.abandoned_run(prefix),
        };
        if let Some(stored) = stored.filter(|stored| stored.receipt.id.as_str() == id) {
            return Ok(Match::One(ResolvedRun::Over(stored)));
        }
        let found = running.into_iter().find(|run| run.run_id.as_str() == id);
        Ok(found.map_or(Match::None, |run| Match::One(ResolvedRun::Running(run))))
    }

    /// Finds a run without a receipt whose runner is gone or could not record it.
    fn abandoned_run(&self, prefix: &IdPrefix) -> Result<Match<ResolvedRun>, QueueError> {
        let mut abandoned = self.open_runs(CallStatus::Interrupted)?;
        let kept =
            self.abandoned()?.into_iter().filter(|stored| stored.call.status != CallStatus::Interrupted);
        abandoned.extend(kept.filter_map(open_run));
        let ids = abandoned.iter().map(|run| (run.run_id.as_str(), run.run_id.to_string()));
        Ok(match prefix.resolve(ids) {
            PrefixMatch::One(id) => {
                let found = abandoned.into_iter().find(|run| run.run_id.as_str() == id);
                found.map_or(Match::None, |run| Match::One(ResolvedRun::Abandoned(run)))
            }
            PrefixMatch::Ambiguous(candidates) => Match::Ambiguous(candidates),
            PrefixMatch::None => Match::None,
        })
    }

    /// Returns whether a run is still running.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn is_running(&self, run: &OpenRun) -> Result<bool, QueueError> {
        let stored = self.call(&run.call_id)?;
        Ok(stored.is_some_and(|stored| {
            let claim = stored.call.claim.as_ref();
            stored.call.status == CallStatus::Running && claim.is_some_and(|claim| claim.run_id == run.run_id)
        }))
    }

    /// Lists the runs of the calls with a status.
    fn open_runs(&self, status: CallStatus) -> Result<Vec<OpenRun>, QueueError> {
        let mut runs = Vec::new();
        self.for_each_call(&Calls::Of(status), &mut |stored| {
            runs.extend(open_run(stored));
            ControlFlow::Continue(())
        })?;
        Ok(runs)
    }
}

fn open_run(stored: StoredCall) -> Option<OpenRun> {
    let run_id = stored.call.claim?.run_id;
    Some(OpenRun { run_id, call_id: stored.call.id })
}
