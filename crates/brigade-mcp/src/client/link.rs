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
    pub(super) heard: u64,
    answers: HashMap<i64, Json>,
    /// Notifications that the server may still answer with an error. For each, the last request before it.
    notified: Vec<i64>,
    /// The number of other notifications, which no error can refer to.
    settled: usize,
    /// The open requests of the server, and the total bytes of its requests since none were open.
    asked: (usize, usize),
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
    pub(super) fn unasked_since(&self, start: Instant) -> Option<Instant> {
        (self.asked.0 == 0).then(|| self.replied_at.map_or(start, |at| at.max(start)))
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
    fn meant(&self, params: Option<&Json>) -> MessageTarget {
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
            let its = |flight: &&Arc<Flight>| {
                let known = flight.sent().token.and_then(|token| serde_json::to_string(&token).ok());
                known.as_ref() == Some(&token)
            };
            return self
                .flights
                .values()
                .find(its)
                .map_or(MessageTarget::Unclear, MessageTarget::from_flight);
        }
        let spoken_of = || self.flights.values().filter(|flight| flight.may_be_spoken_of());
        let Some(last) = spoken_of().next_back() else { return MessageTarget::Nobody };
        let client = last.client();
        let is_its = |other: &Option<String>| other.is_some() && *other == client;
        let is_alone = spoken_of().count() == 1 && self.left.is_empty();
        let is_of_one =
            || spoken_of().all(|flight| is_its(&flight.client())) && self.left.values().all(is_its);
        if is_alone || is_of_one() { MessageTarget::from_flight(last) } else { MessageTarget::Unclear }
    }

    /// Returns who receives a log message: as for any message, unless it may be about an answered call of another
    /// session.
    fn hears(&self, params: Option<&Json>) -> MessageTarget {
        let meant = self.meant(params);
        let MessageTarget::Client(requester) = &meant else { return meant };
        let names_call = || {
            let meta = params.and_then(|params| params.get("_meta"));
            let names = ["io.modelcontextprotocol/related-request-id", "relatedRequestId", "progressToken"];
            names.iter().any(|name| meta.is_some_and(|meta| meta.get(name).is_some()))
        };
        let session = requester.session();
        let is_of_another = self.done.iter().any(|(its, _)| Some(its) != session.as_ref());
        if is_of_another && !names_call() { MessageTarget::Unclear } else { meant }
    }

    /// Records the answer to a request.
    fn done(&mut self, id: i64) {
        self.done.retain(|(_, last)| id <= *last);
        let flight = self.flights.remove(&id).filter(|flight| flight.may_be_spoken_of());
        if let Some(session) = flight.and_then(|flight| flight.session()) {
            self.done.retain(|(its, _)| *its != session);
            self.done.push((session, self.last_id));
        }
    }

    fn replied(&mut self) {
        let left = self.asked.0.saturating_sub(1);
        self.asked = (left, if left == 0 { 0 } else { self.asked.1 });
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
    known: Mutex<ConversationState>,
    outgoing: UnboundedSender<Vec<u8>>,
    incoming: tokio::sync::Mutex<UnboundedReceiver<Json>>,
}

impl Link {
    pub(super) fn new(outgoing: UnboundedSender<Vec<u8>>, incoming: UnboundedReceiver<Json>) -> Link {
        Link { known: Mutex::default(), outgoing, incoming: tokio::sync::Mutex::new(incoming) }
    }

    pub(super) fn known(&self) -> MutexGuard<'_, ConversationState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether reading must stop because too many requests of the server wait for a reply.
    pub(super) fn is_stuffed(&self) -> bool {
        let (requests, bytes) = self.known().asked;
        MAX_OPEN_REQUESTS < requests || MAX_OPEN_REQUEST_BYTES < bytes
    }

    /// Drops all open requests of the server, which get no reply any more.
    pub(super) fn forget_asked(&self) {
        self.known().asked = (0, 0);
    }

    /// Records a message that arrived in a line of this length. Returns the message that the SDK must see.
    pub(super) fn note(self: &Arc<Link>, received: ServerMessage, length: usize) -> Option<Json> {
        let mut known = self.known();
        known.heard += u64::from(!matches!(received, ServerMessage::Log));
        match received {
            ServerMessage::Response { id, message } => {
                let code = message.get("error").and_then(|error| error.get("code")).and_then(Json::as_i64);
                let id = known.answered(id, code)?;
                known.responses += 1;
                known.left.remove(&id);
                if !known.awaited.remove(&id) {
                    return None;
                }
                known.done(id);
                known.answers.insert(id, message.clone());
                let mut members = message.as_object()?.clone();
                members.insert("id".to_owned(), Json::from(id));
                Some(Json::Object(members))
            }
            ServerMessage::Other(message) if message.get("id").is_none() => {
                drop(known);
                self.hear(&message);
                None
            }
            ServerMessage::Other(message) => {
                let (requests, bytes) = known.asked;
                known.asked = (requests + 1, bytes.saturating_add(length));
                drop(known);
                self.question(message)
            }
            ServerMessage::Broken(BrokenMessage::Response) if !known.awaited.is_empty() => {
                known.lost.get_or_insert(McpErrorKind::MalformedMessage);
                None
            }
            ServerMessage::Broken(_) | ServerMessage::Log => {
                known.log_lines += 1;
                None
            }
        }
    }

