//! Documents about runs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use brigade_call::{
    Call, McpRequestId, ObservedAddress, ObservedDenial, OutputCompaction, Receipt, RunInput, RuntimeStatus,
};
use brigade_core::json::{exact, sorted};
use brigade_core::{Extra, NextStep, Number, Object, Timestamp, record};
use brigade_policy::{BlockerDetail, PolicyDecision};
use serde::{Deserialize, Serialize};

use super::{PlanReport, Report, Rows, SchemaId, Unfilled};
use crate::exit::Exit;

/// `run list`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunListReport {
    /// The schema id.
    #[serde(deserialize_with = "RunListReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The folder of receipts and logs.
    pub runs_path: String,
    /// Summaries, newest first.
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<RunSummary>"))]
    pub runs: Rows<RunSummary>,
    /// How many runs there are in all.
    pub run_count: usize,
    /// How many of each status.
    pub counts: BTreeMap<String, u64>,
    /// Receipts that cannot be read.
    pub errors: Vec<BrokenReceipt>,
    /// How many.
    pub error_count: usize,
    /// The newest run; `null` when there is none.
    pub latest: Option<RunSummary>,
    /// The run that the next page comes before, when there are more than were asked for.
    pub next_before: Option<String>,
    /// Why nothing may be listed, such as a tool that is not there.
    pub notes: Vec<String>,
}

impl Report for RunListReport {
    const SCHEMA: &'static str = "brigade.run-list.v1";
}

/// The part of a receipt that lists show; every member is there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(remote = "Self", default)]
pub struct RunSummary {
    /// The run.
    pub id: String,
    /// How the run ended.
    pub status: String,
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool_id: String,
    /// Its family.
    pub family: String,
    /// When the run started.
    #[serde(deserialize_with = "exact")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(deserialize_with = "exact")]
    pub completed_at: Option<Timestamp>,
    /// How long it took.
    pub duration_seconds: Option<Number>,
    /// The exit code; negative for a signal.
    pub exit_code: Option<i64>,
    /// Whether the timeout ended it.
    pub timed_out: bool,
    /// Seconds that it might take.
    pub timeout: Option<Number>,
    /// What the policy decided.
    pub policy: Option<PolicyDecision>,
    /// The runtime as it stood when the run started.
    pub runtime: Option<RuntimeStatus>,
    /// The MCP server.
    pub mcp_server_id: Option<String>,
    /// The tool's name at that server.
    pub mcp_tool_name: Option<String>,
    /// The id of the request to the server.
    pub mcp_request_id: Option<McpRequestId>,
    /// The response, shortened and without secrets.
    pub mcp_response_summary: Option<Object>,
    /// Its text.
    pub mcp_response_text: Option<String>,
    /// The end of standard output, without secrets.
    pub stdout_summary: String,
    /// The end of standard error, without secrets.
    pub stderr_summary: String,
    /// The log of standard output.
    pub stdout_log_path: Option<String>,
    /// The log of standard error.
    pub stderr_log_path: Option<String>,
    /// How much the summaries leave out.
    pub output_compaction: Option<OutputCompaction>,
    /// The receipt.
    pub receipt_path: Option<String>,
    /// Members whose value has another type.
    #[serde(skip)]
    pub extra: Extra,
}

record!(RunSummary);

impl RunSummary {
    /// The members of a summary that a receipt may lack.
    pub(crate) const MEMBERS: &[&str] = &[
        "id",
        "status",
        "call_id",
        "tool_id",
        "family",
        "started_at",
        "completed_at",
        "duration_seconds",
        "exit_code",
        "timed_out",
        "timeout",
        "policy",
        "runtime",
        "mcp_server_id",
        "mcp_tool_name",
        "mcp_request_id",
        "mcp_response_summary",
        "mcp_response_text",
        "stdout_summary",
        "stderr_summary",
        "stdout_log_path",
        "stderr_log_path",
        "output_compaction",
        "receipt_path",
    ];

    /// Takes what lists show of a receipt.
    pub(crate) fn of(receipt: Receipt) -> RunSummary {
        let mut other = receipt.extra.members().clone();
        other.retain(|name, _| RunSummary::MEMBERS.contains(&name.as_str()));
        RunSummary {
            id: receipt.id,
            status: receipt.status,
            call_id: receipt.call_id,
            tool_id: receipt.tool_id,
            family: receipt.family,
            started_at: receipt.started_at,
            completed_at: receipt.completed_at,
            duration_seconds: receipt.duration_seconds,
            exit_code: receipt.exit_code,
            timed_out: receipt.timed_out,
            timeout: receipt.timeout,
            policy: receipt.policy,
            runtime: receipt.runtime,
            mcp_server_id: receipt.mcp_server_id,
            mcp_tool_name: receipt.mcp_tool_name,
            mcp_request_id: receipt.mcp_request_id,
            mcp_response_summary: receipt.mcp_response_summary,
            mcp_response_text: receipt.mcp_response_text,
            stdout_summary: receipt.stdout_summary,
            stderr_summary: receipt.stderr_summary,
            stdout_log_path: receipt.stdout_log_path,
            stderr_log_path: receipt.stderr_log_path,
            output_compaction: receipt.output_compaction,
            receipt_path: receipt.receipt_path,
            extra: Extra::from(other),
        }
    }
}

