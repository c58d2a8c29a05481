//! Documents about the tools of MCP servers: their pins, what they list now, and what is imported.

use brigade_core::{Hint, Json, Spell};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use super::{Report, SchemaId, Unfilled};
use crate::exit::Exit;

/// `pins list`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PinListReport {
    /// The schema id.
    #[serde(deserialize_with = "PinListReport::read_schema")]
    pub schema: SchemaId,
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

impl Report for PinListReport {
    const SCHEMA: &'static str = "brigade.pins.v1";

    fn exit(&self) -> Exit {
        // A remembered difference is shown, and fails the command only if the servers were asked.
        let is_good = self.errors.is_empty() && !(self.is_live && self.issues.iter().any(LiveIssue::is_bad));
        if is_good { Exit::Done } else { Exit::Refused }
    }
}

/// One pin.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PinSummary {
    /// The id: the file name without extension.
    pub id: String,
    /// The server.
    pub server: String,
    /// The name of the tool at that server.
    pub tool: String,
    /// `pinned`; `changed` if the server listed the tool differently since, so calls are refused until one is approved
    /// again; `vanished` if the server no longer lists it.
    pub state: Cow<'static, str>,
    /// The fingerprint of the pinned listing.
    pub fingerprint: String,
    /// When the listing was pinned or accepted.
    pub pinned_at: String,
    /// When the server listed something else.
    pub offered_at: Option<String>,
    /// The fingerprint of the offered listing, which the next approval of a call of the tool binds.
    pub offered_fingerprint: Option<String>,
    /// When the server first no longer listed the tool.
    pub missing_since: Option<String>,
    /// The file.
    pub pin_path: String,
    /// The changes, as sentences.
    pub changes: Vec<String>,
}

/// The tool list of a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ServerSummary {
    /// The id for `pins show` and `pins accept`: the file name below the directory of pins, without extension.
    pub id: String,
    /// The server.
    pub server: String,
    /// `known`; `changed` if tools appeared or vanished.
    pub state: Cow<'static, str>,
    /// Number of listed tools.
    pub tool_count: usize,
    /// Tools that appeared since the list became known and are not in the catalog.
    pub appeared: Vec<String>,
    /// Tools that vanished since. Pinned tools have their own state.
    pub vanished: Vec<String>,
    /// When the list became known, or was accepted.
    pub known_at: String,
    /// When the list last differed.
    pub listed_at: String,
    /// The file.
    pub listing_path: String,
}

/// An invalid pin file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BrokenPin {
    /// The file.
    pub pin_path: String,
    /// The problems.
    pub error: String,
}

/// A tool as its server lists it now, without secrets.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OfferedTool {
    /// The name.
    pub name: String,
    /// The server's description of the tool.
    pub description: Option<String>,
    /// The schema of the arguments.
    pub input_schema: Json,
    /// The fingerprint of name, description and schema, as the server listed them.
    pub fingerprint: String,
}

/// `pins show` and `pins accept`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PinReport {
    /// The schema id.
    #[serde(deserialize_with = "PinReport::read_schema")]
    pub schema: SchemaId,
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
    pub(crate) error: Unfilled<Option<String>>,
    /// Candidates for an ambiguous id.
    pub(crate) candidates: Unfilled<Vec<String>>,
}

impl Report for PinReport {
    const SCHEMA: &'static str = "brigade.pin.v1";
}

/// A difference between a server's list and what is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LiveIssue {
    /// `mcp_server_failed`, `mcp_tool_vanished`, `mcp_tool_appeared`, `mcp_tool_changed`, `mcp_tool_duplicate`,
    /// `mcp_tool_new`, `mcp_contract_differs` or `mcp_no_server`.
    pub code: Cow<'static, str>,
    /// `warning` or `info`.
    pub severity: Cow<'static, str>,
    /// The server.
    pub server: String,
    /// The name of the tool at that server.
    pub tool: Option<String>,
    /// The problem, as one sentence.
    pub message: String,
    /// The changes, as sentences.
    pub changes: Vec<String>,
    /// What to do.
    pub hint: Option<Hint>,
}

impl LiveIssue {
    /// Spells the next step in the hint.
    pub(crate) fn spell(&mut self, speller: &dyn Spell) {
        self.hint = self.hint.take().map(|hint| hint.spelled(speller, None));
    }

    fn is_bad(&self) -> bool {
        self.severity != "info"
    }
}

/// The answers of servers, on explicit request: part of `describe --live` and `contracts --live`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LiveReport {
    /// The servers that were asked.
    pub servers: Vec<LiveServerReport>,
    /// The requested tools.
    pub tools: Vec<LiveToolReport>,
    /// The differences.
    pub issues: Vec<LiveIssue>,
    /// Number of entries.
    pub issue_count: usize,
}

impl LiveReport {
    /// Tells whether there is a difference besides information.
    pub(crate) fn is_bad(&self) -> bool {
        self.issues.iter().any(LiveIssue::is_bad)
    }
}

/// One server that was asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LiveServerReport {
    /// The server.
    pub server: String,
    /// Whether the server listed its tools.
    pub answered: bool,
    /// Name and version reported by the server.
    pub server_info: Json,
    /// The protocol version.
    pub protocol_version: Option<String>,
    /// The names of the listed tools.
    pub tools: Vec<String>,
    /// Why the server did not answer.
    pub error: Option<String>,
}

/// A catalog tool as its server lists it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LiveToolReport {
    /// The tool in the catalog.
    pub tool_id: String,
    /// The server.
    pub server: String,
    /// The name of the tool at that server.
    pub tool: String,
    /// Whether the server lists the tool exactly once.
    pub is_listed: bool,
    /// The server's description.
    pub description: Option<String>,
    /// `none`, `holds` or `changed`.
    pub pin: Cow<'static, str>,
    /// Differences between the server's input schema and the stored one, as sentences.
    pub contract_changes: Vec<String>,
}

/// `import mcp`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ImportMcpReport {
    /// The schema id.
    #[serde(deserialize_with = "ImportMcpReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// The runtime whose server was asked.
    pub runtime_id: String,
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
}

impl Report for ImportMcpReport {
    const SCHEMA: &'static str = "brigade.import-mcp.v1";
}

/// One tool of a server, and the result of its import.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ImportedTool {
    /// The id in the catalog.
    pub tool_id: String,
    /// The name of the tool at its server.
    pub mcp_tool_name: String,
    /// The server's description, shortened.
    pub description: Option<String>,
    /// `add`, `would-add` or `skip`.
    pub action: Cow<'static, str>,
    /// Why it was skipped.
    pub detail: Option<String>,
    /// The input schema.
    pub input_schema_path: String,
    /// Unsupported parts of the schema, which block calls.
    pub schema_problems: Vec<String>,
}
