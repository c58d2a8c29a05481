//! The gate before a run. Only a [`VerifiedCall`] can run, and only [`verify`] creates one.

use brigade_cmdline::Argv;
use brigade_core::text::escape_terminal;
use brigade_core::{CallId, ErrorCode, Hint, NextStep, StepFormatter, Timestamp};
use brigade_policy::{Blocker, Decision};

use crate::binding::{Binding, Change};
use crate::call::Call;
use crate::checkpoint::Checkpoint;
use crate::facts::RuntimeFact;
use crate::plan::Plan;
use crate::queueing::decides_the_same;
use crate::receipt::RuntimeStatus;
use crate::status::{CallStatus, Step};

/// The kind of run that a call is verified for.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// Its first run.
    Run,
    /// A run that resumes after these checkpoints, which are all that the last run created.
    Resume(&'a [Checkpoint]),
}

/// An approved call whose bound inputs have not changed.
#[derive(Clone, Debug)]
pub struct VerifiedCall {
    call: Call,
    plan: Plan,
    argv: Option<Argv>,
    resume: Option<Resume>,
    runtime: Option<RuntimeStatus>,
}

/// The checkpoints of a resumed run.
#[derive(Clone, Debug, PartialEq)]
pub struct Resume {
    /// The checkpoint that was named.
    pub checkpoint: Checkpoint,
    /// The other checkpoints of the previous run; all were approved.
    pub others: Vec<Checkpoint>,
}

impl Resume {
    /// Returns all checkpoints that the call resumes after, the named one first.
    pub fn checkpoints(&self) -> impl Iterator<Item = &Checkpoint> {
        std::iter::once(&self.checkpoint).chain(&self.others)
    }
}

/// Why a call was refused, with all blockers.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The reasons, never empty.
    pub blockers: Vec<Blocker>,
    /// The bound inputs that changed since the approval.
    pub changes: Vec<Change>,
    /// The changes that are explained by another `PATH`, if any.
    pub moved: Option<MovedProgram>,
}

impl Refusal {
    /// Formats the next steps of the blockers.
    #[must_use]
    pub fn spelled(mut self, speller: &dyn StepFormatter) -> Refusal {
        self.blockers.iter_mut().for_each(|blocker| blocker.spell(speller));
        self
    }
}

/// Compares a call with a plan of the same arguments and current facts.
///
/// # Errors
/// Returns every reason why the call cannot run as approved: its status, its blockers, and all bound inputs that
/// changed.
pub fn verify(
    call: Call,
    plan: Plan,
    runtime: RuntimeFact,
    purpose: Purpose<'_>,
    now: Timestamp,
) -> Result<VerifiedCall, Box<Refusal>> {
    let invalid = |blocker: &&Blocker| blocker.is_of_invalid_policy();
    let mut blockers: Vec<Blocker> = plan.blockers().iter().filter(invalid).cloned().collect();
    if !blockers.is_empty() {
        // The decision of a valid policy is unknown, so no other reason is certain.
        let changes = bound_changes(&call, &plan);
        return Err(Box::new(Refusal { blockers, changes, moved: None }));
    }
    status_blockers(&call, &plan, purpose, now, &mut blockers);
    let is_said = plan.blockers().iter().any(|blocker| blocker.is(ErrorCode::FamilyNotExecutable));
    if !plan.is_executable() && !is_said {
        let message = format!("tools of the family `{}` are not executed", plan.family());
        blockers.push(Blocker::new(ErrorCode::FamilyNotExecutable, message).field("family"));
    }
    let changes = bound_changes(&call, &plan);
    let moved = moved_program(&call, &plan, &changes);
    let is_explained = |change: &Change| moved.as_ref().is_some_and(|moved| moved.explains.contains(change));
    for change in changes.iter().filter(|change| !is_explained(change)) {
        let hint = match change {
            Change::Pin => Hint::from("`")
                .then(NextStep::ShowPin(call.tool_id.clone()))
                .then("` shows the change; queue the call again and approve it, if that is wanted"),
            Change::NothingBound | Change::Rule => "queue the call again and approve it".into(),
            _ => "queue the call again and approve it, if the change is wanted".into(),
        };
        let message = match change {
            Change::NothingBound | Change::Rule => change.to_string(),
            change => format!("changed since it was approved: {change}"),
        };
        blockers.push(Blocker::new(change.code(), message).hint(hint));
    }
    blockers.extend(moved.iter().map(|moved| moved.blocker.clone()));
    blockers.extend(stored_blockers(&call));
    // The reason about `PATH` already says that the program was not found.
    let is_told = |blocker: &&Blocker| moved.is_some() && blocker.is(ErrorCode::ProgramNotFound);
    blockers.extend(plan.blockers().iter().filter(|blocker| !is_told(blocker)).cloned());
    let runtime = match runtime {
        RuntimeFact::NotNeeded => None,
        RuntimeFact::Ready(runtime) => Some(*runtime),
        RuntimeFact::NotReady(reasons) => {
            blockers.extend(reasons);
            None
        }
    };
    match plan.argv().cloned() {
        argv if blockers.is_empty() && (argv.is_some() || plan.acts_inside()) => {
            let resume = match purpose {
                Purpose::Run => None,
                Purpose::Resume(checkpoints) => checkpoints.split_first().map(|(checkpoint, others)| {
                    Resume { checkpoint: checkpoint.clone(), others: others.to_vec() }
                }),
            };
            Ok(VerifiedCall { call, plan, argv, resume, runtime })
        }
        _ => Err(Box::new(Refusal { blockers, changes, moved })),
    }
}