/// A receipt that cannot be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BrokenReceipt {
    /// What is wrong.
    pub error: String,
    /// The file.
    pub receipt_path: String,
}

/// `run show` and `run latest`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunShowReport {
    /// The schema id.
    #[serde(deserialize_with = "RunShowReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The folder of receipts and logs.
    pub runs_path: String,
    /// The receipt; `null` when there is none.
    pub run: Box<Receipt>,
    /// Why there is none.
    pub(crate) error: Unfilled<Option<String>>,
    /// What could be meant, when more than one run could.
    pub(crate) candidates: Unfilled<Vec<String>>,
    /// What would be accepted now; not part of the document.
    #[serde(skip)]
    pub next: Option<NextStep>,
}

impl Report for RunShowReport {
    const SCHEMA: &'static str = "brigade.run.v1";
}

/// `run show --inputs`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunInputsReport {
    /// The schema id.
    #[serde(deserialize_with = "RunInputsReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The run that was asked for.
    pub run_id: String,
    /// The tool.
    pub tool_id: String,
    /// The run that was observed: this one, or an earlier one of the same; `null` when there is none.
    pub observed_run_id: Option<String>,
    /// Why there is none.
    pub reason: Option<String>,
    /// Whether nothing was kept from view.
    pub complete: bool,
    /// Whether a list was full, and more left out of it.
    pub truncated: bool,
    /// Files that were read or executed, and that the approval binds.
    pub bound: Vec<RunInput>,
    /// Files that a word of the command line names, or that are below a folder that one names.
    pub arguments: Vec<RunInput>,
    /// Files that the tool declares as data.
    pub data: Vec<RunInput>,
    /// Files that were read or executed, and that nothing of these stands for.
    pub nobody: Vec<RunInput>,
    /// Folders whose names were read.
    pub folders: Vec<String>,
    /// Files that were written.
    pub written: Vec<String>,
    /// Addresses that sockets were connected or bound to.
    pub connected: Vec<ObservedAddress>,
    /// What was tried and is forbidden.
    pub denied: Vec<ObservedDenial>,
    /// How often something outside of the workspace was used, by the first folder of its path.
    pub outside: BTreeMap<String, u64>,
}

impl Report for RunInputsReport {
    const SCHEMA: SchemaId = "brigade.run-inputs.v1";
}

/// `run replay`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReplayReport {
    /// The schema id.
    #[serde(deserialize_with = "ReplayReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The folder of receipts and logs.
    pub runs_path: String,
    /// The queue's file.
    pub calls_path: String,
    /// The run that is replayed; `null` when there is none.
    pub run: RunSummary,
    /// The plan of the new call; `null` when there is none.
    #[serde(serialize_with = "sorted::serialize")]
    pub plan: Box<PlanReport>,
    /// Every reason against the new call, as sentences.
    pub(crate) blockers: Unfilled<Vec<String>>,
    /// The same reasons with code, place and the way to change them.
    pub(crate) blocker_details: Unfilled<Vec<BlockerDetail>>,
    /// 1 when a pending call was stored.
    pub created: u8,
    /// Always 0: a replay never runs by itself.
    pub executed: u8,
    /// The stored call.
    pub call: Box<Call>,
}

impl Report for ReplayReport {
    const SCHEMA: &'static str = "brigade.run-replay.v1";
}

/// `run verify`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LedgerReport {
    /// The schema id.
    #[serde(deserialize_with = "LedgerReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace.
    pub target: String,
    /// The folder of receipts and logs.
    pub runs_path: String,
    /// Whether everything fits together.
    pub valid: bool,
    /// How many entries were checked.
    pub checked: u64,
    /// Whether the receipts are in the ledger; those of the Python program enter it with the first write.
    pub adopted: bool,
    /// What does not fit, the first one first.
    pub findings: Vec<LedgerFinding>,
}

impl Report for LedgerReport {
    const SCHEMA: &'static str = "brigade.run-verify.v1";

    fn exit(&self) -> Exit {
        if self.valid { Exit::Done } else { Exit::Refused }
    }
}

/// One thing that does not fit.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LedgerFinding {
    /// The place in the ledger, from 1.
    pub sequence: Option<u64>,
    /// The line of the ledger, from 1, where that is what is damaged.
    pub line: Option<u64>,
    /// The run; empty where none is meant.
    pub run_id: String,
    /// `changed`, `removed`, `reordered`, `added`, `cut-off` or `forgotten`.
    pub problem: Cow<'static, str>,
    /// What was found.
    pub detail: Cow<'static, str>,
}
