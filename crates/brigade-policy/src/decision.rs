//! The decision on one call.

use std::collections::BTreeMap;

use brigade_catalog::Seconds;
use brigade_core::{Fingerprint, Label, Severity};

use crate::ruling::{Judge, Ruling, Topic};
use crate::{
    Blocker, CallFacts, Environment, Limits, Policy, PolicyState, SandboxMode, SandboxRules, Standing,
};

/// Seconds that a call may take when neither its tool nor the policy says.
pub const DEFAULT_TIMEOUT_SECONDS: f64 = 300.0;

/// Bytes of each output stream that are kept when the policy does not say.
pub const DEFAULT_MAX_OUTPUT_BYTES: u64 = 16 << 20;

/// The effect that opens the workspace for writing.
const WRITE_EFFECT: &str = "local-write";

/// The effects that open the network.
const NETWORK_EFFECTS: &[&str] = &["network", "remote-read", "remote-mutation"];

/// Where the effective timeout came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutSource {
    /// The tool asks for it.
    Tool,
    /// The tool asks for none, so the policy's maximum counts.
    Policy,
    /// Neither says.
    Default,
}

/// What the effects of a call open, besides what every run may do.
///
/// Paths are as the policy writes them: absolute, relative to the workspace, or starting with `~/`. Sorted, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Writing in the workspace, except `.brigade` and `.git`; by `local-write`.
    pub workspace_write: bool,
    /// Network sockets; by `network`, `remote-read` or `remote-mutation`.
    pub network: bool,
    /// Connecting to sockets of this machine; by the policy alone.
    pub local_sockets: bool,
    /// More to read.
    pub read_paths: Vec<String>,
    /// More to write; empty without `local-write`.
    pub write_paths: Vec<String>,
    /// What the command's programs are installed in, outside of the system and the workspace; absolute. No rule of the
    /// policy decides on it, so it is empty until somebody looks, and stays empty without a sandbox.
    pub program_paths: Vec<String>,
}

/// How a run is to be confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxRequest {
    /// Whether it is.
    pub mode: SandboxMode,
    /// What is open; of no meaning when the mode is [`SandboxMode::Off`].
    pub grants: Grants,
}

/// What the policy says about one call.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Whether there is a policy.
    pub standing: Standing,
    /// The file that it is in, or would be.
    pub file: String,
    /// Every reason why the call may not run; empty means that it may.
    pub blockers: Vec<Blocker>,
    /// The labels that the call uses and that are bound, and the variable of each.
    pub env_bindings: BTreeMap<Label, Label>,
    /// How long the call may take.
    pub effective_timeout: Seconds,
    /// Where that came from.
    pub timeout_source: TimeoutSource,
    /// Upper bounds for each process of the run.
    pub limits: Limits,
    /// Bytes of each output stream that are kept.
    pub max_output_bytes: u64,
    /// How the run is to be confined.
    pub sandbox: SandboxRequest,
    /// Variables that the run gets besides the usual ones, sorted.
    pub pass: Vec<Label>,
    /// Folders outside the workspace that the tool's paths may lead to, as the policy writes them.
    pub outside_paths: Vec<String>,
}

impl Decision {
    /// Returns whether nothing speaks against the call.
    pub fn is_allowed(&self) -> bool {
        self.blockers.is_empty()
    }

