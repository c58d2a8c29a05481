//! The decision on one call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use brigade_catalog::{RemoteServer, Runtime, Seconds};
use brigade_core::{AgentFiles, ErrorCode, Fingerprint, Label, NextStep, Place, Severity};
use serde::{Deserialize, Serialize};

use crate::closed::{ALWAYS_CLOSED, always_closed};
use crate::ruling::{Judge, KeptRulings, Ruling, Topic, refuse_undeclared_code};
use crate::testing::error_code;
use crate::{
    Blocker, CallFacts, Environment, Fault, GIT_EFFECT, GitAccess, Limits, NETWORK_EFFECTS, Observe, Policy,
    PolicyState, PolicyValidity, READ_EFFECT, Reads, SandboxMode, SandboxRules, WRITE_EFFECT,
};

/// The timeout of a call in seconds, if neither its tool nor the policy sets one.
pub const DEFAULT_TIMEOUT_SECONDS: f64 = 300.0;

/// The number of bytes kept of each output stream, if the policy does not set it.
pub const DEFAULT_MAX_OUTPUT_BYTES: u64 = 16 << 20;

/// The codes of reasons that are errors of an invalid policy, or of one that git tracks.
const INVALID: [ErrorCode; 3] =
    [ErrorCode::PolicyInvalid, ErrorCode::PolicyTestFailed, ErrorCode::TrackedState];

/// Returns whether a code is that of an error of an invalid policy.
pub(crate) fn is_invalid_policy(code: &str) -> bool {
    INVALID.iter().any(|invalid| code == invalid)
}

/// The directory of git.
const GIT: &str = ".git";

/// The text in reviews for what `git = "write"` opens.
const REPOSITORY: &str = ".git (history and index)";

/// The text in reviews for what stays closed then.
const GIT_CLOSED: &str = ".git (hooks, config, info and all else that git executes or takes settings from)";

/// The source of the effective timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutSource {
    /// The tool sets it.
    Tool,
    /// The policy's maximum, because the tool sets none.
    Policy,
    /// The built-in default.
    Default,
}

/// What a call may access in addition to what every run may.
///
/// Paths are as written in the policy: absolute, relative to the workspace, or starting with `~/`. Sorted and unique.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Writing in the workspace, except `.brigade` and `.git`. Allowed by the effect `local-write`.
    pub workspace_write: bool,
    /// Network sockets. Allowed by the effects `network`, `remote-read` and `remote-mutation`.
    pub network: bool,
    /// Connecting to sockets of this machine. Allowed only by the policy.
    pub local_sockets: bool,
    /// Additional paths to read.
    pub read_paths: Vec<String>,
    /// Additional paths to write. Those of the policy only with the effect `local-write`.
    pub write_paths: Vec<String>,
    /// Paths of `write_paths` that stay closed, because they belong to git or Brigade.
    pub closed_paths: Vec<String>,
    /// Writing to the repository of the workspace, except for what git executes or takes settings from. Allowed by the
    /// effect `git-write` and `git = "write"` of the tool.
    pub git_write: bool,
    /// The private home directory of the process, relative to the workspace. It is writable, although the directory is
    /// in the state of Brigade. Its runtime asks for it, with or without a sandbox.
    pub home: Option<String>,
    /// Absolute directories outside the system and the workspace in which the command's programs are installed. No
    /// policy rule grants them: they are added after the decision, and only for a sandboxed run.
    pub program_paths: Vec<String>,
}

/// The sandbox that a run needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxRequest {
    /// Whether and how strictly the run is confined.
    pub mode: SandboxMode,
    /// What the sandbox permits. Unused if the mode is [`SandboxMode::Off`].
    pub grants: Grants,
    /// Which runs are observed. It opens nothing, so no approval binds it.
    pub observe: Observe,
    /// Which part of the workspace the run may read.
    pub reads: Reads,
    /// Whether the run may change files by which agent programs and editors start programs.
    pub agent_files: AgentFiles,
}

impl Grants {
    /// Adds all grants of another sandbox.
    fn add(&mut self, other: &Grants) {
        self.workspace_write |= other.workspace_write;
        self.network |= other.network;
        self.local_sockets |= other.local_sockets;
        let both = |paths: &mut Vec<String>, others: &[String]| {
            paths.extend(others.iter().cloned());
            paths.sort();
            paths.dedup();
        };
        both(&mut self.read_paths, &other.read_paths);
        both(&mut self.write_paths, &other.write_paths);
        both(&mut self.closed_paths, &other.closed_paths);
        self.git_write |= other.git_write;
        self.home = self.home.take().or_else(|| other.home.clone());
        both(&mut self.program_paths, &other.program_paths);
    }
}

