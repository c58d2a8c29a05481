//! Where the output of a run goes: masked into logs, and redacted into short summaries.

use std::io;

use brigade_core::redact::{Redactor, SecretValue};
use brigade_core::text::short;
use brigade_fs::{FsError, WriteFile};
use brigade_process::Stream;

/// Characters of a summary.
const SUMMARY_LIMIT: usize = 500;

/// Bytes from which a summary is made; white space is folded, so more than a summary has.
const SUMMARY_SOURCE: usize = 64 * 1024;

/// One stream's log and the beginning of its redacted text.
pub(crate) struct Channel {
    log: Box<dyn WriteFile>,
    mask: Redactor,
    masked: Vec<u8>,
    redactor: Redactor,
    redacted: Vec<u8>,
}

/// The end of one stream, as the receipt tells it.
pub(crate) struct Summary {
    /// At most 500 characters on one line, without secrets.
    pub(crate) text: String,
    /// Characters of the redacted text that the summary leaves out, as far as they were kept.
    pub(crate) omitted: usize,
}

impl Channel {
    pub(crate) fn new(log: Box<dyn WriteFile>, secrets: &[SecretValue]) -> Channel {
        Channel {
            log,
            mask: Redactor::bound_only(secrets),
            masked: Vec::new(),
            redactor: Redactor::new(secrets),
            redacted: Vec::new(),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.masked.clear();
        self.mask.push(bytes, &mut self.masked);
        self.log.write(&self.masked).map_err(io::Error::other)?;
        if self.redacted.len() < SUMMARY_SOURCE {
            self.redactor.push(bytes, &mut self.redacted);
        }
        Ok(())
    }

    /// Writes what is held back, and returns the summary.
    pub(crate) fn finish(mut self) -> Result<Summary, FsError> {
        self.masked.clear();
        self.mask.finish(&mut self.masked);
        self.log.write(&self.masked)?;
        self.log.sync()?;
        if self.redacted.len() < SUMMARY_SOURCE {
            self.redactor.finish(&mut self.redacted);
        }
        let text = String::from_utf8_lossy(&self.redacted);
        let summary = short(&text, SUMMARY_LIMIT);
        let omitted = text.chars().count().saturating_sub(summary.chars().count());
        Ok(Summary { text: summary, omitted })
    }
}

/// Both streams of a run.
pub(crate) struct Output {
    pub(crate) stdout: Channel,
    pub(crate) stderr: Channel,
}

impl Output {
    pub(crate) fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        match stream {
            Stream::Stdout => self.stdout.write(bytes),
            Stream::Stderr => self.stderr.write(bytes),
        }
    }
}
