//! The error of a survey or a fix.

use brigade_core::{ErrorCode, ErrorKind, Hint, OperationError};
use brigade_fs::FsError;
use brigade_policy::Failure;
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
    /// The kitchen could not be read.
    #[error(transparent)]
    Kitchen(Box<Failure>),
    /// A process may not be stopped. The text is the reason.
    #[error("{0}")]
    LeftAlone(String),
    /// The files of an ended runtime could not be removed.
    #[error("runtime {0} could not be cleaned up")]
    NotCleared(String),
}

impl From<Failure> for UpkeepError {
    fn from(failure: Failure) -> UpkeepError {
        UpkeepError::Kitchen(Box::new(failure))
    }
}

impl UpkeepError {
    /// Returns the error of the crate that failed.
    fn inner(&self) -> Option<&dyn OperationError> {
        match self {
            UpkeepError::Fs(error) => Some(error),
            UpkeepError::Queue(error) => Some(error),
            UpkeepError::Runtime(error) => Some(error),
            UpkeepError::Kitchen(_) | UpkeepError::LeftAlone(_) | UpkeepError::NotCleared(_) => None,
        }
    }
}

impl OperationError for UpkeepError {
    fn kind(&self) -> ErrorKind {
        match self {
            UpkeepError::Kitchen(failure) => failure.kind(),
            error => error.inner().map_or(ErrorKind::Refused, OperationError::kind),
        }
    }

    fn code(&self) -> Option<ErrorCode> {
        self.inner()?.code()
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            UpkeepError::Kitchen(failure) => failure.hints().to_vec(),
            error => error.inner().map(OperationError::hints).unwrap_or_default(),
        }
    }

    fn is_about_request(&self) -> bool {
        self.inner().is_none_or(OperationError::is_about_request)
    }
}
