//! Runs a kept server on a separate thread.

use std::future::pending;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use brigade_core::Json;
use brigade_process::{CancelToken, Child, Ending, Sink, spawn_piped_checked};
use brigade_redact::Redactor;
use rmcp::model::ClientCapabilities;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;

use super::conversation::{ConnectedServer, Failure, begin};
use super::flight::Flight;
use super::link::Link;
use super::pipes::Pipes;
use super::session::{cancelled, clean, finish, lost_answer_text};
use super::uses::Uses;
use crate::exchange::{McpErrorKind, McpFault};
use crate::pin::{ListedTool, redact_texts};
use crate::server::{Farewell, ServerEnd, ServerStart};

/// Work on a session that is done in parallel with its messages.
pub(super) type Job = Box<dyn FnOnce(Arc<Session>) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// How long a server that sent nothing during a whole call may take to answer a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// How often a list that keeps changing is read before the last version is used.
const LISTINGS: usize = 3;

/// The tools of a server, as it lists them.
pub(super) struct ListedTools {
    /// How many changes the server had announced by then.
    pub(super) changes: u64,
    pub(super) tools: Arc<Vec<ListedTool>>,
}

/// The state that requests of a server share.
pub(super) struct Session {
    pub(super) link: Arc<Link>,
    redactor: Redactor,
    greeted: watch::Receiver<Option<Result<Arc<ConnectedServer>, Failure>>>,
    listing: tokio::sync::Mutex<()>,
    listed: Mutex<Option<Arc<ListedTools>>>,
    /// Why the server must end; set once.
    fault: watch::Sender<Option<Failure>>,
}

/// Whether a request was sent.
pub(super) enum SendOutcome {
    /// It was, and this is the whole response.
    Answered(Json),
    /// It was not sent, because the tool list changed since it was checked.
    Relisted,
}

impl Session {
    pub(super) async fn greeted(&self) -> Result<Arc<ConnectedServer>, Failure> {
        let mut greeted = self.greeted.clone();
        let gone = || Failure::new(McpErrorKind::ServerEnded, "the server ended before it had begun");
        let state = greeted.wait_for(Option::is_some).await.map_err(|_| gone())?;
        state.clone().unwrap_or_else(|| Err(gone()))
    }

    /// Returns the last tool list, unless the server has announced a change.
    pub(super) fn listed(&self) -> Option<Arc<ListedTools>> {
        let changes = self.link.state().changes;
        self.lock_listed().clone().filter(|listed| listed.changes == changes)
    }

    fn lock_listed(&self) -> MutexGuard<'_, Option<Arc<ListedTools>>> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the tools. Lists them the first time, and after every change.
    pub(super) async fn list(&self) -> Result<Arc<ListedTools>, Failure> {
        let greeted = self.greeted().await?;
        let _listing = self.listing.lock().await;
        for _ in 0..LISTINGS {
            if let Some(listed) = self.listed() {
                return Ok(listed);
            }
            let changes = self.link.state().changes;
            let tools = Arc::new(greeted.list(&self.redactor).await?);
            *self.lock_listed() = Some(Arc::new(ListedTools { changes, tools }));
        }
        let mut held = self.lock_listed();
        let tools = held.take().map(|listed| listed.tools.clone()).unwrap_or_default();
        let listed = Arc::new(ListedTools { changes: self.link.state().changes, tools });
        *held = Some(listed.clone());
        Ok(listed)
    }

    /// Sends a request and returns its response, unless the tool list has changed since this listing.
    pub(super) async fn ask(
        &self,
        flight: &Arc<Flight>,
        changes: Option<u64>,
    ) -> Result<SendOutcome, Failure> {
        let greeted = self.greeted().await?;
        if changes.is_some_and(|changes| changes != self.link.state().changes) {
            return Ok(SendOutcome::Relisted);
        }
        greeted.ask(flight).await.map(SendOutcome::Answered)
    }

    /// Sends the wanted log level to a server with a handshake, unless it has it already. Servers without logging
    /// refuse.
    pub(super) async fn set_level(&self, level: String) -> Result<(), Failure> {
        let greeted = self.greeted().await?;
        if greeted.is_late() || self.link.state().level.as_ref() == Some(&level) {
            return Ok(());
        }
        self.link.state().level = Some(level.clone());
        let params = Json::object([("level", Json::from(level))]);
        greeted.ask(&Arc::new(Flight::new("logging/setLevel", params))).await.map(drop)
    }

    /// Ends the server unless it still answers.
    pub(super) async fn prove_alive(&self) {
        let Ok(greeted) = self.greeted().await else { return };
        let method = if greeted.is_late() { "server/discover" } else { "ping" };
        let flight = Arc::new(Flight::new(method, Json::Null));
        if tokio::time::timeout(PING_TIMEOUT, greeted.ask(&flight)).await.is_err() {
            let message = "the server no longer answers, so it was ended";
            self.fail(Failure::new(McpErrorKind::TimedOut, message));
        }
    }

