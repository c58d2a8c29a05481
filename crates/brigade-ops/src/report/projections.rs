//! Documents about projections.

use std::borrow::Cow;
use std::collections::BTreeMap;

use brigade_core::{Exit, Report, SchemaId};
use brigade_macros::part;
use brigade_policy::{Diagnosis, ErrorLine};
use brigade_projection::{FailedProjection, OrphanReport, ProjectionReport};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// `tools plan`: the status of every projection and the action of apply.
#[part]
pub struct ProjectionPlanReport {
    /// The schema id.
    #[serde(deserialize_with = "plan_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// Whether the catalog has no errors and the requested tool exists.
    pub valid: bool,
    /// Errors in the catalog, and an error for an unknown tool.
    pub errors: Vec<ErrorLine>,
    /// The requested tool; absent for all tools.
    pub tool_id: Option<String>,
    /// The planned tools.
    pub tools: Vec<String>,
    /// Their projections, in catalog order.
    pub projections: Vec<ProjectionReport>,
    /// Number of projections by status.
    pub counts: BTreeMap<String, u64>,
    /// Orphans.
    pub orphans: Vec<OrphanReport>,
    /// Number of entries.
    pub orphan_count: usize,
    /// Whether the search for orphans was complete; false if there are too many files.
    pub orphans_complete: bool,
    /// Where and why the command failed, and what to do.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
}

impl Report for ProjectionPlanReport {
    const SCHEMA: &'static str = "brigade.projection-plan.v1";

    fn exit(&self) -> Exit {
        if self.valid { Exit::Done } else { Exit::Refused }
    }
}

/// Reads the schema id of a plan or a sync plan.
fn plan_schema<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SchemaId, D::Error> {
    let schema = String::deserialize(deserializer)?;
    let ids = [ProjectionPlanReport::SCHEMA, SyncPlanReport::SCHEMA];
    ids.into_iter().find(|id| *id == schema).ok_or_else(|| D::Error::custom("the schema is another one"))
}

/// `tools sync plan`: the plan for `tools sync apply`.
#[part]
pub struct SyncPlanReport {
    /// The plan, with the schema id of this document.
    #[serde(flatten)]
    pub plan: ProjectionPlanReport,
    /// `sync-plan`.
    pub mode: Cow<'static, str>,
    /// Always true: `sync apply` only writes on request.
    pub dry_run_default: bool,
    /// Always false: `sync apply` removes nothing.
    pub delete_supported: bool,
    /// Always true, for the same reason.
    pub add_only: bool,
}

impl Report for SyncPlanReport {
    const SCHEMA: &'static str = "brigade.sync-plan.v1";

    fn exit(&self) -> Exit {
        self.plan.exit()
    }
}

/// `tools apply` and `tools sync apply`: written and skipped projections.
#[part]
pub struct ApplyReport {
    /// The schema id.
    #[serde(deserialize_with = "ApplyReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// Whether the catalog has no errors and the requested tool exists.
    pub valid: bool,
    /// Errors in the catalog, and an error for an unknown tool.
    pub errors: Vec<ErrorLine>,
    /// The requested tool; absent for all tools.
    pub tool_id: Option<String>,
    /// Whether all tools were requested.
    pub all: bool,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Whether files that a user wrote or edited were replaced.
    pub force: bool,
    /// Whether removal of orphans was requested.
    pub prune: bool,
    /// Written projections; in a dry run, those to write.
    pub applied: Vec<ProjectionReport>,
    /// Projections that need no write or cannot be written.
    pub skipped: Vec<ProjectionReport>,
    /// Projections that were not written because edits would be lost.
    pub conflicts: Vec<ProjectionReport>,
    /// Projections and orphans that could not be written or removed.
    pub failed: Vec<FailedProjection>,
    /// Removed orphans; in a dry run, those to remove.
    pub pruned: Vec<OrphanReport>,
    /// Remaining orphans.
    pub orphans: Vec<OrphanReport>,
    /// Number of written projections.
    pub applied_count: usize,
    /// Number of skipped projections.
    pub skipped_count: usize,
    /// Number of conflicts.
    pub conflict_count: usize,
    /// Number of skipped projections with a refused target.
    pub refused_count: usize,
    /// Number of projections that could not be written.
    pub failed_count: usize,
    /// Number of removed orphans.
    pub pruned_count: usize,
    /// Number of remaining orphans.
    pub orphan_count: usize,
    /// Where and why the command failed, and what to do.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
}

impl Report for ApplyReport {
    const SCHEMA: &'static str = "brigade.apply.v1";

    /// A refused target fails this command. A missing source does not, as in v0.30; `doctor` reports it.
    fn exit(&self) -> Exit {
        let is_kept = self.prune && 0 < self.orphan_count;
        if 0 < self.failed_count {
            Exit::Environment
        } else if !self.valid || 0 < self.conflict_count + self.refused_count || is_kept {
            Exit::Refused
        } else {
            Exit::Done
        }
    }
}
