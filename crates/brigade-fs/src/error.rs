//! What can go wrong with files, in words for the person at the terminal.

use std::io;
use std::time::Duration;

use brigade_core::text::escape_terminal;
use thiserror::Error;

/// A file operation that failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cannot {operation} `{}`: {kind}", escape_terminal(.path))]
pub struct FsError {
    /// What was tried, as a verb: `read`, `write`, `lock`.
    pub operation: &'static str,
    /// The file, relative to the root; absolute when it is outside.
    pub path: String,
    /// What went wrong.
    pub kind: FsErrorKind,
}

/// Why a file operation failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FsErrorKind {
    /// Nothing has that name.
    #[error("it does not exist")]
    NotFound,
    /// Something has that name already.
    #[error("it exists already")]
    Exists,
    /// The disk or the quota is full.
    #[error("the disk is full; free some space and try again")]
    NoSpace,
    /// The disk cannot be written.
    #[error("the disk is read-only")]
    ReadOnly,
    /// The user may not do that.
    #[error("permission denied; check the owner and mode of the file and its folder")]
    Permission,
    /// A file was expected and something else is there.
    #[error("it is not a file; move it away and try again")]
    NotAFile,
    /// A folder was expected and something else is there.
    #[error("a part of this path is not a folder; move it away and try again")]
    NotADirectory,
    /// The path or a link on it leads out of the root.
    #[error(
        "it leads out of the workspace, perhaps through a link; replace the link by a folder or file of its own"
    )]
    Outside,
    /// The name is that of a link, and nothing is where it leads.
    #[error("it is a link that leads to nothing; replace it by a file of its own")]
    DanglingLink,
    /// The file is longer than the reader allows.
    #[error("it is larger than {limit} bytes")]
    TooLarge {
        /// The most bytes that the reader takes.
        limit: u64,
    },
    /// The process may not make a file that long.
    #[error("it would be longer than files may be here; raise the limit (`ulimit -f`) and try again")]
    SizeLimit,
    /// Somebody else holds the lock.
    #[error(
        "locked for {} s by {}; wait for it to end, or raise --lock-timeout",
        .waited.as_secs(),
        escape_terminal(.holder)
    )]
    Locked {
        /// What the holder wrote about itself: process id, command, since when.
        holder: String,
        /// How long was waited.
        waited: Duration,
    },
    /// Something else.
    #[error("{text}")]
    Other {
        /// The kind, as the standard library sorts it.
        kind: io::ErrorKind,
        /// The system's words for it.
        text: String,
    },
}

impl FsError {
    /// Makes an error of what was tried, on which path, and what went wrong.
    pub fn new(operation: &'static str, path: impl Into<String>, kind: FsErrorKind) -> FsError {
        let path = path.into();
        FsError { operation, path: if path.is_empty() { ".".to_owned() } else { path }, kind }
    }

    pub(crate) fn io(operation: &'static str, path: impl Into<String>, error: &io::Error) -> FsError {
        FsError::new(operation, path, FsErrorKind::from(error))
    }

    /// Tells whether the file is simply not there.
    pub fn is_not_found(&self) -> bool {
        self.kind == FsErrorKind::NotFound
    }

    /// Tells whether the name is taken.
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
            // The kernel's answer when a path leaves the root it was opened beneath.
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

/// Turns the result of a system call into ours.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_speak_to_the_person_at_the_terminal() {
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
