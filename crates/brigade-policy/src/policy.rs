//! The content of policy.toml, with places.

mod credentials;
mod examples;
mod kitchen;
mod read;
mod rules;

use std::collections::BTreeMap;

use brigade_catalog::{ApprovalMode, Family, Level, Seconds, ToolSource};
use brigade_cmdline::Argv;
use brigade_core::{AgentFiles, ConfigIssue, Label, Place, Severity, words};

pub use credentials::{GitCredential, GitLogin};
pub use kitchen::{KitchenGrants, KitchenRules, ShellUse};

use crate::document::LocatedValue;
use crate::testing::PolicyTest;
use crate::{AutoApprove, CallFacts, CallKind};

/// The state of the policy file.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyState {
    /// The file does not exist. Nothing is blocked; the check for issues reports it.
    Missing {
        /// The path that was tried.
        file: String,
    },
    /// The file is invalid, so it may not mean what its author intended. Everything is blocked.
    Invalid {
        /// The file.
        file: String,
        /// The issues, in file order; at least one is an error.
        issues: Vec<ConfigIssue>,
    },
    /// The file is valid.
    Valid(Box<Policy>),
}

impl PolicyState {
    /// Reads a policy file. `None` means that the file does not exist.
    ///
    /// Never fails: invalid bytes give [`PolicyState::Invalid`]. Unknown top-level keys are warnings, as in v0.30,
    /// which ignores them. Other unknown names are errors, because a misspelt restriction must not be ignored: keys in
    /// `[sandbox]`, `[paths]`, `[environment]`, `[commands]`, `[limits]` and `[kitchen]`, tables with similar names,
    /// and a `[sandbox]` without a mode. `file` is the name used in places.
    pub fn parse(file: &str, bytes: Option<&[u8]>) -> PolicyState {
        match bytes {
            None => PolicyState::Missing { file: file.to_owned() },
            Some(bytes) => read::policy(file, bytes),
        }
    }

    /// Like [`PolicyState::parse`], but does not evaluate the tests.
    pub fn parse_untested(file: &str, bytes: &[u8]) -> PolicyState {
        read::untested(file, bytes)
    }

    /// Creates the state of a file that exists but cannot be read.
    ///
    /// `message` gives the reason without a final stop, such as `permission denied`.
    pub fn unreadable(file: &str, message: &str) -> PolicyState {
        let issue = ConfigIssue {
            severity: Severity::Error,
            place: Place::file(file),
            entry: None,
            field: None,
            message: format!("cannot be read: {message}"),
            hint: None,
        };
        PolicyState::Invalid { file: file.to_owned(), issues: vec![issue] }
    }

    /// Creates the state of a file that git tracks and that no person of this host accepted. It blocks everything.
    pub fn tracked(file: &str) -> PolicyState {
        PolicyState::Invalid { file: file.to_owned(), issues: vec![ConfigIssue::tracked(file)] }
    }

    /// Returns the path of the file.
    pub fn file(&self) -> &str {
        match self {
            PolicyState::Missing { file } | PolicyState::Invalid { file, .. } => file,
            PolicyState::Valid(policy) => &policy.file,
        }
    }

    /// Returns the policy if it is valid.
    pub fn policy(&self) -> Option<&Policy> {
        match self {
            PolicyState::Valid(policy) => Some(policy),
            PolicyState::Missing { .. } | PolicyState::Invalid { .. } => None,
        }
    }

    /// Returns the issues of the file, including the warnings of a valid one.
    pub fn issues(&self) -> &[ConfigIssue] {
        match self {
            PolicyState::Missing { .. } => &[],
            PolicyState::Invalid { issues, .. } => issues,
            PolicyState::Valid(policy) => &policy.issues,
        }
    }

    /// Returns the place of the rule that refuses code for an interpreter in commands. An invalid policy refuses it.
    pub fn refuses_inline_code(&self) -> Option<Place> {
        match self {
            PolicyState::Missing { .. } => None,
            PolicyState::Invalid { file, issues, .. } => {
                Some(issues.first().map_or_else(|| Place::file(file), |issue| issue.place.clone()))
            }
            PolicyState::Valid(policy) => {
                let rule = policy.inline_code.as_ref().filter(|rule| rule.value == InlineCode::Refuse);
                rule.map(|rule| rule.place.clone())
            }
        }
    }

    /// Returns whether the file is missing, invalid or valid.
    pub fn validity(&self) -> PolicyValidity {
        match self {
            PolicyState::Missing { .. } => PolicyValidity::Missing,
            PolicyState::Invalid { .. } => PolicyValidity::Invalid,
            PolicyState::Valid(_) => PolicyValidity::Valid,
        }
    }
}

