//! The last phase: receipt, ledger entry and state of the call are stored.

use brigade_call::RunStatus;
use brigade_core::{Hint, Json, NextStep};
use brigade_ops::{Attempt, Error, RunReport};
use brigade_queue::Outcome;

use super::executed::ExecutedRun;

/// A run that is recorded.
pub(super) struct RecordedRun {
    report: RunReport,
    answer: Option<Json>,
}

impl ExecutedRun<'_> {
    /// Stores the outcome of the run.
    pub(super) fn record(self) -> Result<RecordedRun, Error> {
        let ExecutedRun { prepared, dropped, reservation, result, answer, changed_pin } = self;
        let room = prepared.room;
        let queue = room.queue();
        let locked = prepared.lock(&queue);
        let outcome = Outcome { receipt: result.receipt, checkpoints: result.checkpoints };
        let recorded = reservation.record(locked, outcome, result.completed_at)?;
        // If this fails, the next run tries again.
        let _ = room.fs.remove_tree(&dropped);
        let changed_pin = changed_pin?;
        let succeeded = matches!(result.status, RunStatus::Completed | RunStatus::Waiting);
        let mut report = RunReport::new(room, recorded.call.call, recorded.receipt.receipt, succeeded);
        let warning = recorded.chain.warning().map(|warning| room.spelled(warning).to_string());
        report.warnings = result.warnings.into_iter().chain(warning).collect();
        let server = report.call.contract.runtime_id.clone().unwrap_or_default();
        report.failure = result.failure.map(|failure| match changed_pin {
            Some(pin) => {
                let hint = Hint::from("`")
                    .then(NextStep::ShowPin(pin.clone()))
                    .then("` shows what changed; queue the call again and approve it, or `")
                    .then(NextStep::UpdateServer(server))
                    .then("` or `")
                    .then(NextStep::AcceptPin(pin))
                    .then("`, if that is wanted");
                format!("{failure} ({})", room.spelled(hint))
            }
            None => failure,
        });
        Ok(RecordedRun { report, answer })
    }
}

impl RecordedRun {
    pub(super) fn into_attempt(self) -> Attempt {
        Attempt::Ran(Box::new(self.report), self.answer)
    }
}
