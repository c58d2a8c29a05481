//! Issues, closeouts and counts as reports show them.

use std::collections::BTreeMap;

use brigade_doctor::{Closeout, Issue, IssueReport, top_issue};

use crate::closeouts::Closeouts;
use brigade_workspace::WorkspaceContext;

/// Prepares issues for reports.
pub fn shown_issues<'i>(
    context: &WorkspaceContext,
    issues: impl IntoIterator<Item = &'i Issue>,
) -> Vec<IssueReport> {
    issues.into_iter().map(|issue| shown_issue(context, issue)).collect()
}

/// Prepares an issue for reports.
pub fn shown_issue(context: &WorkspaceContext, issue: &Issue) -> IssueReport {
    IssueReport::new(issue, |path| context.absolute(path), |step| context.words(step))
}

/// Returns the worst issue for reports.
pub fn top_issue_of<'i>(
    context: &WorkspaceContext,
    issues: impl IntoIterator<Item = &'i Issue>,
) -> Option<IssueReport> {
    top_issue(issues).map(|issue| shown_issue(context, issue))
}

/// Returns the last closeout with the absolute path of its file.
pub fn latest_closeout(context: &WorkspaceContext, closeouts: Closeouts) -> Option<Closeout> {
    let latest = closeouts.latest?;
    Some(Closeout { path: latest.path.as_deref().map(|path| context.absolute(path)), ..latest })
}

/// Counts words.
pub fn counts<'w>(words: impl IntoIterator<Item = &'w str>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word.to_owned()).or_default() += 1;
    }
    counts
}
