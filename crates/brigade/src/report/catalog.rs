//! Documents about the catalog.

use brigade_core::json::sorted;
use brigade_core::{Json, NextStep};
pub use brigade_facts::{
    ArgumentDescription, Contract, ContractHealth, DescribedTool, McpSummary, Origin, ToolLine, ToolSummary,
};
use brigade_policy::ErrorLine;
pub use brigade_upkeep::{
    CallSection, CheckpointSection, ParitySection, PolicySection, RunSection, RuntimeSection,
};
use serde::{Deserialize, Serialize};

use super::{IssueReport, LiveReport, Report, Rows, SchemaId, Unfilled};
use crate::exit::Exit;

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
