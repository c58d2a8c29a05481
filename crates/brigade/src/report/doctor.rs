//! Documents about fixes.

use brigade_core::{Exit, Hint};
use brigade_macros::part;
pub use brigade_ops::{Fix, FixKind};

use super::{Report, SchemaId};

/// `doctor --fix`.
#[part]
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
