//! Passes log messages and questions of a server to the client of the running call.

#![expect(deprecated, reason = "older revisions have logging levels")]

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use brigade::core::{Fingerprint, Json};
use brigade::gateway::{McpLog, McpProgress, Question, Reply, ReplyError, Requester};
use brigade::process::random_bytes;
use rmcp::model::{
    ClientCapabilities, InputRequest, InputRequiredResult, InputResponses, LoggingLevel,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken, SealOptions, ServerRequest,
};
use rmcp::service::ServiceError;
use rmcp::{ErrorData, Peer, RoleServer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::call_slots::PausedSlot;
use crate::gateway::Gateway;
use crate::session::Outcome;

/// How long a question may stay open.
const OPEN: Duration = Duration::from_secs(600);

/// The maximum number of log messages that wait for a client.
const MAX_WAITING_LOGS: usize = 256;

/// The maximum number of calls that wait for replies of their clients.
const PARKED: usize = 1024;

/// Questions that are asked together.
pub(crate) type Questions = Vec<(Question, Reply)>;

/// A message of a server.
pub(crate) enum ServerMessage {
    Log(McpLog),
    Asks(Questions),
}

/// The client of a call.
pub(crate) struct ClientOfCall {
    capabilities: Json,
    client: Option<String>,
    session: String,
    level: Option<LoggingLevel>,
    /// Whether log messages are passed if the client set no level.
    hears: bool,
    is_proven: bool,
    messages: tokio::sync::mpsc::Sender<ServerMessage>,
}

impl ClientOfCall {
    pub(crate) fn new(side: &ClientSide) -> (ClientOfCall, tokio::sync::mpsc::Receiver<ServerMessage>) {
        let (messages, receiver) = tokio::sync::mpsc::channel(MAX_WAITING_LOGS);
        let capabilities = serde_json::to_value(&side.capabilities).unwrap_or_default();
        let client = ClientOfCall {
            capabilities: Json::from(&capabilities),
            client: side.client.clone(),
            session: side.session.clone(),
            level: side.level,
            hears: !side.is_late,
            is_proven: side.is_proven,
            messages,
        };
        (client, receiver)
    }
}

fn level_of(name: &str) -> Option<LoggingLevel> {
    serde_json::from_value(Value::from(name)).ok()
}

/// Returns the rank of a level.
fn severity(level: LoggingLevel) -> usize {
    const LEVELS: [LoggingLevel; 8] = [
        LoggingLevel::Debug,
        LoggingLevel::Info,
        LoggingLevel::Notice,
        LoggingLevel::Warning,
        LoggingLevel::Error,
        LoggingLevel::Critical,
        LoggingLevel::Alert,
        LoggingLevel::Emergency,
    ];
    LEVELS.iter().position(|one| *one == level).unwrap_or_default()
}

impl Requester for ClientOfCall {
    fn capabilities(&self) -> Json {
        self.capabilities.clone()
    }

    fn client(&self) -> Option<String> {
        self.client.clone()
    }

    fn session(&self) -> Option<String> {
        Some(self.session.clone())
    }

    fn is_proven(&self) -> bool {
        self.is_proven
    }

    fn hear(&self, log: McpLog) {
        let Some(level) = level_of(&log.level) else { return };
        let is_wanted = match self.level {
            Some(least) => severity(least) <= severity(level),
            None => self.hears,
        };
        if is_wanted {
            // A slow client misses some log messages.
            let _ = self.messages.try_send(ServerMessage::Log(log));
        }
    }

    fn log_level(&self) -> Option<String> {
        let level = serde_json::to_value(self.level?).ok()?;
        level.as_str().map(str::to_owned)
    }

    fn ask(&self, questions: Questions) {
        let _ = self.messages.try_send(ServerMessage::Asks(questions));
    }
}

/// Data about a client, other than its agent.
#[derive(Clone, Default)]
pub(crate) struct ClientSide {
    /// Its exclusive session, if it began with a handshake.
    pub(crate) client: Option<String>,
    /// Its session, which other clients of its agent may share.
    pub(crate) session: String,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) level: Option<LoggingLevel>,
    /// Whether it speaks a revision without a handshake.
    pub(crate) is_late: bool,
    /// Whether it has a token, or started the server itself. Other clients approve and answer nothing for a person.
    pub(crate) is_proven: bool,
    /// Receives the questions for such a client, which gets them as a result.
    pub(crate) questions: Option<UnboundedSender<(Questions, Option<PausedSlot>)>>,
}