fn status_blockers(
    call: &Call,
    plan: &Plan,
    purpose: Purpose<'_>,
    now: Timestamp,
    blockers: &mut Vec<Blocker>,
) {
    let step = match purpose {
        Purpose::Run => Step::Claim,
        Purpose::Resume(_) => Step::ClaimResume,
    };
    if !call.status.allows(step) {
        blockers.push(status_blocker(call, plan, now));
    }
    if let Purpose::Resume(checkpoints) = purpose {
        if checkpoints.is_empty() {
            blockers.push(Blocker::new(
                ErrorCode::CheckpointMissing,
                "the call has no checkpoint to resume after",
            ));
        }
        for checkpoint in checkpoints {
            if let Err(refusal) = checkpoint.check_resumable(now) {
                blockers.push(Blocker::new(
                    ErrorCode::Checkpoint,
                    format!("checkpoint {}: {refusal}", checkpoint.id),
                ));
            }
        }
    }
}

fn status_blocker(call: &Call, plan: &Plan, now: Timestamp) -> Blocker {
    let message = match &call.status {
        CallStatus::Pending if call.is_approved_elsewhere() => {
            "the call is pending: it is not approved on this host".to_owned()
        }
        CallStatus::Pending => "the call is pending: it is not approved yet".to_owned(),
        CallStatus::Held => "the call is held".to_owned(),
        CallStatus::Approved => "the call is approved, and has no checkpoint to resume".to_owned(),
        CallStatus::Completed | CallStatus::Failed | CallStatus::TimedOut | CallStatus::Interrupted => {
            format!("the call is {} and is not run again", call.status)
        }
        CallStatus::Running => "the call is running".to_owned(),
        CallStatus::Waiting => "the call waits for the review of its checkpoint".to_owned(),
        CallStatus::ResumePending => {
            "the call is ready to resume; resume it through its checkpoint".to_owned()
        }
        CallStatus::Rejected | CallStatus::Other(_) => format!("the call is {}", call.status),
    };
    let mut blocker = Blocker::new(ErrorCode::Status, message).field("status");
    blocker.hint = match call.status {
        // Whether it can be approved depends on its plan.
        CallStatus::Pending | CallStatus::Held => call.next_step(Some(plan), now).map(Hint::from),
        _ => way_on(call),
    };
    blocker
}

