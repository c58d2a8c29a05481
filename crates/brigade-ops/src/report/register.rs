//! `tools register`.

use brigade_catalog::{Level, ToolSource};
use brigade_core::{Hint, Place, words};
use brigade_macros::{document, part};
use brigade_policy::Blocker;

/// `tools register`: the tools that were added to a catalog.
#[document("brigade.register.v1")]
pub struct RegisterReport {
    /// The workspace root.
    pub target: String,
    /// The level of the catalog.
    pub level: Level,
    /// The catalog file.
    pub config_path: String,
    /// Whether this is a dry run, which writes nothing.
    pub dry_run: bool,
    /// The tools, in the order of the sources; empty if there are errors.
    pub registered: Vec<RegisteredTool>,
    /// Number of tools.
    pub registered_count: usize,
    /// Fields that were not adopted.
    pub notes: Vec<RegisterNoteRow>,
    /// Why nothing was written. Empty if all tools were registered.
    pub errors: Vec<RegisterErrorRow>,
}

words! {
    /// The action of a registration on a tool.
    RegisterAction {
        /// It is added.
        Add = "add",
        /// It replaces an entry.
        Replace = "replace",
        /// It would be added.
        WouldAdd = "would-add",
        /// It would replace an entry.
        WouldReplace = "would-replace",
    }
}

/// A registered tool.
#[part(PartialEq)]
pub struct RegisteredTool {
    /// The tool.
    pub tool_id: String,
    /// The action.
    pub action: RegisterAction,
    /// Its family.
    pub family: String,
    /// Where it comes from.
    pub source: Option<ToolSource>,
    /// The level of the catalog.
    pub level: Level,
    /// Whether it is enabled. A tool that can run or install something needs a review first.
    pub enabled: bool,
    /// The runtime of an MCP server.
    pub runtime_id: Option<String>,
    /// A short description.
    pub detail: String,
    /// The next command to try.
    pub next_command: Option<Hint>,
}

/// A field that was not adopted.
#[part(PartialEq, Eq)]
pub struct RegisterNoteRow {
    /// The code. Its meaning never changes.
    pub code: String,
    /// The field of the source.
    pub field: String,
    /// The sentence.
    pub message: String,
}

/// Why nothing was written.
#[part(Default, PartialEq, Eq)]
pub struct RegisterErrorRow {
    /// The code. Its meaning never changes.
    pub code: String,
    /// The requested definition, if it was named by a reference.
    #[serde(rename = "ref", default)]
    pub reference: Option<String>,
    /// The field with the error.
    pub field: Option<String>,
    /// The sentence.
    pub message: String,
    /// The file with the error.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column, from 1.
    pub column: Option<usize>,
}

impl RegisterErrorRow {
    /// Returns the place of the error, if it is in a file.
    pub fn place(&self) -> Option<Place> {
        let file = self.file.as_ref()?;
        Some(match self.line {
            Some(line) => Place::at(file, line, self.column.unwrap_or(1)),
            None => Place::file(file),
        })
    }
}

impl From<&RegisterErrorRow> for Blocker {
    fn from(error: &RegisterErrorRow) -> Blocker {
        Blocker {
            code: error.code.clone().into(),
            message: error.message.clone(),
            place: error.place(),
            field: error.field.clone(),
            hint: None,
        }
    }
}
