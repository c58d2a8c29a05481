//! MCP over HTTP, on a loopback port or a socket of the user.
//!
//! The SDK implements the transport. This module decides first who may use it. It checks the `Host` and `Origin`
//! headers, the token, and the owner of the session before it reads a body.

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue,
    ORIGIN, WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::uri::{Authority, Uri};
use http::{Method, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OnceCell;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tower_service::Service;

use brigade::core::{Fingerprint, LoopbackHost};
use brigade::process::PeerAddress;

use crate::blocking::blocking;
use crate::gateway::Gateway;
use crate::http_accepts::{Accepts, as_json, is_stream};
use crate::http_batch;
use crate::http_sessions::HttpSessions;
use crate::message::{self, CheckedMessage, Conversation};
use crate::numbers;
use crate::open_set::{OpenEntry, OpenSet};
use crate::session::Session;

/// The only path.
const PATH: &str = "/mcp";

/// The header that names a session.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The header that names the revision of the protocol.
pub(crate) const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The first revision without sessions.
const STATELESS: &str = "2026-07-28";

/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(10);

/// The maximum length of the head of a request.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// How long a client may be silent in the middle of a body that is not read.
const BODY_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum number of unauthenticated connections.
const ENTRANTS: usize = 512;

/// The maximum number of sessions of one token. Without tokens, of one agent.
const MAX_SESSIONS: usize = 64;

/// How long the body of a request may take.
const BODY: Duration = Duration::from_secs(30);

/// The answer to connections of runs.
const OF_A_RUN: &str = "inside_a_run: a program of a run, or one that cannot be found, made this connection, and a run is not an agent";

/// Sessions by their ids.
type Sessions = HashMap<String, SessionEntry>;

/// The owner and state of a session.
#[derive(Clone)]
struct SessionEntry {
    /// The agent and token that began it.
    speaker: HttpSpeaker,
    /// The ids in use.
    conversation: Arc<Conversation>,
}

/// The agent of a request, and the SHA-256 of its token.
#[derive(Clone, PartialEq, Eq)]
struct HttpSpeaker {
    agent: Arc<str>,
    token: Option<Fingerprint>,
}

pub(crate) type Answer = Response<BoxBody<Bytes, Infallible>>;

/// The agent of a request, as it was authenticated.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) agent: Arc<str>,
    /// Whether a token named the agent.
    pub(crate) has_token: bool,
}

/// How a caller is authenticated.
pub(crate) enum Proof {
    /// By a bearer token of the configuration.
    Token,
    /// By the connection itself, which belongs to this agent.
    Connection(Arc<str>),
}

/// A connection of a client.
struct Connection {
    proof: Arc<Proof>,
    peer: PeerAddress,
    /// Known from the first request on that is authenticated.
    is_of_a_run: OnceCell<bool>,
    entrant: OpenEntry<()>,
}

impl Connection {
    /// Returns whether a program of a run made the connection.
    async fn is_of_a_run(&self, gateway: &Gateway) -> bool {
        let look = || {
            let (peer, root) = (self.peer.clone(), gateway.workspace.root().to_owned());
            blocking(move || peer.is_of_a_run(&root))
        };
        *self.is_of_a_run.get_or_init(look).await
    }
}

/// Answers requests over HTTP.
pub(crate) struct Http {
    gateway: Arc<Gateway>,
    service: StreamableHttpService<Session, HttpSessions>,
    manager: Arc<HttpSessions>,
    sessions: Mutex<Sessions>,
    /// The open streams, with their readers.
    streams: Arc<OpenSet<HttpSpeaker>>,
    /// The unauthenticated connections. Each may hold a whole head in memory.
    entrants: Arc<OpenSet<()>>,
    /// Whether it listens on an address that other machines reach. The names of such an address are unknown.
    is_outer: bool,
}

impl Http {
    pub(crate) fn new(gateway: Arc<Gateway>, stop: CancellationToken, is_outer: bool) -> Http {
        let manager = Arc::new(HttpSessions::default());
        // This module checks hosts and origins, before the token.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_cancellation_token(stop)
            .with_max_request_body_bytes(usize::MAX);
        let of_session = gateway.clone();
        let factory = move || Ok(Session::new(of_session.clone(), None));
        let service = StreamableHttpService::new(factory, manager.clone(), config);
        let (sessions, streams, entrants) = Default::default();
        Http { gateway, service, manager, sessions, streams, entrants, is_outer }
    }

