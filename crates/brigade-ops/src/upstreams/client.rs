//! What a run speaks to the server of an MCP call with.

use std::sync::Arc;

use brigade_call::SandboxUsed;
use brigade_exec::{Executor, KeptProgram};
use brigade_mcp::{Exchange, Listener, McpProgress, NamedRequester, Requester};
use brigade_redact::{Redactor, SecretValue};

use super::KeptServer;
use super::peer::{KeptCall, ToolCall};

/// Speaks to the server of an MCP call.
pub enum ServerClient<'a> {
    /// The call is not one of MCP.
    None,
    /// The server is started for the call.
    Own(Box<ToolCall<'a>>),
    /// The server is kept.
    Kept(Box<KeptCall<'a>>, &'a KeptServer),
}

impl<'a> ServerClient<'a> {
    /// Returns the client of a call. `requester` answers the questions of a kept server.
    pub fn new(
        call: Option<ToolCall<'a>>,
        server: Option<&'a KeptServer>,
        requester: Option<Arc<dyn Requester>>,
        secrets: &[SecretValue],
    ) -> ServerClient<'a> {
        let Some(call) = call else { return ServerClient::None };
        let Some(server) = server else { return ServerClient::Own(Box::new(call)) };
        let requester = requester.map(|requester| -> Arc<dyn Requester> {
            let (server_id, sampling) = (server.server_id.clone(), server.sampling);
            Arc::new(NamedRequester { requester, server_id, sampling, redactor: Redactor::new(secrets) })
        });
        ServerClient::Kept(Box::new(KeptCall::new(&server.server, call, &server.id, requester)), server)
    }

    /// Returns how the call is made.
    pub fn executor<'e>(&'e mut self, sandbox: &'e dyn Fn() -> SandboxUsed) -> Executor<'e> {
        match self {
            ServerClient::None => Executor::Spawn,
            ServerClient::Own(peer) => Executor::Converse(&mut **peer),
            ServerClient::Kept(peer, server) => Executor::Reuse(KeptProgram {
                peer: &mut **peer,
                started_from: &server.started_from,
                sandbox,
            }),
        }
    }

    /// Returns what was exchanged with the server.
    pub fn exchange(&self) -> Option<&Exchange> {
        match self {
            ServerClient::None => None,
            ServerClient::Own(call) => Some(call.exchange()),
            ServerClient::Kept(call, _) => Some(call.exchange()),
        }
    }
}

/// Returns a listener that passes on the messages of servers without secrets.
pub fn mask_listener(listener: Listener, redactor: Redactor) -> Listener {
    Listener::new(move |progress| {
        let message = progress.message.as_deref().map(|text| redactor.redact_str(text));
        listener.hear(McpProgress { message, ..progress });
    })
}
