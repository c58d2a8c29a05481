//! Writing projections and removing orphans.

use std::collections::{BTreeSet, HashMap};

use brigade_core::parallel::in_parallel;
use brigade_core::{Fingerprint, NextStep};
use brigade_facts::refuse_shared;
use brigade_facts::{Places, Sources};
use brigade_fs::{FsError, Lock, RelPath};
use brigade_projection::{
    Orphan, Overwrite, PlannedWrite, PlannedWrites, ProjectionAction, ProjectionItem, ProjectionStatus,
    Prunable, folders, planned_writes,
};

use super::Selected;
use super::orphans::projected;
use super::staging::{Outcome, Write, sync_names, write_all};
use crate::error::{Error, ErrorKind};
use crate::gather;
use crate::gather::Config;
use crate::load::shown_id;
use crate::projections;
use crate::projections::Projections;
use crate::report::{ApplyReport, FailedProjection, OrphanReport, ProjectionReport, Report as _};
use crate::room::{CATALOG, Room, rel};

/// The lock of everything that writes projections.
const LOCK: &str = ".brigade/tools/apply.lock";

/// The largest orphan that is removed.
const FILE_LIMIT: u64 = 64 << 20;

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
        let remembered = super::remembered::remembered(&self.room, was_applied(&self.room));
        let _lock = if request.dry_run { None } else { lock_projections(&self.room)? };
        let config = gather::config(&self.room)?;
        let places = projections::places(&self.room);
        let id = match &request.which {
            Selection::One(id) => Some(id.as_str()),
            Selection::All => None,
        };
        // Only one who wants to remove orphans has to wait for the search.
        let search = if request.prune {
            super::orphans::find_orphans(&self.room, &config, &places)?.orphans
        } else {
            Vec::new()
        };
        let selected = projections::select(&self.room, &config.catalog, id, &search);
        let facts =
            Sources::of(gather::host(&self.room), &config, &selected.tools).all(&selected.tools, &places);
        let overwrite = if request.force { Overwrite::Force } else { Overwrite::Never };
        let now = self.room.now();
        let planned = in_parallel(facts.len(), |index| {
            planned_writes(std::slice::from_ref(&facts[index]), &config.claims, overwrite, now)
        });
        let mut work = Work::of(planned, &places, &config);
        if !request.dry_run {
            write(&self.room, &mut work)?;
            if self.room.fs.exists(&rel(CATALOG))? {
                // Read again, now that nobody else is at it; what went before was only whether there was a list.
                let list = super::remembered::remembered(&self.room, !remembered.is_complete);
                let root = self.room.target();
                let known = config.catalog.tools().iter().flat_map(|tool| projected(tool, &root));
                super::remembered::remember(
                    &self.room,
                    list,
                    work.writes.iter().map(|(_, path)| path.clone()),
                    known,
                )?;
            }
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

/// Tells whether projections were ever written here by this program.
pub(crate) fn was_applied(room: &Room) -> bool {
    room.fs.exists(&rel(LOCK)).unwrap_or(true)
}

/// Waits until nobody else writes projections; takes nothing where there is no catalog.
fn lock_projections(room: &Room) -> Result<Option<Lock>, Error> {
    if !room.fs.exists(&rel(CATALOG))? {
        return Ok(None);
    }
    let path = rel(LOCK);
    room.fs.create_dir_all(&path.parent())?;
    let holder = format!("process {} (apply), since {}", std::process::id(), room.now());
    Ok(Some(room.fs.lock(&path, &holder, room.env.lock_timeout)?))
}

/// Writes what is to be written, and moves what could not be to where it belongs.
pub(super) fn write(room: &Room, work: &mut Work<'_>) -> Result<(), Error> {
    let writes: Vec<Write<'_>> = work
        .writes
        .iter()
        .map(|(planned, path)| Write { path: path.clone(), bytes: &planned.bytes, before: planned.before })
        .collect();
    let outcomes = write_all(&*room.fs, &writes)?;
    drop(writes);
    let mut written = Vec::with_capacity(work.writes.len());
    for ((mut planned, path), outcome) in std::mem::take(&mut work.writes).into_iter().zip(outcomes) {
        match outcome {
            Outcome::Written => written.push((planned, path)),
            Outcome::Changed => {
                planned.item.action = ProjectionAction::Conflict;
                planned.item.reason = Some("changed-meanwhile");
                planned.item.detail = "the file changed while it was to be written; try again".into();
                work.conflicts.push(planned.item);
            }
            Outcome::Failed(error) => work.failed.push((planned.item, error)),
        }
    }
    work.writes = written;
    Ok(())
}

/// Removes the orphans that may be removed.
fn prune(room: &Room, request: &ApplyRequest, orphans: &[Orphan]) -> Result<Pruning, Error> {
    let mut pruning = Pruning::default();
    let mut changed = BTreeSet::new();
    for orphan in orphans {
        let report = OrphanReport::of(orphan, |path| room.absolute(path));
        if !request.prune || orphan.prunable != Prunable::Yes {
            pruning.kept.push(report);
        } else if request.dry_run {
            pruning.pruned.push(OrphanReport { dry_run: Some(true), ..report });
        } else {
            match remove_orphan(room, orphan, &mut changed) {
                Ok(true) => pruning.pruned.push(report),
                Ok(false) => {
                    let detail = "the file changed while it was to be removed; try again".to_owned();
                    pruning.kept.push(OrphanReport { action: "keep", prunable: "edited", detail, ..report });
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
    sync_names(&*room.fs, &changed)?;
    Ok(pruning)
}

/// Removes an orphan that is as it was found, and the folders that are empty then, up to that of the harness.
fn remove_orphan(room: &Room, orphan: &Orphan, changed: &mut BTreeSet<RelPath>) -> Result<bool, FsError> {
    let Ok(path) = orphan.path.parse::<RelPath>() else { return Ok(false) };
    match room.fs.read(&path, FILE_LIMIT) {
        Ok(bytes) if Fingerprint::of_bytes(&bytes) == orphan.fingerprint => {}
        Ok(_) => return Ok(false),
        Err(error) if error.is_not_found() => return Ok(true),
        Err(error) => return Err(error),
    }
    room.fs.remove(&path)?;
    let homes: Vec<RelPath> = folders().into_iter().map(rel).collect();
    let is_below = |folder: &RelPath| homes.iter().any(|home| folder != home && folder.is_in(home));
    let mut folder = path.parent();
    while is_below(&folder) && room.fs.remove_dir(&folder).is_ok() {
        changed.remove(&folder);
        folder = folder.parent();
    }
    changed.insert(folder);
    Ok(true)
}

fn apply_report(
    room: &Room,
    request: &ApplyRequest,
    selected: Selected<'_>,
    work: Work<'_>,
    pruning: Pruning,
) -> ApplyReport {
    let absolute = |path: &str| room.absolute(path);
    let report = |item: ProjectionItem| ProjectionReport {
        dry_run: request.dry_run.then_some(true),
        ..ProjectionReport::of(item, absolute)
    };
    let applied = |(planned, _): (PlannedWrite<'_>, RelPath)| ProjectionReport {
        diff: request.dry_run.then(|| planned.diff()),
        ..report(planned.item)
    };
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

/// What is to be done, or was.
pub(super) struct Work<'f> {
    /// The files to write, with their places, links followed.
    writes: Vec<(PlannedWrite<'f>, RelPath)>,
    skipped: Vec<ProjectionItem>,
    conflicts: Vec<ProjectionItem>,
    failed: Vec<(ProjectionItem, FsError)>,
}

impl<'f> Work<'f> {
    /// Puts the plans of the tools together. A file that several paths lead to through links is written once.
    fn of(planned: Vec<PlannedWrites<'f>>, places: &Places<'_>, config: &Config) -> Work<'f> {
        let mut work =
            Work { writes: Vec::new(), skipped: Vec::new(), conflicts: Vec::new(), failed: Vec::new() };
        let mut written: HashMap<RelPath, String> = HashMap::new();
        for planned in planned {
            let left = [(planned.skipped, false), (planned.conflicts, true)];
            for (items, is_conflict) in left {
                for mut item in items {
                    refuse_shared(&mut item, places, config);
                    let list = if is_conflict && item.status != ProjectionStatus::Invalid {
                        &mut work.conflicts
                    } else {
                        &mut work.skipped
                    };
                    list.push(item);
                }
            }
            for mut write in planned.writes {
                refuse_shared(&mut write.item, places, config);
                let parsed = || write.path.parse().expect("planned paths stay inside the workspace");
                let path = places.moved(&write.path).unwrap_or_else(parsed);
                if write.item.status == ProjectionStatus::Invalid {
                    work.skipped.push(write.item);
                } else if let Some(harness) = written.get(&path) {
                    write.item.action = ProjectionAction::Skip;
                    write.item.reason = Some("same-file");
                    write.item.detail = format!("the same file is written for {harness}").into();
                    work.skipped.push(write.item);
                } else {
                    written.insert(path.clone(), write.item.harness.clone());
                    work.writes.push((write, path));
                }
            }
        }
        work
    }
}

/// What became of orphans.
#[derive(Default)]
struct Pruning {
    pruned: Vec<OrphanReport>,
    kept: Vec<OrphanReport>,
    failed: Vec<FailedProjection>,
}
