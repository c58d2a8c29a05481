//! Rows of documents about the tools of servers: pins, lists and what does not fit.

use std::borrow::Cow;

use brigade_core::{Hint, Json, NextStep, Severity, StepFormatter, words};
use brigade_macros::part;
use brigade_policy::ErrorLine;

use crate::pin::Pin;
use crate::pins::{PINS, PinRecord, ServerState, sentence};

words! {
    /// The state of a pin.
    PinState {
        /// The server lists the tool as it is pinned.
        Pinned = "pinned",
        /// The server listed the tool differently since, so calls are refused until one is approved again.
        Changed = "changed",
        /// The server no longer lists the tool.
        Vanished = "vanished",
    }
}

words! {
    /// The state of a server's list.
    ListState {
        /// It has not changed since it became known or was accepted.
        Known = "known",
        /// Tools appeared or vanished.
        Changed = "changed",
    }
}

words! {
    /// How a server's listing of a tool compares with the pin.
    PinCheck {
        /// There is no pin.
        None = "none",
        /// They are the same.
        Holds = "holds",
        /// They differ.
        Changed = "changed",
    }
}

words! {
    /// What an import does with a tool of a server.
    ImportAction {
        /// It is added.
        Add = "add",
        /// It would be added.
        WouldAdd = "would-add",
        /// It is left out.
        Skip = "skip",
    }
}

/// One pin.
#[part]
pub struct PinSummary {
    /// The id: the file name without extension.
    pub id: String,
    /// The server.
    pub server: String,
    /// The name of the tool at that server.
    pub tool: String,
    /// The state.
    pub state: PinState,
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

impl PinSummary {
    /// Creates the row of a pin; `absolute` makes paths absolute.
    pub fn new(record: &PinRecord, absolute: impl Fn(&str) -> String) -> PinSummary {
        PinSummary {
            id: record.id(),
            server: record.tool.server.clone(),
            tool: record.tool.tool.clone(),
            state: match (&record.missing_since, record.offered.is_some()) {
                (Some(_), _) => PinState::Vanished,
                (None, true) => PinState::Changed,
                (None, false) => PinState::Pinned,
            },
            fingerprint: record.pin.fingerprint().to_hex(),
            pinned_at: record.pin.pinned_at().to_string(),
            offered_at: record.offered.as_ref().map(|offered| offered.pinned_at().to_string()),
            offered_fingerprint: record.offered.as_ref().map(|offered| offered.fingerprint().to_hex()),
            missing_since: record.missing_since.map(|at| at.to_string()),
            pin_path: absolute(&format!("{PINS}/{}", record.tool.file_name())),
            changes: record.changes(),
        }
    }
}

/// The tool list of a server.
#[part]
pub struct ServerSummary {
    /// The id for `pins show` and `pins accept`: the file name below the directory of pins, without extension.
    pub id: String,
    /// The server.
    pub server: String,
    /// The state.
    pub state: ListState,
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

impl ServerSummary {
    /// Creates the row of a server's list; `absolute` makes paths absolute.
    pub fn new(state: &ServerState, absolute: impl Fn(&str) -> String) -> ServerSummary {
        let listing = &state.listing;
        ServerSummary {
            id: listing.id(),
            server: listing.server.clone(),
            state: if state.is_changed() { ListState::Changed } else { ListState::Known },
            tool_count: listing.listed.len(),
            appeared: state.appeared.clone(),
            vanished: state.vanished.clone(),
            known_at: listing.known_at.to_string(),
            listed_at: listing.listed_at.to_string(),
            listing_path: absolute(listing.path().as_str()),
        }
    }
}

/// A tool as its server lists it now, without secrets.
#[part]
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

impl From<&Pin> for OfferedTool {
    fn from(offered: &Pin) -> OfferedTool {
        let tool = offered.tool();
        OfferedTool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            input_schema: tool.input_schema.clone(),
            fingerprint: offered.fingerprint().to_hex(),
        }
    }
}

/// A difference between a server's list and what is stored.
#[part]
pub struct LiveIssue {
    /// `mcp_server_failed`, `mcp_tool_vanished`, `mcp_tool_appeared`, `mcp_tool_changed`, `mcp_tool_duplicate`,
    /// `mcp_tool_new`, `mcp_contract_differs` or `mcp_no_server`.
    pub code: Cow<'static, str>,
    /// `warning` or `info`.
    pub severity: Severity,
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
    /// Formats the next step of the hint for one interface.
    pub fn spell(&mut self, speller: &dyn StepFormatter) {
        self.hint = self.hint.take().map(|hint| hint.spelled(speller, None));
    }

    /// Returns whether it is more than information.
    pub fn is_bad(&self) -> bool {
        self.severity != Severity::Info
    }
}

/// Returns the issues of a server's list.
pub fn server_issues(state: &ServerState) -> Vec<LiveIssue> {
    let issue = |code: &'static str, names: &[String], what: &str| {
        (!names.is_empty()).then(|| LiveIssue {
            code: code.into(),
            severity: Severity::Warning,
            server: state.listing.server.clone(),
            tool: if let [name] = names { Some(name.clone()) } else { None },
            message: sentence(names, what),
            changes: Vec::new(),
            hint: Some(NextStep::ShowPin(state.listing.id()).into()),
        })
    };
    let appeared = issue("mcp_tool_appeared", &state.appeared, "appeared");
    let vanished = issue("mcp_tool_vanished", &state.vanished, "vanished");
    appeared.into_iter().chain(vanished).collect()
}

/// The answers of servers, on explicit request: part of `describe --live` and `contracts --live`.
#[part(Default)]
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
    /// Returns whether there is a problem, and not only information.
    pub fn is_bad(&self) -> bool {
        self.issues.iter().any(LiveIssue::is_bad)
    }
}

/// One server that was asked.
#[part]
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
    pub error: Option<ErrorLine>,
}

/// A catalog tool as its server lists it.
#[part]
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
    /// How it compares with the pin.
    pub pin: PinCheck,
    /// Differences between the server's input schema and the stored one, as sentences.
    pub contract_changes: Vec<String>,
}

/// One tool of a server, and the result of its import.
#[part]
pub struct ImportedTool {
    /// The id in the catalog.
    pub tool_id: String,
    /// The name of the tool at its server.
    pub mcp_tool_name: String,
    /// The server's description.
    pub description: Option<String>,
    /// The effects that the server's hints propose. They are not granted.
    #[serde(default)]
    pub proposed_effects: Vec<String>,
    /// What the import does with it.
    pub action: ImportAction,
    /// Why it was skipped.
    pub detail: Option<String>,
    /// The input schema.
    pub input_schema_path: String,
    /// The output schema, if the server lists one.
    #[serde(default)]
    pub output_schema_path: Option<String>,
    /// Unsupported parts of the schema, which block calls.
    pub schema_problems: Vec<String>,
}

impl ImportedTool {
    /// Creates the row of a tool that would be added as `tool_id`; `schema_path` is absolute.
    pub fn new(tool_id: &str, mcp_tool_name: &str, schema_path: String) -> ImportedTool {
        ImportedTool {
            tool_id: tool_id.to_owned(),
            mcp_tool_name: mcp_tool_name.to_owned(),
            description: None,
            proposed_effects: Vec::new(),
            action: ImportAction::WouldAdd,
            detail: None,
            input_schema_path: schema_path,
            output_schema_path: None,
            schema_problems: Vec::new(),
        }
    }
}
