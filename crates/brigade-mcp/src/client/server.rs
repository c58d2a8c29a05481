//! A server that is kept for many requests.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak, mpsc};
use std::time::{Duration, Instant};

use brigade_core::Json;
use brigade_process::{
    CapturedBytes, EndedBy, Exit, KillMethod, Outcome, ProcessIdentity, Sink, Stream, Usage,
};
use brigade_redact::Redactor;
use brigade_sandbox::Enforcement;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tracing::Instrument as _;

use super::conversation::{Failure, answered, compare, pin_of, the_tool};
use super::flight::Flight;
use super::kept::{Job, ListedTools, SendOutcome, Session, keep};
use super::pipes::store;
use super::reads;
use super::session::clean;
use super::uses::Uses;
use crate::content::{McpAnswer, shown_result};
use crate::exchange::{Exchange, McpErrorKind, McpFault, McpRequest};
use crate::pin::redact_texts;
use crate::requester::{Question, QuestionKind, Reply, ReplyError};
use crate::server::{Farewell, RequestTerms, ServerEnd, ServerRequest, ServerStart, ServerWatcher};

/// How often a call reads a list that keeps changing.
const MAX_LIST_READS: usize = 5;

/// How often a server may require more input for one call.
const MAX_INPUT_ROUNDS: usize = 16;

/// The member of `_meta` with the wanted log level, for a server without a handshake.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// The member of `_meta` with the client's capabilities, for a server without a handshake.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A kept server. Any number of threads may send requests at the same time.
///
/// It runs on a separate thread. Dropping it ends the server, without waiting.
pub struct Server {
    jobs: UnboundedSender<Job>,
    ask_to_end: watch::Sender<Option<Farewell>>,
    shared: Arc<SharedState>,
    uses: Arc<Uses>,
    /// Set while the process runs.
    session: Arc<OnceLock<Weak<Session>>>,
}

#[derive(Default)]
struct SharedState {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    process: Option<ProcessIdentity>,
    ended: Option<ServerEnd>,
}

impl SharedState {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Records the process, and forwards all notifications.
struct RecordingWatcher {
    shared: Arc<SharedState>,
    watcher: Box<dyn ServerWatcher>,
}

impl ServerWatcher for RecordingWatcher {
    fn started(&mut self, identity: &ProcessIdentity, enforcement: Option<&Enforcement>) {
        self.shared.state().process = Some(identity.clone());
        self.shared.changed.notify_all();
        self.watcher.started(identity, enforcement);
    }