impl SandboxRequest {
    /// Combines this sandbox with another one, for a process that serves both. It has the grants of both and the
    /// stricter mode.
    pub fn share(&mut self, other: &SandboxRequest) {
        self.mode = self.mode.max(other.mode);
        self.reads = self.reads.max(other.reads);
        self.agent_files = self.agent_files.max(other.agent_files);
        self.grants.add(&other.grants);
    }

    /// Returns what the sandbox permits, for a review.
    pub fn access(&self) -> Access {
        let grants = &self.grants;
        let with = |first: &str, paths: &[String]| -> Vec<String> {
            let first = Some(first.to_owned()).filter(|first| !first.is_empty());
            first.into_iter().chain(paths.iter().cloned()).collect()
        };
        let read = match self.reads {
            Reads::Workspace => "workspace",
            Reads::Closed => "bound files",
        };
        let mut read = with(read, &grants.read_paths);
        read.extend(grants.program_paths.iter().cloned());
        let mut write = with(if grants.workspace_write { "workspace" } else { "" }, &grants.write_paths);
        write.extend(grants.git_write.then(|| REPOSITORY.to_owned()));
        write.extend(grants.home.clone());
        let always = ALWAYS_CLOSED.iter().filter(|_| grants.workspace_write).map(|name| (*name).to_owned());
        let mut closed: Vec<String> = always.chain(grants.closed_paths.iter().cloned()).collect();
        closed.retain(|path| !grants.git_write || path != GIT);
        closed.extend(grants.git_write.then(|| GIT_CLOSED.to_owned()));
        let mut seen = BTreeSet::new();
        closed.retain(|path| seen.insert(path.clone()));
        let is_off = self.mode == SandboxMode::Off;
        Access {
            read,
            write,
            closed: if is_off { Vec::new() } else { closed },
            network: grants.network,
            sandbox: self.mode.as_str().to_owned(),
        }
    }
}

/// What a call may access, for a review.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Access {
    /// What it may read in addition to the system: `workspace` or `bound files`, and paths.
    pub read: Vec<String>,
    /// What it may write in addition to a private temporary directory: `workspace`, and paths.
    pub write: Vec<String>,
    /// Paths in these, or in the policy, that stay closed for writing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed: Vec<String>,
    /// Whether it may use the network.
    pub network: bool,
    /// What enforces this: `off` (nothing), `best-effort` or `enforce`.
    pub sandbox: String,
}

/// The policy's decision on one call.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Whether there is a policy, and whether it is valid.
    pub validity: PolicyValidity,
    /// The path of the policy file, even if it is missing.
    pub file: String,
    /// Every reason why the call may not run. Empty if it may.
    pub blockers: Vec<Blocker>,
    /// The variable of each label that the call uses and the policy binds.
    pub env_bindings: BTreeMap<Label, Label>,
    /// The timeout of the call.
    pub effective_timeout: Seconds,
    /// The source of the timeout.
    pub timeout_source: TimeoutSource,
    /// Resource limits for each process of the run.
    pub limits: Limits,
    /// The number of bytes kept of each output stream.
    pub max_output_bytes: u64,
    /// The sandbox of the run.
    pub sandbox: SandboxRequest,
    /// Variables that the run gets in addition to the default ones, sorted.
    pub pass: Vec<Label>,
    /// Directories outside the workspace that the tool's paths may use, as written in the policy.
    pub outside_paths: Vec<String>,
    /// Variables with literal values, from the runtime of the process. The policy's variables have precedence.
    pub variables: BTreeMap<String, String>,
    /// The remote server that the call connects to.
    pub remote: Option<RemoteTerms>,
}

/// The terms of a connection to a remote server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteTerms {
    /// The runtime of the server.
    pub runtime_id: String,
    /// The server.
    pub server: Arc<RemoteServer>,
    /// The origins that the policy names. A redirect may lead only to one of them.
    pub origins: Vec<String>,
}

impl Decision {
    /// Returns whether the call may run.
    pub fn is_allowed(&self) -> bool {
        self.blockers.is_empty()
    }

