//! Read access to a plan.

use std::collections::BTreeMap;

use brigade_access::builtin::COMMAND;
use brigade_catalog::Family;
use brigade_cmdline::Argv;
use brigade_core::{Fingerprint, Json, NextStep, RecordedWord, StepFormatter};
use brigade_policy::{Blocker, BlockerDetail, CallKind, Decision, PolicyDecision, step_to_correct};
use brigade_projection::ProjectionSummary;
use brigade_redact::{Redactor, shows};

use super::{Plan, PlanSummary, Secrets};
use crate::binding::{Binding, Caller};
use crate::call::Call;
use crate::code::BoundCode;
use crate::contract::ContractLabels;
use crate::facts::ServerFact;
use crate::judged::Judgement;
use crate::seen::SeenPart;
use crate::session::CallSession;

/// Returns whether a stored text can be the masked form of an exact one. Only a record with the whole fingerprint of
/// the contract may contain masks.
fn is_shown(call: &Call, stored: &str, exact: &str) -> bool {
    let is_bound = || call.contract_fingerprint.as_ref().is_some_and(|stored| stored.len() == 64);
    stored == exact || is_bound() && shows(stored, exact)
}

impl Plan {
    /// Formats the next steps of its blockers.
    #[must_use]
    pub fn spelled(mut self, speller: &dyn StepFormatter) -> Plan {
        self.blockers.iter_mut().for_each(|blocker| blocker.spell(speller));
        self
    }

    /// Returns what the call does with its tool.
    pub fn kind(&self) -> CallKind {
        self.kind
    }

    /// Returns the tool's id.
    pub fn tool_id(&self) -> &str {
        &self.tool_id
    }

    /// Returns whether the tool does not exist.
    pub fn is_missing(&self) -> bool {
        self.summary.family.is_none()
    }

    /// Returns the tool's family; empty when the entry is broken or missing.
    pub fn family(&self) -> &RecordedWord<Family> {
        &self.family
    }

    /// Returns the tool's command as it is stored and shown: without arguments, secrets and bound values.
    pub fn command(&self) -> Option<&str> {
        self.summary.command.as_deref()
    }

    /// Returns the plan as reports show it.
    pub fn summary(&self) -> &PlanSummary {
        &self.summary
    }

    /// Returns the arguments, without secrets.
    pub fn args(&self) -> &Json {
        &self.args
    }

    /// Returns the rendered arguments as they are stored and shown: without secrets and bound values.
    pub fn arguments(&self) -> &BTreeMap<String, String> {
        &self.summary.arguments
    }

    /// Returns the words that the arguments become on the command line. They are never stored or shown.
    pub fn argument_words(&self) -> impl Iterator<Item = &str> {
        self.arguments.values().map(String::as_str)
    }

    /// Returns whether a record can have these rendered arguments, with any of its bound values masked. A mask proves
    /// nothing. The contract's whole fingerprint and the arguments are compared separately, and they determine the
    /// rendered ones.
    pub(crate) fn has_arguments(&self, call: &Call) -> bool {
        call.arguments.len() == self.arguments.len()
            && call.arguments.iter().all(|(name, stored)| {
                self.arguments.get(name).is_some_and(|exact| is_shown(call, stored, exact))
            })
    }

    /// Returns whether a record can have this command. A mask proves nothing, so the record must have the contract's
    /// whole fingerprint. It is compared separately and covers the exact command.
    pub(crate) fn has_command(&self, call: &Call) -> bool {
        match (call.command.as_deref(), self.command.as_deref()) {
            (Some(stored), Some(exact)) => is_shown(call, stored, exact),
            (stored, exact) => stored == exact,
        }
    }

    /// Returns the contract's labels, including bound values in them.
    pub fn contract(&self) -> &ContractLabels {
        &self.contract
    }

    /// Returns the contract's labels as records and reports have them: without bound values.
    pub fn shown_contract(&self) -> &ContractLabels {
        &self.summary.contract
    }

    /// Returns whether a record can have the labels of this contract, with any bound values masked. A mask proves
    /// nothing, as in a command.
    pub(crate) fn has_contract(&self, call: &Call) -> bool {
        self.contract.is_shown_by(&call.contract, |stored, exact| is_shown(call, stored, exact))
    }

    /// Returns every reason why the call may not run; empty if it may.
    pub fn blockers(&self) -> &[Blocker] {
        &self.blockers
    }

    /// Returns the step that corrects an invalid policy. Until then, no other step is accepted.
    pub fn policy_to_correct(&self) -> Option<NextStep> {
        let error = self.blockers.iter().find(|blocker| blocker.is_of_invalid_policy())?;
        error.place.as_ref().map(step_to_correct)
    }

    /// Returns the blockers as sentences.
    pub fn reasons(&self) -> Vec<String> {
        self.blockers.iter().map(ToString::to_string).collect()
    }

