//! Records of a PRD's journal.

use std::collections::BTreeMap;

use brigade_core::json::{Mismatch, from_json, to_json};
use brigade_core::{Fingerprint, Json, RunId, Timestamp, explained_words};
use serde::{Deserialize, Serialize};

use super::decision::{Answer, Decision, DecisionId};
use super::state::ForeignState;
use crate::adapter::Tokens;
use crate::names::{TaskId, Tier};
use crate::service::Outcome;
use crate::signal::Signal;
use crate::tagged::tagged_enum;

/// The version of records that this program writes.
pub const VERSION: u32 = 1;

/// A line of the journal: `{"v":1,"seq":N,"at":…,"kind":…,…}`. `seq` has no gaps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The version of the record.
    pub v: u32,
    /// The number of the line, from 1.
    pub seq: u64,
    /// When it was written.
    pub at: Timestamp,
    /// The record.
    #[serde(flatten)]
    pub record: Record,
}

/// A parsed line.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A record of a known version.
    Known(Box<Line>),
    /// A record of a newer version. It is kept unchanged, and has no effect.
    Newer {
        /// Its number.
        seq: u64,
        /// The record.
        json: Json,
    },
}

impl Line {
    /// Makes a line.
    pub fn new(seq: u64, at: Timestamp, record: Record) -> Line {
        Line { v: VERSION, seq, at, record }
    }

    /// Formats the line without its line feed.
    ///
    /// # Errors
    /// Never fails for records of this version.
    pub fn to_text(&self) -> Result<String, Mismatch> {
        Ok(to_json(self)?.to_compact())
    }
}

impl Entry {
    /// Parses a line. A line that is neither a known nor a newer record is foreign.
    ///
    /// # Errors
    /// Fails for a foreign line. The caller sets it aside.
    pub fn read(json: Json) -> Result<Entry, Mismatch> {
        #[derive(Deserialize)]
        struct Head {
            v: u32,
            seq: u64,
            kind: String,
        }
        let head: Head = from_json(&json)?;
        if VERSION < head.v || !Record::KINDS.contains(&head.kind.as_str()) {
            return Ok(Entry::Newer { seq: head.seq, json });
        }
        from_json(&json).map(|line| Entry::Known(Box::new(line)))
    }