    /// Narrows the decision by a second policy: what that one refuses is refused, too. The terms stay, so labels need
    /// no second binding. A missing policy refuses nothing.
    pub fn narrow(&mut self, by: &PolicyState, facts: &CallFacts<'_>, environment: &dyn Environment) {
        if by.validity() == PolicyValidity::Missing {
            return;
        }
        let refused = refusals(by, facts, environment).into_iter();
        let refused = refused.filter(|ruling| ruling.topic != Topic::EnvLabel);
        let faults = invalid(by).into_iter().map(|blocker| {
            let message = format!("{}: {}", by.file(), blocker.message);
            Blocker { message, ..blocker }
        });
        self.blockers.extend(faults.chain(refused.filter_map(|ruling| ruling.blocker)));
    }

    /// Adds what the runtime of the process asks for: its home, the paths that it writes, and its plain variables.
    /// Variables by which programs load code are left out.
    pub fn add_runtime(&mut self, runtime: &Runtime) {
        let grants = &mut self.sandbox.grants;
        grants.home = runtime.home_path();
        let (closed, open): (Vec<String>, Vec<String>) =
            runtime.write_paths.iter().cloned().partition(|path| always_closed(path).is_some());
        grants.write_paths = sorted(grants.write_paths.drain(..).chain(open));
        grants.closed_paths = sorted(grants.closed_paths.drain(..).chain(closed));
        let fit =
            |name: &String| name.parse::<Label>().is_ok() && !brigade_cmdline::is_dangerous_variable(name);
        let plain = runtime.env.iter().filter(|(name, _)| fit(name));
        self.variables = plain.map(|(name, value)| (name.clone(), value.clone())).collect();
    }

    /// Returns the fingerprint of the parts that an approval binds.
    ///
    /// | included | not included |
    /// | --- | --- |
    /// | whether there is a policy, and whether it is valid | comments, order, places |
    /// | the rules that refuse the call | rules that do not concern the call |
    /// | the labels that the call uses, with their variables | whether a variable is set, and its value |
    /// | timeout, limits, output limit | the maximum timeout, if the call's timeout is below it |
    /// | sandbox mode, and its grants (from the policy and for programs) if the sandbox is on | paths of a sandbox that is off, `[paths] outside`, `observe` |
    /// | variables passed to every run, and those of the runtime with their values | |
    /// | the private home | |
    /// | URL, transport and headers of a remote server | the other origins of `[mcp] remote` |
    ///
    /// Paths outside the workspace are compared with the current `[paths] outside` each time, so removing a directory
    /// blocks the call without a new fingerprint.
    pub fn fingerprint(&self) -> Fingerprint {
        let refusals = self.blockers.iter().filter(|blocker| blocker.code.starts_with("policy_"));
        let refusals = refusals.filter(|blocker| !blocker.is(ErrorCode::PolicyEnvMissing));
        let limit = |limit: Option<u64>| limit.map(|limit| limit.to_string());
        let Limits { processes, memory, file_size, open_files } = self.limits;
        let mut fingerprint = Fingerprint::builder("brigade.policy-decision.v1")
            .text("standing", self.validity.as_str())
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
        // Absent ones are not added, so that fingerprints from before them stay valid.
        if let Some(home) = &self.sandbox.grants.home {
            fingerprint = fingerprint.text("home", home.as_str());
        }
        if !self.variables.is_empty() {
            let variables = self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            fingerprint = fingerprint.table("variables", variables);
        }
        if self.sandbox.mode != SandboxMode::Off {
            let grants = &self.sandbox.grants;
            fingerprint = fingerprint
                .truth("workspace_write", grants.workspace_write)
                .truth("network", grants.network)
                .truth("local_sockets", grants.local_sockets)
                .list("read_paths", &grants.read_paths)
                .list("write_paths", &grants.write_paths);
            // Other modes are not added, so that fingerprints from before this setting stay valid.
            if self.sandbox.reads == Reads::Closed {
                fingerprint = fingerprint.text("reads", self.sandbox.reads.as_str());
            }
            if grants.git_write {
                fingerprint = fingerprint.truth("git_write", true);
            }
            if self.sandbox.agent_files == AgentFiles::Open {
                fingerprint = fingerprint.text("agent_files", self.sandbox.agent_files.as_str());
            }
            if !grants.program_paths.is_empty() {
                fingerprint = fingerprint.list("program_paths", &grants.program_paths);
            }
        }
        if let Some(RemoteTerms { server, .. }) = &self.remote {
            fingerprint = fingerprint
                .text("remote_url", server.url.as_str())
                .text("remote_transport", server.transport.as_str())
                .table(
                    "remote_headers",
                    server.headers.iter().map(|(name, text)| (name.as_str(), text.as_str())),
                );
        }
        fingerprint.finish()
    }
}

