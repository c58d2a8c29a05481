//! The error of a survey or a fix.

use brigade_fs::FsError;
use brigade_queue::QueueError;
use brigade_runtime::RuntimeError;
use thiserror::Error;

/// Why a workspace could not be surveyed or fixed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UpkeepError {
    /// File access failed.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The queue failed.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The runtime supervisor failed.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// A process may not be stopped; the text says why.
    #[error("{0}")]
    LeftAlone(String),
    /// The files of an ended runtime could not be removed.
    #[error("runtime {0} could not be cleaned up")]
    NotCleared(String),
}
