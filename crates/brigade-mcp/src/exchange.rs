//! The request to a server and its result, for the receipt.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use brigade_call::{ContentBlock, McpPinState, McpRequestId, McpResponse, Receipt};
use brigade_catalog::Reads;
use brigade_core::json::to_json;
use brigade_core::{IssueType, Json, Number, words};
use brigade_process::Outcome;
use brigade_redact::Redactor;
use serde::Serialize;
use thiserror::Error;

use super::content::McpAnswer;
use super::pin::{ListedTool, Pin, PinChange};
use super::result::ToolResult;

/// Stores how a server lists a tool at its first use. Returns the pin that another process has stored meanwhile, which
/// counts instead. Fails with the reason why nothing could be stored.
pub type KeepPin<'a> = dyn Fn(&ListedTool) -> Result<Option<Pin>, String> + 'a;

/// The rule for comparing the listing of a tool before a call.
#[derive(Clone, Copy)]
pub enum PinRule<'a> {
    /// No comparison.
    None,
    /// The listing must match this pin; otherwise the tool is not called.
    Holds(&'a Pin),
    /// No pin yet: the listing is stored before the call. Of several first uses at the same time, one creates the pin
    /// and the others are compared with it.
    FirstUse(&'a KeepPin<'a>),
}

impl fmt::Debug for PinRule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PinRule::None => f.write_str("None"),
            PinRule::Holds(pin) => f.debug_tuple("Holds").field(pin).finish(),
            PinRule::FirstUse(_) => f.write_str("FirstUse"),
        }
    }
}

/// The progress of a call, as the server reports it.
#[derive(Clone, Debug, PartialEq)]
pub struct McpProgress {
    /// A number that should rise.
    pub progress: f64,
    /// The total, if the server knows it.
    pub total: Option<f64>,
    /// A message of the server, unchanged.
    pub message: Option<String>,
}

/// Receives progress reports. It is called between messages, so it must not block.
#[derive(Clone)]
pub struct Listener(Arc<dyn Fn(McpProgress) + Send + Sync>);

impl Listener {
    /// Creates a listener.
    pub fn new(hear: impl Fn(McpProgress) + Send + Sync + 'static) -> Listener {
        Listener(Arc::new(hear))
    }

    /// Passes on a progress report.
    pub fn hear(&self, progress: McpProgress) {
        (self.0)(progress);
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// The request to a server.
#[derive(Clone, Copy, Debug)]
pub struct McpRequest<'a> {
    /// The server, as receipts name it.
    pub server_id: &'a str,
    /// The tool.
    pub tool_name: &'a str,
    /// The arguments, an object, sent unchanged.
    pub arguments: &'a Json,
    /// What is read from the server, if no tool is called.
    pub reads: Option<Reads>,
    /// The rule for comparing its listing.
    pub pin: PinRule<'a>,
    /// Receives progress reports.
    pub listener: Option<&'a Listener>,
    /// How long the call may pass without progress.
    pub idle_timeout: Option<Duration>,
}

words! {
    /// The kind of failure, as a stable word.
    #[non_exhaustive]
    McpErrorKind {
        /// The server could not be started or supervised.
        NotStarted = "not_started",
        /// The server ended, or closed its output, before it answered.
        ServerEnded = "server_ended",
        /// The timeout passed before the answer.
        TimedOut = "timed_out",
        /// The user asked to end it.
        Cancelled = "cancelled",
        /// A person must log in to the remote server.
        LoginRequired = "login_required",
        /// The remote server could not be reached.
        ConnectionFailed = "connection_failed",
        /// The server refused to initialize.
        InitializeFailed = "initialize_failed",
        /// The server speaks no known revision.
        UnsupportedProtocolVersion = "unsupported_protocol_version",
        /// The tools could not be listed: an error, or an endless or invalid list.
        ListFailed = "list_failed",
        /// The server does not list the tool; it was not called.
        ToolNotListed = "tool_not_listed",
        /// The server lists the tool more than once; it was not called.
        DuplicateTool = "duplicate_tool",
        /// The server lists the tool differently than it was pinned; it was not called.
        PinChanged = "pin_changed",
        /// The listing of the tool could not be stored at its first use; it was not called.
        PinNotKept = "pin_not_kept",
        /// The call was answered with an error of the protocol.
        JsonRpcError = "json_rpc_error",
        /// The tool reports that it failed (`isError`).
        ToolError = "tool_error",
        /// The answer needs something that a call does not support: input of a person, or a long-running task.
        UnsupportedAnswer = "unsupported_answer",
        /// A response could not be read.
        MalformedMessage = "malformed_message",
        /// A response was longer than is read.
        OversizedMessage = "oversized_message",
        /// The output could not be stored.
        Log = "log_failed",
    }
}

/// Why an exchange failed. The message has no secrets and no control characters.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct McpFault {
    /// What went wrong.
    pub kind: McpErrorKind,
    /// The problem, as a sentence without a final stop.
    pub message: String,
}

