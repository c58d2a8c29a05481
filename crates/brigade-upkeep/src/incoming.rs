//! Folders of checkpoints that runs left.

use std::collections::HashSet;
use std::ops::ControlFlow;

use brigade_call::CallStatus;
use brigade_core::Timestamp;
use brigade_exec::left_drops;
use brigade_fs::{Fs, RelPath};
use brigade_queue::{Calls, QueueError, View};

/// Finds the folders of checkpoints of runs that are over, or that never came to be.
///
/// # Errors
/// When the queue cannot be read.
pub fn left_incoming(fs: &dyn Fs, now: Timestamp, view: &View<'_>) -> Result<Vec<RelPath>, QueueError> {
    let mut running = HashSet::new();
    view.for_each_call(&Calls::Of(CallStatus::Running), &mut |stored| {
        running.extend(stored.call.claim.map(|claim| claim.run_id.as_str().to_owned()));
        ControlFlow::Continue(())
    })?;
    Ok(left_drops(fs, now, &|run| running.contains(run)))
}
