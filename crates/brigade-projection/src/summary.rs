//! The summary of a tool's projections in call plans and bindings.

use std::collections::BTreeMap;

use brigade_core::{Extra, Fingerprint, RecordedWord};
use brigade_macros::record;

use crate::item::{ProjectionAction, ProjectionItem, ProjectionStatus};

/// One projection in a summary.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct SummaryRow {
    /// The harness.
    pub harness: String,
    /// Its status.
    pub status: RecordedWord<ProjectionStatus>,
    /// What applying the plan would do.
    pub action: RecordedWord<ProjectionAction>,
    /// The path. In records it is relative to the workspace.
    pub projection_path: Option<String>,
}

/// A summary of a tool's projections, for records and reports.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct ProjectionSummary {
    /// The number of projections by status. Statuses without projections are left out.
    pub counts: BTreeMap<String, u64>,
    /// Each projection, in the order of the entry.
    pub projections: Vec<SummaryRow>,
}

/// Summarises the projections of one tool. Returns the summary and the fingerprint that an approval binds.
///
/// The fingerprint covers each projection's harness, path relative to the workspace, status, fingerprint on disk and,
/// if the file is managed, expected fingerprint. It does not depend on the location of the workspace, the depth of the
/// plan, `--force`, or time.
pub fn summarise(items: &[ProjectionItem]) -> (ProjectionSummary, Fingerprint) {
    let mut fingerprint = Fingerprint::builder("brigade.projection-summary.v1");
    for item in items {
        let expected = match item.status {
            ProjectionStatus::Current | ProjectionStatus::Stale | ProjectionStatus::Conflicted => {
                item.expected_fingerprint
            }
            ProjectionStatus::Missing
            | ProjectionStatus::Unmanaged
            | ProjectionStatus::MissingSource
            | ProjectionStatus::Invalid => None,
        };
        fingerprint = fingerprint
            .text("harness", item.harness.as_str())
            .text("path", item.projection_path.as_deref())
            .text("status", item.status.as_str())
            .fingerprint("expected", expected)
            .fingerprint("actual", item.actual_fingerprint);
    }
    let row = |item: &ProjectionItem| SummaryRow {
        harness: item.harness.clone(),
        status: item.status.into(),
        action: item.action.into(),
        projection_path: item.projection_path.clone(),
        extra: Extra::default(),
    };
    let counts = counts(items).into_iter().map(|(status, count)| (status.to_owned(), count as u64));
    let summary = ProjectionSummary {
        counts: counts.collect(),
        projections: items.iter().map(row).collect(),
        extra: Extra::default(),
    };
    (summary, fingerprint.finish())
}

/// Lists the projections that block calls of the tool: edited and unmanaged files.
pub fn blocking(items: &[ProjectionItem]) -> Vec<&ProjectionItem> {
    items.iter().filter(|item| item.blocks_calls()).collect()
}

/// Counts projections by status. Statuses without projections are left out.
pub fn counts(items: &[ProjectionItem]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for item in items {
        *counts.entry(item.status.as_str()).or_insert(0) += 1;
    }
    counts
}

#[cfg(test)]
mod tests;
