//! Writing projections and removing orphans.

use brigade_apply::{Change, Purpose, Removal, Removed, Turn, Work, find_orphans};
use brigade_core::NextStep;
use brigade_facts::Sources;
use brigade_fs::{FsError, RelPath};
use brigade_projection::{Orphan, Overwrite, ProjectionItem, ProjectionStatus, Prunable};

use super::Selected;
use crate::error::{Error, ErrorKind};
use crate::gather;
use crate::load::shown_id;
use crate::projections;
use crate::projections::Projections;
use crate::report::{ApplyReport, FailedProjection, OrphanReport, ProjectionReport, Report as _};
use crate::room::{CATALOG, Room};

/// Whose projections are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Those of one tool.
    One(String),
    /// Those of all enabled tools.
    All,
}

/// What to apply, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyRequest {
    /// Whose projections.
    pub which: Selection,
    /// Whether to tell what would be done, and do nothing.
    pub dry_run: bool,
    /// Whether to replace files that hold somebody's own words.
    pub force: bool,
    /// Whether to remove managed files that no entry wants any more, if they have no local edits.
    pub prune: bool,
}

/// What to sync, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncRequest {
    /// Whose projections; absent means all, in a dry run only.
    pub which: Option<Selection>,
    /// Whether to tell what would be done, even if told to write.
    pub dry_run: bool,
    /// Whether to write, when forced too.
    pub write: bool,
    /// Whether to replace files that hold somebody's own words, when writing.
    pub force: bool,
}

impl Projections {
    /// Writes the projections that are missing or stale. Broken entries are left out and reported.
    ///
    /// # Errors
    /// When another one is at it for too long, or the disk fails before anything was replaced.
    pub fn apply(&self, request: &ApplyRequest) -> Result<ApplyReport, Error> {
        let host = gather::host(&self.room);
        let turn = match request.dry_run {
            true => None,
            false => Some(Turn::to_write(host, self.room.env.lock_timeout)?),
        };
        let config = gather::config(&self.room)?;
        let places = projections::places(&self.room);
        let id = match &request.which {
            Selection::One(id) => Some(id.as_str()),
            Selection::All => None,
        };
        // Only one who wants to remove orphans has to wait for the search.
        let search = if request.prune { find_orphans(host, &config, &places).orphans } else { Vec::new() };
        let selected = projections::select(&self.room, &config.catalog, id, &search);
        let overwrite = if request.force { Overwrite::Force } else { Overwrite::Never };
        let purpose = if request.dry_run { Purpose::Tell } else { Purpose::Write };
        let sources = Sources::of(host, &config, &selected.tools);
        let tools = &selected.tools;
        let mut work = Work::plan(&sources, tools, &config, &places, overwrite, purpose, self.room.now());
        if let Some(turn) = &turn {
            turn.write(&mut work, &config)?;
        }
        let prune = prune(&self.room, request, &selected.orphans)?;
        Ok(apply_report(&self.room, request, selected, work, prune))
    }

    /// Writes projections as [`apply`](Workspace::apply) does, but only when told to write and forced; otherwise tells
    /// what would be done.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when it is to write and not told which; otherwise as for [`apply`](Workspace::apply).
    pub fn sync_apply(&self, request: &SyncRequest) -> Result<ApplyReport, Error> {
        let dry_run = request.dry_run || !(request.write && request.force);
        if !dry_run && request.which.is_none() {
            let error = Error::new(ErrorKind::Usage, "writing needs the id of a tool, or --all");
            return Err(error.hint(NextStep::SyncForced));
        }
        self.apply(&ApplyRequest {
            which: request.which.clone().unwrap_or(Selection::All),
            dry_run,
            force: request.force,
            prune: false,
        })
    }
}

/// Removes the orphans that may be removed.
fn prune(room: &Room, request: &ApplyRequest, orphans: &[Orphan]) -> Result<Pruning, Error> {
    let mut pruning = Pruning::default();
    let mut removal = Removal::new(&*room.fs);
    for orphan in orphans {
        let report = OrphanReport::of(orphan, |path| room.absolute(path));
        if !request.prune || orphan.prunable != Prunable::Yes {
            pruning.kept.push(report);
        } else if request.dry_run {
            pruning.pruned.push(OrphanReport { dry_run: Some(true), ..report });
        } else {
            match removal.remove(orphan) {
                Ok(Removed::Gone) => pruning.pruned.push(report),
                Ok(Removed::Changed) => {
                    let detail = "the file changed while it was to be removed; try again".to_owned();
                    pruning.kept.push(OrphanReport {
                        action: "keep".into(),
                        prunable: "edited".into(),
                        detail,
                        ..report
                    });
                }
                Err(error) => pruning.failed.push(FailedProjection {
                    tool_id: report.tool_id,
                    harness: report.harness,
                    projection_path: report.projection_path,
                    error: error.to_string(),
                }),
            }
        }
    }
    removal.finish()?;
    Ok(pruning)
}

fn apply_report(
    room: &Room,
    request: &ApplyRequest,
    selected: Selected<'_>,
    work: Work,
    pruning: Pruning,
) -> ApplyReport {
    let absolute = |path: &str| room.absolute(path);
    let report = |item: ProjectionItem| ProjectionReport {
        dry_run: request.dry_run.then_some(true),
        ..ProjectionReport::of(item, absolute)
    };
    let applied =
        |(change, _): (Change, RelPath)| ProjectionReport { diff: change.diff, ..report(change.write.item) };
    let failed = |(item, error): (ProjectionItem, FsError)| FailedProjection {
        tool_id: item.tool_id.as_str().to_owned(),
        projection_path: absolute(item.projection_path.as_deref().unwrap_or_default()),
        harness: item.harness,
        error: error.to_string(),
    };
    let is_refused = |item: &&ProjectionItem| item.status == ProjectionStatus::Invalid;
    let refused_count = work.skipped.iter().filter(is_refused).count();
    let applied: Vec<_> = work.writes.into_iter().map(applied).collect();
    let skipped: Vec<_> = work.skipped.into_iter().map(report).collect();
    let conflicts: Vec<_> = work.conflicts.into_iter().map(report).collect();
    let mut failed: Vec<_> = work.failed.into_iter().map(failed).collect();
    failed.extend(pruning.failed);
    ApplyReport {
        schema: ApplyReport::SCHEMA,
        target: room.target(),
        config_path: room.absolute(CATALOG),
        valid: selected.errors.is_empty(),
        errors: selected.errors,
        tool_id: match &request.which {
            Selection::One(id) => Some(shown_id(id)),
            Selection::All => None,
        },
        all: request.which == Selection::All,
        dry_run: request.dry_run,
        force: request.force,
        prune: request.prune,
        applied_count: applied.len(),
        skipped_count: skipped.len(),
        conflict_count: conflicts.len(),
        refused_count,
        failed_count: failed.len(),
        pruned_count: pruning.pruned.len(),
        orphan_count: pruning.kept.len(),
        applied,
        skipped,
        conflicts,
        failed,
        pruned: pruning.pruned,
        orphans: pruning.kept,
    }
}

/// What became of orphans.
#[derive(Default)]
struct Pruning {
    pruned: Vec<OrphanReport>,
    kept: Vec<OrphanReport>,
    failed: Vec<FailedProjection>,
}
