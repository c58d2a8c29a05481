//! The files that an apply writes.

use std::collections::HashMap;

use brigade_core::Timestamp;

use crate::facts::{TargetFacts, ToolFacts};
use crate::item::{Depth, Overwrite, ProjectionAction, ProjectionItem, ProjectionReason};
use crate::plan::{Claims, Planner};
use crate::render::header_of;

/// The mode of a written file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// The default mode of new files.
    New,
    /// The mode of the replaced file.
    Kept,
}

/// One file to write.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedWrite {
    /// The projection.
    pub item: ProjectionItem,
    /// The path, relative to the workspace.
    pub path: String,
    /// The bytes, including the header.
    pub bytes: Vec<u8>,
    /// The content on which the plan is based. Do not write if it has changed.
    pub before: Option<Vec<u8>>,
    /// The mode.
    pub mode: FileMode,
}

impl PlannedWrite {
    /// Returns the change as a unified diff.
    pub fn diff(&self) -> String {
        crate::diff::unified(&self.path, self.before.as_deref(), Some(&self.bytes))
    }
}

/// The planned writes, and the projections that are left unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlannedWrites {
    /// The files to write, in the order of the catalog.
    pub writes: Vec<PlannedWrite>,
    /// The projections for which nothing has to or can be done.
    pub skipped: Vec<ProjectionItem>,
    /// The projections that are kept because data would be lost.
    pub conflicts: Vec<ProjectionItem>,
}

/// Plans and renders the files to write. Writes nothing.
///
/// A path that two harnesses of a tool share is written once.
pub fn planned_writes(
    facts: &[ToolFacts<'_>],
    claims: &Claims,
    overwrite: Overwrite,
    now: Timestamp,
) -> PlannedWrites {
    let mut planned = PlannedWrites::default();
    let mut written: HashMap<String, String> = HashMap::new();
    for facts in facts {
        let mut planner = Planner::new(facts, claims, overwrite, Depth::Full);
        for target in &facts.targets {
            let (mut item, rendered) = planner.plan(target);
            let source = match item.action {
                ProjectionAction::Skip => {
                    planned.skipped.push(item);
                    continue;
                }
                ProjectionAction::Conflict => {
                    planned.conflicts.push(item);
                    continue;
                }
                ProjectionAction::Create | ProjectionAction::Update => &facts.source,
            };
            let (Ok(source), Some(rendered), Some(path)) = (source, rendered, &target.path) else {
                unreachable!("create and update need a source, a rendering and a path");
            };
            if let Some(harness) = written.get(path.as_ref()) {
                item.action = ProjectionAction::Skip;
                item.reason = Some(ProjectionReason::SameFile);
                item.detail = format!("the same file is written for {harness}").into();
                planned.skipped.push(item);
                continue;
            }
            written.insert(path.to_string(), target.harness.to_owned());
            let header = header_of(facts.tool, target.harness, source, &rendered, now);
            let before =
                if let TargetFacts::File(bytes) = &target.facts { Some(bytes.clone()) } else { None };
            planned.writes.push(PlannedWrite {
                item,
                path: path.to_string(),
                bytes: rendered.file(&header).into_bytes(),
                mode: if before.is_some() { FileMode::Kept } else { FileMode::New },
                before,
            });
        }
    }
    planned
}

#[cfg(test)]
mod tests;
