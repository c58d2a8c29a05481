//! What the server of a call says to the call's client while it runs: log messages, and questions.

#![expect(deprecated, reason = "older revisions have logging levels")]

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use brigade::core::Json;
use brigade::{McpLog, NoReply, Question, Reply, Requester};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, InputRequest, InputRequiredResult,
    LoggingLevel, LoggingMessageNotificationParam, SealOptions, ServerRequest,
};
use rmcp::service::ServiceError;
use rmcp::{ErrorData, Peer, RoleServer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;

use crate::gateway::Gateway;

/// How long a question may be open.
const OPEN: Duration = Duration::from_secs(600);

/// How many log messages may wait for a client.
const WAITING: usize = 256;

/// How many calls may wait for what their clients bring back.
const PARKED: usize = 1024;

/// Questions of one moment.
pub(crate) type Questions = Vec<(Question, Reply)>;

/// Something that a server says.
pub(crate) enum Said {
    Log(McpLog),
    Asks(Questions),
}

/// The client of a call.
pub(crate) struct ClientOfCall {
    capabilities: Json,
    level: Option<LoggingLevel>,
    /// Whether messages pass if the client named no level.
    hears: bool,
    said: tokio::sync::mpsc::Sender<Said>,
}

impl ClientOfCall {
    pub(crate) fn new(side: &ClientSide) -> (ClientOfCall, tokio::sync::mpsc::Receiver<Said>) {
        let (said, heard) = tokio::sync::mpsc::channel(WAITING);
        let capabilities = serde_json::to_value(&side.capabilities).unwrap_or_default();
        let client = ClientOfCall {
            capabilities: Json::from(&capabilities),
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

    fn hear(&self, log: McpLog) {
        let Some(level) = level_of(&log.level) else { return };
        let is_wanted = match self.level {
            Some(least) => severity(least) <= severity(level),
            None => self.hears,
        };
        if is_wanted {
            // A client that reads slowly misses some of what a talkative server logs.
            let _ = self.said.try_send(Said::Log(log));
        }
    }

    fn log_level(&self) -> Option<String> {
        let level = serde_json::to_value(self.level?).ok()?;
        level.as_str().map(str::to_owned)
    }

    fn ask(&self, questions: Questions) {
        let _ = self.said.try_send(Said::Asks(questions));
    }
}

/// What is known of a client besides its agent.
#[derive(Clone, Default)]
pub(crate) struct ClientSide {
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) level: Option<LoggingLevel>,
    /// Whether it speaks a revision without a handshake.
    pub(crate) is_late: bool,
    /// Takes the questions for such a client, which gets them as a result.
    pub(crate) questions: Option<UnboundedSender<Questions>>,
}

/// Passes a log message on.
pub(crate) async fn log(peer: &Peer<RoleServer>, log: McpLog) {
    let Some(level) = level_of(&log.level) else { return };
    let data = serde_json::to_value(&log.data).unwrap_or_default();
    let mut param = LoggingMessageNotificationParam::new(level, data);
    param.logger = log.logger;
    let _ = peer.notify_logging_message(param).await;
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
                reply.answer(Err(NoReply { code: i64::from(error.code.0), message }));
            }
            // Nobody answers.
            Ok(Err(_)) | Err(_) => {}
        }
    }
}

/// What becomes of a call.
pub(crate) type Running = JoinHandle<Result<CallToolResponse, ErrorData>>;

/// A call that waits for what its client brings back.
pub(crate) struct Parked {
    pub(crate) running: Running,
    pub(crate) questions: UnboundedReceiver<Questions>,
    asked: Questions,
    agent: String,
    name: String,
}

/// Calls that wait, by the names in the states of their clients.
#[derive(Default)]
pub(crate) struct Parking(Mutex<HashMap<String, Parked>>);

/// What the client brings back.
#[derive(Serialize, Deserialize)]
struct State {
    parked: String,
}

fn wrong() -> ErrorData {
    ErrorData::invalid_params("`requestState` is not one of this server", None)
}

impl Gateway {
    /// Keeps a call until its client brings back what its server asked for.
    pub(crate) fn park(
        &self,
        running: Running,
        questions: UnboundedReceiver<Questions>,
        asked: Questions,
        of: (&str, &str),
    ) -> Result<CallToolResponse, ErrorData> {
        let (agent, name) = of;
        let mut requests = std::collections::BTreeMap::new();
        for (question, _) in &asked {
            let params = serde_json::to_value(&question.params).unwrap_or_default();
            let request = json!({"method": question.kind.method(), "params": params});
            if let Ok(request) = serde_json::from_value::<InputRequest>(request) {
                requests.insert(question.key.clone(), request);
            }
        }
        let random = uuid();
        let options = SealOptions::new().ttl(OPEN);
        let state = self.states.seal_json_with(&State { parked: random.clone() }, &options);
        let state = state.map_err(|_| ErrorData::internal_error("the state could not be sealed", None))?;
        let parked = Parked { running, questions, asked, agent: agent.to_owned(), name: name.to_owned() };
        let mut parking = self.parking.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if PARKED <= parking.len() {
            parking.retain(|_, parked| !parked.running.is_finished());
        }
        if parking.len() < PARKED {
            parking.insert(random, parked);
        }
        let required = InputRequiredResult::new(Some(requests), Some(state));
        Ok(CallToolResponse::InputRequired(required))
    }

    /// Hands the replies of a client to the server that asked. `None` if the state is of another kind.
    pub(crate) fn unpark(
        &self,
        agent: &str,
        request: &CallToolRequestParams,
    ) -> Result<Option<Parked>, ErrorData> {
        let Some(state) = &request.request_state else { return Ok(None) };
        let Ok(State { parked }) = self.states.open_json(state) else { return Ok(None) };
        let mut parking = self.parking.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_its = |parked: &Parked| parked.agent == agent && parked.name == request.name;
        if !parking.get(&parked).is_some_and(is_its) {
            return Err(wrong());
        }
        let mut parked = parking.remove(&parked).ok_or_else(wrong)?;
        drop(parking);
        let mut open = Vec::new();
        for (question, reply) in std::mem::take(&mut parked.asked) {
            let replies = request.input_responses.as_ref();
            match replies.and_then(|replies| replies.get(&question.key)) {
                Some(value) => reply.answer(Ok(Json::from(value))),
                None => open.push((question, reply)),
            }
        }
        parked.asked = open;
        Ok(Some(parked))
    }
}

impl Parked {
    /// Takes the questions that the client left open.
    pub(crate) fn left(&mut self) -> Questions {
        std::mem::take(&mut self.asked)
    }
}

/// Returns a name that nobody guesses.
fn uuid() -> String {
    let mut bytes = [0; 16];
    // Names only have to differ: the state that holds one is sealed.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
