//! The result of a service, and its report.

use brigade_core::{Exit, Hint, Report, SchemaId, StepFormatter, explained_words};
use brigade_macros::part;
use serde::{Deserialize, Serialize};

use crate::life::TaskOutcome;
use crate::names::{TaskId, Tier};
use crate::show::DecisionRow;

explained_words! {
    /// How a service ended.
    #[derive(Default)]
    Outcome {
        /// Every task that it served is done.
        Complete = "complete",
        /// Some tasks are not done.
        #[default]
        Incomplete = "incomplete",
        /// A person must decide.
        Paused = "paused",
        /// A person aborted it.
        Aborted = "aborted",
        /// It was interrupted.
        Interrupted = "interrupted",
        /// It was a dry run.
        DryRun = "dry-run",
    }
}

impl Outcome {
    /// Returns a rank: the higher, the further from complete.
    const fn rank(self) -> u8 {
        match self {
            Outcome::Complete | Outcome::DryRun => 0,
            Outcome::Incomplete => 1,
            Outcome::Paused => 2,
            Outcome::Aborted => 3,
            Outcome::Interrupted => 4,
        }
    }

    /// Returns the exit code of `service`.
    pub const fn exit(self) -> Exit {
        match self {
            Outcome::Complete | Outcome::DryRun => Exit::Done,
            Outcome::Incomplete | Outcome::Aborted => Exit::Refused,
            Outcome::Paused => Exit::Paused,
            Outcome::Interrupted => Exit::Interrupted,
        }
    }
}

/// What `service`, `ticket` and `resume` report about a PRD.
#[part(Default, PartialEq)]
pub struct ServiceReport {
    /// The schema id.
    #[serde(deserialize_with = "ServiceReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The PRD, relative to the workspace.
    pub prd_path: String,
    /// How the service ended.
    pub outcome: Outcome,
    /// Why.
    pub reason: Option<String>,
    /// How many tasks are done.
    pub done: u64,
    /// How many tasks were served.
    pub total: u64,
    /// Tasks that are done.
    pub completed: Vec<TaskId>,
    /// Tasks that failed.
    pub failed: Vec<TaskId>,
    /// Tasks that are blocked.
    pub blocked: Vec<TaskId>,
    /// Tasks that were skipped.
    pub skipped: Vec<TaskId>,
    /// Tasks that depend on those above.
    pub unreachable: Vec<TaskId>,
    /// Decisions that wait for a person.
    pub decisions: Vec<DecisionRow>,
    /// The branch.
    pub branch: Option<String>,
    /// The commit at its tip.
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
    /// Other problems, such as a file that could not be written.
    #[serde(default)]
    pub issues: Vec<String>,
    /// What a person should know before the start, such as that no sandbox is on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What to do next.
    pub next: Vec<Hint>,
    /// For a dry run: the ids of the tasks in waves. Each wave depends only on the waves before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waves: Option<Vec<Vec<TaskId>>>,
    /// For a dry run: the tasks in the order of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<PlannedTask>>,
    /// For a single task: how it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<Ticket>,
    /// With several PRDs or `--auto-continue`: one report per PRD that was started, in the order of the command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prds: Vec<ServiceReport>,
}

impl Report for ServiceReport {
    const SCHEMA: SchemaId = "brigade.kitchen-service.v1";

    fn exit(&self) -> Exit {
        match &self.ticket {
            Some(ticket) => ticket.exit(self.outcome),
            None => self.outcome.exit(),
        }
    }
}

impl ServiceReport {
    /// Joins the reports of several PRDs. The worst outcome becomes the outcome of the whole. If `may_be_several`, the
    /// result lists every report, even a single one.
    ///
    /// # Panics
    /// If `reports` is empty.
    pub fn joined(reports: Vec<ServiceReport>, may_be_several: bool) -> ServiceReport {
        let worst = reports.iter().max_by_key(|report| report.outcome.rank()).expect("a PRD was served");
        let mut joined = worst.clone();
        if may_be_several {
            joined.prds = reports;
        }
        joined
    }

    /// Writes the next steps in the words of one interface.
    #[must_use]
    pub fn spelled(self, speller: &dyn StepFormatter) -> ServiceReport {
        let next = self.next.into_iter().map(|hint| hint.spelled(speller, None)).collect();
        let prds = self.prds.into_iter().map(|report| report.spelled(speller)).collect();
        ServiceReport { next, prds, ..self }
    }

    /// Makes a report without tasks.
    pub fn new(target: String, prd_path: String, outcome: Outcome) -> ServiceReport {
        ServiceReport { schema: ServiceReport::SCHEMA, target, prd_path, outcome, ..ServiceReport::default() }
    }
}

/// The state of a single task after its service ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Ticket {
    /// The task.
    pub task: TaskId,
    /// How it ended; `null` if it needs another attempt.
    pub outcome: Option<TaskOutcome>,
}

impl Ticket {
    /// Returns the exit code of `ticket`: that of the task, else that of the service.
    pub const fn exit(&self, service: Outcome) -> Exit {
        match (service, self.outcome) {
            (Outcome::Interrupted, _) => Exit::Interrupted,
            (_, Some(TaskOutcome::Complete)) => Exit::Done,
            (_, Some(TaskOutcome::AlreadyDone)) => Exit::AlreadyDone,
            (_, Some(TaskOutcome::Absorbed)) => Exit::Absorbed,
            (_, Some(TaskOutcome::Blocked)) => Exit::Blocked,
            (_, Some(TaskOutcome::Failed | TaskOutcome::Skipped)) => Exit::Refused,
            (Outcome::Paused, None) => Exit::Paused,
            (_, None) => Exit::Refused,
        }
    }
}

/// A task that would run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PlannedTask {
    /// Its id.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// The tier that starts or continues it.
    pub tier: Tier,
    /// Why this tier was chosen.
    pub reason: String,
    /// How many verification commands must succeed.
    pub verification: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::{Signal, TABLE};

    #[test]
    fn a_ticket_ends_with_the_code_of_its_signal() {
        let exit = |outcome| Ticket { task: "a".parse().unwrap(), outcome }.exit(Outcome::Paused) as u8;
        let of = |signal: Signal| signal.spelling().exit_code;
        assert_eq!(exit(Some(TaskOutcome::Complete)), of(Signal::Complete));
        assert_eq!(exit(Some(TaskOutcome::AlreadyDone)), of(Signal::AlreadyDone));
        assert_eq!(exit(Some(TaskOutcome::Absorbed)), of(Signal::Absorbed("b".parse().unwrap())));
        assert_eq!(exit(Some(TaskOutcome::Blocked)), of(Signal::Blocked));
        assert_eq!(exit(Some(TaskOutcome::Failed)), of(Signal::Continue));
        assert_eq!(exit(None), 30);
        assert_eq!(TABLE.iter().map(|row| row.exit_code).max(), Some(34));
    }

    #[test]
    fn a_ticket_without_an_end_needs_another_attempt() {
        let ticket = Ticket { task: "a".parse().unwrap(), outcome: None };
        assert_eq!(ticket.exit(Outcome::Incomplete), Exit::Refused);
        assert_eq!(ticket.exit(Outcome::Interrupted), Exit::Interrupted);
    }
}