words! {
    /// How the server ended.
    ServerExit {
        /// On its own, before or after its input was closed.
        ByItself = "by itself",
        /// It did not exit when its input was closed after the answer, and was ended.
        Ended = "ended: did not exit when its input was closed",
        /// It was ended before it had answered.
        Interrupted = "ended before it had answered",
    }
}

/// The result of an exchange with a server. Contains everything that is known, also after a failure.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// How its process ended; `None` if it was never started. The byte counts are those of the log.
    pub outcome: Option<Outcome>,
    /// How it ended.
    pub exit: Option<ServerExit>,
    /// Why it failed; `None` if the tool answered and did not fail.
    pub fault: Option<McpFault>,
    /// The revision that was spoken.
    pub protocol_version: Option<String>,
    /// Name and version, as the server gives them.
    pub server: Option<Json>,
    /// Every listed tool. The calls of a kept server share the list.
    pub tools: Arc<Vec<ListedTool>>,
    /// The requested tool, if it is listed exactly once.
    pub tool: Option<ListedTool>,
    /// The pin that the tool was compared with; `None` at its first use, and if the exchange failed before.
    pub pin: Option<Pin>,
    /// The differences between the listing and the pin.
    pub changes: Vec<PinChange>,
    /// The id of the call's request, if it was sent.
    pub request_id: Option<i64>,
    /// The call's request as it was sent, redacted.
    pub request: Option<Json>,
    /// The answer of the tool.
    pub answer: Option<McpAnswer>,
    /// The whole answer of a kept server, with its text masked, if the log has all of it.
    pub result: Option<Json>,
    /// The error that the call was answered with, redacted.
    pub error: Option<Json>,
    /// The number of responses.
    pub responses: u64,
    /// The number of lines of standard output that were not messages.
    pub log_lines: u64,
    /// The time from the start to the answer.
    pub answered_after: Option<Duration>,
}

/// The maximum number of changes of a pinned tool in a receipt; a pin shows all of them.
const CHANGES: usize = 500;

/// A described content block with the member names of the protocol.
#[derive(Serialize)]
struct SpokenBlock<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(rename = "mimeType", skip_serializing_if = "Option::is_none")]
    media_type: &'a Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: &'a Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    characters: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: &'a Option<String>,
}

fn as_spoken(block: &ContentBlock) -> Json {
    let ContentBlock { kind, media_type, uri, bytes, characters, text, extra: _ } = block;
    let (bytes, characters) = (*bytes, *characters);
    to_json(&SpokenBlock { kind, media_type, uri, bytes, characters, text }).expect("a block is JSON")
}

impl Exchange {
    /// Masks the names of the tools. From here on, names are only shown and no longer compared.
    #[cfg(feature = "client")]
    pub(crate) fn mask_names(&mut self, redactor: &Redactor) {
        let masked = |tool: &ListedTool| redactor.redact_str(&tool.name);
        if self.tools.iter().any(|tool| masked(tool) != tool.name) {
            for tool in Arc::make_mut(&mut self.tools) {
                tool.name = masked(tool);
            }
        }
    }

