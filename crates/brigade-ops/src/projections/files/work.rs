//! The planned writes of tools and their results.

use std::collections::HashMap;

use brigade_catalog::Tool;
use brigade_core::Timestamp;
use brigade_core::parallel::in_parallel;
use brigade_fs::{Fs, FsError, RelPath};
use brigade_projection::{
    Overwrite, PlannedWrite, ProjectionAction, ProjectionItem, ProjectionReason, ProjectionStatus,
    planned_writes,
};
use brigade_workspace::{Config, Places, Sources, refuse_shared};

use crate::projections::files::staging::{Outcome, Write, write_all};

/// A file to write or to report in a dry run.
pub struct Change {
    /// The projection; its bytes are empty in a dry run.
    pub write: PlannedWrite,
    /// The diff, in a dry run.
    pub diff: Option<String>,
}

impl Change {
    fn new(write: PlannedWrite, purpose: Purpose) -> Change {
        match purpose {
            Purpose::Write => Change { write, diff: None },
            // A dry run needs no bytes, and there may be thousands of files.
            Purpose::Report => {
                let diff = Some(write.diff());
                Change { write: PlannedWrite { bytes: Vec::new(), before: None, ..write }, diff }
            }
        }
    }
}

/// The purpose of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Write the files.
    Write,
    /// Only report the differences.
    Report,
}

/// The changes of one tool, then its skipped items and its conflicts.
type PlannedItems = (Vec<Change>, [(Vec<ProjectionItem>, bool); 2]);

/// The planned writes, and after [`ApplyLock::write`](crate::ApplyLock::write) the results.
pub struct Work {
    /// Files to write, then the written ones, each with its path after links are resolved.
    pub writes: Vec<(Change, RelPath)>,
    /// Projections that need no write or cannot be written.
    pub skipped: Vec<ProjectionItem>,
    /// Files that a user wrote or edited, or that changed since they were planned.
    pub conflicts: Vec<ProjectionItem>,
    /// Writes that failed.
    pub failed: Vec<(ProjectionItem, FsError)>,
}

impl Work {
    /// Reads the sources and targets of tools and plans the writes. Writes nothing.
    pub fn plan(
        sources: &Sources<'_>,
        tools: &[&Tool],
        config: &Config,
        places: &Places<'_>,
        overwrite: Overwrite,
        purpose: Purpose,
        now: Timestamp,
    ) -> Work {
        let planned = in_parallel(tools.len(), |index| {
            let facts = sources.facts(tools[index], places);
            let planned = planned_writes(&[facts], &config.claims, overwrite, now);
            let changes = planned.writes.into_iter().map(|write| Change::new(write, purpose)).collect();
            (changes, [(planned.skipped, false), (planned.conflicts, true)])
        });
        Work::from_planned(planned, places, config)
    }

    /// Merges the plans of the tools. A file that several paths reach through links is written once.
    fn from_planned(planned: Vec<PlannedItems>, places: &Places<'_>, config: &Config) -> Work {
        let mut work =
            Work { writes: Vec::new(), skipped: Vec::new(), conflicts: Vec::new(), failed: Vec::new() };
        let mut written: HashMap<RelPath, String> = HashMap::new();
        for (changes, left) in planned {
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
            for mut change in changes {
                let write = &mut change.write;
                refuse_shared(&mut write.item, places, config);
                let parsed = || RelPath::composed(&write.path);
                let path = places.moved(&write.path).unwrap_or_else(parsed);
                if write.item.status == ProjectionStatus::Invalid {
                    work.skipped.push(change.write.item);
                } else if let Some(harness) = written.get(&path) {
                    write.item.action = ProjectionAction::Skip;
                    write.item.reason = Some(ProjectionReason::SameFile);
                    write.item.detail = format!("the same file is written for {harness}").into();
                    work.skipped.push(change.write.item);
                } else {
                    written.insert(path.clone(), write.item.harness.clone());
                    work.writes.push((change, path));
                }
            }
        }
        work
    }

    /// Writes the files, and moves changed and failed ones to their lists.
    pub(crate) fn write(&mut self, fs: &dyn Fs) -> Result<(), FsError> {
        let writes: Vec<Write<'_>> = self
            .writes
            .iter()
            .map(|(change, path)| Write {
                path: path.clone(),
                bytes: &change.write.bytes,
                before: change.write.before.as_deref(),
            })
            .collect();
        let outcomes = write_all(fs, &writes)?;
        drop(writes);
        let mut written = Vec::with_capacity(self.writes.len());
        for ((mut change, path), outcome) in std::mem::take(&mut self.writes).into_iter().zip(outcomes) {
            match outcome {
                Outcome::Written => written.push((change, path)),
                Outcome::Changed => {
                    let item = &mut change.write.item;
                    item.action = ProjectionAction::Conflict;
                    item.reason = Some(ProjectionReason::ChangedMeanwhile);
                    item.detail = "the file changed while it was to be written; try again".into();
                    self.conflicts.push(change.write.item);
                }
                Outcome::Failed(error) => self.failed.push((change.write.item, error)),
            }
        }
        self.writes = written;
        Ok(())
    }
}
