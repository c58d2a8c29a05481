//! How a face follows a service, and answers its questions.

use brigade_kitchen::life::{Answer, Decision, Life, Line};
use brigade_kitchen::{PrdName, Tier};
use brigade_process::CancelToken;

/// What is done with a task right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// A worker works on it.
    Working,
    /// Verification commands run.
    Verifying,
    /// The test command runs.
    Testing,
    /// The executive reviews it.
    Reviewing,
    /// Its work goes to the branch.
    Integrating,
    /// The executive decides what follows.
    Deciding,
}

impl Activity {
    /// Returns the word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Activity::Working => "working",
            Activity::Verifying => "verifying",
            Activity::Testing => "testing",
            Activity::Reviewing => "reviewing",
            Activity::Integrating => "integrating",
            Activity::Deciding => "deciding",
        }
    }
}

/// Something that runs, for a face that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningRow {
    /// How the task is shown; for something about the PRD as a whole, how that is.
    pub task: String,
    /// What is done.
    pub doing: Activity,
    /// The tier that the task is with.
    pub tier: Tier,
    /// The number of the attempt, over all tiers.
    pub attempt: u64,
    /// Whether the task went to a higher tier.
    pub escalated: bool,
    /// How long it runs.
    pub seconds: u64,
    /// The last line that it printed, masked and not escaped.
    pub last_line: String,
}

/// What a service does now.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceView {
    /// How the PRD is shown.
    pub prd: String,
    /// How many of the tasks that it serves are done.
    pub done: u64,
    /// How many it serves.
    pub total: u64,
    /// How many decisions wait.
    pub waiting: u64,
    /// What workers cost, this service and earlier ones.
    pub cost_usd: f64,
    /// How long the service runs.
    pub seconds: u64,
    /// What runs, by task.
    pub rows: Vec<RunningRow>,
}

/// Lines that a worker printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrintedLines {
    /// How many lines before these are left out here. The log has them.
    pub left_out: u64,
    /// The lines, masked and not escaped.
    pub lines: Vec<String>,
}

/// Follows a service, and perhaps answers its questions.
pub trait Follower: Send + Sync {
    /// A record was written. `life` is after it.
    fn recorded(&self, _prd: &PrdName, _line: &Line, _life: &Life) {}

    /// What runs now: about once a second, and whenever something ends.
    fn running(&self, _scene: &ServiceView) {}

    /// A part of the configuration has no effect as it is written: when the service begins, and when it is read again.
    fn warned(&self, _prd: &PrdName, _warning: &str) {}

    /// Returns whether it shows what workers print.
    fn shows_output(&self) -> bool {
        false
    }

    /// A worker printed something on a task, which is named as it is shown.
    fn printed(&self, _task: &str, _printed: &PrintedLines) {}

    /// Returns whether a person can be asked.
    fn can_ask(&self) -> bool {
        false
    }

    /// Asks a person. `None` leaves the decision open. Blocks its thread only, and no longer than until `withdrawn` is
    /// triggered: somebody else has answered, or the service ends.
    fn ask(&self, _prd: &PrdName, _decision: &Decision, _withdrawn: &CancelToken) -> Option<Answer> {
        None
    }
}

/// Follows nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoFollower;

impl Follower for NoFollower {}
