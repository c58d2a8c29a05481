//! Documents about the catalog.

use std::borrow::Cow;
use std::collections::BTreeMap;

use brigade_call::Checkpoint;
use brigade_core::json::{Mismatch, from_json, present, sorted, to_json};
use brigade_core::{Json, NextStep, Object};
use brigade_doctor::Closeout;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{IssueReport, LiveReport, Report, Rows, RunSummary, SchemaId, Unfilled};
use crate::exit::Exit;
use crate::fault::ErrorLine;

/// One tool, as lists show it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ToolSummary {
    /// The id.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// The family; absent when the entry is broken.
    pub family: Option<String>,
    /// Whether it is offered.
    pub enabled: bool,
    /// The description.
    pub description: String,
    /// The harnesses that should see it.
    pub supported_harnesses: Vec<String>,
    /// The status of each harness's projection.
    pub projection_coverage: BTreeMap<String, String>,
    /// Whether `schema_path` is there.
    pub schema_available: bool,
    /// Whether `manifest_path` is there.
    pub manifest_available: bool,
    /// The label of how it authenticates.
    pub auth_label: Option<String>,
    /// How many tools stand behind the entry.
    pub tool_count: usize,
    /// How it is called.
    pub contract: Contract,
    /// Where the entry stands.
    pub origin: Origin,
    /// Whether an error in the entry makes it unusable.
    pub broken: bool,
    /// The source, when configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_path: Option<String>,
    /// The sha256 of the source, or what the catalog says in its place; `null` when a source is configured and is not
    /// there.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub source_fingerprint: Option<Option<String>>,
    /// The manifest, when configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest_path: Option<String>,
    /// The schema of the tool, when configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_path: Option<String>,
    /// The health file, when configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_path: Option<String>,
    /// The command, when configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Where each harness's projection goes, when configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projection_paths: Option<BTreeMap<String, String>>,
    /// The MCP servers of the tool's config, when it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp: Option<McpSummary>,
}

/// The MCP servers of a local config.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct McpSummary {
    /// How many.
    pub server_count: usize,
    /// Their names, sorted.
    pub server_ids: Vec<String>,
}

/// Where an entry stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Origin {
    /// Whose catalog: `project`, `user` or `discovered`.
    pub level: Cow<'static, str>,
    /// The file, relative to the workspace.
    pub file: String,
    /// The line, from 1.
    pub line: Option<usize>,
}

/// How a tool is called.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Contract {
    /// The tool.
    pub tool_id: String,
    /// The name for people.
    pub name: String,
    /// The family; absent when the entry is broken.
    pub family: Option<String>,
    /// The description.
    pub description: String,
    /// The command.
    pub command: Option<String>,
    /// Seconds that a call may take.
    pub timeout: Option<f64>,
    /// The label of how it authenticates.
    pub auth_label: Option<String>,
    /// The folder that it starts in, as configured.
    pub cwd: Option<String>,
    /// The runtime that it depends on.
    pub runtime_id: Option<String>,
    /// Whether that runtime must run.
    pub requires_runtime: bool,
    /// Where that runtime's health is written.
    pub runtime_health_path: Option<String>,
    /// The MCP server.
    pub mcp_server_id: Option<String>,
    /// The tool's name at that server.
    pub mcp_tool_name: Option<String>,
    /// When a person is asked.
    pub approval_mode: String,
    /// Labels of what it needs.
    pub permissions: Vec<String>,
    /// Labels of what it does.
    pub effects: Vec<String>,
    /// Labels of the variables that it needs.
    pub env_labels: Vec<String>,
    /// How arguments become words of the command line.
    pub argument_template: BTreeMap<String, String>,
    /// The input schema.
    pub input_schema_path: Option<String>,
    /// The output schema.
    pub output_schema_path: Option<String>,
    /// The examples.
    pub examples_path: Option<String>,
    /// Whether there is anything of a contract.
    pub has_contract: bool,
}

