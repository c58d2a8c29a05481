//! Issues as documents have them.

use std::borrow::Cow;

use brigade_core::{Fingerprint, NextStep};
use serde::{Deserialize, Serialize};

use crate::issue::Issue;

/// One issue, as documents have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct IssueReport {
    /// `warn`, as the Python program has it for every issue; `severity` tells more.
    pub status: Cow<'static, str>,
    /// `tool_` and the type.
    pub name: String,
    /// The tool or runtime that it concerns.
    pub tool_id: Option<String>,
    /// The family of that.
    pub family: Option<String>,
    /// The type: `missing_source`, `policy_blocker` and so on.
    pub issue_type: Cow<'static, str>,
    /// The harness, for an issue of a projection.
    pub harness: Option<String>,
    /// The projected file, for an issue of a projection.
    pub projection_target: Option<String>,
    /// The tool's description.
    pub description: Option<String>,
    /// What is wrong, in a sentence without a final stop.
    pub detail: String,
    /// `error`, `warning` or `info`.
    pub severity: Cow<'static, str>,
    /// Stays the same as long as the issue is the same one.
    pub fingerprint: String,
    /// The command that mends it or shows more.
    pub fix: String,
    /// The file where it is mended, relative to the workspace.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column, from 1.
    pub column: Option<usize>,
    /// The call that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The run that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The checkpoint that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
    /// What an issue of a projection says besides.
    #[serde(flatten)]
    pub projection: Option<Box<ProjectionMarks>>,
}

/// What an issue says of a projection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ProjectionMarks {
    /// How it stands.
    pub projection_status: Option<Cow<'static, str>>,
    /// The fingerprint of the source's text.
    pub tool_source_fingerprint: Option<String>,
    /// The fingerprint of what would be written.
    pub expected_projection_fingerprint: Option<String>,
    /// The fingerprint of what is there.
    pub actual_projection_fingerprint: Option<String>,
    /// What a closeout lists to quiet it.
    pub parity_fingerprint: String,
}

impl IssueReport {
    /// Writes an issue; `absolute` makes a path as reports have it, and `words` spells a step.
    pub fn of(
        issue: &Issue,
        absolute: impl Fn(&str) -> String,
        words: impl Fn(&NextStep) -> String,
    ) -> IssueReport {
        let hex = |fingerprint: Option<Fingerprint>| fingerprint.map(Fingerprint::to_hex);
        let fingerprint = issue.fingerprint().to_hex();
        let place = issue.place.as_ref();
        let mark = issue.projection.as_ref();
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
            severity: issue.severity.as_str().into(),
            fix: words(&issue.next_step()),
            file: place.map(|place| place.file.clone()),
            line: place.and_then(|place| place.line),
            column: place.and_then(|place| place.column),
            call_id: issue.call_id.clone(),
            run_id: issue.run_id.clone(),
            checkpoint_id: issue.checkpoint_id.clone(),
            projection: mark.map(|mark| {
                Box::new(ProjectionMarks {
                    projection_status: mark.status.map(|status| status.as_str().into()),
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
