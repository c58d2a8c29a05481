//! What the queue asks the host about runs.

use std::sync::Arc;
use std::time::Duration;

use brigade_call::{Claim, Runner};
use brigade_fs::Fs;
use brigade_process::ProcessIdentity;

/// Answers what only the machine knows on which calls run.
pub trait Host: Send + Sync {
    /// Tells whether the process that runs a call is still there.
    fn is_alive(&self, runner: &Runner) -> bool;

    /// Ends what is left of a run whose runner is gone.
    fn end_strays(&self, claim: &Claim);

    /// Tells whether the log of a run is there; its path is relative to the workspace.
    fn has_log(&self, path: &str) -> bool;
}

/// The machine that this process is on. Logs are in the files of the workspace.
pub struct ThisHost {
    fs: Arc<dyn Fs>,
}

impl ThisHost {
    /// Answers for the workspace of these files.
    pub fn new(fs: Arc<dyn Fs>) -> ThisHost {
        ThisHost { fs }
    }
}

/// How long what a killed runner left behind has to end after it was asked.
const STRAYS_GRACE: Duration = Duration::from_millis(500);

impl Host for ThisHost {
    fn is_alive(&self, runner: &Runner) -> bool {
        ProcessIdentity::from_record(runner.pid, runner.start_time, &runner.boot_id)
            .is_ok_and(|identity| identity.is_alive())
    }

    /// Ends processes that began after the runner, on this boot, with the run's id in their environment. Usually there
    /// are none, because the runner's keeper ends them; but somebody may have killed both.
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
}
