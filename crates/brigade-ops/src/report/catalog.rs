//! Documents about the catalog.

use crate::{CallSection, CheckpointSection, ParitySection, PolicySection, RunSection, RuntimeSection};
use brigade_access::builtin::{Definition, Fact};
use brigade_core::json::Rows;
use brigade_core::json::sorted;
use brigade_core::{Json, NextStep, RefusalMember, Timestamp};
use brigade_doctor::IssueReport;
use brigade_harness::DiscoveredEntry;
use brigade_macros::{document, part};
use brigade_mcp::LiveReport;
use brigade_policy::{Diagnosis, ErrorLine};
use brigade_workspace::{ArgumentDescription, ContractHealth, DescribedTool, ToolLine, ToolSummary};

use super::ShownTool;

/// `tools list` and `tools doctor`: the catalog, its health, and counts of calls, runs, checkpoints and runtimes.
#[document("brigade.catalog.v1", if self.valid && !(self.strict && 0 < self.issue_count))]
pub struct CatalogReport {
    /// The workspace root.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// Whether the catalog has no errors.
    pub valid: bool,
    /// Errors in the catalog.
    pub errors: Vec<ErrorLine>,
    /// The enabled tools.
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<ToolSummary>"))]
    pub tools: Rows<ToolSummary>,
    /// Number of entries.
    pub tool_count: usize,
    /// The discovered entries, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovered: Option<Vec<DiscoveredEntry>>,
    /// When they were discovered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovered_at: Option<Timestamp>,
    /// Why discovered entries may be missing, if they were asked for, and what was left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// All issues, including those that the last parity closeout accepted.
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<IssueReport>"))]
    pub raw_issues: Rows<IssueReport>,
    /// Number of entries.
    pub raw_issue_count: usize,
    /// Issues that are not accepted.
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<IssueReport>"))]
    pub issues: Rows<IssueReport>,
    /// Number of entries.
    pub issue_count: usize,
    /// The first of these issues.
    #[serde(serialize_with = "sorted::serialize")]
    pub top_issue: Option<IssueReport>,
    /// Issues that the last closeout accepted.
    #[serde(serialize_with = "sorted::serialize")]
    pub parity: ParitySection,
    /// Counts of calls.
    #[serde(serialize_with = "sorted::serialize")]
    pub call_queue: CallSection,
    /// Counts of runs.
    #[serde(serialize_with = "sorted::serialize")]
    pub run_history: RunSection,
    /// Counts of checkpoints.
    #[serde(serialize_with = "sorted::serialize")]
    pub checkpoints: CheckpointSection,
    /// Counts of runtimes.
    #[serde(serialize_with = "sorted::serialize")]
    pub runtimes: RuntimeSection,
    /// The state of the policy.
    #[serde(serialize_with = "sorted::serialize")]
    pub policy: PolicySection,
    /// The built-in tools with missing requirements, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_tools: Option<Vec<MissingBuiltin>>,
    /// Whether issues fail the command (`--strict`); not in the document.
    #[serde(skip)]
    pub strict: bool,
    /// Where and why the command failed, and what to do.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
}

/// A built-in tool with missing requirements.
#[part(PartialEq, Eq)]
pub struct MissingBuiltin {
    /// The id.
    pub tool_id: String,
    /// The missing requirements.
    pub facts: Vec<MissingFact>,
}

/// A requirement of a built-in tool.
#[part(PartialEq, Eq)]
pub struct MissingFact {
    /// Its name, such as `worker.cli`.
    pub fact: String,
    /// How to meet it.
    pub help: String,
}

impl MissingBuiltin {
    /// Returns the row of a tool.
    pub(crate) fn new(row: &Definition, facts: &[Fact]) -> MissingBuiltin {
        let fact =
            |fact: &Fact| MissingFact { fact: fact.as_str().to_owned(), help: fact.remedy().to_owned() };
        MissingBuiltin { tool_id: row.id.to_owned(), facts: facts.iter().map(fact).collect() }
    }
}

/// `tools list` for people: the content of the catalog.
#[document("brigade.tool-lines.v1", if self.valid)]
pub struct ToolLinesReport {
    /// The workspace root.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// Whether the catalog has no errors.
    pub valid: bool,
    /// Errors in the catalog.
    pub errors: Vec<ErrorLine>,
    /// The tools, also disabled ones.
    pub tools: Vec<ToolLine>,
    /// The discovered entries, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovered: Option<Vec<DiscoveredEntry>>,
    /// When they were discovered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovered_at: Option<Timestamp>,
    /// Notes on parts that could not be read or understood.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What to do if the catalog has no tools; not in the document.
    #[serde(skip, default = "first_step")]
    pub next: NextStep,
}

/// The default advice for a catalog without tools.
fn first_step() -> NextStep {
    NextStep::Init
}

/// `tools show`.
#[document("brigade.tool.v1")]
pub struct ShowReport {
    /// The workspace root.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// The tool; absent if no tool has this id.
    pub tool: ShownTool,
    /// Notes on parts that could not be read or understood.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Why no tool was found, with suggestions.
    pub error: RefusalMember<Option<String>>,
}

/// `tools describe`.
#[document("brigade.tool-contract.v1", if !self.live.as_ref().is_some_and(LiveReport::is_bad))]
pub struct DescribeReport {
    /// The workspace root.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// Whether the catalog has no errors.
    pub valid: bool,
    /// Errors in the catalog.
    pub errors: Vec<ErrorLine>,
    /// The tool; absent if no tool has this id.
    pub tool: DescribedTool,
    /// The arguments in the input schema.
    pub arguments: Vec<ArgumentDescription>,
    /// Example arguments from the examples file, as JSON.
    pub examples: Json,
    /// The issues of the tool.
    #[serde(serialize_with = "sorted::serialize")]
    pub issues: Vec<IssueReport>,
    /// Number of entries.
    pub issue_count: usize,
    /// Why no tool was found, with suggestions.
    pub error: RefusalMember<Option<String>>,
    /// The current answer of the tool's server, if it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveReport>,
}

/// `tools contracts`.
#[document("brigade.tool-contracts.v1", if self.valid && !self.live.as_ref().is_some_and(LiveReport::is_bad))]
pub struct ContractsReport {
    /// The workspace root.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// Whether the catalog has no errors.
    pub valid: bool,
    /// Errors in the catalog.
    pub errors: Vec<ErrorLine>,
    /// The contracts of the enabled tools.
    pub contracts: Vec<ContractHealth>,
    /// Number of entries.
    pub contract_count: usize,
    /// Number of issues of all contracts.
    pub issue_count: usize,
    /// These issues.
    #[serde(serialize_with = "sorted::serialize")]
    pub issues: Vec<IssueReport>,
    /// The current answers of the servers, if they were asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveReport>,
    /// Where and why the command failed, and what to do.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
}
