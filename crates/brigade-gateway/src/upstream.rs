//! What the server of a call says to the call's client while it runs: log messages, and questions.

#![expect(deprecated, reason = "older revisions have logging levels")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use brigade::core::{Fingerprint, Json};
use brigade::{McpLog, McpProgress, Question, Reply, ReplyError, Requester};
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

use crate::gateway::Gateway;
use crate::session::Outcome;

/// How long a question may be open.
const OPEN: Duration = Duration::from_secs(600);

/// How many log messages may wait for a client.
const MAX_WAITING_LOGS: usize = 256;

/// How many calls may wait for what their clients bring back.
const PARKED: usize = 1024;

/// Questions of one moment.
pub(crate) type Questions = Vec<(Question, Reply)>;

/// Something that a server says.
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
    /// Whether messages pass if the client named no level.
    hears: bool,
    said: tokio::sync::mpsc::Sender<ServerMessage>,
}

impl ClientOfCall {
    pub(crate) fn new(side: &ClientSide) -> (ClientOfCall, tokio::sync::mpsc::Receiver<ServerMessage>) {
        let (said, heard) = tokio::sync::mpsc::channel(MAX_WAITING_LOGS);
        let capabilities = serde_json::to_value(&side.capabilities).unwrap_or_default();
        let client = ClientOfCall {
            capabilities: Json::from(&capabilities),
            client: side.client.clone(),
            session: side.session.clone(),
            level: side.level,
            hears: !side.is_late,
            said,
        };
        (client, heard)
    }
}

fn level_of(name: &str) -> Option<LoggingLevel> {
    serde_json::from_value(Value::from(name)).ok()
}

/// Returns how severe a level is.
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

    fn hear(&self, log: McpLog) {
        let Some(level) = level_of(&log.level) else { return };
        let is_wanted = match self.level {
            Some(least) => severity(least) <= severity(level),
            None => self.hears,
        };
        if is_wanted {
            // A client that reads slowly misses some of what a talkative server logs.
            let _ = self.said.try_send(ServerMessage::Log(log));
        }
    }

    fn log_level(&self) -> Option<String> {
        let level = serde_json::to_value(self.level?).ok()?;
        level.as_str().map(str::to_owned)
    }

    fn ask(&self, questions: Questions) {
        let _ = self.said.try_send(ServerMessage::Asks(questions));
    }
}

/// What is known of a client in addition to its agent.
#[derive(Clone, Default)]
pub(crate) struct ClientSide {
    /// The session that is its alone, if it began with a handshake.
    pub(crate) client: Option<String>,
    /// Its session, which it may have with other clients of its agent.
    pub(crate) session: String,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) level: Option<LoggingLevel>,
    /// Whether it speaks a revision without a handshake.
    pub(crate) is_late: bool,
    /// Takes the questions for such a client, which gets them as a result.
    pub(crate) questions: Option<UnboundedSender<Questions>>,
}

/// The way to the client of a call: that of its last request, if it made several.
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

    /// Returns whether the client wants to know how far the call is.
    pub(crate) fn wants_progress(&self) -> bool {
        self.ends().progress.is_some()
    }

    /// Tells the client how far the call is, if it wants to know.
    pub(crate) async fn tell(&self, told: McpProgress) {
        let LineTarget { peer, progress: Some(token) } = self.ends().clone() else { return };
        let mut param = ProgressNotificationParam::new(token, told.progress);
        param.total = told.total;
        param.message = told.message;
        let _ = peer.notify_progress(param).await;
    }

    /// Passes a log message on.
    pub(crate) async fn log(&self, log: McpLog) {
        let Some(level) = level_of(&log.level) else { return };
        let data = serde_json::to_value(&log.data).unwrap_or_default();
        let mut param = LoggingMessageNotificationParam::new(level, data);
        param.logger = log.logger;
        let peer = self.peer();
        let _ = peer.notify_logging_message(param).await;
    }
}

/// Asks a client with a handshake, one question after the other.
pub(crate) async fn ask(peer: Peer<RoleServer>, questions: Questions) {
    for (question, reply) in questions {
        let params = serde_json::to_value(&question.params).unwrap_or_default();
        let request = json!({"method": question.kind.method(), "params": params});
        let Ok(request) = serde_json::from_value::<ServerRequest>(request) else { continue };
        match tokio::time::timeout(OPEN, peer.send_request(request)).await {
            Ok(Ok(result)) => {
                let result = serde_json::to_value(result).unwrap_or_default();
                reply.answer(Ok(Json::from(&result)));
            }
            Ok(Err(ServiceError::McpError(error))) => {
                let message = error.message.into_owned();
                reply.answer(Err(ReplyError { code: i64::from(error.code.0), message }));
            }
            // No answer comes.
            Ok(Err(_)) | Err(_) => {}
        }
    }
}

