//! Exchanges messages as lines on standard input and output.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Stat, fstat};
use tokio::sync::mpsc as channel;
use tokio_util::sync::CancellationToken;

use crate::http_batch;
use crate::message::{self, CheckedMessage, Conversation};
use crate::message_id::id_in;
use crate::stdio_batch::OpenBatches;

/// Reading pauses while this many messages wait to be handled.
const MAX_WAITING_MESSAGES: usize = 64;

/// Reading pauses while more bytes of messages than this wait to be written.
const UNREAD: usize = 4 << 20;

/// The longest line that a writable pipe accepts without blocking: `PIPE_BUF`. POSIX guarantees 512 bytes, and Linux
/// allows more than other systems.
const PIPE_WRITE_BYTES: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

/// The transport of one client over lines.
pub(crate) struct Lines {
    incoming: channel::Receiver<ClientJsonRpcMessage>,
    outgoing: Outgoing,
    conversation: Arc<Conversation>,
    batches: Arc<OpenBatches>,
}

/// An item for the writing thread.
enum OutgoingItem {
    /// A message.
    Message(Vec<u8>),
    /// Notifies the sender when all earlier messages are written.
    Written(mpsc::SyncSender<()>),
}

/// The queue of messages to the client.
#[derive(Clone)]
struct Outgoing {
    to_client: mpsc::Sender<OutgoingItem>,
    unread: Arc<UnreadBytes>,
    /// The output, if it is a pipe.
    pipe: Option<Arc<File>>,
}

impl Outgoing {
    /// Writes a message. If the client may not accept it at once, passes it to the writing thread.
    fn send(&self, mut bytes: Vec<u8>) -> Result<(), mpsc::SendError<OutgoingItem>> {
        bytes.push(b'\n');
        if let Some(pipe) = &self.pipe
            && self.unread.when_empty(|| write_now(pipe, &bytes))
        {
            return Ok(());
        }
        let count = bytes.len();
        self.unread.change(|unread| unread.saturating_add(count));
        // If the writing thread has ended, the count is reset so that requests are still read.
        self.to_client.send(OutgoingItem::Message(bytes)).inspect_err(|_| self.unread.change(|_| 0))
    }
}

/// The bytes of messages that the client has not read yet. While there are too many, its requests are not read.
#[derive(Default)]
struct UnreadBytes {
    bytes: Mutex<usize>,
    changed: Condvar,
}

impl UnreadBytes {
    fn change(&self, change: impl FnOnce(usize) -> usize) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        *bytes = change(*bytes);
        self.changed.notify_all();
    }

    /// Runs `work` if no message waits, and lets none be queued meanwhile. Returns whether `work` ran and succeeded.
    fn when_empty(&self, work: impl FnOnce() -> bool) -> bool {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        *bytes == 0 && work()
    }

    /// Waits until the client has read enough of them.
    fn wait(&self) {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(bytes, |bytes| UNREAD < *bytes).unwrap_or_else(PoisonError::into_inner));
    }
}

/// Writes a line if the pipe accepts all of it without blocking. Returns whether it was written.
fn write_now(mut pipe: &File, line: &[u8]) -> bool {
    let has_room = match line.len() <= PIPE_WRITE_BYTES {
        // A pipe accepts a line of this length as a whole or not at all.
        true => {
            let mut polled = [PollFd::new(pipe, PollFlags::OUT)];
            poll(&mut polled, Some(&Timespec::default())) == Ok(1) && polled[0].revents() == PollFlags::OUT
        }
        false => is_empty_and_holds(pipe, line.len()),
    };
    has_room && pipe.write_all(line).is_ok()
}

/// Returns whether a pipe is empty and has room for `length` bytes.
#[cfg(target_os = "linux")]
fn is_empty_and_holds(pipe: &File, length: usize) -> bool {
    rustix::io::ioctl_fionread(pipe) == Ok(0)
        && rustix::pipe::fcntl_getpipe_size(pipe).is_ok_and(|size| length <= size)
}

