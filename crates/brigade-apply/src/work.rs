//! What is to be written for tools, and what became of it.

use std::collections::HashMap;

use brigade_core::Timestamp;
use brigade_core::parallel::in_parallel;
use brigade_facts::{Config, Places, refuse_shared};
use brigade_fs::{Fs, FsError, RelPath};
use brigade_projection::{
    Overwrite, PlannedWrite, PlannedWrites, ProjectionAction, ProjectionItem, ProjectionStatus, ToolFacts,
    planned_writes,
};

use crate::staging::{Outcome, Write, write_all};

/// What is to be done, or was.
pub struct Work<'f> {
    /// The files to write, with their places, links followed.
    pub writes: Vec<(PlannedWrite<'f>, RelPath)>,
    /// What is left as it is.
    pub skipped: Vec<ProjectionItem>,
    /// What holds a person's own words, or changed meanwhile.
    pub conflicts: Vec<ProjectionItem>,
    /// What the disk did not allow.
    pub failed: Vec<(ProjectionItem, FsError)>,
}

impl<'f> Work<'f> {
    /// Plans what is to be written of what [`Sources::all`](brigade_facts::Sources::all) read; writes nothing.
    pub fn plan(
        facts: &'f [ToolFacts<'f>],
        config: &Config,
        places: &Places<'_>,
        overwrite: Overwrite,
        now: Timestamp,
    ) -> Work<'f> {
        let planned = in_parallel(facts.len(), |index| {
            planned_writes(std::slice::from_ref(&facts[index]), &config.claims, overwrite, now)
        });
        Work::of(planned, places, config)
    }

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

    /// Writes what is to be written, and moves what could not be to where it belongs.
    pub(crate) fn write(&mut self, fs: &dyn Fs) -> Result<(), FsError> {
        let writes: Vec<Write<'_>> = self
            .writes
            .iter()
            .map(|(planned, path)| Write {
                path: path.clone(),
                bytes: &planned.bytes,
                before: planned.before,
            })
            .collect();
        let outcomes = write_all(fs, &writes)?;
        drop(writes);
        let mut written = Vec::with_capacity(self.writes.len());
        for ((mut planned, path), outcome) in std::mem::take(&mut self.writes).into_iter().zip(outcomes) {
            match outcome {
                Outcome::Written => written.push((planned, path)),
                Outcome::Changed => {
                    planned.item.action = ProjectionAction::Conflict;
                    planned.item.reason = Some("changed-meanwhile");
                    planned.item.detail = "the file changed while it was to be written; try again".into();
                    self.conflicts.push(planned.item);
                }
                Outcome::Failed(error) => self.failed.push((planned.item, error)),
            }
        }
        self.writes = written;
        Ok(())
    }
}
