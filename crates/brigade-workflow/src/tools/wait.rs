//! Waiting for executions: `task.wait` and `agent.wait`, `workflow.wait` and `execute.wait`. Each takes the id of a
//! task or of a workflow's execution, whichever tool began it.

use std::time::Duration;

use brigade_core::{ErrorCode, Json, Object};
use brigade_db::executions::Execution;
use brigade_db::flows::Flow;
use brigade_toolset::{Context, Failure, Output, arguments};
use serde::Deserialize;

use crate::runner::TaskRunner;
use crate::tools::Function;
use crate::tools::task::find_task;
use crate::tools::task::results::{TaskSummary, TaskWaitResult};
use crate::tools::workflow::{FlowSummary, FlowWaitResult, find_flow, is_flow};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] =
    &[("agent.wait", task), ("execute.wait", flow), ("task.wait", task), ("workflow.wait", flow)];

/// The maximum waiting time of one call.
const MAX_WAIT_SECONDS: i64 = 3_600;

/// How often to check an execution of another process.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Deserialize)]
struct WaitArgs {
    execution_id: String,
    poll_interval_seconds: i64,
    timeout_seconds: i64,
}

/// An execution of either kind.
enum WaitTarget {
    Task(Box<Execution>),
    Flow(Box<Flow>),
}

impl WaitTarget {
    /// Finds an execution of the caller.
    fn find(id: &str, context: &Context<'_>, runner: &TaskRunner<'_>) -> Result<WaitTarget, Failure> {
        Ok(match is_flow(id) {
            true => WaitTarget::Flow(Box::new(find_flow(id, context, runner)?)),
            false => WaitTarget::Task(Box::new(find_task(id, context, runner)?)),
        })
    }

    fn is_over(&self) -> bool {
        match self {
            WaitTarget::Task(task) => task.status.is_over(),
            WaitTarget::Flow(flow) => flow.status.is_over(),
        }
    }
}

/// Waits for an execution. Returns its state, and whether the time was over before its end.
fn wait(input: &Json, context: &Context<'_>, runner: &TaskRunner<'_>) -> Result<(WaitTarget, bool), Failure> {
    let WaitArgs { execution_id, poll_interval_seconds, timeout_seconds } = arguments(input)?;
    if timeout_seconds < 1 || poll_interval_seconds < 1 {
        let message = "`timeout_seconds` and `poll_interval_seconds` must be at least 1";
        return Err(Failure::new(ErrorCode::InvalidArguments, message));
    }
    let patience = Duration::from_secs(timeout_seconds.min(MAX_WAIT_SECONDS).unsigned_abs());
    let begun = context.clock.now();
    let mut awaited = WaitTarget::find(&execution_id, context, runner)?;
    while !awaited.is_over() {
        let waited = context.clock.now().since(begun);
        if patience <= waited {
            return Ok((awaited, true));
        }
        if context.cancel.is_some_and(brigade_process::CancelToken::is_cancelled) {
            return Err(Failure::new(
                ErrorCode::Cancelled,
                "the call was cancelled; the execution continues",
            ));
        }
        runner.context.running.await_change(POLL_INTERVAL.min(patience.saturating_sub(waited)));
        awaited = WaitTarget::find(&execution_id, context, runner)?;
    }
    Ok((awaited, false))
}

/// `task.wait` and `agent.wait`
fn task(input: &Json, context: &mut Context<'_>, runner: &TaskRunner<'_>) -> Result<Output, Failure> {
    let (awaited, timed_out) = wait(input, context, runner)?;
    let summary = match awaited {
        WaitTarget::Task(task) => TaskSummary::from(*task),
        WaitTarget::Flow(flow) => TaskSummary::from_flow(*flow, context),
    };
    Ok(Output::from_result(&TaskWaitResult::new(summary, timed_out)))
}

/// `workflow.wait` and `execute.wait`
fn flow(input: &Json, context: &mut Context<'_>, runner: &TaskRunner<'_>) -> Result<Output, Failure> {
    let (awaited, timed_out) = wait(input, context, runner)?;
    let (summary, blackboard) = match awaited {
        WaitTarget::Task(task) => (FlowSummary::from_task(*task), Object::new()),
        WaitTarget::Flow(flow) => (FlowSummary::new(&flow, context), flow.blackboard),
    };
    let blackboard = context.redactor.redact_json(&Json::Object(blackboard));
    // A truncated result would lose the status of the execution.
    let fits = blackboard.to_compact().len() as u64 <= context.max_bytes / 2;
    let blackboard = if fits { blackboard } else { Json::Object(Object::new()) };
    Ok(Output::from_result(&FlowWaitResult { summary, timed_out, blackboard, blackboard_truncated: !fits }))
}
