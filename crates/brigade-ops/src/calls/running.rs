//! Verifies stored calls against their approval, and runs those that verify.

use std::sync::Arc;

use brigade_call::{
    Call, Change, Checkpoint, Purpose, Refusal as NotVerified, RuntimeFact, VerifiedCall, verify,
};
use brigade_core::{CallId, ErrorCode, Json, NextStep};
use brigade_policy::{Blocker, CallKind};
use brigade_queue::StoredCall;
use brigade_workspace::{Config, WorkspaceContext, gather, gather::PlannedCall};

use crate::calls;
use crate::calls::Calls;
use crate::error::{Error, ErrorKind};
use crate::refusal::{Refusal, RunRefusal};
use crate::report::{PassedOver, RunReport};
use crate::runtimes;

/// Selects the call to run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunTarget {
    /// This call.
    Call(CallId),
    /// The oldest approved call that still verifies.
    Next,
}

impl From<CallId> for RunTarget {
    fn from(call: CallId) -> RunTarget {
        RunTarget::Call(call)
    }
}

impl From<&CallId> for RunTarget {
    fn from(call: &CallId) -> RunTarget {
        RunTarget::Call(call.clone())
    }
}

/// Runs verified calls in the environment of a host.
pub trait Runner: Send + Sync {
    /// Claims a stored call, runs it, and records how it ended.
    ///
    /// # Errors
    /// Fails if the end of the run cannot be recorded, and on file errors.
    fn attempt(&self, ready: ReadyCall) -> Result<Attempt, Error>;
}

/// A stored call that verified, with the files opened for it.
pub struct ReadyCall {
    /// The call.
    pub call: VerifiedCall,
    /// The verified revision. Another revision must not run.
    pub revision: u64,
    /// The plan of the call.
    pub planned: PlannedCall,
    /// The configuration that the decision was made with.
    pub config: Arc<Config>,
}

/// The outcome of running a verified call.
pub enum Attempt {
    /// The call ran. Also the answer of its server, if it has one.
    Ran(Box<RunReport>, Option<Json>),
    /// Another process claimed or changed the call meanwhile.
    Taken(Box<Call>, Error),
    /// The call may not run after all.
    Refused(Box<Call>, Box<NotVerified>),
}

impl Calls {
    /// Runs one approved call exactly as approved, and writes its receipt.
    ///
    /// # Errors
    /// Returns [`Refusal::Run`] if the call may not run, and file errors. A failed run is a report, not an error.
    pub fn run(&self, target: impl Into<RunTarget>) -> Result<RunReport, Error> {
        self.context.require_outside_run()?;
        match target.into() {
            RunTarget::Call(id) => {
                let none = || Refusal::Run(RunRefusal::default());
                let stored = calls::finding::call_to_change(&self.context, &id);
                let stored = stored.map_err(|error| error.missing(&self.context, none()))?;
                run_stored(&self.context, &*self.runner, stored, &[]).map(|(report, _)| report)
            }
            RunTarget::Next => run_next(&self.context, &*self.runner),
        }
    }
}

/// Runs the oldest approved call that still verifies. Skips calls that another process claims meanwhile.
fn run_next(context: &WorkspaceContext, runner: &dyn Runner) -> Result<RunReport, Error> {
    let queue = context.queue();
    let view = queue.read()?;
    if let Some(journal) = context.journal() {
        journal.require_calls()?;
    }
    if let Some(error) = calls::invalid_policy(&*gather::config(context)?) {
        return Err(not_run(context, None, error, RunRefusal::default()));
    }
    let mut approved = view.approved_by_age()?;
    approved.retain(|stored| of_agent(context, &stored.call.caller).is_none());
    let mut passed_over = Vec::new();
    for stored in approved {
        match verified(context, runner, stored, &[])? {
            Attempt::Ran(report, _) => return Ok(RunReport { passed_over, ..*report }),
            Attempt::Taken(..) => {}
            Attempt::Refused(call, refusal) => passed_over.push(PassedOver::new(&call, &refusal.blockers)),
        }
    }
    let error =
        Error::new(ErrorKind::NotFound, "no approved call is ready to run").coded(ErrorCode::NothingApproved);
    let error = error.hint(NextStep::ListApprovedCalls);
    Err(not_run(context, None, error, RunRefusal { passed_over, ..RunRefusal::default() }))
}

