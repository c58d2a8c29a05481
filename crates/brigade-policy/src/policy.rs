//! What policy.toml says, and where.

mod read;

use std::collections::BTreeMap;

use brigade_catalog::{ApprovalMode, Family, Seconds};
use brigade_core::{ConfigIssue, Label, Place, Severity};

use crate::document::Located;

/// What is known of the policy file.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyState {
    /// There is no file. Nothing is blocked; it is an issue of health.
    Missing {
        /// The file that was looked for.
        file: String,
    },
    /// There is a file, and it cannot be trusted to say what its author meant. Everything is blocked.
    Invalid {
        /// The file.
        file: String,
        /// What is wrong, in the order of the file; at least one is an error.
        issues: Vec<ConfigIssue>,
        /// What is understood of it, to be shown and never to decide by; none of what is no TOML.
        part: Option<Box<Policy>>,
    },
    /// There is a file, and it is understood.
    Valid(Box<Policy>),
}

impl PolicyState {
    /// Reads a policy file; `None` means that there is no file.
    ///
    /// Never fails: bytes that are no policy give [`PolicyState::Invalid`]. Unknown keys at the top are warnings and
    /// leave the policy valid, because the Python program ignores them. Unknown keys in `[sandbox]`, `[paths]`,
    /// `[environment]` and `[limits]`, a table that is named almost like one of them, and a `[sandbox]` that leaves its
    /// mode open are errors: a restriction that is misspelt must not be none. `file` is the name that places will have.
    pub fn parse(file: &str, bytes: Option<&[u8]>) -> PolicyState {
        match bytes {
            None => PolicyState::Missing { file: file.to_owned() },
            Some(bytes) => read::policy(file, bytes),
        }
    }

    /// Makes the state of a file that is there and cannot be read.
    ///
    /// `message` says why, without a final stop, such as `permission denied`.
    pub fn unreadable(file: &str, message: &str) -> PolicyState {
        let issue = ConfigIssue {
            severity: Severity::Error,
            place: Place::file(file),
            entry: None,
            field: None,
            message: format!("cannot be read: {message}"),
            hint: None,
        };
        PolicyState::Invalid { file: file.to_owned(), issues: vec![issue], part: None }
    }

    /// Returns the name of the file.
    pub fn file(&self) -> &str {
        match self {
            PolicyState::Missing { file } | PolicyState::Invalid { file, .. } => file,
            PolicyState::Valid(policy) => &policy.file,
        }
    }

    /// Returns the policy, when there is one that is understood.
    pub fn policy(&self) -> Option<&Policy> {
        match self {
            PolicyState::Valid(policy) => Some(policy),
            PolicyState::Missing { .. } | PolicyState::Invalid { .. } => None,
        }
    }

    /// Returns what is understood of the file, also when that is only a part of it: to be shown, never to decide by.
    pub fn shown(&self) -> Option<&Policy> {
        match self {
            PolicyState::Valid(policy) => Some(policy),
            PolicyState::Invalid { part, .. } => part.as_deref(),
            PolicyState::Missing { .. } => None,
        }
    }

    /// Returns what is wrong in the file, warnings of a valid one included.
    pub fn issues(&self) -> &[ConfigIssue] {
        match self {
            PolicyState::Missing { .. } => &[],
            PolicyState::Invalid { issues, .. } => issues,
            PolicyState::Valid(policy) => &policy.issues,
        }
    }

    /// Returns whether there is a file.
    pub fn standing(&self) -> Standing {
        match self {
            PolicyState::Missing { .. } => Standing::Missing,
            PolicyState::Invalid { .. } => Standing::Invalid,
            PolicyState::Valid(_) => Standing::Valid,
        }
    }
}

/// Whether there is a policy, and whether it is understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// There is no file.
    Missing,
    /// There is one that is not understood.
    Invalid,
    /// There is one.
    Valid,
}

impl Standing {
    /// Returns `missing`, `invalid` or `valid`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Standing::Missing => "missing",
            Standing::Invalid => "invalid",
            Standing::Valid => "valid",
        }
    }
}

