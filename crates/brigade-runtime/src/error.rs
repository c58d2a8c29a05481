//! Why a runtime could not be looked after.

use std::io;

use brigade_fs::FsError;
use thiserror::Error;

/// Why the supervisor could not do its job. What a runtime itself does wrong is in the outcomes instead.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// A file could not be read or written, or the lock was not free in time.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The metadata is of a version that this one must not rewrite.
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
    /// Whoever asked for the log does not take it.
    #[error("could not pass on the log: {0}")]
    Sink(io::Error),
    /// The system does not say which boot this is or who the calling process is.
    #[error("the system does not tell who a process is: {0}")]
    Identity(io::Error),
}