    /// Serves one connection until it ends.
    pub(crate) async fn connection(
        self: Arc<Http>,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        proof: Arc<Proof>,
        peer: PeerAddress,
    ) {
        let entrant = self.entrants.add((), ENTRANTS);
        let is_pushed_out = entrant.ended().clone();
        let line = Arc::new(Connection { proof, peer, is_of_a_run: OnceCell::new(), entrant });
        let answer = service_fn(move |request| {
            let (http, line) = (self.clone(), line.clone());
            async move { Ok::<_, Infallible>(http.answer(request, &line).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(MAX_HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), answer);
        tokio::select! {
            ended = connection => if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended early");
            },
            () = is_pushed_out.cancelled() => {
                tracing::debug!("too many connections have not shown who speaks; the oldest was ended");
            }
        }
    }

    async fn answer(&self, request: Request<Incoming>, line: &Connection) -> Answer {
        match self.handle(request, line).await {
            Ok(answer) => answer,
            Err(refused) => *refused,
        }
    }

    async fn handle(&self, request: Request<Incoming>, line: &Connection) -> Result<Answer, Box<Answer>> {
        let headers = request.headers();
        self.check_site(headers, request.uri())?;
        if request.uri().path() != PATH {
            return Err(plain(StatusCode::NOT_FOUND, "the server is at /mcp"));
        }
        let speaker = self.speaker(headers, &line.proof)?;
        line.entrant.leave();
        if line.is_of_a_run(&self.gateway).await {
            return Err(plain(StatusCode::FORBIDDEN, OF_A_RUN));
        }
        if !matches!(*request.method(), Method::POST | Method::GET | Method::DELETE) {
            let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "GET, POST or DELETE");
            answer.headers_mut().insert(http::header::ALLOW, "GET, POST, DELETE".parse().expect("a value"));
            return Err(answer);
        }
        let session = match single(headers, &SESSION)? {
            None => None,
            Some(id) => Some((id.to_owned(), self.session(id, &speaker)?)),
        };
        let (mut parts, body) = request.into_parts();
        let has_token = speaker.token.is_some();
        parts.extensions.insert(Identity { agent: speaker.agent.clone(), has_token });
        let is_post = parts.method == Method::POST;
        let accepts = Accepts::from_headers(&parts.headers);
        if accepts.suffices(is_post) {
            parts.headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        }
        let bytes = if is_post { self.body(&parts, body).await? } else { Bytes::new() };
        match is_post.then(|| http_batch::messages(&bytes, &parts.headers)).flatten() {
            None => self.exchange(parts, bytes, session, (speaker, accepts)).await,
            Some(batch) => {
                let batch = batch.map_err(|refused| json(StatusCode::BAD_REQUEST, refused))?;
                let mut answers = Vec::new();
                for message in batch {
                    let (parts, session) = (parts.clone(), session.clone());
                    let one = self.exchange(parts, message, session, (speaker.clone(), Accepts::JSON));
                    let (Ok(answer) | Err(answer)) = Box::pin(one).await.map_err(|refused| *refused);
                    answers.extend(http_batch::response(answer).await);
                }
                Ok(http_batch::batch_answer(&answers, accepts))
            }
        }
    }

    /// Passes one message to the SDK, and returns its answer.
    async fn exchange(
        &self,
        mut parts: Parts,
        bytes: Bytes,
        session: Option<(String, SessionEntry)>,
        (speaker, accepts): (HttpSpeaker, Accepts),
    ) -> Result<Answer, Box<Answer>> {
        let is_post = parts.method == Method::POST;
        let conversation = session.as_ref().map(|(_, known)| known.conversation.clone());
        let (bytes, open) = match is_post {
            false => (bytes, None),
            true => self.check(&mut parts, bytes, conversation.as_deref())?,
        };
        let used = open.map(|key| RequestIdUse { key, conversation: conversation.clone() });
        let ended =
            (parts.method == Method::DELETE).then(|| session.as_ref().map(|(id, _)| id.clone())).flatten();
        let mut answer = match self.service.clone().call(Request::from_parts(parts, Full::new(bytes))).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        };
        if is_post && !accepts.streams && is_stream(&answer) {
            answer = as_json(answer).await;
        }
        if answer.status().is_client_error() {
            answer = self.masked(answer).await;
        }
        if let Some(id) = ended {
            self.sessions().remove(&id);
            // Clients that receive `202 Accepted` continue their session.
            if answer.status() == StatusCode::ACCEPTED {
                *answer.status_mut() = StatusCode::NO_CONTENT;
            }
        }
        if let Some(id) = answer.headers().get(SESSION).filter(|_| session.is_none())
            && let Ok(id) = id.to_str()
        {
            self.begin_session(id, &speaker)?;
        }
        let is_stream = answer.body().size_hint().exact().is_none();
        let ends = is_stream.then(|| self.stream_of(speaker)).flatten();
        Ok(answer.map(|body| WatchedBody { body, used, ends }.boxed()))
    }

