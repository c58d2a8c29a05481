//! Finds the next step for a person.

use brigade_call::Call;
use brigade_core::{CheckpointId, NextStep};

use crate::{Area, Issue, IssueType, top_issue};

/// The work that a person could do next.
pub struct PendingWork<'a> {
    /// Whether the catalog has no error.
    pub is_valid: bool,
    /// Whether the policy has no error.
    pub is_policy_valid: bool,
    /// The oldest call without a decision.
    pub oldest: Option<&'a Call>,
    /// The oldest checkpoint without an answer.
    pub checkpoint: Option<&'a CheckpointId>,
    /// Approved calls that still match their approval.
    pub runnable: u64,
    /// The number of inbox rows without a decision.
    pub pending_rows: usize,
    /// The issues of the workspace.
    pub issues: &'a [Issue],
}

fn is_unwritten(issue: &&Issue) -> bool {
    issue.kind == IssueType::MissingProjection
}

impl PendingWork<'_> {
    /// Chooses the most urgent step: first errors that block everything, then decisions that others wait for, then work
    /// that can run, then other issues.
    pub fn next(&self) -> (NextStep, String) {
        let because = |step: NextStep, reason: &str| (step, reason.to_owned());
        let worst =
            |areas: &[Area]| top_issue(self.issues.iter().filter(|issue| areas.contains(&issue.area())));
        if !self.is_valid
            && let Some(issue) = worst(&[Area::Catalog])
        {
            return because(issue.next_step(), "the catalog has an error");
        }
        if !self.is_policy_valid
            && let Some(issue) = worst(&[Area::Policy])
        {
            return because(issue.next_step(), "the policy has an error, so nothing runs");
        }
        if let Some(id) = self.checkpoint {
            return because(NextStep::ShowCheckpoint(id.clone()), "a run waits for an answer");
        }
        if let Some(call) = self.oldest {
            return because(NextStep::ShowCall(call.id.clone()), "a call waits for a decision");
        }
        if 0 < self.runnable {
            return because(NextStep::RunNext, "an approved call can run");
        }
        if let Some(issue) = top_issue(self.issues.iter().filter(|issue| !is_unwritten(issue))) {
            return because(issue.next_step(), &issue.detail);
        }
        let mut unwritten = self.issues.iter().filter(is_unwritten);
        if let Some(issue) = unwritten.next() {
            // A step that writes many files is proposed only after a person has listed them.
            let tool = issue.tool_id.clone().unwrap_or_default();
            return match unwritten.next() {
                None => because(issue.next_step(), &issue.detail),
                Some(_) => because(NextStep::PlanProjections(tool), "projections were never written"),
            };
        }
        if 0 < self.pending_rows {
            let reason = "the inbox has rows without a decision";
            return because(NextStep::ListPendingRows, reason);
        }
        because(NextStep::ListTools, "nothing waits")
    }
}
