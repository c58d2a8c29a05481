//! The next step of a task.

use super::record::{AttemptEnd, Miss, TaskOutcome};
use super::{Answer, AnsweredBy, ClaimCheck, DecisionId, DecisionKind, Life, Stage, TaskLife};
use crate::config::Settings;
use crate::names::{TaskId, Tier};
use crate::prd::Task;
use crate::route::route;
use crate::signal::{Choice, Ending, FailureDecision, Iteration, Signal};

/// Where workers work on tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workplace {
    /// In a separate worktree per task. Commits go to the branch.
    Worktrees,
    /// In the workspace, one after the other, without commits.
    InPlace,
}

/// The next step of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Start an attempt.
    Attempt {
        /// The tier.
        tier: Tier,
        /// The number of the attempt, across all tiers.
        number: u64,
    },
    /// Wait for the running attempt.
    Running,
    /// Hand the task to a higher tier.
    Escalate {
        /// The current tier.
        from: Tier,
        /// The new tier.
        to: Tier,
        /// Why it is escalated.
        reason: String,
    },
    /// Run the verification commands from a position on.
    Verify {
        /// The position of the first command, from 0.
        from: usize,
    },
    /// Search the changed lines for markers.
    Scan,
    /// Run the test command.
    Test,
    /// Start a review by the executive.
    Review,
    /// Make the commit.
    Commit,
    /// Move the branch to the commit.
    Integrate,
    /// End the task.
    End {
        /// How it ends.
        outcome: TaskOutcome,
        /// Why it ends so.
        reason: Option<String>,
        /// Whether it is stuck.
        stuck: bool,
        /// The task that did its work.
        absorbed_by: Option<TaskId>,
    },
    /// Ask for a decision.
    Ask(Question),
    /// Wait for a pending decision.
    Wait(DecisionId),
    /// Nothing: the task has ended.
    Ended(TaskOutcome),
}

impl Step {
    /// Returns whether the step checks a claim, or brings checked work to the branch.
    pub const fn is_check(&self) -> bool {
        matches!(
            self,
            Step::Verify { .. } | Step::Scan | Step::Test | Step::Review | Step::Commit | Step::Integrate
        )
    }
}

/// A question for a person or the executive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The kind of decision.
    pub about: DecisionKind,
    /// What happened.
    pub context: String,
}

/// Returns the next step of a task whose dependencies are done.
///
/// The step stays the same until a record changes the life. After a kill, unrecorded work is therefore repeated and
/// recorded work is not.
pub fn next(task: &Task, life: &Life, settings: &Settings, workplace: Workplace) -> Step {
    let nothing = TaskLife::default();
    let own = life.tasks.get(&task.id).unwrap_or(&nothing);
    match &own.stage {
        Stage::Open => open(task, own, settings),
        Stage::Attempting { .. } => Step::Running,
        Stage::Waiting(id) => Step::Wait(id.clone()),
        Stage::Checking(checking) => match life.decision_of(&task.id) {
            Some(decision) => Step::Wait(decision.id.clone()),
            None => check(task, own, checking, settings, workplace),
        },
        Stage::Ended(outcome) => step_after_end(task, life, own, *outcome),
    }
}

fn step_after_end(task: &Task, life: &Life, own: &TaskLife, outcome: TaskOutcome) -> Step {
    if !matches!(outcome, TaskOutcome::Failed | TaskOutcome::Blocked) {
        return Step::Ended(outcome);
    }
    if let Some(decision) = life.decision_of(&task.id) {
        return Step::Wait(decision.id.clone());
    }
    let is_answered = |decided: &&super::DecisionState| {
        let decision = &decided.decision;
        decision.task.as_ref() == Some(&task.id)
            && decision.about == DecisionKind::Failure
            && own.ended_at.is_none_or(|ended| ended <= decision.created_at)
            // An abort ended an earlier service. The current one asks about the task again.
            && (!decided.is_past || decided.answer.as_ref().is_none_or(|answer| answer.choice != "abort"))
    };
    if life.decisions.iter().rev().any(|decided| is_answered(&decided)) {
        return Step::Ended(outcome);
    }
    let context = own.last_error.clone().unwrap_or_else(|| "the task failed".to_owned());
    Step::Ask(Question { about: DecisionKind::Failure, context })
}

