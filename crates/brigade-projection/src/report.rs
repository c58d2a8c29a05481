//! The reports on projections and orphans.

use std::borrow::Cow;

use brigade_catalog::Family;
use brigade_core::Fingerprint;
use brigade_macros::part;

use crate::Lossiness;
use crate::header::Header;
use crate::item::{Advice, AdviceCode, ProjectionAction, ProjectionItem, ProjectionReason, ProjectionStatus};
use crate::orphan::{Orphan, OrphanCause, OrphanReason, Prunable, PruneAction};

/// One projection of one tool for one harness.
#[part(PartialEq)]
pub struct ProjectionReport {
    /// The tool.
    pub tool_id: String,
    /// The display name of the tool.
    pub name: String,
    /// The family of the tool; absent if the entry is broken.
    pub family: Option<Family>,
    /// The harness.
    pub harness: String,
    /// The source.
    pub source_path: Option<String>,
    /// The target file; absent if none is configured.
    pub projection_path: Option<String>,
    /// Whether Brigade wrote the file.
    pub managed: bool,
    /// The header of the file.
    pub metadata: Option<Header>,
    /// The status.
    pub status: ProjectionStatus,
    /// The action of apply.
    pub action: ProjectionAction,
    /// The reason, if a status has several.
    pub reason: Option<ProjectionReason>,
    /// The reason, as a sentence.
    pub detail: Cow<'static, str>,
    /// How the harness supports the file; absent if unknown.
    pub lossiness: Option<Lossiness>,
    /// Advice.
    pub advice: Vec<AdviceReport>,
    /// The sha256 of the source text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_fingerprint: Option<Fingerprint>,
    /// The sha256 of the planned content, without header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_fingerprint: Option<Fingerprint>,
    /// The same as `expected_fingerprint`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_projection_fingerprint: Option<Fingerprint>,
    /// The sha256 of the current content, without header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual_projection_fingerprint: Option<Fingerprint>,
    /// True in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// The change as a unified diff with raw text. Escape it before writing to a terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// Advice about a projection that does not change its status.
#[part(PartialEq)]
pub struct AdviceReport {
    /// The subject.
    pub code: AdviceCode,
    /// The advice, as a sentence.
    pub message: String,
}

impl ProjectionReport {
    /// Builds the row of a projection. `absolute` makes paths absolute.
    pub fn new(item: ProjectionItem, absolute: impl Fn(&str) -> String) -> ProjectionReport {
        let advice = |advice: Advice| AdviceReport { code: advice.code, message: advice.message };
        ProjectionReport {
            tool_id: item.tool_id.as_str().to_owned(),
            family: item.family,
            source_path: item.source_path.as_deref().map(&absolute),
            projection_path: item.projection_path.as_deref().map(&absolute),
            managed: item.is_managed(),
            metadata: item.header.clone(),
            status: item.status,
            action: item.action,
            reason: item.reason,
            lossiness: item.lossiness,
            advice: item.advice.into_iter().map(advice).collect(),
            source_fingerprint: item.source_fingerprint,
            expected_fingerprint: item.expected_fingerprint,
            expected_projection_fingerprint: item.expected_fingerprint,
            actual_projection_fingerprint: item.actual_fingerprint,
            name: item.name,
            harness: item.harness,
            detail: item.detail,
            dry_run: None,
            diff: None,
        }
    }
}

/// A managed file that no catalog entry projects any more.
#[part]
pub struct OrphanReport {
    /// The tool in its header.
    pub tool_id: String,
    /// The family in its header.
    pub family: String,
    /// The harness in its header.
    pub harness: String,
    /// The file.
    pub projection_path: String,
    /// Always true, because only managed files are orphans.
    pub managed: bool,
    /// The header.
    pub metadata: Header,
    /// `orphaned`.
    pub status: Cow<'static, str>,
    /// The action of `apply --prune`.
    pub action: PruneAction,
    /// Why it is an orphan.
    pub reason: OrphanReason,
    /// Whether it may be removed.
    pub prunable: Prunable,
    /// The configured projection path that replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// Both reasons, as a sentence.
    pub detail: String,
    /// True in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

impl OrphanReport {
    /// Builds the row of an orphan. `absolute` makes paths absolute.
    pub fn new(orphan: &Orphan, absolute: impl Fn(&str) -> String) -> OrphanReport {
        let why = match &orphan.cause {
            OrphanCause::ToolGone => "its tool is gone from the catalog",
            OrphanCause::ToolDisabled => "its tool is disabled",
            OrphanCause::HarnessDropped => "its tool no longer projects for this harness",
            OrphanCause::Moved { .. } => "its tool projects to another file",
        };
        let (action, then) = match orphan.prunable {
            Prunable::Yes => (PruneAction::Prune, "pruning removes it"),
            Prunable::Edited => (PruneAction::Keep, "it has local edits, so it is yours to remove"),
            Prunable::CatalogBroken => (PruneAction::Keep, "it is kept until the catalog is valid"),
        };
        let moved_to = match &orphan.cause {
            OrphanCause::Moved { to } => Some(to.clone()),
            OrphanCause::ToolGone | OrphanCause::ToolDisabled | OrphanCause::HarnessDropped => None,
        };
        OrphanReport {
            tool_id: orphan.header.tool_id.clone(),
            family: orphan.header.family.clone(),
            harness: orphan.header.harness.clone(),
            projection_path: absolute(&orphan.path),
            managed: true,
            metadata: orphan.header.clone(),
            status: "orphaned".into(),
            action,
            reason: orphan.cause.reason(),
            prunable: orphan.prunable,
            moved_to,
            detail: format!("{why}; {then}"),
            dry_run: None,
        }
    }
}

/// A file that could not be written or removed.
#[part]
pub struct FailedProjection {
    /// The tool.
    pub tool_id: String,
    /// The harness.
    pub harness: String,
    /// The file.
    pub projection_path: String,
    /// Why.
    pub error: String,
}

impl FailedProjection {
    /// Builds the row of a projection that was not written.
    pub fn new(
        item: ProjectionItem,
        error: impl ToString,
        absolute: impl Fn(&str) -> String,
    ) -> FailedProjection {
        FailedProjection {
            tool_id: item.tool_id.as_str().to_owned(),
            projection_path: absolute(item.projection_path.as_deref().unwrap_or_default()),
            harness: item.harness,
            error: error.to_string(),
        }
    }

    /// Builds the row of an orphan that was not removed.
    pub fn of_orphan(orphan: OrphanReport, error: impl ToString) -> FailedProjection {
        FailedProjection {
            tool_id: orphan.tool_id,
            harness: orphan.harness,
            projection_path: orphan.projection_path,
            error: error.to_string(),
        }
    }
}
