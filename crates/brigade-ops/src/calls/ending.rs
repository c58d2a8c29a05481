//! Ends calls that another process of the workspace runs.

use std::ops::ControlFlow;

use brigade_call::CallStatus;
use brigade_core::{CallId, RunId};
use brigade_queue::{Calls as Which, QueueError};

use crate::calls::Calls;
use crate::error::Error;

use requests::{request_end, requested_ends, take_requested_end};

mod requests;

impl Calls {
    /// Asks the process that runs a call of the caller to end it, and returns the run. `None` if the caller has no such
    /// call, or the call does not run.
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

    /// Withdraws a request. Returns whether no process had accepted it.
    pub fn withdraw_end(&self, run: &RunId) -> bool {
        take_requested_end(&*self.context.fs, run).is_some()
    }

    /// Returns whether a request waits for the process of the run.
    pub fn is_end_requested(&self, run: &RunId) -> bool {
        requested_ends(&*self.context.fs).contains(run)
    }

    /// Accepts the requests to end calls of this process. Returns each call with the requester. Requests for ended runs
    /// are removed.
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

#[cfg(test)]
mod tests {
    use brigade_call::Claim;
    use brigade_queue::this_runner;

    use super::*;
    use crate::testing::CallBench;

    /// A workspace with a call that runs here.
    fn running() -> (CallBench, CallId, RunId) {
        let bench = CallBench::new("");
        let id = bench.approved("{}");
        let run: RunId = "run-1".parse().unwrap();
        let now = bench.context.now();
        let claim = Claim { run_id: run.clone(), runner: Some(this_runner().unwrap()) };
        let queue = bench.context.queue();
        queue.lock(now).unwrap().claim(&id, bench.stored(&id).revision, claim, now).unwrap();
        (bench, id, run)
    }

    #[test]
    fn only_the_process_of_a_run_takes_the_request() {
        let (bench, id, run) = running();
        assert_eq!(bench.calls.request_end(&id).unwrap(), Some(run.clone()));
        assert!(bench.calls.is_end_requested(&run));
        // Another process runs other calls.
        assert_eq!(bench.calls.take_requested_ends(&[]).unwrap(), []);
        assert!(bench.calls.is_end_requested(&run));
        let taken = bench.calls.take_requested_ends(std::slice::from_ref(&id)).unwrap();
        assert_eq!(taken, [(id.clone(), "command-line".to_owned())]);
        assert!(!bench.calls.is_end_requested(&run));
        assert_eq!(bench.calls.take_requested_ends(&[id]).unwrap(), []);
    }

    #[test]
    fn a_request_can_be_withdrawn_until_it_is_taken() {
        let (bench, id, run) = running();
        bench.calls.request_end(&id).unwrap();
        assert!(bench.calls.withdraw_end(&run));
        assert!(!bench.calls.withdraw_end(&run) && !bench.calls.is_end_requested(&run));
    }

    #[test]
    fn only_the_caller_ends_a_call_that_runs() {
        let (bench, id, _) = running();
        let other = bench.for_caller(brigade_call::Caller::Agent("ann".parse().unwrap()));
        assert_eq!(other.calls.request_end(&id).unwrap(), None);
        let pending = bench.queue(r#"{"a":1}"#);
        for none in [pending, "call-nope".parse().unwrap()] {
            assert_eq!(bench.calls.request_end(&none).unwrap(), None);
        }
    }

    #[test]
    fn requests_for_runs_that_ended_are_removed() {
        let (bench, id, _) = running();
        let gone: RunId = "run-gone".parse().unwrap();
        request_end(&*bench.context.fs, &gone, "you").unwrap();
        assert_eq!(bench.calls.take_requested_ends(&[id]).unwrap(), []);
        assert!(!bench.calls.is_end_requested(&gone));
    }
}
