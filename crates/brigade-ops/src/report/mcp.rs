//! Documents about the tools of MCP servers: pins, current listings, and imports.

use brigade_core::{Json, Timestamp};
use brigade_macros::{document, part};

use super::RefusalMember;

pub use brigade_mcp::{
    ImportAction, ImportedTool, ListState, LiveIssue, LiveReport, LiveServerReport, LiveToolReport,
    OfferedTool, PinCheck, PinState, PinSummary, ServerSummary,
};

/// `pins list`.
#[document("brigade.pins.v1", if self.is_good())]
pub struct PinListReport {
    /// The workspace root.
    pub target: String,
    /// The directory of the pins.
    pub pins_path: String,
    /// The pins, by server and tool.
    pub pins: Vec<PinSummary>,
    /// Number of entries.
    pub pin_count: usize,
    /// Number of pins that a server listed differently since.
    pub changed_count: usize,
    /// The known tool lists of servers, by name.
    pub servers: Vec<ServerSummary>,
    /// Number of entries.
    pub server_count: usize,
    /// Invalid pin files.
    pub errors: Vec<BrokenPin>,
    /// Number of entries.
    pub error_count: usize,
    /// Whether the servers were asked.
    pub is_live: bool,
    /// Differences to what the servers list now. If they were not asked, tools that appeared or vanished in the
    /// last known list.
    pub issues: Vec<LiveIssue>,
    /// Number of entries.
    pub issue_count: usize,
}

impl PinListReport {
    /// Remembered differences are only shown. They fail the command only if the servers were asked.
    fn is_good(&self) -> bool {
        self.errors.is_empty() && !(self.is_live && self.issues.iter().any(LiveIssue::is_bad))
    }
}

/// An invalid pin file.
#[part]
pub struct BrokenPin {
    /// The file.
    pub pin_path: String,
    /// The problems.
    pub error: String,
}

/// `pins show` and `pins accept`.
#[document("brigade.pin.v1")]
#[derive(Default)]
pub struct PinReport {
    /// The workspace root.
    pub target: String,
    /// The directory of the pins.
    pub pins_path: String,
    /// The pin; `null` if none was found.
    pub pin: Option<PinSummary>,
    /// The list of a server, if the id names a server instead of a pin.
    pub server: Option<ServerSummary>,
    /// The pinned description.
    pub description: Option<String>,
    /// The pinned schema of the arguments.
    pub input_schema: Json,
    /// The offered or accepted listing; `null` without a change.
    pub offered: Option<OfferedTool>,
    /// The offered or accepted changes.
    pub changes: Vec<String>,
    /// Whether a change was accepted.
    pub accepted: bool,
    /// Why nothing was found or accepted.
    pub(crate) error: RefusalMember<Option<String>>,
    /// Candidates for an ambiguous id.
    pub(crate) candidates: RefusalMember<Vec<String>>,
}

/// `import mcp`.
#[document("brigade.import-mcp.v1")]
pub struct ImportMcpReport {
    /// The workspace root.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// The runtime whose server was asked.
    pub runtime_id: String,
    /// The private home directory of the server; `null` if it has the home of the person.
    #[serde(default)]
    pub home: Option<String>,
    /// Paths that the server may write, in addition to those of the policy.
    #[serde(default)]
    pub write_paths: Vec<String>,
    /// The names of its plain variables.
    #[serde(default)]
    pub variables: Vec<String>,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Name and version reported by the server.
    pub server_info: Json,
    /// The protocol version.
    pub protocol_version: Option<String>,
    /// Number of tools that the server lists.
    pub listed_count: usize,
    /// Number of added tools, or tools to add.
    pub added_count: usize,
    /// Number of skipped tools.
    pub skipped_count: usize,
    /// The requested tools.
    pub tools: Vec<ImportedTool>,
    /// The tools that were enabled, if that was requested.
    #[serde(default)]
    pub enabled: Option<EnableReport>,
}

/// `login`.
#[document("brigade.login.v1")]
pub struct LoginReport {
    /// The workspace root.
    pub target: String,
    /// The runtime of the server.
    pub server: String,
    /// The origin of the server.
    pub mcp_origin: String,
    /// The authorization server.
    pub issuer: String,
    /// The granted scopes, if the server names them.
    pub scope: Option<String>,
    /// When the token expires, if the server says so.
    pub expires_at: Option<Timestamp>,
    /// Whether it is then replaced without the person.
    pub can_refresh: bool,
    /// The file of the tokens.
    pub tokens_path: String,
}

