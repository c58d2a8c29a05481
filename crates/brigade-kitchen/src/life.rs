//! The life of a PRD and its tasks: a fold over the records of its journal, and what happens next.
//!
//! [`Life`] is what the records say; nothing else is remembered. [`next`] tells the next step of a task, and [`select`]
//! which tasks begin. Both are functions of the PRD, the settings and the life, so a service that was killed goes on
//! where its journal ends.

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

use brigade_core::{Fingerprint, RunId, Timestamp};
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

/// The newest entries that are kept of each history.
pub const MAX_HISTORY: usize = 1000;

/// What the journal of a PRD says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Life {
    /// The number of the last record.
    pub seq: u64,
    /// The file that was approved last, if that is known.
    pub prd_path: Option<String>,
    /// The last approval that was not taken back.
    pub approval: Option<Approval>,
    /// The last service.
    pub service: Option<ServiceLife>,
    /// The tasks that have records.
    pub tasks: BTreeMap<TaskId, TaskLife>,
    /// The decisions, in the order in which they were asked; answered ones stay.
    pub decisions: Vec<DecisionState>,
    /// Until when a tier waits for its provider, and with which command.
    pub limits: BTreeMap<Tier, (Timestamp, Option<Fingerprint>)>,
    /// What was spent.
    pub spent: Usage,
    /// Budgets that were warned about, and those that are used up.
    pub budgets: BTreeMap<String, bool>,
    /// How many tasks were skipped in a row without a person.
    pub skips_in_a_row: u64,
    /// Tasks that were done since the last review of the PRD.
    pub done_since_phase_review: u64,
    /// Whether somebody said that the next PRD may begin.
    pub gate_is_open: bool,
    /// What happened, for projections.
    pub history: History,
    /// Records of newer versions.
    pub newer: u64,
}

/// An approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The execution fingerprint.
    pub fingerprint: Fingerprint,
    /// What was approved.
    pub items: BTreeMap<String, String>,
    /// When.
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
    /// Why.
    pub reason: Option<String>,
    /// The branch that it moves.
    pub branch: Option<String>,
    /// Whether it paused, and nobody approved or answered anything since.
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
    /// Whether a service began after it was answered. An abort ends only the service before that.
    pub is_past: bool,
}

impl DecisionState {
    /// Returns whether somebody said that the service ends, and no other one began since.
    pub fn is_abort(&self) -> bool {
        self.is_now("abort")
    }

    /// Returns whether somebody said that the service pauses, and no other one began since.
    pub fn is_pause(&self) -> bool {
        matches!(self.decision.about, DecisionKind::Phase | DecisionKind::Gate) && self.is_now("pause")
    }

    fn is_now(&self, choice: &str) -> bool {
        !self.is_past && self.answer.as_ref().is_some_and(|answer| answer.choice == choice)
    }
}

/// The commit of a task that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoneWork {
    /// The task.
    pub task: TaskId,
    /// The run that did it; `None` if it is not known.
    pub run: Option<RunId>,
    /// The commit, as git writes its id.
    pub commit: String,
}

/// Where a task stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Stage {
    /// No attempt runs, and one may begin.
    #[default]
    Open,
    /// An attempt runs, or ran when the service died.
    Attempting {
        /// The run.
        run: RunId,
        /// When it began.
        since: Timestamp,
    },
    /// The attempt claims success, and that is checked.
    Checking(ClaimCheck),
    /// A decision waits.
    Waiting(DecisionId),
    /// It has ended. A failed or blocked task may still have a decision.
    Ended(TaskOutcome),
}

/// What was found out about a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimCheck {
    /// The attempt's run.
    pub run: RunId,
    /// What the worker said.
    pub claim: Signal,
    /// Whether anything changed.
    pub changed: bool,
    /// How many verification commands passed, in their order.
    pub verified: u64,
    /// Whether changed lines have no markers.
    pub scanned: bool,
    /// Whether the test command passed.
    pub tested: bool,
    /// Whether the review passed.
    pub reviewed: bool,
    /// How many reviews were unclear.
    pub unclear: u64,
    /// Whether a person checked it by hand.
    pub checked_by_hand: bool,
    /// Its commit.
    pub commit: Option<String>,
    /// Whether the branch is at it.
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