words! {
    /// Whether there is a policy, and whether it is valid.
    PolicyValidity {
        /// The file does not exist.
        Missing = "missing",
        /// The file is invalid.
        Invalid = "invalid",
        /// The file is valid.
        Valid = "valid",
    }
}

/// A list in the policy. An absent or empty list restricts nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule<T> {
    /// The place of the key, if it is present.
    pub place: Option<Place>,
    /// The elements, in file order.
    pub items: Vec<LocatedValue<T>>,
}

impl<T: PartialEq> Rule<T> {
    /// Returns the element that equals a value.
    pub fn find(&self, wanted: &T) -> Option<&LocatedValue<T>> {
        self.items.iter().find(|item| item.value == *wanted)
    }
}

impl<T> Rule<T> {
    /// Returns the values, in file order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.items.iter().map(|item| &item.value)
    }
}

impl<T> Default for Rule<T> {
    fn default() -> Rule<T> {
        Rule { place: None, items: Vec::new() }
    }
}

words! {
    /// Whether the kernel confines runs.
    SandboxMode {
        /// Runs are not confined.
        Off = "off",
        /// Runs are confined as far as this kernel can.
        BestEffort = "best-effort",
        /// Runs are confined, or do not start.
        Enforce = "enforce",
    }
}

words! {
    /// Which runs are observed. The kernel reports what they open, execute and connect to, and the receipt lists it.
    #[derive(Default)]
    Observe {
        /// Every run.
        Always = "always",
        /// The first run after each change of what its approval binds.
        #[default]
        Changed = "changed",
        /// None.
        Never = "never",
    }
}

words! {
    /// Which part of the workspace a sandboxed run may read.
    #[derive(Default)]
    Reads {
        /// Everything.
        #[default]
        Workspace = "workspace",
        /// Only what the approval binds, the tool's `data`, files and directories that arguments name, and what the
        /// policy adds.
        Closed = "closed",
    }
}

words! {
    /// Which part of the workspace's repository a sandboxed run may write.
    #[derive(Default)]
    GitAccess {
        /// Nothing.
        #[default]
        Closed = "closed",
        /// The history: objects, references, their logs, `HEAD`, the index and similar files. Not files that git
        /// executes or reads settings from.
        Write = "write",
    }
}

words! {
    /// Whether a command may hold code for an interpreter, as in `python3 -c …`.
    #[derive(Default)]
    InlineCode {
        /// It may. The code is reviewed with the command.
        #[default]
        Allow = "allow",
        /// Commands with code are refused.
        Refuse = "refuse",
    }
}

words! {
    /// What happens to a command that chooses its code itself, such as `make`, in an entry without `code`.
    #[derive(Default)]
    UndeclaredCode {
        /// Approvals show a warning.
        #[default]
        Warn = "warn",
        /// Calls are refused.
        Refuse = "refuse",
    }
}

/// `[sandbox]`, or `[sandbox.tool.ID]` and `[sandbox.install]`, which extend it for one tool and for installations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxRules {
    /// The place of the table, if it is present.
    pub place: Option<Place>,
    /// Whether runs are confined. The tool's mode overrides the general one.
    pub mode: Option<LocatedValue<SandboxMode>>,
    /// Paths that are readable in addition to the system, the program and the workspace.
    pub read_paths: Vec<LocatedValue<String>>,
    /// Paths that calls with the effect `local-write` may write in addition to the workspace.
    pub write_paths: Vec<LocatedValue<String>>,
    /// Whether runs may connect to sockets of this machine. The tool's value overrides the general one.
    pub local_sockets: Option<LocatedValue<bool>>,
    /// Which runs are observed. The tool's value overrides the general one.
    pub observe: Option<LocatedValue<Observe>>,
    /// Which part of the workspace runs may read. The tool's value overrides the general one.
    pub reads: Option<LocatedValue<Reads>>,
    /// Which part of the repository runs of the tool may write. Only tables of tools have it.
    pub git: Option<LocatedValue<GitAccess>>,
}

/// `[limits]`: resource limits for each process of a run. Absent limits are not set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Limits {
    /// The maximum number of processes of the user.
    pub processes: Option<u64>,
    /// The maximum size of the address space, in bytes.
    pub memory: Option<u64>,
    /// The maximum size of a file, in bytes.
    pub file_size: Option<u64>,
    /// The maximum number of open files.
    pub open_files: Option<u64>,
}

impl Policy {
    /// Returns whether a shell may read a command of `cmd.run`.
    pub fn shell_use(&self) -> ShellUse {
        self.shell.as_ref().map_or(ShellUse::Never, |shell| shell.value)
    }

    /// Returns the variable of each label in `env_bindings`.
    pub fn variables(&self) -> BTreeMap<Label, Label> {
        self.env_bindings.iter().map(|(label, variable)| (label.clone(), variable.value.clone())).collect()
    }