/// `logout`.
#[document("brigade.logout.v1")]
pub struct LogoutReport {
    /// The workspace root.
    pub target: String,
    /// The runtime of the server.
    pub server: String,
    /// The origin of the server.
    pub mcp_origin: String,
    /// Whether there were tokens to remove.
    pub removed: bool,
}

/// `tools enable` and `tools disable`.
#[document("brigade.enable.v1", if self.is_done() && self.imported.iter().all(|server| server.error.is_none()))]
pub struct EnableReport {
    /// The workspace root.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// Whether this is only a proposal.
    pub dry_run: bool,
    /// Whether the catalog was changed.
    pub written: bool,
    /// Number of entries that change.
    pub changed_count: usize,
    /// The tools, as they are after the change.
    pub tools: Vec<EnabledTool>,
    /// The servers whose tools were imported in the same step.
    #[serde(default)]
    pub imported: Vec<ImportedServer>,
}

/// A server that was started and imported because its entry was enabled.
#[part]
pub struct ImportedServer {
    /// Its runtime.
    pub runtime_id: String,
    /// The ids of the tools that were added, disabled.
    pub added: Vec<String>,
    /// Why its tools were not imported.
    pub error: Option<String>,
}

impl EnableReport {
    fn is_done(&self) -> bool {
        self.dry_run || self.written || self.changed_count == 0
    }
}

/// A tool that is enabled or disabled.
#[part]
pub struct EnabledTool {
    /// Its id.
    pub tool_id: String,
    /// Its name at its MCP server.
    pub mcp_tool_name: Option<String>,
    /// Whether it was enabled before.
    pub was_enabled: bool,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Its effects.
    pub effects: Vec<String>,
    /// The effects that the hints of its server propose. They are not granted.
    pub proposed_effects: Vec<String>,
    /// Its approval mode.
    pub approval_mode: Option<brigade_catalog::ApprovalMode>,
    /// What approves its calls, by agent: `allow`, `ask`, `deny`, `rule NAME`, or `hidden` with the reason.
    pub gates: std::collections::BTreeMap<String, String>,
    /// For the entry of a whole server whose tools are not imported: the command or address that is started or
    /// reached to import them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<String>,
    /// Whether its entry changes.
    pub changed: bool,
    /// Why it is not changed, or why it cannot be called yet.
    pub detail: Option<String>,
}

brigade_core::words! {
    /// How the list of a server differs from the catalog.
    UpdateAction {
        /// The tool is new. It is added, disabled.
        New = "new",
        /// The description, the parameters or other parts changed. Pin and entry are renewed.
        Changed = "changed",
        /// The server does not list it any more. Its entry is disabled.
        Removed = "removed",
    }
}

/// `tools update`.
#[document("brigade.update.v1", if self.is_done() && self.servers.iter().all(|server| server.error.is_none()))]
pub struct UpdateReport {
    /// The workspace root.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// Whether this is only a proposal.
    pub dry_run: bool,
    /// Whether the changes were accepted.
    pub written: bool,
    /// Number of tools that differ.
    pub changed_count: usize,
    /// The servers that were asked.
    pub servers: Vec<UpdatedServer>,
}

impl UpdateReport {
    fn is_done(&self) -> bool {
        self.dry_run || self.written || self.changed_count == 0
    }
}

/// A server that was asked for its tools.
#[part(Default)]
pub struct UpdatedServer {
    /// The runtime whose command is the server.
    pub runtime_id: String,
    /// Name and version reported by the server.
    pub server_info: Json,
    /// Why it listed nothing.
    pub error: Option<String>,
    /// Number of tools that are as the catalog has them.
    pub unchanged_count: usize,
    /// The tools that differ.
    pub tools: Vec<UpdatedTool>,
}

/// A tool whose listing differs from the catalog.
#[part]
pub struct UpdatedTool {
    /// Its id in the catalog.
    pub tool_id: String,
    /// Its name at the server.
    pub mcp_tool_name: String,
    /// How it differs.
    pub action: UpdateAction,
    /// The changes, as sentences.
    pub changes: Vec<String>,
}