impl Blocker {
    /// Returns whether the reason is an error of an invalid policy. Then nothing else is certain.
    pub fn is_of_invalid_policy(&self) -> bool {
        is_invalid_policy(&self.code)
    }
}

/// Returns the part of a refusal that does not change when lines of the policy move.
///
/// An invalid policy refuses everything in the same way, whatever its errors are.
fn refusal_mark(blocker: &Blocker) -> &str {
    if blocker.is_of_invalid_policy() { &blocker.code } else { &blocker.message }
}

/// A decision with the rulings that led to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The id of the tool.
    pub tool_id: String,
    /// The rulings, in the order of the topics.
    pub rulings: Vec<Ruling>,
    /// The decision.
    pub decision: Decision,
}

impl Explanation {
    /// Adds the ruling on a command that chooses its code itself, in an entry without `code`. `reason` says how it
    /// chooses, and `declare` what to declare.
    pub fn choose(&mut self, state: &PolicyState, reason: &str, declare: &str) {
        let rule = state.policy().and_then(|policy| policy.undeclared_code.as_ref());
        let blocker = refuse_undeclared_code(state, reason, declare);
        let place = self.rulings.iter().rposition(|ruling| ruling.topic == Topic::Command);
        let effects = || self.rulings.iter().rposition(|ruling| ruling.topic == Topic::Effect);
        let place = place.or_else(effects).map_or(self.rulings.len(), |place| place + 1);
        let ruling = Ruling {
            topic: Topic::Command,
            subject: "undeclared_code".to_owned(),
            reason: match &blocker {
                Some(blocker) => blocker.message.clone(),
                None => format!("it may: {reason}"),
            },
            field: rule.map(|_| "commands.undeclared_code"),
            place: rule.map(|rule| rule.place.clone()),
            blocker: blocker.clone(),
        };
        self.rulings.insert(place, ruling);
        self.decision.blockers.extend(blocker);
    }

