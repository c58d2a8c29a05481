//! Policies and decisions as documents in reports and records.

use std::collections::BTreeMap;

use brigade_cmdline::Argv;
use brigade_core::json::present;
use brigade_core::{Extra, Fingerprint, Label, Number, Place, RecordedWord, Severity};
use brigade_macros::{part, record};
use brigade_redact::shown_command;

use crate::{
    Blocker, Decision, InlineCode, KitchenGrants, Limits, LocatedValue, Policy, PolicyState, Rule,
    SandboxMode, SandboxRequest, ShellUse, UndeclaredCode, shown_label,
};

/// The policy's decision on a call, with the keys of v0.30 and newer ones.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct PolicyDecision {
    /// Whether there is a policy, valid or not.
    pub enabled: bool,
    /// The path of the policy file.
    pub policy_path: String,
    /// Whether the policy lets the call run.
    pub allowed: bool,
    /// Every reason why the call may not run, as sentences.
    pub blockers: Vec<String>,
    /// The errors in the policy.
    pub errors: Vec<String>,
    /// The labels that the call uses and the policy binds.
    pub env_labels_used: Vec<String>,
    /// The labels that the tool names. Absent without a policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_labels_required: Option<Vec<String>>,
    /// The timeout of the call in seconds. Absent in records of v0.30, like the other terms of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_timeout: Option<Number>,
    /// The number of bytes kept of each output stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<u64>,
    /// Resource limits for each process of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// The sandbox of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxDecision>,
    /// The fingerprint of the parts that an approval binds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// Families that may run. Absent without a policy, like the other rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_families: Option<Vec<String>>,
    /// Effects that calls may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_effects: Option<Vec<String>>,
    /// Effects that calls must not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied_effects: Option<Vec<String>>,
    /// The approval modes that tools may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_approval_modes: Option<Vec<String>>,
    /// The maximum timeout in seconds.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub max_timeout: Option<Option<Number>>,
    /// Runtimes that calls may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_runtimes: Option<Vec<String>>,
}

impl PolicyDecision {
    /// Hides values in the texts that come from entries and from the policy.
    #[must_use]
    pub fn masked(mut self, hide: &dyn Fn(&mut String)) -> PolicyDecision {
        let lists = [&mut self.blockers, &mut self.errors, &mut self.env_labels_used];
        lists.into_iter().flatten().for_each(hide);
        let lists = [&mut self.env_labels_required, &mut self.allowed_effects, &mut self.denied_effects];
        lists.into_iter().flatten().flatten().for_each(hide);
        if let Some(sandbox) = &mut self.sandbox {
            let lists = [&mut sandbox.read_paths, &mut sandbox.write_paths, &mut sandbox.program_paths];
            let lists = lists.into_iter().chain([&mut sandbox.closed_paths]);
            lists.flatten().for_each(hide);
        }
        self
    }
}

/// The sandbox of a run.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct SandboxDecision {
    /// The mode: `off`, `best-effort` or `enforce`.
    pub mode: RecordedWord<SandboxMode>,
    /// Whether the workspace is writable.
    pub workspace_write: bool,
    /// Whether network access is allowed.
    pub network: bool,
    /// Whether the run may connect to sockets of this machine.
    pub local_sockets: bool,
    /// Additional paths to read.
    pub read_paths: Vec<String>,
    /// Additional paths to write.
    pub write_paths: Vec<String>,
    /// Paths of the policy's `write_paths` that stay closed, because they belong to git or to Brigade.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub closed_paths: Vec<String>,
    /// Whether the run may write to the repository of the workspace, except for what git executes or takes settings
    /// from.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub git_write: bool,
    /// Additional directories to read, in which programs of the command are installed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub program_paths: Vec<String>,
}

