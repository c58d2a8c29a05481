//! The logs of runtimes, by lines and without secrets.

use std::io;
use std::ops::ControlFlow;

use crate::find_runtime;
use brigade_redact::Redactor;
use brigade_runtime::{Checks, LogStream};
use brigade_workspace::gather;

use crate::error::{Error, ErrorKind};
use crate::report::{Report as _, RuntimeLogsReport};
use crate::runtimes;
use crate::runtimes::Runtimes;

impl Runtimes {
    /// Returns the last lines of a log, without secrets. A missing log is empty.
    ///
    /// # Errors
    /// Fails if the runtime does not exist, the log is outside of the workspace, or on a file error.
    pub fn logs(&self, id: &str, stream: LogStream, lines: usize) -> Result<RuntimeLogsReport, Error> {
        let configured = runtimes::configured_runtimes(&self.context)?;
        let runtime = find_runtime(&configured.runtimes, id)?;
        let supervisor = configured.host.supervisor();
        let tail = supervisor.tail(runtime, stream, lines)?;
        let other = match stream {
            LogStream::Stdout => LogStream::Stderr,
            LogStream::Stderr => LogStream::Stdout,
        };
        // This is only a hint, so an unreadable log counts as empty.
        let other_has_lines = supervisor.tail(runtime, other, 1).is_ok_and(|tail| !tail.bytes.is_empty());
        let facts = supervisor.facts_of_one(runtime, Checks::Skip, None);
        let log_path = match stream {
            LogStream::Stdout => &facts.stdout_log_path,
            LogStream::Stderr => &facts.stderr_log_path,
        };
        let redactor = Redactor::new(&gather::secrets(&self.context)).for_output();
        let text = redactor.redact_str(&String::from_utf8_lossy(&tail.bytes));
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        Ok(RuntimeLogsReport {
            schema: RuntimeLogsReport::SCHEMA,
            target: self.context.target(),
            runtime_id: runtime.id.as_str().to_owned(),
            stream,
            log_path: self.context.absolute(log_path),
            line_count: lines.len(),
            lines,
            has_earlier: tail.is_cut,
            other_stream: other,
            other_has_lines,
        })
    }

    /// Passes the last lines of a log and then every new line, without secrets. Ends when the cancel token is set, or
    /// with an error of `sink`.
    ///
    /// # Errors
    /// Fails if the runtime does not exist, there is no cancel token, or on a file error.
    pub fn follow(
        &self,
        id: &str,
        stream: LogStream,
        lines: usize,
        sink: &mut dyn FnMut(&str) -> io::Result<()>,
    ) -> Result<ControlFlow<io::Error>, Error> {
        let Some(cancel) = &self.context.cancel else {
            return Err(Error::new(ErrorKind::Usage, "following a log needs a cancel token"));
        };
        let configured = runtimes::configured_runtimes(&self.context)?;
        let runtime = find_runtime(&configured.runtimes, id)?;
        let supervisor = configured.host.supervisor();
        Ok(supervisor.follow_lines(runtime, stream, lines, sink, cancel)?)
    }
}
