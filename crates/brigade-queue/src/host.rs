//! Questions about runs that only the machine can answer.

use std::sync::Arc;
use std::time::Duration;

use brigade_call::{Claim, Runner};
use brigade_core::RunId;
use brigade_fs::Fs;
use brigade_process::ProcessIdentity;

use crate::journal::{forget_outcome, kept_outcome, kept_outcomes};
use crate::outcome::Outcome;
use crate::running::this_runner;

/// Provides information about the machine on which calls run.
pub trait Host: Send + Sync {
    /// Returns whether the process that runs a call is alive.
    fn is_alive(&self, runner: &Runner) -> bool;

    /// Ends the remaining processes of a run whose runner is gone.
    fn end_strays(&self, claim: &Claim);

    /// Returns whether the log of a run exists. `path` is relative to the workspace.
    fn has_log(&self, path: &str) -> bool;

    /// Returns the kept outcome of a run that ended and could not be recorded.
    fn outcome(&self, _run: &RunId) -> Option<Outcome> {
        None
    }

    /// Removes the kept outcome of a recorded run, and frees its space.
    fn forget_outcome(&self, _run: &RunId) {}

    /// Lists the kept outcomes, if the store is shared and others do not look for them.
    fn unreported(&self) -> Vec<Outcome> {
        Vec::new()
    }
}

/// The current machine. Logs and outcomes are files of the workspace.
pub struct LocalHost {
    fs: Arc<dyn Fs>,
}

impl LocalHost {
    /// Creates a host for the workspace with these files.
    pub fn new(fs: Arc<dyn Fs>) -> LocalHost {
        LocalHost { fs }
    }
}

/// The current machine, for a queue that several hosts share. The store decides which runners are gone: it passes on
/// their calls without a runner.
pub struct SharedHost(pub LocalHost);

impl Host for SharedHost {
    fn is_alive(&self, _runner: &Runner) -> bool {
        true
    }

    fn end_strays(&self, claim: &Claim) {
        self.0.end_strays(claim);
    }

    fn has_log(&self, path: &str) -> bool {
        self.0.has_log(path)
    }

    fn forget_outcome(&self, run: &RunId) {
        self.0.forget_outcome(run);
    }

    fn unreported(&self) -> Vec<Outcome> {
        kept_outcomes(&*self.0.fs)
    }
}

/// How long remaining processes have to exit after the request.
const STRAYS_GRACE: Duration = Duration::from_millis(500);

impl Host for LocalHost {
    fn is_alive(&self, runner: &Runner) -> bool {
        // The calling process is alive.
        if runner.pid == std::process::id() && this_runner().is_ok_and(|this| this == *runner) {
            return true;
        }
        ProcessIdentity::from_record(runner.pid, runner.start_time, &runner.boot_id)
            .is_ok_and(|identity| identity.is_alive())
    }

    /// Ends processes that started after the runner, on this boot, with the run's id in their environment. Usually the
    /// runner's keeper has ended them, unless both were killed.
    fn end_strays(&self, claim: &Claim) {
        let Some(runner) = &claim.runner else { return };
        if let Ok(runner) = ProcessIdentity::from_record(runner.pid, runner.start_time, &runner.boot_id) {
            let mark = format!("BRIGADE_TOOL_RUN_ID={}", claim.run_id);
            brigade_process::kill_tree(&runner, Some(&mark), STRAYS_GRACE);
        }
    }

    fn has_log(&self, path: &str) -> bool {
        path.parse().is_ok_and(|path| self.fs.exists(&path).unwrap_or(true))
    }

    fn outcome(&self, run: &RunId) -> Option<Outcome> {
        kept_outcome(&*self.fs, run)
    }

    fn forget_outcome(&self, run: &RunId) {
        forget_outcome(&*self.fs, run);
    }
}
