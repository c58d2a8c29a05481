//! File errors, worded for the user at the terminal.

use std::io;
use std::path::Path;
use std::time::Duration;

use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, ErrorKind, Hint, OperationError};
use thiserror::Error;

/// A file operation that failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cannot {operation} `{}`: {kind}", escape_terminal(.path))]
pub struct FsError {
    /// The operation that failed, as a verb: `read`, `write`, `lock`.
    pub operation: &'static str,
    /// The file, relative to the root, or absolute if it is outside.
    pub path: String,
    /// What went wrong.
    pub kind: FsErrorKind,
}

/// Why a file operation failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FsErrorKind {
    /// No file has that name.
    #[error("it does not exist")]
    NotFound,
    /// The name is already taken.
    #[error("it already exists")]
    Exists,
    /// The disk or the quota is full.
    #[error("the disk is full; free some space and try again")]
    NoSpace,
    /// The disk is mounted read-only.
    #[error("the disk is read-only")]
    ReadOnly,
    /// The user lacks permission.
    #[error("permission denied; check the owner and mode of the file and its directory")]
    Permission,
    /// A file was expected, but the path is something else.
    #[error("it is not a file")]
    NotAFile,
    /// A directory was expected, but a part of the path is something else.
    #[error("a part of this path is not a directory")]
    NotADirectory,
    /// The path, or a link on it, leads out of the root.
    #[error(
        "it leads out of the workspace, perhaps through a link; replace the link with a directory or a file"
    )]
    Outside,
    /// The name is a link whose target does not exist.
    #[error("it is a link to a missing file; replace it with a regular file")]
    DanglingLink,
    /// The file is longer than the reader allows.
    #[error("it is larger than {limit} bytes")]
    TooLarge {
        /// The maximum length in bytes.
        limit: u64,
    },
    /// The file would exceed the size limit of the process.
    #[error("it would exceed the file size limit; raise the limit (`ulimit -f`) and try again")]
    SizeLimit,
    /// Another process holds the lock.
    #[error(
        "locked for {} s by {}; wait for it to end, or wait longer for the lock",
        .waited.as_secs(),
        escape_terminal(.holder)
    )]
    Locked {
        /// The holder's description of itself: process id, command, start time.
        holder: String,
        /// How long the lock was waited for.
        waited: Duration,
    },
    /// Git tracks it, so a cloned repository may have brought it.
    #[error("{}", brigade_core::TRACKED)]
    Tracked,
    /// The key of this host may be known to others, or there is no place for it.
    #[error("{0}")]
    UnsafeKey(String),
    /// Any other error.
    #[error("{text}")]
    Other {
        /// The kind that the standard library reports.
        kind: io::ErrorKind,
        /// The message of the operating system.
        text: String,
    },
}

impl OperationError for FsError {
    fn kind(&self) -> ErrorKind {
        match self.kind {
            FsErrorKind::Tracked => ErrorKind::Refused,
            _ => ErrorKind::Environment,
        }
    }

    fn code(&self) -> Option<ErrorCode> {
        Some(match &self.kind {
            FsErrorKind::NotFound => ErrorCode::FileMissing,
            FsErrorKind::Tracked => ErrorCode::TrackedState,
            FsErrorKind::Exists => ErrorCode::FileExists,
            FsErrorKind::NoSpace => ErrorCode::DiskFull,
            FsErrorKind::ReadOnly => ErrorCode::DiskReadOnly,
            FsErrorKind::Permission | FsErrorKind::UnsafeKey(_) => ErrorCode::PermissionDenied,
            FsErrorKind::NotAFile | FsErrorKind::NotADirectory => ErrorCode::NotAFile,
            FsErrorKind::Outside | FsErrorKind::DanglingLink => ErrorCode::PathOutside,
            FsErrorKind::TooLarge { .. } | FsErrorKind::SizeLimit => ErrorCode::FileTooLarge,
            FsErrorKind::Locked { .. } => ErrorCode::Locked,
            FsErrorKind::Other { .. } => ErrorCode::Environment,
        })
    }

    fn hints(&self) -> Vec<Hint> {
        let hint = match self.kind {
            FsErrorKind::Permission => "check who owns it, and who may write there",
            FsErrorKind::NotAFile | FsErrorKind::NotADirectory => {
                "use another path, or move the existing entry away"
            }
            _ => return Vec::new(),
        };
        vec![hint.into()]
    }
}

