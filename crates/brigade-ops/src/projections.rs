//! Operations on projections: plan, apply, prune.

mod apply;
pub(crate) mod files;
mod harnesses;

use std::sync::Arc;

use crate::error::Error;
use crate::find_orphans;
use crate::refusal::Refusal;
pub(crate) use apply::apply;
use apply::sync_apply;
pub use apply::{ApplyRequest, Selection, SyncRequest};
use brigade_catalog::{Catalog, Tool};
use brigade_core::Report as _;
use brigade_policy::{ErrorLine, Failure, FailureReport};
use brigade_projection::{Depth, Orphan, OrphanReport, ProjectionReport};
use brigade_workspace::{CATALOG, Places, WorkspaceContext, gather, load, load::shown_id, plan_projections};
use harnesses::{harness, list_harnesses};

use crate::doctor::shown::counts;
use crate::report::{ApplyReport, HarnessListReport, HarnessReport, ProjectionPlanReport, SyncPlanReport};

/// Operations on projections.
#[derive(Clone)]
pub struct Projections {
    context: Arc<WorkspaceContext>,
}

impl Projections {
    /// Creates the operations on a workspace.
    pub fn new(context: Arc<WorkspaceContext>) -> Projections {
        Projections { context }
    }

    /// Plans the projections of one tool or all tools, and finds orphans. Writes nothing.
    ///
    /// # Errors
    /// Returns [`Refusal::ProjectionPlan`] if no tool has this id, and no projection is left of one, or if the catalog
    /// cannot be read. Also returns file errors.
    pub fn plan(&self, id: Option<&str>) -> Result<ProjectionPlanReport, Error> {
        let planned = plan(&self.context, id);
        planned.map_err(|error| Error::not_done(&self.context, error, Refusal::ProjectionPlan))
    }

    /// Plans for `sync apply`. Writes nothing.
    ///
    /// # Errors
    /// Returns [`Refusal::SyncPlan`] as [`plan`](Projections::plan) returns its refusal. Also returns file errors.
    pub fn sync_plan(&self, id: Option<&str>) -> Result<SyncPlanReport, Error> {
        let planned = sync_plan(&self.context, id);
        planned.map_err(|error| Error::not_done(&self.context, error, Refusal::SyncPlan))
    }

    /// Writes missing and stale projections. Broken entries are skipped and reported.
    ///
    /// # Errors
    /// Returns [`Refusal::Apply`] if there is nothing of the tool, or the catalog cannot be read. Also fails if another
    /// process keeps the lock for too long, or on a file error before anything was replaced.
    pub fn apply(&self, request: &ApplyRequest) -> Result<ApplyReport, Error> {
        let applied = apply(&self.context, request);
        applied.map_err(|error| Error::not_done(&self.context, error, Refusal::Apply))
    }

    /// Writes projections like [`apply`](Projections::apply), but only with `write` and `force`. Otherwise reports what
    /// would be done.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) for writing without a selection, and the errors of
    /// [`apply`](Projections::apply).
    pub fn sync_apply(&self, request: &SyncRequest) -> Result<ApplyReport, Error> {
        let applied = sync_apply(&self.context, request);
        applied.map_err(|error| Error::not_done(&self.context, error, Refusal::Apply))
    }

    /// Lists the known harnesses, and others that the catalog names.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn harnesses(&self) -> Result<HarnessListReport, Error> {
        Ok(list_harnesses(&self.context)?)
    }

    /// Shows the files that a harness reads, and the tools projected for it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for an unknown harness.
    pub fn harness(&self, name: &str) -> Result<HarnessReport, Error> {
        Ok(harness(&self.context, name)?)
    }
}

