//! A call in the queue and the steps of its lifecycle.

use std::collections::BTreeMap;

use brigade_catalog::Family;
use brigade_core::{
    CallId, CheckpointId, Fingerprint, FingerprintBuilder, Json, Object, RecordedWord, RunId, Timestamp,
};
use brigade_policy::{Blocker, CallKind, PolicyDecision};
use brigade_projection::ProjectionSummary;
use serde::{Deserialize, Serialize};

use crate::approver::ApprovedBy;
use crate::binding::{Binding, Caller};
use crate::contract::ContractLabels;
use crate::judged::Judgement;
use crate::session::CallSession;
use crate::status::{CallStatus, Step, WrongStep};

/// The reason that is shown for a call whose approval this host has not signed.
pub const NOT_APPROVED_HERE: &str = "not approved on this host";

/// A stored call with its history.
///
/// The fields mirror the record. Use [`Call::approve`] and the other steps to change the status; they refuse invalid
/// transitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its id.
    pub id: CallId,
    /// Its status.
    pub status: CallStatus,
    /// When it was queued; absent in damaged records of other programs.
    pub created_at: Option<Timestamp>,
    /// When a person last decided.
    pub reviewed_at: Option<Timestamp>,
    /// The reason, if it was rejected or held.
    pub review_reason: Option<String>,
    /// Whether its caller withdrew it. A person did not decide this.
    pub withdrawn: bool,
    /// The caller.
    pub caller: Caller,
    /// The session in which the agent requested it.
    pub session: Option<CallSession>,
    /// A judge's answer about it, if a judge was asked.
    pub judge: Option<Judgement>,
    /// The tool's id.
    pub tool_id: String,
    /// What the call does with the tool; absent in older records, whose calls [run](Call::kind) it.
    pub stated_kind: Option<CallKind>,
    /// The tool's family.
    pub family: RecordedWord<Family>,
    /// The command of the tool, without arguments.
    pub command: Option<String>,
    /// The arguments as given, without secrets.
    pub args: Json,
    /// The rendered arguments, without secrets.
    pub arguments: BTreeMap<String, String>,
    /// The contract's labels when the call was planned.
    pub contract: ContractLabels,
    /// Why the call could not run when it was planned.
    pub blockers: Vec<Blocker>,
    /// The policy's decision when the call was planned.
    pub policy: Option<PolicyDecision>,
    /// The projections when the call was planned.
    pub projection_summary: Option<ProjectionSummary>,
    /// The fingerprint of the contract; 16 digits in v0.30 records.
    pub contract_fingerprint: Option<String>,
    /// The source's fingerprint.
    pub source_fingerprint: Option<String>,
    /// The fingerprint of the request.
    pub call_fingerprint: Option<String>,
    /// The fingerprint of everything that an approval would have bound when the call was planned; absent in v0.30
    /// records.
    pub planned_binding: Option<Fingerprint>,
    /// The part of it that binds the listing of an MCP tool.
    pub planned_pin: Option<Fingerprint>,
    /// The [fingerprint of the code](Binding::code_fingerprint) that the call would have run when it was planned;
    /// absent in older records.
    pub planned_code: Option<Fingerprint>,
    /// The program that `PATH` led to when the call was planned; absent if the command names a path, and in older
    /// records.
    pub planned_program: Option<String>,
    /// The last approval and what it bound.
    pub approval: Option<Approval>,
    /// The approvals of a call that needs several people; absent otherwise, and in records.
    pub approvals: Option<Approvals>,
    /// The last run that claimed it.
    pub claim: Option<Claim>,
    /// When that run started.
    pub started_at: Option<Timestamp>,
    /// When that run ended.
    pub completed_at: Option<Timestamp>,
    /// The receipt of that run.
    pub receipt: Option<ReceiptLink>,
    /// The exit code of that run; negative for a signal.
    pub exit_code: Option<i64>,
    /// Whether that run timed out.
    pub timed_out: Option<bool>,
    /// The checkpoints of the run that it waits on, in the order of their creation.
    pub checkpoint_ids: Vec<CheckpointId>,
    /// The run that it replays.
    pub replay: Option<ReplayOf>,
    /// The checkpoint after which the last finished run resumed.
    pub resume_checkpoint_id: Option<CheckpointId>,
    /// Members that this version does not know.
    pub extra: Object,
}

/// The current state of a call's inputs, shown before they are approved.
#[derive(Clone, Debug, PartialEq)]
pub struct Replan {
    pub(crate) policy: PolicyDecision,
    pub(crate) projection_summary: ProjectionSummary,
    pub(crate) binding: Binding,
    pub(crate) program: Option<String>,
}

