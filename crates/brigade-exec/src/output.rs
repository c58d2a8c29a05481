//! Writes the output of a run: masked into logs, and redacted into short summaries.

use std::io;

use brigade_core::text::short;
use brigade_core::{Fingerprint, FingerprintStream};
use brigade_fs::{FsError, WriteFile};
use brigade_process::Stream;
use brigade_redact::{Redactor, SecretValue};

use crate::execute::Progress;

/// The maximum length of a summary, in characters.
const SUMMARY_LIMIT: usize = 500;

/// How many bytes a summary is made from. White space is folded, so this is more than a summary has.
const SUMMARY_SOURCE: usize = 64 * 1024;

/// The log of one stream, and the start of its redacted text.
pub(crate) struct Channel {
    log: Box<dyn WriteFile>,
    log_bytes: u64,
    log_sha256: FingerprintStream,
    mask: Redactor,
    masked: Vec<u8>,
    redactor: Redactor,
    redacted: Vec<u8>,
}

/// The summary of one stream for the receipt.
pub(crate) struct Summary {
    /// At most 500 characters on one line, without secrets.
    pub(crate) text: String,
    /// Number of kept characters of the redacted text that the summary omits.
    pub(crate) omitted: usize,
    /// Length and sha256 of the log; `None` if the log could not be written.
    pub(crate) log: Option<(u64, Fingerprint)>,
}

impl Summary {
    /// Returns the summary of a stream whose log could not be written.
    pub(crate) fn unknown() -> Summary {
        Summary { text: String::new(), omitted: 0, log: None }
    }
}

impl Channel {
    pub(crate) fn new(log: Box<dyn WriteFile>, secrets: &[SecretValue]) -> Channel {
        Channel {
            log,
            log_bytes: 0,
            log_sha256: FingerprintStream::new(),
            mask: Redactor::bound_only(secrets),
            masked: Vec::new(),
            redactor: Redactor::new(secrets).for_output(),
            redacted: Vec::new(),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.masked.clear();
        self.mask.push(bytes, &mut self.masked);
        self.log_masked().map_err(io::Error::other)?;
        if self.redacted.len() < SUMMARY_SOURCE {
            self.redactor.push(bytes, &mut self.redacted);
        }
        Ok(())
    }

    fn log_masked(&mut self) -> Result<(), FsError> {
        self.log.write(&self.masked)?;
        self.log_bytes += self.masked.len() as u64;
        self.log_sha256.update(&self.masked);
        Ok(())
    }

    /// Writes buffered bytes, and returns the summary.
    pub(crate) fn finish(mut self) -> Result<Summary, FsError> {
        self.masked.clear();
        self.mask.finish(&mut self.masked);
        self.log_masked()?;
        self.log.sync()?;
        if self.redacted.len() < SUMMARY_SOURCE {
            self.redactor.finish(&mut self.redacted);
        }
        let text = String::from_utf8_lossy(&self.redacted);
        let summary = short(&text, SUMMARY_LIMIT);
        let omitted = text.chars().count().saturating_sub(summary.chars().count());
        let log = Some((self.log_bytes, self.log_sha256.finish()));
        Ok(Summary { text: summary, omitted, log })
    }
}

/// Both streams of a run.
pub(crate) struct Output<'p> {
    pub(crate) stdout: Channel,
    pub(crate) stderr: Channel,
    pub(crate) progress: Option<&'p dyn Progress>,
}

impl Output<'_> {
    pub(crate) fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let channel = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        channel.write(bytes)?;
        if let Some(progress) = self.progress {
            progress.printed(&channel.masked);
        }
        Ok(())
    }
}
