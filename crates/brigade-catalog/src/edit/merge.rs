//! Brings entries into a catalog that may have some of them.

use super::{EditError, add_tool, set_field};
use crate::fields;
use crate::model::{Catalog, Level, Tool, ToolId};

/// What happens to an entry that the catalog has already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It gains the harnesses and projections that it lacks; everything else stays. One with another source is a conflict.
    Keep,
    /// Its fields are set to those of the given entry; fields that the given one does not have stay.
    Replace,
}

/// An entry that stands in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The id that both have.
    pub id: ToolId,
    /// The source of the one in the catalog.
    pub existing_source_path: Option<String>,
    /// The source of the given one.
    pub given_source_path: Option<String>,
}

/// What a merge comes to. With conflicts nothing should be written; the lists say what would have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The new text of the file.
    pub text: String,
    /// The entries that were added.
    pub added: Vec<ToolId>,
    /// The entries of which a field was changed.
    pub updated: Vec<ToolId>,
    /// The entries that stayed as they were.
    pub skipped: Vec<ToolId>,
    /// The entries that stand in the way.
    pub conflicts: Vec<Conflict>,
}

/// Brings tools into a catalog.
pub fn merge(text: &str, tools: &[Tool], existing: Existing) -> Result<Merged, EditError> {
    let catalog = Catalog::parse("", Level::Project, text.as_bytes());
    let mut merged = Merged {
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
            Existing::Keep if old.source_path != tool.source_path => merged.conflicts.push(Conflict {
                id: tool.id.clone(),
                existing_source_path: old.source_path.clone(),
                given_source_path: tool.source_path.clone(),
            }),
            Existing::Keep | Existing::Replace => {
                let changed = match existing {
                    Existing::Keep => replace(&merged.text, old, &extended(old, tool))?,
                    Existing::Replace => replace(&merged.text, old, tool)?,
                };
                let list = if changed == merged.text { &mut merged.skipped } else { &mut merged.updated };
                list.push(tool.id.clone());
                merged.text = changed;
            }
        }
    }
    Ok(merged)
}

/// Adds the harnesses and projections of the given entry that the old one lacks.
fn extended(old: &Tool, given: &Tool) -> Tool {
    let mut tool = old.clone();
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
        if let Some(value) = new.field(name)
            && old.field(name).as_ref() != Some(&value)
        {
            text = set_field(&text, new.id.as_str(), name, &value)?;
        }
    }
    Ok(text)
}