/// The connection to the client of a call: that of its latest request.
#[derive(Clone)]
pub(crate) struct ClientLine(Arc<Mutex<LineTarget>>);

#[derive(Clone)]
struct LineTarget {
    peer: Peer<RoleServer>,
    progress: Option<ProgressToken>,
}

impl ClientLine {
    pub(crate) fn new(peer: Peer<RoleServer>, progress: Option<ProgressToken>) -> ClientLine {
        ClientLine(Arc::new(Mutex::new(LineTarget { peer, progress })))
    }

    fn ends(&self) -> MutexGuard<'_, LineTarget> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn move_to(&self, other: ClientLine) {
        let ends = other.ends().clone();
        *self.ends() = ends;
    }

    pub(crate) fn peer(&self) -> Peer<RoleServer> {
        self.ends().peer.clone()
    }

    /// Returns whether the client asked for progress.
    pub(crate) fn wants_progress(&self) -> bool {
        self.ends().progress.is_some()
    }

    /// Sends progress to the client, if it asked for it.
    pub(crate) async fn report_progress(&self, progress: McpProgress) {
        let LineTarget { peer, progress: Some(token) } = self.ends().clone() else { return };
        let mut param = ProgressNotificationParam::new(token, progress.progress);
        param.total = progress.total;
        param.message = progress.message;
        let _ = peer.notify_progress(param).await;
    }

    /// Sends a log message.
    pub(crate) async fn log(&self, log: McpLog) {
        let Some(level) = level_of(&log.level) else { return };
        let data = serde_json::to_value(&log.data).unwrap_or_default();
        let mut param = LoggingMessageNotificationParam::new(level, data);
        param.logger = log.logger;
        let peer = self.peer();
        let _ = peer.notify_logging_message(param).await;
    }
}

/// The questions to a client that are being asked.
pub(crate) type Asking = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Asks a client with a handshake, one question after the other. The call is paused until the last answer.
pub(crate) fn ask(peer: Peer<RoleServer>, questions: Questions, pause: Option<PausedSlot>) -> Asking {
    Box::pin(ask_each(peer, questions, pause))
}

async fn ask_each(peer: Peer<RoleServer>, questions: Questions, mut pause: Option<PausedSlot>) {
    let mut left = questions.len();
    for (question, reply) in questions {
        left -= 1;
        let params = serde_json::to_value(&question.params).unwrap_or_default();
        let request = json!({"method": question.kind.method(), "params": params});
        let Ok(request) = serde_json::from_value::<ServerRequest>(request) else { continue };
        let answered = tokio::time::timeout(OPEN, peer.send_request(request)).await;
        if left == 0
            && let Some(pause) = pause.take()
        {
            pause.resume().await;
        }
        match answered {
            Ok(Ok(result)) => {
                let result = serde_json::to_value(result).unwrap_or_default();
                reply.answer(Ok(Json::from(&result)));
            }
            Ok(Err(ServiceError::McpError(error))) => {
                let message = error.message.into_owned();
                reply.answer(Err(ReplyError { code: i64::from(error.code.0), message }));
            }
            // The client does not answer.
            Ok(Err(_)) | Err(_) => {}
        }
    }
}

/// A call that outlives the requests of its client.
pub(crate) struct OngoingCall {
    /// The outcome of the call.
    pub(crate) outcome: JoinHandle<Result<Outcome, ErrorData>>,
    /// The questions of its server.
    pub(crate) questions: UnboundedReceiver<(Questions, Option<PausedSlot>)>,
    /// Cancels the call.
    pub(crate) cancel: CancellationToken,
    /// The connection to its client.
    pub(crate) line: ClientLine,
    /// The fingerprint of the agent and its request.
    pub(crate) request_key: Fingerprint,
}

/// A call that waits for replies of its client.
struct ParkedCall {
    running: OngoingCall,
    questions: Questions,
    pause: Option<PausedSlot>,
}

/// Parked calls, by the names in the states of their clients.
#[derive(Default)]
pub(crate) struct ParkedCalls(Mutex<HashMap<String, ParkedCall>>);

/// The state that the client returns.
#[derive(Serialize, Deserialize)]
struct State {
    parked: String,
}

/// Returns the error for a state that is not from this server, has expired or belongs to another request.
pub(crate) fn invalid_state_error() -> ErrorData {
    ErrorData::invalid_params("`requestState` is not one of this server", None)
}

