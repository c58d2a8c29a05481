//! Errors of git commands.

use brigade_call::Objection;
use brigade_core::text::escape_terminal;
use brigade_fs::FsError;
use brigade_process::RunError;
use thiserror::Error;

/// Why a git command failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GitError {
    /// The gate refused to start git.
    #[error("git may not be started: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Refused(Vec<Objection>),
    /// Git exited with an error.
    #[error("git {operation} failed: {}", escape_terminal(.message))]
    Failed {
        /// The git command.
        operation: &'static str,
        /// What git printed.
        message: String,
    },
    /// Git could not be started.
    #[error("git {operation} could not be run: {source}")]
    Run {
        /// The git command.
        operation: &'static str,
        /// The cause.
        source: RunError,
    },
    /// The call was cancelled.
    #[error("git {operation} was interrupted")]
    Interrupted {
        /// The git command.
        operation: &'static str,
    },
    /// Reading or writing a file failed.
    #[error(transparent)]
    Fs(#[from] FsError),
}
