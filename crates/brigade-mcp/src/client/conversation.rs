//! The conversation with a server: initialize, list every page of tools, check the tool, call it.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use brigade_catalog::Reads;
use brigade_core::Json;
use brigade_redact::Redactor;
use brigade_remote::{ERROR_MEMBER, LOGIN_REQUIRED};
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, ErrorData, Implementation, ProtocolVersion, RequestId,
    ServerPeerInfo,
};
use rmcp::service::{ClientInitializeError, PeerRequestOptions, RunningService, ServiceError};
use rmcp::{ClientLifecycleMode, RoleClient, serve_client_with_lifecycle};

use super::flight::Flight;
use super::link::{LineTransport, Link};
use super::reads;
use crate::exchange::{Listener, McpErrorKind, McpFault, PinRule};
use crate::pin::{ListedTool, Pin, PinChange};

/// The maximum number of pages of a tool list.
pub(super) const PAGES: usize = 500;

/// The maximum number of tools in a list.
pub(super) const MAX_TOOLS: usize = 20_000;

/// The purpose of the conversation.
pub(super) enum Goal<'a> {
    /// List the tools.
    List,
    /// Read resources or prompts.
    Read { reads: Reads, arguments: &'a Json, listener: Option<&'a Listener> },
    /// Call a tool.
    Call {
        tool_name: &'a str,
        arguments: &'a Json,
        pin: PinRule<'a>,
        listener: Option<&'a Listener>,
        idle_timeout: Option<Duration>,
    },
}

impl Goal<'_> {
    /// Returns its name for the log.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Goal::List => "list",
            Goal::Read { .. } => "read",
            Goal::Call { .. } => "call",
        }
    }
}

/// The result of a complete conversation.
pub(super) enum ConversationResult {
    /// The tools were listed.
    Listed,
    /// The call was answered with this result.
    Answered(Json),
}

/// Why a conversation failed.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) fault: McpFault,
    pub(super) changes: Vec<PinChange>,
    /// The error that the call was answered with.
    pub(super) error: Option<Json>,
}

impl Failure {
    pub(super) fn new(kind: McpErrorKind, message: impl Into<String>) -> Failure {
        Failure { fault: McpFault { kind, message: message.into() }, changes: Vec::new(), error: None }
    }
}

/// Runs the conversation.
pub(super) async fn converse(
    link: Arc<Link>,
    goal: Goal<'_>,
    redactor: &Redactor,
) -> Result<ConversationResult, Failure> {
    let peer = begin(&link, &ClientCapabilities::default()).await?;
    match goal {
        Goal::Read { reads, arguments, listener } => {
            let flight = Arc::new(reads::request(reads, arguments).heard_by(listener));
            link.state().call = Some(flight.clone());
            return reads::read(reads, &peer.ask(&flight).await?).map(ConversationResult::Answered);
        }
        Goal::List | Goal::Call { .. } => {}
    }
    let tools = peer.list(redactor).await?;
    link.state().tools.clone_from(&tools);
    let Goal::Call { tool_name, arguments, pin, listener, idle_timeout } = goal else {
        return Ok(ConversationResult::Listed);
    };
    let tool = the_tool(&tools, tool_name)?;
    link.state().tool = Some(tool.clone());
    let pin = pin_of(pin, tool)?;
    link.state().pin.clone_from(&pin);
    compare(pin.as_ref(), tool)?;
    let flight = Arc::new(Flight::call(tool_name, arguments).heard_by(listener).idle_after(idle_timeout));
    link.state().call = Some(flight.clone());
    answered(&peer.ask(&flight).await?).map(ConversationResult::Answered)
}

/// Returns the pin that a tool is compared with. At the first use, stores its listing.
pub(super) fn pin_of(rule: PinRule<'_>, tool: &ListedTool) -> Result<Option<Pin>, Failure> {
    match rule {
        PinRule::None => Ok(None),
        PinRule::Holds(pin) => Ok(Some(pin.clone())),
        PinRule::FirstUse(keep) => {
            keep(tool).map_err(|why| Failure::new(McpErrorKind::PinNotKept, not_kept(&why)))
        }
    }
}

/// Compares a tool with its pin.
pub(super) fn compare(pin: Option<&Pin>, tool: &ListedTool) -> Result<(), Failure> {
    tracing::debug!(
        is_pinned = pin.is_some(),
        holds = pin.is_none_or(|pin| pin.holds(tool)),
        listed = tool.fingerprint().to_hex(),
        "compared the tool with its pin"
    );
    match pin.filter(|pin| !pin.holds(tool)) {
        Some(pin) => Err(pin_failure(pin, tool)),
        None => Ok(()),
    }
}

/// A server after the handshake.
pub(super) struct ConnectedServer {
    link: Arc<Link>,
    service: RunningService<RoleClient, ClientConfig>,
    first_id: i64,
}

