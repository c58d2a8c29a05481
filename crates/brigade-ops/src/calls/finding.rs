//! Finds the call of a step: by its id, or by what a person typed.

use brigade_call::Step;
use brigade_core::{CallId, IdPrefix};
use brigade_queue::StoredCall;
use brigade_workspace::WorkspaceContext;

use crate::calls::{Calls, record_interrupted};
use crate::error::Error;
use crate::refusal::{Refusal, RunRefusal};

impl Calls {
    /// Finds the call that a person names for a step, by its id or a prefix. If several match, only those that allow
    /// the step count.
    ///
    /// # Errors
    /// Fails like the decision or the run if no call or several calls match, and on file errors.
    pub fn find(&self, named: &IdPrefix, step: Step) -> Result<CallId, Error> {
        let context = &*self.context;
        context.require_outside_run()?;
        match find_call(context, named, Some(step)) {
            Ok(stored) => Ok(stored.call.id),
            Err(error) => Err(error.missing(context, refusal_of(step))),
        }
    }
}

/// Returns the refusal of a step for a call that does not exist.
pub(super) fn refusal_of(step: Step) -> Refusal {
    match step {
        Step::Claim => Refusal::Run(RunRefusal::default()),
        _ => Refusal::Review { call: None, pin: None },
    }
}

/// Returns a call that is about to change. If its runner is gone, the end of its run is recorded first.
pub(crate) fn call_to_change(context: &WorkspaceContext, id: &CallId) -> Result<StoredCall, Error> {
    let queue = context.queue();
    let stored = queue.read()?.call_with_id(id)?;
    if !stored.call.is_unrecorded() {
        return Ok(stored);
    }
    record_interrupted(context)?;
    Ok(queue.read()?.call_with_id(id)?)
}

/// Finds a call by id or prefix. If several match, only those that allow the step count.
pub(crate) fn find_call(
    context: &WorkspaceContext,
    prefix: &IdPrefix,
    step: Option<Step>,
) -> Result<StoredCall, Error> {
    Ok(context.queue().read()?.the_call(prefix, step)?)
}
