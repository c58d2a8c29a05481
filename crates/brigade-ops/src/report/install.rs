//! `tools install`.

use brigade_call::StoreKind;
use brigade_catalog::ToolState;
use brigade_core::{NextStep, words};
use brigade_macros::{document, part};
use brigade_policy::BlockerDetail;

/// `tools install`: the installations that were queued. Nothing was run.
#[document("brigade.tool-install.v1", if self.blocked.is_empty())]
pub struct InstallReport {
    /// The workspace root.
    pub target: String,
    /// The queue file.
    pub calls_path: String,
    /// What calls are stored in.
    pub store: StoreKind,
    /// Whether this is a dry run, which stores nothing.
    pub dry_run: bool,
    /// The queued installations.
    pub queued: Vec<QueuedInstall>,
    /// The tools that need no installation.
    pub skipped: Vec<SkippedInstall>,
    /// The tools that cannot be installed now.
    pub blocked: Vec<BlockedInstall>,
    /// Number of queued installations.
    pub queued_count: usize,
    /// Number of skipped tools.
    pub skipped_count: usize,
    /// Number of blocked tools.
    pub blocked_count: usize,
    /// Problems of the whole catalog.
    pub notes: Vec<String>,
    /// The next step; not in the document.
    #[serde(skip)]
    pub next: Option<NextStep>,
}

/// A queued installation.
#[part(PartialEq, Eq)]
pub struct QueuedInstall {
    /// The tool.
    pub tool_id: String,
    /// The call; `null` if nothing was stored.
    pub call_id: Option<String>,
    /// The status of the call; `would-queue` if nothing was stored.
    pub status: String,
    /// The command that installs the tool, without likely secrets.
    pub command: Option<String>,
    /// The program of that command, as written in the entry.
    pub program: String,
    /// Whether the call is new. An equal call that waits or may run is not queued again.
    pub created: bool,
}

/// A tool that needs no installation.
#[part(PartialEq, Eq)]
pub struct SkippedInstall {
    /// The tool.
    pub tool_id: String,
    /// Why: its state, `available`.
    pub reason: ToolState,
}

words! {
    /// Why a tool cannot be installed now.
    NotInstalled {
        /// The entry names no command that installs it.
        NoInstallCommand = "no_install_command",
        /// None of its installers is on `PATH`.
        NoInstaller = "no_installer",
        /// The plan has blockers, or an equal call was rejected.
        Blocked = "blocked",
    }
}

/// A tool that cannot be installed now.
#[part(PartialEq, Eq)]
pub struct BlockedInstall {
    /// The tool.
    pub tool_id: String,
    /// Why.
    pub reason: NotInstalled,
    /// All reasons, as sentences.
    pub blockers: Vec<String>,
    /// The same reasons with code, place and fix.
    pub blocker_details: Vec<BlockerDetail>,
}