/// Performs the handshake, or continues without one if the server does not support it.
pub(super) async fn begin(
    link: &Arc<Link>,
    declared: &ClientCapabilities,
) -> Result<ConnectedServer, Failure> {
    let handshake = ClientLifecycleMode::Initialize;
    let newest = ProtocolVersion::LATEST_WITH_INITIALIZE;
    let refusal = match greet(link, declared, handshake.clone(), newest.clone()).await {
        Ok(greeted) => return spoken_here(greeted),
        Err(ClientInitializeError::JsonRpcError(refusal)) => refusal,
        Err(error) => return Err(initialize_failure(error)),
    };
    if let Some(failure) =
        refusal.data.as_ref().and_then(|data| connection_failure(&Json::from(data), &refusal.message))
    {
        return Err(failure);
    }
    // A server may refuse instead of choosing its own revision, and list its revisions in the error.
    if let Some(version) = offered(&refusal, &newest) {
        return match greet(link, declared, handshake, version).await {
            Ok(greeted) => spoken_here(greeted),
            Err(error) => Err(initialize_failure(error)),
        };
    }
    let discover = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] };
    match greet(link, declared, discover, ProtocolVersion::LATEST).await {
        Ok(greeted) => spoken_here(greeted),
        // A server of the older revisions that refused both. Its first error is the reason.
        Err(ClientInitializeError::JsonRpcError(_)) => {
            Err(initialize_failure(ClientInitializeError::JsonRpcError(refusal)))
        }
        Err(error) => Err(initialize_failure(error)),
    }
}

async fn greet(
    link: &Arc<Link>,
    declared: &ClientCapabilities,
    lifecycle: ClientLifecycleMode,
    version: ProtocolVersion,
) -> Result<ConnectedServer, ClientInitializeError> {
    let transport = LineTransport::new(Arc::clone(link));
    let first_id = transport.first_id();
    let ourselves = Implementation::new("brigade", env!("CARGO_PKG_VERSION"));
    let config = ClientConfig::new(declared.clone(), ourselves).with_protocol_version(version);
    let service = serve_client_with_lifecycle(config, transport, lifecycle).await?;
    Ok(ConnectedServer { link: Arc::clone(link), service, first_id })
}

/// Returns the failure for an error of the connection to a remote server. `data` is that of the error.
fn connection_failure(data: &Json, message: &str) -> Option<Failure> {
    let kind = match data.get(ERROR_MEMBER)?.as_str()? {
        LOGIN_REQUIRED => McpErrorKind::LoginRequired,
        _ => McpErrorKind::ConnectionFailed,
    };
    Some(Failure::new(kind, message))
}

/// Returns the failure for an error response of the connection to a remote server.
fn lost_connection(error: &Json) -> Option<Failure> {
    let message = error.get("message").and_then(Json::as_str).unwrap_or_default();
    connection_failure(error.get("data")?, message)
}

/// Returns the newest handshake revision listed in a refusal, other than the refused one.
fn offered(refusal: &ErrorData, refused: &ProtocolVersion) -> Option<ProtocolVersion> {
    let supported = refusal.data.as_ref()?.get("supported")?.as_array()?;
    let is_offered = |version: &&ProtocolVersion| {
        version.has_initialize()
            && *version != refused
            && supported.iter().any(|name| name.as_str() == Some(version.as_str()))
    };
    ProtocolVersion::KNOWN_VERSIONS.iter().rev().find(is_offered).cloned()
}

fn spoken_here(greeted: ConnectedServer) -> Result<ConnectedServer, Failure> {
    let Some(peer) = greeted.service.peer_info() else {
        return Err(Failure::new(McpErrorKind::InitializeFailed, "the server did not identify itself"));
    };
    let version = peer.protocol_version.clone();
    {
        let mut state = greeted.link.state();
        state.protocol_version = Some(version.as_str().to_owned());
        state.server = Some(server_name(&peer));
    }
    if ProtocolVersion::KNOWN_VERSIONS.contains(&version) {
        tracing::debug!(revision = version.as_str(), "the server speaks a known revision of the protocol");
        return Ok(greeted);
    }
    let message = format!("the server speaks revision {version} of the protocol, which is not known here");
    Err(Failure::new(McpErrorKind::UnsupportedProtocolVersion, message))
}

fn server_name(peer: &ServerPeerInfo) -> Json {
    let serialised = serde_json::to_value(peer).map(|value| Json::from(&value)).unwrap_or_default();
    let field = |key: &str| {
        let server = serialised.get("serverInfo").or_else(|| serialised.get("implementation"));
        server.and_then(|server| server.get(key)).cloned().unwrap_or_default()
    };
    Json::object([("name", field("name")), ("version", field("version"))])
}

