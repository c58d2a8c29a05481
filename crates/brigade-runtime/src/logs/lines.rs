//! Follows logs line by line, without secrets.

use std::io;
use std::ops::ControlFlow;

use brigade_catalog::Runtime;
use brigade_process::CancelToken;
use brigade_redact::Redactor;

use super::{FollowFrom, LogStream};
use crate::error::RuntimeError;
use crate::supervisor::Supervisor;

/// How many bytes of a line, or of a private key, are buffered before they are passed on incomplete.
const MAX_PENDING_BYTES: usize = 1 << 20;

impl Supervisor<'_> {
    /// Passes on the last lines of a log and then every new line, without secrets, until the token is triggered. An
    /// error of `sink` ends it.
    ///
    /// # Errors
    /// Fails if the log cannot be read, or its path leads out of the workspace.
    pub fn follow_lines(
        &self,
        runtime: &Runtime,
        stream: LogStream,
        lines: usize,
        sink: &mut dyn FnMut(&str) -> io::Result<()>,
        cancel: &CancelToken,
    ) -> Result<ControlFlow<io::Error>, RuntimeError> {
        let mut log = Lines::new(self.host.redactor().for_output(), sink);
        let mut push = |_: LogStream, bytes: &[u8]| log.push(bytes);
        let followed = self.follow(runtime, &[stream], FollowFrom::LastLines(lines), &mut push, cancel);
        if followed.is_ok() {
            log.finish();
        }
        match (followed, log.failure) {
            (_, Some(failure)) => Ok(ControlFlow::Break(failure)),
            (followed, None) => followed.map(ControlFlow::Continue),
        }
    }
}

/// Splits a stream into lines and masks the secrets of each. A private key is buffered until its last line, because
/// only the whole key is recognized as a secret.
struct Lines<'a> {
    sink: &'a mut dyn FnMut(&str) -> io::Result<()>,
    redactor: Redactor,
    waiting: Vec<u8>,
    /// How many bytes of the buffer were searched.
    scanned: usize,
    is_in_key: bool,
    failure: Option<io::Error>,
}

impl<'a> Lines<'a> {
    fn new(redactor: Redactor, sink: &'a mut dyn FnMut(&str) -> io::Result<()>) -> Lines<'a> {
        Lines { sink, redactor, waiting: Vec::new(), scanned: 0, is_in_key: false, failure: None }
    }

    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.waiting.extend_from_slice(bytes);
        while let Some(length) = self.waiting[self.scanned..].iter().position(|byte| *byte == b'\n') {
            let end = self.scanned + length + 1;
            let line = &self.waiting[self.scanned..end];
            let holds = |text: &[u8]| line.windows(text.len()).any(|part| part == text);
            if holds(b"-----BEGIN ") && holds(b"PRIVATE KEY") {
                self.is_in_key = true;
            }
            if holds(b"-----END ") {
                self.is_in_key = false;
            }
            self.scanned = end;
            if !self.is_in_key || MAX_PENDING_BYTES < self.scanned {
                self.pass(end)?;
            }
        }
        if MAX_PENDING_BYTES < self.waiting.len() {
            self.pass(self.waiting.len())?;
        }
        Ok(())
    }

    fn finish(&mut self) {
        // After a cancel, the caller does not wait for this result.
        let _ = self.pass(self.waiting.len());
    }

    /// Passes on the first bytes of the buffer.
    fn pass(&mut self, end: usize) -> io::Result<()> {
        let bytes: Vec<u8> = self.waiting.drain(..end).collect();
        self.scanned = 0;
        for line in self.redactor.redact_str(&String::from_utf8_lossy(&bytes)).lines() {
            if let Err(error) = (self.sink)(line) {
                // The supervisor only gets the kind of the error, and the caller gets the error itself.
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
        check(&["token=ghp_16C7e42F292c69", "12E7710c838347Ae178B4a\nnext\n"], &["token=[redacted]", "next"]);
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
        Lines::new(Redactor::new(&[]), &mut sink).push(&vec![b'x'; MAX_PENDING_BYTES + 1]).unwrap();
        assert_eq!(count, 1);
    }

    #[test]
    fn a_broken_pipe_is_reported_to_the_caller() {
        let mut sink = |_: &str| Err(io::ErrorKind::BrokenPipe.into());
        let mut lines = Lines::new(Redactor::new(&[]), &mut sink);
        assert!(lines.push(b"a\n").is_err());
        assert_eq!(lines.failure.map(|error| error.kind()), Some(io::ErrorKind::BrokenPipe));
    }
}
