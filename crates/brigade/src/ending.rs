//! Ending calls of an agent that another process of the workspace runs.

use brigade_call::CallStatus;
use brigade_calls::Error;
use brigade_core::{CallId, RunId};
use brigade_fs::FsError;
use brigade_queue::{QueueError, request_end, requested_ends, take_requested_end};

use crate::agent_calls::AgentCalls;
use crate::workspace::Workspace;

impl AgentCalls {
    /// Asks the process that runs a call to end it, and returns the run that is to end. `None` if the call does not
    /// run.
    ///
    /// # Errors
    /// Fails if the agent has no such call, and on file errors.
    pub fn request_end(&self, id: &CallId) -> Result<Option<RunId>, Error> {
        let call = self.show(id)?.call;
        let Some(claim) = call.claim.filter(|_| call.status == CallStatus::Running) else { return Ok(None) };
        request_end(&*self.room.fs, &claim.run_id, &self.room.env.caller.as_record())
            .map_err(|error: FsError| Error::from(QueueError::from(error)))?;
        Ok(Some(claim.run_id))
    }

    /// Takes a request back. Returns whether nobody has taken it.
    pub fn withdraw_end(&self, run: &RunId) -> bool {
        take_requested_end(&*self.room.fs, run).is_some()
    }

    /// Returns whether a request waits for the process of the run.
    pub fn is_end_requested(&self, run: &RunId) -> bool {
        requested_ends(&*self.room.fs).contains(run)
    }
}

impl Workspace {
    /// Takes the requests to end calls that run in this process, with who asks. Requests for runs that have ended are
    /// removed.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn take_requested_ends(&self, running: &[CallId]) -> Result<Vec<(CallId, String)>, Error> {
        let fs = &*self.room.fs;
        let requested = requested_ends(fs);
        if requested.is_empty() {
            return Ok(Vec::new());
        }
        let mut taken = Vec::new();
        let queue = self.room.queue();
        let view = queue.read()?;
        let mut is_running = Vec::new();
        view.for_each_call(&brigade_queue::Calls::Of(CallStatus::Running), &mut |stored| {
            if let Some(claim) = stored.call.claim {
                is_running.push((claim.run_id, stored.call.id));
            }
            std::ops::ControlFlow::Continue(())
        })?;
        for run in requested {
            match is_running.iter().find(|(its, _)| *its == run).map(|(_, call)| call) {
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
