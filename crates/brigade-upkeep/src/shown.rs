//! Issues, closeouts and counts as reports show them.

use std::collections::BTreeMap;

use brigade_doctor::{Closeout, Issue, IssueReport, top_issue};

use crate::closeouts::Closeouts;
use crate::seams::Seams;

/// Prepares issues for reports.
pub fn shown_issues<'i>(seams: &Seams, issues: impl IntoIterator<Item = &'i Issue>) -> Vec<IssueReport> {
    issues.into_iter().map(|issue| shown_issue(seams, issue)).collect()
}

/// Prepares an issue for reports.
pub fn shown_issue(seams: &Seams, issue: &Issue) -> IssueReport {
    IssueReport::of(issue, |path| seams.absolute(path), |step| seams.words(step))
}

/// Returns the worst issue for reports.
pub fn top_issue_of<'i>(seams: &Seams, issues: impl IntoIterator<Item = &'i Issue>) -> Option<IssueReport> {
    top_issue(issues).map(|issue| shown_issue(seams, issue))
}

/// Returns the last closeout with the absolute path of its file.
pub fn latest_closeout(seams: &Seams, closeouts: Closeouts) -> Option<Closeout> {
    let latest = closeouts.latest?;
    Some(Closeout { path: latest.path.as_deref().map(|path| seams.absolute(path)), ..latest })
}

/// Counts words.
pub fn counts<'w>(words: impl IntoIterator<Item = &'w str>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word.to_owned()).or_default() += 1;
    }
    counts
}
