//! What a person can do next with a call.

use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, Hint, NextStep, Timestamp};
use brigade_policy::Blocker;

use crate::binding::Change;
use crate::call::Call;
use crate::checkpoint::{Checkpoint, CheckpointStatus};
use crate::facts::RuntimeFact;
use crate::plan::Plan;
use crate::receipt::{Receipt, RunStatus};
use crate::status::CallStatus;
use crate::verify::{Purpose, Refusal, verify};

/// The maximum number of listed files of a command.
const MAX_SHOWN_FILES: usize = 8;

impl Call {
    /// Returns whether the next step for the call depends on a new plan.
    pub fn is_open(&self) -> bool {
        matches!(self.status, CallStatus::Pending | CallStatus::Held | CallStatus::Approved)
    }

    /// Returns whether the call ended because its runner is gone, and no writer has recorded that yet.
    pub fn is_unrecorded(&self) -> bool {
        let is_ours = self.claim.as_ref().is_some_and(|claim| claim.runner.is_some());
        match &self.receipt {
            None => self.status == CallStatus::Interrupted,
            // Its receipt exists and is not in the ledger yet.
            Some(receipt) => is_ours && receipt.ledger.is_none(),
        }
    }

    /// Lists the changes since an approved call was approved; empty for other calls. Without a plan, the tool no longer
    /// exists.
    pub fn changes_since_approved(&self, plan: Option<&Plan>, now: Timestamp) -> Vec<String> {
        let Some(plan) = plan.filter(|_| self.status == CallStatus::Approved) else {
            let is_gone = self.status == CallStatus::Approved;
            return is_gone.then(|| "the tool no longer exists".to_owned()).into_iter().collect();
        };
        let changes = self.refused(plan, now).map(|refusal| refusal.changes).unwrap_or_default();
        changes.iter().map(ToString::to_string).collect()
    }

    /// Returns why the call would not run as approved, if it would not.
    fn refused(&self, plan: &Plan, now: Timestamp) -> Option<Box<Refusal>> {
        verify(self.clone(), plan.clone(), RuntimeFact::NotNeeded, Purpose::Run, now).err()
    }

    /// Returns why an approved call would run another program, if only `PATH` differs.
    pub fn moved_program(&self, plan: Option<&Plan>, now: Timestamp) -> Option<Blocker> {
        let plan = plan.filter(|_| self.status == CallStatus::Approved)?;
        self.refused(plan, now)?.moved.map(|moved| moved.blocker)
    }

    /// Returns the next step that would be accepted now. An [open](Call::is_open) call needs its plan, if its tool
    /// exists.
    pub fn next_step(&self, plan: Option<&Plan>, now: Timestamp) -> Option<NextStep> {
        let id = || self.id.clone();
        if self.is_open()
            && let Some(step) = plan.and_then(Plan::policy_to_correct)
        {
            return Some(step);
        }
        let agent = || self.caller.agent().map(|agent| NextStep::AgentGoesOn(agent.to_owned()));
        match &self.status {
            CallStatus::Pending | CallStatus::Held => {
                let can_be = plan.is_some_and(|plan| plan.approvable(self).is_ok());
                Some(if can_be { NextStep::Approve(id()) } else { NextStep::Reject(id()) })
            }
            // The reason already contains the next step.
            CallStatus::Approved
                if plan.and_then(|plan| self.refused(plan, now)).is_some_and(|why| why.is_only_moved()) =>
            {
                None
            }
            CallStatus::Approved if self.changes_since_approved(plan, now).is_empty() => {
                agent().or_else(|| Some(NextStep::RunCall(id())))
            }
            CallStatus::Approved if self.caller.agent().is_some() => Some(NextStep::Reject(id())),
            CallStatus::Approved => {
                let can_be = plan.is_some_and(|plan| plan.blockers().is_empty());
                Some(if can_be { NextStep::QueueCall(self.tool_id.clone()) } else { NextStep::Reject(id()) })
            }
            // Brigade v0.30 bound nothing, so such a call cannot be resumed by an answer.
            CallStatus::Waiting | CallStatus::ResumePending if self.approval.is_none() => {
                Some(NextStep::Reject(id()))
            }
            CallStatus::Waiting => Some(NextStep::ListCheckpoints),
            CallStatus::ResumePending => {
                agent().or_else(|| self.checkpoint_ids.first().cloned().map(NextStep::Resume))
            }
            CallStatus::Completed | CallStatus::Failed | CallStatus::TimedOut | CallStatus::Interrupted => {
                self.claim.as_ref().map(|claim| NextStep::ShowRun(claim.run_id.clone()))
            }
            CallStatus::Running | CallStatus::Rejected | CallStatus::Other(_) => None,
        }
    }
}

impl Receipt {
    /// Returns the next step that would be accepted after the run now. `plan` plans the call again, if its tool exists;
    /// it is only called after a run that did not succeed.
    pub fn next_step(&self, plan: impl FnOnce() -> Option<Plan>) -> Option<NextStep> {
        match self.status {
            RunStatus::Waiting => {
                Some(self.checkpoint_id.clone().map_or(NextStep::ListCheckpoints, NextStep::ShowCheckpoint))
            }
            _ if self.caller().agent().is_some() => None,
            RunStatus::Failed | RunStatus::TimedOut | RunStatus::Interrupted => self.replay_step(plan),
            _ => None,
        }
    }

