//! Why a workspace could not be looked over.

use brigade_fs::FsError;
use brigade_queue::QueueError;
use brigade_runtime::RuntimeError;
use thiserror::Error;

/// Why a workspace could not be looked over, in the words of whoever failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UpkeepError {
    /// The disk.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The queue.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The runtimes.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// A process must be left alone; the text says why.
    #[error("{0}")]
    LeftAlone(String),
    /// A runtime that ended could not be cleared away.
    #[error("runtime {0} could not be cleaned up")]
    NotCleared(String),
}
