//! Following logs as they grow.

use std::io;
use std::time::Duration;

use brigade_catalog::Runtime;
use brigade_fs::{Fs, FsError, ReadFile, RelPath};
use brigade_process::CancelToken;

use super::{LogStream, PIECE, TAIL_LIMIT, last_lines};
use crate::error::RuntimeError;
use crate::supervisor::Supervisor;
use crate::system;

/// How often a log is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Where following begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowFrom {
    /// At the end of the log.
    End,
    /// So many lines before the end.
    LastLines(usize),
}

impl Supervisor<'_> {
    /// Passes on what is written to these logs, in pieces cut anywhere, until the end is asked for.
    ///
    /// Goes on when a log is rotated, cut off, not there yet, or its runtime stops and starts again.
    ///
    /// # Errors
    /// When a log cannot be read, a path leads out of the workspace, or `sink` fails.
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
            let mut log = Followed { path: self.log_path(runtime, *stream)?, open: None };
            let lines = match from {
                FollowFrom::End => 0,
                FollowFrom::LastLines(lines) => lines,
            };
            if let Some(file) = open(self.fs, &log.path)? {
                let tail = last_lines(&*file, 0, lines, TAIL_LIMIT)?;
                if !tail.bytes.is_empty() {
                    sink(*stream, &tail.bytes).map_err(RuntimeError::Sink)?;
                }
                log.open = Some((file, tail.end));
            }
            followed.push((*stream, log));
        }
        while !cancel.is_cancelled() {
            for (stream, log) in &mut followed {
                log.pass(self.fs, cancel, &mut |bytes| sink(*stream, bytes))?;
            }
            system::wait(None, Some(cancel), LOOK);
        }
        Ok(())
    }
}

/// A log that is read on as it grows.
struct Followed {
    path: RelPath,
    /// The open file, and how much of it was passed on.
    open: Option<(Box<dyn ReadFile>, u64)>,
}

impl Followed {
    /// Passes on what is new.
    fn pass(
        &mut self,
        fs: &dyn Fs,
        cancel: &CancelToken,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), RuntimeError> {
        // The name first: whatever is in the old file when it has lost its name is still passed on.
        let named = open(fs, &self.path)?;
        let is_other = match (&self.open, &named) {
            (Some((open, _)), Some(named)) => open.id()? != named.id()?,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if let Some((file, offset)) = &mut self.open {
            pass_rest(&**file, offset, cancel, sink)?;
        }
        if is_other && let Some(file) = named {
            let (file, offset) = self.open.insert((file, 0));
            pass_rest(&**file, offset, cancel, sink)?;
        }
        Ok(())
    }
}

fn pass_rest(
    file: &dyn ReadFile,
    offset: &mut u64,
    cancel: &CancelToken,
    sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), RuntimeError> {
    // Cut off: what is there now is new.
    if file.len()? < *offset {
        *offset = 0;
    }
    // One that is written faster than it is passed on must not keep the end away.
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

fn open(fs: &dyn Fs, path: &RelPath) -> Result<Option<Box<dyn ReadFile>>, FsError> {
    match fs.open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}
