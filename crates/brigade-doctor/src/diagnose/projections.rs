//! Diagnoses the files that harnesses read.

use brigade_catalog::Tool;
use brigade_core::text::escape_terminal;
use brigade_core::{NextStep, Place};
use brigade_projection::{
    AdviceCode, AdviceWeight, OrphanCause, ProjectionItem, ProjectionReason, ProjectionStatus, Prunable,
};

use crate::issue::ProjectionMark;
use crate::{Issue, IssueType, Snapshot, ToolFiles};

pub(super) fn projections(tool: &Tool, items: &[ProjectionItem], found: &mut Vec<Issue>) {
    missing_source(tool, items, found);
    for item in items {
        found.extend(unreadable(tool, item));
        let kind = match item.status {
            ProjectionStatus::Missing if item.projection_path.is_none() => IssueType::ParityGap,
            ProjectionStatus::Missing => IssueType::MissingProjection,
            ProjectionStatus::Stale => IssueType::StaleProjection,
            ProjectionStatus::Conflicted => IssueType::ConflictedProjection,
            ProjectionStatus::Unmanaged => IssueType::UnmanagedProjection,
            // Reported for the path itself.
            ProjectionStatus::Invalid if item.reason == Some(ProjectionReason::PathOutside) => continue,
            ProjectionStatus::Invalid => IssueType::ProjectionRefused,
            ProjectionStatus::MissingSource | ProjectionStatus::Current => continue,
        };
        let reason = item.reason.map_or("", ProjectionReason::as_str);
        found.push(Issue::of_projection(kind, tool, item).evidence(reason));
    }
}

/// Reports targets that may not be written, even if no file would be written there because the tool does not support
/// the harness.
pub(super) fn unused_targets(tool: &Tool, files: &ToolFiles, found: &mut Vec<Issue>) {
    for (harness, refusal) in &files.refused_targets {
        let shown = escape_terminal(harness);
        let detail = format!(
            "{shown}: the projection path {}; supported_harnesses does not list {shown}",
            refusal.phrase()
        );
        let issue =
            Issue::of_tool(IssueType::ProjectionRefused, tool, &format!("projections.{harness}"), detail);
        found.push(issue.subject(harness.as_str()).evidence(refusal.reason().as_str()));
    }
}

/// Lists problems that prevent a harness from reading a valid projection.
fn unreadable<'i>(tool: &'i Tool, item: &'i ProjectionItem) -> impl Iterator<Item = Issue> + 'i {
    let serious = item.advice.iter().filter_map(|advice| match advice.weight {
        AdviceWeight::Remark => None,
        AdviceWeight::NotRead => Some((IssueType::ProjectionNotRead, advice)),
        AdviceWeight::Unreadable => Some((IssueType::SkillUnreadable, advice)),
    });
    serious.map(move |(kind, advice)| {
        let issue = Issue::of_projection(kind, tool, item)
            .subject(advice.code.as_str())
            .evidence(advice.message.as_str());
        let issue = Issue { detail: format!("{}: {}", item.harness, advice.message), ..issue };
        // The path is in the catalog; all other parts are in the source.
        match (&item.source_path, advice.code) {
            (None, _) | (_, AdviceCode::SkillFolder | AdviceCode::NotRead) => issue,
            (Some(source), _) => issue.at(Place::file(source)),
        }
    })
}

/// Reports a source without text once, not for every harness, and not if its file was already reported.
fn missing_source(tool: &Tool, items: &[ProjectionItem], found: &mut Vec<Issue>) {
    let is_reported = |issue: &&Issue| match issue.kind {
        IssueType::MissingSource => true,
        IssueType::PathOutside => issue.subject == "source_path",
        _ => false,
    };
    let of_this_tool =
        found.iter().rev().take_while(|issue| issue.tool_id.as_deref() == Some(tool.id.as_str()));
    if of_this_tool.into_iter().any(|issue| is_reported(&issue)) {
        return;
    }
    if let Some(item) = items.iter().find(|item| item.status == ProjectionStatus::MissingSource) {
        let detail = format!("source_path: {}", item.detail.trim_end_matches('.'));
        let issue = Issue::of_tool(IssueType::MissingSource, tool, "source_path", detail);
        found.push(issue.evidence(item.reason.map_or("", ProjectionReason::as_str)));
    }
}

/// Reports files that were written for a tool or a target that is no longer in the catalog.
pub(super) fn orphans(snapshot: &Snapshot<'_>, found: &mut Vec<Issue>) {
    for orphan in snapshot.orphans {
        let why = match &orphan.cause {
            OrphanCause::ToolGone => "its tool is gone from the catalog",
            OrphanCause::ToolDisabled => "its tool is disabled",
            OrphanCause::HarnessDropped => "its tool no longer projects for this harness",
            OrphanCause::Moved { .. } => "its tool projects to another file",
        };
        let mark = ProjectionMark {
            harness: orphan.header.harness.clone(),
            target: Some(orphan.path.clone()),
            status: None,
            source: None,
            expected: None,
            actual: Some(orphan.body),
        };
        let detail = format!("{}: {}: {why}", orphan.header.harness, orphan.path);
        let issue = Issue {
            tool_id: Some(orphan.header.tool_id.clone()),
            family: Some(orphan.header.family.clone()),
            projection: Some(mark),
            ..Issue::new(IssueType::OrphanedProjection, detail)
        };
        let issue = issue
            .subject(orphan.path.as_str())
            .evidence(orphan.cause.reason().as_str())
            .at(Place::file(&orphan.path));
        let other_fix = match orphan.prunable {
            Prunable::Yes => None,
            // An edited file has a person's changes, so its removal is not suggested.
            Prunable::Edited => Some(NextStep::PlanProjections(orphan.header.tool_id.clone())),
            Prunable::CatalogBroken => Some(NextStep::DiagnoseOnly("config")),
        };
        found.push(Issue { other_fix, ..issue });
    }
}