    fn ended(self: Box<Self>, end: ServerEnd) {
        self.watcher.ended(end.clone());
        self.shared.state().ended = Some(end);
        self.shared.changed.notify_all();
    }
}

/// Counts a request while it is open.
struct RequestGuard(Arc<Uses>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Prevents a server from ending because it is idle.
pub struct ServerHold {
    _counted: RequestGuard,
}

impl Server {
    /// Starts a server. Returns at once: the first request waits until it answers.
    ///
    /// # Errors
    /// Fails if the system cannot create a thread.
    pub fn start(start: ServerStart) -> io::Result<Server> {
        let (jobs, received_jobs) = unbounded_channel();
        let (ask_to_end, asked) = watch::channel(None);
        let shared = Arc::new(SharedState::default());
        let uses = Arc::new(Uses::default());
        let recorder = RecordingWatcher { shared: shared.clone(), watcher: start.watcher };
        let start = ServerStart { watcher: Box::new(recorder), ..start };
        let session = Arc::default();
        let (used, begun) = (uses.clone(), Arc::clone(&session));
        std::thread::Builder::new().name("brigade-upstream".to_owned()).spawn(move || {
            keep(start, received_jobs, asked, &used, &begun);
        })?;
        Ok(Server { jobs, ask_to_end, shared, uses, session })
    }

    /// Returns the process, once it has started.
    pub fn process(&self) -> Option<ProcessIdentity> {
        self.shared.state().process.clone()
    }

    /// Returns whether the server has not ended and its end was not requested.
    pub fn is_kept(&self) -> bool {
        !self.uses.is_over() && self.shared.state().ended.is_none() && self.ask_to_end.borrow().is_none()
    }

    /// Returns the number of open requests.
    pub fn calls(&self) -> usize {
        self.uses.count()
    }

    /// Sets how long the server is kept after the last request. `None` keeps it until its end is requested.
    pub fn keep_for(&self, idle: Option<Duration>) {
        self.uses.keep_for(idle);
    }

    /// Prevents it from ending because it is idle, until the result is dropped. `None` if it already ends.
    pub fn hold(&self) -> Option<ServerHold> {
        self.uses.begin();
        let held = ServerHold { _counted: RequestGuard(self.uses.clone()) };
        self.is_kept().then_some(held)
    }

    /// Requests its end. Open requests fail.
    pub fn end(&self, farewell: Farewell) {
        self.ask_to_end.send_if_modified(|asked| {
            let is_first = asked.is_none();
            asked.get_or_insert(farewell);
            is_first
        });
    }

    /// Waits until it and everything that it started have ended; `None` if that takes longer.
    pub fn wait(&self, at_most: Duration) -> Option<ServerEnd> {
        let state = self.shared.state();
        let waited = self.shared.changed.wait_timeout_while(state, at_most, |state| state.ended.is_none());
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.ended.clone()
    }

    /// Calls a tool, or reads what the request names instead. The listing is compared with the pin, then the sink has
    /// its last look, then the call is sent. The sink gets the response in one line.
    ///
    /// Blocks. Never fails: every failure is in the exchange.
    pub fn call_tool(
        &self,
        request: &McpRequest<'_>,
        terms: &RequestTerms,
        sink: &mut dyn Sink,
        redactor: &Redactor,
    ) -> Exchange {
        let _span = tracing::debug_span!("mcp_call", tool = request.tool_name).entered();
        let mut progress = RequestProgress::new(self, terms, redactor);
        let mut call = || -> Result<Json, Failure> {
            if request.reads.is_some() {
                let response = self.send(&mut progress, flight_of(request), None, sink)?;
                return self.complete(&mut progress, request, response.unwrap_or_default(), sink);
            }
            for _ in 0..MAX_LIST_READS {
                let listed = self.listed(&progress)?;
                progress.exchange.tools.clone_from(&listed.tools);
                let tool = the_tool(&listed.tools, request.tool_name)?;
                progress.exchange.tool = Some(tool.clone());
                let pin = pin_of(request.pin, tool)?;
                progress.exchange.pin.clone_from(&pin);
                compare(pin.as_ref(), tool)?;
                let sent = self.send(&mut progress, flight_of(request), Some(listed.changes), sink)?;
                if let Some(response) = sent {
                    return self.complete(&mut progress, request, response, sink);
                }
            }
            let message = "the server keeps changing its list of tools, so the tool was not called";
            Err(Failure::new(McpErrorKind::ListFailed, message))
        };
        let result = call();
        let result = result.and_then(|result| {
            let answer = McpAnswer::from_result(&result, redactor);
            if progress.captured.dropped == 0 {
                progress.exchange.result = shown_result(&result, redactor);
            }
            progress.exchange.answered_after = Some(progress.started.elapsed());
            let fault = answer.is_error.then(|| format!("the tool failed: {}", answer.summary));
            progress.exchange.answer = Some(answer);
            fault.map_or(Ok(()), |message| Err(Failure::new(McpErrorKind::ToolError, message)))
        });
        progress.finish(result)
    }

    /// Sends any request, and returns its result with the data for a receipt. The sink has its last look before, and
    /// gets the response in one line.
    ///
    /// Blocks. Never fails: every failure is in the exchange.
    pub fn request(
        &self,
        request: ServerRequest<'_>,
        terms: &RequestTerms,
        sink: &mut dyn Sink,
        redactor: &Redactor,
    ) -> (Exchange, Option<Json>) {
        let _span = tracing::debug_span!("mcp_request", method = request.method).entered();
        let mut progress = RequestProgress::new(self, terms, redactor);
        let flight = Flight::new(request.method, request.params);
        let sent = self.send(&mut progress, flight, None, sink);
        let result = sent.and_then(|response| {
            let response = response.unwrap_or_default();
            match response.get("result").filter(|result| result.as_object().is_some()) {
                Some(result) => Ok(result.clone()),
                None => answered(&response),
            }
        });
        let (ended, result) = match result {
            Ok(result) => {
                progress.exchange.answered_after = Some(progress.started.elapsed());
                (Ok(()), Some(result))
            }
            Err(failure) => (Err(failure), None),
        };
        (progress.finish(ended), result)
    }

    /// Completes a call: if the server requires input, asks the caller for it first.
    fn complete(
        &self,
        progress: &mut RequestProgress<'_>,
        request: &McpRequest<'_>,
        mut response: Json,
        sink: &mut dyn Sink,
    ) -> Result<Json, Failure> {
        for _ in 0..MAX_INPUT_ROUNDS {
            let (Some(required), Some(requester)) =
                (RequiredInput::parse(&response), &progress.terms.requester)
            else {
                return match request.reads {
                    Some(reads) => reads::read(reads, &response),
                    None => answered(&response),
                };
            };
            let (questions, answers) = required.questions();
            requester.ask(questions);
            let replies = self.within(progress, |_| async move {
                let mut replies = Vec::new();
                for (key, answer) in answers {
                    match answer.await {
                        Ok(Ok(reply)) => replies.push((key, reply)),
                        Ok(Err(refused)) => {
                            let message =
                                format!("the client did not answer the server: {}", refused.message);
                            return Err(Failure::new(McpErrorKind::UnsupportedAnswer, message));
                        }
                        Err(_) => {
                            let message = "the client did not answer what the server asked";
                            return Err(Failure::new(McpErrorKind::UnsupportedAnswer, message));
                        }
                    }
                }
                Ok(replies)
            })?;
            let replies = Json::object(replies.into_iter().chain(required.roots));
            let flight = flight_of(request).with("inputResponses", replies);
            let flight = match required.state {
                Some(state) => flight.with("requestState", state),
                None => flight,
            };
            response = self.send(progress, flight, None, sink)?.unwrap_or_default();
        }
        let message = "the server kept requiring input, so the call was aborted";
        Err(Failure::new(McpErrorKind::UnsupportedAnswer, message))
    }

    fn listed(&self, progress: &RequestProgress<'_>) -> Result<Arc<ListedTools>, Failure> {
        // A known list needs no round trip to the server's thread, which compares it again when the call is sent.
        if let Some(listed) = self.session.get().and_then(Weak::upgrade).and_then(|session| session.listed())
        {
            return Ok(listed);
        }
        self.within(progress, |session| async move {
            match session.listed() {
                Some(listed) => Ok(listed),
                None => session.list().await,
            }
        })
    }

    /// Sends a request; `None` if the tool list changed meanwhile.
    fn send(
        &self,
        progress: &mut RequestProgress<'_>,
        flight: Flight,
        changes: Option<u64>,
        sink: &mut dyn Sink,
    ) -> Result<Option<Json>, Failure> {
        let terms = progress.terms;
        let flight = match &terms.requester {
            Some(requester) => {
                let mut flight = flight.late(CAPABILITIES, requester.capabilities());
                if let Some(level) = requester.log_level() {
                    flight = flight.late(LOG_LEVEL, Json::from(level.as_str()));
                    // A server that does not support the level logs what it likes.
                    let _ = self.within(progress, |session| async move { session.set_level(level).await });
                }
                flight.heard_by(terms.listener.as_ref()).asked_by(Some(requester.clone()))
            }
            None => flight.heard_by(terms.listener.as_ref()),
        };
        let check_started = Instant::now();
        let look = sink.about_to_start();
        look.map_err(|error| Failure::new(McpErrorKind::NotStarted, error.to_string()))?;
        progress.check_gap = Some(check_started.elapsed());
        let flight = Arc::new(flight);
        let sent = flight.clone();
        let link = Arc::new(Mutex::new(None));
        let link_slot = link.clone();
        let asked = self.within(progress, move |session| async move {
            *link_slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.link.clone());
            session.ask(&sent, changes).await
        });
        let link = link.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(link) = &link {
            let state = link.state();
            let version = state.protocol_version.as_deref();
            progress.exchange.protocol_version = version.map(|version| progress.redactor.redact_str(version));
            progress.exchange.server =
                state.server.as_ref().map(|server| redact_texts(server, progress.redactor));
        }
        let state = flight.sent();
        progress.exchange.request_id = state.id;
        progress.exchange.request = state.message.map(|message| progress.redactor.redact_json(&message));
        match asked {
            Ok(SendOutcome::Relisted) => Ok(None),
            Ok(SendOutcome::Answered(response)) => {
                progress.exchange.responses = 1;
                progress.keep(&response, sink)?;
                Ok(Some(response))
            }
            Err(failure) => {
                if let (Some(id), Some(link)) = (state.id, link) {
                    let reason = match failure.fault.kind {
                        McpErrorKind::TimedOut => "the time for it has passed",
                        _ => "it is no longer needed",
                    };
                    link.cancel(id, reason);
                    if failure.fault.kind == McpErrorKind::TimedOut && link.state().messages == state.messages
                    {
                        let prove: Job =
                            Box::new(|session| Box::pin(async move { session.prove_alive().await }));
                        let _ = self.jobs.send(prove);
                    }
                }
                let is_late =
                    failure.fault.kind == McpErrorKind::TimedOut && failure.fault.message.is_empty();
                Err(if is_late { not_in_time(flight.method()) } else { failure })
            }
        }
    }

    /// Runs work on the server's thread, within the limits of the request, and waits for it.
    pub(super) fn within<T: Send + 'static, F: Future<Output = Result<T, Failure>> + Send + 'static>(
        &self,
        progress: &RequestProgress<'_>,
        work: impl FnOnce(Arc<Session>) -> F + Send + 'static,
    ) -> Result<T, Failure> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let (deadline, cancel) = (progress.deadline, progress.terms.cancel.clone());
        self.uses.begin();
        let _counted = RequestGuard(self.uses.clone());
        // Work on the other thread belongs to the span of the request.
        let span = tracing::debug_span!("ask");
        let job: Job = Box::new(move |session| {
            let work = async move {
                let done = session.limited(deadline, cancel.as_ref(), work(session.clone())).await;
                // The caller waits for this message.
                let _ = sender.send(done);
            };
            Box::pin(work.instrument(span))
        });
        let gone = || self.gone();
        self.jobs.send(job).map_err(|_| gone())?;
        receiver.recv().unwrap_or_else(|_| Err(gone()))
    }