    /// Returns the fingerprint of what an approval binds.
    ///
    /// | enters | does not |
    /// | --- | --- |
    /// | whether there is a policy, and whether it is understood | comments, order, places |
    /// | which of its rules refuse the call | rules that do not touch the call |
    /// | labels that the call uses, and the variable of each | whether a variable is set, and its value |
    /// | timeout, limits, output cap | the maximum that the timeout is below |
    /// | sandbox mode, and what is open in it when it is on, by the policy and for programs | paths in a sandbox that is off, `[paths] outside` |
    /// | variables passed to every run | |
    ///
    /// A path that leads outside is looked up in the current `[paths] outside` each time, so a folder that is taken out
    /// blocks the call by itself.
    pub fn fingerprint(&self) -> Fingerprint {
        let refusals = self.blockers.iter().filter(|blocker| blocker.code.starts_with("policy_"));
        let refusals = refusals.filter(|blocker| blocker.code != "policy_env_missing");
        let limit = |limit: Option<u64>| limit.map(|limit| limit.to_string());
        let Limits { processes, memory, file_size, open_files } = self.limits;
        let mut fingerprint = Fingerprint::builder("brigade.policy-decision.v1")
            .text("standing", self.standing.as_str())
            .list("refusals", refusals.map(refusal_mark))
            .table(
                "env_bindings",
                self.env_bindings.iter().map(|(label, name)| (label.as_str(), name.as_str())),
            )
            .text("timeout", self.effective_timeout.to_string().as_str())
            .text("processes", limit(processes).as_deref())
            .text("memory", limit(memory).as_deref())
            .text("file_size", limit(file_size).as_deref())
            .text("open_files", limit(open_files).as_deref())
            .text("max_output_bytes", self.max_output_bytes.to_string().as_str())
            .list("pass", self.pass.iter().map(Label::as_str))
            .text("sandbox", self.sandbox.mode.as_str());
        if self.sandbox.mode != SandboxMode::Off {
            let grants = &self.sandbox.grants;
            fingerprint = fingerprint
                .truth("workspace_write", grants.workspace_write)
                .truth("network", grants.network)
                .truth("local_sockets", grants.local_sockets)
                .list("read_paths", &grants.read_paths)
                .list("write_paths", &grants.write_paths);
            if !grants.program_paths.is_empty() {
                fingerprint = fingerprint.list("program_paths", &grants.program_paths);
            }
        }
        fingerprint.finish()
    }
}

/// The part of a refusal that does not move when lines of the file do.
///
/// An invalid policy refuses everything in the same way, whatever is wrong in it.
fn refusal_mark(blocker: &Blocker) -> &str {
    if blocker.code == "policy_invalid" { &blocker.code } else { &blocker.message }
}

/// A decision, and what every rule said on the way to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The tool.
    pub tool_id: String,
    /// What each rule says, in the order of the topics.
    pub rulings: Vec<Ruling>,
    /// The decision.
    pub decision: Decision,
}

impl Explanation {
    /// Adds what can be read because programs of the command are installed there, which no rule of the policy says.
    pub fn open(&mut self, program_paths: Vec<String>) {
        let place = self.rulings.iter().position(|ruling| ruling.topic == Topic::Read);
        let place = place.map_or(self.rulings.len(), |place| place + 1);
        let rulings = program_paths.iter().map(|path| Ruling {
            topic: Topic::Read,
            subject: path.clone(),
            reason: "a program of the command is installed there".to_owned(),
            field: None,
            place: None,
            blocker: None,
        });
        self.rulings.splice(place..place, rulings);
        self.decision.sandbox.grants.program_paths = program_paths;
    }
}

/// Decides whether a call may run, and how.
///
/// The reasons come in this order: family, denied effects, effects that are not allowed, approval mode, timeout,
/// runtime, labels without a binding, bound variables that are not set, unsafe labels. A policy that is not understood
/// gives one reason for each of its errors.
pub fn decide(state: &PolicyState, facts: &CallFacts<'_>, environment: &dyn Environment) -> Decision {
    explain(state, facts, environment).decision
}

/// Decides, and keeps what every rule said: families, effects, labels, files, network, limits, and the line of each.
pub fn explain(state: &PolicyState, facts: &CallFacts<'_>, environment: &dyn Environment) -> Explanation {
    let policy = state.policy();
    let mut judge = Judge { file: state.file(), policy, facts, environment, rulings: Vec::new() };
    judge.judge();
    let mut decision = terms(state, facts);
    decision.blockers.extend(judge.rulings.iter().filter_map(|ruling| ruling.blocker.clone()));
    judge.terms(&decision);
    Explanation { tool_id: facts.tool_id.to_owned(), rulings: judge.rulings, decision }
}

