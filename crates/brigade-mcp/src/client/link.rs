//! The link between the SDK and the server's streams. Records the messages.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use brigade_core::{Dialect, Json};
use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions, GetMeta, ProgressNotification,
    ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::flight::{Flight, SentRequest};
use super::message::{BrokenMessage, ServerMessage};
use crate::exchange::{McpErrorKind, McpProgress};
use crate::pin::{ListedTool, Pin};
use crate::requester::{McpLog, Question, QuestionKind, Reply, Requester};

/// The error code for a method that a server does not know.
const METHOD_NOT_FOUND: i64 = -32601;

/// The assumed revision of a server that does not name one.
const UNNAMED_VERSION: &str = "2024-11-05";

/// The state of a conversation. It remains after a conversation is aborted.
#[derive(Default)]
pub(super) struct ConversationState {
    pub(super) protocol_version: Option<String>,
    pub(super) server: Option<Json>,
    pub(super) tools: Vec<ListedTool>,
    pub(super) tool: Option<ListedTool>,
    pub(super) pin: Option<Pin>,
    /// The call of a conversation that has only one call.
    pub(super) call: Option<Arc<Flight>>,
    pub(super) responses: u64,
    pub(super) log_lines: u64,
    /// A response was lost.
    pub(super) lost: Option<McpErrorKind>,
    /// The method of the last request.
    pub(super) method: Option<String>,
    /// The highest id in use.
    last_id: i64,
    awaited: HashSet<i64>,
    initialize_id: Option<i64>,
    /// Requests without an answer.
    flights: BTreeMap<i64, Arc<Flight>>,
    /// The clients of cancelled requests. A server may continue with such a request, and send messages about it, until
    /// it answers.
    left: BTreeMap<i64, Option<String>>,
    /// The sessions of requests that were answered recently, each with the last request at that time. A server may
    /// still log about one until it has answered a later request.
    done: Vec<(String, i64)>,
    /// How many changes of its tool list the server has announced.
    pub(super) changes: u64,
    /// The log level that the server was given.
    pub(super) level: Option<String>,
    /// How many changes of its resources or prompts the server has announced.
    pub(super) offer_changes: u64,
    /// The number of messages of any kind.
    pub(super) messages: u64,
    answers: HashMap<i64, Json>,
    /// Notifications that the server may still answer with an error. For each, the last request before it.
    notified: Vec<i64>,
    /// The number of other notifications, which no error can refer to.
    settled: usize,
    /// The open requests of the server, and the total bytes of its requests since none were open.
    open_requests: (usize, usize),
    /// When the last request of the server was replied to.
    replied_at: Option<Instant>,
}

/// How many open requests the server may have, and how many bytes they may total, before reading stops.
const MAX_OPEN_REQUESTS: usize = 64;
const MAX_OPEN_REQUEST_BYTES: usize = 1 << 20;

impl ConversationState {
    /// Returns whether the server speaks a revision without a handshake.
    pub(super) fn is_late(&self) -> bool {
        let version = self.protocol_version.as_deref();
        version.is_some_and(|version| ProtocolVersion::V_2026_07_28.as_str() <= version)
    }

    /// Returns since when no request of the server is open; `None` while one is.
    pub(super) fn no_request_since(&self, start: Instant) -> Option<Instant> {
        (self.open_requests.0 == 0).then(|| self.replied_at.map_or(start, |at| at.max(start)))
    }

    /// Returns which request a response is for, or `None` if it answers a notification.
    ///
    /// Servers write `id: null` if they refuse a notification and if they cannot read a request. Most read in order, so
    /// the response to a later request settles every notification before it. A server that does not know a method has
    /// read the request and its id. So such an error is about a notification, however late it arrives.
    fn answered(&mut self, id: Option<i64>, code: Option<i64>) -> Option<i64> {
        match id {
            Some(id) => {
                let before = self.notified.len();
                self.notified.retain(|before| id <= *before);
                self.settled += before - self.notified.len();
                Some(id)
            }
            None if self.notified.is_empty() && code == Some(METHOD_NOT_FOUND) && 0 < self.settled => {
                self.settled -= 1;
                None
            }
            None if self.notified.is_empty() => Some(self.last_id),
            None => {
                self.notified.remove(0);
                None
            }
        }
    }

