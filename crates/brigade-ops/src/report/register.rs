//! `tools register`.

use brigade_catalog::{Level, ToolSource};
use brigade_core::{Hint, Place, Report, SchemaId, words};
use brigade_policy::Blocker;
use serde::{Deserialize, Serialize};

/// `tools register`: the tools that were added to a catalog.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RegisterReport {
    /// The schema id.
    #[serde(deserialize_with = "RegisterReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The level of the catalog.
    pub level: Level,
    /// The catalog file.
    pub config_path: String,
    /// Whether nothing was written, because the report only shows what would be.
    pub dry_run: bool,
    /// The tools, in the order of the sources; empty if there are errors.
    pub registered: Vec<RegisteredTool>,
    /// Number of tools.
    pub registered_count: usize,
    /// What was not taken over.
    pub notes: Vec<RegisterNoteRow>,
    /// Why nothing was written. Empty if all tools were registered.
    pub errors: Vec<RegisterErrorRow>,
}

impl Report for RegisterReport {
    const SCHEMA: &'static str = "brigade.register.v1";
}

words! {
    /// What a registration does with a tool.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RegisteredTool {
    /// The tool.
    pub tool_id: String,
    /// What is done.
    pub action: RegisterAction,
    /// Its family.
    pub family: String,
    /// Where it comes from.
    pub source: Option<ToolSource>,
    /// The level of the catalog.
    pub level: Level,
    /// Whether it may be used. What can run or install waits for a review.
    pub enabled: bool,
    /// The runtime of an MCP server.
    pub runtime_id: Option<String>,
    /// What it is, in a few words.
    pub detail: String,
    /// The next command to try.
    pub next_command: Option<Hint>,
}

/// Something that was not taken over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RegisterNoteRow {
    /// The code. Its meaning never changes.
    pub code: String,
    /// The field of the source.
    pub field: String,
    /// The sentence.
    pub message: String,
}

/// Why nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RegisterErrorRow {
    /// The code. Its meaning never changes.
    pub code: String,
    /// The definition that was asked for, if there is one.
    #[serde(rename = "ref", default)]
    pub reference: Option<String>,
    /// The field that it is about.
    pub field: Option<String>,
    /// The sentence.
    pub message: String,
    /// The file that has it.
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
