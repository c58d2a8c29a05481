//! Documents about setting a workspace up.

use brigade_core::{Hint, Report, SchemaId};
use serde::{Deserialize, Serialize};

/// `tools init` and `policy init`: what was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InitReport {
    /// The schema id.
    #[serde(deserialize_with = "InitReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The configuration file that was written.
    pub config_path: String,
    /// Number of entries.
    pub tool_count: usize,
    /// Written sources, relative to the workspace.
    pub sources: Vec<String>,
    /// The result for the ignore lines: `created (.gitignore)`, `updated (.gitignore)` or `skipped`.
    pub gitignore: String,
    /// The workspace that the new one lies within; `null` if there is none, or if there was a workspace before.
    pub workspace_above: Option<WorkspaceAbove>,
    /// The next command to try.
    pub next_command: Hint,
}

/// A workspace that a new one lies within. That is allowed, and may not be meant.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WorkspaceAbove {
    /// Its root.
    pub target: String,
    /// What follows from it, as one sentence.
    pub message: String,
    /// What to do if it was not meant.
    pub help: Hint,
}

impl Report for InitReport {
    const SCHEMA: &'static str = "brigade.init.v1";
}
