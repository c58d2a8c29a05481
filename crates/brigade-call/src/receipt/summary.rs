//! What lists show of a receipt.

use brigade_core::json::exact;
use brigade_core::{Extra, Number, Object, Timestamp, record};
use brigade_policy::PolicyDecision;
use serde::{Deserialize, Serialize};

use super::{McpRequestId, OutputCompaction, Receipt, RuntimeStatus};

/// The part of a receipt for lists. Every member is present.
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
    /// When the run ended.
    #[serde(deserialize_with = "exact")]
    pub completed_at: Option<Timestamp>,
    /// The duration in seconds.
    pub duration_seconds: Option<Number>,
    /// The exit code; negative for a signal.
    pub exit_code: Option<i64>,
    /// Whether the timeout ended it.
    pub timed_out: bool,
    /// The timeout in seconds.
    pub timeout: Option<Number>,
    /// The policy decision.
    pub policy: Option<PolicyDecision>,
    /// The state of the runtime when the run started.
    pub runtime: Option<RuntimeStatus>,
    /// The MCP server.
    pub mcp_server_id: Option<String>,
    /// The name of the tool at that server.
    pub mcp_tool_name: Option<String>,
    /// The id of the request to the server.
    pub mcp_request_id: Option<McpRequestId>,
    /// The response, shortened and without secrets.
    pub mcp_response_summary: Option<Object>,
    /// The text of the response.
    pub mcp_response_text: Option<String>,
    /// The end of standard output, without secrets.
    pub stdout_summary: String,
    /// The end of standard error, without secrets.
    pub stderr_summary: String,
    /// The log of standard output.
    pub stdout_log_path: Option<String>,
    /// The log of standard error.
    pub stderr_log_path: Option<String>,
    /// How much the summaries omit.
    pub output_compaction: Option<OutputCompaction>,
    /// The receipt.
    pub receipt_path: Option<String>,
    /// Members with values of another type.
    #[serde(skip)]
    pub extra: Extra,
}

record!(RunSummary);

impl RunSummary {
    /// Members of a summary that a receipt may lack.
    pub const MEMBERS: &[&str] = &[
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

    /// Extracts the summary of a receipt.
    pub fn of(receipt: Receipt) -> RunSummary {
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
