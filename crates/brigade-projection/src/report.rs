//! Projections and orphans as documents have them.

use std::borrow::Cow;

use brigade_core::Fingerprint;
use serde::{Deserialize, Serialize};

use crate::header::Header;
use crate::item::{Advice, ProjectionItem};
use crate::orphan::{Orphan, OrphanCause, Prunable};

/// One projection of one tool for one harness.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ProjectionReport {
    /// The tool.
    pub tool_id: String,
    /// The tool's name for people.
    pub name: String,
    /// The tool's family; absent when the entry is broken.
    pub family: Option<Cow<'static, str>>,
    /// The harness.
    pub harness: String,
    /// The source.
    pub source_path: Option<String>,
    /// The file; absent when none is configured.
    pub projection_path: Option<String>,
    /// Whether the file was written through Brigade.
    pub managed: bool,
    /// The header of the file.
    pub metadata: Option<Header>,
    /// How it stands: `missing`, `current`, `stale`, `unmanaged`, `conflicted`, `missing_source` or `invalid`.
    pub status: Cow<'static, str>,
    /// What applying does: `create`, `update`, `skip` or `conflict`.
    pub action: Cow<'static, str>,
    /// A stable word for why, where one status has several reasons.
    pub reason: Option<Cow<'static, str>>,
    /// Why, in a sentence.
    pub detail: Cow<'static, str>,
    /// What the harness makes of the file: `native`, `adapted` or `reference-only`; absent when it is not known.
    pub lossiness: Option<Cow<'static, str>>,
    /// What else is worth knowing.
    pub advice: Vec<AdviceReport>,
    /// The sha256 of the source's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_fingerprint: Option<Fingerprint>,
    /// The sha256 of what would be written, without its header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_fingerprint: Option<Fingerprint>,
    /// The same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_projection_fingerprint: Option<Fingerprint>,
    /// The sha256 of what is there, without its header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual_projection_fingerprint: Option<Fingerprint>,
    /// True when this is what would have been done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// The change as a unified diff, as the files have it: escape it before it goes to a terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// Something worth knowing about a projection that does not change its status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AdviceReport {
    /// A stable word for it.
    pub code: Cow<'static, str>,
    /// What it is and what to do.
    pub message: String,
}

impl ProjectionReport {
    /// Takes what was found out; `absolute` makes a path as reports have it.
    pub fn of(item: ProjectionItem, absolute: impl Fn(&str) -> String) -> ProjectionReport {
        let advice = |advice: Advice| AdviceReport { code: advice.code.into(), message: advice.message };
        ProjectionReport {
            tool_id: item.tool_id.as_str().to_owned(),
            family: item.family.map(|family| family.as_str().into()),
            source_path: item.source_path.as_deref().map(&absolute),
            projection_path: item.projection_path.as_deref().map(&absolute),
            managed: item.is_managed(),
            metadata: item.header.clone(),
            status: item.status.as_str().into(),
            action: item.action.as_str().into(),
            reason: item.reason.map(Into::into),
            lossiness: item.lossiness.map(|lossiness| lossiness.as_str().into()),
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

/// A managed file that no entry wants any more.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OrphanReport {
    /// The tool that it was written for.
    pub tool_id: String,
    /// The tool's family at that time.
    pub family: String,
    /// The harness that it was written for.
    pub harness: String,
    /// The file.
    pub projection_path: String,
    /// True: only managed files are looked for.
    pub managed: bool,
    /// Its header.
    pub metadata: Header,
    /// `orphaned`.
    pub status: Cow<'static, str>,
    /// What `apply --prune` does: `prune` or `keep`.
    pub action: Cow<'static, str>,
    /// Why nobody wants it: `tool-gone`, `tool-disabled`, `harness-dropped` or `moved`.
    pub reason: Cow<'static, str>,
    /// Whether it may be removed: `yes`, `edited` or `catalog-broken`.
    pub prunable: Cow<'static, str>,
    /// Where the tool projects to instead, as configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// Both in a sentence.
    pub detail: String,
    /// True when this is what would have been done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

impl OrphanReport {
    /// Takes what was found; `absolute` makes a path as reports have it.
    pub fn of(orphan: &Orphan, absolute: impl Fn(&str) -> String) -> OrphanReport {
        let why = match &orphan.cause {
            OrphanCause::ToolGone => "its tool is gone from the catalog",
            OrphanCause::ToolDisabled => "its tool is disabled",
            OrphanCause::HarnessDropped => "its tool no longer projects for this harness",
            OrphanCause::Moved { .. } => "its tool projects to another file",
        };
        let (action, then) = match orphan.prunable {
            Prunable::Yes => ("prune", "apply --prune removes it"),
            Prunable::Edited => ("keep", "it has local edits, so it is yours to remove"),
            Prunable::CatalogBroken => ("keep", "it is kept until the catalog is valid"),
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
            action: action.into(),
            reason: orphan.cause.code().into(),
            prunable: orphan.prunable.code().into(),
            moved_to,
            detail: format!("{why}; {then}"),
            dry_run: None,
        }
    }
}

/// A file that the disk did not let be written or removed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
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
    /// Says why a projection was not written.
    pub fn of(
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

    /// Says why an orphan was not removed.
    pub fn of_orphan(orphan: OrphanReport, error: impl ToString) -> FailedProjection {
        FailedProjection {
            tool_id: orphan.tool_id,
            harness: orphan.harness,
            projection_path: orphan.projection_path,
            error: error.to_string(),
        }
    }
}
