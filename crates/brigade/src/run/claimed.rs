//! The second phase: one durable write claims the call, before anything starts.

use brigade_call::Claim;
use brigade_core::{RunId, Timestamp};
use brigade_exec::{Drops, Logs, RunFiles, RunPaths};
use brigade_fs::RelPath;
use brigade_ops::{Attempt, Error, StoredClaim};
use brigade_queue::{OutcomeReservation, this_runner};
use brigade_workspace::KeptLane;

use super::prepared::PreparedRun;
use super::{ClaimOutcome, ClaimSource, InsertOutcome, NotStarted};

/// A run that no other process can make any more.
pub(super) struct ClaimedRun<'a> {
    pub(super) prepared: PreparedRun<'a>,
    pub(super) run_id: RunId,
    pub(super) started_at: Timestamp,
    pub(super) paths: RunPaths,
    pub(super) logs: Logs,
    /// The checkpoint directory.
    pub(super) dropped: RelPath,
    /// Disk space for the outcome, which is recorded even if the disk is full then.
    pub(super) reservation: OutcomeReservation,
}

impl<'a> PreparedRun<'a> {
    /// Creates the files of the run, and claims the call.
    pub(super) fn claim(self, source: ClaimSource<'_>) -> Result<ClaimedRun<'a>, NotStarted> {
        let started_at = self.inner.now();
        let run_id = self.call.call().next_run_id();
        let paths = RunPaths::new(&run_id);
        let claim = Claim { run_id: run_id.clone(), runner: Some(this_runner().map_err(Error::from)?) };
        let mut files = self.create_files(&run_id, &paths)?;
        // Files of a run that is not claimed are removed, unless another attempt may use them.
        let discard = |files: &RunFiles| files.discard(&*self.inner.fs);
        // A lane is not taken away between the look at it and the claim.
        let lane = self.keep_lane().inspect_err(|_| discard(&files))?;
        let queue = self.inner.queue();
        let mut locked = self.lock(&queue).map_err(Error::from)?;
        let reservation =
            OutcomeReservation::make(self.inner.fs.clone(), &run_id).inspect_err(|_| discard(&files));
        let reservation = reservation.map_err(Error::from)?;
        match source {
            ClaimSource::New(insert) => match insert(&mut locked, (!files.is_used).then_some(claim)) {
                Ok(InsertOutcome::Claimed) => {}
                Ok(InsertOutcome::NotClaimed(outcome)) => {
                    discard(&files);
                    return Err(NotStarted::Outcome(Box::new(ClaimOutcome::NotClaimed(outcome))));
                }
                Err(error) => {
                    discard(&files);
                    return Err(error.into());
                }
            },
            ClaimSource::Stored(revision) => {
                let at_once = self.inner.env.at_once;
                let stored = StoredClaim { call: &self.call, revision, files: &files, claim, at_once };
                if let Some(error) = stored.claim(self.inner, &mut locked, started_at)? {
                    let attempt = Attempt::Taken(Box::new(self.call.call().clone()), error);
                    return Err(NotStarted::Outcome(Box::new(ClaimOutcome::Attempted(attempt))));
                }
                // Another process that gave up may have removed files that it created and this one found.
                if !self.has_logs(&paths)? {
                    files = self.create_files(&run_id, &paths)?;
                }
            }
        }
        drop(locked);
        let (RunFiles { logs, dropped, .. }, reservation) = (files, reservation.claimed());
        tracing::debug!(call = %self.call.id(), run = %run_id, "claimed the call, and runs it");
        drop(lane);
        Ok(ClaimedRun { prepared: self, run_id, started_at, paths, logs, dropped, reservation })
    }

    fn create_files(&self, run_id: &RunId, paths: &RunPaths) -> Result<RunFiles, Error> {
        let starts_program = self.kept.is_none() && !self.call.plan().acts_inside();
        let drops = if starts_program { Drops::Taken } else { Drops::None };
        Ok(RunFiles::create(self.fs(), run_id, paths, drops)?)
    }

    fn has_logs(&self, paths: &RunPaths) -> Result<bool, Error> {
        let exists = |path: &str| self.inner.fs.exists(&RelPath::composed(path)).map_err(Error::from);
        Ok(exists(&paths.stdout_log)? && exists(&paths.stderr_log)?)
    }

    /// Keeps the lane of the call from being removed, if it has one.
    fn keep_lane(&self) -> Result<Option<KeptLane>, Error> {
        let call = self.call.call();
        let Some(lane) = call.session.as_ref().and_then(|session| session.root_of(&call.tool_id)) else {
            return Ok(None);
        };
        match self.inner.host().keep_lane(lane, self.inner.env.lock_timeout)? {
            KeptLane::Not(none) => Err(none.into()),
            kept => Ok(Some(kept)),
        }
    }
}
