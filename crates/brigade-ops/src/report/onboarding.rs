//! The document about putting programs and servers behind the gateway.

use brigade_core::{Hint, words};
use brigade_macros::{document, part};

use super::EnabledTool;

words! {
    /// Which workspace is set up.
    SetupLevel {
        /// One project.
        Project = "project",
        /// The user, for all projects.
        User = "user",
    }
}

words! {
    /// What becomes of a file.
    SetupAction {
        /// It is created.
        Create = "create",
        /// It is changed.
        Change = "change",
        /// It is removed.
        Remove = "remove",
        /// It stays, and its detail says why.
        Keep = "keep",
    }
}

words! {
    /// What becomes of a program or server.
    SetupState {
        /// It can be chosen.
        Offered = "offered",
        /// It is added.
        New = "new",
        /// It was added before.
        Known = "known",
        /// It cannot be added.
        Failed = "failed",
    }
}

/// `setup` and `add`: agent programs and servers, and the changes of files.
#[document("brigade.setup.v1", if self.is_done())]
pub struct SetupReport {
    /// The workspace root.
    pub target: String,
    /// Which workspace this is.
    pub level: SetupLevel,
    /// Whether this is only a proposal.
    pub dry_run: bool,
    /// Whether the changes were written.
    pub written: bool,
    /// Whether the changes take back earlier ones.
    pub undo: bool,
    /// The agent programs, in the order of their table.
    pub programs: Vec<SetupProgram>,
    /// The MCP servers of agent programs, by name, then those that only the catalog has.
    pub servers: Vec<SetupServer>,
    /// Other tools that are added, by id.
    pub tools: Vec<EnabledTool>,
    /// The rule that approves calls instead of a person; `null` if none is added.
    pub rule: Option<SetupRule>,
    /// The files that change, by path.
    pub changes: Vec<SetupChange>,
    /// Number of entries.
    pub change_count: usize,
    /// What to know about it.
    pub notes: Vec<String>,
    /// What to try next.
    pub next_commands: Vec<Hint>,
}

impl SetupReport {
    fn is_done(&self) -> bool {
        let failed = self.servers.iter().any(|server| server.state == SetupState::Failed)
            || self.programs.iter().any(|program| program.state == SetupState::Failed);
        !failed && (self.dry_run || self.written || self.change_count == 0)
    }
}

/// An agent program.
#[part(PartialEq)]
pub struct SetupProgram {
    /// Its name on the command line.
    pub program: String,
    /// Its name for people.
    pub title: String,
    /// The agent that it is; `null` if it was not chosen.
    pub agent: Option<String>,
    /// What becomes of it.
    pub state: SetupState,
    /// The file with its entry; `null` if it was not chosen.
    pub path: Option<String>,
    /// Why it cannot be added, or what to know about it.
    pub detail: Option<String>,
}

/// An MCP server.
#[part]
pub struct SetupServer {
    /// Its name.
    pub name: String,
    /// Its definition, such as `mcp:git@claude/user`, or a file or URL.
    pub source: String,
    /// The command that it runs, or its host.
    pub runs: String,
    /// Whether it downloads its package when it is started to list its tools, such as `npx -y NAME`.
    #[serde(default)]
    pub downloads: bool,
    /// The programs that define it; none if only the catalog has it.
    pub programs: Vec<String>,
    /// The files that define it.
    pub paths: Vec<String>,
    /// What becomes of it.
    pub state: SetupState,
    /// Its runtime; `null` before it is added.
    pub runtime_id: Option<String>,
    /// Its tools, as they are after the change.
    pub tools: Vec<EnabledTool>,
    /// Why it cannot be added, or what to know about it.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<Hint>,
}

/// A rule of the policy.
#[part(PartialEq, Eq)]
pub struct SetupRule {
    /// Its name.
    pub name: String,
    /// What it does, as one sentence.
    pub sentence: String,
}

/// A file that changes.
#[part(PartialEq, Eq)]
pub struct SetupChange {
    /// The absolute path.
    pub path: String,
    /// What becomes of it.
    pub action: SetupAction,
    /// The change as a unified diff, without secrets; empty for files that servers wrote, such as schemas.
    pub diff: String,
    /// Why it stays.
    pub detail: Option<String>,
}
