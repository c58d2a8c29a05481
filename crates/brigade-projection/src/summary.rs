//! What a call plan says and binds of its tool's projections.

use std::collections::BTreeMap;

use brigade_core::{Fingerprint, Json};

use crate::item::{ProjectionAction, ProjectionItem, ProjectionStatus};

/// One projection in a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryRow {
    /// The harness.
    pub harness: String,
    /// How it stands.
    pub status: ProjectionStatus,
    /// What applying would do.
    pub action: ProjectionAction,
    /// The path, relative to the workspace.
    pub projection_path: Option<String>,
}

/// The projections of one tool, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectionSummary {
    /// How many projections stand how; only what occurs.
    pub counts: BTreeMap<&'static str, usize>,
    /// Each projection, in the order of the entry.
    pub projections: Vec<SummaryRow>,
    /// What an approval binds; see [`summarise`].
    pub fingerprint: Fingerprint,
}

/// Summarises the projections of one tool.
///
/// The fingerprint is of every projection's harness, path relative to the workspace, status, fingerprint on disk, and, where the file is
/// managed, expected fingerprint. It does not depend on where the workspace is, on how deep the plan went, on forcing, or on times.
pub fn summarise(items: &[ProjectionItem]) -> ProjectionSummary {
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
        status: item.status,
        action: item.action,
        projection_path: item.projection_path.clone(),
    };
    ProjectionSummary {
        counts: counts(items),
        projections: items.iter().map(row).collect(),
        fingerprint: fingerprint.finish(),
    }
}

/// Lists the projections that block a call of their tool: those where somebody's own words stand.
pub fn blocking(items: &[ProjectionItem]) -> Vec<&ProjectionItem> {
    items.iter().filter(|item| item.blocks_calls()).collect()
}

/// Counts projections by status; only what occurs.
pub fn counts(items: &[ProjectionItem]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for item in items {
        *counts.entry(item.status.as_str()).or_insert(0) += 1;
    }
    counts
}

impl ProjectionSummary {
    /// Writes the summary with the keys of records; `path` makes a path as the record has it.
    pub fn to_json(&self, path: impl Fn(&str) -> String) -> Json {
        let row = |row: &SummaryRow| {
            Json::object([
                ("harness", Json::from(row.harness.as_str())),
                ("status", Json::from(row.status.as_str())),
                ("action", Json::from(row.action.as_str())),
                ("projection_path", Json::from(row.projection_path.as_deref().map(&path))),
            ])
        };
        Json::object([
            ("counts", Json::object(self.counts.iter().map(|(status, count)| (*status, Json::from(*count))))),
            ("projections", Json::Array(self.projections.iter().map(row).collect())),
        ])
    }
}

#[cfg(test)]
mod tests;
