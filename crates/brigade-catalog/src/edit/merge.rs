//! Merges entries into a catalog that may already contain some of them.

use super::{EditError, add_tool, set_field, set_list};
use crate::entry_text::FieldValue;
use crate::model::{Catalog, Level, Tool, ToolId};
use crate::{fields, starter};

/// What to do with an existing file, or an entry that the catalog already has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnExisting {
    /// Keep it. A built-in entry of an older version gains missing harnesses and projections; one with a different
    /// source is a conflict.
    #[default]
    Keep,
    /// Replace it. An entry gets the fields of the given entry, and keeps fields that the given entry lacks.
    Overwrite,
}

/// An existing entry that prevents a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The id of both entries.
    pub id: ToolId,
    /// The source of the existing entry.
    pub existing_source_path: Option<String>,
    /// The source of the given entry.
    pub given_source_path: Option<String>,
}

/// The result of a merge. If there are conflicts, nothing should be written; the lists show what would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeResult {
    /// The new text of the file.
    pub text: String,
    /// The entries that were added.
    pub added: Vec<ToolId>,
    /// The entries that were changed.
    pub updated: Vec<ToolId>,
    /// The entries that were already up to date or kept.
    pub skipped: Vec<ToolId>,
    /// The entries that prevent the merge.
    pub conflicts: Vec<Conflict>,
}

/// Merges tools into a catalog.
pub fn merge(text: &str, tools: &[Tool], existing: OnExisting) -> Result<MergeResult, EditError> {
    let catalog = Catalog::parse("", Level::Project, text.as_bytes());
    let mut merged = MergeResult {
        text: text.to_owned(),
        added: Vec::new(),
        updated: Vec::new(),
        skipped: Vec::new(),
        conflicts: Vec::new(),
    };
    for tool in tools {
        let Some(old) = catalog.tool(tool.id.as_str()) else {
            merged.text = add_tool(&merged.text, tool)?;
            merged.added.push(tool.id.clone());
            continue;
        };
        match existing {
            OnExisting::Keep if old.source_path != tool.source_path => merged.conflicts.push(Conflict {
                id: tool.id.clone(),
                existing_source_path: old.source_path.clone(),
                given_source_path: tool.source_path.clone(),
            }),
            OnExisting::Keep | OnExisting::Overwrite => {
                let changed = match existing {
                    OnExisting::Keep => replace(&merged.text, old, &extended(old, tool, &catalog))?,
                    OnExisting::Overwrite => replace(&merged.text, old, tool)?,
                };
                let list = if changed == merged.text { &mut merged.skipped } else { &mut merged.updated };
                list.push(tool.id.clone());
                merged.text = changed;
            }
        }
    }
    Ok(merged)
}

/// Returns the old entry with the harnesses and projections of the given entry added, unless a person chose its
/// harnesses.
fn extended(old: &Tool, given: &Tool, catalog: &Catalog) -> Tool {
    let mut tool = old.clone();
    if !starter::has_older_harnesses(old, catalog) {
        return tool;
    }
    for harness in &given.supported_harnesses {
        if !tool.supported_harnesses.contains(harness) {
            tool.supported_harnesses.push(harness.clone());
        }
    }
    for (harness, path) in &given.projections {
        tool.projections.entry(harness.clone()).or_insert_with(|| path.clone());
    }
    tool
}

fn replace(text: &str, old: &Tool, new: &Tool) -> Result<String, EditError> {
    let mut text = text.to_owned();
    for name in fields::TOOL.names() {
        let (before, Some(after)) = (old.field(name), new.field(name)) else { continue };
        if before.as_ref() == Some(&after) {
            continue;
        }
        text = match (&before, &after) {
            // Elements that stay keep their comments.
            (Some(FieldValue::List(before)), FieldValue::List(after)) if is_edited(before, after) => {
                set_list(&text, new.id.as_str(), name, after)?
            }
            _ => set_field(&text, new.id.as_str(), name, &after)?,
        };
    }
    Ok(text)
}

/// Returns whether the other list results from removing elements and adding others at the end.
fn is_edited(before: &[String], after: &[String]) -> bool {
    let kept = before.iter().filter(|text| after.contains(text));
    let added = after.iter().filter(|text| !before.contains(text));
    kept.chain(added).eq(after)
}