    fn fail(&self, failure: Failure) {
        self.fault.send_if_modified(|fault| {
            let is_first = fault.is_none();
            fault.get_or_insert(failure);
            is_first
        });
    }

    /// Runs work within limits. Fails if the server ends meanwhile.
    pub(super) async fn limited<T>(
        &self,
        deadline: Option<Instant>,
        cancel: Option<&CancelToken>,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let due = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => pending().await,
            }
        };
        let mut fault = self.fault.subscribe();
        tokio::select! {
            biased;
            done = work => done,
            () = cancelled(cancel) => {
                let why = cancel.map(CancelToken::interruption).unwrap_or_default();
                Err(Failure::new(McpErrorKind::Cancelled, why))
            }
            () = due => Err(Failure::new(McpErrorKind::TimedOut, "")),
            Ok(fault) = fault.wait_for(Option::is_some) => {
                Err(fault.clone().unwrap_or_else(|| Failure::new(McpErrorKind::ServerEnded, "")))
            }
        }
    }
}

/// Why a server must end.
enum Stop {
    Requested(Farewell),
    /// It closed its output, or its process ended.
    Gone,
    Fault(Failure),
}

/// Runs a server from its start to its end.
pub(super) fn keep(
    start: ServerStart,
    mut jobs: UnboundedReceiver<Job>,
    end_request: watch::Receiver<Option<Farewell>>,
    uses: &Uses,
    begun: &OnceLock<Weak<Session>>,
) -> ServerEnd {
    let ServerStart { spec, mut sink, output_cap, patience, capabilities, redactor, mut watcher } = start;
    let _span = tracing::debug_span!("mcp_server").entered();
    let mut end = ServerEnd::default();
    let not_started =
        |message: String| McpFault { kind: McpErrorKind::NotStarted, message: clean(&message, &redactor) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let child = spawn_piped_checked(&spec, Ending::default(), &mut || sink.about_to_start());
    match (runtime, child) {
        (Ok(runtime), Ok(child)) => {
            watcher.started(child.identity(), child.enforcement());
            end = runtime.block_on(serve(ServingLoop {
                child,
                sink: &mut *sink,
                output_cap,
                patience,
                capabilities: &capabilities,
                redactor: &redactor,
                jobs: &mut jobs,
                end_request,
                uses,
                begun,
            }));
            runtime.shutdown_background();
        }
        (Err(error), _) => end.fault = Some(not_started(format!("no runtime to speak to a server: {error}"))),
        (_, Err(error)) => end.fault = Some(not_started(error.to_string())),
    }
    watcher.ended(end.clone());
    end
}

struct ServingLoop<'a> {
    child: Child,
    sink: &'a mut dyn Sink,
    output_cap: u64,
    patience: Duration,
    capabilities: &'a Json,
    redactor: &'a Redactor,
    jobs: &'a mut UnboundedReceiver<Job>,
    end_request: watch::Receiver<Option<Farewell>>,
    uses: &'a Uses,
    begun: &'a OnceLock<Weak<Session>>,
}

async fn serve(serving: ServingLoop<'_>) -> ServerEnd {
    let ServingLoop {
        mut child,
        sink,
        output_cap,
        patience,
        capabilities,
        redactor,
        jobs,
        end_request,
        uses,
        begun,
    } = serving;
    let (to_server, outgoing) = unbounded_channel();
    let (incoming, from_server) = unbounded_channel();
    let link = Arc::new(Link::new(to_server, from_server));
    let mut pipes = match Pipes::new(&mut child, link.clone(), outgoing, incoming, sink, output_cap) {
        Ok(pipes) => pipes,
        Err(error) => {
            let message = clean(&format!("the server's pipes cannot be used: {error}"), redactor);
            let fault = Some(McpFault { kind: McpErrorKind::NotStarted, message });
            return ServerEnd { fault, ..ServerEnd::default() };
        }
    };
    let (greeted_sender, greeted) = watch::channel(None);
    let session = Arc::new(Session {
        link: link.clone(),
        redactor: redactor.clone(),
        greeted,
        listing: tokio::sync::Mutex::default(),
        listed: Mutex::default(),
        fault: watch::Sender::new(None),
    });
    let _ = begun.set(Arc::downgrade(&session));
    let capabilities = serde_json::from_value(capabilities.to_serde()).unwrap_or_default();
    tokio::spawn(greet(session.clone(), capabilities, patience, greeted_sender));
    let stop = run_loop(&mut pipes, &session, jobs, end_request, output_cap, uses).await;
    uses.close();
    if let Stop::Fault(failure) = &stop {
        session.fail(failure.clone());
    }
    tracing::debug!("a kept server is ended");
    // Every open request fails once the input is closed.
    pipes.hang_up();
    session.fail(Failure::new(McpErrorKind::ServerEnded, "the server ended before it answered"));
    jobs.close();
    while jobs.try_recv().is_ok() {}
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    let farewell = match &stop {
        Stop::Requested(farewell) => *farewell,
        Stop::Gone => Farewell::CALM,
        Stop::Fault(_) => Farewell { patience: Duration::ZERO, grace: Farewell::CALM.grace },
    };
    let outcome = finish(&mut child, &mut pipes, Some(farewell.patience), farewell.grace, None).await;
    let state = std::mem::take(&mut *link.state());
    let fault = match stop {
        Stop::Requested(_) => None,
        Stop::Gone => Some(Failure::new(McpErrorKind::ServerEnded, "the server ended by itself").fault),
        Stop::Fault(failure) => Some(failure.fault),
    };
    let (outcome, fault) = match outcome {
        Ok(outcome) => (Some(outcome), fault),
        Err(error) => (None, Some(McpFault { kind: McpErrorKind::NotStarted, message: error.to_string() })),
    };
    ServerEnd {
        outcome,
        fault: fault.map(|fault| McpFault { message: clean(&fault.message, redactor), ..fault }),
        protocol_version: state.protocol_version.map(|version| redactor.redact_str(&version)),
        server: state.server.map(|server| redact_texts(&server, redactor)),
    }
}