    /// Adds the MCP members to the receipt of a call.
    pub fn complete(&self, mut receipt: Receipt, request: &McpRequest<'_>, redactor: &Redactor) -> Receipt {
        let clean = |text: &str| redactor.redact_str(text);
        let object = |json: &Json| json.as_object().cloned();
        let answer = self.answer.as_ref();
        let answered = self.answered_after.map(|after| (after.as_secs_f64() * 1000.0).round() / 1000.0);
        let changes = self.changes.iter().take(CHANGES).map(|change| clean(&change.message));
        receipt.mcp_server_id = Some(request.server_id.to_owned());
        receipt.mcp_tool_name = Some(request.tool_name.to_owned());
        receipt.mcp_protocol_version = self.protocol_version.as_deref().map(clean);
        receipt.mcp_server = self.server.as_ref().and_then(|server| object(&redactor.redact_json(server)));
        receipt.mcp_server_exit = self.exit.map(|exit| exit.as_str().to_owned());
        receipt.mcp_request_id = self.request_id.map(McpRequestId::Number);
        receipt.mcp_request_payload = self.request.as_ref().and_then(object);
        receipt.mcp_response_count = Some(self.responses);
        receipt.mcp_response_summary = Some(self.response());
        receipt.mcp_response_text = self.response_text();
        receipt.mcp_response_error = self.error.as_ref().and_then(object);
        receipt.mcp_is_error = answer.map(|answer| answer.is_error);
        receipt.mcp_content = answer.map(|answer| answer.content.clone());
        receipt.mcp_content_count = answer.map(|answer| answer.blocks as u64);
        receipt.mcp_structured_content =
            answer.and_then(|answer| answer.structured.clone()).unwrap_or_default();
        receipt.mcp_error_type = self.fault.as_ref().map(|_| IssueType::McpExecutionFailed.code().to_owned());
        receipt.mcp_error_kind = self.fault.as_ref().map(|fault| fault.kind.as_str().to_owned());
        receipt.mcp_log_lines = Some(self.log_lines);
        receipt.mcp_listed_tools = Some(self.tools.len() as u64);
        receipt.mcp_answer_seconds = answered.map(Number::from);
        receipt.mcp_pin = Some(self.pin_state());
        receipt.mcp_pin_changes = Some(changes.collect());
        receipt
    }

    fn pin_state(&self) -> McpPinState {
        let seen = self.tool.as_ref().map(ListedTool::fingerprint);
        let state = match (&self.pin, &seen) {
            (_, None) => "unknown",
            (None, Some(_)) => "first use",
            (Some(pin), Some(seen)) if pin.fingerprint() == *seen => "unchanged",
            (Some(_), Some(_)) => "changed",
        };
        McpPinState {
            state: state.to_owned(),
            listed: seen,
            pinned: self.pin.as_ref().map(Pin::fingerprint),
            pinned_at: self.pin.as_ref().map(Pin::pinned_at),
            ..McpPinState::default()
        }
    }

    /// Returns the response in the form of 0.30.0, an object, with its content described; empty without a response.
    fn response(&self) -> McpResponse {
        let (result, error) = match (&self.answer, &self.error) {
            (Some(answer), _) => {
                let result = ToolResult {
                    content: answer.content.iter().map(as_spoken).collect(),
                    structured_content: answer.structured.clone(),
                    is_error: Some(answer.is_error),
                    meta: None,
                };
                (result.to_json(), None)
            }
            (None, Some(error)) => (Json::Null, error.as_object().cloned()),
            (None, None) => return McpResponse::default(),
        };
        let id = self.request_id.map(McpRequestId::Number);
        McpResponse { jsonrpc: Some("2.0".to_owned()), id, result, error, ..McpResponse::default() }
    }

    /// Returns the answer or the error in one line.
    fn response_text(&self) -> Option<String> {
        let fault = || self.fault.as_ref().map(|fault| fault.message.clone());
        self.answer.as_ref().map(|answer| answer.summary.clone()).or_else(fault)
    }
}
