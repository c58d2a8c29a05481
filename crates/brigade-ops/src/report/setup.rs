//! Documents about setting a workspace up.

use brigade_core::Hint;
use brigade_macros::{document, part};

/// `tools init` and `policy init`: what was written.
#[document("brigade.init.v1")]
pub struct InitReport {
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
    /// The workspace around the new one; `null` without one, or if the new one already was a workspace.
    pub workspace_above: Option<WorkspaceAbove>,
    /// The next command to try.
    pub next_command: Hint,
}

/// A workspace around a new one. It is allowed, but may not be intended.
#[part]
pub struct WorkspaceAbove {
    /// Its root.
    pub target: String,
    /// The consequence, as one sentence.
    pub message: String,
    /// What to do if it was not intended.
    pub help: Hint,
}
