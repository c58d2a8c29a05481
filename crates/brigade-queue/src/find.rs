//! Resolves a prefix to a call, checkpoint or run, and explains when that fails.

use std::collections::BTreeSet;

use brigade_call::{Call, Step};
use brigade_core::text::escape_terminal;
use brigade_core::{CallId, CheckpointId, ErrorCode, ErrorKind, IdPrefix, NextStep, RunId};
use brigade_policy::Failure;

use crate::{
    Match, QueueError, Records, ResolvedRun, StoredCall, StoredCheckpoint, StoredReceipt, Verification, View,
};

/// The shortest and longest mistyped ids for which similar ids are searched.
const MIN_NEAR_LEN: usize = 6;
const MAX_NEAR_LEN: usize = 64;

/// The maximum number of ids that a mistyped one is compared with.
const MAX_NEAR_IDS: usize = 1_000;

impl View<'_> {
    /// Finds the call with a prefix. If several match, only calls that allow the step count.
    ///
    /// # Errors
    /// Fails if no call or several calls match, or on a disk error.
    pub fn the_call(&self, prefix: &IdPrefix, step: Option<Step>) -> Result<StoredCall, Failure> {
        let allows = |call: &Call| step.is_none_or(|step| call.status.allows(step));
        match (self.find_call(prefix, &allows)?, step) {
            (Match::Ambiguous(none), Some(step)) if none.is_empty() => {
                let shown = escape_terminal(prefix.as_str());
                let message = format!("several calls match `{shown}`, and none can be {step}");
                Err(Failure::new(ErrorKind::Ambiguous, message).hint(NextStep::ListCalls))
            }
            (found, _) => {
                let none = (ErrorCode::CallMissing, NextStep::ListCalls);
                let id = |found: &StoredCall| found.call.id.to_string();
                the_one("call", prefix, exact("call", prefix, found, id), none, || {
                    self.near(Records::Calls, prefix.as_str())
                })
            }
        }
    }

    /// Returns the call with an id.
    ///
    /// # Errors
    /// Fails if it does not exist, or on a disk error.
    pub fn call_with_id(&self, id: &CallId) -> Result<StoredCall, Failure> {
        let found = self.call(id)?.map_or(Match::None, Match::One);
        let none = (ErrorCode::CallMissing, NextStep::ListCalls);
        the_one("call", &id.into(), found, none, || self.near(Records::Calls, id.as_str()))
    }

    /// Returns ids that begin like a mistyped one.
    fn near(&self, records: Records, typed: &str) -> Result<Vec<String>, QueueError> {
        let characters = typed.chars().count();
        if !(MIN_NEAR_LEN..=MAX_NEAR_LEN).contains(&characters) {
            return Ok(Vec::new());
        }
        let start: String = typed.chars().take(characters / 2).collect();
        self.candidates(records, &IdPrefix::new(&start), MAX_NEAR_IDS)
    }

    /// Finds the checkpoint with a prefix.
    ///
    /// # Errors
    /// Fails if no checkpoint or several checkpoints match, or on a disk error.
    pub fn the_checkpoint(&self, prefix: &IdPrefix) -> Result<StoredCheckpoint, Failure> {
        let id = |found: &StoredCheckpoint| found.checkpoint.id.to_string();
        self.one_checkpoint(prefix, exact("checkpoint", prefix, self.find_checkpoint(prefix)?, id))
    }

    /// Returns the checkpoint with an id.
    ///
    /// # Errors
    /// Fails if it does not exist, or on a disk error.
    pub fn checkpoint_with_id(&self, id: &CheckpointId) -> Result<StoredCheckpoint, Failure> {
        let prefix = IdPrefix::new(id.as_str());
        let found = match self.find_checkpoint(&prefix)? {
            Match::One(found) if found.checkpoint.id == *id => Match::One(found),
            _ => Match::None,
        };
        self.one_checkpoint(&prefix, found)
    }

    fn one_checkpoint(
        &self,
        prefix: &IdPrefix,
        found: Match<StoredCheckpoint>,
    ) -> Result<StoredCheckpoint, Failure> {
        let none = (ErrorCode::CheckpointMissing, NextStep::ListCheckpoints);
        the_one("checkpoint", prefix, found, none, || {
            let list = self.checkpoints()?;
            Ok(list.checkpoints.iter().map(|stored| stored.checkpoint.id.to_string()).collect())
        })
    }

    /// Finds the finished or running run with a prefix.
    ///
    /// # Errors
    /// Fails if no run or several runs match, if its receipt is unreadable, or on a disk error.
    pub fn the_run(&self, prefix: &IdPrefix) -> Result<ResolvedRun, Failure> {
        let none = (ErrorCode::RunMissing, NextStep::ListRuns);
        let found = match self.resolve_run(prefix) {
            Err(QueueError::Unreadable(_)) if prefix.is_start_of("run") => Match::None,
            found => exact("run", prefix, found?, |run| run.id().to_string()),
        };
        the_one("run", prefix, found, none, || self.near(Records::Runs, prefix.as_str()))
    }
}

