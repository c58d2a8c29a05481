//! Why git did not do what was asked.

use brigade_call::Objection;
use brigade_core::text::escape_terminal;
use brigade_fs::FsError;
use brigade_process::RunError;
use thiserror::Error;

/// Why git did not do what was asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GitError {
    /// The gate refuses git.
    #[error("git may not be started: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Refused(Vec<Objection>),
    /// Git failed.
    #[error("git {operation} failed: {}", escape_terminal(.message))]
    Failed {
        /// Its command.
        operation: &'static str,
        /// What it said.
        message: String,
    },
    /// Git could not be run.
    #[error("git {operation} could not be run: {source}")]
    Run {
        /// Its command.
        operation: &'static str,
        /// Why.
        source: RunError,
    },
    /// The call was cancelled.
    #[error("git {operation} was interrupted")]
    Interrupted {
        /// Its command.
        operation: &'static str,
    },
    /// The disk failed.
    #[error(transparent)]
    Fs(#[from] FsError),
}