/// An approval of exactly what is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The approved inputs.
    pub binding: Binding,
    /// Who or what approved it.
    pub by: ApprovedBy,
    /// The fingerprint over the call's identity, the review and the binding.
    pub fingerprint: Fingerprint,
    /// The [host parts](Binding::host_part) of the other hosts that it covers. What was signed decides.
    pub hosts: Vec<Fingerprint>,
}

/// The approvals of a call in the queue of a team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Approvals {
    /// How many people have approved it.
    pub have: u64,
    /// How many people must approve it.
    pub need: u64,
    /// The members of the team who approved it, in this order.
    pub by: Vec<String>,
}

/// The process that runs a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The run.
    pub run_id: RunId,
    /// The process that claimed it; absent in records of v0.30.
    pub runner: Option<Runner>,
}

/// Identifies one process on this host until the next boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Runner {
    /// The process id.
    pub pid: u32,
    /// When it started, in the kernel's clock ticks.
    pub start_time: u64,
    /// The boot it belongs to.
    pub boot_id: String,
}

/// The location of a receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptLink {
    /// The receipt's file, relative to the workspace.
    pub path: String,
    /// Its place in the ledger; absent in records of v0.30.
    pub ledger: Option<LedgerLink>,
}

/// A place in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerLink {
    /// The sequence number, from 1.
    pub sequence: u64,
    /// The sha256 of the receipt's bytes.
    pub sha256: Fingerprint,
}

/// The run that a call replays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayOf {
    /// The run that is replayed.
    pub run_id: String,
    /// The call of that run.
    pub source_call_id: Option<String>,
    /// When the replay was requested.
    pub created_at: Timestamp,
}

/// The outcome of a run, for its call.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEnd {
    /// Completed, failed, timed out, waiting or interrupted.
    pub status: CallStatus,
    /// When the run ended.
    pub completed_at: Timestamp,
    /// The exit code; negative for a signal, absent when the program was not started or its end was not seen.
    pub exit_code: Option<i64>,
    /// Whether it timed out.
    pub timed_out: bool,
    /// The checkpoints it waits on; empty unless it waits.
    pub checkpoint_ids: Vec<CheckpointId>,
    /// The checkpoint after which it resumed.
    pub resume_checkpoint_id: Option<CheckpointId>,
    /// Where its receipt is.
    pub receipt: ReceiptLink,
}

/// Returns the value, or an empty object for null.
fn members(members: Option<Object>) -> Json {
    Json::Object(members.unwrap_or_default())
}

impl Call {
    /// Returns what the call does with its tool.
    pub fn kind(&self) -> CallKind {
        self.stated_kind.unwrap_or_default()
    }

    /// Returns whether the call was approved, including by Brigade v0.30, whose approvals bound nothing.
    pub fn was_approved(&self) -> bool {
        self.approval.is_some() || self.claim.is_some() && self.reviewed_at.is_some()
    }

    /// Returns the id of the next run of this call. Every attempt to run it gets the same id. So a run that the queue
    /// has lost is found by its receipt and its logs.
    pub fn next_run_id(&self) -> RunId {
        let created_at = self.created_at.map(|at| at.to_string());
        let fingerprint = Fingerprint::builder("brigade.run-id.v2")
            .text("call_id", self.id.as_str())
            .text("created_at", created_at.as_deref())
            .text("previous_run_id", self.claim.as_ref().map(|claim| claim.run_id.as_str()))
            .finish();
        format!("run-{}", fingerprint.short()).parse().expect("hex digits and dashes are an id")
    }

    /// Approves the bound inputs. Runs nothing.
    ///
    /// # Errors
    /// Fails unless the call is pending or held.
    pub fn approve(mut self, binding: Binding, by: ApprovedBy, at: Timestamp) -> Result<Call, WrongStep> {
        self.status.check(Step::Approve)?;
        self.status = CallStatus::Approved;
        self.reviewed_at = Some(at);
        self.review_reason = None;
        self.blockers.clear();
        let fingerprint = self.approval_fingerprint(&binding, &by);
        self.approval = Some(Approval { binding, by, fingerprint, hosts: Vec::new() });
        Ok(self)
    }

    /// Lets the approval cover other hosts, whose offers were shown.
    #[must_use]
    pub fn covering(mut self, hosts: Vec<Fingerprint>) -> Call {
        if let Some(approval) = &mut self.approval {
            approval.hosts = hosts;
        }
        self
    }

