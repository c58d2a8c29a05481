//! Queue methods for runners: approved calls, the runner's identity, and messages for a run that was not recorded.

use std::ops::ControlFlow;
use std::sync::OnceLock;

use brigade_call::{Call, CallStatus, Receipt, Runner, is_of_execution};
use brigade_core::{ErrorKind, Hint, NextStep};
use brigade_policy::Failure;
use brigade_process::ProcessIdentity;

use crate::{Calls, ChainEnd, QueueError, StoredCall, View};

impl View<'_> {
    /// Returns the approved calls, oldest first.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn approved_by_age(&self) -> Result<Vec<StoredCall>, QueueError> {
        let mut approved = Vec::new();
        self.for_each_call(&Calls::Of(CallStatus::Approved), &mut |stored| {
            approved.push(stored);
            ControlFlow::Continue(())
        })?;
        approved.sort_by_key(|stored| (stored.call.created_at.is_none(), stored.call.created_at));
        Ok(approved)
    }

    /// Returns whether a call of an agent may run now.
    ///
    /// Fewer than `most` calls of the same agent may be running, in any process. If this call writes in the workspace,
    /// none of them may write there. Calls of the agent's own sessions and calls of its executions are counted
    /// separately, so that a task never prevents its agent from ending it.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn is_its_turn(&self, call: &Call, most: u64) -> Result<bool, QueueError> {
        let of_execution =
            |call: &Call| call.session.as_ref().is_some_and(|session| is_of_execution(&session.id));
        let (mut running, mut writing) = (0, false);
        self.for_each_call(&Calls::Of(CallStatus::Running), &mut |stored| {
            if stored.call.caller == call.caller {
                running += u64::from(of_execution(&stored.call) == of_execution(call));
                writing |= writes(&stored.call);
            }
            ControlFlow::Continue(())
        })?;
        Ok(running < most.max(1) && !(writing && writes(call)))
    }
}

/// Returns whether a call writes in the workspace.
fn writes(call: &Call) -> bool {
    call.contract.effects.iter().any(|effect| effect == "local-write")
}

/// Returns the identity of this process for a claim.
///
/// # Errors
/// Fails if the system does not provide it.
pub fn this_runner() -> Result<Runner, Failure> {
    static THIS: OnceLock<Runner> = OnceLock::new();
    if let Some(known) = THIS.get() {
        return Ok(known.clone());
    }
    let identity = ProcessIdentity::current().map_err(|error| {
        let message = format!("this process cannot be identified: {}", error.kind());
        Failure::new(ErrorKind::Environment, message)
    })?;
    let this = Runner {
        pid: identity.pid(),
        start_time: identity.start_time(),
        boot_id: identity.boot_id().to_owned(),
    };
    Ok(THIS.get_or_init(|| this).clone())
}

impl ChainEnd {
    /// Returns a warning if the ledger was damaged when the receipt was added.
    pub fn warning(self) -> Option<Hint> {
        match self {
            ChainEnd::Whole => None,
            ChainEnd::Lost => Some(
                Hint::from(
                    "the end of the ledger of receipts was lost or changed; the entry of this run comes after \
                     the gap, which `",
                )
                .then(NextStep::VerifyRuns)
                .then("` shows from now on"),
            ),
        }
    }
}

/// What remains of a run that could not be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunRemains {
    /// Its outcome: the receipt and the checkpoints.
    Outcome,
    /// Its outcome, in the memory of this process.
    Here,
    /// Only its logs, because another process has recorded how the run ended.
    Nothing,
}

/// Explains that the end of a run could not be recorded. Running it again would not record it.
pub(crate) fn unrecorded(failure: Failure, receipt: &Receipt, kept: RunRemains) -> Failure {
    let why = failure.to_string();
    let why = why.trim_end_matches("; free some space and try again");
    let then = match kept {
        RunRemains::Outcome => "its outcome is kept, and the next command that changes the queue records it",
        RunRemains::Here => {
            "this process keeps its outcome, and records it with the next call; without it, the call counts as \
             interrupted"
        }
        RunRemains::Nothing => "the call counts as interrupted from now on",
    };
    let call = &receipt.call_id;
    let message =
        format!("the program of call {call} has ended, and that could not be recorded: {why}; {then}");
    let failure = Failure::new(failure.kind(), message);
    let run = &receipt.id;
    failure
        .hint(NextStep::ReadOutput(run.clone()))
        .hint(Hint::to("ask for it again, once the cause is fixed", NextStep::Replay(run.clone())))
}

#[cfg(test)]
mod tests {
    use brigade_fs::{FsError, FsErrorKind};

    use super::*;

    #[test]
    fn a_run_that_was_not_recorded_is_not_retried() {
        let cases = [
            (RunRemains::Nothing, "interrupted from now on"),
            (RunRemains::Here, "this process keeps its outcome"),
            (RunRemains::Outcome, "its outcome is kept"),
        ];
        for (kept, expect) in cases {
            let full = FsError::new("write", "receipt", FsErrorKind::NoSpace);
            let error = unrecorded(
                full.into(),
                &Receipt::new(
                    "run-1".parse().unwrap(),
                    "call-1".parse().unwrap(),
                    brigade_call::RunStatus::Completed,
                ),
                kept,
            );
            assert!(error.to_string().contains(expect) && error.to_string().contains("disk is full"));
            assert!(!error.to_string().contains("try again"), "{error}");
        }
    }
}