fn open(task: &Task, own: &TaskLife, settings: &Settings) -> Step {
    if let Some(question) = &own.question {
        return Step::Ask(Question { about: DecisionKind::Scope, context: question.clone() });
    }
    let tier = own.tier.unwrap_or_else(|| route(task).tier);
    let end = |outcome, reason: String, stuck| Step::End {
        outcome,
        reason: Some(reason),
        stuck,
        absorbed_by: None,
    };
    let above = tier.above().filter(|_| may_escalate(tier, settings));
    let due = escalation(tier, own, settings);
    // In the highest tier, only a worker's own signal makes a task blocked, also in the last attempt. After failures it
    // retries until the attempts are used up.
    if let (Some(reason), None, true) = (&due, above, own.asks_for_more.is_some()) {
        return end(TaskOutcome::Blocked, reason.clone(), false);
    }
    if settings.max_iterations <= own.iterations {
        let s = if own.iterations == 1 { "" } else { "s" };
        let reason = format!("{} attempt{s} without success{}", own.iterations, last(own));
        return end(TaskOutcome::Failed, reason, false);
    }
    if let (Some(reason), Some(to)) = (due, above) {
        return Step::Escalate { from: tier, to, reason };
    }
    if 0 < settings.stuck_after && settings.stuck_after <= own.repeats {
        let reason = format!("{} times the same failure, and nothing changed{}", own.repeats, last(own));
        return end(TaskOutcome::Failed, reason, true);
    }
    // No tier above can do better, so a person is asked.
    if above.is_none() && 0 < settings.stuck_after && settings.stuck_after <= own.equal_failures {
        let reason = format!("{} times the same failure in the {tier} tier{}", own.equal_failures, last(own));
        return end(TaskOutcome::Failed, reason, true);
    }
    Step::Attempt { tier, number: own.attempts + 1 }
}

fn may_escalate(from: Tier, settings: &Settings) -> bool {
    settings.escalation_enabled && (from == Tier::Line || settings.escalation_to_exec)
}

/// Lists the tiers that a task of this tier may reach, including this one.
pub fn tiers_ahead(tier: Tier, settings: &Settings) -> Vec<Tier> {
    let mut tiers = vec![tier];
    while let Some(last) = tiers.last().copied()
        && may_escalate(last, settings)
        && let Some(above) = last.above()
    {
        tiers.push(above);
    }
    tiers
}

/// Returns the last error, as the end of a reason.
fn last(own: &TaskLife) -> String {
    own.last_error.as_deref().map(|error| format!("; the last one: {error}")).unwrap_or_default()
}

/// Returns why a task should be escalated, if it should.
fn escalation(tier: Tier, own: &TaskLife, settings: &Settings) -> Option<String> {
    if let Some(reason) = &own.asks_for_more {
        return Some(reason.clone());
    }
    let most = match tier {
        Tier::Line => settings.escalation_after,
        Tier::Sous => settings.escalation_to_exec_after,
        Tier::Executive => return None,
    };
    if most <= own.failures {
        return Some(format!("{} failed attempts{}", own.failures, last(own)));
    }
    let is_late = settings.timeout(tier).is_some_and(|limit| limit as f64 <= own.seconds_in_tier);
    is_late.then(|| "the time of the tier is used up".to_owned())
}

/// Returns whether finished work of a tier gets a review.
pub fn is_reviewed(tier: Tier, settings: &Settings) -> bool {
    settings.review_enabled && (tier == Tier::Line || !settings.review_junior_only)
}

fn check(
    task: &Task,
    own: &TaskLife,
    checking: &ClaimCheck,
    settings: &Settings,
    workplace: Workplace,
) -> Step {
    let end = |outcome, absorbed_by| Step::End { outcome, reason: None, stuck: false, absorbed_by };
    let verifies = settings.verification_enabled && (checking.changed || settings.verify_claims);
    let verified = usize::try_from(checking.verified).unwrap_or(usize::MAX);
    if verifies && verified < task.verification.len() {
        return Step::Verify { from: verified };
    }
    if !checking.changed {
        return match &checking.claim {
            Signal::Absorbed(other) => end(TaskOutcome::Absorbed, Some(other.clone())),
            _ => end(TaskOutcome::AlreadyDone, None),
        };
    }
    if settings.todo_scan_enabled && !checking.scanned {
        return Step::Scan;
    }
    if settings.test_cmd.is_some() && !checking.tested {
        return Step::Test;
    }
    if is_reviewed(own.tier.unwrap_or(Tier::Line), settings) && !checking.reviewed {
        return Step::Review;
    }
    if settings.manual_verification_enabled
        && !task.manual_verification.is_empty()
        && !checking.checked_by_hand
    {
        let context = task.manual_verification.join("\n");
        return Step::Ask(Question { about: DecisionKind::Manual, context });
    }
    match workplace {
        Workplace::InPlace => end(TaskOutcome::Complete, None),
        Workplace::Worktrees if checking.integrated => end(TaskOutcome::Complete, None),
        Workplace::Worktrees if checking.commit.is_none() => Step::Commit,
        Workplace::Worktrees => Step::Integrate,
    }
}

