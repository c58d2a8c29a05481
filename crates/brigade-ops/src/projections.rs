//! Operations on projections: plan, apply, prune.

mod apply;
pub(crate) mod files;
mod harnesses;

use crate::find_orphans;
pub use apply::{ApplyRequest, Selection, SyncRequest, apply, sync_apply};
use brigade_catalog::{Catalog, Tool};
use brigade_core::Report as _;
use brigade_policy::{ErrorLine, Failure, FailureReport};
use brigade_projection::{Depth, Orphan, OrphanReport, ProjectionReport};
use brigade_workspace::{CATALOG, Places, WorkspaceContext, gather, load, load::shown_id, plan_projections};
pub use harnesses::{harness, list_harnesses};

use crate::doctor::shown::counts;
use crate::report::{ProjectionPlanReport, SyncPlanReport};

/// Plans the projections of one tool or all tools, and finds orphans. Writes nothing.
///
/// # Errors
/// Returns the report if neither a tool nor a projection has this id, or if the catalog cannot be read. Also returns
/// file errors.
pub fn plan(
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

/// Plans for `sync apply`. Writes nothing.
///
/// # Errors
/// Returns the errors of [`plan`].
pub fn sync_plan(
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
