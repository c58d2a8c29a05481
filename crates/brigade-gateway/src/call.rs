//! One `tools/call` from its request to its result.
//!
//! The façade plans, approves, runs and stores calls. This module decides the order that an agent sees: the result at
//! once, or a pending call until a person decides.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use brigade::core::{CallId, Json, RunId};
use brigade::gateway::{AgentCall, Listener, McpProgress, RequestOutcome as FromAgent, RunRequestOutcome};
use brigade::profile::{LiveSession, SyncTime};
use brigade::records::ApprovedBy;
use brigade::{
    Call, CallStatus, CancelToken, Env, Error, ErrorCode, ErrorKind, Family, FileVersion, LogStream,
    Workspace,
};
use tokio::sync::mpsc::Receiver;
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, CallSummary, Streams, of_run, own_answer};
use crate::blocking::blocking;
use crate::call_ender::Ender;
use crate::call_slots::{CallSlot, QuotaKey};
use crate::call_state::{RequestNotes, changes_session, is_decided};
use crate::gateway::{Gateway, RunningCall, Speaker};
use crate::message_budget::MessageBudget;
use crate::results::{self, WaitResult};
use crate::upstream::{self, ClientLine, ClientOfCall, ClientSide, ServerMessage};
use crate::view::{AgentTool, View};

/// The interval of progress messages while a run lasts.
pub(crate) const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// The maximum number of progress messages that wait for the client.
const MAX_WAITING_PROGRESS: usize = 64;

/// How long programs may take to exit when the server ends.
const GRACE_PERIOD: Duration = Duration::from_millis(1200);

/// How long to wait for a call that another request of the same agent runs.
const JOIN_TIMEOUT: Duration = Duration::from_secs(600);

/// The poll interval of a waiting call while the queue changes.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(40);

/// The poll interval while the queue does not change. The runner may have died.
const STALE_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// One request of a client.
#[derive(Clone)]
pub(crate) struct Asker {
    pub(crate) agent: Arc<str>,
    pub(crate) session: Arc<LiveSession>,
    /// The connection to the client.
    pub(crate) line: ClientLine,
    /// Cancelled when the client no longer wants the answer.
    pub(crate) cancelled: CancellationToken,
    pub(crate) client: ClientSide,
}

impl Asker {
    pub(crate) fn speaker(&self) -> Speaker {
        Speaker { agent: self.agent.clone(), session: self.session.clone() }
    }

    /// Returns the workspace with the agent as its caller, in its session.
    pub(crate) fn workspace(&self, workspace: &Workspace, cancel: Option<CancelToken>) -> Workspace {
        self.speaker().workspace(workspace, cancel)
    }

    /// Returns the key of the quota that its calls use.
    fn quota_key(&self) -> QuotaKey {
        QuotaKey {
            agent: self.agent.clone(),
            of_execution: brigade::records::is_of_execution(self.session.id()),
        }
    }

    /// Sends progress to the client, unless the request is cancelled.
    async fn report_progress(&self, progress: McpProgress) {
        tokio::select! {
            () = self.line.report_progress(progress) => {}
            () = self.cancelled.cancelled() => {}
        }
    }
}

impl Speaker {
    /// Returns the workspace with the agent as its caller, in its session.
    pub(crate) fn workspace(&self, workspace: &Workspace, cancel: Option<CancelToken>) -> Workspace {
        let session = self.session.clone();
        workspace_of(workspace, &self.agent, cancel).with_env(|env: Env| env.session(session))
    }
}

/// Returns the workspace with the agent as its caller.
pub(crate) fn workspace_of(workspace: &Workspace, agent: &str, cancel: Option<CancelToken>) -> Workspace {
    workspace.with_env(|env: Env| {
        let env = env.caller(brigade::Caller::Agent(agent.to_owned()));
        match cancel {
            Some(cancel) => env.cancel(cancel),
            None => env,
        }
    })
}

/// A run of a call, with its channels to the client.
struct Run {
    /// Cancels the run.
    token: CancelToken,
    workspace: Workspace,
    progress_reports: Receiver<McpProgress>,
    messages: Receiver<ServerMessage>,
}

