//! What runs left: directories that checkpoints are dropped into, and room for outcomes.

use std::collections::HashSet;
use std::ops::ControlFlow;

use brigade_call::CallStatus;
use brigade_core::Timestamp;
use brigade_exec::left_drops;
use brigade_fs::{Fs, RelPath};
use brigade_queue::{Calls, QueueError, View, left_outcomes};

/// Lists drop directories and files for outcomes of runs that ended or never started.
///
/// # Errors
/// Returns errors of reading the queue.
pub fn left_incoming(fs: &dyn Fs, now: Timestamp, view: &View<'_>) -> Result<Vec<RelPath>, QueueError> {
    let mut running = HashSet::new();
    view.for_each_call(&Calls::Of(CallStatus::Running), &mut |stored| {
        running.extend(stored.call.claim.map(|claim| claim.run_id.as_str().to_owned()));
        ControlFlow::Continue(())
    })?;
    let is_running = |run: &str| running.contains(run);
    let mut left = left_drops(fs, now, &is_running);
    left.extend(left_outcomes(fs, now, &is_running));
    Ok(left)
}