impl ResolvedRun {
    /// Returns the receipt.
    ///
    /// # Errors
    /// Fails if the run has no receipt yet.
    pub fn into_receipt(self) -> Result<StoredReceipt, Failure> {
        let (run_id, why, read): (RunId, &str, fn(RunId) -> NextStep) = match self {
            ResolvedRun::Over(stored) => return Ok(*stored),
            ResolvedRun::Running(run) => (run.run_id, "is still running", NextStep::FollowOutput),
            ResolvedRun::Abandoned(run) => {
                (run.run_id, "was interrupted when its runner was ended", NextStep::ReadOutput)
            }
        };
        let message = format!("run {run_id} {why}, so it has no receipt yet");
        Err(Failure::new(ErrorKind::Refused, message).hint(read(run_id)))
    }
}

impl Verification {
    /// Checks that the ledger has the entry at which the verification starts, unless the ledger was truncated.
    ///
    /// # Errors
    /// Fails if the ledger is shorter and has no sign of truncation.
    pub fn check_start(&self, from: u64) -> Result<(), Failure> {
        if from <= 1 || from <= self.last || !self.findings.is_empty() {
            return Ok(());
        }
        let message = match self.last {
            0 => "cannot begin: the ledger is empty".to_owned(),
            last => format!("cannot begin at entry {from}: the last one of the ledger is {last}"),
        };
        Err(Failure::new(ErrorKind::Usage, message).hint(NextStep::VerifyRuns))
    }
}

/// Checks that a word is a known status.
///
/// # Errors
/// Fails with the known words if it is not.
pub fn check_status<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
    let known: BTreeSet<&str> = known.collect();
    if known.contains(word) {
        return Ok(());
    }
    let failure = Failure::new(ErrorKind::Usage, format!("unknown status `{}`", escape_terminal(word)));
    let words = known.iter().copied().collect::<Vec<_>>().join(", ");
    let failure = failure.coded(ErrorCode::StatusUnknown).near(word, known.iter().copied());
    Err(failure.hint(format!("statuses are {words}")))
}

/// Discards a match of only the word before the dash, such as `call`. A prefix must include the dash.
fn exact<T>(kind: &str, prefix: &IdPrefix, found: Match<T>, id: impl Fn(&T) -> String) -> Match<T> {
    match found {
        Match::One(found) if prefix.is_start_of(kind) && id(&found) != prefix.as_str() => Match::None,
        found => found,
    }
}

/// Returns the single match. `near` returns the ids to compare a mistyped one with.
fn the_one<T>(
    what: &str,
    prefix: &IdPrefix,
    found: Match<T>,
    (code, list): (ErrorCode, NextStep),
    near: impl FnOnce() -> Result<Vec<String>, QueueError>,
) -> Result<T, Failure> {
    match found {
        Match::One(found) => Ok(found),
        Match::None => {
            let typed = prefix.as_str();
            let message = format!("no {what} matches `{}`", escape_terminal(typed));
            let failure = Failure::new(ErrorKind::NotFound, message).coded(code);
            let near = near()?;
            Err(failure.near(typed, near.iter().map(String::as_str)).hint(list))
        }
        Match::Ambiguous(candidates) => Err(Failure::ambiguous(what, prefix.as_str(), candidates)),
    }
}
