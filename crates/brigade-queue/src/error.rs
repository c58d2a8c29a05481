//! Why the queue could not be read or changed.

use brigade_call::{CallStatus, CheckpointRefusal, WrongStep};
use brigade_core::{CallId, CheckpointId, ErrorCode, ErrorKind, Hint, NextStep, OperationError, RunId};
use brigade_fs::FsError;
use brigade_journal::JournalError;
use thiserror::Error;

use crate::store::BadReceipt;

/// Why the queue could not be read or changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QueueError {
    /// A disk or lock error.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// A store that does not use files failed.
    #[error("the store of calls failed: {0}")]
    Store(String),
    /// A store that several hosts share cannot be reached, or refused.
    #[error("{message}")]
    Shared {
        /// The kind.
        kind: ErrorKind,
        /// The stable code.
        code: ErrorCode,
        /// The reason.
        message: String,
    },
    /// No call has this id.
    #[error("no call `{0}`")]
    NoSuchCall(CallId),
    /// No checkpoint has this id.
    #[error("no checkpoint `{0}`")]
    NoSuchCheckpoint(CheckpointId),
    /// The id of a new call is already used.
    #[error("call `{0}` already exists")]
    IdTaken(CallId),
    /// The call was changed since it was read.
    #[error("call {id} was changed in the meantime; show it again")]
    Changed {
        /// The call.
        id: CallId,
    },
    /// The step is not allowed in the call's status.
    #[error("call {id}: {reason}")]
    WrongStep {
        /// The call.
        id: CallId,
        /// The reason.
        reason: WrongStep,
    },
    /// The checkpoint cannot be answered.
    #[error("checkpoint {id}: {reason}")]
    Checkpoint {
        /// The checkpoint.
        id: CheckpointId,
        /// The reason.
        reason: CheckpointRefusal,
    },
    /// The checkpoint's file was edited outside Brigade.
    #[error("the file of checkpoint {id} differs from the record of its call: {differs}")]
    CheckpointChanged {
        /// The checkpoint.
        id: CheckpointId,
        /// The names of the members that differ.
        differs: String,
    },
    /// The call is not waiting for this checkpoint.
    #[error("call {call} is not waiting for checkpoint {id}")]
    NotWaiting {
        /// The checkpoint.
        id: CheckpointId,
        /// Its call.
        call: CallId,
    },
    /// The call of the checkpoint was approved by v0.30, which bound nothing, so it cannot be resumed.
    #[error(
        "checkpoint {id} belongs to a call that was approved by Brigade v0.30, which bound nothing, so call {call} \
         cannot be resumed"
    )]
    NothingBound {
        /// The checkpoint.
        id: CheckpointId,
        /// Its call.
        call: CallId,
    },
    /// The call is not running in this run.
    #[error("call {call} is not running as {run}")]
    NotThisRun {
        /// The call.
        call: CallId,
        /// The run that should have been finished.
        run: RunId,
    },
    /// The call is running or was run. No call runs twice.
    #[error("call {id} was already run as {run} and is {status}; nothing runs twice")]
    HasRun {
        /// The call.
        id: CallId,
        /// Its run.
        run: RunId,
        /// Its current status.
        status: CallStatus,
    },
    /// The run already has a receipt.
    #[error("run `{0}` already has a receipt")]
    RunTaken(RunId),
    /// The receipt cannot describe the end of this run.
    #[error("the receipt of run {run} cannot be recorded: {reason}")]
    BadReceipt {
        /// The run.
        run: RunId,
        /// The reason.
        reason: &'static str,
    },
    /// The file of a receipt is not a valid receipt.
    #[error("`{}`: {}", .0.place, .0.problem)]
    Unreadable(BadReceipt),
    /// The record was written by a newer version of Brigade. It can be read but is never rewritten.
    #[error(
        "`{0}` was written by a newer version of Brigade and is left as it is; use that version to change it"
    )]
    Newer(String),
    /// The journal's name is taken by something that is not a file. Only a compaction moves it to a quarantine.
    #[error("`{0}` is not a file, so no call can be read or stored")]
    Blocked(String),
    /// A stored line at a known position cannot be read.
    #[error("`{path}`, byte {offset}: not a call record")]
    BadRecord {
        /// The file.
        path: String,
        /// The offset of the line.
        offset: u64,
    },
}

impl From<JournalError> for QueueError {
    fn from(error: JournalError) -> QueueError {
        match error {
            JournalError::Fs(error) => QueueError::Fs(error),
            JournalError::Newer(what) => QueueError::Newer(what),
            JournalError::Blocked(path) => QueueError::Blocked(path),
            JournalError::BadRecord { path, offset } => QueueError::BadRecord { path, offset },
            error => QueueError::Store(error.to_string()),
        }
    }
}

impl OperationError for QueueError {
    fn kind(&self) -> ErrorKind {
        match self {
            QueueError::Fs(error) => error.kind(),
            QueueError::Shared { kind, .. } => *kind,
            QueueError::Blocked(_) | QueueError::Store(_) => ErrorKind::Environment,
            _ => ErrorKind::Refused,
        }
    }

    fn code(&self) -> Option<ErrorCode> {
        Some(match self {
            QueueError::Fs(error) => return error.code(),
            QueueError::Shared { code, .. } => *code,
            QueueError::Blocked(_) => ErrorCode::JournalBlocked,
            QueueError::Store(_) => ErrorCode::Environment,
            QueueError::NoSuchCall(_) => ErrorCode::CallMissing,
            QueueError::NoSuchCheckpoint(_) => ErrorCode::CheckpointMissing,
            QueueError::Changed { .. } | QueueError::CheckpointChanged { .. } => ErrorCode::ChangedMeanwhile,
            QueueError::WrongStep { .. } | QueueError::Checkpoint { .. } | QueueError::NotWaiting { .. } => {
                ErrorCode::WrongState
            }
            QueueError::HasRun { .. } => ErrorCode::AlreadyRun,
            QueueError::Newer(_) => ErrorCode::NewerVersion,
            QueueError::BadRecord { .. } => ErrorCode::RecordInvalid,
            _ => ErrorCode::Refused,
        })
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            QueueError::Fs(error) => error.hints(),
            QueueError::Blocked(_) => vec![Hint::to("move it aside", NextStep::CompactState)],
            QueueError::Shared { code, .. } if *code == ErrorCode::TeamSchemaOlder => {
                vec![Hint::to("update them", NextStep::MigrateTeam)]
            }
            _ => Vec::new(),
        }
    }

    fn is_about_request(&self) -> bool {
        matches!(self, QueueError::Unreadable(_))
    }
}
