//! One server from its start to its end.

use std::future::pending;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use brigade_core::Json;
use brigade_core::text::{escape_terminal, short};
use brigade_process::{
    CancelToken, Child, Control, EndedBy, Exit, Outcome, RunError, Sink, Spec, spawn_piped_checked,
};
use brigade_redact::Redactor;
use tokio::net::unix::pipe;
use tokio::sync::mpsc::unbounded_channel;

use super::conversation::{ConversationResult, Failure, Goal, converse};
use super::link::{ConversationState, Link};
use super::pipes::{LINE_LIMIT, Pipes};
use crate::content::McpAnswer;
use crate::exchange::{Exchange, McpErrorKind, McpFault, McpRequest, ServerExit};
use crate::pin::redact_texts;

/// How long a server may take to exit after its input is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// How often to check for a second cancel request.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The maximum length of a fault's message, in characters.
const MESSAGE: usize = 1000;

/// Starts a server, calls one tool, and ends the server.
///
/// Blocks. Never fails: every failure is in the exchange. The sink gets both streams unchanged, up to the control's
/// cap. The control's timeout covers the time from the start to the answer. Its grace period covers the rest, until the
/// server's whole tree has ended.
pub fn call_tool(
    spec: &Spec,
    sink: &mut dyn Sink,
    control: &Control,
    request: &McpRequest<'_>,
    redactor: &Redactor,
) -> Exchange {
    let McpRequest { tool_name, arguments, reads, pin, listener, idle_timeout, .. } = *request;
    let goal = match reads {
        Some(reads) => Goal::Read { reads, arguments, listener },
        None => Goal::Call { tool_name, arguments, pin, listener, idle_timeout },
    };
    run_conversation(spec, sink, control, goal, redactor)
}

/// Starts a server, lists its tools, and ends the server. Calls no tool.
pub fn list_tools(spec: &Spec, sink: &mut dyn Sink, control: &Control, redactor: &Redactor) -> Exchange {
    run_conversation(spec, sink, control, Goal::List, redactor)
}

fn run_conversation(
    spec: &Spec,
    sink: &mut dyn Sink,
    control: &Control,
    goal: Goal<'_>,
    redactor: &Redactor,
) -> Exchange {
    let _span = tracing::debug_span!("mcp", purpose = goal.word()).entered();
    let started = Instant::now();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build() {
        Ok(runtime) => runtime,
        Err(error) => return not_started(&format!("no runtime to speak to a server: {error}"), redactor),
    };
    let mut child = match spawn_piped_checked(spec, control.ending, &mut || sink.about_to_start()) {
        Ok(child) => child,
        Err(error) => return not_started(&error.to_string(), redactor),
    };
    runtime.block_on(async {
        let (to_server, outgoing) = unbounded_channel();
        let (incoming, from_server) = unbounded_channel();
        let link = Arc::new(Link::new(to_server, from_server));
        let cap = control.output_cap;
        let pipes = Pipes::new(&mut child, Arc::clone(&link), outgoing, incoming, sink, cap);
        let mut pipes = match pipes {
            Ok(pipes) => pipes,
            // Dropping the child ends its tree.
            Err(error) => {
                return not_started(&format!("the server's pipes cannot be used: {error}"), redactor);
            }
        };
        let deadline = control.timeout.and_then(|timeout| started.checked_add(timeout));
        let conversation = converse(Arc::clone(&link), goal, redactor);
        let stop = listen(&mut pipes, &link, conversation, deadline, control.cancel.as_ref()).await;
        let answered_after = started.elapsed();
        tracing::debug!(
            milliseconds = answered_after.as_millis(),
            responses = link.state().responses,
            "the conversation is over, and the server is ended"
        );
        let ended = end(child, &mut pipes, &stop, control).await;
        conclude(stop, ended, answered_after, &link, redactor)
    })
}

fn not_started(message: &str, redactor: &Redactor) -> Exchange {
    let fault = McpFault { kind: McpErrorKind::NotStarted, message: clean(message, redactor) };
    Exchange { fault: Some(fault), ..Exchange::default() }
}

pub(super) fn clean(message: &str, redactor: &Redactor) -> String {
    escape_terminal(&short(&redactor.redact_str(message), MESSAGE)).into_owned()
}

/// What ended the conversation.
enum Stop {
    Completed(Result<ConversationResult, Failure>),
    /// It took too long. Without a message, it had no answer in time.
    TimedOut(Option<String>),
    /// It was cancelled; the text says so.
    Cancelled(String),
    /// A response was lost.
    Lost(McpErrorKind),
    Log(io::Error),
}

fn interrupted(cancel: Option<&CancelToken>) -> Stop {
    Stop::Cancelled(cancel.map(CancelToken::interruption).unwrap_or_default())
}