/// Returns what the rules refuse, and no more: thousands of tools are asked about at once for health.
pub fn refusals(state: &PolicyState, facts: &CallFacts<'_>, environment: &dyn Environment) -> Vec<Ruling> {
    let mut judge =
        Judge { file: state.file(), policy: state.policy(), facts, environment, rulings: Vec::new() };
    judge.judge();
    judge.rulings.retain(|ruling| ruling.blocker.is_some());
    judge.rulings
}

/// The decision without the rules: how the call would run.
fn terms(state: &PolicyState, facts: &CallFacts<'_>) -> Decision {
    let nothing = Policy::default();
    let policy = state.policy().unwrap_or(&nothing);
    let (effective_timeout, timeout_source) = match (facts.timeout, &policy.max_timeout) {
        (Some(asked), _) => (asked, TimeoutSource::Tool),
        (None, Some(maximum)) => (maximum.value, TimeoutSource::Policy),
        (None, None) => {
            let default = Seconds::new(DEFAULT_TIMEOUT_SECONDS).expect("300 is a length of time");
            (default, TimeoutSource::Default)
        }
    };
    let used = |label: &Label| facts.env_labels.iter().any(|text| text == label.as_str());
    let fit = |label: &Label| !brigade_command::is_dangerous_variable(label.as_str());
    let bindings = policy.env_bindings.iter().filter(|(label, _)| used(label) && fit(label));
    Decision {
        standing: state.standing(),
        file: state.file().to_owned(),
        blockers: invalid(state),
        env_bindings: bindings.map(|(label, variable)| (label.clone(), variable.value.clone())).collect(),
        effective_timeout,
        timeout_source,
        limits: policy.limits,
        max_output_bytes: policy
            .max_output_bytes
            .as_ref()
            .map_or(DEFAULT_MAX_OUTPUT_BYTES, |bytes| bytes.value),
        sandbox: sandbox(policy, state.standing(), facts),
        pass: sorted(policy.pass.values().cloned()),
        outside_paths: sorted(policy.outside_paths.values().cloned()),
    }
}

fn invalid(state: &PolicyState) -> Vec<Blocker> {
    let PolicyState::Invalid { issues, .. } = state else { return Vec::new() };
    let errors = issues.iter().filter(|issue| issue.severity == Severity::Error);
    errors
        .map(|issue| {
            let hint = issue.hint.clone().unwrap_or_else(|| format!("correct {}", issue.place).into());
            let blocker = Blocker::new("policy_invalid", format!("the policy is invalid: {issue}"))
                .at(issue.place.clone())
                .hint(hint);
            match &issue.field {
                Some(field) => blocker.field(field.as_str()),
                None => blocker,
            }
        })
        .collect()
}

fn sandbox(policy: &Policy, standing: Standing, facts: &CallFacts<'_>) -> SandboxRequest {
    let nothing = SandboxRules::default();
    let tool = policy.tool_sandbox.get(facts.tool_id).unwrap_or(&nothing);
    let general = &policy.sandbox;
    let has = |wanted: &str| facts.effects.iter().any(|effect| effect == wanted);
    let workspace_write = has(WRITE_EFFECT);
    let both = |paths: fn(&SandboxRules) -> &Vec<crate::Located<String>>| {
        sorted(paths(general).iter().chain(paths(tool)).map(|path| path.value.clone()))
    };
    let mode = tool.mode.as_ref().or(general.mode.as_ref()).map_or(SandboxMode::Off, |mode| mode.value);
    let sockets = tool.local_sockets.as_ref().or(general.local_sockets.as_ref());
    SandboxRequest {
        // Nothing runs under a policy that is not understood; if it did, it would be confined.
        mode: if standing == Standing::Invalid { SandboxMode::Enforce } else { mode },
        grants: Grants {
            workspace_write,
            network: NETWORK_EFFECTS.iter().any(|effect| has(effect)),
            local_sockets: sockets.is_some_and(|sockets| sockets.value),
            read_paths: both(|rules| &rules.read_paths),
            write_paths: if workspace_write { both(|rules| &rules.write_paths) } else { Vec::new() },
            program_paths: Vec::new(),
        },
    }
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort();
    items.dedup();
    items
}