    fn gone(&self) -> Failure {
        let fault = self.wait(Duration::from_secs(1)).and_then(|end| end.fault);
        match fault {
            Some(McpFault { kind, message }) => Failure::new(kind, message),
            None => Failure::new(McpErrorKind::ServerEnded, "the server ended before it answered"),
        }
    }
}

/// Creates the request for what a call names.
fn flight_of(request: &McpRequest<'_>) -> Flight {
    match request.reads {
        Some(reads) => reads::request(reads, request.arguments),
        None => Flight::call(request.tool_name, request.arguments).idle_after(request.idle_timeout),
    }
}

/// The input that a server requires before it completes a call.
struct RequiredInput {
    requests: Vec<(String, QuestionKind, Json)>,
    /// Answers that are never passed on.
    roots: Vec<(String, Json)>,
    state: Option<Json>,
}

/// The questions, each with the channel for its answer.
type Answers = Vec<(String, tokio::sync::oneshot::Receiver<Result<Json, ReplyError>>)>;

impl RequiredInput {
    fn parse(response: &Json) -> Option<RequiredInput> {
        let result = response.get("result")?;
        if result.get("resultType").and_then(Json::as_str) != Some("input_required") {
            return None;
        }
        let mut required = RequiredInput {
            requests: Vec::new(),
            roots: Vec::new(),
            state: result.get("requestState").cloned(),
        };
        for (key, request) in result.get("inputRequests").and_then(Json::as_object).into_iter().flatten() {
            let method = request.get("method").and_then(Json::as_str).unwrap_or_default();
            match QuestionKind::of_method(method) {
                Some(kind) => {
                    let params = request.get("params").cloned().unwrap_or_default();
                    required.requests.push((key.clone(), kind, params));
                }
                None if method == "roots/list" => {
                    let nothing = Json::object([("roots", Json::Array(Vec::new()))]);
                    required.roots.push((key.clone(), nothing));
                }
                None => return None,
            }
        }
        Some(required)
    }

