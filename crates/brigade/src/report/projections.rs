//! Documents about projections.

mod parity;

pub use parity::*;

use std::borrow::Cow;
use std::collections::BTreeMap;

use brigade_core::Fingerprint;
use brigade_projection::{Header, Orphan, OrphanCause, ProjectionItem, Prunable};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Report, SchemaId};
use crate::exit::Exit;
use crate::fault::ErrorLine;

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
    pub(crate) fn of(item: ProjectionItem, absolute: impl Fn(&str) -> String) -> ProjectionReport {
        let advice = |advice: brigade_projection::Advice| AdviceReport {
            code: advice.code.into(),
            message: advice.message,
        };
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
    pub(crate) fn of(orphan: &Orphan, absolute: impl Fn(&str) -> String) -> OrphanReport {
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

/// `tools plan`: how every projection stands and what applying would do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ProjectionPlanReport {
    /// The schema id.
    #[serde(deserialize_with = "plan_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// Whether the catalog has no error and the tool asked for is there.
    pub valid: bool,
    /// The errors of the catalog, and why there is no such tool.
    pub errors: Vec<ErrorLine>,
    /// The tool asked for; absent for all.
    pub tool_id: Option<String>,
    /// The tools that were planned.
    pub tools: Vec<String>,
    /// Their projections, in the order of the catalog.
    pub projections: Vec<ProjectionReport>,
    /// How many projections stand how.
    pub counts: BTreeMap<String, u64>,
    /// Managed files that no entry wants any more.
    pub orphans: Vec<OrphanReport>,
    /// How many.
    pub orphan_count: usize,
    /// Whether every place was looked at; false when there are too many files there.
    pub orphans_complete: bool,
}

impl Report for ProjectionPlanReport {
    const SCHEMA: &'static str = "brigade.projection-plan.v1";

    fn exit(&self) -> Exit {
        if self.valid { Exit::Done } else { Exit::Refused }
    }
}

/// Reads the schema id of either document of a plan.
fn plan_schema<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SchemaId, D::Error> {
    let schema = String::deserialize(deserializer)?;
    let ids = [ProjectionPlanReport::SCHEMA, SyncPlanReport::SCHEMA];
    ids.into_iter().find(|id| *id == schema).ok_or_else(|| D::Error::custom("the schema is another one"))
}

/// `tools sync plan`: the same, for `tools sync apply`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SyncPlanReport {
    /// The plan, with the schema id of this document.
    #[serde(flatten)]
    pub plan: ProjectionPlanReport,
    /// `sync-plan`.
    pub mode: Cow<'static, str>,
    /// True: `sync apply` writes nothing unless it is told to.
    pub dry_run_default: bool,
    /// False: `sync apply` removes nothing.
    pub delete_supported: bool,
    /// True, for the same reason.
    pub add_only: bool,
}

impl Report for SyncPlanReport {
    const SCHEMA: &'static str = "brigade.sync-plan.v1";

    fn exit(&self) -> Exit {
        self.plan.exit()
    }
}

/// `tools apply` and `tools sync apply`: what was written, and what was left.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ApplyReport {
    /// The schema id.
    #[serde(deserialize_with = "ApplyReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// Whether the catalog has no error and the tool asked for is there.
    pub valid: bool,
    /// The errors of the catalog, and why there is no such tool.
    pub errors: Vec<ErrorLine>,
    /// The tool asked for; absent for all.
    pub tool_id: Option<String>,
    /// Whether all tools were asked for.
    pub all: bool,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Whether files that hold somebody's own words were replaced.
    pub force: bool,
    /// Whether orphans were removed.
    pub prune: bool,
    /// The projections that were written; in a dry run, that would be.
    pub applied: Vec<ProjectionReport>,
    /// The projections with nothing to do, or nothing that can be done.
    pub skipped: Vec<ProjectionReport>,
    /// The projections that were left because something would be lost.
    pub conflicts: Vec<ProjectionReport>,
    /// The projections and orphans that the disk did not let be written or removed.
    pub failed: Vec<FailedProjection>,
    /// The orphans that were removed; in a dry run, that would be.
    pub pruned: Vec<OrphanReport>,
    /// The orphans that are still there.
    pub orphans: Vec<OrphanReport>,
    /// How many projections were written.
    pub applied_count: usize,
    /// How many were skipped.
    pub skipped_count: usize,
    /// How many were left.
    pub conflict_count: usize,
    /// How many of the skipped ones may not be written where they should be.
    pub refused_count: usize,
    /// How many the disk did not let be written.
    pub failed_count: usize,
    /// How many orphans were removed.
    pub pruned_count: usize,
    /// How many orphans are still there.
    pub orphan_count: usize,
}

impl Report for ApplyReport {
    const SCHEMA: &'static str = "brigade.apply.v1";

    /// Targets that are refused and sources that are missing are no failure of this command: health tells of them.
    fn exit(&self) -> Exit {
        let is_kept = self.prune && 0 < self.orphan_count;
        if 0 < self.failed_count {
            Exit::Environment
        } else if !self.valid || 0 < self.conflict_count || is_kept {
            Exit::Refused
        } else {
            Exit::Done
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