impl Judge<'_> {
    /// Says how the call would run: the rulings that refuse nothing.
    fn terms(&mut self, decision: &Decision) {
        let nothing = Policy::default();
        let policy = self.policy.unwrap_or(&nothing);
        if self.policy.is_none() && decision.timeout_source == TimeoutSource::Default {
            self.allow(Topic::Timeout, "none", "300 s is used".to_owned(), None);
        }
        let tool = policy.tool_sandbox.get(self.facts.tool_id);
        let mode = tool.and_then(|rules| rules.mode.as_ref()).or(policy.sandbox.mode.as_ref());
        let sandbox = &decision.sandbox;
        let (reason, rule) = match mode {
            Some(mode) => ("the policy says so", Some(("sandbox.mode", mode.place.clone()))),
            None => ("no [sandbox] mode asks for one", None),
        };
        self.allow(Topic::Sandbox, sandbox.mode.as_str(), reason.to_owned(), rule);
        if sandbox.mode != SandboxMode::Off {
            self.files(policy, tool, &sandbox.grants);
        }
        for name in &policy.pass.items {
            let rule = Some(("environment.pass", name.place.clone()));
            self.allow(Topic::Environment, name.value.as_str(), "it is passed to every run".to_owned(), rule);
        }
        let Limits { processes, memory, file_size, open_files } = policy.limits;
        let limits = [
            ("processes", processes),
            ("memory", memory),
            ("file_size", file_size),
            ("open_files", open_files),
        ];
        for (name, limit) in limits {
            if let (Some(limit), Some(place)) = (limit, &policy.limits_place) {
                let rule = Some(("limits", place.clone()));
                self.allow(Topic::Limits, name, format!("at most {limit}"), rule);
            }
        }
        let rule = policy.max_output_bytes.as_ref().map(|bytes| ("max_output_bytes", bytes.place.clone()));
        let reason = format!("{} bytes of each stream are kept", decision.max_output_bytes);
        self.allow(Topic::Output, "max_output_bytes", reason, rule);
    }

    fn files(&mut self, policy: &Policy, tool: Option<&SandboxRules>, grants: &Grants) {
        let reason = "the system and the workspace can always be read";
        self.allow(Topic::Read, "workspace", reason.to_owned(), None);
        let rules = [Some(&policy.sandbox), tool];
        for path in rules.iter().flatten().flat_map(|rules| &rules.read_paths) {
            let rule = Some(("sandbox.read_paths", path.place.clone()));
            self.allow(Topic::Read, &path.value, "it is in read_paths".to_owned(), rule);
        }
        if grants.workspace_write {
            let reason = format!("effect `{WRITE_EFFECT}` opens it, except .brigade and .git");
            self.allow(Topic::Write, "workspace", reason, None);
            for path in rules.iter().flatten().flat_map(|rules| &rules.write_paths) {
                let rule = Some(("sandbox.write_paths", path.place.clone()));
                self.allow(Topic::Write, &path.value, "it is in write_paths".to_owned(), rule);
            }
        } else {
            let reason =
                format!("only a private temporary folder, because effect `{WRITE_EFFECT}` is not stated");
            self.allow(Topic::Write, "nothing", reason, None);
        }
        let effect =
            NETWORK_EFFECTS.iter().find(|wanted| self.facts.effects.iter().any(|effect| effect == *wanted));
        match effect {
            Some(effect) => self.allow(Topic::Network, "open", format!("effect `{effect}` opens it"), None),
            None => {
                let reason = format!("none of the effects {} is stated", NETWORK_EFFECTS.join(", "));
                self.allow(Topic::Network, "closed", reason, None);
            }
        }
    }
}

#[cfg(test)]
mod tests;
