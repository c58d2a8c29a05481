//! Errors of the supervisor.

use std::io;

use brigade_core::{ErrorCode, ErrorKind, Hint, OperationError};
use brigade_fs::FsError;
use thiserror::Error;

/// An error of the supervisor. Failures of a runtime itself are outcomes, not errors.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// A file could not be read or written, or the lock was not free in time.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The metadata has a newer version and must not be rewritten.
    #[error("`{path}` was written by a newer version of Brigade; use that one to start or stop the runtime")]
    Newer {
        /// The metadata file.
        path: String,
    },
    /// A log could not be opened for the runtime.
    #[error("cannot open the log `{path}`: {source}")]
    Log {
        /// The log file.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A path of the runtime's entry leads out of the workspace.
    #[error("the field `{field}` of the runtime leads out of the workspace")]
    Outside {
        /// The field.
        field: &'static str,
    },
    /// The sink of a log failed.
    #[error("could not pass on the log: {0}")]
    Sink(io::Error),
    /// The system does not report the boot id or the identity of this process.
    #[error("the system does not report the identity of a process: {0}")]
    Identity(io::Error),
}

impl OperationError for RuntimeError {
    fn kind(&self) -> ErrorKind {
        match self {
            RuntimeError::Newer { .. } | RuntimeError::Outside { .. } => ErrorKind::Refused,
            _ => ErrorKind::Environment,
        }
    }

    fn code(&self) -> Option<ErrorCode> {
        if let RuntimeError::Fs(error) = self { error.code() } else { None }
    }

    fn hints(&self) -> Vec<Hint> {
        if let RuntimeError::Fs(error) = self { error.hints() } else { Vec::new() }
    }

    fn is_about_request(&self) -> bool {
        self.kind() == ErrorKind::Refused
    }
}