/// Why the last attempt did not count. It is what the next one is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Feedback {
    /// The attempt gave no signal that counts. Without a kind of failure it gave none.
    Attempt(String, Option<Miss>),
    /// A command failed.
    Command {
        /// Whether it is the test command, and not verification.
        is_test: bool,
        /// The command.
        command: String,
        /// How.
        result: CommandResult,
        /// Its exit code.
        exit_code: Option<i32>,
        /// Its last lines.
        output: String,
    },
    /// Markers were found.
    Markers(Vec<String>),
    /// The review failed.
    Review(String),
    /// A person says that it is not done.
    Manual(String),
    /// The work conflicts with that of other tasks.
    Conflict(Vec<String>),
    /// The commit was refused.
    CommitRefused(String),
}

impl Feedback {
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
    /// The number of the attempt, over all tiers.
    pub number: u64,
    /// The run.
    pub run: RunId,
    /// The tier.
    pub tier: Tier,
    /// When it began.
    pub at: Timestamp,
    /// Whether its worker was started, and its end recorded. Such a run has a receipt.
    pub worked: bool,
}

/// What the journal says about a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskLife {
    /// Where it stands.
    pub stage: Stage,
    /// The tier that it is with. `None` before it began.
    pub tier: Option<Tier>,
    /// Attempts that were started, in all tiers.
    pub attempts: u64,
    /// The runs of these attempts, the oldest first. Those of another program are not known.
    pub runs: Vec<AttemptRun>,
    /// Attempts that count, in all tiers, since it began or was retried.
    pub iterations: u64,
    /// Failures in the present tier.
    pub failures: u64,
    /// Seconds of attempts in the present tier.
    pub seconds_in_tier: f64,
    /// Whether it went to a higher tier.
    pub escalated: bool,
    /// Why it went there last, for the prompt.
    pub escalation: Option<String>,
    /// Whether the last attempt asked for a higher tier: it was blocked, or came to its time limit.
    pub asks_for_more: Option<String>,
    /// Why the last attempt did not count.
    pub feedback: Option<Feedback>,
    /// How earlier attempts went about it, the oldest first.
    pub approaches: Vec<String>,
    /// What a person or the executive told the next attempt.
    pub guidance: Option<String>,
    /// The answered question about scope.
    pub scope: Vec<(String, String)>,
    /// The last failure, for finding out that a task is stuck.
    pub last_failure: Option<(Feedback, Option<String>)>,
    /// How often it came in a row without a change.
    pub repeats: u64,
    /// What the last attempt made of the work tree.
    pub tree: Option<String>,
    /// The question that waits to be asked or answered.
    pub question: Option<String>,
    /// Retries that were decided without a person.
    pub retries: u64,
    /// Unclear decisions since the last clear one.
    pub unclear_decisions: u64,
    /// Whether the last attempt was interrupted.
    pub interrupted: bool,
    /// Whether it is reviewed.
    pub reviewed: bool,
    /// Whether it ended because it was stuck.
    pub stuck: bool,
    /// Whether a person said that it is done after it was begun: its worktree may have work that is nowhere else.
    pub passed: bool,
    /// Its commit in the branch.
    pub commit: Option<String>,
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
    /// What its attempts cost and how long they took.
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

/// What happened, for projections: the newest entries of each list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// The first and the last time a service began.
    pub started_at: Option<Timestamp>,
    /// What happened to tasks.
    pub tasks: Vec<TaskEvent>,
    /// Escalations, with all of their number.
    pub escalations: Vec<(Timestamp, TaskId, Tier, Tier, String)>,
    /// The number of all escalations.
    pub escalation_count: u64,
    /// Reviews.
    pub reviews: Vec<(Timestamp, TaskId, ReviewResult, String)>,
    /// Absorptions.
    pub absorptions: Vec<(Timestamp, TaskId, TaskId)>,
    /// Reviews of the PRD.
    pub phase_reviews: Vec<PhaseEvent>,
    /// The number of all of them.
    pub phase_review_count: u64,
    /// Decisions about scope.
    pub scope_decisions: Vec<ScopeEvent>,
    /// Decisions about failures that no person made.
    pub walkaway_decisions: Vec<WalkawayEvent>,
    /// The state of another program, as it was taken over.
    #[serde(with = "crate::layout::text")]
    pub adopted: Option<ForeignState>,
}

