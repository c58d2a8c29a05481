//! Claims stored calls for a run.

use brigade_call::{Claim, VerifiedCall};
use brigade_core::{ErrorCode, Timestamp};
use brigade_exec::RunFiles;
use brigade_queue::{LockedQueue, StoredCall};
use brigade_workspace::WorkspaceContext;

use crate::error::{Error, ErrorKind};

/// A claim of a stored call.
pub struct StoredClaim<'a> {
    /// The call.
    pub call: &'a VerifiedCall,
    /// The revision that was verified.
    pub revision: u64,
    /// The files of the run.
    pub files: &'a RunFiles,
    /// The claim.
    pub claim: Claim,
    /// How many calls of the caller run at the same time; `None` without a limit.
    pub at_once: Option<u64>,
}

impl StoredClaim<'_> {
    /// Claims the call. Returns why it cannot be claimed now, if it cannot.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn claim(
        self,
        context: &WorkspaceContext,
        locked: &mut LockedQueue<'_>,
        now: Timestamp,
    ) -> Result<Option<Error>, Error> {
        let StoredClaim { call, revision, files, claim, at_once } = self;
        let run_id = claim.run_id.clone();
        let is_free = |locked: &LockedQueue<'_>| {
            let stored = locked.view().call(call.id())?;
            let is_same = stored.is_some_and(|now| now.revision == revision);
            Ok::<_, Error>(is_same && locked.view().receipt(run_id.as_str())?.is_none())
        };
        let waits = match at_once {
            Some(most) => {
                locked.lock_all()?;
                is_free(locked)? && !locked.view().is_its_turn(call.call(), most)?
            }
            None => false,
        };
        let claimed = if waits {
            Err(Error::new(ErrorKind::Refused, format!("call {} waits for its turn", call.id()))
                .coded(ErrorCode::NotItsTurn))
        } else if files.is_used && is_free(locked)? {
            let message =
                format!("call {} has been started already, as the logs of {run_id} show", call.id());
            Err(Error::new(ErrorKind::Refused, message).hint("queue it again if it is to run once more"))
        } else {
            locked.claim(call.id(), revision, claim, now).map_err(Error::from)
        };
        let Err(error) = claimed else { return Ok(None) };
        // Other attempts to run this call use the same files, so they stay if a run has started.
        let has_begun =
            |now: &StoredCall| now.call.claim.as_ref().is_some_and(|claim| claim.run_id == run_id);
        if !locked.view().call(call.id())?.as_ref().is_some_and(has_begun) {
            files.discard(&*context.fs);
        }
        if error.kind() == ErrorKind::Environment { Err(error) } else { Ok(Some(error)) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use brigade_call::{CallStatus, Caller};
    use brigade_core::CallId;
    use brigade_exec::{Drops, RunPaths};
    use brigade_queue::this_runner;

    use super::*;
    use crate::Calls;
    use crate::calls::running::{Attempt, ReadyCall, Runner};
    use crate::testing::CallBench;

    /// Claims a verified call and starts nothing.
    struct Claiming {
        context: Arc<WorkspaceContext>,
        at_once: Option<u64>,
        outcome: Mutex<Option<ErrorCode>>,
    }

    impl Runner for Claiming {
        fn attempt(&self, ready: ReadyCall) -> Result<Attempt, Error> {
            let (context, call) = (&*self.context, &ready.call);
            let run_id = call.call().next_run_id();
            let files = RunFiles::create(&*context.fs, &run_id, &RunPaths::new(&run_id), Drops::None)?;
            let claim = Claim { run_id, runner: Some(this_runner()?) };
            let stored =
                StoredClaim { call, revision: ready.revision, files: &files, claim, at_once: self.at_once };
            let (queue, now) = (context.queue(), context.now());
            let outcome = stored.claim(context, &mut queue.lock(now)?, now)?;
            *self.outcome.lock().unwrap() = outcome.map(|error| error.code());
            let error = Error::new(ErrorKind::Refused, "nothing is started");
            Ok(Attempt::Taken(Box::new(call.call().clone()), error))
        }
    }

    /// Claims a call. Returns why it was not claimed.
    #[track_caller]
    fn claimed(bench: &CallBench, id: &CallId, at_once: Option<u64>) -> Option<ErrorCode> {
        let context = bench.context.clone();
        let runner = Arc::new(Claiming { context: context.clone(), at_once, outcome: Mutex::default() });
        Calls::new(context, runner.clone()).run(id).unwrap_err();
        let outcome = *runner.outcome.lock().unwrap();
        let expect = if outcome.is_none() { CallStatus::Running } else { CallStatus::Approved };
        assert_eq!(bench.status(id), expect);
        outcome
    }

    #[test]
    fn calls_of_an_agent_wait_for_their_turn() {
        let bench = CallBench::new("").for_caller(Caller::Agent("ann".parse().unwrap()));
        let [first, second, third] = [1, 2, 3].map(|number| bench.approved(&format!("{{\"n\":{number}}}")));
        assert_eq!(claimed(&bench, &first, Some(1)), None);
        assert_eq!(claimed(&bench, &second, Some(1)), Some(ErrorCode::NotItsTurn));
        assert_eq!(claimed(&bench, &second, Some(2)), None);
        // Without a limit, no call waits.
        assert_eq!(claimed(&bench, &third, None), None);
    }

    #[test]
    fn calls_of_an_agent_that_write_run_one_by_one() {
        let bench = CallBench::new("effects = [\"local-write\"]");
        let agent = bench.for_caller(Caller::Agent("ann".parse().unwrap()));
        let [first, second] = [1, 2].map(|number| agent.approved(&format!("{{\"n\":{number}}}")));
        assert_eq!(claimed(&agent, &first, Some(9)), None);
        assert_eq!(claimed(&agent, &second, Some(9)), Some(ErrorCode::NotItsTurn));
        // Calls of others do not count.
        let other = bench.for_caller(Caller::Agent("ben".parse().unwrap()));
        assert_eq!(claimed(&other, &other.approved("{}"), Some(1)), None);
    }

    #[test]
    fn a_call_whose_log_has_output_is_not_started_again() {
        let bench = CallBench::new("");
        let id = bench.approved("{}");
        let log = format!(".brigade/tools/runs/{}.stdout.log", bench.call(&id).next_run_id());
        bench.write(&log, "ran\n");
        assert_eq!(claimed(&bench, &id, None), Some(ErrorCode::Refused));
        assert_eq!(bench.read(&log), "ran\n", "the log of the other attempt stays");
        // An empty log is that of an attempt which did not start.
        bench.write(&log, "");
        assert_eq!(claimed(&bench, &id, None), None);
    }

    #[test]
    fn files_of_a_lost_claim_are_removed() {
        let bench = CallBench::new("").for_caller(Caller::Agent("ann".parse().unwrap()));
        let [first, second] = [1, 2].map(|number| bench.approved(&format!("{{\"n\":{number}}}")));
        claimed(&bench, &first, Some(1));
        claimed(&bench, &second, Some(1));
        let logs = |id: &CallId| bench.files_with(&format!("{}.stdout.log", bench.call(id).next_run_id()));
        let claim = bench.call(&first).claim.unwrap();
        assert_eq!(bench.files_with(&format!("{}.stdout.log", claim.run_id)).len(), 1);
        assert_eq!(logs(&second), [""; 0]);
    }
}
