//! The server's three streams: requests in, messages and logs out.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use brigade_core::Json;
use brigade_process::{CapturedBytes, Child, Sink, Stream};
use tokio::net::unix::pipe;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::lines::{Line, Lines};
use super::link::Link;
use super::message::{read_beginning, read_line};

/// The size of one read.
const READ_SIZE: usize = 64 * 1024;

/// How much unsent data stops further reads from the server: the number of queued lines, and the bytes that are being
/// written.
const MAX_UNSENT_LINES: usize = 256;
const MAX_UNSENT_BYTES: usize = 1 << 20;

/// How long replies may take to be created while nothing is read.
const REPLY_TIMEOUT: Duration = Duration::from_millis(20);

/// The longest line that is read as a message, in bytes.
pub(super) const LINE_LIMIT: usize = 16 << 20;

/// Our ends of the pipes, and the receivers of their data.
pub(super) struct Pipes<'a> {
    stdin: Option<pipe::Sender>,
    stdout: Option<pipe::Receiver>,
    stderr: Option<pipe::Receiver>,
    outgoing: UnboundedReceiver<Vec<u8>>,
    unsent: Vec<u8>,
    incoming: Option<UnboundedSender<Json>>,
    lines: Lines,
    link: Arc<Link>,
    sink: &'a mut dyn Sink,
    cap: u64,
    pub(super) stdout_captured: CapturedBytes,
    pub(super) stderr_captured: CapturedBytes,
    buffer: Vec<u8>,
}

impl<'a> Pipes<'a> {
    /// Takes the pipes of a child. Must be called inside a runtime.
    pub(super) fn new(
        child: &mut Child,
        link: Arc<Link>,
        outgoing: UnboundedReceiver<Vec<u8>>,
        incoming: UnboundedSender<Json>,
        sink: &'a mut dyn Sink,
        cap: u64,
    ) -> io::Result<Pipes<'a>> {
        let receiver = |file: Option<File>| file.map(pipe::Receiver::from_file).transpose();
        Ok(Pipes {
            stdin: child.stdin.take().map(pipe::Sender::from_file).transpose()?,
            stdout: receiver(child.stdout.take())?,
            stderr: receiver(child.stderr.take())?,
            outgoing,
            unsent: Vec::new(),
            incoming: Some(incoming),
            lines: Lines::new(LINE_LIMIT),
            link,
            sink,
            cap,
            stdout_captured: CapturedBytes::default(),
            stderr_captured: CapturedBytes::default(),
            buffer: vec![0; READ_SIZE],
        })
    }

    /// Closes the server's input after the conversation. Later output goes only to the log.
    pub(super) fn hang_up(&mut self) {
        self.close_stdin();
        self.incoming = None;
    }

    fn close_stdin(&mut self) {
        self.stdin = None;
        self.unsent.clear();
    }

    /// Returns whether the server closed its output.
    pub(super) fn is_stdout_closed(&self) -> bool {
        self.stdout.is_none()
    }

    /// Returns whether no more data can arrive.
    pub(super) fn are_closed(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }

    /// Waits until one of the streams is ready, and handles it. Waits forever if all are closed.
    ///
    /// # Errors
    /// Fails if the output cannot be stored.
    pub(super) async fn step(&mut self) -> io::Result<()> {
        let wants_to_write = self.stdin.is_some() && !self.unsent.is_empty();
        let may_read = !self.has_too_many_requests();
        tokio::select! {
            () = readable(self.stdout.as_ref()), if may_read => self.read_stdout(),
            () = readable(self.stderr.as_ref()) => self.read_stderr(),
            () = writable(self.stdin.as_ref()), if wants_to_write => {
                self.write();
                Ok(())
            }
            // A request that still has no reply never gets one: of several requests with the same id, only one is
            // answered.
            () = tokio::time::sleep(REPLY_TIMEOUT), if !may_read => {
                self.link.drop_open_requests();
                Ok(())
            }
            Some(line) = self.outgoing.recv() => {
                if self.stdin.is_some() {
                    self.unsent.extend_from_slice(&line);
                }
                Ok(())
            }
            else => std::future::pending().await,
        }
    }

    /// Returns whether the server sends requests faster than it reads replies. Then reading stops until it has read
    /// some, because they would pile up here.
    fn has_too_many_requests(&self) -> bool {
        self.incoming.is_some()
            && (self.link.has_too_many_requests()
                || MAX_UNSENT_BYTES < self.unsent.len()
                || MAX_UNSENT_LINES < self.outgoing.len())
    }

    fn read_stdout(&mut self) -> io::Result<()> {
        let Some(read) = read(&mut self.stdout, &mut self.buffer) else {
            return Ok(());
        };
        let bytes = &self.buffer[..read];
        let stored = store(self.sink, Stream::Stdout, bytes, self.cap, &mut self.stdout_captured);
        let (link, incoming) = (&self.link, &self.incoming);
        let take = |line: Line<'_>| pass(line, link, incoming.as_ref());
        if read == 0 {
            self.lines.finish(take);
            // The SDK sees the end of the stream.
            self.incoming = None;
        } else {
            self.lines.push(bytes, take);
        }
        stored
    }

    fn read_stderr(&mut self) -> io::Result<()> {
        let Some(read) = read(&mut self.stderr, &mut self.buffer) else {
            return Ok(());
        };
        store(self.sink, Stream::Stderr, &self.buffer[..read], self.cap, &mut self.stderr_captured)
    }

    fn write(&mut self) {
        let Some(stdin) = &self.stdin else {
            return;
        };
        match stdin.try_write(&self.unsent) {
            Ok(written) => drop(self.unsent.drain(..written)),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            // The server closed its input. It may have everything that it needs; otherwise it will not answer.
            Err(_) => self.close_stdin(),
        }
    }
}

fn pass(line: Line<'_>, link: &Arc<Link>, incoming: Option<&UnboundedSender<Json>>) {
    match line {
        Line::Whole(line) if line.trim_ascii().is_empty() => {}
        Line::Whole(line) => read_line(line, |received| {
            if let (Some(message), Some(incoming)) = (link.note(received, line.len()), incoming) {
                // The receiver may be gone.
                let _ = incoming.send(message);
            }
        }),
        Line::TooLong(beginning) => link.note_oversized(read_beginning(beginning)),
    }
}

/// Reads one piece. `None` if there is no data now; 0 at the end, where the pipe is closed.
fn read(pipe: &mut Option<pipe::Receiver>, buffer: &mut [u8]) -> Option<usize> {
    match pipe.as_ref()?.try_read(buffer) {
        Ok(read) if 0 < read => Some(read),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => None,
        Ok(_) | Err(_) => {
            *pipe = None;
            Some(0)
        }
    }
}

/// Passes bytes to the sink, up to the cap of their stream.
pub(super) fn store(
    sink: &mut dyn Sink,
    stream: Stream,
    bytes: &[u8],
    cap: u64,
    captured: &mut CapturedBytes,
) -> io::Result<()> {
    let accepted = captured.count(bytes.len(), cap);
    if accepted == 0 { Ok(()) } else { sink.write(stream, &bytes[..accepted]) }
}

async fn readable(pipe: Option<&pipe::Receiver>) {
    match pipe {
        // An error appears at the next read.
        Some(pipe) => drop(pipe.readable().await),
        None => std::future::pending().await,
    }
}

async fn writable(pipe: Option<&pipe::Sender>) {
    match pipe {
        Some(pipe) => drop(pipe.writable().await),
        None => std::future::pending().await,
    }
}
