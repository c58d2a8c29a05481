//! The interface through which a user interface follows a service and answers its decisions.

use brigade_core::words;
use brigade_kitchen::life::{Answer, Decision, Life, Line};
use brigade_kitchen::{PrdName, Tier};
use brigade_process::CancelToken;

words! {
    /// What is being done with a task.
    Activity {
        /// A worker is working on it.
        Working = "working",
        /// Verification commands are running.
        Verifying = "verifying",
        /// The test command is running.
        Testing = "testing",
        /// The executive is reviewing it.
        Reviewing = "reviewing",
        /// Its work is being integrated into the branch.
        Integrating = "integrating",
        /// The executive is deciding what to do.
        Deciding = "deciding",
    }
}

/// A running job, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningRow {
    /// The full name of the task; for a job about the PRD as a whole, the name of the PRD.
    pub task: String,
    /// The activity.
    pub doing: Activity,
    /// The current tier of the task.
    pub tier: Tier,
    /// The number of the attempt, across all tiers.
    pub attempt: u64,
    /// Whether the task was escalated to a higher tier.
    pub escalated: bool,
    /// How long the job has been running.
    pub seconds: u64,
    /// The last printed line, masked but not escaped.
    pub last_line: String,
}

/// The current state of a service.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceView {
    /// The display name of the PRD.
    pub prd: String,
    /// How many of the selected tasks are done.
    pub done: u64,
    /// How many tasks are selected.
    pub total: u64,
    /// The number of pending decisions.
    pub waiting: u64,
    /// The cost of workers, in this service and earlier ones.
    pub cost_usd: f64,
    /// How long the service has been running.
    pub seconds: u64,
    /// The running jobs, by task.
    pub rows: Vec<RunningRow>,
}

/// Lines that a worker printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrintedLines {
    /// How many earlier lines are left out here. The log has them.
    pub left_out: u64,
    /// The lines, masked but not escaped.
    pub lines: Vec<String>,
}

/// Follows a service, and may answer its decisions.
pub trait Follower: Send + Sync {
    /// A record was written. `life` is the state after it.
    fn recorded(&self, _prd: &PrdName, _line: &Line, _life: &Life) {}

    /// Reports what runs: about once a second, and whenever a job ends.
    fn running(&self, _scene: &ServiceView) {}

    /// A setting has no effect as written. Called when the service starts, and when the configuration is read again.
    fn warned(&self, _prd: &PrdName, _warning: &str) {}

    /// Returns whether to call [`printed`](Follower::printed).
    fn shows_output(&self) -> bool {
        false
    }

    /// A worker printed lines. `task` is the full name of the task.
    fn printed(&self, _task: &str, _printed: &PrintedLines) {}

    /// Returns whether a person can be asked.
    fn can_ask(&self) -> bool {
        false
    }

    /// Asks a person. `None` leaves the decision pending. May block its thread until `withdrawn` is triggered: the
    /// decision was answered elsewhere, or the service ends.
    fn ask(&self, _prd: &PrdName, _decision: &Decision, _withdrawn: &CancelToken) -> Option<Answer> {
        None
    }
}

/// A follower that does nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoFollower;

impl Follower for NoFollower {}