/// Something that happened to a task, in the words of the state file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskEvent {
    /// The task.
    pub task: TaskId,
    /// The tier.
    pub tier: Tier,
    /// The word.
    pub status: String,
    /// When.
    pub at: Timestamp,
    /// How long it took.
    pub seconds: Option<f64>,
    /// The class of the failure.
    pub category: Option<String>,
    /// The failure, in a sentence.
    pub summary: Option<String>,
    /// How the worker went about it.
    pub approach: Option<String>,
}

/// A review of the PRD.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PhaseEvent {
    /// How many tasks were done.
    pub completed: u64,
    /// How many there are.
    pub total: u64,
    /// What was said.
    pub status: String,
    /// The text.
    pub content: String,
    /// When.
    pub at: Timestamp,
}

/// A decision about scope.
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
    /// Whether a person said so.
    pub by_person: bool,
    /// When.
    pub at: Timestamp,
}

/// A decision about a failure that no person made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WalkawayEvent {
    /// The task.
    pub task: TaskId,
    /// The answer.
    pub decision: String,
    /// Why.
    pub reason: String,
    /// What had failed.
    pub failure: String,
    /// When.
    pub at: Timestamp,
}

impl Life {
    /// Returns what the journal says about a task; a task without records has not begun.
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

    /// Lists the commits of tasks of a PRD that its branch has to hold, the newest at the end.
    pub fn done_work(&self, prd: &ValidPrd) -> Vec<DoneWork> {
        let mut found: Vec<(Option<Timestamp>, DoneWork)> = Vec::new();
        for task in prd.tasks.iter().map(|task| &task.id) {
            let Some(own) = self.tasks.get(task) else { continue };
            if let Some(commit) = own.commit.clone() {
                let run = own.runs.last().map(|attempt| attempt.run.clone());
                found.push((own.ended_at, DoneWork { task: task.clone(), run, commit }));
            }
        }
        // One whose end is not recorded yet was the last to reach the branch.
        found.sort_by_key(|(ended, _)| (ended.is_none(), *ended));
        found.into_iter().map(|(_, work)| work).collect()
    }

    /// Lists the decisions that wait. About a task that is done, nothing is asked any more.
    pub fn waiting(&self) -> impl Iterator<Item = &Decision> {
        let open = self.decisions.iter().filter(|decided| decided.answer.is_none());
        let is_over = |decision: &&Decision| decision.task.as_ref().is_some_and(|task| self.is_done(task));
        open.map(|decided| &decided.decision).filter(move |decision| !is_over(decision))
    }

    /// Returns whether a task counts as done as soon as a person approves a PRD whose file says so. One that is done
    /// here does already. What is worked on or checked goes its way first: its work and its cost count.
    pub fn can_be_passed(&self, task: &TaskId) -> bool {
        match self.tasks.get(task).map(|own| &own.stage) {
            Some(Stage::Ended(outcome)) => !outcome.is_done(),
            Some(Stage::Checking(checking)) => checking.commit.is_none() && self.decision_of(task).is_some(),
            Some(Stage::Attempting { .. }) => false,
            Some(Stage::Open | Stage::Waiting(_)) | None => true,
        }
    }

    /// Returns the records of an answer. What belongs to a task has one of its own.
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

    /// Returns the records that settle what is asked about tasks which a person says are done.
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

    /// Returns who said that the service pauses, if no other one began since.
    pub fn paused_by(&self) -> Option<AnsweredBy> {
        let pause = self.decisions.iter().rfind(|decided| decided.is_pause())?;
        pause.answer.as_ref().map(|answer| answer.by)
    }

    /// Returns the waiting decision about a task.
    pub fn decision_of(&self, task: &TaskId) -> Option<&Decision> {
        self.waiting().find(|decision| decision.task.as_ref() == Some(task))
    }
}

#[cfg(test)]
mod tests;
