//! Keeps the end of a run that cannot be recorded. Space for it is reserved before the run starts, and the kept outcome
//! is recorded later.

use brigade_call::{Call, Checkpoint, Receipt, RunObserved};
use brigade_core::{Json, Timestamp};
use brigade_policy::Failure;
use serde::Deserialize;

use crate::error::QueueError;
use crate::journal::OutcomeReservation;
use crate::queue::{FinishedRun, LockedQueue};
use crate::running::{RunRemains, unrecorded};

/// The unrecorded end of a run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Outcome {
    /// Its receipt, which names no checkpoints.
    pub receipt: Receipt,
    /// Its checkpoints, which are not stored yet.
    pub checkpoints: Vec<Checkpoint>,
}

impl Outcome {
    /// Returns the receipt as it will be recorded, provided the checkpoints keep their ids.
    pub fn as_recorded(&self) -> Receipt {
        self.receipt.with_checkpoints(&self.checkpoints)
    }

    /// Adds the arguments of the call to the receipt, if they were omitted for lack of space.
    pub(crate) fn with_arguments_of(mut self, call: &Call) -> Outcome {
        if self.receipt.args == Json::Null {
            self.receipt.args.clone_from(&call.args);
            self.receipt.arguments.clone_from(&call.arguments);
        }
        self
    }

    /// Returns a smaller outcome for a full disk: without the lists of used files, and without the arguments, which the
    /// call has, too.
    pub(crate) fn without_lists(&self) -> Outcome {
        let mut receipt = self.receipt.clone();
        let left_out = "the list of files was left out, because the disk had no room for it".to_owned();
        receipt.observed = receipt.observed.as_ref().map(RunObserved::without_lists);
        if receipt.touched.take_if(|files| !files.is_empty()).is_some() {
            receipt.warnings.get_or_insert_default().push(left_out);
        }
        receipt.args = Json::Null;
        receipt.arguments.clear();
        Outcome { receipt, checkpoints: self.checkpoints.clone() }
    }
}

impl OutcomeReservation {
    /// Records how the claimed run ended. If that fails, keeps the outcome, unless another process has already ended
    /// the run.
    ///
    /// # Errors
    /// The error says why the end could not be recorded, and what happens to the outcome.
    pub fn record(
        mut self,
        locked: Result<LockedQueue<'_>, QueueError>,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<FinishedRun, Failure> {
        let receipt = &outcome.receipt;
        let recorded = locked.and_then(|mut locked| {
            let mut with = |stored: &[Checkpoint]| receipt.with_checkpoints(stored);
            let finished =
                locked.finish(&receipt.call_id, &receipt.id, outcome.checkpoints.clone(), &mut with, now);
            if matches!(finished, Err(QueueError::NotThisRun { .. })) {
                locked.transaction.report_late(&outcome.as_recorded())?;
            }
            finished
        });
        match recorded {
            Ok(finished) => {
                self.give_back();
                Ok(finished)
            }
            Err(error) => {
                let is_ours = !matches!(error, QueueError::NotThisRun { .. });
                let kept = match is_ours {
                    true => self.keep(&outcome),
                    false => {
                        self.give_back();
                        RunRemains::Nothing
                    }
                };
                Err(unrecorded(error.into(), &outcome.receipt, kept))
            }
        }
    }
}