/// Returns false: this system does not tell the size of a pipe.
#[cfg(not(target_os = "linux"))]
fn is_empty_and_holds(_: &File, _: usize) -> bool {
    false
}

/// Returns a second handle to the output if it is a pipe.
pub(crate) fn as_pipe(output: &impl AsFd) -> Option<Arc<File>> {
    let is_pipe = |found: Stat| FileType::from_raw_mode(found.st_mode) == FileType::Fifo;
    fstat(output)
        .is_ok_and(is_pipe)
        .then(|| output.as_fd().try_clone_to_owned().ok())
        .flatten()
        .map(|fd| Arc::new(fd.into()))
}

/// How long writing the last messages may take.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

impl Lines {
    /// Starts one thread that reads messages from `input` and one that writes answers to `output`. `limit` returns the
    /// current maximum length of a message. If the output [is a pipe](as_pipe) with room, answers are written at once,
    /// without the thread.
    ///
    /// The returned token is cancelled when the input has ended. The conversation knows which requests are open.
    ///
    /// # Errors
    /// Fails if no thread can be started.
    pub(crate) fn start(
        input: impl Input + Send + 'static,
        output: impl Write + Send + 'static,
        pipe: Option<Arc<File>>,
        limit: LineLimit,
    ) -> io::Result<(Lines, CancellationToken, Arc<Conversation>)> {
        let ended = CancellationToken::new();
        let at_end = ended.clone();
        let conversation = Arc::new(Conversation::default());
        let (to_server, incoming) = channel::channel(MAX_WAITING_MESSAGES);
        let (to_client, messages) = mpsc::channel::<OutgoingItem>();
        let outgoing = Outgoing { to_client, unread: Arc::default(), pipe };
        let unread = outgoing.unread.clone();
        let batches: Arc<OpenBatches> = Arc::default();
        let (talk, answers, open) = (conversation.clone(), outgoing.clone(), batches.clone());
        thread::Builder::new().name("input".to_owned()).spawn(move || {
            read(input, &limit, (&talk, &open), &to_server, &answers);
            at_end.cancel();
        })?;
        thread::Builder::new().name("output".to_owned()).spawn(move || {
            write(output, &messages, &unread);
            // The remaining messages cannot be written. Drop them, and let the reader continue.
            drop(messages);
            unread.change(|_| 0);
        })?;
        Ok((Lines { incoming, outgoing, conversation: conversation.clone(), batches }, ended, conversation))
    }
}

/// Returns the current maximum length of a message. It may change while waiting for a line.
pub(crate) type LineLimit = Box<dyn Fn() -> usize + Send>;

/// A source of lines.
pub(crate) trait Input {
    /// Reads one line without its newline. Of a line longer than the limit, only the beginning is kept.
    fn take_line(&mut self, limit: &LineLimit, line: &mut Vec<u8>) -> io::Result<Line>;
}

/// How many bytes of a too long line are kept to find its id.
const BEGINNING: usize = 4 << 10;

/// The outcome of reading a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    Whole,
    /// Only the beginning of a line that is longer than this limit.
    Long(usize),
    End,
}

/// Lines of a stream.
pub(crate) struct Stream<R>(io::BufReader<R>);

impl<R: Read> Stream<R> {
    pub(crate) fn new(input: R) -> Stream<R> {
        Stream(io::BufReader::with_capacity(64 << 10, input))
    }
}