    /// Returns the call as it is approved for another host that its approval covers.
    #[must_use]
    pub fn for_host(mut self, binding: &Binding) -> Call {
        if let Some(approval) = self.approval.take() {
            let fingerprint = match self.is_approval_of(&approval) {
                true => self.approval_fingerprint(binding, &approval.by),
                false => approval.fingerprint,
            };
            self.approval = Some(Approval { binding: binding.clone(), fingerprint, ..approval });
        }
        self
    }

    /// Replaces the queued inputs with their current state. The status does not change.
    ///
    /// # Errors
    /// Fails unless the call is pending or held.
    pub fn replan(mut self, replan: Replan) -> Result<Call, WrongStep> {
        self.status.check(Step::Approve)?;
        self.policy = Some(replan.policy);
        self.projection_summary = Some(replan.projection_summary);
        self.planned_binding = Some(replan.binding.fingerprint());
        self.planned_pin = replan.binding.pin;
        self.planned_code = Some(replan.binding.code_fingerprint());
        self.planned_program = replan.program;
        Ok(self)
    }

    /// Rejects the call. A waiting or resumable call keeps the data of its runs.
    ///
    /// # Errors
    /// Fails if the call is running or finished.
    pub fn reject(self, reason: &str, at: Timestamp) -> Result<Call, WrongStep> {
        self.decline(Step::Reject, CallStatus::Rejected, reason, at)
    }

    /// Puts the call on hold until it is approved or rejected.
    ///
    /// # Errors
    /// Fails unless the call is pending, held or approved.
    pub fn hold(self, reason: &str, at: Timestamp) -> Result<Call, WrongStep> {
        self.decline(Step::Hold, CallStatus::Held, reason, at)
    }

    /// Returns what approved the call without a person, if it is approved so.
    pub fn approved_without_person(&self) -> Option<&ApprovedBy> {
        self.approval.as_ref().map(|approval| &approval.by).filter(|by| !by.is_person())
    }

    /// Withdraws an approval, so that the call needs a new decision.
    ///
    /// # Errors
    /// Fails unless the call is pending, held or approved.
    pub fn reopen(self, reason: &str, at: Timestamp) -> Result<Call, WrongStep> {
        self.decline(Step::Hold, CallStatus::Pending, reason, at)
    }

    /// Returns the call as it counts if this host has not signed its approval: without it. If it could run or resume
    /// because of it, it is pending again.
    #[must_use]
    pub fn not_approved_here(mut self) -> Call {
        let counted = matches!(self.status, CallStatus::Waiting | CallStatus::ResumePending);
        if self.status == CallStatus::Approved || counted && self.approval.is_some() {
            self.status = CallStatus::Pending;
            self.review_reason = Some(NOT_APPROVED_HERE.to_owned());
            self.checkpoint_ids.clear();
        }
        self.approval = None;
        self
    }

    /// Returns whether the call is pending only because this host has not signed its approval.
    pub fn is_approved_elsewhere(&self) -> bool {
        self.status == CallStatus::Pending && self.review_reason.as_deref() == Some(NOT_APPROVED_HERE)
    }

    /// Withdraws the call for its caller. Unlike a rejected call, it may be requested again.
    ///
    /// # Errors
    /// Fails if the call is running or finished.
    pub fn withdraw(self, reason: &str, at: Timestamp) -> Result<Call, WrongStep> {
        let call = self.decline(Step::Reject, CallStatus::Rejected, reason, at)?;
        Ok(Call { withdrawn: true, ..call })
    }

    fn decline(mut self, step: Step, to: CallStatus, reason: &str, at: Timestamp) -> Result<Call, WrongStep> {
        self.status.check(step)?;
        self.status = to;
        self.reviewed_at = Some(at);
        self.review_reason = Some(reason.to_owned());
        self.approval = None;
        Ok(self)
    }

    /// Claims an approved call for a run.
    ///
    /// # Errors
    /// Fails unless the call is approved.
    pub fn claim(self, claim: Claim, at: Timestamp) -> Result<Call, WrongStep> {
        self.start(Step::Claim, claim, at)
    }

    /// Claims a resumable call for its next run.
    ///
    /// # Errors
    /// Fails unless the call is ready to resume.
    pub fn claim_resume(self, claim: Claim, at: Timestamp) -> Result<Call, WrongStep> {
        self.start(Step::ClaimResume, claim, at)
    }

    fn start(mut self, step: Step, claim: Claim, at: Timestamp) -> Result<Call, WrongStep> {
        self.status.check(step)?;
        self.status = CallStatus::Running;
        self.claim = Some(claim);
        self.started_at = Some(at);
        self.completed_at = None;
        self.receipt = None;
        self.exit_code = None;
        self.timed_out = None;
        Ok(self)
    }

