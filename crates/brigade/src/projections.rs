//! Operations on projections: plan, apply, prune.

use std::sync::Arc;

use brigade_ops::{Error, Refusal, projections};

use crate::report::{ApplyReport, HarnessListReport, HarnessReport, ProjectionPlanReport, SyncPlanReport};
use crate::workspace_inner::WorkspaceInner;

pub use brigade_ops::projections::{ApplyRequest, Selection, SyncRequest};

/// Operations on projections.
#[derive(Clone)]
pub struct Projections {
    pub(crate) inner: Arc<WorkspaceInner>,
}

impl Projections {
    /// Plans the projections of one tool or all tools, and finds orphans. Writes nothing.
    ///
    /// # Errors
    /// Returns [`Refusal::ProjectionPlan`] if no tool has this id, and no projection is left of one, or if the catalog
    /// cannot be read. Also returns file errors.
    pub fn plan(&self, id: Option<&str>) -> Result<ProjectionPlanReport, Error> {
        let planned = projections::plan(&self.inner, id);
        planned.map_err(|error| Error::not_done(&self.inner, error, Refusal::ProjectionPlan))
    }

    /// Plans for `sync apply`. Writes nothing.
    ///
    /// # Errors
    /// Returns [`Refusal::SyncPlan`] as [`plan`](Projections::plan) returns its refusal. Also returns file errors.
    pub fn sync_plan(&self, id: Option<&str>) -> Result<SyncPlanReport, Error> {
        let planned = projections::sync_plan(&self.inner, id);
        planned.map_err(|error| Error::not_done(&self.inner, error, Refusal::SyncPlan))
    }

    /// Writes missing and stale projections. Broken entries are skipped and reported.
    ///
    /// # Errors
    /// Returns [`Refusal::Apply`] if there is nothing of the tool, or the catalog cannot be read. Also fails if another
    /// process keeps the lock for too long, or on a file error before anything was replaced.
    pub fn apply(&self, request: &ApplyRequest) -> Result<ApplyReport, Error> {
        let applied = projections::apply(&self.inner, request);
        applied.map_err(|error| Error::not_done(&self.inner, error, Refusal::Apply))
    }

    /// Writes projections like [`apply`](Projections::apply), but only with `write` and `force`. Otherwise reports what
    /// would be done.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) for writing without a selection, and the errors of
    /// [`apply`](Projections::apply).
    pub fn sync_apply(&self, request: &SyncRequest) -> Result<ApplyReport, Error> {
        let applied = projections::sync_apply(&self.inner, request);
        applied.map_err(|error| Error::not_done(&self.inner, error, Refusal::Apply))
    }

    /// Lists the known harnesses, and others that the catalog names.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn harnesses(&self) -> Result<HarnessListReport, Error> {
        Ok(projections::list_harnesses(&self.inner)?)
    }

    /// Shows the files that a harness reads, and the tools projected for it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for an unknown harness.
    pub fn harness(&self, name: &str) -> Result<HarnessReport, Error> {
        Ok(projections::harness(&self.inner, name)?)
    }
}

#[cfg(test)]
mod tests;
