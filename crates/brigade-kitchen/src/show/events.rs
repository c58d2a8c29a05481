//! The events file of supervisors: one JSON object per line.

use brigade_core::Timestamp;
use brigade_core::json::to_json;
use serde::{Deserialize, Serialize};

use crate::life::{
    AnsweredBy, CommandResult, DecisionId, DecisionKind, Life, Line, Record, ReviewResult, TaskOutcome,
};
use crate::names::{PrdName, TaskId, Tier};
use crate::prd::ValidPrd;
use crate::service::Outcome;
use crate::tagged::tagged_enum;

/// A line of the events file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventLine {
    /// When it happened.
    pub ts: Timestamp,
    /// The prefix of the PRD.
    pub prd: String,
    /// The number of its journal record, or of the last record before it.
    pub seq: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

tagged_enum! {
    /// An event, in the vocabulary of supervisors.
    #[allow(missing_docs, reason = "the members are those of the reference, and have its names")]
    Event by "event" {
        ServiceStart = "service_start" {
            total: u64,
        }
        TaskStart = "task_start" {
            task: TaskId,
            worker: Tier,
            attempt: u64,
        }
        TaskComplete = "task_complete" {
            task: TaskId,
            worker: Tier,
            duration: u64,
            commit: Option<String>,
        }
        Escalation = "escalation" {
            task: TaskId,
            from: Tier,
            to: Tier,
            reason: String,
        }
        Review = "review" {
            task: TaskId,
            result: ReviewResult,
            reason: String,
        }
        Attention = "attention" {
            task: Option<TaskId>,
            reason: String,
        }
        ServiceComplete = "service_complete" {
            completed: u64,
            failed: u64,
            skipped: u64,
            duration: u64,
            outcome: Outcome,
        }
        TaskBlocked = "task_blocked" {
            task: TaskId,
            worker: Tier,
        }
        TaskAlreadyDone = "task_already_done" {
            task: TaskId,
        }
        TaskAbsorbed = "task_absorbed" {
            task: TaskId,
            absorbed_by: Option<TaskId>,
        }
        Verification = "verification" {
            task: TaskId,
            result: CommandResult,
            command: String,
            exit_code: Option<i32>,
        }
        DecisionNeeded = "decision_needed" {
            id: DecisionId,
            #[serde(rename = "type")]
            about: DecisionKind,
            task: Option<TaskId>,
            choices: Vec<String>,
            context: String,
        }
        DecisionReceived = "decision_received" {
            id: DecisionId,
            action: String,
            by: AnsweredBy,
        }
        ScopeDecision = "scope_decision" {
            task: TaskId,
            question: String,
            decision: String,
        }
        TaskSlow = "task_slow" {
            task: TaskId,
            elapsed: u64,
            expected: u64,
        }
        OutputStall = "output_stall" {
            task: TaskId,
            silent: u64,
        }
        TaskFailed = "task_failed" {
            task: TaskId,
            reason: String,
        }
        TaskSkipped = "task_skipped" {
            task: TaskId,
            reason: String,
        }
        Conflict = "conflict" {
            task: TaskId,
            reason: String,
        }
        LimitWait = "limit_wait" {
            tier: Tier,
            until: Timestamp,
        }
        BudgetWarning = "budget_warning" {
            reason: String,
        }
        BudgetReached = "budget_reached" {
            reason: String,
        }
        ConfigReloaded = "config_reloaded" {
            reason: String,
        }
        CommandRefused = "command_refused" {
            reason: String,
        }
        ApprovalChanged = "approval_changed" {
            reason: String,
        }
        ServicePaused = "service_paused" {
            reason: String,
        }
        ServiceInterrupted = "service_interrupted" {
            reason: String,
        }
    }
}

impl EventLine {
    /// Formats the line as valid JSON without a line feed.
    pub fn to_text(&self) -> String {
        to_json(self).unwrap_or_default().to_compact()
    }
}

/// Returns the events of a record. `life` is the state after the record.
pub fn events(name: &PrdName, prd: &ValidPrd, life: &Life, line: &Line) -> Vec<EventLine> {
    let line_of = |event| EventLine { ts: line.at, prd: name.prefix().to_owned(), seq: line.seq, event };
    of_record(prd, life, line).into_iter().map(line_of).collect()
}