    /// Registers a stream, and returns the handle that ends it. Without a token, no handle is needed.
    fn stream_of(&self, speaker: HttpSpeaker) -> Option<StreamEnd> {
        speaker.token?;
        let place = self.streams.add(speaker.clone(), usize::MAX);
        // The token may have been removed a moment ago.
        if !self.counts(&speaker) {
            place.ended().cancel();
        }
        Some(StreamEnd { ended: Box::pin(place.ended().clone().cancelled_owned()), _place: place })
    }

    /// Ends the streams whose token is no longer valid.
    pub(crate) fn end_streams(&self) {
        self.streams.end_unless(|speaker| self.counts(speaker));
    }

    /// Returns whether a token is still that of its agent.
    fn counts(&self, speaker: &HttpSpeaker) -> bool {
        let config = self.gateway.config();
        config.agent(&speaker.agent).is_some_and(|agent| agent.token_sha256 == speaker.token)
    }

    /// Removes quotes of the request from a refusal, and masks bound values in it.
    async fn masked(&self, answer: Answer) -> Answer {
        let (mut parts, body) = answer.into_parts();
        let Ok(collected) = body.collect().await;
        let bytes = collected.to_bytes();
        let text = match serde_json::from_slice::<Value>(&bytes) {
            Ok(mut json) => {
                if json.pointer("/error/code") == Some(&Value::from(message::NO_METHOD))
                    && let Some(text) = json.pointer_mut("/error/message")
                {
                    *text = Value::from(message::NO_SUCH_METHOD);
                }
                let is_of_headers =
                    json.pointer("/error/code").and_then(Value::as_i64).is_some_and(is_about_headers);
                if let Some(Value::String(message)) = json.pointer_mut("/error/message")
                    && is_of_headers
                {
                    *message = without_quotes(message);
                }
                json.to_string()
            }
            Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
        };
        let workspace = self.gateway.workspace.clone();
        let text = blocking(move || workspace.agent_calls().masked(&text)).await;
        parts.headers.remove(CONTENT_LENGTH);
        Response::from_parts(parts, Full::new(Bytes::from(text)).boxed())
    }