/// Carries messages until the conversation is complete or aborted.
async fn listen(
    pipes: &mut Pipes<'_>,
    link: &Link,
    conversation: impl Future<Output = Result<ConversationResult, Failure>>,
    deadline: Option<Instant>,
    cancel: Option<&CancelToken>,
) -> Stop {
    tokio::pin!(conversation);
    let due = async {
        match deadline {
            Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
            None => pending().await,
        }
    };
    tokio::pin!(due);
    let cancellation = cancelled(cancel);
    tokio::pin!(cancellation);
    loop {
        tokio::select! {
            biased;
            result = &mut conversation => return match result {
                Err(failure) if failure.fault.kind == McpErrorKind::TimedOut => {
                    Stop::TimedOut(Some(failure.fault.message))
                }
                result => Stop::Completed(result),
            },
            () = &mut cancellation => return interrupted(cancel),
            () = &mut due => return Stop::TimedOut(None),
            stored = pipes.step() => if let Err(error) = stored {
                return Stop::Log(error);
            },
        }
        if let Some(kind) = link.state().lost {
            return Stop::Lost(kind);
        }
        // A server that floods its output prevents the runtime from checking timers and signals.
        if cancel.is_some_and(CancelToken::is_cancelled) {
            return interrupted(cancel);
        }
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Stop::TimedOut(None);
        }
    }
}

/// Waits until the token is triggered.
pub(super) async fn cancelled(cancel: Option<&CancelToken>) {
    let Some(cancel) = cancel else {
        return pending().await;
    };
    if cancel.is_cancelled() {
        return;
    }
    // The descriptor is only watched, never read, so the token stays triggered for all users.
    match cancel.as_fd().try_clone_to_owned().and_then(pipe::Receiver::from_owned_fd) {
        Ok(pipe) => drop(pipe.readable().await),
        // This system cannot watch it, so poll.
        Err(_) => {
            while !cancel.is_cancelled() {
                tokio::time::sleep(CANCEL_POLL_INTERVAL).await;
            }
        }
    }
}

/// Ends the server: after an answer by closing its input, otherwise at once. Reads its streams to their end.
async fn end(
    mut child: Child,
    pipes: &mut Pipes<'_>,
    stop: &Stop,
    control: &Control,
) -> Result<Outcome, RunError> {
    pipes.hang_up();
    let patience = matches!(stop, Stop::Completed(_)).then_some(EXIT_TIMEOUT);
    let mut outcome =
        finish(&mut child, pipes, patience, control.ending.grace, control.cancel.as_ref()).await?;
    match stop {
        Stop::TimedOut(_) => outcome.ended_by = EndedBy::Timeout,
        Stop::Cancelled(_) => outcome.ended_by = EndedBy::Cancel,
        Stop::Log(_) => outcome.ended_by = EndedBy::Sink,
        Stop::Completed(_) | Stop::Lost(_) => {}
    }
    Ok(outcome)
}

/// Ends the process tree, and reads the streams to their end. With `patience`, the tree may first end by itself.
pub(super) async fn finish(
    child: &mut Child,
    pipes: &mut Pipes<'_>,
    patience: Option<Duration>,
    grace: Duration,
    cancel: Option<&CancelToken>,
) -> Result<Outcome, RunError> {
    let mut outcome = match patience {
        Some(patience) => settle(child, pipes, patience, &HurrySignal::new(cancel)).await?,
        None => None,
    };
    if outcome.is_none() {
        child.end(grace);
        outcome = settle(child, pipes, grace, &HurrySignal::new(cancel)).await?;
    }
    let mut outcome = match outcome {
        Some(outcome) => outcome,
        None => {
            child.end(Duration::ZERO);
            loop {
                if let Some(outcome) = child.wait(Duration::MAX)? {
                    break outcome;
                }
            }
        }
    };
    drain(pipes, Duration::ZERO).await;
    outcome.stdout = pipes.stdout_captured;
    outcome.stderr = pipes.stderr_captured;
    Ok(outcome)
}

/// Returns whether the user cancelled a second time, and so does not want to wait.
struct HurrySignal<'a> {
    cancel: Option<&'a CancelToken>,
    before: u32,
}

impl HurrySignal<'_> {
    fn new(cancel: Option<&CancelToken>) -> HurrySignal<'_> {
        HurrySignal { cancel, before: cancel.map_or(0, CancelToken::requests) }
    }

    fn is_requested(&self) -> bool {
        self.cancel.is_some_and(|cancel| self.before < cancel.requests())
    }
}

/// Reads the streams until the whole tree has ended, at most this long.
async fn settle(
    child: &mut Child,
    pipes: &mut Pipes<'_>,
    at_most: Duration,
    hurry: &HurrySignal<'_>,
) -> Result<Option<Outcome>, RunError> {
    let until = Instant::now() + at_most;
    loop {
        if !pipes.are_closed() {
            drain(pipes, CANCEL_POLL_INTERVAL.min(until.saturating_duration_since(Instant::now()))).await;
        }
        let left = until.saturating_duration_since(Instant::now());
        // If the streams are closed, only wait for the tree.
        let pause = if pipes.are_closed() { CANCEL_POLL_INTERVAL.min(left) } else { Duration::ZERO };
        if let Some(outcome) = child.wait(pause)? {
            return Ok(Some(outcome));
        }
        if left == Duration::ZERO || hurry.is_requested() {
            return Ok(None);
        }
    }
}

