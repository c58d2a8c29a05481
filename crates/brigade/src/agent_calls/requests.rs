//! What comes of a request for a call: planned once, decided under the lock, and run at once where it may.

use std::sync::Arc;

use brigade_access::AgentLimits;
use brigade_call::{
    ApprovedBy, Call, CallSession, CallStatus, Claim, Judgement, Plan, Purpose, RuntimeFact, verify,
};
use brigade_core::{CallId, ErrorCode, Json, Timestamp};
use brigade_ops::{Attempt, Error, ErrorKind, Refusal};
use brigade_policy::{CallKind, Failure};
use brigade_queue::{FoundReceipt, LockedQueue, OnDuplicate, QueueError, Review, View};
use brigade_workspace::{Config, DeferredSync, gather, gather::PlannedCall};

use super::{AgentCall, AgentCalls, Limit, LimitExceeded, RequestOutcome, RunRequestOutcome};
use crate::agent_review;
use crate::run::{self, ClaimOutcome, ClaimSource, InsertOutcome};

/// Returns the rule that approves a planned call, or what is missing for those that name the tool.
pub(super) type ApproveFn<'a> = dyn Fn(&Plan, RuleSelection<'_>) -> Result<ApprovedBy, Vec<String>> + 'a;

/// Returns what a judge says about a call; `None` without a judge.
pub(super) type JudgeFn<'a> = dyn Fn(&Call) -> Option<Judgement> + 'a;

/// The rules that are asked whether they approve a call.
#[derive(Clone, Copy)]
pub(super) enum RuleSelection<'a> {
    /// All of them, which count the calls in the queue.
    All(&'a View<'a>),
    /// All of them, as if a judge had passed the call.
    AllIfPassed(&'a View<'a>),
    /// All of them, about a call whose equal ran last with an unknown result.
    AfterUnknownEnd(&'a View<'a>),
    /// What approved this call, which is counted already.
    Again(&'a Call, &'a ApprovedBy),
}

/// Says why a call that was approved without a person waits for one.
pub(super) fn no_longer_covered(by: &ApprovedBy) -> String {
    match by.rule() {
        Some(rule) => format!("the rule `{rule}` of the policy does not cover the call any more"),
        None => "calls of the tool need an approval now".to_owned(),
    }
}

/// What an agent's request is decided by.
pub(super) struct Terms<'a> {
    pub(super) limits: &'a [Limit],
    /// How many calls may wait for a person.
    pub(super) waiting: AgentLimits,
    /// Returns the limit of the tool that a call is one too many for.
    pub(super) rates: &'a dyn Fn(&View<'_>) -> Result<Option<LimitExceeded>, Error>,
    /// The effects that a command may have.
    pub(super) granted: &'a [String],
    pub(super) covers: &'a ApproveFn<'a>,
    /// Set if a judge decides whether a person is asked.
    pub(super) judge: Option<&'a JudgeFn<'a>>,
}

/// What becomes of a request that is planned and not blocked.
pub(super) type PlannedFn<'a, T> = dyn Fn(&Request<'_>, PlannedCall, &Arc<Config>) -> Result<T, Error> + 'a;

/// A request that is planned.
pub(super) struct Request<'a> {
    calls: &'a AgentCalls,
    plan: &'a Plan,
    terms: &'a Terms<'a>,
}

/// What a request has by now.
enum RequestState {
    /// A call that does not run yet.
    Stored(Box<Call>, Option<CallId>, Vec<String>),
    /// A new call, which is claimed.
    Claimed,
    /// Nothing, because the agent did so much already.
    Over(RequestOutcome),
}

/// A new call that a rule approves, and its claim.
struct NewClaim<'a> {
    call: &'a Call,
    claim: Claim,
}

