//! Documents about projections.

mod parity;

pub use parity::*;

use std::borrow::Cow;
use std::collections::BTreeMap;

use brigade_policy::ErrorLine;
pub use brigade_projection::{AdviceReport, FailedProjection, OrphanReport, ProjectionReport};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Report, SchemaId};
use crate::exit::Exit;

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
