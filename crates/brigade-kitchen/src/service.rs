//! How a service ends, and its document.

use serde::{Deserialize, Serialize};

use crate::life::Decision;
use crate::names::TaskId;

/// How a service ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every task that it served is done.
    Complete,
    /// Some are not.
    Incomplete,
    /// Somebody must decide.
    Paused,
    /// Somebody said that it ends.
    Aborted,
    /// It was interrupted.
    Interrupted,
    /// Nothing ran.
    DryRun,
}

impl Outcome {
    /// Returns the word of the documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Outcome::Complete => "complete",
            Outcome::Incomplete => "incomplete",
            Outcome::Paused => "paused",
            Outcome::Aborted => "aborted",
            Outcome::Interrupted => "interrupted",
            Outcome::DryRun => "dry-run",
        }
    }

    /// Returns the exit code of `service`.
    pub const fn exit_code(self) -> u8 {
        match self {
            Outcome::Complete | Outcome::DryRun => 0,
            Outcome::Incomplete | Outcome::Aborted => 1,
            Outcome::Paused => 30,
            Outcome::Interrupted => 130,
        }
    }
}

/// What `service`, `ticket` and `resume` report about a PRD: schema `brigade.kitchen-service.v1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ServiceReport {
    /// The PRD.
    pub prd_path: String,
    /// How the service ended.
    pub outcome: Outcome,
    /// Why.
    pub reason: Option<String>,
    /// How many tasks are done.
    pub done: u64,
    /// How many were served.
    pub total: u64,
    /// Tasks that are done.
    pub completed: Vec<TaskId>,
    /// Tasks that failed.
    pub failed: Vec<TaskId>,
    /// Tasks that are blocked.
    pub blocked: Vec<TaskId>,
    /// Tasks that were left out.
    pub skipped: Vec<TaskId>,
    /// Tasks behind those.
    pub unreachable: Vec<TaskId>,
    /// What waits for somebody.
    pub decisions: Vec<Decision>,
    /// The branch.
    pub branch: Option<String>,
    /// The commit that it is at.
    pub commit: Option<String>,
    /// Whether it was merged.
    pub merged: bool,
    /// Whether it was pushed.
    pub pushed: bool,
    /// How long it took.
    pub duration_seconds: f64,
    /// What it cost.
    pub cost_usd: f64,
    /// How many workers were started.
    pub attempts: u64,
    /// What to do next.
    pub next: Vec<String>,
}