    /// Handles a notification.
    fn hear(&self, message: &Json) {
        let params = message.get("params");
        match message.get("method").and_then(Json::as_str) {
            Some("notifications/progress") => self.progress(message),
            Some("notifications/tools/list_changed") => self.known().changes += 1,
            Some("notifications/resources/list_changed" | "notifications/prompts/list_changed") => {
                self.known().offer_changes += 1;
            }
            Some("notifications/message") => {
                let member = |name: &str| params.and_then(|params| params.get(name));
                let text = |name: &str| member(name).and_then(Json::as_str).map(str::to_owned);
                let meant = self.known().hears(params);
                if let (MessageTarget::Client(requester), Some(level)) = (meant, text("level")) {
                    let data = member("data").cloned().unwrap_or_default();
                    requester.hear(McpLog { level, logger: text("logger"), data });
                }
            }
            _ => {}
        }
    }

    /// Passes on a progress report.
    fn progress(&self, message: &Json) {
        let Ok(told) = serde_json::from_value::<ProgressNotification>(message.to_serde()) else { return };
        let told = told.params;
        let is_its = |flight: &&Arc<Flight>| flight.sent().token.as_ref() == Some(&told.progress_token);
        let flight = self.known().flights.values().find(is_its).cloned();
        flight.iter().for_each(|flight| flight.note_progress());
        if let Some(listener) = flight.as_ref().and_then(|flight| flight.listener()) {
            listener.hear(McpProgress { progress: told.progress, total: told.total, message: told.message });
        }
    }

    /// Passes a question to the caller of the call. Returns the message that the SDK must reply to.
    fn question(self: &Arc<Link>, message: Json) -> Option<Json> {
        let method = message.get("method").and_then(Json::as_str).unwrap_or_default();
        let Some(kind) = QuestionKind::of_method(method) else { return Some(message) };
        let params = message.get("params");
        let meant = self.known().meant(params);
        if matches!(meant, MessageTarget::Nobody) {
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
            link.known().replied();
            link.write(&reply);
        });
        let key = message.get("id").map(Json::to_compact).unwrap_or_default();
        match meant {
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
        let mut known = self.known();
        known.answers.remove(&id);
        if !known.awaited.remove(&id) {
            return;
        }
        if let Some(flight) = known.flights.remove(&id).filter(|flight| flight.may_be_spoken_of()) {
            known.left.insert(id, flight.client());
        }
        let before = known.last_id;
        known.notified.push(before);
        drop(known);
        let params = Json::object([("requestId", Json::from(id)), ("reason", Json::from(reason))]);
        self.write(&Json::object([
            ("jsonrpc", Json::from("2.0")),
            ("method", Json::from("notifications/cancelled")),
            ("params", params),
        ]));
    }

    /// Records a line that was too long to be read.
    pub(super) fn note_oversized(&self, beginning: ServerMessage) {
        let mut known = self.known();
        match beginning {
            ServerMessage::Broken(BrokenMessage::Response) if !known.awaited.is_empty() => {
                known.lost.get_or_insert(McpErrorKind::OversizedMessage);
            }
            _ => known.log_lines += 1,
        }
    }

    /// Returns the whole response to a request, once.
    pub(super) fn answer(&self, id: i64) -> Option<Json> {
        self.known().answers.remove(&id)
    }

