//! The records of a PRD's journal.

use std::collections::BTreeMap;

use brigade_core::json::{Mismatch, from_json, to_json};
use brigade_core::{Fingerprint, Json, RunId, Timestamp};
use serde::{Deserialize, Serialize};

use super::decision::{Answer, Decision, DecisionId};
use super::state::ForeignState;
use crate::adapter::Tokens;
use crate::names::{TaskId, Tier};
use crate::service::Outcome;
use crate::signal::Signal;

/// The version of the records that this version writes.
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
    /// What happened.
    #[serde(flatten)]
    pub record: Record,
}

/// A line as it was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A record that this version knows.
    Known(Box<Line>),
    /// A record of a newer version. It is kept, never rewritten, and nothing is concluded from it.
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

    /// Writes the line without its line feed.
    ///
    /// # Errors
    /// Never fails for records of this version.
    pub fn to_text(&self) -> Result<String, Mismatch> {
        Ok(to_json(self)?.to_compact())
    }
}

impl Entry {
    /// Reads a line. One that is neither a known nor a newer record is foreign.
    ///
    /// # Errors
    /// Fails for a foreign line, which the caller sets aside.
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

/// How an attempt ended, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnd {
    /// With a signal.
    Said,
    /// Without one that counts.
    Iteration,
    /// At the limit of the provider.
    Limit,
    /// At its time limit.
    TimeLimit,
    /// Because it printed nothing.
    Stalled,
    /// Because the service was interrupted or died.
    Interrupted,
}

/// What kind of failure it was that an attempt does not count, besides that it gave no signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Miss {
    /// The setup command of the worktree failed, so no worker was started.
    Setup,
    /// The worker could not be started.
    NotStarted,
    /// The worker claimed something that does not count.
    Claim,
    /// The worker changed what belongs to git, or its folder is gone.
    Git,
}

impl Miss {
    /// Returns the word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Miss::Setup => "setup",
            Miss::NotStarted => "not_started",
            Miss::Claim => "claim",
            Miss::Git => "git",
        }
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CommandResult {
    /// With 0.
    Passed,
    /// With another code, or by a signal.
    Failed,
    /// At its time limit.
    TimedOut,
    /// It could not be started.
    NotStarted,
}

/// What a review said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum ReviewResult {
    /// The task is good.
    Pass,
    /// It is not.
    Fail,
    /// Nothing clear. The second one in a row is a failure.
    Unclear,
}

/// What a start of the executive used that has no record of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutiveUsage {
    /// The task that it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// How long it took.
    pub seconds: f64,
    /// What it reported as its cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The run that has its receipt. Absent in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<RunId>,
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskOutcome {
    /// It is done.
    Complete,
    /// It was done before.
    AlreadyDone,
    /// Another task did it.
    Absorbed,
    /// No tier can do it.
    Blocked,
    /// It has used up its attempts.
    Failed,
    /// Somebody left it out.
    Skipped,
}

impl TaskOutcome {
    /// Returns it in words for people.
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
    /// Lists the runs whose receipts there are by this record, with what each was; but not that of an attempt, of which
    /// only the end of its record says whether its worker was started.
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

