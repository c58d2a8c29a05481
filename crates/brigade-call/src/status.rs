//! The lifecycle of a call and its valid transitions.

use std::fmt;

use brigade_core::{ErrorCode, ErrorKind, OperationError, open_words};
use thiserror::Error;

open_words! {
    /// The status of a call, in the order of the lifecycle. A call with a status that this version does not know is
    /// read-only.
    CallStatus {
        /// Waits for a person's decision.
        Pending = "pending",
        /// A person approved it; it may run once.
        Approved = "approved",
        /// A person rejected it.
        Rejected = "rejected",
        /// A person put it on hold.
        Held = "held",
        /// A runner has claimed it.
        Running = "running",
        /// A run of it paused at a checkpoint.
        Waiting = "waiting",
        /// Its checkpoints are approved; it may be resumed.
        ResumePending = "resume-pending",
        /// It ran and succeeded.
        Completed = "completed",
        /// It ran and failed.
        Failed = "failed",
        /// It ran and was ended at its timeout.
        TimedOut = "timed-out",
        /// Its runner is gone; it is unknown what the call did.
        Interrupted = "interrupted",
    }
}

/// A step in the lifecycle of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A person approves it.
    Approve,
    /// A person rejects it.
    Reject,
    /// A person puts it on hold.
    Hold,
    /// A runner claims it.
    Claim,
    /// A runner claims it to resume after its checkpoints.
    ClaimResume,
    /// Its run ends.
    Finish,
    /// Its runner is found gone.
    Interrupt,
    /// All its checkpoints are approved.
    ReadyToResume,
}

/// A step that is not valid for the status of the call.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the call is {from}, so it cannot be {step}")]
pub struct WrongStep {
    /// The status of the call.
    pub from: CallStatus,
    /// The requested step.
    pub step: Step,
}

impl OperationError for WrongStep {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Refused
    }

    fn code(&self) -> Option<ErrorCode> {
        Some(ErrorCode::WrongState)
    }
}

impl CallStatus {
    /// Returns whether nothing happens until a person decides.
    pub fn waits_for_a_person(&self) -> bool {
        matches!(self, CallStatus::Pending | CallStatus::Held | CallStatus::Waiting)
    }

    /// Returns whether the status is final.
    pub fn is_finished(&self) -> bool {
        match self {
            CallStatus::Completed
            | CallStatus::Failed
            | CallStatus::TimedOut
            | CallStatus::Interrupted
            | CallStatus::Rejected => true,
            CallStatus::Pending
            | CallStatus::Approved
            | CallStatus::Held
            | CallStatus::Running
            | CallStatus::Waiting
            | CallStatus::ResumePending
            | CallStatus::Other(_) => false,
        }
    }

    /// Returns whether the step is allowed.
    pub fn allows(&self, step: Step) -> bool {
        match step {
            Step::Approve => matches!(self, CallStatus::Pending | CallStatus::Held),
            Step::Hold => matches!(self, CallStatus::Pending | CallStatus::Held | CallStatus::Approved),
            // A person can always end a call that is not running.
            Step::Reject => matches!(
                self,
                CallStatus::Pending
                    | CallStatus::Held
                    | CallStatus::Approved
                    | CallStatus::Waiting
                    | CallStatus::ResumePending
            ),
            Step::Claim => matches!(self, CallStatus::Approved),
            Step::ClaimResume => matches!(self, CallStatus::ResumePending),
            Step::Finish | Step::Interrupt => matches!(self, CallStatus::Running),
            Step::ReadyToResume => matches!(self, CallStatus::Waiting),
        }
    }

    /// Checks that the step is allowed.
    ///
    /// # Errors
    /// Fails if it is not allowed.
    pub fn check(&self, step: Step) -> Result<(), WrongStep> {
        if self.allows(step) { Ok(()) } else { Err(WrongStep { from: self.clone(), step }) }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::Approve => "approved",
            Step::Reject => "rejected",
            Step::Hold => "held",
            Step::Claim => "run",
            Step::ClaimResume => "resumed",
            Step::Finish => "finished",
            Step::Interrupt => "interrupted",
            Step::ReadyToResume => "made ready to resume",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back() {
        for status in CallStatus::ALL {
            assert_eq!(CallStatus::from_word(status.as_str()), *status);
        }
        assert_eq!(CallStatus::from_word("resumed"), CallStatus::Other("resumed".into()));
    }

    #[test]
    fn only_pending_and_held_calls_can_be_approved() {
        let approvable: Vec<_> =
            CallStatus::ALL.iter().filter(|status| status.allows(Step::Approve)).collect();
        assert_eq!(approvable, [&CallStatus::Pending, &CallStatus::Held]);
    }

    #[test]
    fn unfinished_calls_that_do_not_run_can_be_rejected() {
        for status in CallStatus::ALL {
            let can_end = !status.is_finished() && *status != CallStatus::Running;
            assert_eq!(status.allows(Step::Reject), can_end, "{status}");
        }
    }

    #[test]
    fn a_finished_call_allows_nothing() {
        let steps = [
            Step::Approve,
            Step::Reject,
            Step::Hold,
            Step::Claim,
            Step::ClaimResume,
            Step::Finish,
            Step::Interrupt,
            Step::ReadyToResume,
        ];
        for status in CallStatus::ALL.iter().filter(|status| status.is_finished()) {
            assert!(!steps.iter().any(|step| status.allows(*step)), "{status}");
        }
    }
}
