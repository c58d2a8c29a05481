//! Documents about health and fixes.

use brigade_core::Hint;
use brigade_doctor::InboxItem;
pub use brigade_upkeep::Fix;
use serde::{Deserialize, Serialize};

use super::{Report, SchemaId};
use brigade_core::Exit;

/// `doctor --fix`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FixReport {
    /// The schema id.
    #[serde(deserialize_with = "FixReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// Whether this was a dry run.
    pub dry_run: bool,
    /// Fixes that were done, or would be done.
    pub fixed: Vec<Fix>,
    /// Number of entries.
    pub fixed_count: usize,
    /// Fixes that failed.
    pub failed: Vec<Fix>,
    /// Number of entries.
    pub failed_count: usize,
    /// The command to try next.
    pub next_command: Hint,
    /// The exit of the worst failed fix; not in the document.
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
    /// The workspace root.
    pub target: String,
    /// The inbox file.
    pub imports_path: String,
    /// Number of issues.
    pub issues: usize,
    /// Number of new rows.
    pub created: usize,
    /// Number of issues that have a row already.
    pub skipped: usize,
    /// Number of dismissed issues without a change since.
    pub dismissed: usize,
    /// The new rows.
    pub imports: Vec<InboxItem>,
    /// Number of unreadable inbox lines that were moved to a quarantine file.
    pub quarantined: usize,
    /// The quarantine file.
    pub quarantine_path: Option<String>,
}

impl Report for ImportReport {
    const SCHEMA: &'static str = "brigade.import-issues.v1";
}
