//! Passes the messages of standard streams to a remote MCP server, and its messages back.
//!
//! The bridge is a separate process, started like a local server: in the sandbox of the policy, with the variables of
//! the labels, and ended with its whole tree. So a call of a remote tool takes every step of a call of a local one.
//!
//! | message of the client | streamable HTTP | the older transport (`sse`) |
//! | --- | --- | --- |
//! | request | POST on its own thread; the answer is JSON or a stream | POST; the answer comes in the stream |
//! | notification, response | POST, in order | POST, in order |
//! | the end of its messages | DELETE of the session | the stream is closed |
//!
//! An error of the connection becomes an error response to the request that met it, marked by [`ERROR_MEMBER`]. So no
//! request waits for an answer that cannot come.

mod access;
mod exchange;
mod older;

use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use brigade_catalog::RemoteServer;
use brigade_core::web_url::WebUrl;
use brigade_core::{Clock, Json, SystemClock};

use crate::environment::{Environment, VARIABLE};
use crate::error::{ERROR_MEMBER, RemoteError};
use crate::http::Client;
use crate::tokens::TokenStore;
use access::Access;
use exchange::Session;

/// The longest message in either direction, in bytes.
pub(crate) const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// The maximum number of requests at the same time.
const MAX_REQUESTS: usize = 128;

/// The maximum time of a request that is not answered with a stream.
const SHORT_TIMEOUT: Duration = Duration::from_secs(30);

/// The code of errors of the connection.
const CONNECTION_ERROR: i64 = -32000;

/// What the main thread waits for.
enum Step {
    /// A line of the client.
    Line(Vec<u8>),
    /// The client sends nothing more, or the server ended.
    Over,
}

/// A connection to a remote server.
pub(crate) struct Bridge {
    pub(crate) url: WebUrl,
    pub(crate) client: Client,
    /// For requests that are not answered with a stream.
    pub(crate) short: Client,
    pub(crate) access: Access,
    pub(crate) session: Mutex<Session>,
    /// The name of the server for a person.
    server: String,
    output: Mutex<Box<dyn Write + Send>>,
    requests: AtomicUsize,
    steps: Sender<Step>,
}

/// A message of the client.
pub(crate) struct Message {
    pub(crate) json: Json,
    /// Its id, if it is a request.
    pub(crate) id: Option<Json>,
}

/// Connects standard streams with a remote server until the client sends nothing more.
///
/// `variable` returns the variables of this process: the [terms](Environment) of the connection, and the values of
/// labels.
///
/// # Errors
/// Fails if the terms are missing or invalid. Errors of the connection are answers to the client.
pub fn run(
    url: &str,
    variable: &dyn Fn(&str) -> Option<String>,
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), RemoteError> {
    let invalid = |why: &str| RemoteError::Url(format!("the remote server cannot be connected to: {why}"));
    let terms = variable(VARIABLE).and_then(|text| Environment::parse(&text));
    let terms = terms.ok_or_else(|| invalid("Brigade starts this program, with its terms"))?;
    let url = WebUrl::parse(url).map_err(|problem| invalid(&problem.to_string()))?;
    if !terms.origins.contains(&url.origin()) {
        return Err(invalid("the policy does not name its origin"));
    }
    let mut headers = Vec::new();
    for (name, text) in &terms.headers {
        let value = RemoteServer::filled(text, variable).ok_or_else(|| RemoteError::NoValue(name.clone()))?;
        headers.push((name.clone(), value));
    }
    let store = variable("HOME").map(|home| TokenStore::of_home(home.as_ref()));
    let (steps, taken) = channel();
    let bridge = Arc::new(Bridge {
        access: Access::new(url.to_string(), headers, store),
        url,
        client: Client::new(&terms.origins, None),
        short: Client::new(&terms.origins, Some(SHORT_TIMEOUT)),
        session: Mutex::default(),
        server: terms.server.clone(),
        output: Mutex::new(Box::new(output)),
        requests: AtomicUsize::new(0),
        steps: steps.clone(),
    });
    thread::spawn(move || read_lines(input, &steps));
    match terms.is_sse {
        true => older::carry(&bridge, &taken),
        false => carry(&bridge, &taken),
    }
    Ok(())
}

