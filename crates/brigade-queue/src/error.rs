//! Why the queue could not be read or changed.

use brigade_call::{CallStatus, CheckpointRefusal, WrongStep};
use brigade_core::{CallId, CheckpointId, RunId};
use brigade_fs::FsError;
use brigade_journal::JournalError;
use thiserror::Error;

/// Why the queue could not be read or changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QueueError {
    /// The disk, or the lock.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// A store that is not in files failed.
    #[error("the store of calls failed: {0}")]
    Store(String),
    /// No call has this id.
    #[error("no call `{0}`")]
    NoSuchCall(CallId),
    /// No checkpoint has this id.
    #[error("no checkpoint `{0}`")]
    NoSuchCheckpoint(CheckpointId),
    /// The id of a new call is in use.
    #[error("there is a call `{0}` already")]
    IdTaken(CallId),
    /// The call was changed by somebody else since it was read.
    #[error("call {id} was changed meanwhile; look at it again")]
    Changed {
        /// The call.
        id: CallId,
    },
    /// The step does not follow from where the call stands.
    #[error("call {id}: {reason}")]
    WrongStep {
        /// The call.
        id: CallId,
        /// Why not.
        reason: WrongStep,
    },
    /// The checkpoint cannot be answered.
    #[error("checkpoint {id}: {reason}")]
    Checkpoint {
        /// The checkpoint.
        id: CheckpointId,
        /// Why not.
        reason: CheckpointRefusal,
    },
    /// The checkpoint's file was changed by somebody.
    #[error("the file of checkpoint {id} is not what the record of its call says: {differs}")]
    CheckpointChanged {
        /// The checkpoint.
        id: CheckpointId,
        /// The names of what differs.
        differs: String,
    },
    /// The call does not wait for this checkpoint.
    #[error("call {call} does not wait for checkpoint {id}")]
    NotWaiting {
        /// The checkpoint.
        id: CheckpointId,
        /// Its call.
        call: String,
    },
    /// The call of the checkpoint was approved by Brigade v0.30, which bound nothing, so it could not go on behind an
    /// answer.
    #[error(
        "checkpoint {id} is of Brigade v0.30, whose approvals bind nothing, so call {call} cannot go on behind it; queue \
         the call again"
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
        /// The run that wanted to end.
        run: RunId,
    },
    /// The call was run, or runs: nothing runs twice.
    #[error("call {id} has been run already, as {run}, and is {status}; nothing runs twice")]
    HasRun {
        /// The call.
        id: CallId,
        /// Its run.
        run: RunId,
        /// Where it stands now.
        status: CallStatus,
    },
    /// A run of this id has a receipt already.
    #[error("there is a receipt of run `{0}` already")]
    RunTaken(RunId),
    /// A receipt says something that a run of this call cannot end with.
    #[error("the receipt of run {run} cannot be recorded: {reason}")]
    BadReceipt {
        /// The run.
        run: RunId,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A newer version of Brigade wrote it; it is readable and never rewritten.
    #[error(
        "`{0}` was written by a newer version of Brigade and is left as it is; use that version to change it"
    )]
    Newer(String),
    /// Something that is no file has the journal's name. It is never moved unasked: a compaction moves it to a
    /// quarantine.
    #[error("`{0}` is not a file, so no call can be read or stored")]
    Blocked(String),
    /// A stored line cannot be read although its place is known.
    #[error("`{path}`, byte {offset}: not a call record")]
    BadRecord {
        /// The file.
        path: String,
        /// Where the line begins.
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