    fn send(&self, mut message: ClientJsonRpcMessage, first_id: i64) -> io::Result<()> {
        let mut flight = None;
        match &mut message {
            ClientJsonRpcMessage::Request(request) => {
                shift(&mut request.id, first_id);
                let mut known = self.known();
                known.method = Some(request.request.method().to_owned());
                if let RequestId::Number(id) = request.id {
                    known.last_id = id;
                    known.awaited.insert(id);
                    if matches!(request.request, ClientRequest::InitializeRequest(_)) {
                        known.initialize_id = Some(id);
                    }
                    if let Some(sent) = request.request.extensions().get::<Arc<Flight>>().cloned() {
                        known.flights.insert(id, sent.clone());
                        let token = request.request.get_meta().get_progress_token();
                        let note = SentRequest { id: Some(id), token, message: None, heard: known.heard };
                        flight = Some((sent, note, known.is_late()));
                    }
                }
            }
            ClientJsonRpcMessage::Notification(notification) => {
                {
                    let mut known = self.known();
                    let before = known.last_id;
                    known.notified.push(before);
                }
                if let ClientNotification::CancelledNotification(cancelled) = &mut notification.notification
                    && let Some(id) = &mut cancelled.params.request_id
                {
                    shift(id, first_id);
                }
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => self.known().replied(),
        }
        let mut line = serde_json::to_vec(&message)?;
        if let Some((flight, note, is_late)) = flight {
            let theirs = Json::parse_bytes(&line, Dialect::Lenient).unwrap_or_default();
            line = flight.send(theirs, note, is_late).to_compact().into_bytes();
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
            if self.known().initialize_id == Some(id) {
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
                self.known().replied();
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
        let first_id = link.known().last_id + 1;
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
        let mut known =
            ConversationState { notified: notified.to_vec(), last_id, ..ConversationState::default() };
        let found: Vec<Option<i64>> = responses.iter().map(|id| known.answered(*id, None)).collect();
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
        let mut known = ConversationState { notified: vec![1], last_id: 3, ..ConversationState::default() };
        assert_eq!(known.answered(Some(2), None), Some(2));
        assert_eq!(known.answered(None, Some(METHOD_NOT_FOUND)), None);
        assert_eq!(known.answered(None, Some(METHOD_NOT_FOUND)), Some(3), "one error for one notification");
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
    fn check_meant(
        flights: &[(i64, Option<&'static str>)],
        left: &[Option<&str>],
        meta: &str,
        expect: Option<i64>,
    ) {
        let clients: BTreeMap<i64, Arc<dyn Requester>> = flights
            .iter()
            .map(|(id, client)| (*id, Arc::new(Client(*client)) as Arc<dyn Requester>))
            .collect();
        let mut known = ConversationState::default();
        for (id, client) in &clients {
            let flight = Flight::call("x", &Json::Null).asked_by(Some(client.clone()));
            let token = serde_json::from_value(serde_json::json!(id)).ok();
            flight.send(
                Json::object::<&str>([]),
                SentRequest { id: Some(*id), token, ..SentRequest::default() },
                false,
            );
            known.flights.insert(*id, Arc::new(flight));
        }
        // This request is never answered and is not a call.
        known.flights.insert(90, Arc::new(Flight::new("subscriptions/listen", Json::Null)));
        known.left = (0..).zip(left).map(|(id, client)| (id, client.map(str::to_owned))).collect();
        let params = Json::object([("_meta", Json::parse(meta).unwrap())]);
        let found = match known.meant(Some(&params)) {
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
        check_meant(&[], &[], "{}", None);
        // The only call, including one of a client without an id.
        check_meant(&[(1, a)], &[], "{}", Some(1));
        check_meant(&[(1, None)], &[], "{}", Some(1));
        // Several calls of one client, and of several clients.
        check_meant(&[(1, a), (2, a)], &[], "{}", Some(2));
        check_meant(&[(1, a), (2, b)], &[], "{}", None);
        check_meant(&[(1, None), (2, None)], &[], "{}", None);
        // The server may still work on a call that was cancelled.
        check_meant(&[(1, a)], &[b], "{}", None);
        check_meant(&[(1, None)], &[None], "{}", None);
        check_meant(&[(1, a)], &[a], "{}", Some(1));
        // A call that is named by its request or its token.
        check_meant(&[(1, a), (2, b)], &[b], r#"{"relatedRequestId": 1}"#, Some(1));
        check_meant(
            &[(1, a), (2, b)],
            &[],
            r#"{"io.modelcontextprotocol/related-request-id": "2"}"#,
            Some(2),
        );
        check_meant(&[(1, a), (2, b)], &[], r#"{"progressToken": 1}"#, Some(1));
        // The named call has ended, and no other client gets the message.
        check_meant(&[(2, b)], &[], r#"{"relatedRequestId": 1}"#, None);
        check_meant(&[(2, b)], &[], r#"{"progressToken": 1}"#, None);
    }

    /// Issue 14: log messages after an answer were sent to the next session.
    #[test]
    fn late_log_messages_stay_in_their_session() {
        let mut known = ConversationState::default();
        let send = |known: &mut ConversationState, id: i64, session: &'static str| {
            let flight = Flight::call("x", &Json::Null).asked_by(Some(Arc::new(Client(Some(session)))));
            (known.last_id, _) = (id, known.flights.insert(id, Arc::new(flight)));
        };
        let hears = |known: &ConversationState, meta: &str| {
            let params = Json::object([("_meta", Json::parse(meta).unwrap())]);
            match known.hears(Some(&params)) {
                MessageTarget::Client(client) => client.session(),
                MessageTarget::Unclear | MessageTarget::Nobody => None,
            }
        };
        let (a, b) = (Some("a".to_owned()), Some("b".to_owned()));
        send(&mut known, 1, "a");
        known.done(1);
        send(&mut known, 2, "a");
        assert_eq!(hears(&known, "{}"), a);
        known.done(2);
        send(&mut known, 3, "b");
        assert_eq!(hears(&known, "{}"), None);
        assert_eq!(hears(&known, r#"{"relatedRequestId": 3}"#), b);
        // The server has answered a later request.
        known.done(3);
        send(&mut known, 4, "b");
        assert_eq!(hears(&known, "{}"), b);
    }
}
