//! The two requests to a server: list its tools, or call one of them.

use std::sync::Arc;
use std::time::Duration;

use brigade_call::{Receipt, VerifiedCall};
use brigade_catalog::{Family, Reads};
use brigade_exec::{Conversation, ConversationResult, KeptPeer, Peer, talk};
use brigade_mcp::{
    Exchange, Listener, McpErrorKind, McpFault, McpRequest, PinRule, RequestTerms, Requester, Server,
    call_tool, list_tools,
};
use brigade_process::{Control, Sink, Spec};
use brigade_redact::Redactor;

/// A call of one tool, for [`execute`](brigade_exec::execute).
#[derive(Debug)]
pub struct ToolCall<'a> {
    request: McpRequest<'a>,
    exchange: Exchange,
}

impl<'a> ToolCall<'a> {
    /// Creates the request of a verified call; `None` if it is not a call of an MCP tool.
    pub fn new(
        call: &'a VerifiedCall,
        pin: PinRule<'a>,
        listener: Option<&'a Listener>,
    ) -> Option<ToolCall<'a>> {
        let plan = call.plan();
        let contract = plan.contract();
        let server_id = contract.mcp_server_id.as_deref().or(contract.runtime_id.as_deref());
        (*plan.family() == Family::Mcp).then(|| ToolCall {
            request: McpRequest {
                server_id: server_id.unwrap_or_default(),
                tool_name: contract.mcp_tool_name.as_deref().unwrap_or_default(),
                arguments: plan.args(),
                reads: Reads::of_tool_id(plan.tool_id()),
                pin,
                listener,
                idle_timeout: contract
                    .idle_timeout
                    .as_ref()
                    .and_then(|seconds| Duration::try_from_secs_f64(seconds.as_f64()).ok()),
            },
            exchange: Exchange::default(),
        })
    }

    /// Returns the result; empty if the server was not reached.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }
}

impl Peer for ToolCall<'_> {
    fn speak(
        &mut self,
        spec: &Spec,
        sink: &mut dyn Sink,
        control: &Control,
        redactor: &Redactor,
    ) -> ConversationResult {
        self.exchange = call_tool(spec, sink, control, &self.request, redactor);
        spoken(&mut self.exchange)
    }

    fn complete(&self, receipt: Receipt, redactor: &Redactor) -> Receipt {
        self.exchange.complete(receipt, &self.request, redactor)
    }
}

/// A call of one tool by a kept server, for [`execute`](brigade_exec::execute).
pub struct KeptCall<'a> {
    server: &'a Server,
    call: ToolCall<'a>,
    start_id: &'a str,
    requester: Option<Arc<dyn Requester>>,
}

impl<'a> KeptCall<'a> {
    /// Creates the call for a kept server. `start_id` identifies the server's start in the receipt.
    pub fn new(
        server: &'a Server,
        call: ToolCall<'a>,
        start_id: &'a str,
        requester: Option<Arc<dyn Requester>>,
    ) -> KeptCall<'a> {
        KeptCall { server, call, start_id, requester }
    }

    /// Returns the result; empty if the server was not reached.
    pub fn exchange(&self) -> &Exchange {
        self.call.exchange()
    }
}

impl KeptPeer for KeptCall<'_> {
    fn ask(&mut self, sink: &mut dyn Sink, control: &Control, redactor: &Redactor) -> ConversationResult {
        let terms = RequestTerms {
            timeout: control.timeout,
            cancel: control.cancel.clone(),
            output_cap: control.output_cap,
            listener: self.call.request.listener.cloned(),
            requester: self.requester.clone(),
        };
        self.call.exchange = self.server.call_tool(&self.call.request, &terms, sink, redactor);
        spoken(&mut self.call.exchange)
    }

    fn complete(&self, receipt: Receipt, redactor: &Redactor) -> Receipt {
        let mut receipt = self.call.complete(receipt, redactor);
        receipt.mcp_start_id = Some(self.start_id.to_owned());
        receipt
    }
}

/// A request for the tools of a server.
#[derive(Debug, Default)]
struct Listing {
    exchange: Exchange,
}

impl Peer for Listing {
    fn speak(
        &mut self,
        spec: &Spec,
        sink: &mut dyn Sink,
        control: &Control,
        redactor: &Redactor,
    ) -> ConversationResult {
        self.exchange = list_tools(spec, sink, control, redactor);
        spoken(&mut self.exchange)
    }
}

/// Starts a server like a call would, lists its tools, and ends it. Calls no tool.
///
/// The sink gets the output of the server, including secrets.
pub fn list_live(server: &Conversation<'_>, sink: &mut dyn Sink) -> Exchange {
    let mut listing = Listing::default();
    let ConversationResult { outcome, problem } = talk(server, sink, &mut listing);
    let mut exchange = listing.exchange;
    exchange.outcome = outcome;
    if let Some(message) = problem
        && exchange.fault.is_none()
    {
        exchange.fault = Some(McpFault { kind: McpErrorKind::NotStarted, message });
    }
    exchange
}

/// Moves the outcome out of an exchange, with its fault as the problem.
fn spoken(exchange: &mut Exchange) -> ConversationResult {
    ConversationResult {
        outcome: exchange.outcome.take(),
        problem: exchange.fault.as_ref().map(ToString::to_string),
    }
}