/// `tools list` and `tools doctor`: the catalog, its health and counts of everything around it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CatalogReport {
    /// The schema id.
    #[serde(deserialize_with = "CatalogReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// Whether the catalog has no error.
    pub valid: bool,
    /// The errors of the catalog.
    pub errors: Vec<ErrorLine>,
    /// The enabled tools.
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<ToolSummary>"))]
    pub tools: Rows<ToolSummary>,
    /// How many.
    pub tool_count: usize,
    /// Issues before the last parity closeout quiets some.
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<IssueReport>"))]
    pub raw_issues: Rows<IssueReport>,
    /// How many.
    pub raw_issue_count: usize,
    /// The issues that count.
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<IssueReport>"))]
    pub issues: Rows<IssueReport>,
    /// How many.
    pub issue_count: usize,
    /// The first of them.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_issue: Option<IssueReport>,
    /// What the last closeout quiets.
    #[serde(serialize_with = "sorted::serialize")]
    pub parity: ParitySection,
    /// Counts of the queue.
    #[serde(serialize_with = "sorted::serialize")]
    pub call_queue: CallSection,
    /// Counts of the runs.
    #[serde(serialize_with = "sorted::serialize")]
    pub run_history: RunSection,
    /// Counts of the checkpoints.
    #[serde(serialize_with = "sorted::serialize")]
    pub checkpoints: CheckpointSection,
    /// Counts of the runtimes.
    #[serde(serialize_with = "sorted::serialize")]
    pub runtimes: RuntimeSection,
    /// State of the policy.
    #[serde(serialize_with = "sorted::serialize")]
    pub policy: PolicySection,
    /// Whether issues fail the command (`--strict`); not part of the document.
    #[serde(skip)]
    pub strict: bool,
}

impl Report for CatalogReport {
    const SCHEMA: &'static str = "brigade.catalog.v1";

    fn exit(&self) -> Exit {
        if self.valid && !(self.strict && 0 < self.issue_count) { Exit::Done } else { Exit::Refused }
    }
}

/// What the last parity closeout quiets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ParitySection {
    /// The last closeout, with its `path`.
    pub latest_closeout: Option<Closeout>,
    /// How many issues it quiets.
    pub quieted_issue_count: usize,
    /// Those issues.
    pub quieted_issues: Vec<IssueReport>,
    /// How many issues came or changed after it.
    pub changed_issue_count: usize,
    /// Those issues.
    pub changed_issues: Vec<IssueReport>,
}

/// Counts of the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CallSection {
    /// The queue's file.
    pub calls_path: String,
    /// How many calls of each status.
    pub counts: BTreeMap<String, u64>,
    /// How many wait for a decision.
    pub pending_count: u64,
    /// How many issues there are.
    pub issue_count: usize,
    /// The issue that matters most.
    pub top_issue: Option<IssueReport>,
}

/// Counts of the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunSection {
    /// The folder of receipts and logs.
    pub runs_path: String,
    /// How many runs of each status.
    pub counts: BTreeMap<String, u64>,
    /// How many runs there are.
    pub run_count: usize,
    /// The newest one.
    pub latest: Option<RunSummary>,
    /// How many issues there are.
    pub issue_count: usize,
    /// The issue that matters most.
    pub top_issue: Option<IssueReport>,
}

/// Counts of the checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CheckpointSection {
    /// The folder of checkpoints.
    pub checkpoints_path: String,
    /// How many checkpoints of each status.
    pub counts: BTreeMap<String, u64>,
    /// How many checkpoints there are.
    pub checkpoint_count: usize,
    /// The newest one.
    pub latest: Option<Box<Checkpoint>>,
    /// How many issues there are.
    pub issue_count: usize,
    /// The issue that matters most.
    pub top_issue: Option<IssueReport>,
}

/// Counts of the runtimes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RuntimeSection {
    /// The file of the runtimes.
    pub config_path: String,
    /// The folder of their state.
    pub state_path: String,
    /// How many are `running`, `stopped` and `stale`.
    pub counts: BTreeMap<String, u64>,
    /// How many runtimes there are.
    pub runtime_count: usize,
    /// How many issues there are.
    pub issue_count: usize,
    /// The issue that matters most.
    pub top_issue: Option<IssueReport>,
}

/// State of the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PolicySection {
    /// The policy's file.
    pub policy_path: String,
    /// Whether there is one.
    pub enabled: bool,
    /// Whether it is understood.
    pub valid: bool,
    /// How many issues there are.
    pub issue_count: usize,
    /// The issue that matters most.
    pub top_issue: Option<IssueReport>,
}

/// `tools list` for people: what the catalog alone says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ToolLinesReport {
    /// The schema id.
    #[serde(deserialize_with = "ToolLinesReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// Whether the catalog has no error.
    pub valid: bool,
    /// The errors of the catalog.
    pub errors: Vec<ErrorLine>,
    /// The enabled tools.
    pub tools: Vec<ToolLine>,
    /// What to do about a catalog without tools; not part of the document.
    #[serde(skip, default = "first_step")]
    pub next: NextStep,
}

impl Report for ToolLinesReport {
    const SCHEMA: &'static str = "brigade.tool-lines.v1";

    fn exit(&self) -> Exit {
        if self.valid { Exit::Done } else { Exit::Refused }
    }
}

/// What to do about a catalog of which nothing else is known.
fn first_step() -> NextStep {
    NextStep::Init
}