/// Reads the streams until they are closed, at most this long.
async fn drain(pipes: &mut Pipes<'_>, at_most: Duration) {
    let read_all = async {
        while !pipes.are_closed() {
            // A storage error was already reported, or the output comes after the answer.
            if pipes.step().await.is_err() {
                return;
            }
        }
    };
    drop(tokio::time::timeout(at_most, read_all).await);
}

/// Collects the results.
fn conclude(
    stop: Stop,
    ended: Result<Outcome, RunError>,
    answered_after: Duration,
    link: &Link,
    redactor: &Redactor,
) -> Exchange {
    let state = std::mem::take(&mut *link.state());
    let answered = matches!(stop, Stop::Completed(Ok(_)));
    let mut exchange = Exchange::default();
    let mut answer = |result: &Json| {
        let answer = McpAnswer::from_result(result, redactor);
        let fault = answer
            .is_error
            .then(|| Failure::new(McpErrorKind::ToolError, format!("the tool failed: {}", answer.summary)));
        exchange.answer = Some(answer);
        fault
    };
    let failure = match stop {
        Stop::Completed(Ok(ConversationResult::Listed)) => None,
        Stop::Completed(Ok(ConversationResult::Answered(result))) => answer(&result),
        Stop::Completed(Err(failure)) => Some(failure),
        Stop::TimedOut(result) => {
            Some(Failure::new(McpErrorKind::TimedOut, result.unwrap_or_else(|| timed_out(&state))))
        }
        Stop::Cancelled(why) => Some(Failure::new(McpErrorKind::Cancelled, why)),
        Stop::Lost(kind) => Some(Failure::new(kind, lost_answer_text(kind, &state))),
        Stop::Log(error) => {
            Some(Failure::new(McpErrorKind::Log, format!("the log could not be written: {error}")))
        }
    };
    match ended {
        Ok(outcome) => {
            exchange.exit = Some(match outcome.ended_by {
                EndedBy::Itself => ServerExit::ByItself,
                _ if answered => ServerExit::Ended,
                _ => ServerExit::Interrupted,
            });
            exchange.outcome = Some(outcome);
        }
        Err(error) => {
            let message = clean(&error.to_string(), redactor);
            exchange.fault = Some(McpFault { kind: McpErrorKind::NotStarted, message });
        }
    }
    if let Some(Failure { fault, changes, error }) = failure {
        let message = match (&exchange.outcome, fault.kind) {
            (Some(outcome), McpErrorKind::ServerEnded) => {
                format!("{} ({})", fault.message, end_text(outcome))
            }
            _ => fault.message,
        };
        exchange.fault = Some(McpFault { kind: fault.kind, message: clean(&message, redactor) });
        exchange.changes = changes;
        exchange.error = error.map(|error| redactor.redact_json(&error));
    }
    exchange.protocol_version = state.protocol_version.map(|version| redactor.redact_str(&version));
    exchange.server = state.server.map(|server| redact_texts(&server, redactor));
    exchange.tools = Arc::new(state.tools);
    exchange.mask_names(redactor);
    exchange.tool = state.tool;
    exchange.pin = state.pin;
    let sent = state.call.map(|call| call.sent()).unwrap_or_default();
    exchange.request_id = sent.id;
    exchange.request = sent.message.map(|request| redactor.redact_json(&request));
    exchange.responses = state.responses;
    exchange.log_lines = state.log_lines;
    exchange.answered_after = answered.then_some(answered_after);
    exchange
}

fn end_text(outcome: &Outcome) -> String {
    match (outcome.exit, outcome.ended_by) {
        (Exit::Unknown, _) => "exit status unknown".to_owned(),
        (exit, EndedBy::Itself) => exit.to_string(),
        _ => "it closed its output and kept running".to_owned(),
    }
}

fn timed_out(state: &ConversationState) -> String {
    let awaited = state.method.as_deref().unwrap_or("anything");
    let mut message = format!("the server did not answer {awaited} in time");
    if 0 < state.log_lines {
        message.push_str(&format!("; {} lines of its output were not messages", state.log_lines));
    }
    message
}

pub(super) fn lost_answer_text(kind: McpErrorKind, state: &ConversationState) -> String {
    let awaited = state.method.as_deref().unwrap_or("a request");
    match kind {
        McpErrorKind::OversizedMessage => {
            format!("the answer to {awaited} is longer than {} MiB", LINE_LIMIT >> 20)
        }
        _ => format!("the answer to {awaited} is not a message of the protocol"),
    }
}