/// Returns an error if the call belongs to an agent and the caller is another. Only the agent itself runs its calls.
pub(crate) fn of_agent(context: &WorkspaceContext, caller: &brigade_call::Caller) -> Option<Error> {
    let agent = caller.agent().filter(|_| *caller != context.caller)?;
    let message = format!("the call belongs to the agent `{agent}`, and only the agent runs it");
    let error = Error::new(ErrorKind::Refused, message).coded(ErrorCode::CallOfAgent);
    Some(error.hint("approve, hold or reject it here; the agent then runs it and gets the result"))
}

/// Verifies and runs one call, or resumes it after these checkpoints. Also returns the answer of a kept server, with
/// its text masked, if it gave one.
///
/// # Errors
/// Returns [`Refusal::Run`] if the call may not run, and file errors.
pub fn run_stored(
    context: &WorkspaceContext,
    runner: &dyn Runner,
    stored: StoredCall,
    checkpoints: &[Checkpoint],
) -> Result<(RunReport, Option<Json>), Error> {
    if let Some(error) = of_agent(context, &stored.call.caller) {
        return Err(not_run(context, Some(&stored.call), error, RunRefusal::default()));
    }
    match verified(context, runner, stored, checkpoints)? {
        Attempt::Ran(report, answer) => Ok((*report, answer)),
        Attempt::Taken(call, error) => Err(not_run(context, Some(&call), error, RunRefusal::default())),
        Attempt::Refused(call, refusal) => Err(refusal_error(context, &call, *refusal)),
    }
}

/// Plans a call again, compares it with its approval, and runs it if it verifies.
pub(crate) fn verified(
    context: &WorkspaceContext,
    runner: &dyn Runner,
    stored: StoredCall,
    checkpoints: &[Checkpoint],
) -> Result<Attempt, Error> {
    let StoredCall { call, revision, .. } = stored;
    let _reading = context.cancels_reading();
    let (config, mut planned) = match calls::plan_again(context, &call) {
        Ok(planned) => planned,
        Err(error) if !error.is_about_request() => return Err(error),
        Err(error) => {
            let blocker = Blocker::new(ErrorCode::ToolMissing, error.to_string());
            let refusal = NotVerified { blockers: vec![blocker], changes: Vec::new(), moved: None };
            return Ok(Attempt::Refused(Box::new(call), Box::new(refusal)));
        }
    };
    let purpose = if checkpoints.is_empty() { Purpose::Run } else { Purpose::Resume(checkpoints) };
    let plan = planned.plan.clone();
    let runtime = match call.kind() {
        CallKind::Run | CallKind::Read => runtimes::runtime_of(context, &call, &plan, &config),
        CallKind::Install => RuntimeFact::NotNeeded,
    };
    match verify(call.clone(), plan, runtime, purpose, context.now()) {
        Ok(verified) => {
            planned.plan = verified.plan().clone();
            runner.attempt(ReadyCall { call: verified, revision, planned, config })
        }
        Err(refusal) => Ok(Attempt::Refused(Box::new(call), Box::new(refusal.spelled(&context.speller())))),
    }
}

/// Returns the error of a call that may not run after all.
pub fn refusal_error(context: &WorkspaceContext, call: &Call, refusal: NotVerified) -> Error {
    let changed: Vec<String> = refusal.changes.iter().map(ToString::to_string).collect();
    let codes = refusal.blockers.iter().map(|blocker| &*blocker.code);
    tracing::debug!(call = %call.id, codes = ?codes.collect::<Vec<_>>(), ?changed, "the call may not run");
    let is_uncertain = refusal.blockers.iter().any(Blocker::is_of_invalid_policy);
    let message = match changed.as_slice() {
        _ if is_uncertain => format!("call {} cannot run", call.id),
        [reason] if refusal.changes == [Change::NothingBound] => {
            format!("call {} cannot run: {reason}", call.id)
        }
        // A single reason says more than the names of the changes.
        [_, _, ..] if refusal.blockers.len() == 1 => format!("call {} cannot run", call.id),
        [] => format!("call {} cannot run", call.id),
        changed => {
            format!("call {} cannot run: changed since it was approved: {}", call.id, changed.join(", "))
        }
    };
    let error =
        Error::new(ErrorKind::Refused, message).coded(ErrorCode::CallBlocked).because(refusal.blockers);
    not_run(context, Some(call), error, RunRefusal { changed, ..RunRefusal::default() })
}

fn not_run(context: &WorkspaceContext, call: Option<&Call>, error: Error, known: RunRefusal) -> Error {
    let call = call.map(|call| Box::new(call.clone().shown(context)));
    error.refusing(context, Refusal::Run(RunRefusal { call, ..known }))
}

#[cfg(test)]
mod tests;
