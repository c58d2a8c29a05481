//! Writes projections and removes orphans.

use crate::{ApplyLock, Change, Prune, PruneResult, Purpose, Work, find_orphans, prune};
use brigade_core::{ErrorKind, NextStep, Report as _};
use brigade_fs::{FsError, RelPath};
use brigade_policy::{Failure, FailureReport};
use brigade_projection::{FailedProjection, Overwrite, ProjectionItem, ProjectionReport, ProjectionStatus};
use brigade_workspace::{CATALOG, Sources, WorkspaceContext, gather, load};

use super::SelectedTools;
use crate::report::ApplyReport;

/// Selects the tools to project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// One tool.
    One(String),
    /// All enabled tools.
    All,
}

/// Options of an apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyRequest {
    /// The selected tools.
    pub which: Selection,
    /// Whether to only report what would be done.
    pub dry_run: bool,
    /// Whether to replace files that a user wrote or edited.
    pub force: bool,
    /// Whether to remove orphans without local edits.
    pub prune: bool,
}

/// Options of a sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncRequest {
    /// The selected tools; `None` means all, and is only valid in a dry run.
    pub which: Option<Selection>,
    /// Whether to only report what would be done, even with `write`.
    pub dry_run: bool,
    /// Whether to write. Requires `force`.
    pub write: bool,
    /// Whether to replace files that a user wrote or edited.
    pub force: bool,
}

/// Writes missing and stale projections. Broken entries are skipped and reported.
///
/// # Errors
/// Returns the report if nothing was selected, or the catalog cannot be read. Also fails if another process keeps the
/// lock for too long, or on a file error before anything was replaced.
pub(crate) fn apply(
    context: &WorkspaceContext,
    request: &ApplyRequest,
) -> Result<ApplyReport, FailureReport<Box<ApplyReport>>> {
    let host = context.host();
    let lock = match request.dry_run {
        true => None,
        false => Some(ApplyLock::acquire(host, context.timeout)?),
    };
    let config = gather::config(context)?;
    let places = super::places(context);
    let id = match &request.which {
        Selection::One(id) => Some(id.as_str()),
        Selection::All => None,
    };
    // The search for orphans is only needed to remove them.
    let search = if request.prune { find_orphans(host, &config, &places).orphans } else { Vec::new() };
    let mut selected = super::select(context, &config.catalog, id, &search);
    let overwrite = if request.force { Overwrite::Force } else { Overwrite::Never };
    let purpose = if request.dry_run { Purpose::Report } else { Purpose::Write };
    let sources = Sources::new(host, &config, &selected.tools);
    let tools = &selected.tools;
    let mut work = Work::plan(&sources, tools, &config, &places, overwrite, purpose, context.now());
    if let Some(lock) = &lock {
        lock.write(&mut work, &config)?;
    }
    let how = match (request.prune, request.dry_run) {
        (false, _) => Prune::Keep,
        (true, true) => Prune::Tell,
        (true, false) => Prune::Remove,
    };
    let pruned = prune(&*context.fs, &selected.orphans, how, |path| context.absolute(path))?;
    let missing = selected.missing.take();
    super::report_or_missing(apply_report(context, request, selected, work, pruned), missing)
}

/// Writes projections like [`apply`], but only with `write` and `force`. Otherwise reports what
/// would be done.
///
/// # Errors
/// Returns [`ErrorKind::Usage`] for writing without a selection, and the errors of [`apply`].
pub(crate) fn sync_apply(
    context: &WorkspaceContext,
    request: &SyncRequest,
) -> Result<ApplyReport, FailureReport<Box<ApplyReport>>> {
    let dry_run = request.dry_run || !(request.write && request.force);
    if !dry_run && request.which.is_none() {
        let error = Failure::new(ErrorKind::Usage, "writing needs the id of a tool, or all of them");
        return Err(error.hint(NextStep::SyncForced).into());
    }
    apply(
        context,
        &ApplyRequest {
            which: request.which.clone().unwrap_or(Selection::All),
            dry_run,
            force: request.force,
            prune: false,
        },
    )
}

fn apply_report(
    context: &WorkspaceContext,
    request: &ApplyRequest,
    selected: SelectedTools<'_>,
    work: Work,
    pruned: PruneResult,
) -> ApplyReport {
    let absolute = |path: &str| context.absolute(path);
    let report = |item: ProjectionItem| {
        let mut report = ProjectionReport::new(item, absolute);
        report.dry_run = request.dry_run.then_some(true);
        report
    };
    let applied = |(change, _): (Change, RelPath)| {
        let mut report = report(change.write.item);
        report.diff = change.diff;
        report
    };
    let failed = |(item, error): (ProjectionItem, FsError)| FailedProjection::new(item, error, absolute);
    let is_refused = |item: &&ProjectionItem| item.status == ProjectionStatus::Invalid;
    let refused_count = work.skipped.iter().filter(is_refused).count();
    let applied: Vec<_> = work.writes.into_iter().map(applied).collect();
    let skipped: Vec<_> = work.skipped.into_iter().map(report).collect();
    let conflicts: Vec<_> = work.conflicts.into_iter().map(report).collect();
    let mut failed: Vec<_> = work.failed.into_iter().map(failed).collect();
    failed.extend(pruned.failed);
    ApplyReport {
        schema: ApplyReport::SCHEMA,
        target: context.target(),
        config_path: context.absolute(CATALOG),
        valid: selected.errors.is_empty(),
        diagnosis: load::diagnosis(context, &selected.errors),
        errors: selected.errors,
        tool_id: selected.tool_id,
        all: request.which == Selection::All,
        dry_run: request.dry_run,
        force: request.force,
        prune: request.prune,
        applied_count: applied.len(),
        skipped_count: skipped.len(),
        conflict_count: conflicts.len(),
        refused_count,
        failed_count: failed.len(),
        pruned_count: pruned.removed.len(),
        orphan_count: pruned.remaining.len(),
        applied,
        skipped,
        conflicts,
        failed,
        pruned: pruned.removed,
        orphans: pruned.remaining,
    }
}