pub(crate) fn plan(
    context: &WorkspaceContext,
    id: Option<&str>,
) -> Result<ProjectionPlanReport, FailureReport<Box<ProjectionPlanReport>>> {
    let config = gather::config(context)?;
    let places = places(context);
    let search = find_orphans(context.host(), &config, &places);
    let selected = select(context, &config.catalog, id, &search.orphans);
    let tools = &selected.tools;
    let absolute = |path: &str| context.absolute(path);
    let report = |item| ProjectionReport::new(item, absolute);
    let projections = plan_projections(context.host(), &config, tools, &places, Depth::Full, report);
    let orphans: Vec<OrphanReport> =
        selected.orphans.iter().map(|orphan| OrphanReport::new(orphan, absolute)).collect();
    let report = ProjectionPlanReport {
        schema: ProjectionPlanReport::SCHEMA,
        target: context.target(),
        config_path: context.absolute(CATALOG),
        valid: selected.errors.is_empty(),
        diagnosis: load::diagnosis(context, &selected.errors),
        errors: selected.errors,
        tool_id: selected.tool_id,
        tools: tools.iter().map(|tool| tool.id.as_str().to_owned()).collect(),
        counts: counts(projections.iter().map(|item| item.status.as_str())),
        projections,
        orphan_count: orphans.len(),
        orphans,
        orphans_complete: search.is_complete,
    };
    report_or_missing(report, selected.missing)
}

/// Returns the report, or refuses the operation because nothing could be selected.
fn report_or_missing<R>(report: R, missing: Option<Failure>) -> Result<R, FailureReport<Box<R>>> {
    match missing {
        Some(failure) => Err(FailureReport::refused(failure, Box::new(report))),
        None => Ok(report),
    }
}

pub(crate) fn sync_plan(
    context: &WorkspaceContext,
    id: Option<&str>,
) -> Result<SyncPlanReport, FailureReport<Box<SyncPlanReport>>> {
    let for_sync = |planned| SyncPlanReport {
        plan: ProjectionPlanReport { schema: SyncPlanReport::SCHEMA, ..planned },
        mode: "sync-plan".into(),
        dry_run_default: true,
        delete_supported: false,
        add_only: true,
    };
    match plan(context, id) {
        Ok(planned) => Ok(for_sync(planned)),
        Err(refused) => Err(refused.map(|planned| Box::new(for_sync(*planned)))),
    }
}

/// Creates the reader of target places in this workspace.
fn places(context: &WorkspaceContext) -> Places<'_> {
    Places::new(&*context.fs, context.target())
}

/// Selects one tool and its orphans, or everything.
fn select<'c>(
    context: &WorkspaceContext,
    catalog: &'c Catalog,
    id: Option<&str>,
    orphans: &[Orphan],
) -> SelectedTools<'c> {
    let mut errors = load::errors_of(catalog);
    let Some(id) = id else {
        return SelectedTools {
            tools: load::enabled(catalog),
            orphans: orphans.to_vec(),
            errors,
            tool_id: None,
            missing: catalog.readable().err().map(Failure::from),
        };
    };
    let named = load::named_tool(catalog, id);
    // A name may be an alias. An unknown name is shown as written.
    let tool_id = named.as_ref().map_or_else(|_| shown_id(id), |tool| tool.id.as_str().to_owned());
    let of_tool = |orphan: &&Orphan| orphan.header.tool_id == tool_id;
    let orphans: Vec<Orphan> = orphans.iter().filter(of_tool).cloned().collect();
    let (tools, missing) = match named {
        Ok(tool) => (vec![tool], None),
        // A tool that left the catalog may still have orphans.
        Err(_) if !orphans.is_empty() => (Vec::new(), None),
        Err(error) => {
            // An unreadable catalog is already reported.
            if !catalog.tools().is_empty() || errors.is_empty() {
                errors.push(error.line(&context.speller()));
            }
            (Vec::new(), Some(error))
        }
    };
    SelectedTools { tools, orphans, errors, tool_id: Some(tool_id), missing }
}

/// The selected tools and orphans.
struct SelectedTools<'c> {
    tools: Vec<&'c Tool>,
    orphans: Vec<Orphan>,
    /// Errors in the catalog, and an error for an unknown tool.
    errors: Vec<ErrorLine>,
    /// The id of the one tool that was named.
    tool_id: Option<String>,
    /// Why nothing was selected.
    missing: Option<Failure>,
}

#[cfg(test)]
mod tests;
