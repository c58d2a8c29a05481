//! Sessions of the workers of tasks, over two named pipes.
//!
//! The sandbox of a worker has no sockets, and its child programs close unknown descriptors. So `brigade serve --stdio`
//! inside of a task opens the named pipes in the directory that `BRIGADE_GATEWAY` names, and forwards lines.
//!
//! Each client first writes a line that identifies it. The answer to this line marks the start of its messages.
//! Everything in the pipe before it belongs to an earlier client. The pipes alone decide which agent speaks.

use std::fs::File;
use std::io::{self, BufRead as _, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use brigade::gateway::TaskSessions;
use brigade::process::NamedPipes;
use brigade::profile::LiveSession;
use brigade::{Error, ErrorKind};
use rmcp::serve_server;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::gateway::Gateway;
use crate::serve::{DRAIN_TIMEOUT, random, streams};
use crate::session::Session;
use crate::stdio::{Input, Line, LineLimit, Lines, Stream};

/// Reading pauses while this many lines wait for a session.
const MAX_WAITING_LINES: usize = 16;

/// The maximum number of sessions of one task. Sessions of disconnected clients end within [`DRAIN_TIMEOUT`].
const SESSIONS: usize = 4;

/// The first or last line of a client, and the answer to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    /// The unique name of the client.
    #[serde(rename = "brigade/client")]
    client: String,
    /// Whether the client ends.
    #[serde(rename = "brigade/ends")]
    ends: bool,
}

impl Mark {
    fn parse(line: &[u8]) -> Option<Mark> {
        // All other lines are messages, which have other members.
        line.starts_with(b"{\"brigade/client\":").then(|| serde_json::from_slice(line).ok())?
    }

    /// Writes the mark as a separate line. A leading newline ends a line that was cut off.
    fn write(&self, output: &mut impl Write) -> io::Result<()> {
        let mut line = vec![b'\n'];
        line.extend(serde_json::to_vec(self)?);
        line.push(b'\n');
        output.write_all(&line)?;
        output.flush()
    }
}

/// Opens sessions for the workers of the tasks that run here.
pub(crate) struct Sessions {
    runtime: Handle,
    gateway: OnceLock<Weak<Gateway>>,
}

impl Sessions {
    pub(crate) fn new(runtime: Handle) -> Sessions {
        Sessions { runtime, gateway: OnceLock::new() }
    }

    /// Sets the gateway that serves the sessions. Without it, opening a session fails.
    pub(crate) fn are_of(&self, gateway: &Arc<Gateway>) {
        drop(self.gateway.set(Arc::downgrade(gateway)));
    }
}

impl TaskSessions for Sessions {
    fn open(&self, agent: &str, session: LiveSession, input: File, output: File) -> io::Result<()> {
        let gateway = self.gateway.get().ok_or(io::ErrorKind::NotConnected)?.clone();
        let served = TaskServer {
            gateway,
            runtime: self.runtime.clone(),
            agent: agent.into(),
            session: Arc::new(session),
            output: Arc::new(Mutex::new(output)),
            now: Arc::default(),
            sessions: Arc::new(Semaphore::new(SESSIONS)),
        };
        thread::Builder::new().name("task session".to_owned()).spawn(move || served.pass(input)).map(drop)
    }
}

/// Serves the clients of one task over its pipes.
struct TaskServer {
    gateway: Weak<Gateway>,
    runtime: Handle,
    agent: Arc<str>,
    /// The session of the task. All of its clients use it, one after the other.
    session: Arc<LiveSession>,
    output: Arc<Mutex<File>>,
    /// The number of the current client.
    now: Arc<AtomicU64>,
    /// Limits the sessions that have not ended yet, of this and earlier clients.
    sessions: Arc<Semaphore>,
}

impl TaskServer {
    /// Passes lines to the session of the current client, until the pipe ends.
    fn pass(&self, input: File) {
        let mut input = Stream::new(input);
        let mut line = Vec::new();
        let mut client: Option<mpsc::SyncSender<(Line, Vec<u8>)>> = None;
        let limit = Gateway::limit_of(&self.gateway);
        while 0 < self.gateway.strong_count() {
            line.clear();
            let Ok(taken @ (Line::Whole | Line::Long(_))) = input.take_line(&limit, &mut line) else {
                return;
            };
            match Mark::parse(&line) {
                // Dropping the sender ends the input of the session, which ends the session.
                Some(mark) if mark.ends => client = None,
                Some(mark) => {
                    // The session of the earlier client ends first.
                    drop(client.take());
                    client = self.begin(mark);
                }
                // Lines without a client are dropped, because no reader would get the answer.
                None => {
                    if let Some(client) = &client {
                        drop(client.send((taken, std::mem::take(&mut line))));
                    }
                }
            }
        }
    }

