//! The life of a PRD and its tasks: a fold over the records of its journal, and the next steps.
//!
//! A [`Life`] is computed from records and nothing else. [`next`] returns the next step of a task, and [`select`] the
//! tasks that start now. Both depend only on the PRD, the settings and the life. So a killed service continues where
//! its journal ends.

pub(crate) mod adopt;
mod budget;
mod decision;
mod fold;
mod next;
mod record;
mod saved;
mod select;
mod state;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use brigade_core::{Fingerprint, RunId, Timestamp};
use regex::Regex;
use serde::{Deserialize, Serialize};

pub use budget::{Budget, Limits, TierUsage, Usage, budget};
pub use decision::{Answer, AnswerFault, AnsweredBy, Decision, DecisionId, DecisionKind, InvalidDecisionId};
pub use next::{
    AttemptVerdict, Question, Step, Workplace, is_reviewed, judge, next, tiers_ahead, walkaway_answer,
};
pub use record::{
    AttemptEnd, CommandResult, Entry, ExecutiveUsage, Line, Miss, Record, ReviewResult, TaskOutcome, VERSION,
};
pub use select::{
    AttemptStart, Progress, RunSet, SelectTasksError, UnknownTasks, is_ready, progress, select, unreachable,
};
pub use state::{ForeignState, StateFile};

use crate::names::{TaskId, Tier};
use crate::prd::ValidPrd;
use crate::signal::Signal;

/// The maximum number of entries that each history keeps.
pub const MAX_HISTORY: usize = 1000;

/// The state of a PRD according to its journal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Life {
    /// The number of the last record.
    pub seq: u64,
    /// The file of the last approval, if known.
    pub prd_path: Option<String>,
    /// The last approval that was not revoked.
    pub approval: Option<Approval>,
    /// The last service.
    pub service: Option<ServiceLife>,
    /// The tasks that have records.
    pub tasks: BTreeMap<TaskId, TaskLife>,
    /// The decisions, in the order in which they were asked, including answered ones.
    pub decisions: Vec<DecisionState>,
    /// When the provider's limit of a tier ends, and the command that it applies to.
    pub limits: BTreeMap<Tier, (Timestamp, Option<Fingerprint>)>,
    /// The number of commits of tasks that reached the branch.
    pub integrations: u64,
    /// What was spent.
    pub spent: Usage,
    /// Budgets with a warning. The value says whether the budget is used up.
    pub budgets: BTreeMap<String, bool>,
    /// The number of tasks skipped in a row without a person.
    pub skips_in_a_row: u64,
    /// The number of tasks done since the last phase review.
    pub done_since_phase_review: u64,
    /// Whether a decision opened the gate to the next PRD.
    pub gate_is_open: bool,
    /// The history, for reports.
    pub history: History,
    /// The number of records of newer versions.
    pub newer: u64,
}

/// An approval of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The execution fingerprint.
    pub fingerprint: Fingerprint,
    /// The approved items.
    pub items: BTreeMap<String, String>,
    /// When it was approved.
    pub at: Timestamp,
}

/// A service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServiceLife {
    /// Its id.
    pub id: String,
    /// When it began.
    pub started_at: Timestamp,
    /// How it ended.
    pub ended: Option<crate::service::Outcome>,
    /// Why it ended so.
    pub reason: Option<String>,
    /// The branch that it moves.
    pub branch: Option<String>,
    /// Whether it paused, and no approval or answer was recorded since.
    pub is_paused: bool,
}

/// A decision with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionState {
    /// The question.
    pub decision: Decision,
    /// The answer.
    #[serde(with = "crate::layout::text")]
    pub answer: Option<Answer>,
    /// Whether a service started after it was answered. An abort ends only the service before that.
    pub is_past: bool,
}

impl DecisionState {
    /// Returns whether the answer aborts the current service.
    pub fn is_abort(&self) -> bool {
        self.is_now("abort")
    }

    /// Returns whether the answer pauses the current service.
    pub fn is_pause(&self) -> bool {
        matches!(self.decision.about, DecisionKind::Phase | DecisionKind::Gate) && self.is_now("pause")
    }

    fn is_now(&self, choice: &str) -> bool {
        !self.is_past && self.answer.as_ref().is_some_and(|answer| answer.choice == choice)
    }
}

/// The commit of a finished task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoneWork {
    /// The task.
    pub task: TaskId,
    /// The run that did it; `None` if unknown.
    pub run: Option<RunId>,
    /// The commit id in hex.
    pub commit: String,
}

/// The stage of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Stage {
    /// No attempt runs, and one may start.
    #[default]
    Open,
    /// An attempt runs, or ran when the service was killed.
    Attempting {
        /// The run.
        run: RunId,
        /// When it began.
        since: Timestamp,
    },
    /// An attempt claims success, and the claim is being checked.
    Checking(ClaimCheck),
    /// A decision is pending.
    Waiting(DecisionId),
    /// The task has ended. A failed or blocked task may still have a pending decision.
    Ended(TaskOutcome),
}

