//! Drives, continues and adopts executions of workflows. The calls of their states have the caller and the rights of
//! the session that began the workflow.

use std::sync::Arc;

use brigade_access::{FlowRights, LiveSession};
use brigade_call::Caller;
use brigade_core::{ErrorCode, json::from_json};
use brigade_db::Store;
use brigade_db::flows::{Flow, FlowStatus};
use brigade_redact::Redactor;
use brigade_toolset::{Failure, is_gone, unbroken};
use brigade_workspace::{AdoptStep, gather};

use crate::context::{CallerContext, TaskContext};
use crate::engine::Engine;
use crate::environment;
use crate::runner::TaskRunner;
use crate::running::RunningEntry;

/// Returns the context that makes the calls of an execution.
fn caller_context(context: &TaskContext, flow: &Flow) -> Result<CallerContext, Failure> {
    let rights: FlowRights = from_json(&flow.rights).map_err(|error| {
        let message = format!("the record of what the execution may do cannot be read: {error}");
        Failure::new(ErrorCode::InvalidRights, message)
    })?;
    let session = Arc::new(LiveSession::like(flow.id.clone(), rights.session, rights.root));
    Ok(context.callers.context_for(Caller::from_record(Some(&flow.caller)), session, rights.profiles))
}

/// Starts to drive an execution that belongs to this process or whose process is gone. If it cannot be driven, it ends
/// as failed.
pub(crate) fn drive(runner: &TaskRunner<'_>, flow: &Flow) -> Result<(), Failure> {
    let (context, gateway) = (runner.context, runner.gateway()?);
    let store = context.stores.writing(&*context.workspace.fs)?;
    let is_ours = flow.gateway == gateway;
    // Only a process that serves continues executions of other processes.
    let may = is_ours || (context.serves && is_gone(&flow.gateway));
    if !may {
        return Ok(());
    }
    store.require_signed_flow(&flow.id)?;
    let Some(entry) = context.running.begin(&flow.id)? else { return Ok(()) };
    if !is_ours && !store.take_flow_over(flow, &gateway, context.workspace.now())? {
        return Ok(());
    }
    let begun = unbroken(|| drive_here(context, flow, &store, entry));
    if let Err(failure) = &begun {
        let (error, now) = (Some((failure.code.as_str(), failure.message.as_str())), context.workspace.now());
        store.end_flow(&flow.id, FlowStatus::Failed, error, now)?;
        context.running.end_children(&store, &flow.id, now)?;
    }
    begun
}

/// Drives an execution here: in a new thread if this process serves, otherwise before this function returns.
fn drive_here(
    context: &TaskContext,
    flow: &Flow,
    store: &Arc<Store>,
    entry: RunningEntry,
) -> Result<(), Failure> {
    let serves = context.serves;
    let (CallerContext { tasks, steps }, id) = (caller_context(context, flow)?, flow.id.clone());
    let config = gather::config(&tasks.workspace).map_err(|error| environment(&error))?;
    let redactor = Redactor::new(&gather::bound_secrets(&tasks.workspace, &config.policy));
    let store = store.clone();
    let work = move || {
        let engine = Engine {
            store: &store,
            steps: &*steps,
            runner: &TaskRunner::new(&tasks, &config, None),
            redactor: &redactor,
            cancel: &entry.cancel,
        };
        if let Err(failure) = engine.run(&id) {
            tracing::warn!(flow = %id, code = %failure.code, error = %failure.message, "a workflow stopped");
        }
        drop(entry);
    };
    if !serves {
        work();
        return Ok(());
    }
    let thread = std::thread::Builder::new().name("workflow".to_owned());
    thread.spawn(work).map(drop).map_err(|error| environment(&error))
}

/// Continues the executions whose processes are gone.
///
/// # Errors
/// Fails if the store cannot be read or written.
pub fn take_over(context: &TaskContext) -> Result<(), brigade_policy::Failure> {
    let Some(store) = context.stores.reading(&*context.workspace.fs)? else { return Ok(()) };
    let config = gather::config(&context.workspace)?;
    let runner = TaskRunner::new(context, &config, None);
    for flow in store.open_flows(None)? {
        if let Err(failure) = drive(&runner, &flow) {
            tracing::warn!(flow = %flow.id, code = %failure.code, error = %failure.message, "a workflow stopped");
        }
    }
    Ok(())
}

/// Lists or signs the executions of workflows that do not continue, because this host has not signed them.
///
/// # Errors
/// Fails inside a run, or if the store cannot be read or written.
pub fn adopt_flows(context: &TaskContext, step: AdoptStep) -> Result<Vec<Flow>, brigade_policy::Failure> {
    context.workspace.require_outside_run()?;
    let fs = &*context.workspace.fs;
    if brigade_fs::is_tracked(fs, brigade_db::STATE_DB) || context.stores.reading(fs)?.is_none() {
        return Ok(Vec::new());
    }
    // A file of an older version has no MACs before it is opened for writing.
    let store = context.stores.writing(fs)?;
    let mut flows = store.unsigned_flows()?;
    if step == AdoptStep::Adopt {
        let signed = flows.iter().map(|flow| store.adopt_flow(flow)).collect::<Result<Vec<bool>, _>>()?;
        let mut signed = signed.into_iter();
        flows.retain(|_| signed.next() == Some(true));
    }
    Ok(flows)
}

#[cfg(test)]
mod tests;