impl AgentCalls {
    /// Plans a request, refuses it if it is blocked, and hands it on.
    pub(super) fn submit_request<T>(
        &self,
        tool: &str,
        args: Json,
        session: Option<CallSession>,
        terms: &Terms<'_>,
        then: &PlannedFn<'_, T>,
    ) -> Result<T, Error> {
        let inner = &*self.inner;
        let config = gather::config(inner)?;
        let (mut planned, missing) =
            gather::plan_of(inner, &config, tool, Ok(args), Some(terms.granted), session)?;
        let plan = &planned.plan;
        let blocked = || plan.not_to_be_queued(brigade_call::OnBlocked::Refuse);
        if let Some(error) = missing.or_else(|| blocked().map(|why| Failure::new(ErrorKind::Refused, why))) {
            let call = Box::new(plan.shown_call(inner.now()).shown(inner));
            let error = error.because(plan.blockers().iter().cloned());
            return Err(Error::from(error).refusing(inner, Refusal::Queue { call }));
        }
        inner.digests.keep(&*inner.fs);
        if let Some(judged) = self.judged_first(&planned.plan, terms)? {
            planned.plan.note_judge(judged);
        }
        let plan = planned.plan.clone();
        then(&Request { calls: self, plan: &plan, terms }, planned, &config)
    }

    /// Asks the judge about a call that a rule would approve then, and that does not wait already.
    fn judged_first(&self, plan: &Plan, terms: &Terms<'_>) -> Result<Option<Judgement>, Error> {
        let Some(ask) = terms.judge else { return Ok(None) };
        let call = plan.to_call(self.inner.now(), None, |_: &CallId| false);
        let queue = self.inner.queue();
        let view = queue.read()?;
        let is_settled = view.waiting_like(&call)?.is_some() || self.over(&view, terms)?.is_some();
        if is_settled || (terms.covers)(plan, RuleSelection::AllIfPassed(&view)).is_err() {
            return Ok(None);
        }
        drop(view);
        Ok(ask(&call))
    }

    /// Returns the limit that leaves no room for one more call that waits for a person.
    fn over_waiting(
        &self,
        view: &View<'_>,
        call: &Call,
        limits: &AgentLimits,
    ) -> Result<Option<RequestOutcome>, Error> {
        let waiting = view.waiting_calls(&self.inner.env.caller, self.inner.now())?;
        let new = call.to_record_text().into_line().as_str().len() as u64;
        Ok(limits.over_pending(waiting.calls, waiting.bytes, new).map(RequestOutcome::Over))
    }

    /// Returns the first limit that leaves no room for one more call.
    fn over(&self, view: &View<'_>, terms: &Terms<'_>) -> Result<Option<RequestOutcome>, Error> {
        if let Some(over) = (terms.rates)(view)? {
            return Ok(Some(RequestOutcome::Over(over)));
        }
        for limit in terms.limits {
            if let Some(over) = limit.over(&self.spent_in(view, limit.window, limit.of)?) {
                return Ok(Some(RequestOutcome::Over(over)));
            }
        }
        Ok(None)
    }
}

