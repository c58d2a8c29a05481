//! One issue: the problem, its identity, its place and its fix.

use std::path::Path;
use std::str::FromStr;

use brigade_catalog::{Family, Tool};
use brigade_core::{Fingerprint, NextStep, Place, Severity};
use brigade_projection::{ProjectionItem, ProjectionStatus};

use crate::{Area, IssueType, Remedy};

/// A problem in a workspace.
///
/// The detail names fields. It never contains the value of a field that may be a secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Issue {
    /// The kind.
    pub kind: IssueType,
    /// The severity.
    pub severity: Severity,
    /// The tool or runtime that it concerns; `policy` for the policy as a whole.
    pub tool_id: Option<String>,
    /// The family of the tool, or `runtime` or `policy`.
    pub family: Option<String>,
    /// The tool's description.
    pub description: Option<String>,
    /// The problem: one sentence without a final stop.
    pub detail: String,
    /// Where to fix it.
    pub place: Option<Place>,
    /// The call that it concerns.
    pub call_id: Option<String>,
    /// The run that it concerns.
    pub run_id: Option<String>,
    /// The checkpoint that it concerns.
    pub checkpoint_id: Option<String>,
    /// The projection that it concerns.
    pub projection: Option<ProjectionMark>,
    /// Distinguishes issues with the same type and tool: a field, a label, an effect. Often empty.
    pub subject: String,
    /// The state that caused the issue. A change of it makes a new issue. Contains no ages, times or absolute paths.
    pub evidence: String,
    /// The runtime, pin or file that the fix names.
    pub object: Option<String>,
    /// Replaces the fix of the type.
    pub other_fix: Option<NextStep>,
}

/// The projection that an issue concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectionMark {
    /// The harness.
    pub harness: String,
    /// The target, relative to the workspace.
    pub target: Option<String>,
    /// Its status; absent for an orphan.
    pub status: Option<ProjectionStatus>,
    /// The fingerprint of the source's text.
    pub source: Option<Fingerprint>,
    /// The fingerprint of the expected content.
    pub expected: Option<Fingerprint>,
    /// The fingerprint of the actual content.
    pub actual: Option<Fingerprint>,
}

impl Issue {
    /// Creates an issue of the workspace.
    pub(crate) fn new(kind: IssueType, detail: impl Into<String>) -> Issue {
        Issue {
            kind,
            severity: kind.severity(),
            tool_id: None,
            family: None,
            description: None,
            detail: detail.into(),
            place: None,
            call_id: None,
            run_id: None,
            checkpoint_id: None,
            projection: None,
            subject: String::new(),
            evidence: String::new(),
            object: None,
            other_fix: None,
        }
    }

    /// Creates an issue of a tool, at the place of a field. Bound values are masked in the detail.
    pub(crate) fn of_tool(kind: IssueType, tool: &Tool, field: &str, detail: impl Into<String>) -> Issue {
        let mut detail = detail.into();
        tool.masks.hide(&mut detail);
        Issue {
            tool_id: Some(tool.id.as_str().to_owned()),
            family: tool.family.map(|family| Family::as_str(family).to_owned()),
            description: tool.shown_description(),
            place: Some(tool.place_of(field)),
            ..Issue::new(kind, detail)
        }
    }

    /// Creates an issue of a projection.
    pub(crate) fn of_projection(kind: IssueType, tool: &Tool, item: &ProjectionItem) -> Issue {
        let field = format!("projections.{}", item.harness);
        let mark = ProjectionMark {
            harness: item.harness.clone(),
            target: item.projection_path.clone(),
            status: Some(item.status),
            source: item.source_fingerprint,
            expected: item.expected_fingerprint,
            actual: item.actual_fingerprint,
        };
        let detail = format!("{}: {}", item.harness, item.detail.trim_end_matches('.'));
        Issue { projection: Some(mark), ..Issue::of_tool(kind, tool, &field, detail) }
    }

    /// Returns whether the issue is about this file, given by its absolute or relative path.
    pub(crate) fn names_file(&self, file: &str) -> bool {
        // The evidence ends with the path in the entry.
        let named =
            self.evidence.split_once(' ').map(|(_, path)| Path::new(path.strip_prefix("./").unwrap_or(path)));
        named.is_some_and(|named| !named.as_os_str().is_empty() && Path::new(file).ends_with(named))
    }

    pub(crate) fn subject(self, subject: impl Into<String>) -> Issue {
        Issue { subject: subject.into(), ..self }
    }

    pub(crate) fn evidence(self, evidence: impl Into<String>) -> Issue {
        Issue { evidence: evidence.into(), ..self }
    }

    pub(crate) fn at(self, place: impl Into<Option<Place>>) -> Issue {
        Issue { place: place.into(), ..self }
    }

    pub(crate) fn object(self, object: impl Into<String>) -> Issue {
        Issue { object: Some(object.into()), ..self }
    }