impl FsError {
    /// Creates an error from the operation, the path and the cause.
    pub fn new(operation: &'static str, path: impl Into<String>, kind: FsErrorKind) -> FsError {
        let path = path.into();
        FsError { operation, path: if path.is_empty() { ".".to_owned() } else { path }, kind }
    }

    pub(crate) fn io(operation: &'static str, path: impl Into<String>, error: &io::Error) -> FsError {
        FsError::new(operation, path, FsErrorKind::from(error))
    }

    /// Names the file by its absolute path, for readers who do not know which root is meant.
    #[must_use]
    pub fn below(self, root: &Path) -> FsError {
        let path = if self.path == "." { root.to_owned() } else { root.join(&self.path) };
        FsError { path: path.to_string_lossy().into_owned(), ..self }
    }

    /// Returns whether the file does not exist.
    pub fn is_not_found(&self) -> bool {
        self.kind == FsErrorKind::NotFound
    }

    /// Returns whether the operation was cancelled while it read the file.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.kind, FsErrorKind::Other { kind: io::ErrorKind::Interrupted, .. })
    }

    /// Returns whether the name is already taken.
    pub fn is_exists(&self) -> bool {
        self.kind == FsErrorKind::Exists
    }
}

impl From<&io::Error> for FsErrorKind {
    fn from(error: &io::Error) -> FsErrorKind {
        match error.kind() {
            io::ErrorKind::NotFound => FsErrorKind::NotFound,
            io::ErrorKind::AlreadyExists => FsErrorKind::Exists,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FsErrorKind::NoSpace,
            io::ErrorKind::FileTooLarge => FsErrorKind::SizeLimit,
            io::ErrorKind::ReadOnlyFilesystem => FsErrorKind::ReadOnly,
            io::ErrorKind::PermissionDenied => FsErrorKind::Permission,
            io::ErrorKind::IsADirectory => FsErrorKind::NotAFile,
            io::ErrorKind::NotADirectory => FsErrorKind::NotADirectory,
            // The kernel's error if a path leaves the root.
            io::ErrorKind::CrossesDevices => FsErrorKind::Outside,
            kind => {
                let mut text = error.to_string();
                if let Some(at) = text.find(" (os error") {
                    text.truncate(at);
                }
                FsErrorKind::Other { kind, text: text.to_lowercase() }
            }
        }
    }
}

/// Converts the result of a system call.
pub(crate) trait Explain<T> {
    fn explain(self, operation: &'static str, path: &str) -> Result<T, FsError>;
}

impl<T> Explain<T> for io::Result<T> {
    fn explain(self, operation: &'static str, path: &str) -> Result<T, FsError> {
        self.map_err(|error| FsError::io(operation, path, &error))
    }
}

impl<T> Explain<T> for rustix::io::Result<T> {
    fn explain(self, operation: &'static str, path: &str) -> Result<T, FsError> {
        self.map_err(|errno| FsError::io(operation, path, &io::Error::from(errno)))
    }
}

/// The result of an operation on a file that may be missing.
pub trait OrAbsent<T> {
    /// Returns `None` if the file is missing.
    ///
    /// # Errors
    /// Returns every other error.
    fn or_absent(self) -> Result<Option<T>, FsError>;
}

impl<T> OrAbsent<T> for Result<T, FsError> {
    fn or_absent(self) -> Result<Option<T>, FsError> {
        match self {
            Err(error) if error.is_not_found() => Ok(None),
            found => found.map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_below_a_root_is_named_absolutely() {
        let named =
            |path: &str| FsError::new("read", path, FsErrorKind::NotFound).below(Path::new("/home/ann")).path;
        assert_eq!(["a/b.toml", "", "/etc/x"].map(named), ["/home/ann/a/b.toml", "/home/ann", "/etc/x"]);
    }

    #[test]
    fn errors_tell_the_user_what_to_do() {
        let full = FsError::io("write", ".brigade/x", &io::Error::from(rustix::io::Errno::NOSPC));
        assert_eq!(
            full.to_string(),
            "cannot write `.brigade/x`: the disk is full; free some space and try again"
        );
        let long = FsError::io("write", "calls.jsonl", &io::Error::from(rustix::io::Errno::FBIG));
        assert_eq!(long.kind, FsErrorKind::SizeLimit);
        let odd = FsError::io("read", "a\x1b[2J", &io::Error::from(rustix::io::Errno::IO));
        assert_eq!(odd.to_string(), "cannot read `a\\u{1b}[2J`: input/output error");
    }
}