    /// Returns who receives a message of the server: the client of the call that it names, or else the only client
    /// whose call may have caused it.
    fn target(&self, params: Option<&Json>) -> MessageTarget {
        let meta = params.and_then(|params| params.get("_meta"));
        let named = |name: &str| meta.and_then(|meta| meta.get(name));
        let id = named("io.modelcontextprotocol/related-request-id").or_else(|| named("relatedRequestId"));
        if let Some(id) = id {
            let id = id.as_i64().or_else(|| id.as_str()?.parse().ok());
            return id
                .and_then(|id| self.flights.get(&id))
                .map_or(MessageTarget::Unclear, MessageTarget::from_flight);
        }
        if let Some(token) = named("progressToken").map(Json::to_compact) {
            let has_token = |flight: &&Arc<Flight>| {
                let own = flight.sent().token.and_then(|token| serde_json::to_string(&token).ok());
                own.as_ref() == Some(&token)
            };
            return self
                .flights
                .values()
                .find(has_token)
                .map_or(MessageTarget::Unclear, MessageTarget::from_flight);
        }
        let possible = || self.flights.values().filter(|flight| flight.may_cause_messages());
        let Some(last) = possible().next_back() else { return MessageTarget::Nobody };
        let client = last.client();
        let is_same = |other: &Option<String>| other.is_some() && *other == client;
        let is_alone = possible().count() == 1 && self.left.is_empty();
        let is_of_one =
            || possible().all(|flight| is_same(&flight.client())) && self.left.values().all(is_same);
        if is_alone || is_of_one() { MessageTarget::from_flight(last) } else { MessageTarget::Unclear }
    }

    /// Returns who receives a log message: as for any message, unless it may be about an answered call of another
    /// session.
    fn log_target(&self, params: Option<&Json>) -> MessageTarget {
        let target = self.target(params);
        let MessageTarget::Client(requester) = &target else { return target };
        let names_call = || {
            let meta = params.and_then(|params| params.get("_meta"));
            let names = ["io.modelcontextprotocol/related-request-id", "relatedRequestId", "progressToken"];
            names.iter().any(|name| meta.is_some_and(|meta| meta.get(name).is_some()))
        };
        let session = requester.session();
        let is_of_another = self.done.iter().any(|(other, _)| Some(other) != session.as_ref());
        if is_of_another && !names_call() { MessageTarget::Unclear } else { target }
    }

    /// Records the answer to a request.
    fn done(&mut self, id: i64) {
        self.done.retain(|(_, last)| id <= *last);
        let flight = self.flights.remove(&id).filter(|flight| flight.may_cause_messages());
        if let Some(session) = flight.and_then(|flight| flight.session()) {
            self.done.retain(|(other, _)| *other != session);
            self.done.push((session, self.last_id));
        }
    }

    fn replied(&mut self) {
        let left = self.open_requests.0.saturating_sub(1);
        self.open_requests = (left, if left == 0 { 0 } else { self.open_requests.1 });
        self.replied_at = Some(Instant::now());
    }
}

/// Who receives a message of the server.
enum MessageTarget {
    /// The client of the call that it is about.
    Client(Arc<dyn Requester>),
    /// Unknown: it may be about calls of several clients.
    Unclear,
    /// No client: it is not about an open call.
    Nobody,
}

impl MessageTarget {
    fn from_flight(flight: &Arc<Flight>) -> MessageTarget {
        flight.requester().cloned().map_or(MessageTarget::Nobody, MessageTarget::Client)
    }
}

/// Both directions of one conversation.
pub(super) struct Link {
    state: Mutex<ConversationState>,
    outgoing: UnboundedSender<Vec<u8>>,
    incoming: tokio::sync::Mutex<UnboundedReceiver<Json>>,
}

