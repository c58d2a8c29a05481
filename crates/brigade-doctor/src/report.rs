//! Issues in documents.

use std::borrow::Cow;

use brigade_core::{Fingerprint, NextStep, Severity};
use brigade_macros::part;
use brigade_policy::Label;
use brigade_projection::ProjectionStatus;

use crate::issue::Issue;

/// One issue in a document.
#[part(PartialEq)]
pub struct IssueReport {
    /// `warn` for every issue, as in v0.30; `severity` has the real value.
    pub status: Cow<'static, str>,
    /// `tool_` and the type.
    pub name: String,
    /// The tool or runtime of the issue.
    pub tool_id: Option<String>,
    /// The family of that tool or runtime.
    pub family: Option<String>,
    /// The type: `missing_source`, `policy_blocker` and so on.
    pub issue_type: Cow<'static, str>,
    /// The harness, for an issue of a projection.
    pub harness: Option<String>,
    /// The projected file, for an issue of a projection.
    pub projection_target: Option<String>,
    /// The description of the tool.
    pub description: Option<String>,
    /// The problem, as a sentence without a final period.
    pub detail: String,
    /// The severity.
    pub severity: Severity,
    /// The fingerprint; it stays the same while the issue is the same.
    pub fingerprint: String,
    /// The command that fixes the issue or shows more.
    pub fix: String,
    /// The file to fix, relative to the workspace.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column, from 1.
    pub column: Option<usize>,
    /// The place to fix, as in documents of failures.
    pub labels: Vec<Label>,
    /// What to do next, as in documents of failures.
    pub help: Option<String>,
    /// The call of the issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The run of the issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The checkpoint of the issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
    /// Details of a projection issue.
    #[serde(flatten)]
    pub projection: Option<Box<ProjectionMarks>>,
}

/// Details of a projection issue.
#[part(PartialEq)]
pub struct ProjectionMarks {
    /// The status.
    pub projection_status: Option<ProjectionStatus>,
    /// The fingerprint of the source text.
    pub tool_source_fingerprint: Option<String>,
    /// The fingerprint of the planned content.
    pub expected_projection_fingerprint: Option<String>,
    /// The fingerprint of the current content.
    pub actual_projection_fingerprint: Option<String>,
    /// The fingerprint that a closeout lists to accept the issue.
    pub parity_fingerprint: String,
}

impl IssueReport {
    /// Creates the row of an issue. `absolute` makes paths absolute, and `words` formats steps.
    pub fn new(
        issue: &Issue,
        absolute: impl Fn(&str) -> String,
        words: impl Fn(&NextStep) -> String,
    ) -> IssueReport {
        let hex = |fingerprint: Option<Fingerprint>| fingerprint.map(Fingerprint::to_hex);
        let fingerprint = issue.fingerprint().to_hex();
        let place = issue.place.as_ref();
        let mark = issue.projection.as_ref();
        let fix = words(&issue.next_step());
        IssueReport {
            status: "warn".into(),
            name: issue.kind.name(),
            tool_id: issue.tool_id.clone(),
            family: issue.family.clone(),
            issue_type: issue.kind.code().into(),
            harness: mark.map(|mark| mark.harness.clone()),
            projection_target: mark.and_then(|mark| mark.target.as_deref()).map(absolute),
            description: issue.description.clone(),
            detail: issue.detail.clone(),
            severity: issue.severity,
            help: Some(fix.clone()).filter(|fix| !fix.is_empty()),
            fix,
            file: place.map(|place| place.file.clone()),
            line: place.and_then(|place| place.line),
            column: place.and_then(|place| place.column),
            labels: place.cloned().map(Label::at).into_iter().collect(),
            call_id: issue.call_id.clone(),
            run_id: issue.run_id.clone(),
            checkpoint_id: issue.checkpoint_id.clone(),
            projection: mark.map(|mark| {
                Box::new(ProjectionMarks {
                    projection_status: mark.status,
                    tool_source_fingerprint: hex(mark.source),
                    expected_projection_fingerprint: hex(mark.expected),
                    actual_projection_fingerprint: hex(mark.actual),
                    parity_fingerprint: fingerprint.clone(),
                })
            }),
            fingerprint,
        }
    }
}