fn initialize_failure(error: ClientInitializeError) -> Failure {
    let (kind, message) = match error {
        ClientInitializeError::JsonRpcError(error) => (
            McpErrorKind::InitializeFailed,
            format!("the server refused to begin: {}", describe_error(&error)),
        ),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions: Vec<&str> = server_supported.iter().map(ProtocolVersion::as_str).collect();
            let message =
                format!("no revision of the protocol is shared; the server has {}", versions.join(", "));
            (McpErrorKind::UnsupportedProtocolVersion, message)
        }
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. } => {
            (McpErrorKind::ServerEnded, "the server ended before it had begun".to_owned())
        }
        _ => (McpErrorKind::MalformedMessage, "the answer to the first request is invalid".to_owned()),
    };
    Failure::new(kind, message)
}

fn describe_error(error: &ErrorData) -> String {
    format!("error {}: {}", error.code.0, error.message)
}

pub(super) fn the_tool<'t>(tools: &'t [ListedTool], name: &str) -> Result<&'t ListedTool, Failure> {
    let mut named = tools.iter().filter(|tool| tool.name == name);
    match (named.next(), named.next()) {
        (Some(tool), None) => Ok(tool),
        (Some(_), Some(_)) => {
            let message = format!("the server lists more than one tool named {name}; it was not called");
            Err(Failure::new(McpErrorKind::DuplicateTool, message))
        }
        (None, _) => {
            let message = format!("the server does not list a tool named {name}; it was not called");
            Err(Failure::new(McpErrorKind::ToolNotListed, message))
        }
    }
}

fn not_kept(why: &str) -> String {
    format!("the listing of the tool could not be stored, so it was not called: {why}")
}

/// Returns which members of the listing changed. Agents read this, and a person has not reviewed the new texts.
fn pin_failure(pin: &Pin, tool: &ListedTool) -> Failure {
    let changes = pin.changes(tool);
    let members: BTreeSet<&str> = changes.iter().map(PinChange::member).collect();
    let members = members.into_iter().collect::<Vec<_>>().join(", ");
    let message = format!("not called: the tool changed since it was approved: {members}");
    Failure { changes, ..Failure::new(McpErrorKind::PinChanged, message) }
}

impl ConnectedServer {
    /// Returns whether the server speaks a revision without a handshake.
    pub(super) fn is_late(&self) -> bool {
        self.link.state().is_late()
    }

    /// Reads every page of the tool list. Secrets in the texts are masked.
    pub(super) async fn list(&self, redactor: &Redactor) -> Result<Vec<ListedTool>, Failure> {
        let fail = |message: String| Failure::new(McpErrorKind::ListFailed, message);
        let mut tools = Vec::new();
        let mut cursors = HashSet::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let params = cursor.clone().map(|cursor: String| Json::object([("cursor", Json::from(cursor))]));
            let request = Arc::new(Flight::new("tools/list", params.unwrap_or_default()));
            let response = self.ask(&request).await?;
            if let Some(error) = response.get("error") {
                if let Some(failure) = lost_connection(error) {
                    return Err(failure);
                }
                return Err(fail(format!("tools/list was answered with {}", spoken_json(error))));
            }
            let page = response.get("result").and_then(|result| result.get("tools")).and_then(Json::as_array);
            let Some(page) = page else {
                return Err(fail("the answer to tools/list has no list of tools".to_owned()));
            };
            let listed = page.iter().filter_map(ListedTool::from_json);
            tools.extend(listed.map(|tool| tool.redacted(redactor)));
            if MAX_TOOLS < tools.len() {
                return Err(fail(format!("the server lists more than {MAX_TOOLS} tools")));
            }
            let next =
                response.get("result").and_then(|result| result.get("nextCursor")).and_then(Json::as_str);
            // Some servers use an empty string for "no further page".
            match next.filter(|next| !next.is_empty()) {
                None => {
                    tracing::debug!(tools = tools.len(), "the server listed its tools");
                    return Ok(tools);
                }
                Some(next) if !cursors.insert(next.to_owned()) => {
                    return Err(fail("tools/list repeats a page".to_owned()));
                }
                Some(next) => cursor = Some(next.to_owned()),
            }
        }
        Err(fail(format!("tools/list has more than {PAGES} pages")))
    }

    /// Waits until the server has sent no progress for too long, and returns how many seconds. Time in which one of its
    /// requests is open does not count.
    async fn idle(&self, flight: &Flight) -> f64 {
        let Some(limit) = flight.idle_timeout() else { return std::future::pending().await };
        let mut since = Instant::now();
        loop {
            let Some(due) = since.checked_add(limit) else { return std::future::pending().await };
            tokio::time::sleep_until(due.into()).await;
            let idle = self.link.state().no_request_since(since);
            let latest = idle.map(|since| flight.progressed_at().map_or(since, |at| at.max(since)));
            match latest {
                Some(latest) if latest == since => return limit.as_secs_f64(),
                Some(latest) => since = latest,
                None => since = Instant::now(),
            }
        }
    }

    /// Sends a request and returns the whole response unchanged.
    pub(super) async fn ask(&self, flight: &Arc<Flight>) -> Result<Json, Failure> {
        let request = ClientRequest::CustomRequest(flight.to_request());
        let method = request.method().to_owned();
        let ended = || {
            Failure::new(McpErrorKind::ServerEnded, format!("the server ended before it answered {method}"))
        };
        let started = tracing::enabled!(tracing::Level::DEBUG).then(Instant::now);
        let handle = self.service.send_request_with_option(request, PeerRequestOptions::no_options()).await;
        let handle = handle.map_err(|_| ended())?;
        let RequestId::Number(id) = handle.id else {
            return Err(ended());
        };
        let outcome = tokio::select! {
            biased;
            outcome = handle.await_response() => outcome,
            seconds = self.idle(flight) => {
                let message = format!("the server sent neither an answer to {method} nor progress for {seconds} s");
                return Err(Failure::new(McpErrorKind::TimedOut, message));
            }
        };
        if let Some(started) = started {
            let (ok, took_ms) = (outcome.is_ok(), started.elapsed().as_millis());
            tracing::debug!(method, ok, took_ms, "the server answered a request");
        }
        match self.link.answer(id.saturating_add(self.first_id)) {
            Some(response) => Ok(response),
            None if matches!(
                outcome,
                Err(ServiceError::TransportClosed | ServiceError::TransportSend(_))
            ) =>
            {
                Err(ended())
            }
            None => {
                let message = format!("the answer to {method} could not be read");
                Err(Failure::new(McpErrorKind::MalformedMessage, message))
            }
        }
    }
}