/// The outcome of a request.
pub(crate) enum AskOutcome {
    /// The result.
    Answer(Box<Answer>),
    /// The call waits for a decision. The person may be at the client.
    Pending(Box<Call>, RequestNotes),
}

impl Gateway {
    /// Plans and queues a call, and runs it if it is approved.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        asker: &Asker,
        view: &Arc<View>,
        tool: &AgentTool,
        args: Json,
    ) -> AskOutcome {
        let answer = |answer: Answer| AskOutcome::Answer(Box::new(answer));
        let (view, id) = (view.clone(), tool.id.clone());
        let running = format!("{id} has been running");
        let shown = move || view.shown.clone().ok_or_else(nothing_shown_error);
        // If a slot is free, a call that a rule approves is stored as running at once.
        let slot = self.slots.try_take(&asker.quota_key(), tool.writes(), self.concurrent(&asker.agent));
        let (outcome, begun) = match &slot {
            Some(slot) => {
                let mut run = match self.prepared(asker) {
                    Ok(run) => run,
                    Err(error) => return answer(busy_answer(&tool.id, error.to_string())),
                };
                let begun: Arc<Mutex<Option<RunningCall>>> = Arc::default();
                let (notes, gateway, token) = (begun.clone(), self.clone(), run.token.clone());
                let note = move |id: &CallId| {
                    let running = gateway.started(id, &token);
                    *notes.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
                };
                let workspace = run.workspace.clone();
                let outcome =
                    blocking(move || workspace.agent_calls().ask_and_run(&*shown()?, &id, args, &note));
                let outcome = self.driven(asker, &running, (&mut run, Some(slot)), outcome).await;
                (outcome, begun.lock().unwrap_or_else(PoisonError::into_inner).take())
            }
            None => {
                let workspace = self.recording(asker.workspace(&self.workspace, None));
                (
                    blocking(move || workspace.agent_calls().ask(&*shown()?, &id, args))
                        .await
                        .map(RunRequestOutcome::from),
                    None,
                )
            }
        };
        let begun = begun.map(|running| running.id().clone());
        let (call, before) = match (outcome, begun) {
            (Ok(RunRequestOutcome::Ran(call)), _) => return answer(self.ran(asker, *call, tool).await),
            (Ok(RunRequestOutcome::NotRun { id, error }), _) => {
                return answer(self.not_run(asker, tool, &id, &error).await);
            }
            (Ok(RunRequestOutcome::Requested(FromAgent::Stored { call, unknown, uncovered })), _) => {
                (call, RequestNotes { unknown, uncovered, ..RequestNotes::default() })
            }
            (Ok(RunRequestOutcome::Requested(FromAgent::Answered(done))), _) => {
                return answer(own_answer(&tool.id, done));
            }
            (Ok(RunRequestOutcome::Requested(FromAgent::Over(over))), _) => {
                return answer(Answer::over(&tool.id, over));
            }
            (Err(error), _) if error.kind() == ErrorKind::Environment => {
                return answer(error_answer(&tool.id, &error));
            }
            (Err(error), Some(id)) => return answer(self.not_run(asker, tool, &id, &error).await),
            (Err(error), None) => return answer(Answer::refused(&tool.id, &error)),
        };
        if let Some(elsewhere) = self.resumes_elsewhere(asker, &call) {
            return answer(elsewhere);
        }
        match (call.status.clone(), slot) {
            (CallStatus::Approved | CallStatus::ResumePending, Some(slot)) => {
                answer(self.run_in(asker, &call.id, tool, slot).await)
            }
            (CallStatus::Approved | CallStatus::ResumePending, None) => {
                answer(self.run(asker, &call.id, tool).await)
            }
            (CallStatus::Pending, _) => AskOutcome::Pending(call, before),
            (CallStatus::Running, slot) => {
                drop(slot);
                answer(self.joined(asker, &call).await)
            }
            _ => answer(match self.rejected_checkpoint(asker, &call).await {
                Some(rejected) => rejected,
                None => self.stored_answer(asker, &call, &before),
            }),
        }
    }

    /// Answers a call of a built-in tool that needs no approval.
    pub(crate) async fn at_once(self: &Arc<Self>, asker: &Asker, tool: &AgentTool, args: Json) -> Answer {
        let token = match CancelToken::new() {
            Ok(token) => token,
            Err(error) => return busy_answer(&tool.id, error.to_string()),
        };
        let (client, messages) = ClientOfCall::new(&asker.client);
        let workspace = asker.workspace(&self.workspace, Some(token.clone()));
        let workspace = workspace.with_env(|env: Env| env.requester(Arc::new(client)));
        let view = self.view(&asker.speaker()).await;
        let (id, calls) = (tool.id.clone(), workspace.agent_calls());
        let done = blocking(move || {
            let shown = view.shown.as_ref().ok_or_else(nothing_shown_error)?;
            calls.at_once(shown, &id, &args)
        });
        let (_, progress_reports) = tokio::sync::mpsc::channel(1);
        let mut run = Run { token, workspace, progress_reports, messages };
        match self.driven(asker, &format!("{} has been waiting", tool.id), (&mut run, None), done).await {
            Ok(FromAgent::Answered(done)) => own_answer(&tool.id, done),
            Ok(FromAgent::Over(over)) => Answer::over(&tool.id, over),
            Ok(FromAgent::Stored { .. }) => unreachable!("its calls are not stored"),
            Err(error) if error.kind() == ErrorKind::Environment => error_answer(&tool.id, &error),
            Err(error) => Answer::refused(&tool.id, &error),
        }
    }

    /// Approves a pending call after the person at the client agreed, and runs it.
    pub(crate) async fn run_agreed(self: &Arc<Self>, asker: &Asker, call: &Call, tool: &AgentTool) -> Answer {
        let workspace = asker.workspace(&self.workspace, None);
        let (requested, agent) = (call.clone(), asker.agent.clone());
        let by = ApprovedBy::Elicitation { agent: agent.to_string() };
        match blocking(move || workspace.agent_calls().agree(&requested, by)).await {
            Ok(call) => self.run(asker, &call.id, tool).await,
            Err(error) => match self.status_of(asker, &call.id).await {
                Some(CallStatus::Held) => self.current_answer(asker, call, &RequestNotes::default()).await,
                Some(status) if is_decided(&status) => self.resumed_answer(asker, call).await,
                Some(_) | None => Answer::refused(&tool.id, &error),
            },
        }
    }

    /// Waits until the queue changes or the waiting is over, and not long, because a change may be missed.
    async fn next_change(&self, stamp: Option<FileVersion>, is_over: impl Fn() -> bool) {
        let checked_at = Instant::now();
        while self.queue_stamp() == stamp && checked_at.elapsed() < STALE_POLL_INTERVAL && !is_over() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until the call is decided at the command line or in another client.
    pub(crate) async fn decided_elsewhere(&self, asker: &Asker, id: &CallId) {
        loop {
            let stamp = self.queue_stamp();
            if self.status_of(asker, id).await.as_ref().is_some_and(is_decided) {
                return;
            }
            self.next_change(stamp, || false).await;
        }
    }

    /// Returns the answer to a call that was decided elsewhere.
    pub(crate) async fn resumed_answer(self: &Arc<Self>, asker: &Asker, call: &Call) -> Answer {
        let answer = Box::pin(self.wait(asker, &call.id, crate::confirm::OPEN)).await;
        answer.unwrap_or_else(|| self.stored_answer(asker, call, &RequestNotes::default()))
    }

    /// Rejects a pending call after the person at the client declined.
    pub(crate) async fn declined(self: &Arc<Self>, asker: &Asker, call: &Call) -> Answer {
        let workspace = asker.workspace(&self.workspace, None);
        if self.status_of(asker, &call.id).await == Some(CallStatus::Held) {
            return self.current_answer(asker, call, &RequestNotes::default()).await;
        }
        let (id, reason) = (call.id.clone(), format!("declined in the client of {}", asker.agent));
        match blocking(move || workspace.calls().reject(&id, &reason)).await {
            Ok(report) => self.stored_answer(asker, &report.call, &RequestNotes::default()),
            Err(error) => Answer::refused(&call.tool_id, &error),
        }
    }

    /// Runs or resumes a call that is approved, and returns its result.
    pub(crate) async fn run(self: &Arc<Self>, asker: &Asker, id: &CallId, tool: &AgentTool) -> Answer {
        let quota_key = asker.quota_key();
        let slot = tokio::select! {
            slot = self.slots.take(&quota_key, tool.writes(), self.concurrent(&asker.agent)) => slot,
            () = asker.cancelled.cancelled() => None,
        };
        let Some(slot) = slot else {
            let (workspace, id_of) = (asker.workspace(&self.workspace, None), id.clone());
            let many = "too many calls of this agent are waiting";
            let reason = if asker.cancelled.is_cancelled() { "the client cancelled the call" } else { many };
            // If this fails, the call stays approved. Only this agent can run it.
            let left = blocking(move || workspace.agent_calls().give_up(&id_of, reason)).await;
            return match left.ok().flatten() {
                Some(call) => {
                    let text = format!(
                        "{many}. The call stays {}: `call.wait` with call_id `{id}`, or the same call again, runs it \
                         later",
                        call.status.as_str()
                    );
                    Answer::failed(CallSummary::of_call(&call).coded(ErrorCode::Busy), text)
                }
                None => busy_answer(
                    &tool.id,
                    format!("{many}; the call did not run and was not kept. Call again later"),
                ),
            };
        };
        self.run_in(asker, id, tool, slot).await
    }

    /// Runs or resumes a call in its slot.
    async fn run_in(
        self: &Arc<Self>,
        asker: &Asker,
        id: &CallId,
        tool: &AgentTool,
        slot: CallSlot,
    ) -> Answer {
        let mut run = match self.prepared(asker) {
            Ok(run) => run,
            Err(error) => return busy_answer(&tool.id, error.to_string()),
        };
        let what = format!("{} has been running", tool.id);
        let running = self.started(id, &run.token);
        let going_on = self.go_on(asker, run.workspace.clone(), id, run.token.clone());
        let ended = self.driven(asker, &what, (&mut run, Some(&slot)), going_on).await;
        drop((running, slot));
        match ended {
            // Another request of the agent already runs the call.
            Ok(call) if call.call.status == CallStatus::Running => self.joined(asker, &call.call).await,
            Ok(call) => self.ran(asker, call, tool).await,
            Err(error) if error.kind() == ErrorKind::Environment => error_answer(&tool.id, &error),
            Err(error) => self.not_run(asker, tool, id, &error).await,
        }
    }

    /// Returns the result of a call that ran for this request.
    async fn ran(self: &Arc<Self>, asker: &Asker, call: AgentCall, tool: &AgentTool) -> Answer {
        if tool.id.starts_with("session.") {
            self.session_changed().await;
        }
        self.result(asker, call, Some(tool)).await
    }

    /// Returns the result of a call that did not run for this request.
    async fn not_run(
        self: &Arc<Self>,
        asker: &Asker,
        tool: &AgentTool,
        id: &CallId,
        error: &Error,
    ) -> Answer {
        if let Some(answer) = self.result_for_other_request(asker, id).await {
            return answer;
        }
        // If a rule approved the call, it is withdrawn, so that the next request plans it again.
        let (workspace, id_of) = (asker.workspace(&self.workspace, None), id.clone());
        let reason = error.to_string();
        let _ = blocking(move || workspace.agent_calls().give_up(&id_of, &reason)).await;
        let refused = Answer::refused(&tool.id, error);
        let about = CallSummary { id: Some(id.to_string()), ..refused.about };
        Answer { about, ..refused }
    }

    /// Prepares a run: its cancel token, and its channels to the client.
    fn prepared(self: &Arc<Self>, asker: &Asker) -> std::io::Result<Run> {
        let token = CancelToken::new()?;
        let (tells, progress_reports) = tokio::sync::mpsc::channel(MAX_WAITING_PROGRESS);
        // Calls that wait for their clients do not count, although they are stored as running.
        let most = self.concurrent(&asker.agent).saturating_add(self.slots.paused(&asker.quota_key()));
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        let ender = Arc::new(Ender { gateway: self.clone(), agent: asker.speaker() });
        let (client, messages) = ClientOfCall::new(&asker.client);
        // A slow client misses some progress messages.
        let listener = Listener::new(move |progress| drop(tells.try_send(progress)));
        let workspace = asker.workspace(&self.workspace, Some(token.clone())).with_env(|env: Env| {
            let env = env.at_once(most).ender(ender).requester(Arc::new(client));
            if asker.line.wants_progress() { env.listener(listener) } else { env }
        });
        Ok(Run { token, workspace: self.recording(workspace), progress_reports, messages })
    }

    /// Waits for the end of a run. Meanwhile passes its messages to the client, and cancellation to the run.
    async fn driven<T>(
        self: &Arc<Self>,
        asker: &Asker,
        what: &str,
        (run, slot): (&mut Run, Option<&CallSlot>),
        ends: impl Future<Output = T>,
    ) -> T {
        let started = Instant::now();
        let Run { token, progress_reports, messages, .. } = run;
        let mut asking: Option<upstream::Asking> = None;
        let mut asks = std::collections::VecDeque::new();
        let ask = |next| upstream::ask(asker.line.peer(), next, slot.map(CallSlot::pause));
        tokio::pin!(ends);
        let mut ticks =
            tokio::time::interval_at((Instant::now() + PROGRESS_INTERVAL).into(), PROGRESS_INTERVAL);
        let mut is_cancelled = false;
        let mut budget = MessageBudget::new();
        // The last progress sent, and whether the server sends progress.
        let (mut last, mut is_told) = (f64::NEG_INFINITY, false);
        let mut is_late = Box::pin(tokio::time::sleep(Duration::MAX));
        let end = |is_late: &mut std::pin::Pin<Box<tokio::time::Sleep>>| {
            token.cancel_by("the end of the gateway");
            is_late.set(tokio::time::sleep(GRACE_PERIOD));
        };
        let ended = loop {
            tokio::select! {
                ended = &mut ends => break ended,
                () = asker.cancelled.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    // If the gateway ends, its connections end as well.
                    if self.stop.is_cancelled() {
                        end(&mut is_late);
                    } else {
                        token.cancel_by(format!("agent:{}", asker.agent));
                    }
                }
                () = self.stop.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    end(&mut is_late);
                }
                // After the grace period, the run is not waited for.
                () = &mut is_late, if self.stop.is_cancelled() => {
                    token.cancel();
                    is_late = Box::pin(tokio::time::sleep(Duration::MAX));
                }
                Some(progress) = progress_reports.recv() => {
                    is_told = true;
                    if last < progress.progress && budget.takes_progress(&progress) {
                        last = progress.progress;
                        asker.report_progress(progress).await;
                    }
                }
                Some(message) = messages.recv() => match (message, &asker.client.questions) {
                    (ServerMessage::Log(log), _) if budget.takes_log(&log) => tokio::select! {
                        () = asker.line.log(log) => {}
                        () = asker.cancelled.cancelled() => {}
                    },
                    (ServerMessage::Log(_), _) => {}
                    (ServerMessage::Asks(questions), Some(later)) => drop(later.send((questions, slot.map(CallSlot::pause)))),
                    (ServerMessage::Asks(questions), None) => {
                        asks.push_back(questions);
                        if asking.is_none() {
                            asking = asks.pop_front().map(&ask);
                        }
                    }
                },
                () = wait_for_question(&mut asking), if asking.is_some() => {
                    asking = asks.pop_front().map(&ask);
                }
                _ = ticks.tick(), if !is_told => {
                    let seconds = started.elapsed().as_secs_f64();
                    last = seconds;
                    asker.report_progress(running_for(seconds, format!("{what} for {seconds:.0} s"))).await;
                }
            }
        };
        while let Ok(last_words) = messages.try_recv() {
            if let ServerMessage::Log(log) = last_words
                && budget.takes_log(&log)
            {
                tokio::select! {
                    () = asker.line.log(log) => {}
                    () = asker.cancelled.cancelled() => {}
                }
            }
        }
        while let Ok(progress) = progress_reports.try_recv() {
            if last < progress.progress && budget.takes_progress(&progress) {
                last = progress.progress;
                asker.report_progress(progress).await;
            }
        }
        ended
    }

    /// Returns the workspace with the durability of records that gateway.toml sets.
    fn recording(&self, workspace: Workspace) -> Workspace {
        let is_late = self.config().sync == SyncTime::After;
        workspace.with_env(|env: Env| env.syncs_late(is_late))
    }

    /// Runs or resumes a call when its turn among all gateways comes.
    async fn go_on(
        self: &Arc<Self>,
        asker: &Asker,
        workspace: Workspace,
        id: &CallId,
        token: CancelToken,
    ) -> Result<AgentCall, Error> {
        loop {
            let stamp = self.queue_stamp();
            let (calls, id, view) = (workspace.agent_calls(), id.clone(), self.view(&asker.speaker()).await);
            let go_on = move || {
                let shown = view.shown.as_deref().ok_or_else(nothing_shown_error)?;
                calls.go_on(Some(shown), &id)
            };
            match blocking(go_on).await {
                Err(error) if error.code() == ErrorCode::NotItsTurn && !token.is_cancelled() => {}
                ended => return ended,
            }
            self.next_change(stamp, || token.is_cancelled()).await;
        }
    }

    /// Waits for the result of a call that runs for another request of the agent, here or in another gateway.
    async fn joined(self: &Arc<Self>, asker: &Asker, call: &Call) -> Answer {
        let answer = Box::pin(self.wait(asker, &call.id, JOIN_TIMEOUT)).await;
        answer.unwrap_or_else(|| self.stored_answer(asker, call, &RequestNotes::default()))
    }

    /// Waits for the result if another request of the agent runs the call. `None` if no other request does.
    async fn result_for_other_request(self: &Arc<Self>, asker: &Asker, id: &CallId) -> Option<Answer> {
        let call = self.call(asker, id).await.ok()?.call;
        match call.status {
            CallStatus::Approved | CallStatus::ResumePending => None,
            CallStatus::Waiting => Some(self.stored_answer(asker, &call, &RequestNotes::default())),
            _ => Box::pin(self.wait(asker, id, JOIN_TIMEOUT)).await,
        }
    }

    /// Returns the result of a call, or its status if it has not run.
    pub(crate) async fn result(
        self: &Arc<Self>,
        asker: &Asker,
        call: AgentCall,
        tool: Option<&AgentTool>,
    ) -> Answer {
        let Some(receipt) = call.receipt.as_ref() else {
            return self.stored_answer(asker, &call.call, &RequestNotes::default());
        };
        let streams = match call.answer.clone() {
            Some(answer) => Streams { answer: Some(answer), ..Streams::default() },
            None => {
                let answers = [Family::Mcp, Family::Builtin].iter().any(|family| call.call.family == *family);
                self.streams(asker, receipt.id.clone(), answers || receipt.executor.is_some()).await
            }
        };
        let has_schema = tool.is_some_and(AgentTool::has_output_schema);
        of_run(
            &call,
            receipt,
            streams,
            &|value| tool.map_or_else(Vec::new, |tool| tool.output_faults(value)),
            has_schema,
        )
    }

    async fn streams(&self, asker: &Asker, run: RunId, has_answer: bool) -> Streams {
        let workspace = asker.workspace(&self.workspace, None);
        blocking(move || {
            let calls = workspace.agent_calls();
            let read = |stream| {
                calls.output(&run, stream, 0, usize::MAX).ok().flatten().map(|output| output.content)
            };
            if has_answer {
                let answer = calls.answer(&run).ok().flatten();
                return Streams { answer, ..Streams::default() };
            }
            Streams { stdout: read(LogStream::Stdout).unwrap_or_default(), answer: None }
        })
        .await
    }

    /// Waits until a call is decided or has ended, runs it if it is approved, and returns its result.
    pub(crate) async fn wait(
        self: &Arc<Self>,
        asker: &Asker,
        id: &CallId,
        patience: Duration,
    ) -> Option<Answer> {
        let until = Instant::now() + patience;
        let started = Instant::now();
        let mut reported_at = Instant::now();
        loop {
            let stamp = self.queue_stamp();
            let call = match self.call(asker, id).await {
                Ok(call) => call,
                Err(error) if error.kind() == ErrorKind::NotFound => return None,
                Err(error) => return Some(error_answer("call.wait", &error)),
            };
            let tool = self.shown_of(&asker.speaker(), &call.call.tool_id).await;
            let runs_here = self.runs_here(id);
            match call.call.status {
                CallStatus::Approved | CallStatus::ResumePending if !runs_here => match tool {
                    Some(tool) => {
                        if let Some(elsewhere) = self.resumes_elsewhere(asker, &call.call) {
                            return Some(elsewhere);
                        }
                        let view = self.view(&asker.speaker()).await;
                        let calls = asker.workspace(&self.workspace, None).agent_calls();
                        // A call that changes a session is not run in another session.
                        let shown = view.shown.as_ref().filter(|_| !changes_session(&call.call));
                        let laid = shown.map(|shown| calls.laid_over(shown, &call.call));
                        return Some(match laid.unwrap_or_default().as_slice() {
                            [] => self.run(asker, id, &tool).await,
                            laid => {
                                let about = CallSummary::of_call(&call.call).coded(ErrorCode::WrongSession);
                                let laid = laid.join(", ");
                                let text = format!(
                                    "the call belongs to a session without {laid}; request it again here"
                                );
                                Answer::failed(about, text)
                            }
                        });
                    }
                    None => {
                        let about = CallSummary::of_call(&call.call).coded(ErrorCode::NotAvailableHere);
                        return Some(Answer::failed(about, "the tool is no longer available to this agent"));
                    }
                },
                CallStatus::Pending | CallStatus::Held | CallStatus::Running | CallStatus::Waiting => {}
                CallStatus::Approved | CallStatus::ResumePending => {}
                CallStatus::Rejected => {
                    return Some(self.stored_answer(asker, &call.call, &RequestNotes::default()));
                }
                _ => {
                    return Some(self.result(asker, call, tool.as_ref()).await);
                }
            }
            if let Some(answer) = self.rejected_checkpoint(asker, &call.call).await {
                return Some(answer);
            }
            if until <= Instant::now() {
                let structured = results::value(&WaitResult {
                    call_id: id.to_string(),
                    tool: call.call.tool_id.clone(),
                    status: call.call.status.as_str().to_owned(),
                    timed_out: true,
                });
                let answer = self.stored_answer(asker, &call.call, &RequestNotes::default());
                return Some(Answer { structured: Some(structured), is_error: false, ..answer });
            }
            if PROGRESS_INTERVAL <= reported_at.elapsed() {
                reported_at = Instant::now();
                let seconds = started.elapsed().as_secs_f64();
                asker
                    .report_progress(running_for(
                        seconds,
                        format!("call {id} is {}", call.call.status.as_str()),
                    ))
                    .await;
            }
            tokio::select! {
                () = self.next_change(stamp, || until <= Instant::now()) => {}
                () = asker.cancelled.cancelled() => return Some(self.stored_answer(asker, &call.call, &RequestNotes::default())),
                () = self.stop.cancelled() => return Some(self.stored_answer(asker, &call.call, &RequestNotes::default())),
            }
        }
    }
}

fn nothing_shown_error() -> Error {
    Error::new(ErrorKind::Refused, "nothing can be called")
}

/// Returns an answer that refuses work which cannot start now.
fn busy_answer(tool: &str, reason: String) -> Answer {
    Answer::failed(CallSummary::of_tool(tool, "refused").coded(ErrorCode::Busy), reason)
}

/// Waits for the client's reply to the open question.
async fn wait_for_question(asking: &mut Option<upstream::Asking>) {
    match asking {
        Some(asking) => asking.await,
        None => std::future::pending().await,
    }
}

/// Returns progress for a run that reports none.
fn running_for(seconds: f64, message: String) -> McpProgress {
    McpProgress { progress: seconds, total: None, message: Some(message) }
}

/// Returns an answer for an error of the machine, such as a full disk.
pub(crate) fn error_answer(tool: &str, error: &Error) -> Answer {
    Answer::failed(
        CallSummary::of_tool(tool, "refused").coded(error.failure().code_word()),
        format!("not called: {error}"),
    )
}
