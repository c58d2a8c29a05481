//! Documents about tool packs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::{CallSection, CheckpointSection, ParitySection, PolicySection, RunSection, RuntimeSection};
use brigade_catalog::pack::{CopiedSource, ImportedEntry, Pack, PackConflict, PortableCatalog, SkippedEntry};
use brigade_core::Hint;
use brigade_core::json::{Rows, sorted};
use brigade_doctor::IssueReport;
use brigade_macros::{document, part};
use brigade_projection::ProjectionReport;
use brigade_workspace::ToolSummary;

/// `tools pack build`: the new pack, and the health of the workspace that it was built from. `tool-pack.json` contains
/// the same, with relative paths.
#[document("brigade.pack-build.v1")]
pub struct PackBuildReport {
    /// The workspace.
    pub target: String,
    /// The id: the name of the directory.
    pub pack_id: String,
    /// The directory.
    pub path: String,
    /// Always `built`.
    pub status: Cow<'static, str>,
    /// When it was built.
    pub created_at: String,
    /// The fingerprint of the state that the pack describes.
    pub evidence_fingerprint: String,
    /// The number of tools.
    pub tool_count: usize,
    /// The enabled tools.
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<ToolSummary>"))]
    pub tools: Rows<ToolSummary>,
    /// The number of projections with each status.
    pub projection_counts: BTreeMap<String, u64>,
    /// The projections.
    pub projections: Vec<ProjectionReport>,
    /// The last closeout, and the issues that it accepts.
    #[serde(serialize_with = "sorted::serialize")]
    pub parity: ParitySection,
    /// The state of the policy.
    #[serde(serialize_with = "sorted::serialize")]
    pub policy: PolicySection,
    /// Counts of the runtimes.
    #[serde(serialize_with = "sorted::serialize")]
    pub runtimes: RuntimeSection,
    /// Counts of the queue.
    #[serde(serialize_with = "sorted::serialize")]
    pub call_queue: CallSection,
    /// Counts of the runs.
    #[serde(serialize_with = "sorted::serialize")]
    pub run_history: RunSection,
    /// Counts of the checkpoints.
    #[serde(serialize_with = "sorted::serialize")]
    pub checkpoints: CheckpointSection,
    /// The number of issues.
    pub issue_count: usize,
    /// The issues.
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<IssueReport>"))]
    pub issues: Rows<IssueReport>,
    /// The entries and sources.
    pub portable_catalog: PortableCatalog,
}

/// `tools pack list`: the packs, newest first.
#[document("brigade.pack-list.v1")]
pub struct PackListReport {
    /// The workspace.
    pub target: String,
    /// The packs.
    pub packs: Vec<Pack>,
    /// Number of listed packs.
    pub pack_count: usize,
    /// Packs that cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadablePack>,
}

/// A pack that cannot be read.
#[part]
pub struct UnreadablePack {
    /// The name of its directory.
    pub pack_id: String,
    /// Why it cannot be read.
    pub error: String,
}

/// `tools pack show`: a pack.
#[document("brigade.pack-show.v1")]
pub struct PackShowReport {
    /// The workspace.
    pub target: String,
    /// The pack.
    pub pack: Pack,
}

/// `tools pack archive`: the new place of the pack.
#[document("brigade.pack-archive.v1")]
pub struct PackArchiveReport {
    /// The workspace.
    pub target: String,
    /// The pack.
    pub pack_id: String,
    /// Always `archived`.
    pub status: Cow<'static, str>,
    /// The directory in the archive.
    pub archive_path: String,
}

/// `tools pack import`: the imported entries, or what prevents the import.
#[document("brigade.pack-import.v1")]
pub struct PackImportReport {
    /// The workspace.
    pub target: String,
    /// The directory of the pack.
    pub pack: String,
    /// The id in the manifest.
    pub pack_id: String,
    /// Whether the pack was imported; if not, nothing was written.
    pub valid: bool,
    /// The number of imported entries.
    pub imported_count: usize,
    /// The imported entries.
    pub imported: Vec<ImportedEntry>,
    /// The sources that are now in the workspace.
    pub copied_sources: Vec<CopiedSource>,
    /// The entries that the catalog already had.
    pub skipped_existing: Vec<SkippedEntry>,
    /// How many.
    pub skipped_existing_count: usize,
    /// The conflicts that prevent the import.
    pub conflicts: Vec<PackConflict>,
    /// The result for the ignore lines: `created (.gitignore)`, `updated (.gitignore)` or `skipped`.
    pub gitignore: String,
    /// The next command to try.
    pub next_command: Hint,
}