/// Another program with the same name, found because `PATH` differs.
#[derive(Clone, Debug, PartialEq)]
pub struct MovedProgram {
    /// The changes that it explains.
    pub explains: Vec<Change>,
    /// The reason that names the old and the new program.
    pub blocker: Blocker,
}

impl Refusal {
    /// Returns whether the only change is the program that `PATH` leads to.
    pub(crate) fn is_only_moved(&self) -> bool {
        let moved = self.moved.as_ref();
        moved.is_some_and(|moved| self.changes.iter().all(|change| moved.explains.contains(change)))
    }
}

/// Explains the changes of a program that was found elsewhere, once.
fn moved_program(call: &Call, plan: &Plan, changes: &[Change]) -> Option<MovedProgram> {
    if !changes.contains(&Change::ProgramPath) {
        return None;
    }
    let word = plan.argv()?.program();
    let approval = call.approval.as_ref()?;
    let was = &approval.binding.program.as_ref()?.path;
    let now = plan.binding().program.as_ref().map(|program| &program.path);
    // If the command names a path or the contract differs, the entry was edited.
    if word.contains('/') || approval.binding.contract != plan.binding().contract {
        return None;
    }
    let same_policy = || call.policy.as_ref().is_some_and(|then| decides_the_same(then, plan.policy()));
    let is_explained = |change: &&Change| match change {
        Change::ProgramPath | Change::ProgramBytes => true,
        // Launchers and interpreters of the program, and neighbouring files that only one of the two programs reads.
        Change::File(path) => {
            let [was, now] = [&approval.binding, plan.binding()].map(|of| of.files.contains_key(path));
            path.starts_with('/') || was != now
        }
        Change::Policy => same_policy(),
        _ => false,
    };
    let explains: Vec<Change> = changes.iter().filter(is_explained).cloned().collect();
    let was = escape_terminal(was);
    let blocker = match now {
        Some(now) => {
            let [word, now] = [word, now].map(escape_terminal);
            let message = format!("the program `{word}` was {was} and is {now}, because PATH differs");
            let hint =
                format!("run with the PATH of the approval, or write `{was}` in `command` of the entry");
            Blocker::new(Change::ProgramPath.code(), message).hint(hint)
        }
        None => {
            let not_found = |blocker: &&Blocker| blocker.is(ErrorCode::ProgramNotFound);
            let mut missing = plan.blockers().iter().find(not_found)?.clone();
            // All other differences follow from that and are not reported.
            let word = escape_terminal(word);
            missing.message = format!(
                "the program `{word}` was {was} and is not found now: PATH differs, or it was removed"
            );
            let hint =
                format!("run with the PATH of the approval, or write `{was}` in `command` of the entry");
            missing.hint(hint)
        }
    };
    Some(MovedProgram { explains, blocker })
}

/// Returns the next step for a call with this status, if there is one.
pub fn way_on(call: &Call) -> Option<Hint> {
    let id = || call.id.clone();
    let run = || call.claim.as_ref().map(|claim| claim.run_id.clone());
    match &call.status {
        CallStatus::Approved | CallStatus::ResumePending if call.caller.agent().is_some() => {
            call.caller.agent().map(|agent| NextStep::AgentGoesOn(agent.to_owned()).into())
        }
        CallStatus::Completed | CallStatus::Failed | CallStatus::TimedOut | CallStatus::Interrupted
            if call.caller.agent().is_some() =>
        {
            run().map(|run| NextStep::ShowRun(run).into())
        }
        CallStatus::Pending | CallStatus::Held => Some(NextStep::Approve(id()).into()),
        CallStatus::Approved => Some(NextStep::RunCall(id()).into()),
        CallStatus::Completed | CallStatus::Failed | CallStatus::TimedOut | CallStatus::Interrupted => {
            run().map(|run| NextStep::Replay(run).into())
        }
        CallStatus::Running => run().map(|run| NextStep::FollowOutput(run).into()),
        CallStatus::Waiting => Some(
            Hint::from(NextStep::ListCheckpoints).or_else(Hint::to("end the call", NextStep::Reject(id()))),
        ),
        // Brigade v0.30 bound nothing, so such a call cannot be resumed.
        CallStatus::ResumePending if call.approval.is_none() => {
            Some(Hint::to("end the call", NextStep::Reject(id())))
        }
        CallStatus::ResumePending => {
            call.checkpoint_ids.first().map(|id| NextStep::Resume(id.clone()).into())
        }
        // Its caller sees the rejection and can queue another call.
        CallStatus::Rejected if call.caller.agent().is_some() => None,
        CallStatus::Rejected => {
            let words =
                "a rejected call cannot be queued again: use other arguments, or change the tool's contract";
            Some(Hint::from(words))
        }
        CallStatus::Other(_) => None,
    }
}

