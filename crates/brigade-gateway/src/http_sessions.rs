//! Keeps sessions of HTTP clients between their requests.
//!
//! The SDK's manager runs a task per session, with five channels of 32 messages each. They are most of the memory of an
//! idle session. Here a session holds only the messages that the server has not taken yet, and the ends of open
//! streams. Messages of the server go straight into these streams.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, GetExtensions as _, GetMeta as _, ProgressToken, RequestId,
    ServerJsonRpcMessage, ServerNotification,
};
use rmcp::service::OriginatingRequestId;
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Notify, oneshot};

use crate::upstream::random_name;

/// How long a session is kept without a message.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// How many messages of a client wait for the server.
const MAX_WAITING_MESSAGES: usize = 16;

/// How many events of a stream are kept for a slow or returning client.
const MAX_KEPT_EVENTS: usize = 16;

/// How many more streams without a request a session has after the first.
const SPARE: usize = 32;

/// How soon a client reconnects if its stream breaks.
const RETRY: Duration = Duration::from_secs(3);

/// All sessions.
#[derive(Default)]
pub(crate) struct HttpSessions {
    sessions: Mutex<HashMap<SessionId, Arc<StoredSession>>>,
}

/// Why an operation on a session failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionError {
    /// It has ended, or never existed.
    Gone,
    /// It has no such event.
    NoEvent,
    /// The system has no random numbers for its id.
    NoName,
}

impl std::fmt::Display for SessionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SessionError::Gone => "the session has ended",
            SessionError::NoEvent => "the session has no such event",
            SessionError::NoName => "the system gives no random numbers",
        })
    }
}

impl std::error::Error for SessionError {}

/// One session.
struct StoredSession {
    state: Mutex<State>,
    idle: Duration,
    /// Notified when a message for the server arrives or the session ends.
    arrived: Notify,
    /// Notified when the server takes a message.
    taken: Notify,
}

struct State {
    /// Messages of the client that the server has not taken.
    incoming: VecDeque<ClientJsonRpcMessage>,
    /// Receives the answer to the handshake.
    greeted: Option<oneshot::Sender<ServerJsonRpcMessage>>,
    /// The requests without an answer.
    open: Vec<OpenRequest>,
    /// The stream of messages that belong to no request.
    common: Outlet,
    /// Further streams of the client. They stay open and empty, because the client would reopen closed ones.
    spare: VecDeque<Sender<ServerSseMessage>>,
    next_stream: u64,
    used: Instant,
    is_over: bool,
}

/// A request with its stream.
struct OpenRequest {
    stream: u64,
    request: RequestId,
    token: Option<ProgressToken>,
    outlet: Outlet,
}

/// The end of a stream to the client, and its last events for a client that comes back.
#[derive(Default)]
struct Outlet {
    to_client: Option<Sender<ServerSseMessage>>,
    last: VecDeque<ServerSseMessage>,
    /// The number of events so far.
    count: u64,
    /// How many of them were passed to a client.
    handed: u64,
}

impl Outlet {
    fn is_read(&self) -> bool {
        self.to_client.as_ref().is_some_and(|to_client| !to_client.is_closed())
    }

    /// Numbers an event from 1, and keeps it. Returns the event with the stream it goes into now.
    fn add(&mut self, stream: Option<u64>, mut event: ServerSseMessage) -> Option<PendingEvent> {
        self.count += 1;
        event.event_id = Some(event_id(self.count, stream));
        if MAX_KEPT_EVENTS <= self.last.len() {
            self.last.pop_front();
        }
        self.last.push_back(event.clone());
        let to_client = self.to_client.clone().filter(|to_client| !to_client.is_closed())?;
        self.handed = self.count;
        Some((to_client, event))
    }

    /// Begins a new stream with the kept events after `number`.
    fn read_after(&mut self, number: u64) -> Receiver<ServerSseMessage> {
        let (to_client, events) = channel(MAX_KEPT_EVENTS);
        let first = self.count - self.last.len() as u64;
        let missed = usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX);
        for event in self.last.iter().skip(missed) {
            // The channel has room for all kept events.
            let _ = to_client.try_send(event.clone());
        }
        self.handed = self.count;
        self.to_client = Some(to_client);
        events
    }
}

/// An event on its way into a stream.
type PendingEvent = (Sender<ServerSseMessage>, ServerSseMessage);

fn event_id(number: u64, stream: Option<u64>) -> String {
    match stream {
        Some(stream) => format!("{number}/{stream}"),
        None => number.to_string(),
    }
}

/// Parses an id that [`event_id`] wrote.
fn read_event_id(text: &str) -> Option<(u64, Option<u64>)> {
    match text.split_once('/') {
        Some((number, stream)) => Some((number.parse().ok()?, Some(stream.parse().ok()?))),
        None => Some((text.parse().ok()?, None)),
    }
}