impl Link {
    pub(super) fn new(outgoing: UnboundedSender<Vec<u8>>, incoming: UnboundedReceiver<Json>) -> Link {
        Link { state: Mutex::default(), outgoing, incoming: tokio::sync::Mutex::new(incoming) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ConversationState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether reading must stop because too many requests of the server wait for a reply.
    pub(super) fn has_too_many_requests(&self) -> bool {
        let (requests, bytes) = self.state().open_requests;
        MAX_OPEN_REQUESTS < requests || MAX_OPEN_REQUEST_BYTES < bytes
    }

    /// Drops all open requests of the server, which get no reply any more.
    pub(super) fn drop_open_requests(&self) {
        self.state().open_requests = (0, 0);
    }

    /// Records a message that arrived in a line of this length. Returns the message that the SDK must see.
    pub(super) fn note(self: &Arc<Link>, received: ServerMessage, length: usize) -> Option<Json> {
        let mut state = self.state();
        state.messages += u64::from(!matches!(received, ServerMessage::Log));
        match received {
            ServerMessage::Response { id, message } => {
                let code = message.get("error").and_then(|error| error.get("code")).and_then(Json::as_i64);
                let id = state.answered(id, code)?;
                state.responses += 1;
                state.left.remove(&id);
                if !state.awaited.remove(&id) {
                    return None;
                }
                state.done(id);
                state.answers.insert(id, message.clone());
                let mut members = message.as_object()?.clone();
                members.insert("id".to_owned(), Json::from(id));
                Some(Json::Object(members))
            }
            ServerMessage::Other(message) if message.get("id").is_none() => {
                drop(state);
                self.hear(&message);
                None
            }
            ServerMessage::Other(message) => {
                let (requests, bytes) = state.open_requests;
                state.open_requests = (requests + 1, bytes.saturating_add(length));
                drop(state);
                self.question(message)
            }
            ServerMessage::Broken(BrokenMessage::Response) if !state.awaited.is_empty() => {
                state.lost.get_or_insert(McpErrorKind::MalformedMessage);
                None
            }
            ServerMessage::Broken(_) | ServerMessage::Log => {
                state.log_lines += 1;
                None
            }
        }
    }

    /// Handles a notification.
    fn hear(&self, message: &Json) {
        let params = message.get("params");
        match message.get("method").and_then(Json::as_str) {
            Some("notifications/progress") => self.progress(message),
            Some("notifications/tools/list_changed") => self.state().changes += 1,
            Some("notifications/resources/list_changed" | "notifications/prompts/list_changed") => {
                self.state().offer_changes += 1;
            }
            Some("notifications/message") => {
                let member = |name: &str| params.and_then(|params| params.get(name));
                let text = |name: &str| member(name).and_then(Json::as_str).map(str::to_owned);
                let target = self.state().log_target(params);
                if let (MessageTarget::Client(requester), Some(level)) = (target, text("level")) {
                    let data = member("data").cloned().unwrap_or_default();
                    requester.hear(McpLog { level, logger: text("logger"), data });
                }
            }
            _ => {}
        }
    }

    /// Passes on a progress report.
    fn progress(&self, message: &Json) {
        let Ok(report) = serde_json::from_value::<ProgressNotification>(message.to_serde()) else { return };
        let report = report.params;
        let has_token = |flight: &&Arc<Flight>| flight.sent().token.as_ref() == Some(&report.progress_token);
        let flight = self.state().flights.values().find(has_token).cloned();
        flight.iter().for_each(|flight| flight.note_progress());
        if let Some(listener) = flight.as_ref().and_then(|flight| flight.listener()) {
            listener.hear(McpProgress {
                progress: report.progress,
                total: report.total,
                message: report.message,
            });
        }
    }

    /// Passes a question to the caller of the call. Returns the message that the SDK must reply to.
    fn question(self: &Arc<Link>, message: Json) -> Option<Json> {
        let method = message.get("method").and_then(Json::as_str).unwrap_or_default();
        let Some(kind) = QuestionKind::of_method(method) else { return Some(message) };
        let params = message.get("params");
        let target = self.state().target(params);
        if matches!(target, MessageTarget::Nobody) {
            return Some(message);
        }
        let params = params.cloned().unwrap_or_default();
        let (link, id) = (self.clone(), message.get("id").cloned().unwrap_or_default());
        let reply = Reply::new(kind, move |answer| {
            let answer = match answer {
                Ok(result) => ("result", result),
                Err(error) => {
                    let message = Json::from(error.message);
                    ("error", Json::object([("code", Json::from(error.code)), ("message", message)]))
                }
            };
            let reply = Json::object([("jsonrpc", Json::from("2.0")), ("id", id), answer]);
            link.state().replied();
            link.write(&reply);
        });
        let key = message.get("id").map(Json::to_compact).unwrap_or_default();
        match target {
            MessageTarget::Client(requester) => requester.ask(vec![(Question { key, kind, params }, reply)]),
            // Dropping the reply reports that the question is not answered.
            MessageTarget::Unclear | MessageTarget::Nobody => {
                tracing::debug!("a question of a server names no call, and several may have led to it");
            }
        }
        None
    }

    /// Sends a message unchanged. Does nothing if the server is gone.
    fn write(&self, message: &Json) {
        let mut line = message.to_compact().into_bytes();
        line.push(b'\n');
        let _ = self.outgoing.send(line);
    }

    /// Tells the server that the answer to a request is no longer needed.
    pub(super) fn cancel(&self, id: i64, reason: &str) {
        let mut state = self.state();
        state.answers.remove(&id);
        if !state.awaited.remove(&id) {
            return;
        }
        if let Some(flight) = state.flights.remove(&id).filter(|flight| flight.may_cause_messages()) {
            state.left.insert(id, flight.client());
        }
        let before = state.last_id;
        state.notified.push(before);
        drop(state);
        let params = Json::object([("requestId", Json::from(id)), ("reason", Json::from(reason))]);
        self.write(&Json::object([
            ("jsonrpc", Json::from("2.0")),
            ("method", Json::from("notifications/cancelled")),
            ("params", params),
        ]));
    }

    /// Records a line that was too long to be read.
    pub(super) fn note_oversized(&self, beginning: ServerMessage) {
        let mut state = self.state();
        match beginning {
            ServerMessage::Broken(BrokenMessage::Response) if !state.awaited.is_empty() => {
                state.lost.get_or_insert(McpErrorKind::OversizedMessage);
            }
            _ => state.log_lines += 1,
        }
    }

    /// Returns the whole response to a request, once.
    pub(super) fn answer(&self, id: i64) -> Option<Json> {
        self.state().answers.remove(&id)
    }

    fn send(&self, mut message: ClientJsonRpcMessage, first_id: i64) -> io::Result<()> {
        let mut flight = None;
        match &mut message {
            ClientJsonRpcMessage::Request(request) => {
                shift(&mut request.id, first_id);
                let mut state = self.state();
                state.method = Some(request.request.method().to_owned());
                if let RequestId::Number(id) = request.id {
                    state.last_id = id;
                    state.awaited.insert(id);
                    if matches!(request.request, ClientRequest::InitializeRequest(_)) {
                        state.initialize_id = Some(id);
                    }
                    if let Some(sent) = request.request.extensions().get::<Arc<Flight>>().cloned() {
                        state.flights.insert(id, sent.clone());
                        let token = request.request.get_meta().get_progress_token();
                        let note =
                            SentRequest { id: Some(id), token, message: None, messages: state.messages };
                        flight = Some((sent, note, state.is_late()));
                    }
                }
            }
            ClientJsonRpcMessage::Notification(notification) => {
                {
                    let mut state = self.state();
                    let before = state.last_id;
                    state.notified.push(before);
                }
                if let ClientNotification::CancelledNotification(cancelled) = &mut notification.notification
                    && let Some(id) = &mut cancelled.params.request_id
                {
                    shift(id, first_id);
                }
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => self.state().replied(),
        }
        let mut line = serde_json::to_vec(&message)?;
        if let Some((flight, note, is_late)) = flight {
            let message = Json::parse_bytes(&line, Dialect::Lenient).unwrap_or_default();
            line = flight.send(message, note, is_late).to_compact().into_bytes();
        }
        line.push(b'\n');
        self.outgoing.send(line).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Converts a message for the SDK.
    fn read(&self, message: &Json, first_id: i64) -> Option<ServerJsonRpcMessage> {
        let mut value = message.to_serde();
        let is_response = value.get("method").is_none();
        if is_response {
            let id = value.get("id").and_then(Value::as_i64)?;
            if self.state().initialize_id == Some(id) {
                complete_initialize(&mut value);
            }
            value["id"] = Value::from(id - first_id);
        }
        let id = value.get("id").cloned();
        match serde_json::from_value(value) {
            Ok(message) => Some(message),
            // The request must not wait forever. The original response is among the answers.
            Err(_) if is_response => {
                let error =
                    serde_json::json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": ""}});
                serde_json::from_value(error).ok()
            }
            Err(_) => {
                self.state().replied();
                None
            }
        }
    }
}

/// Shifts an id. The SDK counts ids from 0, which some servers treat as missing.
fn shift(id: &mut RequestId, by: i64) {
    if let RequestId::Number(id) = id {
        *id = id.saturating_add(by);
    }
}

/// Adds members that a server omitted from its answer to `initialize` and that are not needed.
fn complete_initialize(response: &mut Value) {
    let Some(Value::Object(result)) = response.get_mut("result") else {
        return;
    };
    result.entry("protocolVersion").or_insert_with(|| Value::from(UNNAMED_VERSION));
    if !result.get("capabilities").is_some_and(Value::is_object) {
        result.insert("capabilities".to_owned(), serde_json::json!({}));
    }
    let named = |key: &str| {
        let text = result.get("serverInfo").and_then(|server| server.get(key)).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let server = serde_json::json!({"name": named("name"), "version": named("version")});
    result.insert("serverInfo".to_owned(), server);
    // Keeps only the members that are used, because the SDK could reject others.
    result.retain(|key, _| matches!(key.as_str(), "protocolVersion" | "capabilities" | "serverInfo"));
}

/// One attempt of the SDK to use the link.
pub(super) struct LineTransport {
    link: Arc<Link>,
    first_id: i64,
}

impl LineTransport {
    /// Starts after all ids that were used before.
    pub(super) fn new(link: Arc<Link>) -> LineTransport {
        let first_id = link.state().last_id + 1;
        LineTransport { link, first_id }
    }

    /// Returns the id that the server sees for the SDK's id 0.
    pub(super) fn first_id(&self) -> i64 {
        self.first_id
    }
}

impl Transport<RoleClient> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        std::future::ready(self.link.send(item, self.first_id))
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let mut incoming = self.link.incoming.lock().await;
        loop {
            let message = incoming.recv().await?;
            if let Some(message) = self.link.read(&message, self.first_id) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(notified: &[i64], last_id: i64, responses: &[Option<i64>], expect: &[Option<i64>]) {
        let mut state =
            ConversationState { notified: notified.to_vec(), last_id, ..ConversationState::default() };
        let found: Vec<Option<i64>> = responses.iter().map(|id| state.answered(*id, None)).collect();
        assert_eq!(found, expect, "{notified:?} {last_id} {responses:?}");
    }

    #[test]
    fn an_error_without_an_id_settles_a_notification() {
        check(&[], 2, &[None], &[Some(2)]);
        check(&[1], 2, &[None], &[None]);
        check(&[1], 2, &[None, None], &[None, Some(2)]);
        check(&[1], 2, &[None, Some(2), None], &[None, Some(2), Some(2)]);
    }

    #[test]
    fn a_response_settles_all_earlier_notifications() {
        check(&[1], 3, &[Some(2), None], &[Some(2), Some(3)]);
        check(&[1, 2], 3, &[Some(2), None, None], &[Some(2), None, Some(3)]);
        check(&[1], 1, &[Some(1), None], &[Some(1), None]);
    }

    #[test]
    fn late_unknown_method_errors_are_for_notifications() {
        let mut state = ConversationState { notified: vec![1], last_id: 3, ..ConversationState::default() };
        assert_eq!(state.answered(Some(2), None), Some(2));
        assert_eq!(state.answered(None, Some(METHOD_NOT_FOUND)), None);
        assert_eq!(state.answered(None, Some(METHOD_NOT_FOUND)), Some(3), "one error for one notification");
    }

    /// A client with this id, if any of its calls may get messages about all of its calls.
    struct Client(Option<&'static str>);

    impl Requester for Client {
        fn capabilities(&self) -> Json {
            Json::Null
        }

        fn client(&self) -> Option<String> {
            self.0.map(str::to_owned)
        }

        fn hear(&self, _: McpLog) {}

        fn log_level(&self) -> Option<String> {
            None
        }

        fn ask(&self, _: Vec<(Question, Reply)>) {}
    }

    /// Checks which call gets a message with this `_meta` while these calls are open.
    #[track_caller]
    fn check_target(
        flights: &[(i64, Option<&'static str>)],
        left: &[Option<&str>],
        meta: &str,
        expect: Option<i64>,
    ) {
        let clients: BTreeMap<i64, Arc<dyn Requester>> = flights
            .iter()
            .map(|(id, client)| (*id, Arc::new(Client(*client)) as Arc<dyn Requester>))
            .collect();
        let mut state = ConversationState::default();
        for (id, client) in &clients {
            let flight = Flight::call("x", &Json::Null).asked_by(Some(client.clone()));
            let token = serde_json::from_value(serde_json::json!(id)).ok();
            flight.send(
                Json::object::<&str>([]),
                SentRequest { id: Some(*id), token, ..SentRequest::default() },
                false,
            );
            state.flights.insert(*id, Arc::new(flight));
        }
        // This request is never answered and is not a call.
        state.flights.insert(90, Arc::new(Flight::new("subscriptions/listen", Json::Null)));
        state.left = (0..).zip(left).map(|(id, client)| (id, client.map(str::to_owned))).collect();
        let params = Json::object([("_meta", Json::parse(meta).unwrap())]);
        let found = match state.target(Some(&params)) {
            MessageTarget::Client(found) => {
                clients.iter().find(|(_, client)| Arc::ptr_eq(client, &found)).map(|(id, _)| *id)
            }
            MessageTarget::Unclear | MessageTarget::Nobody => None,
        };
        assert_eq!(found, expect, "{flights:?} {left:?} {meta}");
    }

    /// Issue 14: a question or log message of one session's call was sent to another session.
    #[test]
    fn messages_reach_only_the_client_of_their_call() {
        let (a, b) = (Some("a"), Some("b"));
        check_target(&[], &[], "{}", None);
        // The only call, including one of a client without an id.
        check_target(&[(1, a)], &[], "{}", Some(1));
        check_target(&[(1, None)], &[], "{}", Some(1));
        // Several calls of one client, and of several clients.
        check_target(&[(1, a), (2, a)], &[], "{}", Some(2));
        check_target(&[(1, a), (2, b)], &[], "{}", None);
        check_target(&[(1, None), (2, None)], &[], "{}", None);
        // The server may still work on a call that was cancelled.
        check_target(&[(1, a)], &[b], "{}", None);
        check_target(&[(1, None)], &[None], "{}", None);
        check_target(&[(1, a)], &[a], "{}", Some(1));
        // A call that is named by its request or its token.
        check_target(&[(1, a), (2, b)], &[b], r#"{"relatedRequestId": 1}"#, Some(1));
        check_target(
            &[(1, a), (2, b)],
            &[],
            r#"{"io.modelcontextprotocol/related-request-id": "2"}"#,
            Some(2),
        );
        check_target(&[(1, a), (2, b)], &[], r#"{"progressToken": 1}"#, Some(1));
        // The named call has ended, and no other client gets the message.
        check_target(&[(2, b)], &[], r#"{"relatedRequestId": 1}"#, None);
        check_target(&[(2, b)], &[], r#"{"progressToken": 1}"#, None);
    }

    /// Issue 14: log messages after an answer were sent to the next session.
    #[test]
    fn late_log_messages_stay_in_their_session() {
        let mut state = ConversationState::default();
        let send = |state: &mut ConversationState, id: i64, session: &'static str| {
            let flight = Flight::call("x", &Json::Null).asked_by(Some(Arc::new(Client(Some(session)))));
            (state.last_id, _) = (id, state.flights.insert(id, Arc::new(flight)));
        };
        let log_target = |state: &ConversationState, meta: &str| {
            let params = Json::object([("_meta", Json::parse(meta).unwrap())]);
            match state.log_target(Some(&params)) {
                MessageTarget::Client(client) => client.session(),
                MessageTarget::Unclear | MessageTarget::Nobody => None,
            }
        };
        let (a, b) = (Some("a".to_owned()), Some("b".to_owned()));
        send(&mut state, 1, "a");
        state.done(1);
        send(&mut state, 2, "a");
        assert_eq!(log_target(&state, "{}"), a);
        state.done(2);
        send(&mut state, 3, "b");
        assert_eq!(log_target(&state, "{}"), None);
        assert_eq!(log_target(&state, r#"{"relatedRequestId": 3}"#), b);
        // The server has answered a later request.
        state.done(3);
        send(&mut state, 4, "b");
        assert_eq!(log_target(&state, "{}"), b);
    }
}