    /// Returns the task that it is about, if it is about one.
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

macro_rules! records {
    ($($(#[$doc:meta])* $name:ident = $kind:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })+) => {
        /// What happened.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Record {
            $($(#[$doc])* #[serde(rename = $kind)] $name { $($(#[$field_doc])* $field: $type,)* },)+
        }

        impl Record {
            /// The words of the kinds.
            pub const KINDS: &[&str] = &[$($kind),+];

            /// Returns the word of the kind.
            pub const fn kind(&self) -> &'static str {
                match self { $(Record::$name { .. } => $kind,)+ }
            }
        }
    };
}

records! {
    /// A person approved what is executed.
    Approved = "approved" {
        /// The execution fingerprint.
        fingerprint: Fingerprint,
        /// What was approved, for showing what changed since.
        #[serde(default)]
        items: BTreeMap<String, String>,
        /// The tasks that the file said were done. Others count as done only by what happens here.
        #[serde(default)]
        passed: Vec<TaskId>,
        /// Who.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The file of the PRD, relative to the workspace. Absent for the tiers, and in records of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    }
    /// A person took the approval back.
    Revoked = "revoked" {
        /// Who.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    }
    /// A service began.
    ServiceStarted = "service_started" {
        /// Its id.
        service: String,
        /// Who it is, as the process crate writes it.
        #[serde(default)]
        process: Option<String>,
        /// Whether failures are decided without a person.
        #[serde(default)]
        walkaway: bool,
        /// The branch that it moves.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        /// How many tasks it serves.
        total: u64,
    }
    /// A service ended.
    ServiceEnded = "service_ended" {
        /// Its id.
        service: String,
        /// How.
        outcome: Outcome,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// What the executive used for this, and for what came to nothing before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        used: Vec<ExecutiveUsage>,
    }
    /// A task began.
    TaskStarted = "task_started" {
        /// The task.
        task: TaskId,
        /// The tier that begins.
        tier: Tier,
        /// The commit that its worktree was made from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<String>,
        /// Its worktree, relative to the workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worktree: Option<String>,
    }
    /// An attempt is about to start.
    AttemptStarted = "attempt_started" {
        /// The task.
        task: TaskId,
        /// The run.
        run: RunId,
        /// The tier.
        tier: Tier,
        /// The number of the attempt, over all tiers.
        attempt: u64,
        /// Who it is, as the process crate writes it.
        #[serde(default)]
        process: Option<String>,
    }
    /// An attempt ended.
    AttemptEnded = "attempt_ended" {
        /// The task.
        task: TaskId,
        /// The run.
        run: RunId,
        /// How, in a word.
        how: AttemptEnd,
        /// What the worker said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<Signal>,
        /// Why it needs another attempt, or is blocked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// What kind of failure that is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        miss: Option<Miss>,
        /// How long it took.
        seconds: f64,
        /// What it cost, as the worker said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
        /// The tokens that it used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<Tokens>,
        /// Whether anything changed since the task began.
        changed: bool,
        /// What the work tree was at the end, so that two attempts can be compared.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
        /// How the worker went about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approach: Option<String>,
        /// Until when the provider's limit holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        /// The run of the setup before it, which has its receipt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        setup: Option<RunId>,
    }
    /// A verification command ended.
    Verification = "verification" {
        /// The task.
        task: TaskId,
        /// The attempt's run.
        run: RunId,
        /// The position of the command in the task, from 0.
        index: u64,
        /// The command.
        command: String,
        /// How it ended.
        result: CommandResult,
        /// Its exit code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The last lines of its output, masked.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        output: String,
        /// The run that has its receipt. Absent in records of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<RunId>,
    }
    /// The test command ended.
    Test = "test" {
        /// The task.
        task: TaskId,
        /// The attempt's run.
        run: RunId,
        /// The command.
        command: String,
        /// How it ended.
        result: CommandResult,
        /// Its exit code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The last lines of its output, masked.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        output: String,
        /// The run that has its receipt. Absent in records of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<RunId>,
    }
    /// Changed lines were searched for markers.
    Todo = "todo" {
        /// The task.
        task: TaskId,
        /// The attempt's run.
        run: RunId,
        /// Where there are some, as `file:line: marker`.
        found: Vec<String>,
    }
    /// The executive reviewed.
    Review = "review" {
        /// The task.
        task: TaskId,
        /// The attempt's run.
        run: RunId,
        /// What it said.
        result: ReviewResult,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// How long it took.
        #[serde(default)]
        seconds: f64,
        /// What it cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
        /// The run that has its receipt. Absent in records of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<RunId>,
    }
    /// The commit of a task was made, or refused.
    Committed = "committed" {
        /// The task.
        task: TaskId,
        /// The attempt's run.
        run: RunId,
        /// The commit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        /// Why there is none: settings or hooks of git that the attempt changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<String>,
    }
    /// The branch moved to a task's commit, or could not.
    Integrated = "integrated" {
        /// The task.
        task: TaskId,
        /// The attempt's run.
        run: RunId,
        /// The commit that the branch is at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        /// The files in which the work conflicts with that of other tasks.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        conflict: Vec<String>,
        /// Whether the task stands on a new tip and has to be verified there.
        #[serde(default)]
        moved: bool,
        /// What the work tree is on the new tip.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    }
    /// A task ended.
    TaskEnded = "task_ended" {
        /// The task.
        task: TaskId,
        /// How.
        outcome: TaskOutcome,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Whether it was stuck.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stuck: bool,
    }
    /// A task was handed to a higher tier.
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
    /// A question waits for somebody.
    DecisionAsked = "decision_asked" {
        /// The decision.
        #[serde(flatten)]
        decision: Decision,
    }
    /// It was answered.
    DecisionAnswered = "decision_answered" {
        /// The decision.
        id: DecisionId,
        /// The answer.
        #[serde(flatten)]
        answer: Answer,
        /// What the executive used for this, and for what came to nothing before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        used: Vec<ExecutiveUsage>,
    }
    /// What belongs to a task was decided.
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
        /// Whether a person said so.
        by_person: bool,
        /// What the executive used for this, and for what came to nothing before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        used: Vec<ExecutiveUsage>,
    }
    /// The executive reviewed the PRD.
    PhaseReview = "phase_review" {
        /// How many tasks were done.
        completed: u64,
        /// How many there are.
        total: u64,
        /// What it said.
        status: String,
        /// Its text.
        #[serde(default)]
        content: String,
        /// What the executive used for this, and for what came to nothing before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        used: Vec<ExecutiveUsage>,
    }
    /// What stands between two PRDs was passed, or not.
    PhaseGate = "phase_gate" {
        /// What was said.
        status: String,
        /// Its text.
        #[serde(default)]
        content: String,
        /// What the executive used for this, and for what came to nothing before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        used: Vec<ExecutiveUsage>,
    }
    /// A tier waits for the limit of its provider.
    LimitWait = "limit_wait" {
        /// The tier.
        tier: Tier,
        /// Until when.
        until: Timestamp,
        /// What the tier starts: with another program, there is another limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<Fingerprint>,
    }
    /// A budget is nearly or wholly used up.
    Budget = "budget" {
        /// Which: `cost_usd`, `minutes` or `attempts`.
        what: String,
        /// Whether it is used up.
        reached: bool,
    }
    /// Settings changed while a service runs.
    ConfigReloaded = "config_reloaded" {
        /// The keys.
        keys: Vec<String>,
    }
    /// What was running is no longer.
    Interrupted = "interrupted" {
        /// The tasks whose attempts ended by it.
        tasks: Vec<TaskId>,
    }
    /// The state file of another program was taken over.
    Adopted = "adopted" {
        /// Its members.
        state: ForeignState,
    }
}
