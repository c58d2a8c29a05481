//! A kept server: how it is started, its requests, and how it ends.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use brigade_core::Json;
use brigade_process::{CancelToken, Outcome, ProcessIdentity, Sink, Spec};
use brigade_redact::Redactor;
use brigade_sandbox::Enforcement;

use crate::exchange::{Listener, McpFault};
use crate::requester::Requester;

/// How a kept server is started.
pub struct ServerStart {
    /// The program, prepared like the program of a run.
    pub spec: Spec,
    /// Gets both streams unchanged, up to the cap. Its last look may refuse the start.
    pub sink: Box<dyn Sink + Send>,
    /// The maximum number of bytes of each stream for the sink. A server that writes more than this while it has no
    /// request is ended.
    pub output_cap: u64,
    /// The maximum time from its start until its tools are listed.
    pub patience: Duration,
    /// The capabilities that it is offered: an object with members such as `elicitation`.
    pub capabilities: Json,
    /// Masks the server's texts about itself.
    pub redactor: Redactor,
    /// Is notified of its start and end.
    pub watcher: Box<dyn ServerWatcher>,
}

/// Is notified of the start and end of a kept server. The methods are called from the server's thread.
pub trait ServerWatcher: Send {
    /// The process has started.
    fn started(&mut self, identity: &ProcessIdentity, enforcement: Option<&Enforcement>);

    /// The process and everything that it started have ended, or it was never started.
    fn ended(self: Box<Self>, end: ServerEnd);
}

/// How a kept server ended.
#[derive(Clone, Debug, Default)]
pub struct ServerEnd {
    /// How its process ended; `None` if it never started.
    pub outcome: Option<Outcome>,
    /// Why it ended, if the end was not requested.
    pub fault: Option<McpFault>,
    /// The revision that was spoken.
    pub protocol_version: Option<String>,
    /// Name and version, as the server gives them.
    pub server: Option<Json>,
}

/// How long a server may take to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Farewell {
    /// The time to exit after its input is closed.
    pub patience: Duration,
    /// The time to end after `SIGTERM`.
    pub grace: Duration,
}

impl Farewell {
    /// Enough time for a server to write its data.
    pub const CALM: Farewell = Farewell { patience: Duration::from_secs(1), grace: Duration::from_secs(2) };
    /// As much time as the end of a gateway allows.
    pub const BRIEF: Farewell =
        Farewell { patience: Duration::from_millis(500), grace: Duration::from_millis(700) };
}

/// A request to a kept server.
#[derive(Clone, Debug)]
pub struct ServerRequest<'a> {
    /// The method, such as `resources/read`.
    pub method: &'a str,
    /// Its parameters, an object. Numbers keep their digits.
    pub params: Json,
}

/// The limits and receivers of one request to a kept server.
#[derive(Clone, Default)]
pub struct RequestTerms {
    /// The maximum time until the answer, including the start of the server.
    pub timeout: Option<Duration>,
    /// Cancels only this request.
    pub cancel: Option<CancelToken>,
    /// The maximum number of bytes of the answer for the sink.
    pub output_cap: u64,
    /// Receives progress reports.
    pub listener: Option<Listener>,
    /// Answers questions of the server meanwhile, and receives its log messages.
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
