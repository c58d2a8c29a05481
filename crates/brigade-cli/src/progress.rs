//! Shows the elapsed time of a long command on the terminal, and the last output line of a run.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use brigade::Progress;
use brigade::redact::Redactor;

use crate::render::text::{Colour, Text, Tone};

/// What takes less than this shows nothing.
const QUIET_PERIOD: Duration = Duration::from_millis(300);

/// How often the line is drawn.
const INTERVAL: Duration = Duration::from_millis(250);

/// How many bytes of masked output are kept to find the last line.
const MAX_KEPT_BYTES: usize = 4 << 10;

/// The width of a terminal of unknown size, in columns.
const USUAL_WIDTH: usize = 80;

/// A line on standard error during a command or a run. It is removed at the end, and before anything else is written.
pub(crate) struct TerminalProgress {
    shared: Arc<SharedProgress>,
    drawing: Mutex<Option<JoinHandle<()>>>,
    width: usize,
}

#[derive(Default)]
struct SharedProgress {
    state: Mutex<State>,
    ended: Condvar,
}

struct State {
    /// Masks the output as it arrives, because a secret may begin long before the last line.
    redactor: Redactor,
    /// The end of the masked output.
    tail: Vec<u8>,
    is_over: bool,
}

impl Default for State {
    fn default() -> State {
        State { redactor: Redactor::new(&[]), tail: Vec::new(), is_over: false }
    }
}

impl State {
    fn print(&mut self, bytes: &[u8]) {
        self.redactor.push(bytes, &mut self.tail);
        self.tail.drain(..self.tail.len().saturating_sub(MAX_KEPT_BYTES));
    }

    /// Returns the masked output as if it ended now.
    fn printed(&self) -> Vec<u8> {
        let mut tail = self.tail.clone();
        tail.extend(self.redactor.pending());
        tail
    }
}

impl TerminalProgress {
    pub(crate) fn new(width: Option<usize>) -> TerminalProgress {
        let width = width.unwrap_or(USUAL_WIDTH);
        TerminalProgress { shared: Arc::default(), drawing: Mutex::default(), width }
    }
}

impl SharedProgress {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws the line until the run is over, and then removes it.
    fn draw(&self, width: usize) {
        let began = Instant::now();
        let mut wait = QUIET_PERIOD;
        let mut is_drawn = false;
        let mut state = self.state();
        loop {
            let waited = self.ended.wait_timeout_while(state, wait, |state| !state.is_over);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.is_over {
                break;
            }
            let line = line(began.elapsed(), &state.printed(), width);
            drop(state);
            // A failed write does not affect the run.
            let _ = write!(io::stderr(), "\r\x1b[2K{line}");
            is_drawn = true;
            wait = INTERVAL;
            state = self.state();
        }
        if is_drawn {
            let _ = write!(io::stderr(), "\r\x1b[2K");
        }
    }
}

impl Progress for TerminalProgress {
    fn started(&self) {
        self.ended();
        *self.shared.state() = State::default();
        let (shared, width) = (self.shared.clone(), self.width);
        let drawing = std::thread::Builder::new().spawn(move || shared.draw(width));
        *self.drawing.lock().unwrap_or_else(PoisonError::into_inner) = drawing.ok();
    }

    fn printed(&self, bytes: &[u8]) {
        self.shared.state().print(bytes);
    }

    fn ended(&self) {
        self.shared.state().is_over = true;
        self.shared.ended.notify_all();
        let drawing = self.drawing.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(drawing) = drawing {
            let _ = drawing.join();
        }
    }
}

/// Returns the line: the elapsed time, and the last line of the masked output.
fn line(elapsed: Duration, printed: &[u8], width: usize) -> String {
    let text = String::from_utf8_lossy(printed);
    let last = text.split(['\n', '\r']).rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    let seconds = elapsed.as_secs();
    let time = match seconds / 60 {
        0 => format!("{seconds} s"),
        minutes => format!("{minutes} min {} s", seconds % 60),
    };
    let mut out = String::new();
    Text::new(Tone::Plain, &format!("{time}  {}", last.trim()))
        .cut(width.saturating_sub(1))
        .write(Colour::Off, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_progress_line_has_no_secrets() {
        let check = |seconds, printed: &str, width, expect: &str| {
            let mut state = State::default();
            printed.as_bytes().chunks(3).for_each(|bytes| state.print(bytes));
            assert_eq!(line(Duration::from_secs(seconds), &state.printed(), width), expect);
        };
        // Issue 12: the secret begins before the kept part.
        let key =
            format!("-----BEGIN RSA PRIVATE KEY-----\n{}", "MIIEpAIBAAKCAQEA7EXAMPLE7EXAMPLE\n".repeat(400));
        check(3, &key, 80, "3 s  [redacted]");
        check(3, &format!("ghp_{}", "aB3x".repeat(3_000)), 80, "3 s  [redacted]");
        check(3, "", 80, "3 s  ");
        check(3, "one\ntwo\n\n", 80, "3 s  two");
        check(61, "10%\r20%\r", 80, "1 min 1 s  20%");
        check(3, "\u{1b}[31mred", 80, "3 s  \\u{1b}[31mred");
        check(3, "0123456789", 10, "3 s  012…");
    }

    #[test]
    fn a_run_may_end_before_anything_is_drawn() {
        let progress = TerminalProgress::new(None);
        for _ in 0..2 {
            progress.started();
            progress.printed(&[b'x'; 10_000]);
            progress.ended();
        }
        assert_eq!(progress.shared.state().tail.len(), MAX_KEPT_BYTES);
    }
}