/// A list in the policy; one that is absent or empty restricts nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule<T> {
    /// Where the key stands; absent when it is not written.
    pub place: Option<Place>,
    /// The elements, in the order of the file.
    pub items: Vec<Located<T>>,
}

impl<T: PartialEq> Rule<T> {
    /// Returns the element that equals a value.
    pub fn find(&self, wanted: &T) -> Option<&Located<T>> {
        self.items.iter().find(|item| item.value == *wanted)
    }
}

impl<T> Rule<T> {
    /// Returns the values, in the order of the file.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.items.iter().map(|item| &item.value)
    }
}

impl<T> Default for Rule<T> {
    fn default() -> Rule<T> {
        Rule { place: None, items: Vec::new() }
    }
}

/// Whether runs are confined by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxMode {
    /// They are not.
    Off,
    /// They are, as far as this kernel can.
    BestEffort,
    /// They are, or they do not start.
    Enforce,
}

impl SandboxMode {
    /// All of them, as the file writes them.
    pub const ALL: [SandboxMode; 3] = [SandboxMode::Off, SandboxMode::BestEffort, SandboxMode::Enforce];

    /// Returns `off`, `best-effort` or `enforce`.
    pub const fn as_str(self) -> &'static str {
        match self {
            SandboxMode::Off => "off",
            SandboxMode::BestEffort => "best-effort",
            SandboxMode::Enforce => "enforce",
        }
    }
}

/// `[sandbox]`, or `[sandbox.tool.ID]`, which adds to it for one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxRules {
    /// Where the table stands; absent when it is not written.
    pub place: Option<Place>,
    /// Whether runs are confined; that of the tool replaces the general one.
    pub mode: Option<Located<SandboxMode>>,
    /// What may be read besides the system, the program and the workspace.
    pub read_paths: Vec<Located<String>>,
    /// What may be written besides the workspace, by calls with the effect `local-write`.
    pub write_paths: Vec<Located<String>>,
    /// Whether sockets of this machine may be connected to; that of the tool replaces the general one.
    pub local_sockets: Option<Located<bool>>,
}

/// `[limits]`: upper bounds for each process of a run; absent ones are not set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Limits {
    /// How many processes the user may have.
    pub processes: Option<u64>,
    /// Bytes of address space.
    pub memory: Option<u64>,
    /// Bytes of the largest file.
    pub file_size: Option<u64>,
    /// Open files.
    pub open_files: Option<u64>,
}

/// A policy that is understood.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// The name of the file, as in its places.
    pub file: String,
    /// Families that may run.
    pub allowed_families: Rule<Family>,
    /// Effects that a call may have.
    pub allowed_effects: Rule<String>,
    /// Effects that a call must not have.
    pub denied_effects: Rule<String>,
    /// Approval modes that a tool must have one of.
    pub required_approval_modes: Rule<ApprovalMode>,
    /// The longest timeout, and that of a call that asks for none.
    pub max_timeout: Option<Located<Seconds>>,
    /// Runtimes that a call may use.
    pub allowed_runtimes: Rule<String>,
    /// Where `env_bindings` stands.
    pub env_bindings_place: Option<Place>,
    /// Labels, and the variable of the environment that each stands for.
    pub env_bindings: BTreeMap<Label, Located<Label>>,
    /// `[sandbox]`
    pub sandbox: SandboxRules,
    /// `[sandbox.tool.ID]`, by the tool's id.
    pub tool_sandbox: BTreeMap<String, SandboxRules>,
    /// `[paths] outside`: folders outside the workspace that a tool's paths may lead to.
    pub outside_paths: Rule<String>,
    /// `[environment] pass`: variables that runs get besides the usual ones.
    pub pass: Rule<Label>,
    /// `[limits]`
    pub limits: Limits,
    /// Where `[limits]` stands.
    pub limits_place: Option<Place>,
    /// Bytes of each output stream that are kept; the rest is counted.
    pub max_output_bytes: Option<Located<u64>>,
    /// Warnings; errors would have made the policy invalid.
    pub issues: Vec<ConfigIssue>,
}
