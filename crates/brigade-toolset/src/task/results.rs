//! Results of tools that show, await and end tasks. Some are shared with workflows.

use brigade_core::Timestamp;
use brigade_db::executions::Execution;
use serde::Serialize;

use crate::agent::EventRow;

/// The result of `task.cancel` and `workflow.cancel`.
#[derive(Serialize)]
pub(crate) struct CancelResult {
    pub(crate) execution_id: String,
    pub(crate) cancelled: bool,
}

/// The result of `task.remove` and `workflow.remove`.
#[derive(Serialize)]
pub(crate) struct RemoveResult {
    pub(crate) execution_id: String,
    pub(crate) removed: bool,
}

/// The result of `task.handoff`.
#[derive(Serialize)]
pub(super) struct HandoffResult {
    pub(super) execution_id: String,
}

/// The state of a task.
#[derive(Serialize)]
pub(super) struct TaskStanding {
    execution_id: String,
    status: &'static str,
    iteration_count: i64,
    last_output: Option<String>,
    last_error: Option<String>,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
}

impl From<Execution> for TaskStanding {
    fn from(execution: Execution) -> TaskStanding {
        TaskStanding {
            execution_id: execution.id,
            status: execution.status.as_str(),
            iteration_count: execution.iterations,
            last_output: execution.output,
            last_error: match (execution.error_code, execution.error) {
                (Some(code), Some(error)) => Some(format!("{code}: {error}")),
                (_, error) => error,
            },
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
    pub(super) standing: TaskStanding,
}

/// The result of `task.wait` and `agent.wait`.
#[derive(Serialize)]
pub(super) struct TaskWaitResult {
    #[serde(flatten)]
    pub(super) standing: TaskStanding,
    pub(super) timed_out: bool,
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