/// Events of one stream, until it ends.
pub(crate) struct Events(Receiver<ServerSseMessage>);

impl Stream for Events {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        self.0.poll_recv(context)
    }
}

impl State {
    /// Chooses the stream for a message of the server.
    fn route(&mut self, message: ServerJsonRpcMessage) -> Option<PendingEvent> {
        let place_of =
            |open: &[OpenRequest], is_its: &dyn Fn(&OpenRequest) -> bool| open.iter().position(is_its);
        let place = match &message {
            ServerJsonRpcMessage::Response(answer) => {
                return self.answer(Some(&answer.id.clone()), message);
            }
            ServerJsonRpcMessage::Error(answer) => return self.answer(answer.id.clone().as_ref(), message),
            ServerJsonRpcMessage::Request(message) => {
                let origin = message.request.extensions().get::<OriginatingRequestId>();
                origin.and_then(|origin| place_of(&self.open, &|open| open.request == origin.0))
            }
            ServerJsonRpcMessage::Notification(message) => match &message.notification {
                ServerNotification::ProgressNotification(notification) => place_of(&self.open, &|open| {
                    open.token.as_ref() == Some(&notification.params.progress_token)
                }),
                ServerNotification::CancelledNotification(notification) => {
                    let request = notification.params.request_id.as_ref();
                    place_of(&self.open, &|open| request == Some(&open.request))
                }
                _ => None,
            },
        };
        let event = ServerSseMessage::from_message(message);
        match place.map(|place| &mut self.open[place]) {
            Some(open) => open.outlet.add(Some(open.stream), event),
            None => self.common.add(None, event),
        }
    }

    /// Ends the stream of a request with its answer. An answer without a waiting request is dropped.
    fn answer(&mut self, id: Option<&RequestId>, message: ServerJsonRpcMessage) -> Option<PendingEvent> {
        let Some(id) = id else { return self.common.add(None, ServerSseMessage::from_message(message)) };
        let mut open = self.close(id)?;
        open.outlet.add(Some(open.stream), ServerSseMessage::from_message(message))
    }

    /// Ends the stream of a request.
    fn close(&mut self, id: &RequestId) -> Option<OpenRequest> {
        let place = self.open.iter().position(|open| open.request == *id)?;
        let open = self.open.swap_remove(place);
        // Many requests at once are rare, and sessions without any are many.
        if self.open.is_empty() {
            self.open = Vec::new();
        }
        Some(open)
    }
}

impl StoredSession {
    fn new(idle: Duration) -> StoredSession {
        let state = State {
            incoming: VecDeque::new(),
            greeted: None,
            open: Vec::new(),
            common: Outlet::default(),
            spare: VecDeque::new(),
            next_stream: 0,
            used: Instant::now(),
            is_over: false,
        };
        StoredSession { state: Mutex::new(state), idle, arrived: Notify::new(), taken: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a message of the client to the server, once there is room. Calls `enter` with the session first.
    async fn push<T>(
        &self,
        message: ClientJsonRpcMessage,
        enter: impl FnOnce(&mut State, &ClientJsonRpcMessage) -> T,
    ) -> Result<T, SessionError> {
        loop {
            {
                let mut state = self.state();
                if state.is_over {
                    return Err(SessionError::Gone);
                }
                if state.incoming.len() < MAX_WAITING_MESSAGES {
                    let entered = enter(&mut state, &message);
                    state.used = Instant::now();
                    state.incoming.push_back(message);
                    drop(state);
                    self.arrived.notify_one();
                    return Ok(entered);
                }
            }
            self.taken.notified().await;
        }
    }

    /// Waits for the next message of the client. `None` when the session has ended.
    async fn next(&self) -> Option<ClientJsonRpcMessage> {
        loop {
            let until = {
                let mut state = self.state();
                if let Some(message) = state.incoming.pop_front() {
                    if state.incoming.is_empty() {
                        state.incoming = VecDeque::new();
                    }
                    drop(state);
                    self.taken.notify_one();
                    return Some(message);
                }
                // A session with an open request is not idle.
                let is_idle = state.open.is_empty() && self.idle <= state.used.elapsed();
                if state.is_over || is_idle {
                    drop(state);
                    self.end();
                    return None;
                }
                if state.open.is_empty() { state.used + self.idle } else { Instant::now() + self.idle }
            };
            tokio::select! {
                () = self.arrived.notified() => {}
                () = tokio::time::sleep_until(until.into()) => {}
            }
        }
    }

    /// Ends the session and all of its streams.
    fn end(&self) {
        {
            let mut state = self.state();
            state.is_over = true;
            state.incoming.clear();
            (state.greeted, state.open, state.common) = (None, Vec::new(), Outlet::default());
            state.spare.clear();
        }
        self.arrived.notify_one();
        self.taken.notify_waiters();
    }

    /// Accepts a message of the server. Returns it as an event with its stream, if one is open.
    fn send(&self, message: ServerJsonRpcMessage) -> Result<Option<PendingEvent>, SessionError> {
        let mut state = self.state();
        if state.is_over {
            return Err(SessionError::Gone);
        }
        state.used = Instant::now();
        match state.greeted.take() {
            Some(greeted) => greeted.send(message).map(|()| None).map_err(|_| SessionError::Gone),
            None => Ok(state.route(message)),
        }
    }

    /// Begins a stream without a request, with the events after `after` or the events not read yet.
    fn stream(&self, after: Option<u64>) -> Result<Events, SessionError> {
        let mut state = self.state();
        if state.is_over {
            return Err(SessionError::Gone);
        }
        state.used = Instant::now();
        if state.common.is_read() {
            let (to_client, events) = channel(1);
            state.spare.retain(|spare| !spare.is_closed());
            if SPARE <= state.spare.len() {
                state.spare.pop_front();
            }
            state.spare.push_back(to_client);
            return Ok(Events(events));
        }
        let after = after.unwrap_or(state.common.handed);
        if state.common.count < after {
            return Err(SessionError::NoEvent);
        }
        Ok(Events(state.common.read_after(after)))
    }
}

impl HttpSessions {
    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<StoredSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self, id: &SessionId) -> Result<Arc<StoredSession>, SessionError> {
        self.sessions().get(id).cloned().ok_or(SessionError::Gone)
    }

    /// Ends a session.
    pub(crate) fn end(&self, id: &str) {
        let removed = self.sessions().remove(id);
        if let Some(kept) = removed {
            kept.end();
        }
    }

    /// Returns whether the session exists.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.sessions().contains_key(id)
    }
}