/// Reads the lines of the client. A line that is too long ends it.
fn read_lines(mut input: impl BufRead, steps: &Sender<Step>) {
    use std::io::Read as _;
    loop {
        let mut line = Vec::new();
        let read = input.by_ref().take(MAX_MESSAGE_BYTES as u64 + 1).read_until(b'\n', &mut line);
        let is_over = !matches!(read, Ok(read) if 0 < read && read <= MAX_MESSAGE_BYTES);
        let step = if is_over { Step::Over } else { Step::Line(line) };
        if steps.send(step).is_err() || is_over {
            return;
        }
    }
}

/// Carries messages over streamable HTTP.
fn carry(bridge: &Arc<Bridge>, taken: &Receiver<Step>) {
    while let Some(message) = next_message(taken) {
        let Some(id) = message.id.clone() else {
            let is_ready = message.method() == Some("notifications/initialized");
            let sent = exchange::notify(bridge, &message);
            if sent.is_ok() && is_ready {
                let listening = Arc::clone(bridge);
                thread::spawn(move || exchange::listen(&listening));
            }
            continue;
        };
        let Some(counted) = bridge.count() else {
            bridge.fail(&id, &RemoteError::Url("too many requests at the same time".to_owned()));
            continue;
        };
        let asking = Arc::clone(bridge);
        thread::spawn(move || {
            if let Err(error) = exchange::request(&asking, &message, &id) {
                asking.fail(&id, &error);
            }
            drop(counted);
        });
    }
    exchange::end(bridge);
}

/// Returns the next message of the client; `None` at the end.
fn next_message(taken: &Receiver<Step>) -> Option<Message> {
    loop {
        match taken.recv() {
            Ok(Step::Line(line)) => {
                let json = std::str::from_utf8(&line).ok().and_then(|text| Json::parse(text.trim()).ok());
                if let Some(json) = json.filter(|json| json.as_object().is_some()) {
                    let id = json.get("id").filter(|_| json.get("method").is_some()).cloned();
                    return Some(Message { json, id });
                }
            }
            Ok(Step::Over) | Err(_) => return None,
        }
    }
}

/// Counts a request while it is open.
struct RequestGuard(Arc<Bridge>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Message {
    pub(crate) fn method(&self) -> Option<&str> {
        self.json.get("method")?.as_str()
    }
}

impl Bridge {
    pub(crate) fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current time, in Unix seconds.
    pub(crate) fn now(&self) -> i64 {
        SystemClock.now().unix_micros() / 1_000_000
    }

    /// Counts a request; `None` if there are too many.
    fn count(self: &Arc<Bridge>) -> Option<RequestGuard> {
        let before = self.requests.fetch_add(1, Ordering::Relaxed);
        let guard = RequestGuard(Arc::clone(self));
        (before < MAX_REQUESTS).then_some(guard)
    }

    /// Passes a message to the client, in one line.
    pub(crate) fn pass(&self, message: &str) {
        // Line ends are white space in JSON.
        let mut line = message.trim().replace(['\n', '\r'], " ");
        line.push('\n');
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        if output.write_all(line.as_bytes()).and_then(|()| output.flush()).is_err() {
            self.stop();
        }
    }

    /// Answers a request of the client with an error of the connection.
    pub(crate) fn fail(&self, id: &Json, error: &RemoteError) {
        let data = Json::object([(ERROR_MEMBER, Json::from(error.word()))]);
        let message = match error {
            RemoteError::LoginRequired => format!("{error}: run `brigade tools login {}`", self.server),
            error => error.to_string(),
        };
        let error = Json::object([
            ("code", Json::from(CONNECTION_ERROR)),
            ("message", Json::from(message)),
            ("data", data),
        ]);
        let answer = Json::object([("jsonrpc", Json::from("2.0")), ("id", id.clone()), ("error", error)]);
        self.pass(&answer.to_compact());
    }

    /// Ends the bridge.
    pub(crate) fn stop(&self) {
        // The main thread may have ended.
        let _ = self.steps.send(Step::Over);
    }
}