/// Reads the response to a call of a tool.
pub(super) fn answered(response: &Json) -> Result<Json, Failure> {
    let result = completed(response)?;
    match malformed(&result) {
        None => Ok(result),
        Some(why) => Err(Failure::new(McpErrorKind::MalformedMessage, why)),
    }
}

/// Reads a response that must complete the request.
pub(super) fn completed(response: &Json) -> Result<Json, Failure> {
    if let Some(error) = response.get("error") {
        if let Some(failure) = lost_connection(error) {
            return Err(failure);
        }
        let message = format!("the call was answered with {}", spoken_json(error));
        let failure = Failure::new(McpErrorKind::JsonRpcError, message);
        return Err(Failure { error: Some(error.clone()), ..failure });
    }
    let result = response.get("result").cloned().unwrap_or_default();
    if result.as_object().is_none() {
        return Err(Failure::new(McpErrorKind::MalformedMessage, "the result of the call is not an object"));
    }
    match result.get("resultType").and_then(Json::as_str) {
        None | Some("complete") => Ok(result),
        Some("input_required") => Err(Failure::new(
            McpErrorKind::UnsupportedAnswer,
            "the server wants more input before it completes the call",
        )),
        Some(_) => Err(Failure::new(McpErrorKind::UnsupportedAnswer, "the server did not complete the call")),
    }
}

/// Returns what is invalid in a result.
fn malformed(result: &Json) -> Option<&'static str> {
    let is_block = |block: &Json| block.as_object().is_some();
    match result.get("isError") {
        None | Some(Json::Null | Json::Bool(_)) => {}
        Some(_) => return Some("`isError` of the result is neither true nor false"),
    }
    match result.get("content") {
        Some(Json::Array(blocks)) if blocks.iter().all(is_block) => None,
        None if result.get("structuredContent").is_some_and(is_block) => None,
        None => Some("the result of the call has no content"),
        Some(_) => Some("the content of the result is not a list of blocks"),
    }
}

pub(super) fn spoken_json(error: &Json) -> String {
    let code = error.get("code").map(Json::to_compact).unwrap_or_default();
    let message = error.get("message").and_then(Json::as_str).unwrap_or("no message");
    format!("error {code}: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_needs_content_and_a_boolean_error_flag() {
        for good in [
            r#"{"content": []}"#,
            r#"{"content": [{"type": "text", "text": "x"}], "isError": true}"#,
            r#"{"structuredContent": {}}"#,
        ] {
            assert_eq!(malformed(&Json::parse(good).unwrap()), None, "{good}");
        }
        for bad in [
            "{}",
            r#"{"content": "abc"}"#,
            r#"{"content": ["abc"]}"#,
            r#"{"content": null}"#,
            r#"{"content": [], "isError": 1}"#,
            r#"{"content": [], "isError": "true"}"#,
        ] {
            assert!(malformed(&Json::parse(bad).unwrap()).is_some(), "{bad}");
        }
    }
}
