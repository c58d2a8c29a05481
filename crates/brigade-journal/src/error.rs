//! Why a journal could not be read or changed.

use brigade_fs::FsError;
use thiserror::Error;

/// Why a journal could not be read or changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JournalError {
    /// A disk or lock error.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The journal was written by a newer version. It can be read but is never rewritten.
    #[error("`{0}` was written by a newer version and is left as it is; use that version to change it")]
    Newer(String),
    /// The journal's name is taken by something that is not a file. Only a compaction moves it.
    #[error("`{0}` is not a file, so no record can be read or stored")]
    Blocked(String),
    /// A stored line at a known position cannot be read.
    #[error("`{path}`, byte {offset}: not a record")]
    BadRecord {
        /// The file that contains the line.
        path: String,
        /// The offset of the line.
        offset: u64,
    },
}