    /// Adds the read access to directories in which programs of the command are installed. No policy rule grants it.
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

/// Decides whether a call may run, and under which terms.
///
/// The reasons are in this order: family, denied effects, effects that are not allowed, code in the command, approval
/// mode, timeout, runtime, labels without a binding, bound variables that are not set, unsafe labels. An invalid policy
/// gives one reason for each of its errors.
pub fn decide(state: &PolicyState, facts: &CallFacts<'_>, environment: &dyn Environment) -> Decision {
    explain(state, facts, environment).decision
}

/// Like [`decide`], but also returns the ruling of every rule, with its line: families, effects, labels, files, network
/// and limits.
pub fn explain(state: &PolicyState, facts: &CallFacts<'_>, environment: &dyn Environment) -> Explanation {
    let mut judge = Judge::new(state, facts, environment, KeptRulings::All);
    judge.judge();
    let mut decision = terms(state, facts);
    decision.blockers.extend(judge.rulings.iter().filter_map(|ruling| ruling.blocker.clone()));
    match state {
        // Only the errors of an invalid policy are used, not its rules.
        PolicyState::Invalid { .. } => judge.rulings.retain(|ruling| ruling.blocker.is_some()),
        PolicyState::Missing { .. } | PolicyState::Valid(_) => judge.terms(&decision),
    }
    Explanation { tool_id: facts.tool_id.to_owned(), rulings: judge.rulings, decision }
}

/// Returns only the refusals. Used to check thousands of tools at once.
pub fn refusals(state: &PolicyState, facts: &CallFacts<'_>, environment: &dyn Environment) -> Vec<Ruling> {
    let mut judge = Judge::new(state, facts, environment, KeptRulings::Refusals);
    judge.judge();
    judge.rulings
}

/// Returns the terms under which the call would run, without applying the rules.
pub(crate) fn terms(state: &PolicyState, facts: &CallFacts<'_>) -> Decision {
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
    let fit = |label: &Label| !brigade_cmdline::is_dangerous_variable(label.as_str());
    let bindings = policy.env_bindings.iter().filter(|(label, _)| used(label) && fit(label));
    Decision {
        validity: state.validity(),
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
        sandbox: sandbox(policy, state.validity(), facts),
        pass: sorted(policy.pass.values().cloned()),
        outside_paths: sorted(policy.outside_paths.values().cloned()),
        remote: facts.entry.and_then(|tool| tool.remote.clone()).map(|server| RemoteTerms {
            runtime_id: facts.runtime_id.unwrap_or_default().to_owned(),
            server,
            origins: sorted(policy.mcp_remote.values().cloned()),
        }),
        variables: BTreeMap::new(),
    }
}

/// Returns the terms for health commands of runtimes, which read and connect to local ports. Whether a call may use a
/// runtime is decided with the call.
pub fn decide_health(state: &PolicyState) -> Decision {
    let effects = [READ_EFFECT, NETWORK_EFFECTS[0]].map(str::to_owned);
    let check = CallFacts { effects: &effects, ..CallFacts::missing("") };
    let mut decision = terms(state, &check);
    // Health commands have no approval that could bind files, so they may read the whole workspace.
    decision.sandbox.reads = Reads::Workspace;
    decision
}

/// Returns the step for an error at this place. A place without a line means an unreadable file.
pub fn step_to_correct(place: &Place) -> NextStep {
    if place.line.is_some() { NextStep::Edit(place.clone()) } else { NextStep::CheckPolicy }
}

/// Returns the errors of an invalid policy as blockers. Its rules are not applied.
pub fn invalid(state: &PolicyState) -> Vec<Blocker> {
    let PolicyState::Invalid { issues, .. } = state else { return Vec::new() };
    let errors = issues.iter().filter(|issue| issue.severity == Severity::Error);
    errors
        .map(|issue| {
            let hint = issue.hint.clone().unwrap_or_else(|| step_to_correct(&issue.place).into());
            let fault = Fault::from(issue);
            let subject = if issue.is_tracked() { "the policy" } else { "the policy is invalid" };
            let blocker = Blocker::new(error_code(issue), format!("{subject}: {}", fault.message))
                .at(issue.place.clone())
                .hint(hint);
            match &issue.field {
                Some(field) => blocker.field(field.as_str()),
                None => blocker,
            }
        })
        .collect()
}

fn sandbox(policy: &Policy, validity: PolicyValidity, facts: &CallFacts<'_>) -> SandboxRequest {
    let nothing = SandboxRules::default();
    let tool = policy.sandbox_of(facts).unwrap_or(&nothing);
    let general = &policy.sandbox;
    let has = |wanted: &str| facts.effects.iter().any(|effect| effect == wanted);
    let workspace_write = has(WRITE_EFFECT);
    let both = |paths: fn(&SandboxRules) -> &Vec<crate::LocatedValue<String>>| {
        sorted(paths(general).iter().chain(paths(tool)).map(|path| path.value.clone()))
    };
    let mode = tool.mode.as_ref().or(general.mode.as_ref()).map_or(SandboxMode::Off, |mode| mode.value);
    let observe = tool.observe.as_ref().or(general.observe.as_ref());
    let reads =
        tool.reads.as_ref().or(general.reads.as_ref()).map_or_else(Reads::default, |reads| reads.value);
    let git = tool.git.as_ref().map_or_else(GitAccess::default, |git| git.value);
    let (closed_paths, write_paths) = match workspace_write {
        true => both(|rules| &rules.write_paths).into_iter().partition(|path| always_closed(path).is_some()),
        false => (Vec::new(), Vec::new()),
    };
    let sockets = tool.local_sockets.as_ref().or(general.local_sockets.as_ref());
    SandboxRequest {
        // Nothing runs under an invalid policy; the strictest mode is only a safeguard.
        mode: if validity == PolicyValidity::Invalid { SandboxMode::Enforce } else { mode },
        grants: Grants {
            workspace_write,
            network: NETWORK_EFFECTS.iter().any(|effect| has(effect)),
            local_sockets: sockets.is_some_and(|sockets| sockets.value),
            read_paths: both(|rules| &rules.read_paths),
            write_paths,
            closed_paths,
            git_write: git == GitAccess::Write && has(GIT_EFFECT) && reads != Reads::Closed,
            home: None,
            program_paths: Vec::new(),
        },
        observe: observe.map_or_else(Observe::default, |observe| observe.value),
        reads,
        agent_files: policy.agent_files,
    }
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort();
    items.dedup();
    items
}

impl Judge<'_> {
    /// Adds the rulings about the terms, which refuse nothing.
    fn terms(&mut self, decision: &Decision) {
        let nothing = Policy::default();
        let policy = self.policy.unwrap_or(&nothing);
        if self.policy.is_none() && decision.timeout_source == TimeoutSource::Default {
            self.allow(Topic::Timeout, "none", "300 s is used", None);
        }
        let tool = policy.sandbox_of(self.facts);
        let mode = tool.and_then(|rules| rules.mode.as_ref()).or(policy.sandbox.mode.as_ref());
        let sandbox = &decision.sandbox;
        let (reason, rule) = match mode {
            Some(mode) => ("the policy says so", Some(("sandbox.mode", &mode.place))),
            None => ("no [sandbox] mode asks for one", None),
        };
        self.allow(Topic::Sandbox, sandbox.mode.as_str(), reason, rule);
        let observe = tool.and_then(|rules| rules.observe.as_ref()).or(policy.sandbox.observe.as_ref());
        if let Some(observe) = observe.filter(|_| sandbox.mode != SandboxMode::Off) {
            let reason = format!("runs are observed: {}", observe.value.as_str());
            let rule = Some(("sandbox.observe", &observe.place));
            self.allow(Topic::Sandbox, "observe", reason, rule);
        }
        if sandbox.mode != SandboxMode::Off {
            self.files(policy, tool, sandbox);
        }
        for name in &policy.pass.items {
            let rule = Some(("environment.pass", &name.place));
            self.allow(Topic::Environment, name.value.as_str(), "it is passed to every run", rule);
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
                let rule = Some(("limits", place));
                self.allow(Topic::Limits, name, format_args!("at most {limit}"), rule);
            }
        }
        let rule = policy.max_output_bytes.as_ref().map(|bytes| ("max_output_bytes", &bytes.place));
        let reason = format!("{} bytes of each stream are kept", decision.max_output_bytes);
        self.allow(Topic::Output, "max_output_bytes", reason, rule);
    }

    fn files(&mut self, policy: &Policy, tool: Option<&SandboxRules>, sandbox: &SandboxRequest) {
        let grants = &sandbox.grants;
        match sandbox.reads {
            Reads::Workspace => {
                let reason = "the system and the workspace are always readable";
                self.allow(Topic::Read, "workspace", reason, None);
            }
            Reads::Closed => {
                let reason = "the system, and of the workspace what the approval binds, `data` and arguments";
                let reads = tool.and_then(|rules| rules.reads.as_ref()).or(policy.sandbox.reads.as_ref());
                let rule = reads.map(|reads| ("sandbox.reads", &reads.place));
                self.allow(Topic::Read, "workspace", reason, rule);
            }
        }
        let rules = [Some(&policy.sandbox), tool];
        for path in rules.iter().flatten().flat_map(|rules| &rules.read_paths) {
            let rule = Some(("sandbox.read_paths", &path.place));
            self.allow(Topic::Read, &path.value, "it is in read_paths", rule);
        }
        if grants.workspace_write {
            let reason = format!("effect `{WRITE_EFFECT}` opens it, except .brigade and .git");
            self.allow(Topic::Write, "workspace", reason, None);
            for path in rules.iter().flatten().flat_map(|rules| &rules.write_paths) {
                let rule = Some(("sandbox.write_paths", &path.place));
                match always_closed(&path.value) {
                    None => self.allow(Topic::Write, &path.value, "it is in write_paths", rule),
                    Some(name) => {
                        let reason = format!("stays closed, although it is in write_paths: {name} always is");
                        self.allow(Topic::Write, &path.value, reason, rule);
                    }
                }
            }
        } else {
            let reason =
                format!("only a private temporary directory, because effect `{WRITE_EFFECT}` is not stated");
            self.allow(Topic::Write, "nothing", reason, None);
        }
        if let Some(git) =
            tool.and_then(|rules| rules.git.as_ref()).filter(|git| git.value == GitAccess::Write)
        {
            let reason = if grants.git_write {
                "git = \"write\" opens it, except for what git executes or takes settings from".to_owned()
            } else if sandbox.reads == Reads::Closed {
                "stays closed, although git = \"write\": reads = \"closed\" closes it".to_owned()
            } else {
                format!("stays closed, although git = \"write\": effect `{GIT_EFFECT}` is not stated")
            };
            self.allow(Topic::Write, GIT, reason, Some(("sandbox.git", &git.place)));
        }
        let effect =
            NETWORK_EFFECTS.iter().find(|wanted| self.facts.effects.iter().any(|effect| effect == *wanted));
        match effect {
            Some(effect) => {
                self.allow(Topic::Network, "open", format_args!("effect `{effect}` opens it"), None)
            }
            None => {
                let reason = format!("none of the effects {} is stated", NETWORK_EFFECTS.join(", "));
                self.allow(Topic::Network, "closed", reason, None);
            }
        }
    }
}

#[cfg(test)]
mod tests;
