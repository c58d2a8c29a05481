//! Executions of workflows that this host has not signed, and their adoption by a person.

use brigade_db::flows::Flow;
use brigade_policy::Failure;
use brigade_workspace::AdoptStep;

use crate::desk::TaskContext;

/// Lists or signs the executions of workflows that do not continue, because this host has not signed them.
///
/// # Errors
/// Fails inside a run, or if the store cannot be read or written.
pub fn adopt_flows(desk: &TaskContext, step: AdoptStep) -> Result<Vec<Flow>, Failure> {
    desk.context.require_outside_run()?;
    let fs = &*desk.context.fs;
    if brigade_fs::is_tracked(fs, brigade_db::STATE_DB) || desk.stores.reading(fs)?.is_none() {
        return Ok(Vec::new());
    }
    // A file of an older version has no MACs before it is opened for writing.
    let store = desk.stores.writing(fs)?;
    let mut flows = store.unsigned_flows()?;
    if step == AdoptStep::Adopt {
        let signed = flows.iter().map(|flow| store.adopt_flow(flow)).collect::<Result<Vec<bool>, _>>()?;
        let mut signed = signed.into_iter();
        flows.retain(|_| signed.next() == Some(true));
    }
    Ok(flows)
}