    /// Returns the area. Issues of policy.toml and runtimes.toml belong to the area of the file.
    pub fn area(&self) -> Area {
        match (self.kind.area(), self.tool_id.as_deref(), self.family.as_deref()) {
            (Area::Catalog, _, Some("policy")) => Area::Policy,
            (Area::Catalog | Area::Tool, _, Some("runtime")) => Area::Runtime,
            (area, _, _) => area,
        }
    }

    /// Returns the harness of the projection that it concerns.
    pub fn harness(&self) -> Option<&str> {
        self.projection.as_ref().map(|mark| mark.harness.as_str())
    }

    /// Returns the identity of the issue, which stays the same while the issue does.
    ///
    /// | included | not included |
    /// | --- | --- |
    /// | type, tool, harness, call, run, checkpoint | the sentence, which may name ages and paths |
    /// | subject and evidence | severity, place, fix |
    /// | for projections: target, status, the three fingerprints | |
    pub fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = Fingerprint::builder("brigade.issue.v1")
            .text("type", self.kind.code())
            .text("tool_id", self.tool_id.as_deref())
            .text("call_id", self.call_id.as_deref())
            .text("run_id", self.run_id.as_deref())
            .text("checkpoint_id", self.checkpoint_id.as_deref())
            .text("subject", self.subject.as_str())
            .text("evidence", self.evidence.as_str());
        if let Some(mark) = &self.projection {
            fingerprint = fingerprint
                .text("harness", mark.harness.as_str())
                .text("target", mark.target.as_deref())
                .text("status", mark.status.map(ProjectionStatus::as_str))
                .fingerprint("source", mark.source)
                .fingerprint("expected", mark.expected)
                .fingerprint("actual", mark.actual);
        }
        fingerprint.finish()
    }

    /// Returns the step that fixes the issue or shows more about it.
    pub fn next_step(&self) -> NextStep {
        if let Some(step) = &self.other_fix {
            return step.clone();
        }
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        match self.kind.fix() {
            Remedy::Edit => self.place.clone().map_or(NextStep::Diagnose, NextStep::Edit),
            Remedy::ReadFile => NextStep::ReadFile(text(&self.object)),
            Remedy::File(step) => {
                self.place.as_ref().map_or(NextStep::Diagnose, |place| step(place.file.clone()))
            }
            Remedy::Tool(step) => step(text(&self.tool_id)),
            Remedy::Object(step) => {
                step(self.object.clone().or_else(|| self.tool_id.clone()).unwrap_or_default())
            }
            Remedy::Call(step) => id(&self.call_id).map_or(NextStep::ListCalls, step),
            Remedy::Run(step) => id(&self.run_id).map_or(NextStep::ListRuns, step),
            Remedy::Checkpoint(step) => id(&self.checkpoint_id).map_or(NextStep::ListCheckpoints, step),
            Remedy::Step(step) => step,
        }
    }
}

/// Parses the id of an issue; `None` for the invalid id of a damaged record.
fn id<Id: FromStr>(text: &Option<String>) -> Option<Id> {
    text.as_deref()?.parse().ok()
}

/// Returns the first issue with the highest severity.
pub fn top_issue<'i>(issues: impl IntoIterator<Item = &'i Issue>) -> Option<&'i Issue> {
    let mut top: Option<&Issue> = None;
    for issue in issues {
        if top.is_none_or(|top| top.severity < issue.severity) {
            top = Some(issue);
        }
    }
    top
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(issue: &Issue, expect: NextStep) {
        assert_eq!(issue.next_step(), expect);
    }

    #[test]
    fn the_next_step_names_what_the_issue_concerns() {
        let tool = Tool::new("it's", Family::Script).unwrap();
        let issue = Issue::of_tool(IssueType::StaleHealth, &tool, "health_path", "old");
        check(&issue, NextStep::ShowTool("it's".to_owned()));
        let place = Place::at("a b.toml", 3, 1);
        check(&Issue::new(IssueType::Config, "broken").at(place.clone()), NextStep::Edit(place));
        check(&Issue::new(IssueType::Config, "broken"), NextStep::Diagnose);
        check(&Issue::new(IssueType::WideModes, ""), NextStep::Fix);
        let issue = Issue::new(IssueType::RuntimeStopped, "").object("helper");
        check(&issue, NextStep::StartRuntime("helper".to_owned()));
        let issue = Issue::new(IssueType::CheckpointInvalid, "").object("-n.json");
        check(&issue, NextStep::ReadFile("-n.json".to_owned()));
    }

    #[test]
    fn an_id_that_is_none_leads_to_the_list() {
        let of_call =
            |id: &str| Issue { call_id: Some(id.to_owned()), ..Issue::new(IssueType::CallFailed, "") };
        check(&of_call("call-1"), NextStep::ShowCall("call-1".parse().unwrap()));
        check(&of_call("../x"), NextStep::ListCalls);
        check(&Issue::new(IssueType::RunFailed, ""), NextStep::ListRuns);
    }

    #[test]
    fn another_step_replaces_that_of_the_type() {
        let issue = Issue::new(IssueType::Config, "missing").at(Place::file("a.toml"));
        check(&Issue { other_fix: Some(NextStep::Init), ..issue }, NextStep::Init);
    }
}