    /// Returns the number of the line.
    pub fn seq(&self) -> u64 {
        match self {
            Entry::Known(line) => line.seq,
            Entry::Newer { seq, .. } => *seq,
        }
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnd {
    /// With a signal that counts.
    Said,
    /// Without a signal that counts.
    Iteration,
    /// At a limit of the provider.
    Limit,
    /// At its time limit.
    TimeLimit,
    /// Because it printed nothing for too long.
    Stalled,
    /// Because the service was interrupted or killed.
    Interrupted,
}

explained_words! {
    /// Why an attempt does not count, other than a missing signal.
    Miss {
        /// The setup command of the worktree failed, so no worker was started.
        Setup = "setup",
        /// The worker could not be started.
        NotStarted = "not_started",
        /// The claim of the worker does not count.
        Claim = "claim",
        /// The worker changed git metadata, or its directory is missing.
        Git = "git",
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CommandResult {
    /// With exit code 0.
    Passed,
    /// With another exit code, or by a signal.
    Failed,
    /// At its time limit.
    TimedOut,
    /// It could not be started.
    NotStarted,
}

explained_words! {
    /// The result of a review.
    ReviewResult {
        /// The task passes.
        Pass = "PASS",
        /// The task fails.
        Fail = "FAIL",
        /// No clear verdict. The second one in a row is a failure.
        Unclear = "UNCLEAR",
    }
}

/// The usage of a start of the executive that has no separate record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutiveUsage {
    /// The task, if the start concerned one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// How long it took.
    pub seconds: f64,
    /// The cost that it reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The run with its receipt. Absent in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<RunId>,
}

explained_words! {
    /// How a task ended.
    TaskOutcome {
        /// It is done.
        Complete = "complete",
        /// Earlier work did it already.
        AlreadyDone = "already_done",
        /// Another task did it.
        Absorbed = "absorbed",
        /// No tier can do it.
        Blocked = "blocked",
        /// Its attempts are used up.
        Failed = "failed",
        /// It was skipped by a decision.
        Skipped = "skipped",
    }
}

impl TaskOutcome {
    /// Returns the outcome in words for people.
    pub const fn as_text(self) -> &'static str {
        match self {
            TaskOutcome::Complete => "done",
            TaskOutcome::AlreadyDone => "was done already",
            TaskOutcome::Absorbed => "another task did it",
            TaskOutcome::Blocked => "blocked",
            TaskOutcome::Failed => "failed",
            TaskOutcome::Skipped => "left out",
        }
    }

    /// Returns whether tasks that depend on it may begin.
    pub const fn is_done(self) -> bool {
        matches!(self, TaskOutcome::Complete | TaskOutcome::AlreadyDone | TaskOutcome::Absorbed)
    }
}

impl Record {
    /// Lists the runs that have a receipt according to this record, with their kinds. Runs of attempts are not listed:
    /// only the end of an attempt shows whether its worker was started.
    pub fn receipts(&self) -> Vec<(&RunId, &'static str)> {
        fn one<'r>(receipt: &'r Option<RunId>, what: &'static str) -> Vec<(&'r RunId, &'static str)> {
            receipt.iter().map(|run| (run, what)).collect()
        }
        match self {
            Record::AttemptEnded { setup, .. } => one(setup, "setup"),
            Record::Verification { receipt, .. } => one(receipt, "verification"),
            Record::Test { receipt, .. } => one(receipt, "test"),
            Record::Review { receipt, .. } => one(receipt, "review"),
            Record::ServiceEnded { used, .. }
            | Record::DecisionAnswered { used, .. }
            | Record::ScopeDecided { used, .. }
            | Record::PhaseReview { used, .. }
            | Record::PhaseGate { used, .. } => used
                .iter()
                .filter_map(|used| Some((used.receipt.as_ref()?, "answer of the executive")))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the task of the record, if it concerns one.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Record::AttemptEnded { task, .. }
            | Record::Verification { task, .. }
            | Record::Test { task, .. }
            | Record::Review { task, .. }
            | Record::ScopeDecided { task, .. } => Some(task),
            _ => None,
        }
    }
}

tagged_enum! {
    /// What happened.
    Record by "kind" {
        /// A person approved the execution.
        Approved = "approved" {
            /// The execution fingerprint.
            fingerprint: Fingerprint,
            /// The approved items, to show later what changed.
            #[serde(default)]
            items: BTreeMap<String, String>,
            /// The tasks marked as done in the file. Other tasks count as done only by records of the journal.
            #[serde(default)]
            passed: Vec<TaskId>,
            /// Who approved.
            by ["Option::is_none"]: Option<String>,
            /// The file of the PRD, relative to the workspace. Absent for approvals of tiers, and in records of older
            /// versions.
            path ["Option::is_none"]: Option<String>,
        }
        /// A person revoked the approval.
        Revoked = "revoked" {
            /// Who revoked it.
            by ["Option::is_none"]: Option<String>,
        }
        /// A service began.
        ServiceStarted = "service_started" {
            /// Its id.
            service: String,
            /// Its process identity, in the format of the process crate.
            #[serde(default)]
            process: Option<String>,
            /// Whether failures are decided without a person.
            #[serde(default)]
            walkaway: bool,
            /// The branch that it moves.
            branch ["Option::is_none"]: Option<String>,
            /// How many tasks it serves.
            total: u64,
        }
        /// A service ended.
        ServiceEnded = "service_ended" {
            /// Its id.
            service: String,
            /// How it ended.
            outcome: Outcome,
            /// Why it ended so.
            reason ["Option::is_none"]: Option<String>,
            /// Usage of the executive that no earlier record has.
            used ["Vec::is_empty"]: Vec<ExecutiveUsage>,
        }
        /// A task began.
        TaskStarted = "task_started" {
            /// The task.
            task: TaskId,
            /// The tier that starts it.
            tier: Tier,
            /// The commit that its worktree was made from.
            base ["Option::is_none"]: Option<String>,
            /// Its worktree, relative to the workspace.
            worktree ["Option::is_none"]: Option<String>,
        }
        /// An attempt is about to start.
        AttemptStarted = "attempt_started" {
            /// The task.
            task: TaskId,
            /// The run.
            run: RunId,
            /// The tier.
            tier: Tier,
            /// The number of the attempt, across all tiers.
            attempt: u64,
            /// The worker's process identity, in the format of the process crate.
            #[serde(default)]
            process: Option<String>,
        }
        /// An attempt ended.
        AttemptEnded = "attempt_ended" {
            /// The task.
            task: TaskId,
            /// The run.
            run: RunId,
            /// How it ended.
            how: AttemptEnd,
            /// The worker's signal.
            signal ["Option::is_none"]: Option<Signal>,
            /// Why another attempt is needed, or why the task is blocked.
            reason ["Option::is_none"]: Option<String>,
            /// The kind of failure.
            miss ["Option::is_none"]: Option<Miss>,
            /// How long it took.
            seconds: f64,
            /// The cost that the worker reported.
            cost_usd ["Option::is_none"]: Option<f64>,
            /// The tokens that it used.
            tokens ["Option::is_none"]: Option<Tokens>,
            /// Whether anything changed since the task started.
            changed: bool,
            /// The final tree of the worktree, to compare attempts.
            tree ["Option::is_none"]: Option<String>,
            /// The approach of the worker.
            approach ["Option::is_none"]: Option<String>,
            /// When the provider's limit ends.
            until ["Option::is_none"]: Option<Timestamp>,
            /// The run of the setup before it, which has a receipt.
            setup ["Option::is_none"]: Option<RunId>,
        }
        /// A verification command ended.
        Verification = "verification" {
            /// The task.
            task: TaskId,
            /// The run of the attempt.
            run: RunId,
            /// The position of the command in the task, from 0.
            index: u64,
            /// The command.
            command: String,
            /// How it ended.
            result: CommandResult,
            /// Its exit code.
            exit_code ["Option::is_none"]: Option<i32>,
            /// The last lines of its output, masked.
            output ["String::is_empty"]: String,
            /// The run with its receipt. Absent in records of older versions.
            receipt ["Option::is_none"]: Option<RunId>,
        }
        /// The test command ended.
        Test = "test" {
            /// The task.
            task: TaskId,
            /// The run of the attempt.
            run: RunId,
            /// The command.
            command: String,
            /// How it ended.
            result: CommandResult,
            /// Its exit code.
            exit_code ["Option::is_none"]: Option<i32>,
            /// The last lines of its output, masked.
            output ["String::is_empty"]: String,
            /// The run with its receipt. Absent in records of older versions.
            receipt ["Option::is_none"]: Option<RunId>,
        }
        /// Changed lines were searched for markers.
        Todo = "todo" {
            /// The task.
            task: TaskId,
            /// The run of the attempt.
            run: RunId,
            /// Where markers were found, as `file:line: marker`.
            found: Vec<String>,
        }
        /// The executive reviewed a task.
        Review = "review" {
            /// The task.
            task: TaskId,
            /// The run of the attempt.
            run: RunId,
            /// The verdict.
            result: ReviewResult,
            /// Why.
            reason ["Option::is_none"]: Option<String>,
            /// How long it took.
            #[serde(default)]
            seconds: f64,
            /// The cost that it reported.
            cost_usd ["Option::is_none"]: Option<f64>,
            /// The run with its receipt. Absent in records of older versions.
            receipt ["Option::is_none"]: Option<RunId>,
        }
        /// The commit of a task was made, or refused.
        Committed = "committed" {
            /// The task.
            task: TaskId,
            /// The run of the attempt.
            run: RunId,
            /// The commit.
            commit ["Option::is_none"]: Option<String>,
            /// Why it was refused: the attempt changed settings or hooks of git.
            refused ["Option::is_none"]: Option<String>,
        }
        /// The branch moved to a task's commit, or could not.
        Integrated = "integrated" {
            /// The task.
            task: TaskId,
            /// The run of the attempt.
            run: RunId,
            /// The new commit of the branch.
            commit ["Option::is_none"]: Option<String>,
            /// The files that conflict with the work of other tasks.
            conflict ["Vec::is_empty"]: Vec<String>,
            /// Whether the task was moved to a new tip and must be verified there.
            #[serde(default)]
            moved: bool,
            /// The tree of the worktree on the new tip.
            tree ["Option::is_none"]: Option<String>,
        }
        /// A task ended.
        TaskEnded = "task_ended" {
            /// The task.
            task: TaskId,
            /// How it ended.
            outcome: TaskOutcome,
            /// Why it ended so.
            reason ["Option::is_none"]: Option<String>,
            /// Whether it ended because it was stuck.
            stuck ["std::ops::Not::not"]: bool,
        }
        /// A task was escalated to a higher tier.
        Escalated = "escalated" {
            /// The task.
            task: TaskId,
            /// The tier before.
            from: Tier,
            /// The tier now.
            to: Tier,
            /// Why.
            reason: String,
        }
        /// Another task did the work.
        Absorbed = "absorbed" {
            /// The task.
            task: TaskId,
            /// The other task.
            absorbed_by: TaskId,
        }
        /// A decision is needed.
        DecisionAsked = "decision_asked" {
            /// The decision.
            #[serde(flatten)]
            decision: Decision,
        }
        /// A decision was answered.
        DecisionAnswered = "decision_answered" {
            /// The decision.
            id: DecisionId,
            /// The answer.
            #[serde(flatten)]
            answer: Answer,
            /// Usage of the executive that no earlier record has.
            used ["Vec::is_empty"]: Vec<ExecutiveUsage>,
        }
        /// The scope of a task was decided.
        ScopeDecided = "scope_decided" {
            /// The task.
            task: TaskId,
            /// The question.
            question: String,
            /// The answer.
            decision: String,
            /// Why.
            #[serde(default)]
            rationale: String,
            /// Whether a person decided.
            by_person: bool,
            /// Usage of the executive that no earlier record has.
            used ["Vec::is_empty"]: Vec<ExecutiveUsage>,
        }
        /// The executive reviewed the PRD.
        PhaseReview = "phase_review" {
            /// How many tasks were done.
            completed: u64,
            /// How many tasks there were.
            total: u64,
            /// The verdict.
            status: String,
            /// Its text.
            #[serde(default)]
            content: String,
            /// Usage of the executive that no earlier record has.
            used ["Vec::is_empty"]: Vec<ExecutiveUsage>,
        }
        /// The gate between two PRDs gave a verdict.
        PhaseGate = "phase_gate" {
            /// The verdict.
            status: String,
            /// Its text.
            #[serde(default)]
            content: String,
            /// Usage of the executive that no earlier record has.
            used ["Vec::is_empty"]: Vec<ExecutiveUsage>,
        }
        /// A tier waits for the limit of its provider.
        LimitWait = "limit_wait" {
            /// The tier.
            tier: Tier,
            /// When the limit ends.
            until: Timestamp,
            /// The command and adapter of the tier. Another command has another limit.
            command ["Option::is_none"]: Option<Fingerprint>,
        }
        /// A budget needs a warning or is used up.
        Budget = "budget" {
            /// The budget: `cost_usd`, `minutes` or `attempts`.
            what: String,
            /// Whether it is used up.
            reached: bool,
        }
        /// Settings were reloaded while a service runs.
        ConfigReloaded = "config_reloaded" {
            /// The changed keys.
            keys: Vec<String>,
        }
        /// The service was interrupted.
        Interrupted = "interrupted" {
            /// The tasks whose attempts were interrupted.
            tasks: Vec<TaskId>,
        }
        /// The state file of another program was adopted.
        Adopted = "adopted" {
            /// The adopted state.
            state: ForeignState,
        }
    }
}
