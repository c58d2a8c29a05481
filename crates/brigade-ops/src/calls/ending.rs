//! Ending a call that another process of the workspace runs.

use std::ops::ControlFlow;

use brigade_call::CallStatus;
use brigade_core::{CallId, RunId};
use brigade_queue::{Calls as Which, QueueError};

use crate::calls::Calls;
use crate::error::Error;

use requests::{request_end, requested_ends, take_requested_end};

mod requests;

impl Calls {
    /// Asks the process that runs a call of the caller to end it, and returns the run that is to end. `None` if the
    /// caller has no such call, or it does not run.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn request_end(&self, id: &CallId) -> Result<Option<RunId>, Error> {
        let stored = self.context.queue().read()?.call(id)?;
        let is_meant = |call: &brigade_call::Call| {
            call.caller == self.context.caller && call.status == CallStatus::Running
        };
        let claim = stored.map(|stored| stored.call).filter(is_meant).and_then(|call| call.claim);
        let Some(run) = claim.map(|claim| claim.run_id) else { return Ok(None) };
        request_end(&*self.context.fs, &run, &self.context.caller.as_record()).map_err(QueueError::from)?;
        Ok(Some(run))
    }

    /// Takes a request back. Returns whether it was still there.
    pub fn withdraw_end(&self, run: &RunId) -> bool {
        take_requested_end(&*self.context.fs, run).is_some()
    }

    /// Returns whether a request waits for the process of the run.
    pub fn is_end_requested(&self, run: &RunId) -> bool {
        requested_ends(&*self.context.fs).contains(run)
    }

    /// Takes the requests to end calls that run in this process, with who asks. Requests for runs that have ended are
    /// removed.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn take_requested_ends(&self, running: &[CallId]) -> Result<Vec<(CallId, String)>, Error> {
        let fs = &*self.context.fs;
        let requested = requested_ends(fs);
        if requested.is_empty() {
            return Ok(Vec::new());
        }
        let mut runs = Vec::new();
        self.context.queue().read()?.for_each_call(&Which::Of(CallStatus::Running), &mut |stored| {
            runs.extend(stored.call.claim.map(|claim| (claim.run_id, stored.call.id)));
            ControlFlow::Continue(())
        })?;
        let mut taken = Vec::new();
        for run in requested {
            match runs.iter().find(|(its, _)| *its == run).map(|(_, call)| call) {
                Some(call) if running.contains(call) => {
                    taken.extend(take_requested_end(fs, &run).map(|who| (call.clone(), who)));
                }
                Some(_) => {}
                None => drop(take_requested_end(fs, &run)),
            }
        }
        Ok(taken)
    }
}