/// The rules of the policy file, as in `policy show`.
#[part(PartialEq)]
pub struct PolicyRules {
    /// Families that may run. Empty means all.
    pub allowed_families: Vec<String>,
    /// Effects that calls may have. Empty means all.
    pub allowed_effects: Vec<String>,
    /// Effects that calls must not have.
    pub denied_effects: Vec<String>,
    /// The approval modes that tools may have. Empty means any.
    pub required_approval_modes: Vec<String>,
    /// The maximum timeout in seconds, which is also the default for tools without one.
    pub max_timeout: Option<Number>,
    /// Runtimes that calls may use. Empty means all.
    pub allowed_runtimes: Vec<String>,
    /// The environment variable of each label.
    pub env_bindings: BTreeMap<Label, Label>,
    /// The general sandbox rules, `[sandbox]`.
    pub sandbox: SandboxSettings,
    /// Directories outside the workspace that tools' paths may use.
    pub outside_paths: Vec<String>,
    /// Variables that every run gets in addition to the default ones.
    pub pass: Vec<Label>,
    /// Whether commands may hold code for an interpreter.
    pub inline_code: InlineCode,
    /// What happens to commands that choose their code themselves, in entries that declare none.
    #[serde(default)]
    pub undeclared_code: UndeclaredCode,
    /// Whether a shell may read a command that a person approves; absent means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<ShellUse>,
    /// The resource limits, `[limits]`.
    pub limits: Limits,
    /// The number of bytes kept of each output stream.
    pub max_output_bytes: Option<u64>,
    /// The largest file that an approval binds, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bound_file: Option<u64>,
    /// What a crew of coding agents may do, if the policy has `[kitchen]`; absent keys have their defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kitchen: Option<KitchenGrants>,
    /// Levels whose tools may run, if the policy limits them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_levels: Option<Vec<String>>,
    /// Sources whose tools may run, if the policy limits them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_sources: Option<Vec<String>>,
    /// Capabilities that tools must not have, if the policy denies some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied_capabilities: Option<Vec<String>>,
    /// Hosts whose pages built-in tools may fetch, if the policy names some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web_domains: Option<Vec<String>>,
    /// Origins of remote MCP servers that calls may connect to, if the policy names some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_remote: Option<Vec<String>>,
    /// Origins of registries of tools that a person may ask, if the policy names some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_remote: Option<Vec<String>>,
    /// The command line that prints an image of the screen, without secrets, if the policy names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<String>,
    /// The program that reaches the forge of pull requests, without secrets, if the policy names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge: Option<String>,
}

/// The sandbox rules of the policy file, `[sandbox]`.
#[part(PartialEq)]
pub struct SandboxSettings {
    /// Whether runs are confined.
    pub mode: SandboxMode,
    /// Paths that are readable in addition to the system, the program and the workspace.
    pub read_paths: Vec<String>,
    /// Paths that are writable in addition to the workspace.
    pub write_paths: Vec<String>,
    /// Tools with their own sandbox table.
    pub tools: Vec<String>,
}

/// A blocker of a call, with its code, its place and how to change it.
#[part(Default, PartialEq, Eq)]
pub struct BlockerDetail {
    /// The kind of reason. Its meaning never changes.
    pub code: Option<String>,
    /// The column of the rule, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The field that the reason concerns.
    pub field: Option<String>,
    /// The file of the rule that decided.
    pub file: Option<String>,
    /// What to change.
    pub hint: Option<String>,
    /// The line of the rule, from 1.
    pub line: Option<usize>,
    /// The reason, in one sentence.
    pub message: String,
}

impl From<&Blocker> for BlockerDetail {
    fn from(blocker: &Blocker) -> BlockerDetail {
        let place = blocker.place.as_ref();
        BlockerDetail {
            code: Some(blocker.code.to_string()),
            column: place.and_then(|place| place.column),
            field: blocker.field.clone(),
            file: place.map(|place| place.file.clone()),
            hint: blocker.hint.as_ref().map(ToString::to_string),
            line: place.and_then(|place| place.line),
            message: blocker.message.clone(),
        }
    }
}

impl BlockerDetail {
    /// Returns the place of the rule, if there is one.
    pub fn place(&self) -> Option<Place> {
        let file = self.file.clone()?;
        Some(Place { file, line: self.line, column: self.column })
    }

    /// Returns whether the reason is an error of an invalid policy. Then nothing else is certain.
    pub fn is_of_invalid_policy(&self) -> bool {
        self.code.as_deref().is_some_and(crate::decision::is_invalid_policy)
    }
}

impl Decision {
    /// Returns the document of a decision on one call. Its paths are relative to the workspace. For an invalid policy,
    /// it has neither rules nor terms of a run.
    pub fn to_document(&self, state: &PolicyState, env_labels: &[String]) -> PolicyDecision {
        let used = self.env_bindings.keys().map(Label::as_str);
        let rules = state.policy().map(Policy::rules);
        let holds = !matches!(state, PolicyState::Invalid { .. });
        let rule = |get: fn(&PolicyRules) -> &Vec<String>| rules.as_ref().map(|rules| get(rules).clone());
        let required = env_labels.iter().map(|label| shown_label(label).to_owned());
        PolicyDecision {
            enabled: state.policy().is_some() || state.has_error(),
            policy_path: state.file().to_owned(),
            allowed: self.is_allowed(),
            blockers: self.blockers.iter().map(ToString::to_string).collect(),
            errors: state.errors(),
            env_labels_used: used.map(|label| shown_label(label).to_owned()).collect(),
            env_labels_required: rules.as_ref().map(|_| required.collect()),
            effective_timeout: holds.then(|| Number::from(self.effective_timeout.get())),
            max_output_bytes: holds.then_some(self.max_output_bytes),
            limits: holds.then_some(self.limits),
            sandbox: holds.then(|| SandboxDecision::from(&self.sandbox)),
            fingerprint: Some(self.fingerprint()),
            allowed_families: rule(|rules| &rules.allowed_families),
            allowed_effects: rule(|rules| &rules.allowed_effects),
            denied_effects: rule(|rules| &rules.denied_effects),
            required_approval_modes: rule(|rules| &rules.required_approval_modes),
            max_timeout: rules.as_ref().map(|rules| rules.max_timeout.clone()),
            allowed_runtimes: rule(|rules| &rules.allowed_runtimes),
            extra: Extra::default(),
        }
    }
}

