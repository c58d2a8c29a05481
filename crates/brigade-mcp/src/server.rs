//! A server that is kept: what it is started with, what it is asked, and how it ends.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use brigade_core::Json;
use brigade_process::{CancelToken, Enforcement, Outcome, ProcessIdentity, Sink, Spec};
use brigade_redact::Redactor;

use crate::exchange::{Listener, McpFault};
use crate::requester::Requester;

/// What a kept server is started with.
pub struct ServerStart {
    /// The program, prepared like that of a run.
    pub spec: Spec,
    /// Gets both streams as the server writes them, up to the cap. Its last look may refuse the start.
    pub sink: Box<dyn Sink + Send>,
    /// The largest number of bytes of each stream that the sink gets. A server that writes more than this while no call
    /// is in it is ended.
    pub output_cap: u64,
    /// How long it may take from its start until its tools are listed.
    pub patience: Duration,
    /// The capabilities that it is told of: an object with members such as `elicitation`.
    pub capabilities: Json,
    /// Masks what the server says of itself.
    pub redactor: Redactor,
    /// Follows it.
    pub watcher: Box<dyn ServerWatcher>,
}

/// Follows a kept server. The methods are called from its own thread.
pub trait ServerWatcher: Send {
    /// The process runs.
    fn started(&mut self, identity: &ProcessIdentity, enforcement: Option<&Enforcement>);

    /// The process and everything that it started have ended, or it was never started.
    fn ended(self: Box<Self>, end: ServerEnd);
}

/// How a kept server ended.
#[derive(Clone, Debug, Default)]
pub struct ServerEnd {
    /// How its process ended; `None` if it never started.
    pub outcome: Option<Outcome>,
    /// Why it ended, if nobody asked for it.
    pub fault: Option<McpFault>,
    /// The revision that was spoken.
    pub protocol_version: Option<String>,
    /// Name and version, as the server gives them.
    pub server: Option<Json>,
}

/// How long a server that is to end has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Farewell {
    /// To exit by itself, once its input is closed.
    pub patience: Duration,
    /// To end after `SIGTERM`.
    pub grace: Duration,
}

impl Farewell {
    /// Enough for a server that has something to write down.
    pub const CALM: Farewell = Farewell { patience: Duration::from_secs(1), grace: Duration::from_secs(2) };
    /// As long as the end of a gateway may take.
    pub const BRIEF: Farewell =
        Farewell { patience: Duration::from_millis(500), grace: Duration::from_millis(700) };
}

/// A request to a kept server.
#[derive(Clone, Debug)]
pub struct ServerRequest<'a> {
    /// The method, such as `resources/read`.
    pub method: &'a str,
    /// Its parameters, an object, sent with the digits that they have.
    pub params: Json,
}

/// The terms of one request to a kept server.
#[derive(Clone, Default)]
pub struct RequestTerms {
    /// How long it may take until its answer, the start of the server included.
    pub timeout: Option<Duration>,
    /// Cancels it, and nothing else of the server.
    pub cancel: Option<CancelToken>,
    /// The largest number of bytes of the answer for the sink.
    pub output_cap: u64,
    /// Hears how far it is.
    pub listener: Option<Listener>,
    /// Answers what the server asks meanwhile, and hears its log messages.
    pub requester: Option<Arc<dyn Requester>>,
}

impl fmt::Debug for RequestTerms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RequestTerms { timeout, output_cap, .. } = self;
        f.debug_struct("RequestTerms")
            .field("timeout", timeout)
            .field("output_cap", output_cap)
            .finish_non_exhaustive()
    }
}