/// Returns the fingerprint of a request. Only an equal request may use its state.
pub(crate) fn fingerprint(agent: &str, method: &str, name: &str, arguments: &Json) -> Fingerprint {
    Fingerprint::builder("brigade.parked.v1")
        .text("agent", agent)
        .text("method", method)
        .text("name", name)
        .text("arguments", arguments.to_compact().as_str())
        .finish()
}

impl Gateway {
    /// Waits until the call has an outcome, or until its server asks a question that the client has to answer.
    pub(crate) async fn follow(
        self: &Arc<Self>,
        mut running: OngoingCall,
        gone: &CancellationToken,
    ) -> Result<Outcome, ErrorData> {
        // If this request is dropped, the client has left, and the call is cancelled.
        let left = running.cancel.clone().drop_guard();
        let (questions, pause) = loop {
            tokio::select! {
                biased;
                outcome = &mut running.outcome => {
                    drop(left.disarm());
                    return outcome.unwrap_or_else(|_| Err(ended_error()));
                }
                () = gone.cancelled(), if !running.cancel.is_cancelled() => running.cancel.cancel(),
                Some(questions) = running.questions.recv() => break questions,
            }
        };
        drop(left.disarm());
        self.park(running, questions, pause)
    }

    /// Parks a call until its client returns the replies.
    fn park(
        self: &Arc<Self>,
        running: OngoingCall,
        questions: Questions,
        pause: Option<PausedSlot>,
    ) -> Result<Outcome, ErrorData> {
        let mut requests = std::collections::BTreeMap::new();
        for (question, _) in &questions {
            let params = serde_json::to_value(&question.params).unwrap_or_default();
            let request = json!({"method": question.kind.method(), "params": params});
            if let Ok(request) = serde_json::from_value::<InputRequest>(request) {
                requests.insert(question.key.clone(), request);
            }
        }
        let name = random_name().ok_or_else(|| ErrorData::internal_error("no random numbers", None))?;
        let options = SealOptions::new().ttl(OPEN);
        let state = self.states.seal_json_with(&State { parked: name.clone() }, &options);
        let state = state.map_err(|_| ErrorData::internal_error("the state could not be sealed", None))?;
        let mut parking = self.parking();
        if PARKED <= parking.len() {
            return Err(ErrorData::internal_error("too many calls wait for their clients", None));
        }
        parking.insert(name.clone(), ParkedCall { running, questions, pause });
        drop(parking);
        let gateway = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(OPEN).await;
            // Dropping the questions tells the server that the client does not answer.
            drop(gateway.upgrade().map(|gateway| gateway.parking().remove(&name)));
        });
        let required = InputRequiredResult::new(Some(requests), Some(state));
        Ok(Outcome::Required(Box::new(required)))
    }

    fn parking(&self) -> MutexGuard<'_, HashMap<String, ParkedCall>> {
        self.parking.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes the replies of a client to the server, and continues the call. `None` if the state is of another kind.
    pub(crate) async fn unpark(
        self: &Arc<Self>,
        request_key: Fingerprint,
        state: &str,
        replies: Option<&InputResponses>,
        (line, gone): (ClientLine, &CancellationToken),
    ) -> Option<Result<Outcome, ErrorData>> {
        let State { parked } = self.states.open_json(state).ok()?;
        let ParkedCall { running, questions, mut pause } = {
            let mut parking = self.parking();
            if parking.get(&parked).is_none_or(|parked| parked.running.request_key != request_key) {
                return Some(Err(invalid_state_error()));
            }
            parking.remove(&parked)?
        };
        running.line.move_to(line);
        let has_all = questions
            .iter()
            .all(|(question, _)| replies.is_some_and(|given| given.contains_key(&question.key)));
        if let Some(pause) = pause.take_if(|_| has_all) {
            pause.resume().await;
        }
        let mut left = Vec::new();
        for (question, reply) in questions {
            match replies.and_then(|replies| replies.get(&question.key)) {
                Some(value) => reply.answer(Ok(Json::from(value))),
                None => left.push((question, reply)),
            }
        }
        // Unanswered questions are asked again.
        Some(if left.is_empty() { self.follow(running, gone).await } else { self.park(running, left, pause) })
    }
}

fn ended_error() -> ErrorData {
    ErrorData::internal_error("the call has ended", None)
}

/// Returns 128 random bits as text; `None` if the system has none.
pub(crate) fn random_name() -> Option<String> {
    Some(random_bytes::<16>().ok()?.map(|byte| format!("{byte:02x}")).concat())
}
