//! Documents about closeouts, defaults and harnesses.

use brigade_core::Hint;
use brigade_core::json::sorted;
use brigade_doctor::Closeout;
use brigade_policy::ErrorLine;
pub use brigade_projection::{FrontMatterReport, HarnessLine, HarnessPlaceReport, HarnessTool};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use crate::exit::Exit;
use crate::report::{IssueReport, Report, SchemaId};

/// `tools parity status`: the issues of projections, divided by the last closeout.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ParityReport {
    /// The schema id.
    #[serde(deserialize_with = "ParityReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The folder of closeouts.
    pub closeouts_path: String,
    /// The last closeout, with its `path`; `null` when there is none.
    pub latest_closeout: Option<Closeout>,
    /// How many issues count.
    pub projection_issue_count: usize,
    /// How many the closeout quiets.
    pub quieted_issue_count: usize,
    /// How many came or changed after it.
    pub changed_issue_count: usize,
    /// The issues that count.
    #[serde(serialize_with = "sorted::serialize")]
    pub issues: Vec<IssueReport>,
    /// The issues that the closeout quiets.
    #[serde(serialize_with = "sorted::serialize")]
    pub quieted_issues: Vec<IssueReport>,
    /// The issues that came or changed after it; they are among `issues` too.
    #[serde(serialize_with = "sorted::serialize")]
    pub changed_issues: Vec<IssueReport>,
    /// Closeouts that cannot be read.
    pub errors: Vec<ErrorLine>,
}

impl Report for ParityReport {
    const SCHEMA: &'static str = "brigade.parity.v1";
}

/// `tools parity closeout`: the closeout that was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CloseoutReport {
    /// The schema id.
    #[serde(deserialize_with = "CloseoutReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The name of its folder.
    pub closeout_id: String,
    /// When it was made.
    pub created_at: String,
    /// `reviewed` or `deferred`.
    pub status: Cow<'static, str>,
    /// Why the issues are accepted, in the person's words; may be empty.
    pub reason: String,
    /// How many issues it lists.
    pub issue_count: usize,
    /// Their fingerprints.
    pub source_fingerprints: Vec<String>,
    /// What it is, in one sentence.
    pub safe_summary: String,
    /// The file.
    pub path: String,
}

impl Report for CloseoutReport {
    const SCHEMA: &'static str = "brigade.parity-closeout.v1";
}

/// `tools defaults`: the built-in tools that were brought into the catalog.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DefaultsReport {
    /// The schema id.
    #[serde(deserialize_with = "DefaultsReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// Whether the catalog could be changed.
    pub valid: bool,
    /// Why it could not be.
    pub errors: Vec<ErrorLine>,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Whether entries that were there were brought up to date.
    pub force: bool,
    /// Whether there was no catalog.
    pub created: bool,
    /// The tools that were added.
    pub added: Vec<String>,
    /// The tools that were brought up to date.
    pub updated: Vec<String>,
    /// The tools that stayed as they were.
    pub skipped: Vec<String>,
    /// The tools that stand in the way; then nothing is written.
    pub conflicts: Vec<DefaultConflict>,
    /// The sources of the tools.
    pub sources: Vec<DefaultSource>,
    /// How many sources were written.
    pub source_created_count: usize,
    /// How many sources were there.
    pub source_skipped_count: usize,
    /// How many entries the catalog has then.
    pub tool_count: usize,
    /// How many built-in tools there are.
    pub default_count: usize,
    /// The harnesses that the built-in tools are projected to, when `.brigade/config.json` selects some.
    pub projection_scope: Option<Vec<String>>,
    /// What became of the ignore lines: `created (.gitignore)`, `updated (.gitignore)` or `skipped`.
    pub gitignore: String,
    /// The next command to try.
    pub next_command: Hint,
}

impl Report for DefaultsReport {
    const SCHEMA: &'static str = "brigade.defaults.v1";

    fn exit(&self) -> Exit {
        if self.valid && self.conflicts.is_empty() { Exit::Done } else { Exit::Refused }
    }
}

/// A tool of the catalog that has the id of a built-in one, and another source.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DefaultConflict {
    /// The id.
    pub tool_id: String,
    /// The source of the one in the catalog.
    pub existing_source_path: Option<String>,
    /// The source of the built-in one.
    pub default_source_path: Option<String>,
    /// What to do.
    pub detail: String,
}

/// The source of a built-in tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DefaultSource {
    /// The tool.
    pub tool_id: String,
    /// The file, relative to the workspace.
    pub source_path: String,
    /// The file.
    pub path: String,
    /// What became of it: `create`, `would_create` or `skip`.
    pub action: Cow<'static, str>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Cow<'static, str>>,
}

/// `tools harness list`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HarnessListReport {
    /// The schema id.
    #[serde(deserialize_with = "HarnessListReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The harnesses that are known, and those that only the catalog names.
    pub harnesses: Vec<HarnessLine>,
    /// How many.
    pub harness_count: usize,
}

impl Report for HarnessListReport {
    const SCHEMA: &'static str = "brigade.harnesses.v1";
}

/// `tools harness show`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HarnessReport {
    /// The schema id.
    #[serde(deserialize_with = "HarnessReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The name in tools.toml.
    pub name: String,
    /// The name for people.
    pub title: Cow<'static, str>,
    /// What it reads in a workspace, the preferred kind first.
    pub places: Vec<HarnessPlaceReport>,
    /// What else there is to know.
    pub note: Option<Cow<'static, str>>,
    /// The enabled tools that support it, and where they are projected to.
    pub tools: Vec<HarnessTool>,
    /// How many.
    pub tool_count: usize,
}

impl Report for HarnessReport {
    const SCHEMA: &'static str = "brigade.harness.v1";
}
