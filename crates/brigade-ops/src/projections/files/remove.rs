//! Removes orphans.

use std::collections::BTreeSet;

use brigade_core::Fingerprint;
use brigade_fs::{Fs, FsError, RelPath};
use brigade_projection::{FailedProjection, Orphan, OrphanReport, Prunable, PruneAction, folders};

use crate::projections::files::staging::sync_names;

/// The largest orphan that is removed.
const FILE_LIMIT: u64 = 64 << 20;

/// What to do with orphans that may be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prune {
    /// Keep them.
    Keep,
    /// Report what would be removed.
    Tell,
    /// Remove them.
    Remove,
}

/// The result of removing orphans, as documents have it.
#[derive(Clone, Debug, Default)]
pub struct PruneResult {
    /// Orphans that were removed; in a dry run, those to remove.
    pub removed: Vec<OrphanReport>,
    /// Orphans that remain.
    pub remaining: Vec<OrphanReport>,
    /// Orphans whose removal failed.
    pub failed: Vec<FailedProjection>,
}

/// Removes the orphans that may be removed; `absolute` makes a path as reports have it.
///
/// # Errors
/// Fails if the removal cannot be made durable.
pub fn prune(
    fs: &dyn Fs,
    orphans: &[Orphan],
    how: Prune,
    absolute: impl Fn(&str) -> String,
) -> Result<PruneResult, FsError> {
    let mut pruned = PruneResult::default();
    let mut removal = Removal::new(fs);
    for orphan in orphans {
        let mut report = OrphanReport::new(orphan, &absolute);
        if how == Prune::Keep || orphan.prunable != Prunable::Yes {
            pruned.remaining.push(report);
            continue;
        }
        if how == Prune::Tell {
            report.dry_run = Some(true);
            pruned.removed.push(report);
            continue;
        }
        match removal.remove(orphan) {
            Ok(RemovalOutcome::Gone) => pruned.removed.push(report),
            Ok(RemovalOutcome::Changed) => {
                report.action = PruneAction::Keep;
                report.prunable = Prunable::Edited;
                report.detail = "the file changed while it was to be removed; try again".to_owned();
                pruned.remaining.push(report);
            }
            Err(error) => pruned.failed.push(FailedProjection::of_orphan(report, error)),
        }
    }
    removal.finish()?;
    Ok(pruned)
}

/// The result of removing an orphan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RemovalOutcome {
    /// The file no longer exists.
    Gone,
    /// The file changed since it was found, and was left alone.
    Changed,
}

/// Removes orphans, and makes that durable in [`finish`](Removal::finish).
struct Removal<'a> {
    fs: &'a dyn Fs,
    changed: BTreeSet<RelPath>,
}

impl<'a> Removal<'a> {
    /// Creates a removal with nothing removed yet.
    fn new(fs: &'a dyn Fs) -> Removal<'a> {
        Removal { fs, changed: BTreeSet::new() }
    }

    /// Removes an unchanged orphan, and parent directories that become empty, below the directory of the harness.
    fn remove(&mut self, orphan: &Orphan) -> Result<RemovalOutcome, FsError> {
        let Ok(path) = orphan.path.parse::<RelPath>() else { return Ok(RemovalOutcome::Changed) };
        match self.fs.read(&path, FILE_LIMIT) {
            Ok(bytes) if Fingerprint::of_bytes(&bytes) == orphan.fingerprint => {}
            Ok(_) => return Ok(RemovalOutcome::Changed),
            Err(error) if error.is_not_found() => return Ok(RemovalOutcome::Gone),
            Err(error) => return Err(error),
        }
        self.fs.remove(&path)?;
        let homes: Vec<RelPath> = folders().into_iter().map(RelPath::from_static).collect();
        let is_below = |folder: &RelPath| homes.iter().any(|home| folder != home && folder.is_in(home));
        let mut folder = path.parent();
        while is_below(&folder) && self.fs.remove_dir(&folder).is_ok() {
            self.changed.remove(&folder);
            folder = folder.parent();
        }
        self.changed.insert(folder);
        Ok(RemovalOutcome::Gone)
    }

    /// Makes the removals durable.
    fn finish(self) -> Result<(), FsError> {
        sync_names(self.fs, &self.changed)
    }
}