/// The server's side of a session.
pub(crate) struct ServerSide(Arc<StoredSession>);

impl Transport<RoleServer> for ServerSide {
    type Error = SessionError;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), SessionError>> + Send + 'static {
        let sending = self.0.send(crate::message::normalize_refusal(message));
        async move {
            if let Some((to_client, event)) = sending? {
                // A disconnected client may come back for it.
                let _ = to_client.send(event).await;
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.0.next().await
    }

    async fn close(&mut self) -> Result<(), SessionError> {
        self.0.end();
        Ok(())
    }
}

impl SessionManager for HttpSessions {
    type Error = SessionError;
    type Transport = ServerSide;

    async fn create_session(&self) -> Result<(SessionId, ServerSide), SessionError> {
        let id: SessionId = random_name().ok_or(SessionError::NoName)?.into();
        let kept = Arc::new(StoredSession::new(IDLE_TIMEOUT));
        self.sessions().insert(id.clone(), kept.clone());
        Ok((id, ServerSide(kept)))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        let (greeted, greeting) = oneshot::channel();
        self.session(id)?.push(message, |state, _| state.greeted = Some(greeted)).await?;
        greeting.await.map_err(|_| SessionError::Gone)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(self.has(id))
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        self.end(id);
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let open = |state: &mut State, message: &ClientJsonRpcMessage| {
            let (to_client, events) = channel(MAX_KEPT_EVENTS);
            if let ClientJsonRpcMessage::Request(sent) = message {
                let (stream, request) = (state.next_stream, sent.id.clone());
                state.next_stream += 1;
                let mut first = ServerSseMessage::retry(RETRY);
                first.event_id = Some(event_id(0, Some(stream)));
                // The stream is new, so there is room.
                let _ = to_client.try_send(first);
                let token = sent.request.get_meta().get_progress_token();
                let outlet = Outlet { to_client: Some(to_client), ..Outlet::default() };
                state.open.push(OpenRequest { stream, request, token, outlet });
            }
            Events(events)
        };
        self.session(id)?.push(message, open).await
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionError> {
        let enter = |state: &mut State, message: &ClientJsonRpcMessage| {
            // A request that is cancelled gets no answer.
            if let ClientJsonRpcMessage::Notification(sent) = message
                && let ClientNotification::CancelledNotification(notification) = &sent.notification
                && let Some(request) = &notification.params.request_id
            {
                drop(state.close(request));
            }
        };
        self.session(id)?.push(message, enter).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        self.session(id)?.stream(None)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let (number, stream) = read_event_id(&last_event_id).ok_or(SessionError::NoEvent)?;
        let kept = self.session(id)?;
        let Some(stream) = stream else { return kept.stream(Some(number)) };
        let mut state = kept.state();
        let open = state.open.iter_mut().find(|open| open.stream == stream).ok_or(SessionError::NoEvent)?;
        if open.outlet.count < number {
            return Err(SessionError::NoEvent);
        }
        let events = Events(open.outlet.read_after(number));
        state.used = Instant::now();
        Ok(events)
    }
}

#[cfg(test)]
mod tests;