/// Reads lines until the input ends or their receiver is gone.
fn read(
    mut input: impl Input,
    limit: &LineLimit,
    (conversation, batches): (&Conversation, &OpenBatches),
    to_server: &channel::Sender<ClientJsonRpcMessage>,
    answers: &Outgoing,
) {
    let mut line = Vec::new();
    loop {
        answers.unread.wait();
        line.clear();
        match input.take_line(limit, &mut line) {
            Ok(Line::End) | Err(_) => return,
            Ok(Line::Long(limit)) => {
                let reason = format!("the message is longer than {limit} bytes");
                let id = id_in(&line);
                drop(answers.send(message::error(id.as_deref(), message::INVALID_REQUEST, &reason)));
                continue;
            }
            Ok(Line::Whole) => {}
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let batch = conversation.has_batches().then(|| http_batch::parse(&line)).flatten();
        let is_batch = batch.is_some();
        let parts = match batch {
            Some(Ok(parts)) => parts,
            Some(Err(refused)) => {
                drop(answers.send(refused));
                continue;
            }
            None => vec![std::mem::take(&mut line).into()],
        };
        let (mut messages, mut waiting, mut responses) = (Vec::new(), HashSet::new(), Vec::new());
        for part in parts {
            match conversation.check(&part) {
                CheckedMessage::Message(message, key) => {
                    waiting.extend(key.filter(|_| is_batch));
                    messages.push(message);
                }
                CheckedMessage::Answer(bytes) if is_batch => responses.push(bytes),
                CheckedMessage::Answer(bytes) => drop(answers.send(bytes)),
                CheckedMessage::Nothing => {}
            }
        }
        waiting.retain(|key| conversation.is_waiting(key));
        let complete = batches.without_cancelled(|key| conversation.is_waiting(key));
        for answer in complete.into_iter().chain(batches.begin(waiting, responses)) {
            drop(answers.send(answer));
        }
        for message in messages {
            if to_server.blocking_send(*message).is_err() {
                return;
            }
        }
    }
}

impl<R: Read> Input for Stream<R> {
    fn take_line(&mut self, limit: &LineLimit, line: &mut Vec<u8>) -> io::Result<Line> {
        let mut longer_than = None;
        loop {
            let piece = match self.0.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                piece => piece?,
            };
            if piece.is_empty() {
                return Ok(match (longer_than, line.is_empty()) {
                    (Some(limit), _) => Line::Long(limit),
                    (None, true) => Line::End,
                    (None, false) => Line::Whole,
                });
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let part = &piece[..end.unwrap_or(piece.len())];
            let limit = limit();
            longer_than = longer_than.or_else(|| (limit < line.len() + part.len()).then_some(limit));
            let available =
                if longer_than.is_some() { BEGINNING.saturating_sub(line.len()) } else { part.len() };
            line.extend_from_slice(&part[..part.len().min(available)]);
            if longer_than.is_some() {
                line.truncate(BEGINNING);
            }
            let used = end.map_or(piece.len(), |end| end + 1);
            self.0.consume(used);
            if end.is_some() {
                return Ok(longer_than.map_or(Line::Whole, Line::Long));
            }
        }
    }
}

/// Writes messages until the senders are gone or the output is closed.
fn write(mut output: impl Write, messages: &mpsc::Receiver<OutgoingItem>, unread: &UnreadBytes) {
    while let Ok(out) = messages.recv() {
        match out {
            OutgoingItem::Message(bytes) => {
                let count = bytes.len();
                if output.write_all(&bytes).and_then(|()| output.flush()).is_err() {
                    return;
                }
                unread.change(|unread| unread.saturating_sub(count));
            }
            OutgoingItem::Written(confirm) => drop(confirm.try_send(())),
        }
    }
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn name() -> Cow<'static, str> {
        "lines".into()
    }

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let (bytes, answered) = message::serialize_message(&message::normalize_refusal(item));
        let bytes = match &answered {
            Some(key) => self.batches.collect(key, bytes),
            None => Some(bytes),
        };
        // A client may use the id again as soon as it has the answer.
        if let Some(key) = answered {
            self.conversation.answered(&key);
        }
        let sent = bytes.map_or(Ok(()), |bytes| self.outgoing.send(bytes));
        std::future::ready(sent.map_err(|_| io::ErrorKind::BrokenPipe.into()))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.incoming.close();
        let (written, all) = mpsc::sync_channel(1);
        // Without the writing thread there is nothing to wait for.
        if self.outgoing.to_client.send(OutgoingItem::Written(written)).is_ok() {
            let _ = all.recv_timeout(FLUSH_TIMEOUT);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An input of this many lines that are not messages.
    struct Noise {
        left: usize,
        unread: Arc<UnreadBytes>,
    }

    impl Input for Noise {
        fn take_line(&mut self, _: &LineLimit, line: &mut Vec<u8>) -> io::Result<Line> {
            assert!(*self.unread.bytes.lock().unwrap() <= UNREAD, "it is read from");
            if self.left == 0 {
                return Ok(Line::End);
            }
            self.left -= 1;
            line.extend(b"no message");
            Ok(Line::Whole)
        }
    }

    #[test]
    fn a_client_that_reads_no_answers_is_not_read() {
        let (to_client, messages) = mpsc::channel();
        let outgoing = Outgoing { to_client, unread: Arc::default(), pipe: None };
        let (to_server, _incoming) = channel::channel(1);
        let unread = outgoing.unread.clone();
        let reading = thread::spawn(move || {
            let noise = Noise { left: 100_000, unread: outgoing.unread.clone() };
            read(
                noise,
                &(Box::new(|| 1_usize << 10) as LineLimit),
                (&Conversation::default(), &OpenBatches::default()),
                &to_server,
                &outgoing,
            );
        });
        // Take an answer only after reading has paused, until the last one.
        let mut full = 0;
        while !reading.is_finished() {
            if UNREAD < *unread.bytes.lock().unwrap() {
                full += 1;
                messages.try_iter().for_each(|out| match out {
                    OutgoingItem::Message(bytes) => unread.change(|unread| unread - bytes.len()),
                    OutgoingItem::Written(_) => {}
                });
            }
            thread::yield_now();
        }
        reading.join().unwrap();
        assert!(0 < full);
    }

    #[test]
    fn a_pipe_with_room_is_written_at_once() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let (to_client, messages) = mpsc::channel();
        let outgoing = Outgoing { to_client, unread: Arc::default(), pipe: as_pipe(&write) };
        outgoing.send(b"{}".to_vec()).unwrap();
        let mut taken = [0; 8];
        assert_eq!(rustix::io::read(&read, &mut taken).unwrap(), 3);
        assert_eq!((&taken[..3], messages.try_iter().count()), (&b"{}\n"[..], 0));
        // An empty pipe accepts a longer line if it has room.
        let size = if cfg!(target_os = "linux") { 64 << 10 } else { PIPE_WRITE_BYTES };
        outgoing.send(vec![b' '; size - 1]).unwrap();
        let mut long = vec![0; size];
        for taken in long.chunks_mut(4 << 10) {
            assert_eq!(rustix::io::read(&read, &mut *taken).unwrap(), taken.len());
        }
        assert_eq!((long.last(), messages.try_iter().count()), (Some(&b'\n'), 0));
        // Any other long line and all later ones wait for the writing thread.
        outgoing.send(vec![b' '; size]).unwrap();
        outgoing.send(b"{}".to_vec()).unwrap();
        assert_eq!(messages.try_iter().count(), 2);
        outgoing.unread.change(|_| 0);
        let mut sent = 0;
        while messages.try_iter().count() == 0 {
            outgoing.send(vec![b' '; PIPE_WRITE_BYTES - 1]).unwrap();
            sent += 1;
        }
        assert!(1 < sent, "the pipe took some before it was full");
        drop(read);
        outgoing.unread.change(|_| 0);
        outgoing.send(b"{}".to_vec()).unwrap();
        assert_eq!(messages.try_iter().count(), 1, "the writing thread has to report the closed pipe");
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(as_pipe(&socket).is_none());
    }
}
