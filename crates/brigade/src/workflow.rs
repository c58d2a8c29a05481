//! The tools for agents, tasks and workflows, in builds that have them. `workflow/absent.rs` is this module for other
//! builds.

mod steps;

use std::sync::Arc;

use brigade_access::LiveSession;
use brigade_access::builtin::Definition;
use brigade_call::{CallSession, Caller};
use brigade_core::Json;
use brigade_db::Stores;
use brigade_ops::state::AdoptStep;
use brigade_policy::Failure;
use brigade_toolset::{Context, NameResolver, Output};
use brigade_workflow::{CallerContext, CallerContexts, TaskContext, TaskRunner};
use brigade_workspace::{Config, Names};

use crate::delegated_calls::DelegatedCalls;
use crate::env::Env;
use crate::report::AdoptRow;
use crate::workspace_inner::WorkspaceInner;

pub(crate) use brigade_workflow::{RunningTasks, judge_call, notify};

/// Returns what resolves the names in arguments of built-in tools.
pub(crate) fn names(stores: Arc<Stores>) -> Arc<dyn Names> {
    Arc::new(NameResolver::new(stores, brigade_workflow::reference, brigade_workflow::is_built))
}

/// Runs a built-in tool. `asked_in` is the session in which the call was requested.
pub(crate) fn run_tool(
    definition: &Definition,
    args: &Json,
    context: &mut Context<'_>,
    inner: &Arc<WorkspaceInner>,
    config: &Config,
    asked_in: Option<&CallSession>,
) -> Result<Output, brigade_toolset::Failure> {
    let tasks = task_context(inner);
    brigade_workflow::run(definition, args, context, &TaskRunner::new(&tasks, config, asked_in))
}

/// Continues the workflows whose processes are gone.
pub(crate) fn take_over(inner: &Arc<WorkspaceInner>) -> Result<(), Failure> {
    brigade_workflow::take_over(&task_context(inner))
}

/// Lists or accepts executions of workflows that another host wrote.
pub(crate) fn adopt(inner: &Arc<WorkspaceInner>, step: AdoptStep) -> Result<Vec<AdoptRow>, Failure> {
    let flows = brigade_workflow::adopt_flows(&task_context(inner), step)?;
    let row = |flow: &brigade_db::flows::Flow| {
        AdoptRow::execution(&flow.id, &flow.name, flow.shown(), &flow.state, flow.started_at)
    };
    Ok(flows.iter().map(row).collect())
}

/// Returns what tasks and workflows of the caller work with.
fn task_context(inner: &Arc<WorkspaceInner>) -> TaskContext {
    TaskContext {
        workspace: inner.context.clone(),
        session: inner.env.session.clone(),
        sessions: inner.env.task_sessions.clone(),
        serves: inner.env.upstreams.is_some(),
        stores: inner.stores.clone(),
        running: inner.running.clone(),
        callers: inner.clone(),
    }
}

impl CallerContexts for WorkspaceInner {
    fn context_for(&self, caller: Caller, session: Arc<LiveSession>, profiles: Vec<String>) -> CallerContext {
        let session = Some(session);
        let inner = Arc::new(self.with_env(|env| Env {
            caller,
            session: session.clone(),
            cancel: None,
            progress: None,
            listener: None,
            requester: None,
            ..env
        }));
        let tasks = task_context(&inner);
        CallerContext { tasks, steps: Box::new(DelegatedCalls { inner, session, profiles }) }
    }
}
