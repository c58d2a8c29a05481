//! Stores the receipts of attempts in the tools' ledger.

use std::sync::Arc;

use brigade_call::{Caller, RUNS, Receipt, RunOutput, RunStatus, StreamOutput};
use brigade_catalog::{Effect, Family};
use brigade_core::{CallId, Clock, Json, Number, RunId};
use brigade_exec::RunPaths;
use brigade_fs::RelPath;
use brigade_kitchen_run::{KeepReceipts, KitchenReceipt, LogRow, RunEnd, StartError};
use brigade_workspace::WorkspaceContext;

/// What a receipt records about the task.
pub(crate) struct TaskDetails {
    /// The task, in place of a call.
    pub(crate) execution: CallId,
    pub(crate) tool: String,
    pub(crate) caller: Caller,
    pub(crate) args: Json,
}

/// Stores receipts of attempts next to those of calls.
pub(crate) struct TaskReceiptStore {
    pub(crate) workspace: Arc<WorkspaceContext>,
    pub(crate) task: TaskDetails,
}

impl KeepReceipts for TaskReceiptStore {
    fn logs(&self, run: &RunId) -> (RelPath, RelPath) {
        let paths = RunPaths::new(run);
        (RelPath::composed(&paths.stdout_log), RelPath::composed(&paths.stderr_log))
    }

    fn store(&self, kept: &KitchenReceipt, clock: &dyn Clock) -> Result<(), StartError> {
        self.workspace.fs.create_dir_all(&RelPath::from_static(RUNS))?;
        let receipt = self.receipt(kept);
        let queue = self.workspace.queue();
        let stored = queue.lock(clock.now()).and_then(|mut locked| locked.record_attempt(&receipt));
        stored.map(drop).map_err(|error| StartError::Io(std::io::Error::other(error.to_string())))
    }
}

fn stream(row: Option<&LogRow>) -> StreamOutput {
    row.map_or_else(StreamOutput::default, |row| StreamOutput {
        bytes: row.bytes + row.left_out,
        dropped: row.left_out,
        log_bytes: Some(row.bytes),
        log_sha256: Some(row.sha256),
        ..StreamOutput::default()
    })
}

impl TaskReceiptStore {
    fn receipt(&self, kept: &KitchenReceipt) -> Receipt {
        let status = match kept.status {
            RunEnd::Completed => RunStatus::Completed,
            RunEnd::TimedOut => RunStatus::TimedOut,
            RunEnd::Interrupted => RunStatus::Interrupted,
            RunEnd::Failed | RunEnd::Stalled | RunEnd::NotStarted => RunStatus::Failed,
        };
        let paths = RunPaths::new(&kept.id);
        let seconds = kept.completed_at.since(kept.started_at).as_secs_f64();
        let mut receipt = Receipt::new(kept.id.clone(), self.task.execution.clone(), status);
        receipt.kind = Some(Receipt::ATTEMPT.to_owned());
        receipt.execution_id = Some(self.task.execution.to_string());
        receipt.tool_id = self.task.tool.clone();
        receipt.family = Family::Builtin.into();
        receipt.caller = Some(self.task.caller.clone());
        receipt.started_at = Some(kept.started_at);
        receipt.completed_at = Some(kept.completed_at);
        receipt.duration_seconds = Some(Number::from((seconds * 1000.0).round() / 1000.0));
        receipt.exit_code = kept.exit_code;
        receipt.timed_out = kept.status == RunEnd::TimedOut;
        receipt.argv = kept.argv.clone();
        receipt.cwd = Some(kept.directory.clone());
        receipt.args = self.task.args.clone();
        receipt.failure = kept.problem.clone();
        receipt.stdout_log_path = kept.stdout.as_ref().map(|_| paths.stdout_log);
        receipt.stderr_log_path = kept.stderr.as_ref().map(|_| paths.stderr_log);
        receipt.receipt_path = Some(paths.receipt);
        receipt.output = Some(RunOutput {
            stdout: stream(kept.stdout.as_ref()),
            stderr: stream(kept.stderr.as_ref()),
            ..RunOutput::default()
        });
        receipt.sandbox = Some(kept.sandbox.clone());
        receipt.effects = vec![Effect::ProcessExec];
        receipt.env_labels_used = kept.env_labels.clone();
        receipt
    }
}