    fn questions(&self) -> (Vec<(Question, Reply)>, Answers) {
        let mut answers = Vec::new();
        let questions = self.requests.iter().map(|(key, kind, params)| {
            let (sender, receiver) = tokio::sync::oneshot::channel();
            answers.push((key.clone(), receiver));
            let reply = Reply::new(*kind, move |answer| drop(sender.send(answer)));
            (Question { key: key.clone(), kind: *kind, params: params.clone() }, reply)
        });
        let questions = questions.collect();
        (questions, answers)
    }
}

fn not_in_time(method: &str) -> Failure {
    Failure::new(McpErrorKind::TimedOut, format!("the server did not answer {method} in time"))
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end(Farewell::BRIEF);
    }
}

/// The state of one request.
pub(super) struct RequestProgress<'a> {
    server: &'a Server,
    terms: &'a RequestTerms,
    redactor: &'a Redactor,
    started: Instant,
    deadline: Option<Instant>,
    check_gap: Option<Duration>,
    captured: CapturedBytes,
    exchange: Exchange,
}

impl<'a> RequestProgress<'a> {
    pub(super) fn new(
        server: &'a Server,
        terms: &'a RequestTerms,
        redactor: &'a Redactor,
    ) -> RequestProgress<'a> {
        let started = Instant::now();
        let deadline = terms.timeout.and_then(|timeout| started.checked_add(timeout));
        let (check_gap, captured) = (None, CapturedBytes::default());
        let exchange = Exchange::default();
        RequestProgress { server, terms, redactor, started, deadline, check_gap, captured, exchange }
    }

    /// Passes the response to the sink, in one line.
    fn keep(&mut self, response: &Json, sink: &mut dyn Sink) -> Result<(), Failure> {
        let mut line = response.to_compact().into_bytes();
        line.push(b'\n');
        let stored = store(sink, Stream::Stdout, &line, self.terms.output_cap, &mut self.captured);
        stored.map_err(|error| {
            Failure::new(McpErrorKind::Log, format!("the log could not be written: {error}"))
        })
    }

    fn finish(self, result: Result<(), Failure>) -> Exchange {
        let RequestProgress { server, redactor, started, mut exchange, .. } = self;
        let fault = result.err();
        let kind = fault.as_ref().map(|failure| failure.fault.kind);
        exchange.outcome = server.process().map(|identity| Outcome {
            identity,
            exit: Exit::Unknown,
            ended_by: match kind {
                Some(McpErrorKind::TimedOut) => EndedBy::Timeout,
                Some(McpErrorKind::Cancelled) => EndedBy::Cancel,
                _ => EndedBy::Itself,
            },
            duration: started.elapsed(),
            usage: Usage::default(),
            stdout: self.captured,
            stderr: CapturedBytes::default(),
            outlived: 0,
            survivors: Vec::new(),
            method: KillMethod::ProcessTree,
            enforcement: None,
            observation: None,
            check_gap: self.check_gap,
        });
        if let Some(Failure { fault, changes, error }) = fault {
            exchange.fault = Some(McpFault { kind: fault.kind, message: clean(&fault.message, redactor) });
            exchange.changes = changes;
            exchange.error = error.map(|error| redactor.redact_json(&error));
        }
        exchange.mask_names(redactor);
        exchange
    }
}