    /// Returns the blockers with code, place and fix.
    pub fn reason_details(&self) -> Vec<BlockerDetail> {
        self.blockers.iter().map(BlockerDetail::from).collect()
    }

    /// Returns the schema violations of the arguments.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// Returns the policy's decision as reports and records show it.
    pub fn policy(&self) -> &PolicyDecision {
        &self.policy
    }

    /// Returns what the policy decided.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Returns counts and places of the projections.
    pub fn projection_summary(&self) -> &ProjectionSummary {
        &self.projection_summary
    }

    /// Returns the effects and data for which the process of its server is opened, if the server serves other calls,
    /// too.
    pub fn server(&self) -> Option<&ServerFact> {
        self.server.as_ref()
    }

    /// Returns everything that an approval of this plan binds.
    pub fn binding(&self) -> &Binding {
        &self.binding
    }

    /// Returns the new listing of an MCP tool, if it differs from the pin. An approval would accept it.
    pub(crate) fn waiting_pin(&self) -> Option<Fingerprint> {
        self.waiting_pin
    }

    /// Returns the fingerprint of the contract, if the tool exists.
    pub fn contract_fingerprint(&self) -> Option<String> {
        Some(self.binding.contract.to_hex()).filter(|_| !self.is_missing())
    }

    /// Returns the fingerprint of the source, if the tool exists; empty without a source.
    pub fn source_fingerprint(&self) -> Option<String> {
        Some(self.binding.source.clone()).filter(|_| !self.is_missing())
    }

    /// Returns the fingerprint of the request.
    pub fn call_fingerprint(&self) -> Fingerprint {
        self.call_fingerprint
    }

    /// Returns whether the server lists the MCP tool differently than pinned. An approval by a person accepts that.
    pub fn changes_pin(&self) -> bool {
        self.waiting_pin.is_some()
    }

    /// Returns why only a person, and no rule, may approve the call because of its arguments. `None` if rules may.
    pub fn for_person(&self) -> Option<&str> {
        self.for_person.as_deref().or(self.unchecked())
    }

    /// Returns why the arguments were not checked, if the schema cannot be judged on this machine.
    pub fn unchecked(&self) -> Option<&str> {
        self.unchecked.as_deref()
    }

    /// Returns the caller.
    pub fn caller(&self) -> &Caller {
        &self.binding.caller
    }

    /// Sets a judge's answer about the call.
    pub fn note_judge(&mut self, judged: Judgement) {
        self.judge = Some(judged);
    }

    /// Returns the judge's answer about the call, if a judge was asked.
    pub fn judge(&self) -> Option<&Judgement> {
        self.judge.as_ref()
    }

    /// Returns the agent's session in which the call was requested.
    pub fn session(&self) -> Option<&CallSession> {
        self.session.as_ref()
    }

    /// Returns whether an argument or the catalog entry seems to contain a secret. Such a plan must not be stored.
    pub fn holds_secret(&self) -> bool {
        self.secrets == Secrets::Found
    }

    /// Returns whether the family is one that is executed.
    pub fn is_executable(&self) -> bool {
        self.is_executable
    }

    /// Returns whether Brigade itself does what the call requests, without starting a program.
    pub fn acts_inside(&self) -> bool {
        self.acts_inside
    }

    /// Returns whether the call names a command to run. Every exit code of such a command is a result.
    pub fn runs_command(&self) -> bool {
        self.is_built_in && self.tool_id == COMMAND
    }

    /// Returns which files an approval binds, by what, and which files it does not bind.
    pub fn code(&self) -> &BoundCode {
        &self.code
    }

    /// Returns the words of the command line for display; empty if it cannot be built or contains a secret.
    pub fn shown_argv(&self) -> Vec<String> {
        let words = self.argv.as_ref().filter(|_| !self.holds_secret()).map(Argv::words).unwrap_or_default();
        let words = Redactor::new(&[]).redact_command(words);
        let mut shown: Vec<String> = words.iter().map(|word| word.as_str().to_owned()).collect();
        shown.iter_mut().for_each(|word| self.masks.hide(word));
        shown
    }

    pub(crate) fn argv(&self) -> Option<&Argv> {
        self.argv.as_ref()
    }

    /// Returns everything that decides what calls of the tool run, whatever their arguments. A person reviews these
    /// parts before a rule approves calls. Empty for an installation, which no rule approves, and for a command that an
    /// agent names.
    pub fn seen_parts(&self) -> Vec<SeenPart> {
        if self.kind == CallKind::Install || self.runs_command() {
            return Vec::new();
        }
        self.seen.iter().cloned().chain(SeenPart::of_binding(&self.binding)).collect()
    }

    /// Returns the patterns of the files that may be read as data: those of the entry. If a kept server makes the call,
    /// also those of all entries that it serves.
    pub fn data(&self) -> &[String] {
        &self.data
    }

    pub(crate) fn env_labels(&self) -> &[String] {
        &self.env_labels
    }

    pub(crate) fn directory(&self) -> Option<&str> {
        self.directory.as_deref()
    }
}