/// A call that outlives the requests of its client.
pub(crate) struct OngoingCall {
    /// What comes of it.
    pub(crate) outcome: JoinHandle<Result<Outcome, ErrorData>>,
    /// What its server asks.
    pub(crate) questions: UnboundedReceiver<Questions>,
    /// Ends it.
    pub(crate) cancel: CancellationToken,
    /// Whom it speaks to.
    pub(crate) line: ClientLine,
    /// The agent, and what it asked for.
    pub(crate) of: Fingerprint,
}

/// A call that waits for what its client brings back.
struct ParkedCall {
    running: OngoingCall,
    asked: Questions,
}

/// Calls that wait, by the names in the states of their clients.
#[derive(Default)]
pub(crate) struct ParkedCalls(Mutex<HashMap<String, ParkedCall>>);

/// What the client brings back.
#[derive(Serialize, Deserialize)]
struct State {
    parked: String,
}

/// The error for a state that is not one of this server, has expired or belongs to another request.
pub(crate) fn invalid_state_error() -> ErrorData {
    ErrorData::invalid_params("`requestState` is not one of this server", None)
}

/// Returns what tells requests apart that may continue with each other's state.
pub(crate) fn fingerprint(agent: &str, method: &str, name: &str, arguments: &Json) -> Fingerprint {
    Fingerprint::builder("brigade.parked.v1")
        .text("agent", agent)
        .text("method", method)
        .text("name", name)
        .text("arguments", arguments.to_compact().as_str())
        .finish()
}

impl Gateway {
    /// Lets a call continue until it has an outcome, or until its server asks what the client has to bring back.
    pub(crate) async fn follow(
        self: &Arc<Self>,
        mut running: OngoingCall,
        gone: &CancellationToken,
    ) -> Result<Outcome, ErrorData> {
        // A request that is dropped is one that the client left.
        let left = running.cancel.clone().drop_guard();
        let asked = loop {
            tokio::select! {
                biased;
                outcome = &mut running.outcome => {
                    drop(left.disarm());
                    return outcome.unwrap_or_else(|_| Err(ended_error()));
                }
                () = gone.cancelled(), if !running.cancel.is_cancelled() => running.cancel.cancel(),
                Some(asked) = running.questions.recv() => break asked,
            }
        };
        drop(left.disarm());
        self.park(running, asked)
    }

    /// Keeps a call until its client brings back what its server asked for.
    fn park(self: &Arc<Self>, running: OngoingCall, asked: Questions) -> Result<Outcome, ErrorData> {
        let mut requests = std::collections::BTreeMap::new();
        for (question, _) in &asked {
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
        parking.insert(name.clone(), ParkedCall { running, asked });
        drop(parking);
        let gateway = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(OPEN).await;
            // Its server hears that no answer comes, and the call continues without the client.
            drop(gateway.upgrade().map(|gateway| gateway.parking().remove(&name)));
        });
        let required = InputRequiredResult::new(Some(requests), Some(state));
        Ok(Outcome::Required(Box::new(required)))
    }

    fn parking(&self) -> MutexGuard<'_, HashMap<String, ParkedCall>> {
        self.parking.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands the replies of a client to the server that asked, and continues the call. `None` if the state is of
    /// another kind.
    pub(crate) async fn unpark(
        self: &Arc<Self>,
        of: Fingerprint,
        state: &str,
        replies: Option<&InputResponses>,
        (line, gone): (ClientLine, &CancellationToken),
    ) -> Option<Result<Outcome, ErrorData>> {
        let State { parked } = self.states.open_json(state).ok()?;
        let ParkedCall { running, asked } = {
            let mut parking = self.parking();
            if parking.get(&parked).is_none_or(|parked| parked.running.of != of) {
                return Some(Err(invalid_state_error()));
            }
            parking.remove(&parked)?
        };
        running.line.move_to(line);
        let mut left = Vec::new();
        for (question, reply) in asked {
            match replies.and_then(|replies| replies.get(&question.key)) {
                Some(value) => reply.answer(Ok(Json::from(value))),
                None => left.push((question, reply)),
            }
        }
        // What the client left open is asked again.
        Some(if left.is_empty() { self.follow(running, gone).await } else { self.park(running, left) })
    }
}

fn ended_error() -> ErrorData {
    ErrorData::internal_error("the call has ended", None)
}

/// Returns 128 random bits as text; `None` if the system has none.
pub(crate) fn random_name() -> Option<String> {
    let mut bytes = [0; 16];
    let count = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).ok()?;
    (count == bytes.len()).then(|| bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
