//! The logs of runtimes, as people read them: line by line, without secrets.

use std::io;

use brigade_catalog::Runtime;
use brigade_process::CancelToken;
use brigade_redact::Redactor;
use brigade_runtime::{Checks, FollowFrom, LogStream};

use crate::error::{Error, ErrorKind};
use crate::gather;
use crate::report::{Report as _, RuntimeLogsReport};
use crate::room::Room;
use crate::runtimes;
use crate::runtimes::Runtimes;

/// How many bytes of a line, or of a private key, are waited for before they are passed on as they are.
const LONGEST: usize = 1 << 20;

impl Runtimes {
    /// Returns the last lines of a log, without secrets. A log that is not there is empty.
    ///
    /// # Errors
    /// When there is no such runtime, the disk fails, or the log is outside of the workspace.
    pub fn logs(&self, id: &str, stream: LogStream, lines: usize) -> Result<RuntimeLogsReport, Error> {
        let configured = runtimes::configured(&self.room)?;
        let runtime = runtimes::runtime(&configured.runtimes, id)?;
        let supervisor = runtimes::supervisor(&self.room, &configured.host);
        let tail = supervisor.tail(runtime, stream, lines)?;
        let other = match stream {
            LogStream::Stdout => LogStream::Stderr,
            LogStream::Stderr => LogStream::Stdout,
        };
        // Only a hint, which a log that cannot be read does not need.
        let other_has_lines = supervisor.tail(runtime, other, 1).is_ok_and(|tail| !tail.bytes.is_empty());
        let facts = supervisor.facts_of_one(runtime, Checks::Skip, None);
        let log_path = match stream {
            LogStream::Stdout => &facts.stdout_log_path,
            LogStream::Stderr => &facts.stderr_log_path,
        };
        let redactor = Redactor::new(&gather::secrets(&self.room));
        let text = redactor.redact_str(&String::from_utf8_lossy(&tail.bytes));
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        Ok(RuntimeLogsReport {
            schema: RuntimeLogsReport::SCHEMA,
            target: self.room.target(),
            runtime_id: runtime.id.as_str().to_owned(),
            stream: stream.as_str().into(),
            log_path: self.room.absolute(log_path),
            line_count: lines.len(),
            lines,
            has_earlier: tail.is_cut,
            other_stream: other.as_str().into(),
            other_has_lines,
        })
    }

    /// Passes on the last lines of a log and then every line that is written to it, without secrets, until the end is
    /// asked for: by the token of the context, or by an error of `sink`, which comes back.
    ///
    /// # Errors
    /// When there is no such runtime, the disk fails, or nothing in the context could end it.
    pub fn follow(
        &self,
        id: &str,
        stream: LogStream,
        lines: usize,
        sink: &mut dyn FnMut(&str) -> io::Result<()>,
    ) -> Result<io::Result<()>, Error> {
        let Some(cancel) = &self.room.env.cancel else {
            return Err(Error::new(ErrorKind::Usage, "following a log needs something that ends it"));
        };
        let configured = runtimes::configured(&self.room)?;
        let runtime = runtimes::runtime(&configured.runtimes, id)?;
        let mut log = Lines::new(Redactor::new(&gather::secrets(&self.room)), sink);
        let followed = follow_lines(&self.room, &configured.host, runtime, stream, lines, &mut log, cancel);
        match (followed, log.failure) {
            (_, Some(failure)) => Ok(Err(failure)),
            (followed, None) => followed.map(Ok),
        }
    }
}

fn follow_lines(
    room: &Room,
    host: &brigade_runtime::Host,
    runtime: &Runtime,
    stream: LogStream,
    lines: usize,
    log: &mut Lines<'_>,
    cancel: &CancelToken,
) -> Result<(), Error> {
    let from = FollowFrom::LastLines(lines);
    let mut push = |_: LogStream, bytes: &[u8]| log.push(bytes);
    runtimes::supervisor(room, host).follow(runtime, &[stream], from, &mut push, cancel)?;
    log.finish();
    Ok(())
}