/// One tool on one line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ToolLine {
    /// The id.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// The family; absent when the entry is broken.
    pub family: Option<String>,
    /// The description.
    pub description: String,
    /// The harnesses that should see it.
    pub supported_harnesses: Vec<String>,
    /// Whether an error in the entry makes it unusable.
    pub broken: bool,
}

/// `tools show`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ShowReport {
    /// The schema id.
    #[serde(deserialize_with = "ShowReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// The tool; absent when there is none of that id.
    pub tool: ToolSummary,
    /// Why there is no tool, and what may have been meant.
    pub(crate) error: Unfilled<Option<String>>,
}

impl Report for ShowReport {
    const SCHEMA: &'static str = "brigade.tool.v1";
}

/// `tools search`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SearchReport {
    /// The schema id.
    #[serde(deserialize_with = "SearchReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// What was searched for.
    pub query: String,
    /// The enabled tools whose id, name, family or description contains it.
    pub matches: Vec<ToolSummary>,
    /// How many.
    pub match_count: usize,
}

impl Report for SearchReport {
    const SCHEMA: &'static str = "brigade.tool-search.v1";
}

/// `tools describe`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DescribeReport {
    /// The schema id.
    #[serde(deserialize_with = "DescribeReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// Whether the catalog has no error.
    pub valid: bool,
    /// The errors of the catalog.
    pub errors: Vec<ErrorLine>,
    /// The tool; absent when there is none of that id.
    pub tool: DescribedTool,
    /// The arguments, as the input schema has them.
    pub arguments: Vec<ArgumentDescription>,
    /// Example arguments from the examples file, as JSON.
    pub examples: Json,
    /// The tool's issues.
    #[serde(serialize_with = "sorted::serialize")]
    pub issues: Vec<IssueReport>,
    /// How many.
    pub issue_count: usize,
    /// Why there is no tool, and what may have been meant.
    pub(crate) error: Unfilled<Option<String>>,
    /// What the tool's server says now, when it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveReport>,
}

impl Report for DescribeReport {
    const SCHEMA: &'static str = "brigade.tool-contract.v1";

    fn exit(&self) -> Exit {
        if self.live.as_ref().is_some_and(LiveReport::is_bad) { Exit::Refused } else { Exit::Done }
    }
}

/// A tool with the keys of its summary, and beside them those of its contract.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DescribedTool {
    /// The tool as lists have it.
    #[cfg_attr(feature = "schemas", schemars(flatten))]
    pub summary: ToolSummary,
    /// How it is called.
    #[cfg_attr(feature = "schemas", schemars(flatten))]
    pub contract: Contract,
}

impl Serialize for DescribedTool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = |value: Result<Json, Mismatch>| match value {
            Ok(Json::Object(members)) => Ok(members),
            Ok(_) => Err(S::Error::custom("a tool is an object")),
            Err(error) => Err(S::Error::custom(error)),
        };
        // Keys that both have say the same.
        let mut tool = members(to_json(&self.contract))?;
        tool.extend(members(to_json(&self.summary))?);
        tool.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DescribedTool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DescribedTool, D::Error> {
        let tool = Json::Object(Object::deserialize(deserializer)?);
        Ok(DescribedTool {
            summary: from_json(&tool).map_err(D::Error::custom)?,
            contract: from_json(&tool).map_err(D::Error::custom)?,
        })
    }
}

/// One argument of a tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ArgumentDescription {
    /// Its name.
    pub name: String,
    /// What it may be, in a few words.
    pub kind: String,
    /// Whether it must be given.
    pub required: bool,
    /// What it means.
    pub description: Option<String>,
}

/// `tools contracts`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ContractsReport {
    /// The schema id.
    #[serde(deserialize_with = "ContractsReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// Whether the catalog has no error.
    pub valid: bool,
    /// The errors of the catalog.
    pub errors: Vec<ErrorLine>,
    /// The contracts of the enabled tools.
    pub contracts: Vec<ContractHealth>,
    /// How many.
    pub contract_count: usize,
    /// How many issues they have together.
    pub issue_count: usize,
    /// Those issues.
    #[serde(serialize_with = "sorted::serialize")]
    pub issues: Vec<IssueReport>,
    /// What the servers say now, when they were asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveReport>,
}

impl Report for ContractsReport {
    const SCHEMA: &'static str = "brigade.tool-contracts.v1";

    fn exit(&self) -> Exit {
        if self.valid && !self.live.as_ref().is_some_and(LiveReport::is_bad) {
            Exit::Done
        } else {
            Exit::Refused
        }
    }
}

/// A contract and what is wrong with it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ContractHealth {
    /// The contract.
    #[serde(flatten)]
    pub contract: Contract,
    /// How many issues the tool has.
    pub issue_count: usize,
    /// Those issues.
    #[serde(serialize_with = "sorted::serialize")]
    pub issues: Vec<IssueReport>,
}
