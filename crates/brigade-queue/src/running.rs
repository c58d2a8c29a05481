//! What a runner needs of the queue: approved calls, its own identity, and words for a run that was not recorded.

use std::ops::ControlFlow;
use std::sync::OnceLock;

use brigade_call::{Call, CallStatus, Receipt, Runner, is_of_execution};
use brigade_core::{ErrorKind, Hint, NextStep, RunId};
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

    /// Returns whether a call of an agent may run now: fewer than `most` calls of the same agent run, whoever runs
    /// them, and none of them writes in the workspace if this one does. Calls of the agent's own sessions and those of
    /// its executions are counted apart, so that a task never keeps its agent from ending it.
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
/// Fails if the system does not tell it.
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
                    "the ledger of receipts was lost or changed at its end; the entry of this run stands behind the \
                     gap, which `",
                )
                .then(NextStep::VerifyRuns)
                .then("` shows from now on"),
            ),
        }
    }
}

/// What is left of a run that could not be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunRemains {
    /// Its outcome: its receipt and its checkpoints.
    Outcome,
    /// Its outcome, in the memory of this process.
    Here,
    /// Its logs alone: another process has recorded how the run ended.
    Nothing,
}

/// Explains an end that could not be recorded. Running again would not record it.
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
    let call = receipt.call_id();
    let message =
        format!("the program of call {call} has ended, and that could not be recorded: {why}; {then}");
    let failure = Failure::new(failure.kind(), message);
    match receipt.id().parse::<RunId>() {
        Ok(run) => failure
            .hint(NextStep::ReadOutput(run.clone()))
            .hint(Hint::to("ask for it again, once the cause is fixed", NextStep::Replay(run))),
        Err(_) => failure,
    }
}

#[cfg(test)]
mod tests {
    use brigade_fs::{FsError, FsErrorKind};

    use super::*;

    #[test]
    fn what_cannot_be_recorded_is_not_to_be_tried_again() {
        let cases = [
            (RunRemains::Nothing, "interrupted from now on"),
            (RunRemains::Here, "this process keeps its outcome"),
            (RunRemains::Outcome, "its outcome is kept"),
        ];
        for (kept, expect) in cases {
            let full = FsError::new("write", "receipt", FsErrorKind::NoSpace);
            let error = unrecorded(
                full.into(),
                &Receipt::new("run-1", "call-1", brigade_call::RunStatus::Completed),
                kept,
            );
            assert!(error.to_string().contains(expect) && error.to_string().contains("disk is full"));
            assert!(!error.to_string().contains("try again"), "{error}");
        }
    }
}
