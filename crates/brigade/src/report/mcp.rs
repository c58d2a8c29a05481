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
    /// The workspace.
    pub target: String,
    /// The folder of the pins.
    pub pins_path: String,
    /// The pins, by server and tool.
    pub pins: Vec<PinSummary>,
    /// How many.
    pub pin_count: usize,
    /// How many of them a server listed differently since.
    pub changed_count: usize,
    /// What servers list, as far as that is known, by name.
    pub servers: Vec<ServerSummary>,
    /// How many.
    pub server_count: usize,
    /// Files that are no pins.
    pub errors: Vec<BrokenPin>,
    /// How many.
    pub error_count: usize,
    /// Whether the servers were asked.
    pub is_live: bool,
    /// What the servers say now that does not fit; when they were not asked, which tools appeared or vanished when they
    /// were.
    pub issues: Vec<LiveIssue>,
    /// How many.
    pub issue_count: usize,
}

impl Report for PinListReport {
    const SCHEMA: &'static str = "brigade.pins.v1";

    fn exit(&self) -> Exit {
        // What is only remembered shows; it fails nothing until somebody asks.
        let is_good = self.errors.is_empty() && !(self.is_live && self.issues.iter().any(LiveIssue::is_bad));
        if is_good { Exit::Done } else { Exit::Refused }
    }
}

/// One pin.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PinSummary {
    /// The id: the file's name without its ending.
    pub id: String,
    /// The server.
    pub server: String,
    /// The tool's name at that server.
    pub tool: String,
    /// `pinned`; `changed` when the server listed it differently since, so that calls are refused until one is approved
    /// anew; `vanished` when it did not list it at all.
    pub state: Cow<'static, str>,
    /// The fingerprint of what the server said.
    pub fingerprint: String,
    /// When that was, or when it was accepted.
    pub pinned_at: String,
    /// When the server said something else.
    pub offered_at: Option<String>,
    /// The fingerprint of that; the next approval of a call of the tool binds it.
    pub offered_fingerprint: Option<String>,
    /// When the server first did not list the tool any more.
    pub missing_since: Option<String>,
    /// The file.
    pub pin_path: String,
    /// What changed, in sentences.
    pub changes: Vec<String>,
}

/// What a server lists, beside what is known of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ServerSummary {
    /// The id for `pins show` and `pins accept`: the file below the folder of the pins, without its ending.
    pub id: String,
    /// The server.
    pub server: String,
    /// `known`; `changed` when tools appeared or vanished.
    pub state: Cow<'static, str>,
    /// How many tools it lists.
    pub tool_count: usize,
    /// The tools that appeared since the list was known, and that the catalog does not have.
    pub appeared: Vec<String>,
    /// The tools that vanished since; pinned ones have their own state.
    pub vanished: Vec<String>,
    /// When the list became known, or was accepted.
    pub known_at: String,
    /// When what it lists was last seen to be different.
    pub listed_at: String,
    /// The file.
    pub listing_path: String,
}

/// A file that is no pin.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BrokenPin {
    /// The file.
    pub pin_path: String,
    /// What is wrong with it.
    pub error: String,
}

/// A tool as its server lists it since it was pinned, without secrets.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OfferedTool {
    /// The name.
    pub name: String,
    /// What the server says that the tool does.
    pub description: Option<String>,
    /// The schema of its arguments.
    pub input_schema: Json,
    /// The fingerprint of all three, as the server said them.
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
    /// The workspace.
    pub target: String,
    /// The folder of the pins.
    pub pins_path: String,
    /// The pin; `null` when none was found.
    pub pin: Option<PinSummary>,
    /// What a server lists, when that was asked for instead of a pin.
    pub server: Option<ServerSummary>,
    /// What the server says that the tool does, as it is pinned.
    pub description: Option<String>,
    /// The schema of its arguments, as it is pinned.
    pub input_schema: Json,
    /// All that the server says of it instead, or what was accepted; `null` when nothing changed.
    pub offered: Option<OfferedTool>,
    /// What changed since, or what was accepted.
    pub changes: Vec<String>,
    /// Whether a change was accepted.
    pub accepted: bool,
    /// Why not.
    pub(crate) error: Unfilled<Option<String>>,
    /// What could be meant.
    pub(crate) candidates: Unfilled<Vec<String>>,
}