/// The progress of checking a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimCheck {
    /// The run of the attempt.
    pub run: RunId,
    /// The worker's signal.
    pub claim: Signal,
    /// Whether anything changed.
    pub changed: bool,
    /// The number of verification commands that passed, in order.
    pub verified: u64,
    /// Whether the changed lines were searched and have no markers.
    pub scanned: bool,
    /// Whether the test command passed.
    pub tested: bool,
    /// Whether the review passed.
    pub reviewed: bool,
    /// The number of unclear reviews.
    pub unclear: u64,
    /// Whether a person checked the task by hand.
    pub checked_by_hand: bool,
    /// Its commit.
    pub commit: Option<String>,
    /// Whether the branch has the commit.
    pub integrated: bool,
}

impl ClaimCheck {
    pub(crate) fn new(run: RunId, claim: Signal, changed: bool) -> ClaimCheck {
        ClaimCheck {
            run,
            claim,
            changed,
            verified: 0,
            scanned: false,
            tested: false,
            reviewed: false,
            unclear: 0,
            checked_by_hand: false,
            commit: None,
            integrated: false,
        }
    }
}

/// Why the last attempt did not count, for the next prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Feedback {
    /// The attempt gave no signal that counts. Without a kind of failure, it gave no signal.
    Attempt(String, Option<Miss>),
    /// A command failed.
    Command {
        /// Whether it is the test command instead of a verification.
        is_test: bool,
        /// The command.
        command: String,
        /// How it ended.
        result: CommandResult,
        /// Its exit code.
        exit_code: Option<i32>,
        /// The last lines of its output.
        output: String,
    },
    /// Markers were found.
    Markers(Vec<String>),
    /// The review failed.
    Review(String),
    /// A person found the task not done.
    Manual(String),
    /// The work conflicts with the work of other tasks.
    Conflict(Vec<String>),
    /// The commit was refused.
    CommitRefused(String),
}

/// Durations and times of day in the output of a command.
static TIMES: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"\b\d+:\d\d:\d\d(\.\d+)?\b|\b\d+(\.\d+)? ?(ms|µs|us|s|secs?|seconds?|min|minutes?)\b";
    Regex::new(pattern).expect("the pattern is valid")
});

impl Feedback {
    /// Returns whether two failures are equal, apart from times in the output of a command. An attempt without a
    /// signal, or one that asks for another, is not known to have failed, so it is equal to none.
    pub(crate) fn is_same_failure(&self, other: &Feedback) -> bool {
        let timeless = |output: &str| TIMES.replace_all(output, "…").into_owned();
        match (self, other) {
            (Feedback::Attempt(_, None), _) => false,
            (Feedback::Command { output: a, .. }, Feedback::Command { output: b, .. }) => {
                self.without_output() == other.without_output() && timeless(a) == timeless(b)
            }
            _ => self == other,
        }
    }

    fn without_output(&self) -> Feedback {
        let mut copy = self.clone();
        if let Feedback::Command { output, .. } = &mut copy {
            output.clear();
        }
        copy
    }

    /// Returns the class of the failure.
    pub fn class(&self) -> &'static str {
        match self {
            Feedback::Attempt(_, None) => "no_signal",
            Feedback::Attempt(_, Some(miss)) => miss.as_str(),
            Feedback::Command { is_test: true, .. } => "test",
            Feedback::Command { is_test: false, .. } => "verification",
            Feedback::Markers(_) => "markers",
            Feedback::Review(_) => "review",
            Feedback::Manual(_) => "manual",
            Feedback::Conflict(_) => "conflict",
            Feedback::CommitRefused(_) => "commit",
        }
    }
}

/// The run of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AttemptRun {
    /// The number of the attempt, across all tiers.
    pub number: u64,
    /// The run.
    pub run: RunId,
    /// The tier.
    pub tier: Tier,
    /// When it began.
    pub at: Timestamp,
    /// Whether its worker was started and its end recorded. Only such a run has a receipt.
    pub worked: bool,
}

