//! Documents about the tools of MCP servers: their pins, what they list now, and what is imported.

use brigade_core::Json;
use serde::Serialize;

use super::Report;
use crate::exit::Exit;

/// `pins list`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PinListReport {
    /// The schema id.
    pub schema: &'static str,
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
    /// Files that are no pins.
    pub errors: Vec<BrokenPin>,
    /// How many.
    pub error_count: usize,
    /// Whether the servers were asked.
    pub is_live: bool,
    /// What the servers say now that does not fit; empty when they were not asked.
    pub issues: Vec<LiveIssue>,
    /// How many.
    pub issue_count: usize,
}

impl Report for PinListReport {
    const SCHEMA: &'static str = "brigade.pins.v1";

    fn exit(&self) -> Exit {
        if self.errors.is_empty() && self.issues.is_empty() { Exit::Done } else { Exit::Refused }
    }
}

/// One pin.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PinSummary {
    /// The id: the file's name without its ending.
    pub id: String,
    /// The server.
    pub server: String,
    /// The tool's name at that server.
    pub tool: String,
    /// `pinned`, or `changed` when the server listed it differently since; calls are refused then.
    pub state: &'static str,
    /// The fingerprint of what the server said.
    pub fingerprint: String,
    /// When that was, or when it was accepted.
    pub pinned_at: String,
    /// When the server said something else.
    pub offered_at: Option<String>,
    /// The file.
    pub pin_path: String,
    /// What changed, in sentences.
    pub changes: Vec<String>,
}

/// A file that is no pin.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BrokenPin {
    /// The file.
    pub pin_path: String,
    /// What is wrong with it.
    pub error: String,
}

/// `pins show` and `pins accept`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PinReport {
    /// The schema id.
    pub schema: &'static str,
    /// The workspace.
    pub target: String,
    /// The folder of the pins.
    pub pins_path: String,
    /// The pin; `null` when none was found.
    pub pin: Option<PinSummary>,
    /// What the server says that the tool does, as it is pinned.
    pub description: Option<String>,
    /// The schema of its arguments, as it is pinned.
    pub input_schema: Json,
    /// What changed since, or what was accepted.
    pub changes: Vec<String>,
    /// Whether a change was accepted.
    pub accepted: bool,
    /// Why not.
    pub error: Option<String>,
    /// What could be meant.
    pub candidates: Vec<String>,
}

impl Report for PinReport {
    const SCHEMA: &'static str = "brigade.pin.v1";

    fn exit(&self) -> Exit {
        if self.error.is_none() { Exit::Done } else { Exit::Refused }
    }
}

/// Something that a server says now and that does not fit what is stored.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LiveIssue {
    /// `mcp_server_failed`, `mcp_tool_vanished`, `mcp_tool_changed`, `mcp_tool_new`, `mcp_contract_differs` or
    /// `mcp_no_server`.
    pub code: &'static str,
    /// The server.
    pub server: String,
    /// The tool's name at that server.
    pub tool: Option<String>,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What changed, in sentences.
    pub changes: Vec<String>,
    /// What to do.
    pub hint: Option<String>,
}
