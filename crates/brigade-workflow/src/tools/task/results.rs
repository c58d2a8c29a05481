//! Results of tools that show, await and end tasks. Some are shared with workflows.

use brigade_core::{ErrorCode, Json, Timestamp};
use brigade_db::executions::Execution;
use brigade_db::flows::Flow;
use brigade_toolset::Context;
use serde::Serialize;

use crate::tools::agent::EventRow;
use crate::tools::workflow::status_word;

/// The result of `task.cancel`.
#[derive(Serialize)]
pub(super) struct CancelResult {
    pub(super) execution_id: String,
    pub(super) cancelled: bool,
}

/// The result of `task.remove`.
#[derive(Serialize)]
pub(super) struct RemoveResult {
    pub(super) execution_id: String,
    pub(super) removed: bool,
}

/// The result of `task.handoff`.
#[derive(Serialize)]
pub(super) struct HandoffResult {
    pub(super) execution_id: String,
}

/// The state of a task, or of a workflow's execution in these words.
#[derive(Serialize)]
pub(crate) struct TaskSummary {
    execution_id: String,
    status: &'static str,
    iteration_count: i64,
    last_output: Json,
    last_error: Option<String>,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
}

/// Returns the reason of a failure with its code.
fn error(code: Option<String>, error: Option<String>) -> Option<String> {
    match (code, error) {
        (Some(code), Some(error)) => Some(format!("{code}: {error}")),
        (code, error) => error.or(code),
    }
}

impl TaskSummary {
    /// Describes a workflow's execution: its transitions are the iterations, and the output is that of its state.
    pub(crate) fn from_flow(flow: Flow, context: &Context<'_>) -> TaskSummary {
        let output = flow.outputs.get(&flow.state).and_then(|state| state.get("output"));
        TaskSummary {
            status: status_word(&flow, context),
            iteration_count: flow.transitions,
            last_output: context.redactor.redact_json(output.unwrap_or(&Json::Null)),
            last_error: error(flow.error_code, flow.error).map(|error| context.redactor.redact_str(&error)),
            started_at: Some(flow.started_at),
            ended_at: flow.ended_at,
            execution_id: flow.id,
        }
    }
}

impl From<Execution> for TaskSummary {
    fn from(execution: Execution) -> TaskSummary {
        TaskSummary {
            execution_id: execution.id,
            status: execution.status.as_str(),
            iteration_count: execution.iterations,
            last_output: execution.output.map_or(Json::Null, Json::from),
            last_error: error(execution.error_code, execution.error),
            started_at: execution.started_at,
            ended_at: execution.ended_at,
        }
    }
}

/// The result of `task.status`.
#[derive(Serialize)]
pub(super) struct TaskStatus {
    pub(super) agent_id: String,
    #[serde(flatten)]
    pub(super) summary: TaskSummary,
}

/// The result of `task.wait` and `agent.wait`.
#[derive(Serialize)]
pub(crate) struct TaskWaitResult {
    #[serde(flatten)]
    summary: TaskSummary,
    timed_out: bool,
}

impl TaskWaitResult {
    /// Says `timed_out` as the status if the execution has not ended.
    pub(crate) fn new(summary: TaskSummary, timed_out: bool) -> TaskWaitResult {
        let status = if timed_out { ErrorCode::TimedOut.as_str() } else { summary.status };
        TaskWaitResult { summary: TaskSummary { status, ..summary }, timed_out }
    }
}

#[derive(Serialize)]
pub(super) struct TaskList {
    pub(super) executions: Vec<TaskRow>,
}

#[derive(Serialize)]
pub(super) struct TaskRow {
    pub(super) id: String,
    pub(super) agent_id: String,
    pub(super) status: &'static str,
    pub(super) started_at: Option<Timestamp>,
}

/// The result of `task.logs` and `workflow.logs`, which have different events.
#[derive(Serialize)]
pub(crate) struct ExecutionLogs<E> {
    pub(crate) execution_id: String,
    pub(crate) status: &'static str,
    pub(crate) events: Vec<E>,
    pub(crate) total: usize,
    pub(crate) limit: usize,
    pub(crate) offset: usize,
}

#[derive(Serialize)]
pub(super) struct TaskEvent {
    pub(super) sequence: i64,
    #[serde(flatten)]
    pub(super) event: EventRow,
}

/// The result of `task.message`.
#[derive(Serialize)]
pub(super) struct MessageResult {
    pub(super) execution_id: String,
    pub(super) message_id: String,
}

/// The result of `execution.file`: a text, or a description of binary data.
#[derive(Serialize)]
pub(super) struct TaskFile {
    pub(super) execution_id: String,
    pub(super) content_type: &'static str,
    pub(super) is_binary: bool,
    pub(super) size_bytes: usize,
    pub(super) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resource: Option<FileResource>,
}

/// A file in the form of an MCP resource.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileResource {
    pub(super) uri: String,
    pub(super) mime_type: &'static str,
    pub(super) size: usize,
    /// The bytes as base64; `None` if they do not fit in a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) blob: Option<String>,
}