    /// Records how the run that claimed the call ended.
    ///
    /// # Errors
    /// Fails unless the call is running.
    pub fn finish(mut self, end: RunEnd) -> Result<Call, WrongStep> {
        self.status.check(Step::Finish)?;
        self.status = end.status;
        self.completed_at = Some(end.completed_at);
        self.exit_code = end.exit_code;
        self.timed_out = Some(end.timed_out);
        self.receipt = Some(end.receipt);
        if !end.checkpoint_ids.is_empty() {
            self.checkpoint_ids = end.checkpoint_ids;
        }
        if end.resume_checkpoint_id.is_some() {
            self.resume_checkpoint_id = end.resume_checkpoint_id;
        }
        Ok(self)
    }

    /// Makes a waiting call ready to resume, because all its checkpoints are approved.
    ///
    /// # Errors
    /// Fails unless the call waits.
    pub fn ready_to_resume(mut self, at: Timestamp) -> Result<Call, WrongStep> {
        self.status.check(Step::ReadyToResume)?;
        self.status = CallStatus::ResumePending;
        self.reviewed_at = Some(at);
        if let Some(approval) = self.approval.take() {
            let fingerprint = self.approval_fingerprint(&approval.binding, &approval.by);
            self.approval = Some(Approval { fingerprint, ..approval });
        }
        Ok(self)
    }

    /// Returns the fingerprint that an approval of this call must have. It covers the review, the binding, who or what
    /// approved, and the policy and projections in the record. The rest of the record is compared directly.
    pub fn approval_fingerprint(&self, binding: &Binding, by: &ApprovedBy) -> Fingerprint {
        let reviewed = self.reviewed("brigade.approval.v2", binding);
        let reviewed = by.add_to(reviewed);
        reviewed
            .json("policy", &members(self.policy.as_ref().map(PolicyDecision::to_members)))
            .json(
                "projection_summary",
                &members(self.projection_summary.as_ref().map(ProjectionSummary::to_members)),
            )
            .finish()
    }

    /// Returns whether the approval has the right fingerprint. Fingerprints of earlier versions cover less.
    pub(crate) fn is_approval_of(&self, approval: &Approval) -> bool {
        let earlier = || self.reviewed("brigade.approval.v1", &approval.binding).finish();
        approval.fingerprint == self.approval_fingerprint(&approval.binding, &approval.by)
            || approval.by.is_usual() && approval.fingerprint == earlier()
    }

    fn reviewed(&self, label: &'static str, binding: &Binding) -> FingerprintBuilder {
        Fingerprint::builder(label)
            .text("id", self.id.as_str())
            .text("tool_id", self.tool_id.as_str())
            .text("reviewed_at", self.reviewed_at.map(|at| at.to_string()).as_deref())
            .text("review_reason", self.review_reason.as_deref())
            .text("call_fingerprint", self.call_fingerprint.as_deref())
            .fingerprint("binding", binding.fingerprint())
    }

    /// Returns whether a newer plan shows that the approved inputs have changed, such as the bytes of the program. Such
    /// a call can never run, so it is not a duplicate.
    fn is_outdated_beside(&self, newer: &Call) -> bool {
        match (&self.approval, newer.planned_binding) {
            (Some(approval), Some(planned)) => {
                // An approval from before the first use of an MCP tool accepts the pin of that use.
                let pin = approval.binding.pin.or(newer.planned_pin);
                Binding { pin, ..approval.binding.clone() }.fingerprint() != planned
            }
            _ => false,
        }
    }

    /// Returns whether this call is a duplicate of another: same tool, arguments, contract and source.
    ///
    /// v0.30 records have shorter fingerprints, so their content is compared instead.
    pub fn asks_the_same_as(&self, other: &Call) -> bool {
        let is_full = |call: &Call| call.call_fingerprint.as_ref().is_some_and(|digits| digits.len() == 64);
        if is_full(self) && is_full(other) {
            return self.call_fingerprint == other.call_fingerprint;
        }
        let same_source = match (&self.source_fingerprint, &other.source_fingerprint) {
            (Some(left), Some(right)) => left.starts_with(right.as_str()) || right.starts_with(left.as_str()),
            (left, right) => left.is_none() && right.is_none(),
        };
        same_source
            && self.tool_id == other.tool_id
            && self.family == other.family
            && self.command == other.command
            && self.args == other.args
            && self.arguments == other.arguments
            && self.contract == other.contract
    }
}

/// What to do with a new call that may be a duplicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Duplicate {
    /// It is not a duplicate.
    No,
    /// This duplicate already waits for a decision or a run.
    Queued(CallId),
    /// This duplicate was rejected; the arguments or the contract must change first.
    Rejected(CallId),
}

