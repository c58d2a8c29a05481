//! The logs of finished and running runs.
//!
//! A running run has no receipt yet. It is found through its call, and its logs grow.

use std::io;
use std::ops::ControlFlow;

use brigade_call::RUNS;
use brigade_core::IdPrefix;
use brigade_exec::{LOG_SHOWN, follow_log, log_end, pass_log};
use brigade_fs::{FileMode, Fs as _, MemoryFs, ReadFile, RelPath};
use brigade_policy::Failure;
use brigade_queue::{KeptLog, ResolvedRun};
use brigade_redact::Redactor;
use brigade_runtime::LogStream;
use brigade_workspace::{WorkspaceContext, gather};

use crate::error::{Error, ErrorKind};
use crate::report::{Report as _, RunLogReport};
use crate::runs::Runs;

/// How far to read a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogReach {
    /// To its current end.
    #[default]
    Now,
    /// Until its run ends.
    EndOfRun,
}

impl Runs {
    /// Returns the end of a run's log, without secrets.
    ///
    /// # Errors
    /// Fails if the prefix does not match exactly one run, the log is missing, or on a file error.
    pub fn log(&self, prefix: &IdPrefix, stream: LogStream) -> Result<RunLogReport, Error> {
        let run = meant_run(&self.context, prefix)?;
        let OpenLog { path, start, file } = open_log(&self.context, &run, stream)?;
        let bytes = file.len()?;
        Ok(RunLogReport {
            schema: RunLogReport::SCHEMA,
            target: self.context.target(),
            run_id: run.id().to_string(),
            running: matches!(run, ResolvedRun::Running(_)),
            stream,
            path,
            bytes: start + bytes,
            text: log_end(&*file, bytes, Redactor::new(&gather::secrets(&self.context)).for_output())?,
            omitted_bytes: start + bytes.saturating_sub(LOG_SHOWN),
        })
    }

    /// Passes the raw bytes of a run's log in pieces.
    ///
    /// Following ends with the run, when the cancel token is set, or with an error of `sink`.
    ///
    /// # Errors
    /// Fails if the prefix does not match exactly one run, the log is missing, or on a file error. Following also needs
    /// a cancel token.
    pub fn log_bytes(
        &self,
        prefix: &IdPrefix,
        stream: LogStream,
        reach: LogReach,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<ControlFlow<io::Error>, Error> {
        let cancel = self.context.cancel.as_ref();
        let run = meant_run(&self.context, prefix)?;
        let OpenLog { file, .. } = open_log(&self.context, &run, stream)?;
        match (reach, cancel, &run) {
            (LogReach::Now, _, _)
            | (LogReach::EndOfRun, _, ResolvedRun::Over(_) | ResolvedRun::Abandoned(_)) => {
                Ok(pass_log(&*file, 0, file.len()?, cancel, sink)?.map_continue(|_| ()))
            }
            (LogReach::EndOfRun, Some(cancel), ResolvedRun::Running(running)) => {
                let mut is_running = || Ok(self.context.queue().read()?.is_running(running)?);
                follow_log::<Error>(&*file, cancel, &mut is_running, sink)
            }
            (LogReach::EndOfRun, None, ResolvedRun::Running(_)) => {
                Err(Error::new(ErrorKind::Usage, "following a log needs a cancel token"))
            }
        }
    }
}

/// A log that is read.
pub struct OpenLog {
    /// Its path for reports, or the address of the team's database.
    pub path: String,
    /// How many bytes of it come before, and are not kept.
    pub start: u64,
    /// Its bytes.
    pub file: Box<dyn ReadFile>,
}

/// Opens the log of a stream of a run: the file, or what another host kept in the store that both share.
///
/// # Errors
/// Fails if the log does not exist, or on a disk error.
pub fn open_log(
    context: &WorkspaceContext,
    run: &ResolvedRun,
    stream: LogStream,
) -> Result<OpenLog, Failure> {
    let path: RelPath = format!("{RUNS}/{}.{}.log", run.stored_id(), stream.as_str())
        .parse()
        .map_err(|_| Failure::new(ErrorKind::Refused, "the receipt of this run has an invalid log path"))?;
    match context.fs.open(&path) {
        Ok(file) => Ok(OpenLog { path: context.absolute(path.as_str()), start: 0, file }),
        Err(error) if error.is_not_found() => {
            let kept = context.store.as_ref().map(|store| store.kept_log(run.stored_id(), stream.as_str()));
            if let Some(KeptLog { start, bytes }) = kept.transpose()?.flatten() {
                let memory = MemoryFs::new();
                memory.create_dir_all(&path.parent())?;
                memory.write_atomic(&path, &bytes, FileMode::Private)?;
                return Ok(OpenLog { path: context.calls_path(), start, file: memory.open(&path)? });
            }
            let message = format!("the log of run {} no longer exists", run.id());
            Err(Failure::new(ErrorKind::NotFound, message))
        }
        Err(error) => Err(error.into()),
    }
}

/// The word for the newest finished run, unless it is the prefix of a run id.
const LATEST: &str = "latest";

/// Finds a finished or running run.
pub(crate) fn meant_run(context: &WorkspaceContext, prefix: &IdPrefix) -> Result<ResolvedRun, Error> {
    let view = context.queue().read()?;
    let found = view.the_run(prefix);
    let is_unknown = found.as_ref().is_err_and(|failure| failure.kind() == ErrorKind::NotFound);
    if prefix.as_str() != LATEST || !is_unknown {
        return Ok(found?);
    }
    match view.receipts(1)?.receipts.into_iter().next() {
        Some(newest) => Ok(view.the_run(&IdPrefix::new(newest.receipt.id.as_str()))?),
        None => Ok(found?),
    }
}
