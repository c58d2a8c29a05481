//! Calls MCP tools of local servers.
//!
//! It owns the conversation with a server: it starts the server, speaks to it over its standard streams, and ends it. A
//! [`Server`] is kept for many requests instead. It also owns pins, which detect tools that a server changed after
//! their approval. It does not know queues, policies or the gateway.
//!
//! The server runs under the rules of a script: no shell, a supervised process tree, a sandbox, capped and masked logs,
//! and one timeout from its start to its answer. The official SDK speaks the protocol: `initialize`, `initialized`,
//! every page of `tools/list`, and only then `tools/call`. A tool is called only if it is listed exactly once and
//! matches its pin. Every failure is an [`McpFault`] with a stable [`McpErrorKind`]. A misbehaving server cannot make
//! this crate panic or block forever.
//!
//! Handshake revisions 2024-11-05 to 2025-11-25 are used with servers that answer `initialize`. A server that refuses
//! it gets `server/discover`, and then the stateless revision 2026-07-28. That revision advises clients of both kinds
//! to send `server/discover` first, and to remember the answer. Brigade sends `initialize` first:
//!
//! * Every call starts a new process, so each call would pay for the extra request.
//! * Servers of the older revisions may exit at an unknown first request, or never answer it.
//! * A server of only the stateless revision answers `initialize` at once, with an error that lists its revisions.
//!
//! With a server of both kinds, 2025-11-25 is used, which has everything that a call needs. The receipt names the
//! revision.
//!
//! Messages are read from lines. Lines that are not messages count as logs and change nothing. A line that claims to be
//! a response and cannot be read fails the call. The asynchronous runtime runs on one thread, inside one call.
//!
//! [`Pin`] and [`diff`] are pure and work without the feature `client`.
//!
//! ```
//! use brigade_core::{Json, Timestamp};
//! use brigade_mcp::{ListedTool, Pin, diff};
//!
//! let listed = |text: &str| ListedTool::from_json(&Json::parse(text).unwrap()).unwrap();
//! let pin = Pin::new(&listed(r#"{"name": "echo", "description": "Says it again."}"#), Timestamp::from_unix_micros(0));
//! let now = listed(r#"{"name": "echo", "description": "Says it again, and keeps it."}"#);
//! assert!(!pin.holds(&now));
//! assert_eq!(diff(pin.tool(), &now).len(), 1);
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod asking;
mod build;
mod content;
mod exchange;
mod import;
mod live;
mod offered;
mod pin;

#[cfg(not(feature = "client"))]
mod absent;
#[cfg(feature = "client")]
mod client;

mod pins;
mod requester;
mod result;
mod rows;
mod server;
mod shrink;

#[cfg(not(feature = "client"))]
pub use absent::{LiveOffers, Server, ServerHold, call_tool, list_tools};
pub use asking::{PrintedErrors, Silence, require_list};
pub use build::refusal_of_build;
#[cfg(feature = "client")]
pub use client::{LiveOffers, Server, ServerHold, call_tool, list_tools};
pub use content::{McpAnswer, answer_in_log, answer_lines, shown_result, shown_stored};
pub use exchange::{
    Exchange, KeepPin, Listener, McpErrorKind, McpFault, McpProgress, McpRequest, PinRule, ServerExit,
};
pub use import::{
    SchemaPaths, entry_description, import_ids, import_tool, imported_tool, proposed_effects, selected,
    stored_schema,
};
pub use live::{Comparison, ComparisonBasis};
pub use offered::{OfferSet, OfferedArgument, OfferedNames, OfferedPrompt, OfferedResource};
pub use pin::{ListedTool, Pin, PinChange, PinChangeKind, PinError, diff};
pub use pins::{
    BrokenPin, Listing, McpOfCall, McpTool, OnFirstUse, PINS, PinLookupError, PinRecord, PinStore,
    PinTrouble, ServerCommand, ServerState, sentence,
};
pub use requester::{McpLog, NamedRequester, Question, QuestionKind, Reply, ReplyError, Requester};
pub use result::{ToolError, ToolResult};
pub use rows::{
    ImportAction, ImportedTool, ListState, LiveIssue, LiveReport, LiveServerReport, LiveToolReport,
    OfferedTool, PinCheck, PinState, PinSummary, ServerSummary, server_issues,
};
pub use server::{Farewell, RequestTerms, ServerEnd, ServerRequest, ServerStart, ServerWatcher};
pub use shrink::{Members, shrink};

#[cfg(test)]
mod tests {
    use brigade_doctor::IssueType;

    #[test]
    fn the_table_has_every_code_that_is_shown_of_servers() {
        for source in [include_str!("live.rs"), include_str!("rows.rs")] {
            let codes: Vec<&str> = source.split('"').filter(|text| text.starts_with("mcp_")).collect();
            assert!(!codes.is_empty());
            for code in codes {
                let is_known = IssueType::all().iter().any(|kind| kind.code() == code);
                assert!(is_known, "{code} is not in the table");
            }
        }
    }
}