/// The state of a task according to the journal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskLife {
    /// Its stage.
    pub stage: Stage,
    /// Its current tier. `None` before it started.
    pub tier: Option<Tier>,
    /// The number of started attempts, in all tiers.
    pub attempts: u64,
    /// The runs of these attempts, the oldest first. Runs of another program are unknown.
    pub runs: Vec<AttemptRun>,
    /// The number of attempts that count, in all tiers, since it started or was retried.
    pub iterations: u64,
    /// The number of failures in the current tier.
    pub failures: u64,
    /// Seconds of attempts in the current tier.
    pub seconds_in_tier: f64,
    /// Whether it was escalated to a higher tier.
    pub escalated: bool,
    /// Why it was last escalated, for the prompt.
    pub escalation: Option<String>,
    /// Why the last attempt asked for a higher tier: it was blocked, or reached its time limit.
    pub asks_for_more: Option<String>,
    /// Why the last attempt did not count.
    pub feedback: Option<Feedback>,
    /// The approaches of earlier attempts, the oldest first.
    pub approaches: Vec<String>,
    /// Guidance of a person or the executive for the next attempt.
    pub guidance: Option<String>,
    /// The answered questions about scope.
    pub scope: Vec<(String, String)>,
    /// The last failure, to detect that a task is stuck.
    pub last_failure: Option<(Feedback, Option<String>)>,
    /// The number of times that failure occurred in a row without a change.
    pub repeats: u64,
    /// The number of times that failure occurred in a row in the current tier, whatever the attempts changed.
    pub equal_failures: u64,
    /// The tree of the worktree after the last attempt.
    pub tree: Option<String>,
    /// The question about scope that is not answered yet.
    pub question: Option<String>,
    /// The number of retries decided without a person.
    pub retries: u64,
    /// The number of unclear decisions since the last clear one.
    pub unclear_decisions: u64,
    /// Whether the last attempt was interrupted.
    pub interrupted: bool,
    /// Whether it was reviewed.
    pub reviewed: bool,
    /// Whether it ended because it was stuck.
    pub stuck: bool,
    /// Whether a person marked it as done after it started. Its worktree may have work that is not in the branch.
    pub passed: bool,
    /// Its commit in the branch.
    pub commit: Option<String>,
    /// The place of this commit in the order of the branch, from 1. 0 without a commit.
    pub integration: u64,
    /// The task that did its work.
    pub absorbed_by: Option<TaskId>,
    /// The commit that its worktree was made from.
    pub base: Option<String>,
    /// Its worktree.
    pub worktree: Option<String>,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The usage of its attempts.
    pub spent: Usage,
    /// The last error, in a sentence.
    pub last_error: Option<String>,
}

impl TaskLife {
    /// Returns how the task ended, if it did.
    pub fn outcome(&self) -> Option<TaskOutcome> {
        if let Stage::Ended(outcome) = self.stage { Some(outcome) } else { None }
    }
}

/// The history for reports: the newest entries of each list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// When the first service started.
    pub started_at: Option<Timestamp>,
    /// Events of tasks.
    pub tasks: Vec<TaskEvent>,
    /// The newest escalations.
    pub escalations: Vec<(Timestamp, TaskId, Tier, Tier, String)>,
    /// The number of all escalations.
    pub escalation_count: u64,
    /// Reviews.
    pub reviews: Vec<(Timestamp, TaskId, ReviewResult, String)>,
    /// Absorptions.
    pub absorptions: Vec<(Timestamp, TaskId, TaskId)>,
    /// Reviews of the PRD.
    pub phase_reviews: Vec<PhaseEvent>,
    /// The number of all phase reviews.
    pub phase_review_count: u64,
    /// Decisions about scope.
    pub scope_decisions: Vec<ScopeEvent>,
    /// Decisions about failures made without a person.
    pub walkaway_decisions: Vec<WalkawayEvent>,
    /// The adopted state of another program.
    #[serde(with = "crate::layout::text")]
    pub adopted: Option<ForeignState>,
}

/// An event of a task, in the vocabulary of the state file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskEvent {
    /// The task.
    pub task: TaskId,
    /// The tier.
    pub tier: Tier,
    /// The status word.
    pub status: String,
    /// When.
    pub at: Timestamp,
    /// How long it took.
    pub seconds: Option<f64>,
    /// The class of the failure.
    pub category: Option<String>,
    /// The failure, in a sentence.
    pub summary: Option<String>,
    /// The approach of the worker.
    pub approach: Option<String>,
}

/// A phase review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PhaseEvent {
    /// How many tasks were done.
    pub completed: u64,
    /// How many there are.
    pub total: u64,
    /// The verdict.
    pub status: String,
    /// The text.
    pub content: String,
    /// When.
    pub at: Timestamp,
}

/// A decision about the scope of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScopeEvent {
    /// The task.
    pub task: TaskId,
    /// The question.
    pub question: String,
    /// The answer.
    pub decision: String,
    /// Why.
    pub rationale: String,
    /// Whether a person decided.
    pub by_person: bool,
    /// When.
    pub at: Timestamp,
}

/// A decision about a failure, made without a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WalkawayEvent {
    /// The task.
    pub task: TaskId,
    /// The answer.
    pub decision: String,
    /// Why.
    pub reason: String,
    /// The failure.
    pub failure: String,
    /// When.
    pub at: Timestamp,
}