/// Cuts a stream into lines and takes the secrets out of each. The lines of a private key are waited for, as only all
/// of them show what they are.
struct Lines<'a> {
    sink: &'a mut dyn FnMut(&str) -> io::Result<()>,
    redactor: Redactor,
    waiting: Vec<u8>,
    /// How much of what waits was looked at.
    seen: usize,
    is_in_key: bool,
    failure: Option<io::Error>,
}

impl<'a> Lines<'a> {
    fn new(redactor: Redactor, sink: &'a mut dyn FnMut(&str) -> io::Result<()>) -> Lines<'a> {
        Lines { sink, redactor, waiting: Vec::new(), seen: 0, is_in_key: false, failure: None }
    }

    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.waiting.extend_from_slice(bytes);
        while let Some(length) = self.waiting[self.seen..].iter().position(|byte| *byte == b'\n') {
            let end = self.seen + length + 1;
            let line = &self.waiting[self.seen..end];
            let holds = |text: &[u8]| line.windows(text.len()).any(|part| part == text);
            if holds(b"-----BEGIN ") && holds(b"PRIVATE KEY") {
                self.is_in_key = true;
            }
            if holds(b"-----END ") {
                self.is_in_key = false;
            }
            self.seen = end;
            if !self.is_in_key || LONGEST < self.seen {
                self.pass(end)?;
            }
        }
        if LONGEST < self.waiting.len() {
            self.pass(self.waiting.len())?;
        }
        Ok(())
    }

    fn finish(&mut self) {
        // Whoever asked for the end does not wait for a failure.
        let _ = self.pass(self.waiting.len());
    }

    /// Passes on the first bytes of what waits.
    fn pass(&mut self, end: usize) -> io::Result<()> {
        let bytes: Vec<u8> = self.waiting.drain(..end).collect();
        self.seen = 0;
        for line in self.redactor.redact_str(&String::from_utf8_lossy(&bytes)).lines() {
            if let Err(error) = (self.sink)(line) {
                // The supervisor is told that it is over, and the caller what happened.
                let kind = error.kind();
                self.failure = Some(error);
                return Err(kind.into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pieces: &[&str], expect: &[&str]) {
        let mut passed = Vec::new();
        let mut sink = |line: &str| {
            passed.push(line.to_owned());
            Ok(())
        };
        let mut lines = Lines::new(Redactor::new(&[]), &mut sink);
        for piece in pieces {
            lines.push(piece.as_bytes()).unwrap();
        }
        lines.finish();
        assert_eq!(passed, expect);
    }

    #[test]
    fn lines_are_whole_however_they_come() {
        check(&["a\nb", "c\n", "\nd"], &["a", "bc", "", "d"]);
        check(&[], &[]);
    }

    #[test]
    fn secrets_are_taken_out() {
        check(&["token=EXAM", "PLE123\nnext\n"], &["token=[redacted]", "next"]);
        let key =
            "-----BEGIN PRIVATE KEY-----\nTUlJRXZRSUJBREFOQmdrcWhraUc5dzA=\n-----END PRIVATE KEY-----\n";
        check(&["a\n", &key[..40], &key[40..], "b\n"], &["a", "[redacted]", "b"]);
    }

    #[test]
    fn a_line_that_does_not_end_is_passed_on() {
        let mut count = 0;
        let mut sink = |_: &str| {
            count += 1;
            Ok(())
        };
        Lines::new(Redactor::new(&[]), &mut sink).push(&vec![b'x'; LONGEST + 1]).unwrap();
        assert_eq!(count, 1);
    }

    #[test]
    fn a_reader_that_went_away_is_told_to_the_caller() {
        let mut sink = |_: &str| Err(io::ErrorKind::BrokenPipe.into());
        let mut lines = Lines::new(Redactor::new(&[]), &mut sink);
        assert!(lines.push(b"a\n").is_err());
        assert_eq!(lines.failure.map(|error| error.kind()), Some(io::ErrorKind::BrokenPipe));
    }
}