/// Performs the handshake and lists the tools for the first time.
async fn greet(
    session: Arc<Session>,
    capabilities: ClientCapabilities,
    patience: Duration,
    sender: watch::Sender<Option<Result<Arc<ConnectedServer>, Failure>>>,
) {
    let greeted = tokio::time::timeout(patience, begin(&session.link, &capabilities)).await;
    let greeted = greeted.unwrap_or_else(|_| {
        Err(Failure::new(McpErrorKind::TimedOut, "the server did not answer initialize in time"))
    });
    let greeted = greeted.map(Arc::new);
    let failure = greeted.as_ref().err().cloned();
    let late = greeted.as_ref().ok().filter(|greeted| greeted.is_late()).cloned();
    sender.send_replace(Some(greeted));
    if let Some(failure) = failure {
        session.fail(failure);
    }
    if let Some(greeted) = late {
        // Without a handshake, a server announces list changes only to subscribers.
        let lists = ["toolsListChanged", "resourcesListChanged", "promptsListChanged"];
        let filter = Json::object(lists.map(|list| (list, Json::from(true))));
        let params = Json::object([("notifications", filter)]);
        let _ = greeted.ask(&Arc::new(Flight::new("subscriptions/listen", params))).await;
    }
}

/// Carries messages and runs jobs until the server must end.
async fn run_loop(
    pipes: &mut Pipes<'_>,
    session: &Arc<Session>,
    jobs: &mut UnboundedReceiver<Job>,
    mut end_request: watch::Receiver<Option<Farewell>>,
    output_cap: u64,
    uses: &Uses,
) -> Stop {
    let idle = uses.idle();
    tokio::pin!(idle);
    let mut fault = session.fault.subscribe();
    let written = |pipes: &Pipes<'_>| pipes.stdout_captured.bytes + pipes.stdout_captured.dropped;
    let mut before = 0;
    loop {
        tokio::select! {
            biased;
            Ok(farewell) = end_request.wait_for(Option::is_some) => {
                return Stop::Requested(farewell.unwrap_or(Farewell::CALM));
            }
            Ok(fault) = fault.wait_for(Option::is_some) => {
                return fault.clone().map_or(Stop::Gone, Stop::Fault);
            }
            () = &mut idle => return Stop::Requested(Farewell::CALM),
            Some(job) = jobs.recv() => drop(tokio::spawn(job(session.clone()))),
            stored = pipes.step() => if let Err(error) = stored {
                return Stop::Fault(log_failure(&error));
            },
        }
        let lost_one = {
            let state = session.link.state();
            state.lost.map(|kind| (kind, lost_answer_text(kind, &state)))
        };
        if let Some((kind, message)) = lost_one {
            return Stop::Fault(Failure::new(kind, message));
        }
        if pipes.is_stdout_closed() {
            return Stop::Gone;
        }
        if 0 < uses.count() {
            before = written(pipes);
        } else if output_cap < written(pipes).saturating_sub(before) {
            let message = "the server kept writing while it had no request, so it was ended";
            return Stop::Fault(Failure::new(McpErrorKind::ServerEnded, message));
        }
    }
}

fn log_failure(error: &io::Error) -> Failure {
    Failure::new(McpErrorKind::Log, format!("the log could not be written: {error}"))
}