impl Life {
    /// Returns the state of a task. A task without records has not started.
    pub fn task(&self, id: &TaskId) -> TaskLife {
        self.tasks.get(id).cloned().unwrap_or_default()
    }

    /// Returns how a task ended, if it did.
    pub fn outcome(&self, id: &TaskId) -> Option<TaskOutcome> {
        self.tasks.get(id).and_then(TaskLife::outcome)
    }

    /// Returns whether tasks that depend on this one may begin.
    pub fn is_done(&self, id: &TaskId) -> bool {
        self.outcome(id).is_some_and(TaskOutcome::is_done)
    }

    /// Lists the commits of finished tasks that the branch must contain, the newest last.
    pub fn done_work(&self, prd: &ValidPrd) -> Vec<DoneWork> {
        let mut found: Vec<(u64, DoneWork)> = Vec::new();
        for task in prd.tasks.iter().map(|task| &task.id) {
            let Some(own) = self.tasks.get(task) else { continue };
            if let Some(commit) = own.commit.clone() {
                let run = own.runs.last().map(|attempt| attempt.run.clone());
                found.push((own.integration, DoneWork { task: task.clone(), run, commit }));
            }
        }
        found.sort_by_key(|(integration, _)| *integration);
        found.into_iter().map(|(_, work)| work).collect()
    }

    /// Lists the pending decisions. Decisions about finished tasks are left out.
    pub fn waiting(&self) -> impl Iterator<Item = &Decision> {
        let open = self.decisions.iter().filter(|decided| decided.answer.is_none());
        let is_over = |decision: &&Decision| decision.task.as_ref().is_some_and(|task| self.is_done(task));
        open.map(|decided| &decided.decision).filter(move |decision| !is_over(decision))
    }

    /// Returns whether an approval marks the task as done if its PRD file says so. Tasks that are done already are not
    /// marked again. A task that is in progress or being checked is finished first, so that its work and cost count.
    pub fn can_be_passed(&self, task: &TaskId) -> bool {
        match self.tasks.get(task).map(|own| &own.stage) {
            Some(Stage::Ended(outcome)) => !outcome.is_done(),
            Some(Stage::Checking(checking)) => checking.commit.is_none() && self.decision_of(task).is_some(),
            Some(Stage::Attempting { .. }) => false,
            Some(Stage::Open | Stage::Waiting(_)) | None => true,
        }
    }

    /// Returns the records of an answer. An answer about scope has an additional record.
    pub fn answer_records(&self, id: &DecisionId, answer: Answer, used: Vec<ExecutiveUsage>) -> Vec<Record> {
        let decided = self.decisions.iter().find(|decided| decided.decision.id == *id);
        let about =
            decided.map(|decided| &decided.decision).filter(|about| about.about == DecisionKind::Scope);
        let Some((about, task)) = about.and_then(|about| Some((about, about.task.clone()?))) else {
            return vec![Record::DecisionAnswered { id: id.clone(), answer, used }];
        };
        let question = self.tasks.get(&task).and_then(|own| own.question.clone());
        let decided = Record::ScopeDecided {
            task,
            question: question.unwrap_or_else(|| about.context.clone()),
            decision: answer.choice.clone(),
            rationale: answer.reason.clone().unwrap_or_default(),
            by_person: answer.by == AnsweredBy::Person,
            used,
        };
        vec![decided, Record::DecisionAnswered { id: id.clone(), answer, used: Vec::new() }]
    }

    /// Returns the records that answer pending decisions about tasks that a person marked as done.
    pub fn settled(&self, passed: &[TaskId]) -> Vec<Record> {
        let is_meant = |task: &TaskId| passed.contains(task) && self.can_be_passed(task);
        let waiting = self.waiting().filter(|decision| decision.task.as_ref().is_some_and(is_meant));
        let settle = |decision: &Decision| Record::DecisionAnswered {
            id: decision.id.clone(),
            answer: Answer {
                choice: "pass".to_owned(),
                by: AnsweredBy::Person,
                reason: Some("the PRD says that the task is done, and was approved again".to_owned()),
                guidance: None,
                is_clear: true,
            },
            used: Vec::new(),
        };
        waiting.map(settle).collect()
    }

    /// Returns who paused the current service, if a decision did.
    pub fn paused_by(&self) -> Option<AnsweredBy> {
        let pause = self.decisions.iter().rfind(|decided| decided.is_pause())?;
        pause.answer.as_ref().map(|answer| answer.by)
    }

    /// Returns the pending decision about a task.
    pub fn decision_of(&self, task: &TaskId) -> Option<&Decision> {
        self.waiting().find(|decision| decision.task.as_ref() == Some(task))
    }
}

#[cfg(test)]
mod tests;
