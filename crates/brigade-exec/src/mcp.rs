//! Calls of MCP tools: a local server is started, spoken to over its standard streams, and ended.
//!
//! The server runs under the rules of a script: no shell, own process tree, sandbox, capped and masked logs, one
//! timeout from its start to its answer. The official SDK speaks the protocol: `initialize`, `initialized`, every page of
//! `tools/list`, and only then `tools/call`, for a tool that is listed, once, and as it was pinned. Whatever goes
//! wrong is an [`McpFault`] with a stable [`McpErrorKind`]; nothing here panics or blocks for ever on what a server does.
//!
//! Handshake revisions 2024-11-05 to 2025-11-25 are spoken with servers that answer `initialize`; a server that refuses
//! it is asked with `server/discover` and spoken to in the stateless revision 2026-07-28. That revision advises clients of both
//! kinds to ask `server/discover` first, and to remember what came of it. Here `initialize` goes first: every call is a process of its
//! own, so the detour would be paid for by each call; servers of the older revisions may exit at an unknown first request or
//! never answer it, while one of the stateless revision alone answers `initialize` at once, with an error that lists what it
//! speaks. A server of both kinds is spoken to in 2025-11-25, which has all that a call needs. The receipt says what was
//! spoken.
//!
//! Messages are read from lines. Lines that are no messages are logs and change nothing; one that claims to be a response
//! and cannot be read fails the call. The asynchronous runtime lives on one thread, inside one call.
//!
//! [`Pin`] and [`diff`] are pure and work without the feature `mcp`.

mod content;
mod exchange;
mod pin;

#[cfg(feature = "mcp")]
mod lines;
#[cfg(feature = "mcp")]
mod message;

#[cfg(feature = "mcp")]
mod conversation;
#[cfg(feature = "mcp")]
mod link;
#[cfg(feature = "mcp")]
mod live;
#[cfg(feature = "mcp")]
mod pipes;
#[cfg(feature = "mcp")]
mod session;

pub use content::McpAnswer;
pub use exchange::{Exchange, KeepPin, McpErrorKind, McpFault, McpRequest, PinRule, ServerExit};
#[cfg(feature = "mcp")]
pub use live::{LiveServer, list_live};
pub use pin::{ListedTool, Pin, PinChange, PinChangeKind, PinError, diff};
#[cfg(feature = "mcp")]
pub use session::{call_tool, list_tools};

use brigade_process::{Control, Sink, Spec};
use brigade_redact::Redactor;

/// Calls a tool, if this build can.
#[cfg(feature = "mcp")]
pub(crate) fn call(
    spec: &Spec,
    sink: &mut dyn Sink,
    control: &Control,
    request: &McpRequest<'_>,
    redactor: &Redactor,
) -> Exchange {
    call_tool(spec, sink, control, request, redactor)
}

/// Says that this build cannot call MCP tools.
#[cfg(not(feature = "mcp"))]
pub(crate) fn call(
    _spec: &Spec,
    _sink: &mut dyn Sink,
    _control: &Control,
    _request: &McpRequest<'_>,
    _redactor: &Redactor,
) -> Exchange {
    let message = "this build does not speak to MCP servers".to_owned();
    Exchange { fault: Some(McpFault { kind: McpErrorKind::NotStarted, message }), ..Exchange::default() }
}
