//! Stubs for builds without the feature `client`.

use brigade_process::{Control, Sink, Spec};
use brigade_redact::Redactor;

use crate::exchange::{Exchange, McpErrorKind, McpFault, McpRequest};

pub(crate) fn call_tool(
    _spec: &Spec,
    _sink: &mut dyn Sink,
    _control: &Control,
    _request: &McpRequest<'_>,
    _redactor: &Redactor,
) -> Exchange {
    refused()
}

pub(crate) fn list_tools(
    _spec: &Spec,
    _sink: &mut dyn Sink,
    _control: &Control,
    _redactor: &Redactor,
) -> Exchange {
    refused()
}

fn refused() -> Exchange {
    let message = "this build does not speak to MCP servers".to_owned();
    Exchange { fault: Some(McpFault { kind: McpErrorKind::NotStarted, message }), ..Exchange::default() }
}
