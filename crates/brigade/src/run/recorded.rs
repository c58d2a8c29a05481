//! The last phase: receipt, ledger entry and state of the call are stored.

use brigade_call::RunStatus;
use brigade_core::{Hint, Json, NextStep};
use brigade_exec::RunPaths;
use brigade_fs::RelPath;
use brigade_ops::{Attempt, Error, RunReport};
use brigade_queue::{FinishedRun, Outcome, QueueError, Store};

use super::executed::ExecutedRun;
use crate::workspace_inner::WorkspaceInner;

/// A run that is recorded.
pub(super) struct RecordedRun {
    report: RunReport,
    answer: Option<Json>,
}

impl ExecutedRun<'_> {
    /// Stores the outcome of the run.
    pub(super) fn record(self) -> Result<RecordedRun, Error> {
        let ExecutedRun { prepared, dropped, reservation, result, answer, changed_pin } = self;
        let inner = prepared.inner;
        let queue = inner.queue();
        let locked = prepared.lock(&queue);
        let outcome = Outcome { receipt: result.receipt, checkpoints: result.checkpoints };
        let recorded = reservation.record(locked, outcome, result.completed_at)?;
        let unkept = inner.store.as_ref().and_then(|store| keep_logs(inner, &**store, &recorded).err());
        // If this fails, the next run tries again.
        let _ = inner.fs.remove_tree(&dropped);
        let changed_pin = changed_pin?;
        let succeeded = matches!(result.status, RunStatus::Completed | RunStatus::Waiting);
        let mut report = RunReport::new(inner, recorded.call.call, recorded.receipt.receipt, succeeded);
        let warning = recorded.chain.warning().map(|warning| inner.spelled(warning).to_string());
        let unkept = unkept.map(|error| format!("the logs are only on this host: {error}"));
        report.warnings = result.warnings.into_iter().chain(warning).chain(unkept).collect();
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
                format!("{failure} ({})", inner.spelled(hint))
            }
            None => failure,
        });
        Ok(RecordedRun { report, answer })
    }
}

/// Passes the logs of a run to a store that keeps them for other hosts.
fn keep_logs(inner: &WorkspaceInner, store: &dyn Store, recorded: &FinishedRun) -> Result<(), QueueError> {
    let call = &recorded.call.call;
    let Some(claim) = &call.claim else { return Ok(()) };
    let paths = RunPaths::new(&claim.run_id);
    for (stream, path) in [("stdout", &paths.stdout_log), ("stderr", &paths.stderr_log)] {
        let log = inner.fs.open(&RelPath::composed(path))?;
        store.keep_log(&call.id, &claim.run_id, stream, &*log)?;
    }
    Ok(())
}

impl RecordedRun {
    pub(super) fn into_attempt(self) -> Attempt {
        Attempt::Ran(Box::new(self.report), self.answer)
    }
}