impl Report for PinReport {
    const SCHEMA: &'static str = "brigade.pin.v1";
}

/// Something that a server says now and that does not fit what is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LiveIssue {
    /// `mcp_server_failed`, `mcp_tool_vanished`, `mcp_tool_appeared`, `mcp_tool_changed`, `mcp_tool_duplicate`,
    /// `mcp_tool_new`, `mcp_contract_differs` or `mcp_no_server`.
    pub code: Cow<'static, str>,
    /// `warning`, or `info` for what is only worth knowing.
    pub severity: Cow<'static, str>,
    /// The server.
    pub server: String,
    /// The tool's name at that server.
    pub tool: Option<String>,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What changed, in sentences.
    pub changes: Vec<String>,
    /// What to do.
    pub hint: Option<Hint>,
}

impl LiveIssue {
    /// Puts the next step of the hint into the words of a face.
    pub(crate) fn spell(&mut self, speller: &dyn Spell) {
        self.hint = self.hint.take().map(|hint| hint.spelled(speller, None));
    }

    fn is_bad(&self) -> bool {
        self.severity != "info"
    }
}

/// What servers said, on explicit request: part of `describe --live` and `contracts --live`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LiveReport {
    /// The servers that were asked.
    pub servers: Vec<LiveServerReport>,
    /// The tools that they were asked for.
    pub tools: Vec<LiveToolReport>,
    /// What does not fit.
    pub issues: Vec<LiveIssue>,
    /// How many.
    pub issue_count: usize,
}

impl LiveReport {
    /// Tells whether something is wrong that is not for information only.
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
    /// Whether it listed its tools.
    pub answered: bool,
    /// Name and version, as it gives them.
    pub server_info: Json,
    /// The revision that was spoken.
    pub protocol_version: Option<String>,
    /// The names of the tools that it lists.
    pub tools: Vec<String>,
    /// Why it did not answer.
    pub error: Option<String>,
}

/// One tool of the catalog, as its server lists it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LiveToolReport {
    /// The tool in the catalog.
    pub tool_id: String,
    /// The server.
    pub server: String,
    /// The tool's name at that server.
    pub tool: String,
    /// Whether the server lists it, once.
    pub is_listed: bool,
    /// What the server says that it does.
    pub description: Option<String>,
    /// `none`, `holds` or `changed`.
    pub pin: Cow<'static, str>,
    /// How the input schema that the server lists differs from the stored one, in sentences.
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
    /// The workspace.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// The runtime whose server was asked.
    pub runtime_id: String,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Name and version, as the server gives them.
    pub server_info: Json,
    /// The revision that was spoken.
    pub protocol_version: Option<String>,
    /// How many tools the server lists.
    pub listed_count: usize,
    /// How many were added, or would be.
    pub added_count: usize,
    /// How many were not.
    pub skipped_count: usize,
    /// The tools that were wanted.
    pub tools: Vec<ImportedTool>,
}

impl Report for ImportMcpReport {
    const SCHEMA: &'static str = "brigade.import-mcp.v1";
}

/// One tool of a server, and what became of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ImportedTool {
    /// The id in the catalog.
    pub tool_id: String,
    /// The tool's name at its server.
    pub mcp_tool_name: String,
    /// What the server says that it does, shortened.
    pub description: Option<String>,
    /// `add`, `would-add` or `skip`.
    pub action: Cow<'static, str>,
    /// Why it was skipped.
    pub detail: Option<String>,
    /// The input schema.
    pub input_schema_path: String,
    /// What of the schema is not supported; calls are refused because of it.
    pub schema_problems: Vec<String>,
}
