//! Reads what is typed on the terminal, with cancellation.

use std::io;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::cancel::CancelToken;

/// The longest line that is read.
const MAX_LINE_BYTES: usize = 64 << 10;

/// The maximum number of bytes of keys that are read at once.
const MAX_KEY_BYTES: usize = 4 << 10;

/// How long a process in the background waits before it checks again whether it may read.
const BACKGROUND: Duration = Duration::from_secs(1);

/// The result of reading a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypedLine {
    /// A line, without its line feed.
    Line(String),
    /// The end of the input.
    End,
    /// The token was triggered before a line was complete.
    Withdrawn,
}

/// Reads one line from standard input, until the token is triggered.
///
/// Reads no byte after the line. A process in the background waits instead of reading, because the system would stop
/// it.
///
/// # Errors
/// Fails if standard input cannot be read.
pub fn read_typed_line(withdrawn: &CancelToken) -> io::Result<TypedLine> {
    let input = io::stdin();
    let mut line = Vec::new();
    loop {
        let mut descriptors = [PollFd::new(withdrawn, PollFlags::IN), PollFd::new(&input, PollFlags::IN)];
        match poll(&mut descriptors, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if withdrawn.is_cancelled() {
            return Ok(TypedLine::Withdrawn);
        }
        if descriptors[1].revents().is_empty() {
            continue;
        }
        if is_in_background() {
            withdrawn.wait(BACKGROUND);
            continue;
        }
        let mut byte = [0];
        match rustix::io::read(&input, &mut byte) {
            Ok(0) if line.is_empty() => return Ok(TypedLine::End),
            Ok(0) => return Ok(TypedLine::Line(text(&line))),
            Ok(_) if byte[0] == b'\n' => return Ok(TypedLine::Line(text(&line))),
            Ok(_) if line.len() < MAX_LINE_BYTES => line.push(byte[0]),
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            // The terminal was closed.
            Err(Errno::IO) => return Ok(TypedLine::End),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Standard input that a person types. It ends when a signal that the process handles asked it to stop.
///
/// Reads no byte before it is asked for, so nothing is taken from whatever reads after it.
#[derive(Debug)]
pub struct TypedInput;

impl io::Read for TypedInput {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let input = io::stdin();
        let Some(stop) = CancelToken::of_signals() else { return Ok(rustix::io::read(&input, bytes)?) };
        let mut descriptors = [PollFd::new(&stop, PollFlags::IN), PollFd::new(&input, PollFlags::IN)];
        poll(&mut descriptors, None)?;
        if stop.is_cancelled() { Ok(0) } else { Ok(rustix::io::read(&input, bytes)?) }
    }
}

/// The result of waiting for keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypedKeys {
    /// The bytes of keys.
    Bytes(Vec<u8>),
    /// Nothing was typed in time.
    Nothing,
    /// The terminal is closed.
    End,
    /// The token was triggered.
    Withdrawn,
}

/// Waits for keys on standard input, a terminal in raw mode, until the timeout or until the token is triggered.
///
/// # Errors
/// Fails if standard input cannot be read.
pub fn read_typed_keys(withdrawn: &CancelToken, timeout: Duration) -> io::Result<TypedKeys> {
    let input = io::stdin();
    let wait = rustix::time::Timespec::try_from(timeout).ok();
    let mut descriptors = [PollFd::new(withdrawn, PollFlags::IN), PollFd::new(&input, PollFlags::IN)];
    match poll(&mut descriptors, wait.as_ref()) {
        // A resized window interrupts the wait.
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let typed = descriptors[1].revents();
    if withdrawn.is_cancelled() {
        return Ok(TypedKeys::Withdrawn);
    }
    if typed.is_empty() {
        return Ok(TypedKeys::Nothing);
    }
    if is_in_background() {
        withdrawn.wait(timeout);
        return Ok(TypedKeys::Nothing);
    }
    let mut bytes = vec![0; MAX_KEY_BYTES];
    match rustix::io::read(&input, &mut bytes) {
        Ok(0) | Err(Errno::IO) => Ok(TypedKeys::End),
        Ok(count) => {
            bytes.truncate(count);
            Ok(TypedKeys::Bytes(bytes))
        }
        Err(Errno::INTR | Errno::AGAIN) => Ok(TypedKeys::Nothing),
        Err(error) => Err(error.into()),
    }
}

/// Discards what was typed on the terminal and not read yet.
pub fn discard_typed() {
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end_matches('\r').to_owned()
}

/// Returns whether standard input is a terminal whose foreground group is another one.
fn is_in_background() -> bool {
    // SAFETY: both calls only query the system, and take no pointers.
    let (front, own) = unsafe { (libc::tcgetpgrp(libc::STDIN_FILENO), libc::getpgrp()) };
    0 <= front && front != own
}
