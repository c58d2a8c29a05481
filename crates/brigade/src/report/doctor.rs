//! Documents about health and what mends it.

use brigade_core::Hint;
use brigade_doctor::InboxItem;
pub use brigade_upkeep::Fix;
use serde::{Deserialize, Serialize};

use super::{Report, SchemaId};
use crate::exit::Exit;

/// `doctor --fix`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FixReport {
    /// The schema id.
    #[serde(deserialize_with = "FixReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// Whether it was only looked at what would be done.
    pub dry_run: bool,
    /// What was mended, or would be.
    pub fixed: Vec<Fix>,
    /// How many.
    pub fixed_count: usize,
    /// What could not be mended.
    pub failed: Vec<Fix>,
    /// How many.
    pub failed_count: usize,
    /// The command to try next.
    pub next_command: Hint,
    /// How the worst of what could not be mended ends the command; not part of the document.
    #[serde(skip)]
    pub worst: Exit,
}

impl Report for FixReport {
    const SCHEMA: &'static str = "brigade.doctor-fix.v1";

    fn exit(&self) -> Exit {
        self.worst
    }
}

/// `import-issues`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ImportReport {
    /// The schema id.
    #[serde(deserialize_with = "ImportReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The inbox.
    pub imports_path: String,
    /// How many issues there are.
    pub issues: usize,
    /// How many became new rows.
    pub created: usize,
    /// How many were there already.
    pub skipped: usize,
    /// How many were dismissed and have not changed since.
    pub dismissed: usize,
    /// The new rows.
    pub imports: Vec<InboxItem>,
    /// How many lines of the inbox could not be read and were set aside.
    pub quarantined: usize,
    /// The file that they are in now.
    pub quarantine_path: Option<String>,
}

impl Report for ImportReport {
    const SCHEMA: &'static str = "brigade.import-issues.v1";
}
