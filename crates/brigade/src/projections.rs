//! Operations on projections: plan, apply, prune.

mod apply;
mod harnesses;

use std::sync::Arc;

pub use apply::{ApplyRequest, Selection, SyncRequest};
use brigade_apply::find_orphans;
use brigade_catalog::{Catalog, Tool};
use brigade_facts::{Places, plan_projections};
use brigade_policy::ErrorLine;
use brigade_projection::{Depth, Orphan};

use crate::error::Error;
use crate::report::{OrphanReport, ProjectionPlanReport, ProjectionReport, Report as _, SyncPlanReport};
use crate::room::{CATALOG, Room};
use brigade_upkeep::counts;
use brigade_upkeep::gather;
use brigade_upkeep::load;
use brigade_upkeep::load::shown_id;

/// Operations on projections.
#[derive(Clone)]
pub struct Projections {
    pub(crate) room: Arc<Room>,
}

impl Projections {
    /// Plans the projections of one tool or all tools, and finds orphans. Writes nothing.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn plan(&self, id: Option<&str>) -> Result<ProjectionPlanReport, Error> {
        let config = gather::config(&self.room)?;
        let places = places(&self.room);
        let search = find_orphans(self.room.host(), &config, &places);
        let selected = select(&self.room, &config.catalog, id, &search.orphans);
        let tools = &selected.tools;
        let absolute = |path: &str| self.room.absolute(path);
        let report = |item| ProjectionReport::of(item, absolute);
        let projections = plan_projections(self.room.host(), &config, tools, &places, Depth::Full, report);
        let orphans: Vec<OrphanReport> =
            selected.orphans.iter().map(|orphan| OrphanReport::of(orphan, absolute)).collect();
        Ok(ProjectionPlanReport {
            schema: ProjectionPlanReport::SCHEMA,
            target: self.room.target(),
            config_path: self.room.absolute(CATALOG),
            valid: selected.errors.is_empty(),
            diagnosis: load::diagnosis(&self.room, &selected.errors),
            errors: selected.errors,
            tool_id: id.map(shown_id),
            tools: tools.iter().map(|tool| tool.id.as_str().to_owned()).collect(),
            counts: counts(projections.iter().map(|item| &*item.status)),
            projections,
            orphan_count: orphans.len(),
            orphans,
            orphans_complete: search.is_complete,
        })
    }

    /// Plans for `sync apply`. Writes nothing.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn sync_plan(&self, id: Option<&str>) -> Result<SyncPlanReport, Error> {
        let plan = self.plan(id)?;
        Ok(SyncPlanReport {
            plan: ProjectionPlanReport { schema: SyncPlanReport::SCHEMA, ..plan },
            mode: "sync-plan".into(),
            dry_run_default: true,
            delete_supported: false,
            add_only: true,
        })
    }
}

/// Creates the reader of target places in this workspace.
pub(crate) fn places(room: &Room) -> Places<'_> {
    Places::new(&*room.fs, room.target())
}

/// Selects one tool and its orphans, or everything.
fn select<'c>(room: &Room, catalog: &'c Catalog, id: Option<&str>, orphans: &[Orphan]) -> Selected<'c> {
    let mut errors = load::errors_of(catalog);
    let Some(id) = id else {
        return Selected { tools: load::enabled(catalog), orphans: orphans.to_vec(), errors };
    };
    let of_tool = |orphan: &&Orphan| orphan.header.tool_id == id.trim();
    let orphans: Vec<Orphan> = orphans.iter().filter(of_tool).cloned().collect();
    let tools = match load::named_tool(catalog, id) {
        Ok(tool) => vec![tool],
        // A tool that is no longer in the catalog may still have orphans.
        Err(_) if !orphans.is_empty() => Vec::new(),
        Err(error) => {
            // An unreadable catalog is already reported.
            if !catalog.tools().is_empty() || errors.is_empty() {
                errors.push(error.line(&room.speller()));
            }
            Vec::new()
        }
    };
    Selected { tools, orphans, errors }
}

/// The selected tools and orphans.
struct Selected<'c> {
    tools: Vec<&'c Tool>,
    orphans: Vec<Orphan>,
    /// Errors in the catalog, and an error for an unknown tool.
    errors: Vec<ErrorLine>,
}

#[cfg(test)]
mod tests;