fn of_record(prd: &ValidPrd, life: &Life, line: &Line) -> Vec<Event> {
    let text = |reason: &Option<String>| reason.clone().unwrap_or_default();
    let tier_of = |task: &TaskId| life.tasks.get(task).and_then(|own| own.tier).unwrap_or(Tier::Line);
    match &line.record {
        Record::ServiceStarted { total, .. } => vec![Event::ServiceStart { total: *total }],
        Record::ServiceEnded { outcome, reason, .. } => {
            let count = |outcomes: &[TaskOutcome]| {
                let is_meant =
                    |task: &&crate::prd::Task| life.outcome(&task.id).is_some_and(|o| outcomes.contains(&o));
                prd.tasks.iter().filter(is_meant).count() as u64
            };
            use TaskOutcome::{Absorbed, AlreadyDone, Blocked, Complete, Failed, Skipped};
            let started = life.service.as_ref().map_or(line.at, |service| service.started_at);
            let ended = Event::ServiceComplete {
                completed: count(&[Complete, AlreadyDone, Absorbed]),
                failed: count(&[Failed, Blocked]),
                skipped: count(&[Skipped]),
                duration: line.at.since(started).as_secs(),
                outcome: *outcome,
            };
            match outcome {
                Outcome::Paused => vec![Event::ServicePaused { reason: text(reason) }, ended],
                Outcome::Interrupted => vec![Event::ServiceInterrupted { reason: text(reason) }, ended],
                Outcome::Complete | Outcome::Incomplete | Outcome::Aborted | Outcome::DryRun => vec![ended],
            }
        }
        Record::AttemptStarted { task, tier, attempt, .. } => {
            vec![Event::TaskStart { task: task.clone(), worker: *tier, attempt: *attempt }]
        }
        Record::Verification { task, command, result, exit_code, .. }
        | Record::Test { task, command, result, exit_code, .. } => vec![Event::Verification {
            task: task.clone(),
            result: *result,
            command: command.clone(),
            exit_code: *exit_code,
        }],
        Record::Review { task, result, reason, .. } => {
            // Only the life knows how it counts: a second unclear review is a failure.
            let last = life.history.reviews.last().filter(|(at, of, ..)| *at == line.at && of == task);
            let (result, reason) = match last {
                Some((_, _, counted, why)) if counted != result => (*counted, why.clone()),
                _ => (*result, text(reason)),
            };
            vec![Event::Review { task: task.clone(), result, reason }]
        }
        Record::Integrated { task, conflict, commit: None, moved: false, .. } => {
            vec![Event::Conflict { task: task.clone(), reason: conflict.join(", ") }]
        }
        Record::TaskEnded { task, outcome, reason, .. } => {
            let own = life.task(task);
            let task = task.clone();
            vec![match outcome {
                TaskOutcome::Complete => {
                    let started = own.started_at.unwrap_or(line.at);
                    let (worker, duration) = (tier_of(&task), line.at.since(started).as_secs());
                    Event::TaskComplete { task, worker, duration, commit: own.commit }
                }
                TaskOutcome::AlreadyDone => Event::TaskAlreadyDone { task },
                TaskOutcome::Absorbed => Event::TaskAbsorbed { task, absorbed_by: own.absorbed_by },
                TaskOutcome::Blocked => Event::TaskBlocked { worker: tier_of(&task), task },
                TaskOutcome::Failed => Event::TaskFailed { task, reason: text(reason) },
                TaskOutcome::Skipped => Event::TaskSkipped { task, reason: text(reason) },
            }]
        }
        Record::Escalated { task, from, to, reason } => {
            vec![Event::Escalation { task: task.clone(), from: *from, to: *to, reason: reason.clone() }]
        }
        Record::DecisionAsked { decision } => vec![
            Event::DecisionNeeded {
                id: decision.id.clone(),
                about: decision.about,
                task: decision.task.clone(),
                choices: decision.about.choices().iter().map(|choice| (*choice).to_owned()).collect(),
                context: decision.context.clone(),
            },
            Event::Attention { task: decision.task.clone(), reason: decision.context.clone() },
        ],
        Record::DecisionAnswered { id, answer, .. } => {
            let mut found = vec![Event::DecisionReceived {
                id: id.clone(),
                action: answer.choice.clone(),
                by: answer.by,
            }];
            let decided = life.decisions.iter().find(|decided| decided.decision.id == *id);
            if let Some(task) = decided.and_then(|decided| decided.decision.task.clone())
                && answer.choice == "skip"
            {
                found.push(Event::TaskSkipped { task, reason: text(&answer.reason) });
            }
            found
        }
        Record::ScopeDecided { task, question, decision, .. } => {
            let (question, decision) = (question.clone(), decision.clone());
            vec![Event::ScopeDecision { task: task.clone(), question, decision }]
        }
        Record::LimitWait { tier, until, .. } => vec![Event::LimitWait { tier: *tier, until: *until }],
        Record::Budget { what, reached: true } => vec![Event::BudgetReached { reason: what.clone() }],
        Record::Budget { what, reached: false } => vec![Event::BudgetWarning { reason: what.clone() }],
        Record::ConfigReloaded { keys } => vec![Event::ConfigReloaded { reason: keys.join(", ") }],
        Record::Approved { .. }
        | Record::Revoked { .. }
        | Record::TaskStarted { .. }
        | Record::AttemptEnded { .. }
        | Record::Todo { .. }
        | Record::Committed { .. }
        | Record::Integrated { .. }
        | Record::Absorbed { .. }
        | Record::PhaseReview { .. }
        | Record::PhaseGate { .. }
        | Record::Interrupted { .. }
        | Record::Adopted { .. } => Vec::new(),
    }
}