/// The recorded result of an attempt, after checking its claim against its changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptVerdict {
    /// How it ended.
    pub how: AttemptEnd,
    /// The signal, if it counts.
    pub signal: Option<Signal>,
    /// Why the signal does not count.
    pub reason: Option<String>,
    /// The kind of failure.
    pub miss: Option<Miss>,
}

/// Judges the end of an attempt. A claim of completion without changes needs verification. A claim that another task
/// did the work needs that task to be done.
pub fn judge(
    ending: &Ending,
    changed: bool,
    task: &Task,
    life: &Life,
    settings: &Settings,
) -> AttemptVerdict {
    let judged = |how, signal, reason, miss| AttemptVerdict { how, signal, reason, miss };
    let claim = |reason: String| judged(AttemptEnd::Iteration, None, Some(reason), Some(Miss::Claim));
    match ending {
        Ending::Iteration(reason @ Iteration::NoSignal) => {
            judged(AttemptEnd::Iteration, None, Some(reason.to_string()), None)
        }
        Ending::Iteration(reason) => claim(reason.to_string()),
        Ending::Limit(_) => judged(AttemptEnd::Limit, None, None, None),
        Ending::UnknownLimit => {
            let reason = "needs attention: the output of the worker mentions a limit in words that are not known; see \
                          its log, and start the service again when the limit is over";
            judged(AttemptEnd::Interrupted, None, Some(reason.to_owned()), None)
        }
        Ending::TimeLimit => judged(AttemptEnd::TimeLimit, None, None, None),
        Ending::Stalled => {
            let reason = Some("the worker printed nothing for too long".to_owned());
            judged(AttemptEnd::Stalled, None, reason, None)
        }
        Ending::Interrupted => judged(AttemptEnd::Interrupted, None, None, None),
        Ending::Said { signal, .. } => {
            let has_verification = settings.verification_enabled && !task.verification.is_empty();
            match signal {
                Signal::Complete if !changed && !has_verification => claim(
                    "the worker says that it is complete, but nothing changed, and no verification shows it"
                        .to_owned(),
                ),
                Signal::AlreadyDone if !changed && !has_verification && settings.verify_claims => {
                    claim("the worker says that it was done already, but no verification shows it".to_owned())
                }
                Signal::Absorbed(other) if *other == task.id || !life.is_done(other) => {
                    claim(format!("the task {other}, which should have done the work, is not done"))
                }
                signal => judged(AttemptEnd::Said, Some(signal.clone()), None, None),
            }
        }
    }
}

/// Returns the answer to a failure when no person decides: the executive's, if it is clear. The first unclear answer
/// counts as retry, the next as skip. A task without retries left is skipped.
pub fn walkaway_answer(decided: Option<FailureDecision>, own: &TaskLife, settings: &Settings) -> Answer {
    let unclear = || {
        let choice = if own.unclear_decisions == 0 { Choice::Retry } else { Choice::Skip };
        FailureDecision {
            choice,
            reason: Some("the executive gave no clear answer".to_owned()),
            guidance: None,
        }
    };
    let is_clear = decided.is_some();
    let mut decided = decided.unwrap_or_else(unclear);
    if decided.choice == Choice::Retry && settings.walkaway_max_retries <= own.retries {
        decided.choice = Choice::Skip;
        decided.reason = Some(format!("{} retries failed", own.retries));
    }
    Answer {
        choice: decided.choice.to_string(),
        by: AnsweredBy::Executive,
        reason: decided.reason,
        guidance: decided.guidance,
        is_clear,
    }
}