/// Finds the first call in `existing`, in order of creation, that `new` duplicates.
pub fn find_duplicate<'a>(existing: impl IntoIterator<Item = &'a Call>, new: &Call) -> Duplicate {
    for call in existing {
        let blocks = match call.status {
            CallStatus::Pending | CallStatus::Approved => Duplicate::Queued(call.id.clone()),
            // A call that had run was not rejected because of its request.
            CallStatus::Rejected if call.claim.is_none() && !call.withdrawn => {
                Duplicate::Rejected(call.id.clone())
            }
            CallStatus::Rejected
            | CallStatus::Held
            | CallStatus::Running
            | CallStatus::Waiting
            | CallStatus::ResumePending
            | CallStatus::Completed
            | CallStatus::Failed
            | CallStatus::TimedOut
            | CallStatus::Interrupted
            | CallStatus::Other(_) => continue,
        };
        if call.caller.shares_calls_with(&new.caller)
            && call.asks_the_same_as(new)
            && !call.is_outdated_beside(new)
        {
            return blocks;
        }
    }
    Duplicate::No
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(text: &str) -> Fingerprint {
        Fingerprint::of_bytes(text.as_bytes())
    }

    fn binding(program: &str) -> Binding {
        Binding {
            version: Some(crate::RULE_VERSION),
            args: mark("args"),
            contract: mark("contract"),
            source: String::new(),
            projections: mark("projections"),
            policy: mark("policy"),
            program: None,
            files: BTreeMap::from([("bin/a.sh".to_owned(), mark(program))]),
            learned: Vec::new(),
            directory: None,
            pin: None,
            server: None,
            caller: Caller::CommandLine,
            session: None,
            named: BTreeMap::new(),
        }
    }

    /// A pending call that was planned with these bytes of its program.
    fn call(id: &str, program: &str) -> Call {
        let record = Json::object([
            ("record_version", Json::from(1)),
            ("id", Json::from(id)),
            ("status", Json::from("pending")),
            ("tool_id", Json::from("greet")),
            ("call_fingerprint", Json::from(mark("what is asked").to_hex())),
        ]);
        let (call, _) = Call::from_record(record).unwrap();
        Call { planned_binding: Some(binding(program).fingerprint()), ..call }
    }

    fn approved(program: &str) -> Call {
        call("call-1", program)
            .approve(binding(program), ApprovedBy::command_line(), Timestamp::from_unix_micros(0))
            .unwrap()
    }

    #[track_caller]
    fn check(existing: &Call, expect: Duplicate) {
        assert_eq!(find_duplicate([existing], &call("call-2", "new")), expect);
    }

    #[test]
    fn pending_and_approved_calls_make_duplicates() {
        let id: CallId = "call-1".parse().unwrap();
        check(&call("call-1", "new"), Duplicate::Queued(id.clone()));
        check(&call("call-1", "old"), Duplicate::Queued(id.clone()));
        check(&approved("new"), Duplicate::Queued(id.clone()));
        check(
            &call("call-1", "old").reject("no", Timestamp::from_unix_micros(0)).unwrap(),
            Duplicate::Rejected(id),
        );
    }

    #[test]
    fn an_outdated_approval_does_not_make_a_duplicate() {
        check(&approved("old"), Duplicate::No);
    }

    #[test]
    fn an_approval_counts_only_for_its_listing() {
        let pinned = |pin: &str| {
            let binding = Binding { pin: Some(mark(pin)), ..binding("new") };
            let planned = Call { planned_pin: binding.pin, ..call("call-2", "new") };
            (Call { planned_binding: Some(binding.fingerprint()), ..planned }, binding)
        };
        let (newer, binding) = pinned("one");
        let id: CallId = "call-1".parse().unwrap();
        assert_eq!(find_duplicate([&approved("new")], &newer), Duplicate::Queued(id.clone()));
        let approved = call("call-1", "new")
            .approve(binding, ApprovedBy::command_line(), Timestamp::from_unix_micros(0))
            .unwrap();
        assert_eq!(find_duplicate([&approved], &newer), Duplicate::Queued(id));
        assert_eq!(find_duplicate([&approved], &pinned("two").0), Duplicate::No);
    }

    #[test]
    fn other_statuses_and_other_questions_do_not_count() {
        let held = call("call-1", "new").hold("later", Timestamp::from_unix_micros(0)).unwrap();
        check(&held, Duplicate::No);
        check(
            &Call { call_fingerprint: Some(mark("else").to_hex()), ..call("call-1", "new") },
            Duplicate::No,
        );
    }
}
