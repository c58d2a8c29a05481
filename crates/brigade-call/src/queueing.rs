//! Turns a plan into a call in the queue, and into an approval.

use brigade_core::{CallId, ErrorCode, Fingerprint, Json, Timestamp};
use brigade_policy::{Blocker, PolicyDecision};

use crate::binding::{Binding, Change};
use crate::call::{Call, Replan, ReplayOf};
use crate::plan::Plan;
use crate::status::CallStatus;

impl Plan {
    /// Creates the pending call of this plan, with an id for which `is_taken` returns false.
    ///
    /// The id is `call-` and the start of the call's fingerprint. If that is taken, a suffix is added that depends on
    /// the time.
    ///
    /// # Panics
    /// Panics if the plan [holds a secret](Plan::holds_secret). Refuse such a plan first.
    pub fn to_call(
        &self,
        now: Timestamp,
        replay: Option<ReplayOf>,
        is_taken: impl Fn(&CallId) -> bool,
    ) -> Call {
        assert!(!self.holds_secret(), "a plan that holds a secret is never stored");
        self.call(now, replay, is_taken)
    }

    /// Creates the call of this plan for display, not for storage. Secrets are masked.
    pub fn shown_call(&self, now: Timestamp) -> Call {
        self.call(now, None, |_| false)
    }

    fn call(&self, now: Timestamp, replay: Option<ReplayOf>, is_taken: impl Fn(&CallId) -> bool) -> Call {
        let kind = if replay.is_some() { "replay" } else { "queued" };
        Call {
            id: self.free_id(kind, now, is_taken),
            status: CallStatus::Pending,
            created_at: Some(now),
            reviewed_at: None,
            review_reason: None,
            withdrawn: false,
            caller: self.caller().clone(),
            session: self.session().cloned(),
            judge: self.judge().cloned(),
            tool_id: self.tool_id().to_owned(),
            stated_kind: Some(self.kind()),
            family: self.family().clone(),
            command: self.command().map(str::to_owned),
            args: self.args().clone(),
            arguments: self.arguments().clone(),
            contract: self.shown_contract().clone(),
            blockers: self.blockers().to_vec(),
            policy: Some(self.policy().clone()),
            projection_summary: Some(self.projection_summary().clone()),
            contract_fingerprint: self.contract_fingerprint(),
            source_fingerprint: self.source_fingerprint(),
            call_fingerprint: Some(self.call_fingerprint().to_hex()),
            planned_binding: Some(self.binding().fingerprint()),
            planned_pin: self.binding().pin,
            planned_code: Some(self.binding().code_fingerprint()),
            planned_program: self.program_on_path().map(str::to_owned),
            approval: None,
            approvals: None,
            claim: None,
            started_at: None,
            completed_at: None,
            receipt: None,
            exit_code: None,
            timed_out: None,
            resume_checkpoint_id: None,
            checkpoint_ids: Vec::new(),
            replay,
            // Documents of a missing tool have `null` here.
            extra: self.is_missing().then(|| ("family".to_owned(), Json::Null)).into_iter().collect(),
        }
    }

    fn free_id(&self, kind: &str, now: Timestamp, is_taken: impl Fn(&CallId) -> bool) -> CallId {
        let base = format!("call-{}", self.call_fingerprint().short());
        let mut attempt: u64 = 0;
        let mut id = base.clone();
        loop {
            let free: CallId = id.parse().expect("hex digits and dashes are an id");
            if !is_taken(&free) {
                return free;
            }
            let suffix = Fingerprint::builder("brigade.call-id.v1")
                .text("at", now.to_string().as_str())
                .text("attempt", attempt.to_string().as_str())
                .finish()
                .short();
            id = format!("{base}-{kind}-{suffix}");
            attempt += 1;
        }
    }

    /// Returns what an approval of `call` binds. This plan must be made from the call's arguments and current facts,
    /// match what was queued, and have no blockers.
    ///
    /// Unset variables in this process are ignored, because the run may have another environment.
    ///
    /// # Errors
    /// Returns every reason why the call cannot be approved.
    pub fn approvable(&self, call: &Call) -> Result<Binding, Vec<Blocker>> {
        let changes = self.changes_since_queued(call);
        let mut reasons: Vec<Blocker> = Vec::new();
        for change in &changes {
            if !self.is_only_written(call, change) {
                reasons.push(changed(change));
                continue;
            }
            let anew = self.written_anew(call, change);
            // A blocked plan may have no arguments to compare, and has its own reasons.
            let is_said = anew.is_some() || !self.blockers().is_empty();
            reasons.extend(anew.or_else(|| (!is_said).then(|| changed(change))));
        }
        let counts = |blocker: &&Blocker| !blocker.is(ErrorCode::PolicyEnvMissing);
        reasons.extend(self.blockers().iter().filter(counts).cloned());
        if reasons.is_empty() { Ok(self.binding().clone()) } else { Err(reasons) }
    }