impl From<&SandboxRequest> for SandboxDecision {
    fn from(request: &SandboxRequest) -> SandboxDecision {
        let grants = &request.grants;
        SandboxDecision {
            mode: request.mode.into(),
            workspace_write: grants.workspace_write,
            network: grants.network,
            local_sockets: grants.local_sockets,
            read_paths: grants.read_paths.clone(),
            write_paths: grants.write_paths.clone(),
            closed_paths: grants.closed_paths.clone(),
            git_write: grants.git_write,
            program_paths: grants.program_paths.clone(),
            extra: Extra::default(),
        }
    }
}

impl Policy {
    /// Returns the rules of the policy, with the keys of its file.
    pub fn rules(&self) -> PolicyRules {
        let shown = |line: &LocatedValue<Argv>| shown_command(&line.value.to_string()).into_owned();
        PolicyRules {
            allowed_families: self
                .allowed_families
                .values()
                .map(|family| family.as_str().to_owned())
                .collect(),
            allowed_effects: texts(&self.allowed_effects),
            denied_effects: texts(&self.denied_effects),
            required_approval_modes: self
                .required_approval_modes
                .values()
                .map(|mode| mode.as_str().to_owned())
                .collect(),
            max_timeout: self.max_timeout.as_ref().map(|timeout| Number::from(timeout.value.get())),
            allowed_runtimes: texts(&self.allowed_runtimes),
            env_bindings: self
                .env_bindings
                .iter()
                .map(|(label, variable)| (label.clone(), variable.value.clone()))
                .collect(),
            sandbox: SandboxSettings {
                mode: self.sandbox.mode.as_ref().map_or(SandboxMode::Off, |mode| mode.value),
                read_paths: located(&self.sandbox.read_paths),
                write_paths: located(&self.sandbox.write_paths),
                tools: self.tool_sandbox.keys().cloned().collect(),
            },
            outside_paths: texts(&self.outside_paths),
            pass: self.pass.values().cloned().collect(),
            inline_code: self.inline_code.as_ref().map_or_else(InlineCode::default, |rule| rule.value),
            undeclared_code: self
                .undeclared_code
                .as_ref()
                .map_or_else(UndeclaredCode::default, |rule| rule.value),
            shell: self.shell.as_ref().map(|shell| shell.value),
            limits: self.limits,
            max_output_bytes: self.max_output_bytes.as_ref().map(|bytes| bytes.value),
            max_bound_file: self.max_bound_file.as_ref().map(|bytes| bytes.value),
            kitchen: self.kitchen.place.is_some().then(|| self.kitchen_grants()),
            allowed_levels: given(&self.allowed_levels, |level| level.as_str().to_owned()),
            allowed_sources: given(&self.allowed_sources, |source| source.as_str().to_owned()),
            denied_capabilities: given(&self.denied_capabilities, String::clone),
            web_domains: given(&self.web_domains, String::clone),
            mcp_remote: given(&self.mcp_remote, String::clone),
            registry_remote: given(&self.registry_remote, String::clone),
            capture: self.capture.as_ref().map(shown),
            forge: self.forge.as_ref().map(shown),
        }
    }
}

/// Returns the words of a rule, if the policy has it.
fn given<T>(rule: &Rule<T>, word: impl Fn(&T) -> String) -> Option<Vec<String>> {
    rule.place.as_ref().map(|_| rule.items.iter().map(|item| word(&item.value)).collect())
}

fn texts(rule: &Rule<String>) -> Vec<String> {
    rule.values().cloned().collect()
}

fn located(values: &[LocatedValue<String>]) -> Vec<String> {
    values.iter().map(|value| value.value.clone()).collect()
}

impl PolicyState {
    /// Returns whether there is a policy file.
    pub fn is_enabled(&self) -> bool {
        !matches!(self, PolicyState::Missing { .. })
    }

    /// Returns the errors of the policy as sentences. A missing policy counts as one.
    pub fn errors(&self) -> Vec<String> {
        if let PolicyState::Missing { file } = self {
            return vec![format!("tool execution policy missing: {file}")];
        }
        let errors = self.issues().iter().filter(|issue| issue.severity == Severity::Error);
        errors.map(ToString::to_string).collect()
    }

    fn has_error(&self) -> bool {
        self.issues().iter().any(|issue| issue.severity == Severity::Error)
    }
}