    /// Begins the session of a new client, which replaces the earlier one.
    fn begin(&self, mark: Mark) -> Option<mpsc::SyncSender<(Line, Vec<u8>)>> {
        let permit = self.runtime.block_on(self.sessions.clone().acquire_owned()).ok()?;
        let gateway = self.gateway.upgrade()?;
        let number = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        let mut output = ClientOutput { output: self.output.clone(), now: self.now.clone(), number };
        mark.write(&mut output).ok()?;
        let mut last = ClientOutput { output: self.output.clone(), now: self.now.clone(), number };
        let (to_session, lines) = mpsc::sync_channel(MAX_WAITING_LINES);
        let limit = Gateway::limit_of(&self.gateway);
        let (lines, _, conversation) = Lines::start(ForwardedLines(lines), output, None, limit).ok()?;
        let session = Session::of_task(gateway, self.agent.clone(), self.session.clone());
        self.runtime.spawn(async move {
            let _permit = permit;
            if let Ok(running) = serve_server(session, lines).await {
                drop(running.waiting().await);
            }
            let until = Instant::now() + DRAIN_TIMEOUT;
            while conversation.is_open() && Instant::now() < until {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let mark = Mark { ends: true, ..mark };
            // An error is ignored: the client may have stopped reading.
            drop(tokio::task::spawn_blocking(move || mark.write(&mut last)).await);
        });
        Some(to_session)
    }
}

/// The lines of a pipe that belong to one client.
struct ForwardedLines(mpsc::Receiver<(Line, Vec<u8>)>);

impl Input for ForwardedLines {
    fn take_line(&mut self, _: &LineLimit, line: &mut Vec<u8>) -> io::Result<Line> {
        let Ok((taken, bytes)) = self.0.recv() else { return Ok(Line::End) };
        *line = bytes;
        Ok(taken)
    }
}

/// The output for one client. Writes nothing once there is a newer client.
struct ClientOutput {
    output: Arc<Mutex<File>>,
    now: Arc<AtomicU64>,
    number: u64,
}

impl Write for ClientOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        if self.now.load(Ordering::SeqCst) != self.number {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        output.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Connects the client on standard input and output to the session of the task that it runs in, until either side ends.
/// `directory` is the value of `BRIGADE_GATEWAY`.
///
/// # Errors
/// Fails if the session has ended or has another client, and on errors of the streams.
pub fn connect(directory: &Path) -> Result<(), Error> {
    let environment = |what: &str, error: &dyn std::fmt::Display| {
        Error::new(ErrorKind::Environment, format!("{what}: {error}"))
    };
    let gone = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock => {
            let what = "another client of this task is connected; only one can be at a time";
            Error::new(ErrorKind::Environment, what)
        }
        _ => environment("the session of the task has ended", &error),
    };
    let (input, mut output) = streams().map_err(|error| environment("the input cannot be read", &error))?;
    let (from, mut to) = NamedPipes::connect(directory).map_err(gone)?;
    let client = format!("{:032x}", u128::from_le_bytes(random()?));
    let begins = Mark { client, ends: false };
    let ends = Mark { ends: true, ..begins.clone() };
    let mut from = io::BufReader::with_capacity(64 << 10, from);
    begins.write(&mut to).map_err(gone)?;
    let mut line = Vec::new();
    // The input and its target, until forwarding begins.
    let mut waits = Some((input, to));
    loop {
        line.clear();
        if from.read_until(b'\n', &mut line).map_err(gone)? == 0 {
            return Ok(());
        }
        match Mark::parse(line.strip_suffix(b"\n").unwrap_or(&line)) {
            Some(mark) if mark == begins => {
                let Some((mut input, mut to)) = waits.take() else { continue };
                let ends = ends.clone();
                let passing = thread::Builder::new().name("input".to_owned()).spawn(move || {
                    // The session ends with its input, whether or not copying failed.
                    let _ = io::copy(&mut input, &mut to);
                    let _ = ends.write(&mut to);
                });
                passing.map_err(|error| environment("the input cannot be read", &error))?;
            }
            Some(mark) if mark == ends => return Ok(()),
            // Earlier lines belong to a client that is gone.
            Some(_) => {}
            // A mark begins with a newline, in case a line was cut off.
            None if line == b"\n" => {}
            None if waits.is_some() => {}
            None => {
                if output.write_all(&line).and_then(|()| output.flush()).is_err() {
                    return Ok(());
                }
            }
        }
    }
}
