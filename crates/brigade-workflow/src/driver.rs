//! Drives workflows. The calls of their states have the caller and the rights of the session that began the workflow.

use std::sync::Arc;

use brigade_access::{FlowRights, LiveSession};
use brigade_call::{CallSession, Caller};
use brigade_core::{ErrorCode, json::from_json};
use brigade_db::Store;
use brigade_db::flows::{Flow, FlowStatus};
use brigade_redact::Redactor;
use brigade_toolset::{Engine, Failure, Tasks, end_children, unbroken};
use brigade_workspace::gather;

use crate::desk::{CallerContext, TaskContext};
use crate::environment;
use crate::hands::TaskRunner;
use crate::running::RunningEntry;

/// Returns the rights of an execution's calls: those of the session that asked for it, without its mode.
pub(crate) fn rights(session: Option<&LiveSession>, asked_in: Option<&CallSession>) -> FlowRights {
    FlowRights {
        profiles: asked_in.map(|session| session.profiles.clone()).unwrap_or_default(),
        root: asked_in.and_then(|session| session.root.clone()),
        session: session.map(LiveSession::profiles).unwrap_or_default().inside(),
    }
}

/// Returns the context that makes the calls of an execution.
fn of_who_began(desk: &TaskContext, flow: &Flow) -> Result<CallerContext, Failure> {
    let rights: FlowRights = from_json(&flow.rights).map_err(|error| {
        let message = format!("the record of what the execution may do cannot be read: {error}");
        Failure::new(ErrorCode::InvalidRights, message)
    })?;
    let session = Arc::new(LiveSession::like(flow.id.clone(), rights.session, rights.root));
    Ok(desk.callers.on_behalf(Caller::from_record(Some(&flow.caller)), session, rights.profiles))
}

/// Starts to drive an execution that belongs to this process or whose process is gone. If it cannot be driven, it ends
/// as failed.
pub(crate) fn drive(hands: &TaskRunner<'_>, flow: &Flow) -> Result<(), Failure> {
    let (desk, gateway) = (hands.desk, hands.gateway()?);
    let store = desk.stores.writing(&*desk.context.fs)?;
    let is_ours = flow.gateway == gateway;
    // Only a process that serves continues executions of other processes.
    let may = is_ours || (desk.serves && hands.is_gone(&flow.gateway));
    if !may {
        return Ok(());
    }
    store.require_signed_flow(&flow.id)?;
    let Some(place) = desk.running.begin(&flow.id)? else { return Ok(()) };
    if !is_ours && !store.take_flow_over(flow, &gateway, desk.context.now())? {
        return Ok(());
    }
    let begun = unbroken(|| drive_here(desk, flow, &store, place));
    if let Err(failure) = &begun {
        let (error, now) = (Some((failure.code.as_str(), failure.message.as_str())), desk.context.now());
        store.end_flow(&flow.id, FlowStatus::Failed, error, now)?;
        end_children(&store, &flow.id, &|id| _ = desk.running.cancel(id), now)?;
    }
    begun
}

/// Drives an execution here: in a new thread if this process serves, otherwise before this function returns.
fn drive_here(
    desk: &TaskContext,
    flow: &Flow,
    store: &Arc<Store>,
    place: RunningEntry,
) -> Result<(), Failure> {
    let serves = desk.serves;
    let (CallerContext { desk, steps }, id) = (of_who_began(desk, flow)?, flow.id.clone());
    let config = gather::config(&desk.context).map_err(|error| environment(&error))?;
    let redactor = Redactor::new(&gather::bound_secrets(&desk.context, &config.policy));
    let store = store.clone();
    let work = move || {
        let engine = Engine {
            store: &store,
            steps: &*steps,
            tasks: &TaskRunner::new(&desk, &config, None),
            clock: &*desk.context.clock,
            redactor: &redactor,
            cancel: &place.cancel,
            waits: serves,
        };
        if let Err(failure) = engine.run(&id) {
            tracing::warn!(flow = %id, code = %failure.code, error = %failure.message, "a workflow stopped");
        }
        drop(place);
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
pub fn take_over(desk: &TaskContext) -> Result<(), brigade_policy::Failure> {
    let context = &*desk.context;
    let Some(store) = desk.stores.reading(&*context.fs)? else { return Ok(()) };
    let config = gather::config(context)?;
    let hands = TaskRunner::new(desk, &config, None);
    for flow in store.open_flows(None)? {
        if let Err(failure) = hands.drive(&flow) {
            tracing::warn!(flow = %flow.id, code = %failure.code, error = %failure.message, "a workflow stopped");
        }
    }
    Ok(())
}