    /// Refuses requests of web pages.
    fn check_site(&self, headers: &HeaderMap, target: &Uri) -> Result<(), Box<Answer>> {
        let host = single(headers, &HOST)?;
        let host = host.ok_or_else(|| plain(StatusCode::BAD_REQUEST, "a Host is needed"))?;
        // A target may be a whole URL. Its host then replaces that of the header.
        let mut hosts = target.authority().map(Authority::as_str).into_iter().chain([host]);
        if !hosts.all(|host| LoopbackHost::parse(host).is_some()) && !self.is_outer {
            return Err(plain(StatusCode::FORBIDDEN, "this Host is not served"));
        }
        match single(headers, &ORIGIN)? {
            Some(origin) if !self.gateway.allows_origin(origin) => {
                Err(plain(StatusCode::FORBIDDEN, "this Origin is not allowed"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the agent of a request.
    fn speaker(&self, headers: &HeaderMap, proof: &Proof) -> Result<HttpSpeaker, Box<Answer>> {
        let speaker = match proof {
            Proof::Connection(agent) => return Ok(HttpSpeaker { agent: agent.clone(), token: None }),
            Proof::Token => {
                let value = single(headers, &AUTHORIZATION).ok().flatten();
                let token = value.and_then(|value| {
                    let (scheme, token) = value.split_once(' ')?;
                    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
                });
                token.and_then(|token| {
                    let agent = self.gateway.agent_of_token(token)?;
                    Some(HttpSpeaker { agent, token: Some(Fingerprint::of_bytes(token.as_bytes())) })
                })
            }
        };
        speaker.ok_or_else(|| {
            let mut answer = plain(StatusCode::UNAUTHORIZED, "a token of gateway.toml is needed");
            answer.headers_mut().insert(WWW_AUTHENTICATE, "Bearer".parse().expect("a value"));
            answer
        })
    }

    /// Returns the session if this agent began it with this token.
    fn session(&self, id: &str, speaker: &HttpSpeaker) -> Result<SessionEntry, Box<Answer>> {
        match self.sessions().get(id) {
            Some(known) if known.speaker == *speaker => Ok(known.clone()),
            _ => Err(plain(StatusCode::NOT_FOUND, "there is no such session")),
        }
    }

    /// Notes who began a session, or ends it at once if the speaker has too many.
    fn begin_session(&self, id: &str, speaker: &HttpSpeaker) -> Result<(), Box<Answer>> {
        let mut sessions = self.sessions();
        let own = sessions.iter().filter(|(id, known)| known.speaker == *speaker && self.manager.has(id));
        if MAX_SESSIONS <= own.count() {
            self.manager.end(id);
            let text = format!(
                "this token has {MAX_SESSIONS} sessions already; end one with DELETE, or wait until one was idle for \
                 half an hour"
            );
            return Err(plain(StatusCode::TOO_MANY_REQUESTS, &text));
        }
        let conversation = Arc::new(Conversation::after_handshake());
        sessions.insert(id.to_owned(), SessionEntry { speaker: speaker.clone(), conversation });
        Ok(())
    }

    /// Reads the body of a request.
    async fn body(&self, parts: &Parts, body: Incoming) -> Result<Bytes, Box<Answer>> {
        let headers = &parts.headers;
        let media = single(headers, &CONTENT_TYPE)?.unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().trim();
        if !media.eq_ignore_ascii_case("application/json") {
            return Err(plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json"));
        }
        let limit = self.gateway.max_request_bytes();
        let too_long = || plain(StatusCode::PAYLOAD_TOO_LARGE, &format!("at most {limit} bytes are read"));
        let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if length.is_some_and(|length| limit as u64 <= length && length != limit as u64) {
            // A client that sent `Expect` waits for an answer before it sends the body. Any other client may read the
            // answer only after its last byte, so the body is drained up to a limit.
            if !headers.contains_key(EXPECT) {
                tokio::spawn(tokio::time::timeout(BODY, drain(body, limit.saturating_mul(8))));
            }
            return Err(too_long());
        }
        let read = tokio::time::timeout(BODY, Limited::new(body, limit).collect());
        match read.await {
            Err(_) => Err(plain(StatusCode::REQUEST_TIMEOUT, "the body took too long")),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
            Ok(Err(_)) => Err(plain(StatusCode::BAD_REQUEST, "the body could not be read")),
            Ok(Ok(body)) => Ok(body.to_bytes()),
        }
    }

    /// Checks a message. Returns it, and the key of the id that it uses.
    fn check(
        &self,
        parts: &mut Parts,
        bytes: Bytes,
        conversation: Option<&Conversation>,
    ) -> Result<(Bytes, Option<String>), Box<Answer>> {
        let revision = single(&parts.headers, &REVISION)?;
        let bytes = message::without_null_members(&bytes).map_or(bytes, Bytes::from);
        let once = Conversation::once(revision.is_some_and(|revision| STATELESS <= revision));
        match conversation.unwrap_or(&once).check(&bytes) {
            CheckedMessage::Message(message, key) => {
                let raw = message::raw_arguments(&message);
                let is_rewritten = raw.is_some() || key.as_deref().is_some_and(message::is_marked);
                if let Some(raw) = raw {
                    parts.extensions.insert(raw);
                }
                if !is_rewritten {
                    return Ok((bytes, key));
                }
                let bytes = serde_json::to_vec(&*message).expect("a message is JSON");
                Ok((Bytes::from(bytes), key))
            }
            CheckedMessage::Answer(answer) => Err(json(StatusCode::BAD_REQUEST, answer)),
            // An unreadable notification is accepted and ignored.
            CheckedMessage::Nothing => Err(plain(StatusCode::ACCEPTED, "")),
        }
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes sessions that have ended.
    pub(crate) fn sweep(&self) {
        self.sessions().retain(|id, _| self.manager.has(id));
    }
}

/// Reads and drops a body, up to a number of bytes. Stops when the client is silent for too long.
async fn drain(mut body: Incoming, most: usize) {
    let mut read = 0;
    while read < most
        && let Ok(Some(Ok(frame))) = tokio::time::timeout(BODY_TIMEOUT, body.frame()).await
    {
        read += frame.data_ref().map_or(0, Bytes::len);
    }
}

/// Returns the only value of a header.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Box<Answer>> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(plain(StatusCode::BAD_REQUEST, &format!("two headers `{name}`")));
    }
    let text = |value: &'h HeaderValue| value.to_str();
    first.map(text).transpose().map_err(|_| plain(StatusCode::BAD_REQUEST, &format!("`{name}` is not text")))
}

/// Returns whether an error of the revision without a handshake is about headers or versions.
fn is_about_headers(code: i64) -> bool {
    (-32022..=-32020).contains(&code)
}

/// Returns a message without the parts in backticks or brackets.
fn without_quotes(message: &str) -> String {
    let mut text = String::new();
    let mut until = None;
    for c in message.chars() {
        match (until, c) {
            (Some(end), c) if c == end => until = None,
            (Some(_), _) => {}
            (None, '`') => until = Some('`'),
            (None, '(') => until = Some(')'),
            (None, c) => text.push(c),
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn plain(status: StatusCode, text: &str) -> Box<Answer> {
    let media = "text/plain; charset=utf-8";
    Box::new(answer(status, media, text.as_bytes().to_vec()))
}

pub(crate) fn json(status: StatusCode, bytes: Vec<u8>) -> Box<Answer> {
    Box::new(answer(status, "application/json", bytes))
}

pub(crate) fn answer(status: StatusCode, media: &str, bytes: Vec<u8>) -> Answer {
    let body = Full::new(Bytes::from(bytes)).boxed();
    Response::builder().status(status).header(CONTENT_TYPE, media).body(body).expect("a plain answer")
}

/// The id of a request that is in use until its answer has been sent.
struct RequestIdUse {
    key: String,
    conversation: Option<Arc<Conversation>>,
}

impl Drop for RequestIdUse {
    fn drop(&mut self) {
        if let Some(conversation) = &self.conversation {
            conversation.answered(&self.key);
        }
    }
}

/// Ends a stream early.
struct StreamEnd {
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
    _place: OpenEntry<HttpSpeaker>,
}

/// A body that releases a request id at its end.
struct WatchedBody {
    body: BoxBody<Bytes, Infallible>,
    used: Option<RequestIdUse>,
    ends: Option<StreamEnd>,
}

impl Body for WatchedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.ends.as_mut().is_some_and(|ends| ends.ended.as_mut().poll(context).is_ready()) {
            return Poll::Ready(None);
        }
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let id = self.used.as_ref().map(|used| used.key.as_str()).filter(|key| message::is_marked(key));
        if id.is_none() && !numbers::may_be_marked() {
            return polled;
        }
        polled.map_ok(|frame| {
            frame.map_data(|data| match std::str::from_utf8(&data).map(numbers::unmark_numbers) {
                Ok(text) => match (id, text) {
                    (Some(id), text) => Bytes::from(message::restore_id(&text, id)),
                    (None, Cow::Owned(text)) => Bytes::from(text),
                    (None, Cow::Borrowed(_)) => data,
                },
                Err(_) => data,
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        // Removing marks shortens the body.
        if numbers::may_be_marked() { SizeHint::default() } else { self.body.size_hint() }
    }
}
