//! What is to be written for tools, and what became of it.

use std::collections::HashMap;

use brigade_catalog::Tool;
use brigade_core::Timestamp;
use brigade_core::parallel::in_parallel;
use brigade_facts::{Config, Places, Sources, refuse_shared};
use brigade_fs::{Fs, FsError, RelPath};
use brigade_projection::{
    Overwrite, PlannedWrite, ProjectionAction, ProjectionItem, ProjectionStatus, planned_writes,
};

use crate::staging::{Outcome, Write, write_all};

/// A file to write, or one that is only told of.
pub struct Change {
    /// The projection and, unless it is only told of, the bytes.
    pub write: PlannedWrite,
    /// The difference, when it is only told of.
    pub diff: Option<String>,
}

impl Change {
    fn of(write: PlannedWrite, purpose: Purpose) -> Change {
        match purpose {
            Purpose::Write => Change { write, diff: None },
            // The bytes of thousands of files would be held for nothing.
            Purpose::Tell => {
                let diff = Some(write.diff());
                Change { write: PlannedWrite { bytes: Vec::new(), before: None, ..write }, diff }
            }
        }
    }
}

/// What a plan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The files are written.
    Write,
    /// Only the differences are told.
    Tell,
}

/// What one tool's plan writes, and what it leaves: with nothing to decide, then with something.
type Planned = (Vec<Change>, [(Vec<ProjectionItem>, bool); 2]);

/// What is to be done, or was.
pub struct Work {
    /// The files to write, with their places, links followed.
    pub writes: Vec<(Change, RelPath)>,
    /// What is left as it is.
    pub skipped: Vec<ProjectionItem>,
    /// What holds a person's own words, or changed meanwhile.
    pub conflicts: Vec<ProjectionItem>,
    /// What the disk did not allow.
    pub failed: Vec<(ProjectionItem, FsError)>,
}

impl Work {
    /// Reads the sources and targets of tools, and plans what is to be written; writes nothing.
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
            let changes = planned.writes.into_iter().map(|write| Change::of(write, purpose)).collect();
            (changes, [(planned.skipped, false), (planned.conflicts, true)])
        });
        Work::of(planned, places, config)
    }

    /// Puts the plans of the tools together. A file that several paths lead to through links is written once.
    fn of(planned: Vec<Planned>, places: &Places<'_>, config: &Config) -> Work {
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
                let parsed = || write.path.parse().expect("planned paths stay inside the workspace");
                let path = places.moved(&write.path).unwrap_or_else(parsed);
                if write.item.status == ProjectionStatus::Invalid {
                    work.skipped.push(change.write.item);
                } else if let Some(harness) = written.get(&path) {
                    write.item.action = ProjectionAction::Skip;
                    write.item.reason = Some("same-file");
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

    /// Writes what is to be written, and moves what could not be to where it belongs.
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
                    item.reason = Some("changed-meanwhile");
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
