//! Why a journal could not be read or changed.

use brigade_fs::FsError;
use thiserror::Error;

/// Why a journal could not be read or changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The disk, or the lock.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// A newer version wrote it. It can be read and is never rewritten.
    #[error("`{0}` was written by a newer version and is left as it is; use that version to change it")]
    Newer(String),
    /// Something that is not a file has the journal's name. Only a compaction moves it.
    #[error("`{0}` is not a file, so no record can be read or stored")]
    Blocked(String),
    /// A stored line cannot be read although its place is known.
    #[error("`{path}`, byte {offset}: not a record")]
    BadRecord {
        /// The file.
        path: String,
        /// Where the line begins.
        offset: u64,
    },
}
