//! Prepares records for reports: paths become absolute.

use brigade_call::{Call, Checkpoint, Receipt, ReceiptLink, RuntimeStatus};
use brigade_policy::PolicyDecision;
use brigade_projection::ProjectionSummary;
use brigade_queue::{StoredCheckpoint, StoredReceipt};

use crate::report::RunSummary;
use crate::room::Room;

/// Prepares a call.
pub(crate) fn shown_call(room: &Room, call: Call) -> Call {
    let receipt = |receipt: ReceiptLink| ReceiptLink { path: room.absolute(&receipt.path), ..receipt };
    Call {
        policy: call.policy.map(|policy| shown_policy(room, policy)),
        projection_summary: call.projection_summary.map(|summary| shown_projections(room, summary)),
        receipt: call.receipt.map(receipt),
        ..call
    }
}

/// Prepares a receipt.
pub(crate) fn shown_receipt(room: &Room, receipt: Receipt) -> Receipt {
    let absolute = |path: Option<String>| path.map(|path| room.absolute(&path));
    Receipt {
        receipt_path: absolute(receipt.receipt_path),
        stdout_log_path: absolute(receipt.stdout_log_path),
        stderr_log_path: absolute(receipt.stderr_log_path),
        cwd: absolute(receipt.cwd).map(|cwd| if cwd.ends_with("/.") { room.target() } else { cwd }),
        runtime: receipt.runtime.map(|runtime| shown_runtime(room, runtime)),
        checkpoint: receipt.checkpoint.map(|checkpoint| {
            let checkpoint_path = absolute(checkpoint.checkpoint_path.clone());
            Box::new(Checkpoint { checkpoint_path, ..*checkpoint })
        }),
        policy: receipt.policy.map(|policy| shown_policy(room, policy)),
        projection_summary: receipt.projection_summary.map(|summary| shown_projections(room, summary)),
        ..receipt
    }
}

/// Summarizes a run for lists.
pub(crate) fn run_summary(room: &Room, stored: &StoredReceipt) -> RunSummary {
    let receipt = Receipt { receipt_path: Some(stored.path.clone()), ..stored.receipt.clone() };
    RunSummary::of(shown_receipt(room, receipt))
}

/// Prepares a policy decision.
pub(crate) fn shown_policy(room: &Room, policy: PolicyDecision) -> PolicyDecision {
    if policy.policy_path.is_empty() {
        return policy;
    }
    PolicyDecision { policy_path: room.absolute(&policy.policy_path), ..policy }
}

/// Prepares a projection summary.
pub(crate) fn shown_projections(room: &Room, mut summary: ProjectionSummary) -> ProjectionSummary {
    for path in summary.projections.iter_mut().filter_map(|row| row.projection_path.as_mut()) {
        *path = room.absolute(path);
    }
    summary
}

/// Prepares a runtime.
pub(crate) fn shown_runtime(room: &Room, mut runtime: RuntimeStatus) -> RuntimeStatus {
    let absolute = |path: &mut String| *path = room.absolute(path);
    let directory = |path: &mut String| {
        *path = if path == "." { room.target() } else { room.absolute(path) };
    };
    runtime.cwd.iter_mut().for_each(directory);
    [&mut runtime.pid_path, &mut runtime.metadata_path].into_iter().for_each(absolute);
    let paths = [&mut runtime.stdout_log_path, &mut runtime.stderr_log_path, &mut runtime.health_path];
    paths.into_iter().flatten().for_each(absolute);
    if let Some(metadata) = &mut runtime.metadata {
        metadata.cwd.iter_mut().for_each(directory);
        let paths = [
            &mut metadata.pid_path,
            &mut metadata.metadata_path,
            &mut metadata.stdout_log_path,
            &mut metadata.stderr_log_path,
            &mut metadata.health_path,
        ];
        paths.into_iter().flatten().for_each(absolute);
    }
    runtime
}

/// Prepares a checkpoint.
pub(crate) fn shown_checkpoint(room: &Room, stored: &StoredCheckpoint) -> Checkpoint {
    Checkpoint { checkpoint_path: Some(room.absolute(&stored.path)), ..stored.checkpoint.clone() }
}