/// Lists the differences between the approval and the plan, and between the approval and the record.
fn bound_changes(call: &Call, plan: &Plan) -> Vec<Change> {
    let Some(approval) = &call.approval else {
        return if call.status.allows(Step::Claim) || call.status.allows(Step::ClaimResume) {
            vec![Change::NothingBound]
        } else {
            Vec::new()
        };
    };
    let mut changes = approval.binding.changes(plan.binding());
    // A binding of an earlier version cannot be compared with the current one.
    if changes.contains(&Change::Rule) {
        return changes;
    }
    // The record that a person sees must match the approval, too.
    let shown_differs = !plan.has_arguments(call) || call.tool_id != plan.tool_id();
    if shown_differs && !changes.contains(&Change::Args) {
        changes.insert(0, Change::Args);
    }
    let mut differs = |differs: bool, change: Change| {
        if differs && !changes.contains(&change) {
            changes.push(change);
        }
    };
    differs(!plan.has_command(call), Change::Contract);
    differs(call.caller != approval.binding.caller, Change::Caller);
    let bound = call.session.as_ref().and_then(|session| session.bound(&call.tool_id));
    differs(bound != approval.binding.session, Change::Session);
    let [contract, source] = call.fingerprints_differ(&approval.binding);
    differs(contract || !plan.has_contract(call) || call.family != *plan.family(), Change::Contract);
    differs(source, Change::Source);
    if !call.is_approval_of(approval) {
        changes.push(Change::Approval);
    }
    changes
}

/// Returns the blockers in the record of an approved call. An approved call has none, so these were added later.
fn stored_blockers(call: &Call) -> impl Iterator<Item = Blocker> {
    let stored = call.approval.iter().flat_map(|_| &call.blockers);
    stored.map(|stored| {
        let message = format!("the record of the approved call contains a blocker: {stored}");
        Blocker::new(ErrorCode::Stored, message)
            .field("blockers")
            .hint("queue the call again, then approve it")
    })
}

impl VerifiedCall {
    /// Returns the call as it is in the queue.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// Returns the call's id.
    pub fn id(&self) -> &CallId {
        &self.call.id
    }

    /// Returns the words of the command line, program first. Empty if no program is started.
    pub fn argv(&self) -> &[String] {
        self.argv.as_ref().map_or(&[], Argv::words)
    }

    /// Returns the policy's decision.
    pub fn decision(&self) -> &Decision {
        self.plan.decision()
    }

    /// Returns the binding, which matches the approval.
    pub fn binding(&self) -> &Binding {
        self.plan.binding()
    }

    /// Returns the plan that was verified.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the labels of the variables that the program gets.
    pub fn env_labels(&self) -> &[String] {
        self.plan.env_labels()
    }

    /// Returns the directory that the program starts in, as the catalog names it; absent for the workspace.
    pub fn directory(&self) -> Option<&str> {
        self.plan.directory()
    }

    /// Returns the runtime that the call depends on, as receipts show it.
    pub fn runtime(&self) -> Option<&RuntimeStatus> {
        self.runtime.as_ref()
    }

    /// Returns the checkpoints of a resumed run.
    pub fn resume(&self) -> Option<&Resume> {
        self.resume.as_ref()
    }
}

#[cfg(test)]
mod tests;