    /// Returns the step that queues the call of the run again, if it would be accepted now. `plan` plans it, if its
    /// tool exists.
    pub fn replay_step(&self, plan: impl FnOnce() -> Option<Plan>) -> Option<NextStep> {
        let can_be = plan().is_some_and(|plan| plan.blockers().is_empty() && !plan.holds_secret());
        can_be.then(|| NextStep::Replay(self.id.clone()))
    }
}

impl Checkpoint {
    /// Returns the step that ends the call of this checkpoint, if the call cannot be resumed.
    pub fn way_out(&self, call: &Call, now: Timestamp) -> Option<NextStep> {
        let is_open = self.status == CheckpointStatus::Pending && !self.is_expired(now);
        let waits = matches!(call.status, CallStatus::Waiting | CallStatus::ResumePending);
        let is_its = call.id == self.call_id;
        (is_its && waits && !is_open).then(|| NextStep::Reject(call.id.clone()))
    }

    /// Returns the next step that would be accepted now. `call` is the call that waits, `plan` its plan if its tool
    /// exists, and `all` are the checkpoints that it waits for.
    pub fn next_step(
        &self,
        call: &Call,
        plan: Option<&Plan>,
        all: &[Checkpoint],
        now: Timestamp,
    ) -> Option<NextStep> {
        let reject = || NextStep::Reject(call.id.clone());
        match (&self.status, &call.status) {
            (CheckpointStatus::Pending, CallStatus::Waiting) if !self.is_expired(now) => {
                // Brigade v0.30 bound nothing, so such a call cannot be resumed by an answer.
                let can_go_on = call.approval.is_some();
                Some(if can_go_on { NextStep::AnswerCheckpoint(self.id.clone()) } else { reject() })
            }
            // Other checkpoints of the run need an answer first.
            (CheckpointStatus::Approved, CallStatus::Waiting) => Some(NextStep::ListCheckpoints),
            (CheckpointStatus::Approved, CallStatus::ResumePending) => {
                let verified = |plan: &Plan| {
                    verify(call.clone(), plan.clone(), RuntimeFact::NotNeeded, Purpose::Resume(all), now)
                        .is_ok()
                };
                match call.caller.agent() {
                    Some(agent) => Some(NextStep::AgentGoesOn(agent.to_owned())),
                    None if plan.is_some_and(verified) => Some(NextStep::Resume(self.id.clone())),
                    None => Some(plan.and_then(Plan::policy_to_correct).unwrap_or_else(reject)),
                }
            }
            (CheckpointStatus::Pending | CheckpointStatus::Rejected, _) => self.way_out(call, now),
            (
                CheckpointStatus::Approved
                | CheckpointStatus::Resumed
                | CheckpointStatus::Failed
                | CheckpointStatus::Other(_),
                _,
            ) => None,
        }
    }
}

/// Whether a call with blockers may be stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnBlocked {
    /// Store nothing.
    #[default]
    Refuse,
    /// Store it. It cannot be approved while it is blocked.
    Include,
}

impl Plan {
    /// Returns why the call may not be stored, if it may not.
    pub fn not_to_be_queued(&self, blocked: OnBlocked) -> Option<String> {
        if self.holds_secret() {
            let is_catalogs = self.blockers().iter().any(|blocker| blocker.is(ErrorCode::SecretInCatalog));
            let what = if is_catalogs { "the catalog holds what" } else { "an argument" };
            return Some(format!("{what} looks like a secret, so the call is not stored"));
        }
        let is_refused = blocked == OnBlocked::Refuse && !self.blockers().is_empty();
        is_refused.then(|| "the call is blocked".to_owned())
    }

    /// Returns the changes since the call was queued that a person must see before an approval, with hints on what to
    /// check.
    pub fn blockers_to_review(&self, call: &Call) -> Vec<Blocker> {
        let files: Vec<&String> = self.binding().files.keys().filter(|path| !path.starts_with('/')).collect();
        let blockers = self.changes_to_review(call).into_iter().map(|change| {
            let message = format!("changed since the call was queued: {change}");
            let blocker = Blocker::new(change.code(), message);
            match change {
                Change::ProgramPath => {
                    let program = self.argv().map(|argv| escape_terminal(argv.program())).unwrap_or_default();
                    let path = self.binding().program.as_ref().map(|program| escape_terminal(&program.path));
                    let path = path.as_deref().unwrap_or("not found");
                    let message = match self.program_when_queued(call).map(escape_terminal) {
                        Some(was) => format!(
                            "the program `{program}` was {was} when the call was queued and is {path}, because PATH \
                             differs"
                        ),
                        None => format!("since the call was queued, PATH changed: `{program}` is {path} now"),
                    };
                    Blocker::new(change.code(), message)
                        .hint(
                            "approve it again, if that is the program to run; or use the PATH of before, or write the \
                             path of the program in `command` of the entry",
                        )
                }
                Change::Code if !files.is_empty() => {
                    let names = files.iter().take(MAX_SHOWN_FILES).map(|path| format!("`{path}`"));
                    let names = names.collect::<Vec<_>>().join(", ");
                    let more = if MAX_SHOWN_FILES < files.len() { " and more" } else { "" };
                    blocker.field("command").hint(format!("check {names}{more}"))
                }
                Change::Policy => {
                    let step = NextStep::ExplainPolicy(call.tool_id.clone());
                    blocker.hint(Hint::to("see what it decides", step))
                }
                _ => blocker,
            }
        });
        blockers.collect()
    }
}
