//! Errors of git commands.

use std::path::PathBuf;

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
    /// The only git on `PATH` is where agents can write.
    #[error(
        "`{}` is in a directory that agents can write, so it is not used; install git in a directory outside of the \
        workspace and of `write_paths`, and add that to PATH",
        escape_terminal(&.path.to_string_lossy())
    )]
    Writable {
        /// Its path.
        path: PathBuf,
    },
    /// Git was ended, because it waited for a file that never has content.
    #[error("git {operation} was ended, because it waited without an end: {}", waited_for(.file.as_ref()))]
    Waiting {
        /// The git command.
        operation: &'static str,
        /// The file, if it was found.
        file: Option<PathBuf>,
    },
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

fn waited_for(file: Option<&PathBuf>) -> String {
    match file {
        Some(file) => {
            let file = escape_terminal(&file.to_string_lossy()).into_owned();
            format!("`{file}` is not a regular file (a named pipe, for example); remove it")
        }
        None => "one of the files that it reads is a named pipe, or does not answer".to_owned(),
    }
}
