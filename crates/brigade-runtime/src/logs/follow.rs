//! Follows logs as they grow.

use std::io;
use std::time::Duration;

use brigade_catalog::Runtime;
use brigade_fs::{Fs, ReadFile, RelPath};
use brigade_process::CancelToken;

use super::{LogStream, PIECE, older, open_if_there, tail_of};
use crate::error::RuntimeError;
use crate::supervisor::Supervisor;
use crate::system;

/// How often a log is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Where following begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowFrom {
    /// At the end of the log.
    End,
    /// This many lines before the end.
    LastLines(usize),
}

impl Supervisor<'_> {
    /// Passes new output of these logs to the sink, in pieces cut anywhere, until it is cancelled.
    ///
    /// Continues when a log is rotated, truncated or missing, and when its runtime is restarted.
    ///
    /// # Errors
    /// Fails if a log cannot be read, a path leads out of the workspace, or `sink` fails.
    pub fn follow(
        &self,
        runtime: &Runtime,
        streams: &[LogStream],
        from: FollowFrom,
        sink: &mut dyn FnMut(LogStream, &[u8]) -> io::Result<()>,
        cancel: &CancelToken,
    ) -> Result<(), RuntimeError> {
        let mut followed = Vec::new();
        for stream in streams {
            let path = self.log_path(runtime, *stream)?;
            let lines = match from {
                FollowFrom::End => 0,
                FollowFrom::LastLines(lines) => lines,
            };
            let (tail, file) = tail_of(self.fs, &path, lines)?;
            if !tail.bytes.is_empty() {
                sink(*stream, &tail.bytes).map_err(RuntimeError::Sink)?;
            }
            let log = FollowedLog { path, open: file.map(|file| (file, tail.end)) };
            followed.push((*stream, log));
        }
        while !cancel.is_cancelled() {
            for (stream, log) in &mut followed {
                log.pass(self.fs, cancel, &mut |bytes| sink(*stream, bytes))?;
            }
            system::wait(None, Some(cancel), POLL_INTERVAL);
        }
        Ok(())
    }
}

/// A log that is read as it grows.
struct FollowedLog {
    path: RelPath,
    /// The open file, and how many of its bytes were passed on.
    open: Option<(Box<dyn ReadFile>, u64)>,
}

impl FollowedLog {
    /// Passes on new output.
    fn pass(
        &mut self,
        fs: &dyn Fs,
        cancel: &CancelToken,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), RuntimeError> {
        // Check the name first, so that the rest of a renamed file is still passed on.
        let named = open_if_there(fs, &self.path)?;
        let Some(named) = named else {
            return match &mut self.open {
                Some((file, offset)) => pass_rest(&**file, offset, cancel, sink),
                None => Ok(()),
            };
        };
        let mut current = None;
        if let Some((file, offset)) = &mut self.open {
            pass_rest(&**file, offset, cancel, sink)?;
            current = Some(file.id()?);
        }
        let next = named.id()?;
        if current == Some(next) {
            return Ok(());
        }
        // After more than one rotation since the last read, earlier parts are lost.
        if current.is_some()
            && let Some(older) = open_if_there(fs, &older(&self.path))?
            && ![current, Some(next)].contains(&Some(older.id()?))
        {
            pass_rest(&*older, &mut 0, cancel, sink)?;
        }
        let (file, offset) = self.open.insert((named, 0));
        pass_rest(&**file, offset, cancel, sink)
    }
}

fn pass_rest(
    file: &dyn ReadFile,
    offset: &mut u64,
    cancel: &CancelToken,
    sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), RuntimeError> {
    // The log was truncated, so its current content is new.
    if file.len()? < *offset {
        *offset = 0;
    }
    // Even a log that grows faster than it is passed on must not prevent a cancel.
    while !cancel.is_cancelled() {
        let bytes = file.read_range(*offset, PIECE)?;
        if bytes.is_empty() {
            break;
        }
        *offset += bytes.len() as u64;
        sink(&bytes).map_err(RuntimeError::Sink)?;
    }
    Ok(())
}
