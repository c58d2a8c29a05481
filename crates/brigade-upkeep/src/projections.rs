//! Operations on projections: plan, apply, prune.

mod apply;
mod harnesses;

pub use apply::{ApplyRequest, Selection, SyncRequest, apply, sync_apply};
use brigade_apply::find_orphans;
use brigade_catalog::{Catalog, Tool};
use brigade_core::Report as _;
use brigade_facts::{CATALOG, Places, plan_projections};
use brigade_policy::{ErrorLine, Failure, NotDone};
use brigade_projection::{Depth, Orphan, OrphanReport, ProjectionReport};
pub use harnesses::{harness, list_harnesses};

use crate::load::shown_id;
use crate::report::{ProjectionPlanReport, SyncPlanReport};
use crate::seams::Seams;
use crate::shown::counts;
use crate::{gather, load};

/// Plans the projections of one tool or all tools, and finds orphans. Writes nothing.
///
/// # Errors
/// Tells the report if no tool has this id, and no projection is left of one, or if the catalog cannot be read. Also
/// returns file errors.
pub fn plan(
    seams: &Seams,
    id: Option<&str>,
) -> Result<ProjectionPlanReport, NotDone<Box<ProjectionPlanReport>>> {
    let config = gather::config(seams)?;
    let places = places(seams);
    let search = find_orphans(seams.host(), &config, &places);
    let selected = select(seams, &config.catalog, id, &search.orphans);
    let tools = &selected.tools;
    let absolute = |path: &str| seams.absolute(path);
    let report = |item| ProjectionReport::of(item, absolute);
    let projections = plan_projections(seams.host(), &config, tools, &places, Depth::Full, report);
    let orphans: Vec<OrphanReport> =
        selected.orphans.iter().map(|orphan| OrphanReport::of(orphan, absolute)).collect();
    let report = ProjectionPlanReport {
        schema: ProjectionPlanReport::SCHEMA,
        target: seams.target(),
        config_path: seams.absolute(CATALOG),
        valid: selected.errors.is_empty(),
        diagnosis: load::diagnosis(seams, &selected.errors),
        errors: selected.errors,
        tool_id: selected.tool_id,
        tools: tools.iter().map(|tool| tool.id.as_str().to_owned()).collect(),
        counts: counts(projections.iter().map(|item| item.status.as_str())),
        projections,
        orphan_count: orphans.len(),
        orphans,
        orphans_complete: search.is_complete,
    };
    done(report, selected.missing)
}

/// Returns the report, or refuses the operation because nothing could be selected.
fn done<R>(report: R, missing: Option<Failure>) -> Result<R, NotDone<Box<R>>> {
    match missing {
        Some(failure) => Err(NotDone::refused(failure, Box::new(report))),
        None => Ok(report),
    }
}

/// Plans for `sync apply`. Writes nothing.
///
/// # Errors
/// As [`plan`].
pub fn sync_plan(seams: &Seams, id: Option<&str>) -> Result<SyncPlanReport, NotDone<Box<SyncPlanReport>>> {
    let for_sync = |planned| SyncPlanReport {
        plan: ProjectionPlanReport { schema: SyncPlanReport::SCHEMA, ..planned },
        mode: "sync-plan".into(),
        dry_run_default: true,
        delete_supported: false,
        add_only: true,
    };
    match plan(seams, id) {
        Ok(planned) => Ok(for_sync(planned)),
        Err(refused) => Err(refused.map(|planned| Box::new(for_sync(*planned)))),
    }
}

/// Creates the reader of target places in this workspace.
fn places(seams: &Seams) -> Places<'_> {
    Places::new(&*seams.fs, seams.target())
}

/// Selects one tool and its orphans, or everything.
fn select<'c>(seams: &Seams, catalog: &'c Catalog, id: Option<&str>, orphans: &[Orphan]) -> Selected<'c> {
    let mut errors = load::errors_of(catalog);
    let Some(id) = id else {
        return Selected {
            tools: load::enabled(catalog),
            orphans: orphans.to_vec(),
            errors,
            tool_id: None,
            missing: catalog.readable().err().map(Failure::from),
        };
    };
    let named = load::named_tool(catalog, id);
    // A name may be an alias; one that leads nowhere is shown as it was written.
    let tool_id = named.as_ref().map_or_else(|_| shown_id(id), |tool| tool.id.as_str().to_owned());
    let of_tool = |orphan: &&Orphan| orphan.header.tool_id == tool_id;
    let orphans: Vec<Orphan> = orphans.iter().filter(of_tool).cloned().collect();
    let (tools, missing) = match named {
        Ok(tool) => (vec![tool], None),
        // A tool that is no longer in the catalog may still have orphans.
        Err(_) if !orphans.is_empty() => (Vec::new(), None),
        Err(error) => {
            // An unreadable catalog is already reported.
            if !catalog.tools().is_empty() || errors.is_empty() {
                errors.push(error.line(&seams.speller()));
            }
            (Vec::new(), Some(error))
        }
    };
    Selected { tools, orphans, errors, tool_id: Some(tool_id), missing }
}

/// The selected tools and orphans.
struct Selected<'c> {
    tools: Vec<&'c Tool>,
    orphans: Vec<Orphan>,
    /// Errors in the catalog, and an error for an unknown tool.
    errors: Vec<ErrorLine>,
    /// The id of the one tool that was named.
    tool_id: Option<String>,
    /// Why there is nothing of the one that was named, or of all.
    missing: Option<Failure>,
}
