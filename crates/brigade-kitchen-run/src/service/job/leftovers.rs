//! Removes what the commands of a failed check left in a worktree.

use brigade_kitchen::life::{CommandResult, Workplace as Mode};

use super::{JobContext, JobEvent, TaskWork};
use crate::workplace::RestoreOutcome;

impl JobContext<'_> {
    /// Puts the files of the attempt back after a failed check. Otherwise files that appeared during verification, such
    /// as `__pycache__`, would count as changes of the next attempt, and be committed.
    pub(super) fn drop_leftovers(&self, work: &TaskWork, event: &JobEvent) {
        if !is_failed_check(event) || self.workplace.mode() != Mode::Worktrees || work.changes.tree.is_empty()
        {
            return;
        }
        match self.workplace.put_back(&work.place, &work.guard, &work.changes, &work.changes) {
            Ok(RestoreOutcome::Done(files)) => tracing::info!(?files, "files of a failed check are removed"),
            Ok(RestoreOutcome::Unchanged | RestoreOutcome::Stays(_)) => {}
            // The next attempt reports what is wrong with the worktree.
            Err(error) => tracing::warn!(%error, "files of a failed check stay"),
        }
    }
}

/// Returns whether a check failed, so that another attempt follows.
fn is_failed_check(event: &JobEvent) -> bool {
    match event {
        JobEvent::Command { checked, .. } => !checked.interrupted && checked.result != CommandResult::Passed,
        JobEvent::Scanned(markers) => !markers.is_empty(),
        JobEvent::Reviewed(read) => read.verdict.as_ref().is_some_and(|verdict| !verdict.pass),
        JobEvent::Refused(_) => true,
        JobEvent::Attempt(_)
        | JobEvent::Committed(_)
        | JobEvent::Integrated(_)
        | JobEvent::Decided(_)
        | JobEvent::Scoped(_)
        | JobEvent::Phase(_)
        | JobEvent::Gate(_)
        | JobEvent::Fault(_) => false,
    }
}