    /// Returns whether the change is only that v0.30 wrote the arguments in another form.
    fn is_only_written(&self, call: &Call, change: &Change) -> bool {
        *change == Change::Args
            && call.planned_binding.is_none()
            && &call.args == self.args()
            && call.tool_id == self.tool_id()
    }

    /// Returns the reason with the names of the arguments that v0.30 wrote in another form; `None` without such
    /// arguments.
    fn written_anew(&self, call: &Call, change: &Change) -> Option<Blocker> {
        let differs = |(name, text): (&String, &String)| {
            (call.arguments.get(name) != Some(text)).then(|| format!("`{name}`"))
        };
        let names = (!self.has_arguments(call)).then(|| self.arguments().iter().filter_map(differs));
        let names: Vec<String> = names.into_iter().flatten().collect();
        (!names.is_empty()).then(|| {
            let message = format!(
                "the arguments are unchanged, but Brigade v0.30 writes values differently, such as `True` for \
                 `true`: {}",
                names.join(", ")
            );
            Blocker::new(change.code(), message).field("args").hint("queue the call again, and approve the new one")
        })
    }

    /// Lists changes that a person would approve without seeing them. v0.30 records have other fingerprints, so only
    /// their visible fields are compared.
    pub fn changes_since_queued(&self, call: &Call) -> Vec<Change> {
        let mut changes = Vec::new();
        let has_arguments = self.has_arguments(call) && &call.args == self.args();
        if !has_arguments || call.tool_id != self.tool_id() {
            changes.push(Change::Args);
        }
        let [contract, source] = call.fingerprints_differ(self.binding());
        if contract || !self.has_contract(call) {
            changes.push(Change::Contract);
        }
        if source {
            changes.push(Change::Source);
        }
        // An approval accepts a server's change of a tool, but only calls that were queued after the change showed it.
        if self.waiting_pin().is_some() && self.waiting_pin() != call.planned_pin {
            changes.push(Change::Pin);
        }
        changes
    }

    /// Lists other changes since the call was queued or last shown for approval: the code that it would run, and the
    /// policy's decision. A person may accept these after seeing them.
    ///
    /// The policy of a call that was queued although it was blocked is expected to change.
    pub fn changes_to_review(&self, call: &Call) -> Vec<Change> {
        let mut changes = Vec::new();
        if call.planned_code.is_some_and(|planned| planned != self.binding().code_fingerprint()) {
            changes.push(Change::Code);
        }
        let planned = call.policy.as_ref().and_then(|policy| policy.fingerprint);
        let is_ours = call.planned_binding.is_some() && call.blockers.is_empty();
        if is_ours && planned.is_some_and(|planned| planned != self.binding().policy) {
            let is_same = call.policy.as_ref().is_some_and(|then| decides_the_same(then, self.policy()));
            changes.push(if is_same { Change::ProgramPath } else { Change::Policy });
        }
        changes
    }

    /// Returns the current state of the call's inputs.
    pub fn replan(&self) -> Replan {
        Replan {
            policy: self.policy().clone(),
            projection_summary: self.projection_summary().clone(),
            binding: self.binding().clone(),
            program: self.program_on_path().map(str::to_owned),
        }
    }

    /// Returns the program that `PATH` leads to; `None` if the command names a path.
    pub(crate) fn program_on_path(&self) -> Option<&str> {
        let is_name = self.argv().is_some_and(|argv| !argv.program().contains('/'));
        self.binding().program.as_ref().map(|program| program.path.as_str()).filter(|_| is_name)
    }

    /// Returns the program that the call would have run when it was queued, if it is a different one now.
    pub(crate) fn program_when_queued<'c>(&self, call: &'c Call) -> Option<&'c str> {
        let was = call.planned_program.as_deref()?;
        (self.program_on_path()? != was).then_some(was)
    }
}

impl Call {
    /// Returns whether the record has a different contract or source than the binding.
    ///
    /// v0.30 records have other fingerprints, which cannot be compared.
    pub(crate) fn fingerprints_differ(&self, binding: &Binding) -> [bool; 2] {
        let differs = |stored: Option<&str>, bound: &str| match stored {
            Some(stored) if stored.len() == 64 => stored != bound,
            stored => self.planned_binding.is_some() && stored != Some(bound),
        };
        [
            differs(self.contract_fingerprint.as_deref(), &binding.contract.to_hex()),
            differs(self.source_fingerprint.as_deref(), &binding.source),
        ]
    }
}

/// Returns whether two decisions differ only in where programs are installed, which depends on `PATH`.
pub(crate) fn decides_the_same(one: &PolicyDecision, other: &PolicyDecision) -> bool {
    let bare = |policy: &PolicyDecision| {
        let mut policy = policy.clone();
        policy.fingerprint = None;
        policy.sandbox.iter_mut().for_each(|sandbox| sandbox.program_paths.clear());
        policy
    };
    bare(one) == bare(other)
}

fn changed(change: &Change) -> Blocker {
    Blocker::new(change.code(), format!("changed since the call was queued: {change}"))
        .hint("queue the call again, and approve the new one")
}

#[cfg(test)]
mod tests;