    /// Returns the sandbox rules that extend `[sandbox]` for a call.
    pub(crate) fn sandbox_of(&self, facts: &CallFacts<'_>) -> Option<&SandboxRules> {
        match facts.kind {
            CallKind::Run | CallKind::Read => self.tool_sandbox.get(facts.tool_id),
            CallKind::Install => self.install_sandbox.as_ref(),
        }
    }

    /// Returns all tables of sandbox rules, the general one first.
    pub fn all_sandbox_rules(&self) -> impl Iterator<Item = &SandboxRules> {
        std::iter::once(&self.sandbox).chain(&self.install_sandbox).chain(self.tool_sandbox.values())
    }
}

/// A valid policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// The file name used in places.
    pub file: String,
    /// Families that may run.
    pub allowed_families: Rule<Family>,
    /// Levels whose tools may run. Absent means all, an empty list none.
    pub allowed_levels: Rule<Level>,
    /// Sources whose tools may run. Absent means all, an empty list none.
    pub allowed_sources: Rule<ToolSource>,
    /// Capabilities that tools must not have.
    pub denied_capabilities: Rule<String>,
    /// Effects that calls may have.
    pub allowed_effects: Rule<String>,
    /// Effects that calls must not have.
    pub denied_effects: Rule<String>,
    /// The approval modes that tools may have.
    pub required_approval_modes: Rule<ApprovalMode>,
    /// The maximum timeout, which is also the default for tools without one.
    pub max_timeout: Option<LocatedValue<Seconds>>,
    /// Runtimes that calls may use.
    pub allowed_runtimes: Rule<String>,
    /// The place of `env_bindings`.
    pub env_bindings_place: Option<Place>,
    /// The environment variable of each label.
    pub env_bindings: BTreeMap<Label, LocatedValue<Label>>,
    /// The general sandbox rules, `[sandbox]`.
    pub sandbox: SandboxRules,
    /// The sandbox rules of single tools, `[sandbox.tool.ID]`, by tool id.
    pub tool_sandbox: BTreeMap<String, SandboxRules>,
    /// The sandbox rules of installations, `[sandbox.install]`, which replace the rules of their tool.
    pub install_sandbox: Option<SandboxRules>,
    /// `[paths] outside`: directories outside the workspace that tools' paths may use.
    pub outside_paths: Rule<String>,
    /// `[paths] readable_secrets`: patterns of files that built-in tools may read although they probably hold keys.
    pub readable_secrets: Rule<String>,
    /// `[paths] agent_files`: whether agents may change files by which agent programs and editors start programs.
    pub agent_files: AgentFiles,
    /// `[git] urls`: patterns of the repositories that built-in tools may reach.
    pub git_urls: Rule<String>,
    /// `[git.credentials]`: how git logs in to hosts.
    pub git_credentials: Vec<GitCredential>,
    /// `[web] domains`: the hosts whose pages built-in tools may fetch.
    pub web_domains: Rule<String>,
    /// `[mcp] remote`: the origins of remote MCP servers that calls may connect to.
    pub mcp_remote: Rule<String>,
    /// `[registry] remote`: the origins of registries of tools that a person may ask.
    pub registry_remote: Rule<String>,
    /// `[programs] capture`: the command line that prints an image of the screen.
    pub capture: Option<LocatedValue<Argv>>,
    /// `[programs] forge`: the program that reaches the forge of pull requests.
    pub forge: Option<LocatedValue<Argv>>,
    /// `[environment] pass`: variables that runs get in addition to the default ones.
    pub pass: Rule<Label>,
    /// `[commands] inline_code`: whether commands may hold code for an interpreter.
    pub inline_code: Option<LocatedValue<InlineCode>>,
    /// `[commands] shell`: whether a shell may read a command that a person approves. Absent means never.
    pub shell: Option<LocatedValue<ShellUse>>,
    /// `[commands] undeclared_code`: whether commands that choose their code themselves need `code`.
    pub undeclared_code: Option<LocatedValue<UndeclaredCode>>,
    /// The resource limits, `[limits]`.
    pub limits: Limits,
    /// The place of `[limits]`.
    pub limits_place: Option<Place>,
    /// The number of bytes kept of each output stream. The rest is only counted.
    pub max_output_bytes: Option<LocatedValue<u64>>,
    /// The largest file that an approval binds, in bytes. Absent means the default.
    pub max_bound_file: Option<LocatedValue<u64>>,
    /// What a crew of coding agents may do, `[kitchen]`.
    pub kitchen: KitchenRules,
    /// The rules that approve calls of agents, `[[auto_approve]]`, in file order.
    pub auto_approve: Vec<AutoApprove>,
    /// The tests, `[[test]]`, in file order.
    pub tests: Vec<PolicyTest>,
    /// The warnings. A policy with errors is invalid.
    pub issues: Vec<ConfigIssue>,
}
