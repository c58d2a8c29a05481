//! Stubs for builds without the feature `client`.

use std::io;
use std::time::Duration;

use brigade_catalog::Reads;
use brigade_core::Json;
use brigade_process::{Control, ProcessIdentity, Sink, Spec};
use brigade_redact::Redactor;

use crate::exchange::{Exchange, McpErrorKind, McpFault, McpRequest};
use crate::offered::OfferSet;
use crate::server::{Farewell, RequestTerms, ServerEnd, ServerRequest, ServerStart};

/// Calls no tool, and says so.
pub fn call_tool(
    _spec: &Spec,
    _sink: &mut dyn Sink,
    _control: &Control,
    _request: &McpRequest<'_>,
    _redactor: &Redactor,
) -> Exchange {
    refused()
}

/// Lists no tools, and says so.
pub fn list_tools(_spec: &Spec, _sink: &mut dyn Sink, _control: &Control, _redactor: &Redactor) -> Exchange {
    refused()
}

const UNAVAILABLE: &str = "this build does not speak to MCP servers";

fn refused() -> Exchange {
    let message = UNAVAILABLE.to_owned();
    Exchange { fault: Some(McpFault { kind: McpErrorKind::NotStarted, message }), ..Exchange::default() }
}

/// The resources and prompts that a kept server lists. Never created in this build.
#[derive(Debug)]
pub struct LiveOffers {
    /// The lists.
    pub offered: OfferSet,
}

impl LiveOffers {
    /// Returns false, because nothing changes.
    pub fn has_changed(&self) -> bool {
        false
    }
}

/// A kept server. This build cannot start one.
#[derive(Debug)]
pub struct Server(());

/// Holds a server. Never created in this build.
#[derive(Debug)]
pub struct ServerHold(());

impl Server {
    /// Starts nothing.
    ///
    /// # Errors
    /// Always.
    pub fn start(_start: ServerStart) -> io::Result<Server> {
        Err(io::Error::new(io::ErrorKind::Unsupported, UNAVAILABLE))
    }

    /// Returns no process.
    pub fn process(&self) -> Option<ProcessIdentity> {
        None
    }

    /// Returns false, because no server is kept.
    pub fn is_kept(&self) -> bool {
        false
    }

    /// Returns 0, because no request is open.
    pub fn calls(&self) -> usize {
        0
    }

    /// Does nothing.
    pub fn keep_for(&self, _idle: Option<Duration>) {}

    /// Holds nothing.
    pub fn hold(&self) -> Option<ServerHold> {
        None
    }

    /// Does nothing.
    pub fn end(&self, _farewell: Farewell) {}

    /// Returns at once.
    pub fn wait(&self, _at_most: Duration) -> Option<ServerEnd> {
        Some(ServerEnd::default())
    }

    /// Refuses.
    pub fn call_tool(
        &self,
        _request: &McpRequest<'_>,
        _terms: &RequestTerms,
        _sink: &mut dyn Sink,
        _redactor: &Redactor,
    ) -> Exchange {
        refused()
    }

    /// Refuses.
    pub fn request(
        &self,
        _request: ServerRequest<'_>,
        _terms: &RequestTerms,
        _sink: &mut dyn Sink,
        _redactor: &Redactor,
    ) -> (Exchange, Option<Json>) {
        (refused(), None)
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn offered(
        &self,
        _reads: Reads,
        _terms: &RequestTerms,
        _redactor: &Redactor,
    ) -> Result<LiveOffers, McpFault> {
        Err(McpFault { kind: McpErrorKind::NotStarted, message: UNAVAILABLE.to_owned() })
    }
}