impl Request<'_> {
    /// Returns what writes the records, if they may be synced late.
    fn late(&self) -> Option<&DeferredSync> {
        self.calls.inner.late_for(&self.plan.contract().effects)
    }

    /// Stores the call, which does not run yet.
    pub(super) fn store(&self) -> Result<RequestOutcome, Error> {
        let inner = &*self.calls.inner;
        let now = inner.now();
        let queue = inner.queue();
        let late = self.late();
        let _soon = late.map(DeferredSync::soon_after);
        let mut locked = if late.is_some() { queue.lock_late(now)? } else { queue.lock(now)? };
        let decided = self.decide(&mut locked, None, now)?;
        drop(locked);
        self.outcome(decided)
    }

    /// Returns what the agent learns of a call that does not run yet.
    fn outcome(&self, decided: RequestState) -> Result<RequestOutcome, Error> {
        match decided {
            RequestState::Stored(call, unknown, uncovered) => {
                if let Some(late) = self.late().filter(|_| call.status != CallStatus::Approved) {
                    // A person is asked about it, so it must stay.
                    late.now()?;
                }
                let call = Box::new(call.shown(&*self.calls.inner));
                Ok(RequestOutcome::Stored { call, unknown, uncovered })
            }
            RequestState::Over(over) => Ok(over),
            RequestState::Claimed => unreachable!("its run reports it"),
        }
    }

    /// Runs the call if a rule approves it. Otherwise it is stored, and does not run yet.
    pub(super) fn run(
        &self,
        planned: PlannedCall,
        config: &Arc<Config>,
        begun: &dyn Fn(&CallId),
    ) -> Result<RunRequestOutcome, Error> {
        let inner = &*self.calls.inner;
        let now = inner.now();
        // In the queue of a team, an approval is signed after the call is stored.
        let approved = if inner.shared_name().is_some() {
            None
        } else {
            let queue = inner.queue();
            let view = queue.read()?;
            let is_taken = |id: &CallId| view.call(id).is_ok_and(|found| found.is_some());
            let by = (self.terms.covers)(self.plan, RuleSelection::All(&view));
            by.ok().and_then(|by| self.approved(now, &is_taken, &by).ok())
        };
        let Some(call) = approved else { return Ok(self.store()?.into()) };
        let runtime = match call.kind() {
            CallKind::Run | CallKind::Read => brigade_ops::runtime_of(inner, &call, &planned.plan, config),
            CallKind::Install => RuntimeFact::NotNeeded,
        };
        let Ok(verified) = verify(call.clone(), planned.plan.clone(), runtime, Purpose::Run, now) else {
            // It is refused when it is continued.
            return Ok(self.store()?.into());
        };
        let mut insert = |locked: &mut LockedQueue<'_>, claim: Option<Claim>| {
            let claiming = claim.map(|claim| NewClaim { call: &call, claim });
            match self.decide(locked, claiming, inner.now())? {
                RequestState::Claimed => {
                    begun(&call.id);
                    Ok(InsertOutcome::Claimed)
                }
                decided => self.outcome(decided).map(InsertOutcome::NotClaimed),
            }
        };
        let claimed = run::run(inner, verified, ClaimSource::New(&mut insert), planned, config)?;
        let attempt = match claimed {
            ClaimOutcome::Attempted(attempt) => attempt,
            ClaimOutcome::NotClaimed(outcome) => return Ok(outcome.into()),
        };
        Ok(match attempt {
            Attempt::Ran(report, answer) => {
                agent_review::note(inner, &report.call);
                let report = *report;
                let call = AgentCall { call: report.call, receipt: Some(report.receipt.for_agent()), answer };
                RunRequestOutcome::Ran(Box::new(call))
            }
            // It is stored like every call that a rule approves, and does not run.
            Attempt::Refused(_, refusal) => match self.store()? {
                RequestOutcome::Stored { call: stored, .. } if stored.status == CallStatus::Approved => {
                    let error = brigade_ops::refusal_error(inner, &stored, *refusal);
                    RunRequestOutcome::NotRun { id: stored.id, error: Box::new(error) }
                }
                outcome => outcome.into(),
            },
            Attempt::Taken(..) => unreachable!("a new call is not known elsewhere"),
        })
    }

    /// Makes the call as a rule approves it. It may not be approvable, and comes back as it is then.
    fn approved(
        &self,
        now: Timestamp,
        is_taken: &dyn Fn(&CallId) -> bool,
        by: &ApprovedBy,
    ) -> Result<Call, Box<Call>> {
        let call = self.plan.to_call(now, None, is_taken);
        if call.status != CallStatus::Pending || !self.is_approvable(&call) {
            return Err(Box::new(call));
        }
        let approved = call.clone().approve(self.plan.binding().clone(), by.clone(), now);
        approved.map_err(|_| Box::new(call))
    }

    fn is_approvable(&self, call: &Call) -> bool {
        self.plan.blockers_to_review(call).is_empty() && self.plan.changes_since_queued(call).is_empty()
    }

    /// Decides about the request. Everything that counts is counted under the lock, so that requests at the same moment
    /// count each other.
    fn decide(
        &self,
        locked: &mut LockedQueue<'_>,
        claiming: Option<NewClaim<'_>>,
        now: Timestamp,
    ) -> Result<RequestState, Error> {
        let (calls, plan) = (self.calls, self.plan);
        locked.lock_all()?;
        let view = locked.view();
        let is_taken = |id: &CallId| view.call(id).is_ok_and(|found| found.is_some());
        // A call that is about to be claimed asks for the same as any other of this plan. Where its id is taken by now,
        // the other call with it counts.
        let made;
        let probe = match &claiming {
            Some(claiming) if !is_taken(&claiming.call.id) => claiming.call,
            Some(_) | None => {
                made = plan.to_call(now, None, is_taken);
                &made
            }
        };
        let unknown = unseen_like(&view, probe)?;
        let selection = match unknown {
            None => RuleSelection::All(&view),
            Some(_) => RuleSelection::AfterUnknownEnd(&view),
        };
        let (by, mut uncovered) = match (self.terms.covers)(plan, selection) {
            Ok(by) => (Some(by), Vec::new()),
            Err(uncovered) => (None, uncovered),
        };
        // An equal call under a rule is about to run for another request of the agent.
        let without_person = |call: &Call| match call.status {
            CallStatus::Approved => call.approved_without_person().cloned(),
            _ => None,
        };
        let is_for_another_request = |call: &Call| by.is_some() && without_person(call).is_some();
        let waiting = view.waiting_like(probe)?.filter(|stored| !is_for_another_request(&stored.call));
        // No person is asked again about a call that runs: a caller that asks for it waits for its result.
        let joins = waiting.is_none() && by.is_none();
        let waiting = if joins { view.running_like(probe)? } else { waiting };
        let over = match (&waiting, &by) {
            (Some(_), _) => None,
            (None, Some(_)) => calls.over(&view, self.terms)?,
            (None, None) => match calls.over(&view, self.terms)? {
                Some(over) => Some(over),
                None => calls.over_waiting(&view, probe, &self.terms.waiting)?,
            },
        };
        // A call is claimed at once only without a reason against it under the lock, too.
        let claiming = claiming.filter(|claiming| {
            let approved = claiming.call.approval.as_ref().map(|approval| &approval.by);
            waiting.is_none() && approved == by.as_ref() && !is_taken(&claiming.call.id)
        });
        let is_its_turn = match (&claiming, calls.inner.env.at_once) {
            (Some(claiming), Some(most)) => view.is_its_turn(claiming.call, most)?,
            _ => true,
        };
        drop(view);
        if let Some(over) = over {
            return Ok(RequestState::Over(over));
        }
        if let Some(NewClaim { call, claim }) = claiming.filter(|_| is_its_turn) {
            locked.enqueue_claimed(call.clone(), claim, now)?;
            return Ok(RequestState::Claimed);
        }
        let mut stored = match waiting {
            Some(stored) => match without_person(&stored.call) {
                Some(by) if (self.terms.covers)(plan, RuleSelection::Again(&stored.call, &by)).is_err() => {
                    let review = Review::Reopen(no_longer_covered(&by));
                    locked.review(&stored.call.id, stored.revision, review, now)?
                }
                _ => stored,
            },
            None => {
                // A rule approves in the same write, except in the queue of a team.
                let by = by.as_ref().filter(|_| calls.inner.shared_name().is_none());
                let mut make = |_: usize, is_taken: &dyn Fn(&CallId) -> bool| match by {
                    Some(by) => self.approved(now, is_taken, by).unwrap_or_else(|call| *call),
                    None => plan.to_call(now, None, is_taken),
                };
                let stored = locked.enqueue_all(1, OnDuplicate::Queue, &mut make)?.pop();
                stored.expect("one call was handed in, so one comes back").into_call().0
            }
        };
        if let Some(by) = by
            && stored.call.status == CallStatus::Pending
            && self.is_approvable(&stored.call)
        {
            let review = Review::Approve(Box::new(plan.binding().clone()), by, Vec::new());
            match locked.review(&stored.call.id, stored.revision, review, now) {
                Ok(reviewed) => stored = reviewed,
                // The account of this host may not approve in the name of the rule, so a person decides.
                Err(QueueError::Shared { code, message, .. }) if NOT_APPROVED_BY_RULE.contains(&code) => {
                    uncovered.push(format!("this host may not approve in the team's queue: {message}"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(RequestState::Stored(Box::new(stored.call), unknown, uncovered))
    }
}

/// Why the account of a host does not approve in the queue of a team.
const NOT_APPROVED_BY_RULE: [ErrorCode; 3] =
    [ErrorCode::TeamRole, ErrorCode::TeamOwnCall, ErrorCode::TeamUntrustedKey];

/// Returns the equal call of the caller that ran last, if the result of its run is unknown.
fn unseen_like(view: &View<'_>, call: &Call) -> Result<Option<CallId>, Error> {
    let Some(last) = view.ran_like(call)?.filter(|last| last.call.status == CallStatus::Interrupted) else {
        return Ok(None);
    };
    let run = last.call.claim.as_ref().map(|claim| claim.run_id.as_str());
    let receipt = run.map(|run| view.receipt(run)).transpose()?.flatten();
    let is_seen = matches!(receipt, Some(FoundReceipt::Good(stored)) if stored.receipt.failure.is_some());
    Ok((!is_seen).then_some(last.call.id))
}
