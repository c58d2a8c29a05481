//! Runs approved calls.
//!
//! A run has four phases. Each is a type that only the phase before it makes:
//!
//! | phase | what holds |
//! | --- | --- |
//! | [`PreparedRun`] | the call is verified, and what it needs is open; nothing is written |
//! | [`ClaimedRun`] | the claim is stored, the logs are open, and room for the outcome is reserved |
//! | [`ExecutedRun`] | the program has ended, and its receipt is complete |
//! | [`RecordedRun`] | receipt, ledger entry and state of the call are stored |

mod claimed;
mod executed;
mod prepared;
mod recorded;

use std::sync::Arc;

use brigade_call::{Claim, Refusal as NotVerified, VerifiedCall};
use brigade_ops::{Attempt, Error, ReadyCall, Runner};
use brigade_queue::LockedQueue;
use brigade_workspace::{Config, gather::PlannedCall};

use crate::agent_calls::RequestOutcome;
use crate::workspace_inner::WorkspaceInner;

use claimed::ClaimedRun;
use executed::ExecutedRun;
use prepared::PreparedRun;
use recorded::RecordedRun;

/// Where a verified call is before its claim.
pub(crate) enum ClaimSource<'a> {
    /// It is stored, at this revision.
    Stored(u64),
    /// It is not stored yet. Under the lock, this stores it with its claim, unless there is a reason not to.
    New(&'a mut InsertFn<'a>),
}

/// Stores a new call. Without a claim, it is stored as one that does not run yet.
pub(crate) type InsertFn<'a> =
    dyn FnMut(&mut LockedQueue<'_>, Option<Claim>) -> Result<InsertOutcome, Error> + 'a;

/// What came of storing a new call.
pub(crate) enum InsertOutcome {
    /// It is stored, and claimed.
    Claimed,
    /// It does not run now.
    NotClaimed(RequestOutcome),
}

/// What came of a call that was to be claimed.
pub(crate) enum ClaimOutcome {
    /// It was stored, or is now.
    Attempted(Attempt),
    /// The call was new, and was not claimed.
    NotClaimed(RequestOutcome),
}

/// Why a run ends before its program starts.
enum NotStarted {
    /// The call may not run, or not now.
    Outcome(Box<ClaimOutcome>),
    /// The disk failed.
    Failed(Error),
}

impl NotStarted {
    fn refused(call: &VerifiedCall, refusal: NotVerified) -> NotStarted {
        let attempt = Attempt::Refused(Box::new(call.call().clone()), Box::new(refusal));
        NotStarted::Outcome(Box::new(ClaimOutcome::Attempted(attempt)))
    }
}

impl From<Error> for NotStarted {
    fn from(error: Error) -> NotStarted {
        NotStarted::Failed(error)
    }
}

impl Runner for WorkspaceInner {
    fn attempt(&self, ready: ReadyCall) -> Result<Attempt, Error> {
        let source = ClaimSource::Stored(ready.revision);
        match run(self, ready.call, source, ready.planned, &ready.config)? {
            ClaimOutcome::Attempted(attempt) => Ok(attempt),
            ClaimOutcome::NotClaimed(_) => unreachable!("a stored call is not new"),
        }
    }
}

/// Claims the call, runs it, and records how it ended.
pub(crate) fn run(
    inner: &WorkspaceInner,
    call: VerifiedCall,
    source: ClaimSource<'_>,
    planned: PlannedCall,
    config: &Arc<Config>,
) -> Result<ClaimOutcome, Error> {
    let claimed: Result<ClaimedRun<'_>, NotStarted> =
        PreparedRun::new(inner, call, planned, config).and_then(|prepared| prepared.claim(source));
    match claimed {
        Ok(claimed) => {
            let executed: ExecutedRun<'_> = claimed.execute();
            let recorded: RecordedRun = executed.record()?;
            Ok(ClaimOutcome::Attempted(recorded.into_attempt()))
        }
        Err(NotStarted::Outcome(outcome)) => Ok(*outcome),
        Err(NotStarted::Failed(error)) => Err(error),
    }
}
