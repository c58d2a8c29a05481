//! Applies records to a life.

use brigade_core::{RunId, Timestamp};

use super::record::{AttemptEnd, CommandResult, Entry, ExecutiveUsage, Record, ReviewResult, TaskOutcome};
use super::{
    Answer, AnsweredBy, Approval, AttemptRun, ClaimCheck, DecisionKind, DecisionState, Feedback, Life,
    MAX_HISTORY, PhaseEvent, ScopeEvent, ServiceLife, Stage, TaskEvent, TaskLife, WalkawayEvent,
};
use crate::names::{TaskId, Tier};
use crate::service::Outcome;
use crate::signal::{GateStatus, Signal};

/// The maximum number of approaches that are kept per task.
const MAX_APPROACHES: usize = 50;

/// The reason when two reviews of a task were unclear.
const UNCLEAR_TWICE: &str = "the review gave no clear verdict twice";

/// Adds an entry to a history, and drops the oldest ones.
fn keep<T>(list: &mut Vec<T>, entry: T) {
    list.push(entry);
    // Dropping many at once keeps the fold of a long journal linear.
    if 2 * MAX_HISTORY <= list.len() {
        list.drain(..list.len() - MAX_HISTORY);
    }
}

impl Life {
    /// Builds a life from a whole journal. Counts records of newer versions.
    pub fn from_entries(entries: impl IntoIterator<Item = Entry>) -> Life {
        let mut life = Life::default();
        for entry in entries {
            life.seq = entry.seq();
            match entry {
                Entry::Known(line) => life.apply(line.at, &line.record),
                Entry::Newer { .. } => life.newer += 1,
            }
        }
        life
    }

    /// Applies one record. A record that does not fit, such as the end of an unknown attempt, changes only what it
    /// names.
    pub fn apply(&mut self, at: Timestamp, record: &Record) {
        match record {
            Record::Approved { fingerprint, items, passed, path, .. } => {
                self.prd_path.clone_from(path);
                self.approval = Some(Approval { fingerprint: *fingerprint, items: items.clone(), at });
                self.note_activity();
                for task in passed {
                    self.passed(at, task);
                }
            }
            Record::Revoked { .. } => self.approval = None,
            Record::ServiceStarted { service, branch, .. } => {
                self.history.started_at.get_or_insert(at);
                self.service = Some(ServiceLife {
                    id: service.clone(),
                    started_at: at,
                    ended: None,
                    reason: None,
                    branch: branch.clone(),
                    is_paused: false,
                });
                self.skips_in_a_row = 0;
                // A new approval may bring other budgets.
                self.budgets.clear();
                self.decisions.iter_mut().for_each(|decided| decided.is_past = decided.answer.is_some());
            }
            Record::ServiceEnded { outcome, reason, used, .. } => {
                self.used(used);
                if let Some(service) = &mut self.service {
                    service.ended = Some(*outcome);
                    service.reason = reason.clone();
                    service.is_paused = *outcome == Outcome::Paused;
                }
            }
            Record::TaskStarted { task, tier, base, worktree } => {
                let life = self.tasks.entry(task.clone()).or_default();
                life.tier = Some(*tier);
                life.started_at = Some(at);
                life.base = base.clone();
                life.worktree = worktree.clone();
                self.event(task, at, "started", None);
            }
            Record::AttemptStarted { task, run, tier, attempt, .. } => {
                self.gate_is_open = false;
                let life = self.tasks.entry(task.clone()).or_default();
                life.tier = Some(*tier);
                life.attempts = *attempt;
                life.interrupted = false;
                life.stage = Stage::Attempting { run: run.clone(), since: at };
                life.runs.push(AttemptRun {
                    number: *attempt,
                    run: run.clone(),
                    tier: *tier,
                    at,
                    worked: false,
                });
                life.spent.start(*tier);
                self.spent.start(*tier);
            }
            Record::AttemptEnded { .. } => self.attempt_ended(at, record),
            Record::Verification { task, run, index, command, result, exit_code, output, .. } => {
                if *result == CommandResult::Passed {
                    self.check(task, run, |checking| checking.verified = checking.verified.max(index + 1));
                } else {
                    let feedback = command_feedback(false, command, *result, *exit_code, output);
                    self.failed(at, task, run, feedback, "verification_failed");
                }
            }
            Record::Test { task, run, command, result, exit_code, output, .. } => {
                if *result == CommandResult::Passed {
                    self.check(task, run, |checking| checking.tested = true);
                } else {
                    let feedback = command_feedback(true, command, *result, *exit_code, output);
                    self.failed(at, task, run, feedback, "verification_failed");
                }
            }
            Record::Todo { task, run, found } if found.is_empty() => {
                self.check(task, run, |checking| checking.scanned = true);
            }
            Record::Todo { task, run, found } => {
                self.failed(at, task, run, Feedback::Markers(found.clone()), "todo_warnings");
            }
            Record::Review { task, run, result, reason, seconds, cost_usd, .. } => {
                let tier = Tier::Executive;
                self.spent.add(tier, *seconds, *cost_usd);
                self.spent.start(tier);
                let reason = reason.clone().unwrap_or_default();
                let (result, reason) = self.verdict(task, run, *result, reason);
                keep(&mut self.history.reviews, (at, task.clone(), result, reason.clone()));
                if let Some(life) = self.tasks.get_mut(task) {
                    life.spent.add(tier, *seconds, *cost_usd);
                }
                self.reviewed(at, task, run, result, reason);
            }
            Record::Committed { task, run, commit, refused } => match (commit, refused) {
                (Some(commit), _) => {
                    self.check(task, run, |checking| checking.commit = Some(commit.clone()));
                }
                (None, Some(reason)) => {
                    self.failed(
                        at,
                        task,
                        run,
                        Feedback::CommitRefused(reason.clone()),
                        "verification_failed",
                    );
                }
                (None, None) => {}
            },
            Record::Integrated { task, run, commit, conflict, moved, tree } => match commit {
                Some(commit) => {
                    self.check(task, run, |checking| checking.integrated = true);
                    if let Some(life) = self.tasks.get_mut(task) {
                        self.integrations += 1;
                        (life.commit, life.integration) = (Some(commit.clone()), self.integrations);
                    }
                }
                None if *moved => {
                    // The tree changed, so results of commands on the old tree no longer count.
                    let mut is_its = false;
                    self.check(task, run, |checking| {
                        (checking.verified, checking.tested, checking.commit) = (0, false, None);
                        is_its = true;
                    });
                    if let Some(life) = self.tasks.get_mut(task).filter(|_| is_its) {
                        life.tree = tree.clone();
                    }
                }
                None => self.failed(at, task, run, Feedback::Conflict(conflict.clone()), "conflict"),
            },
            Record::TaskEnded { task, outcome, reason, stuck } => {
                self.task_ended(at, task, *outcome, reason.as_deref(), *stuck);
            }
            Record::Escalated { task, from, to, reason } => {
                let life = self.tasks.entry(task.clone()).or_default();
                life.tier = Some(*to);
                life.escalated = true;
                life.escalation = Some(reason.clone());
                life.asks_for_more = None;
                (life.failures, life.seconds_in_tier) = (0, 0.0);
                (life.repeats, life.equal_failures, life.last_failure) = (0, 0, None);
                self.history.escalation_count += 1;
                keep(&mut self.history.escalations, (at, task.clone(), *from, *to, reason.clone()));
            }
            Record::Absorbed { task, absorbed_by } => {
                self.tasks.entry(task.clone()).or_default().absorbed_by = Some(absorbed_by.clone());
                keep(&mut self.history.absorptions, (at, task.clone(), absorbed_by.clone()));
            }
            Record::DecisionAsked { decision } => {
                if let Some(task) = &decision.task {
                    let life = self.tasks.entry(task.clone()).or_default();
                    // A failed task stays failed, and a checked one stays checked, while its decision is pending.
                    if !matches!(life.stage, Stage::Ended(_) | Stage::Checking(_)) {
                        life.stage = Stage::Waiting(decision.id.clone());
                    }
                }
                self.decisions.push(DecisionState {
                    decision: decision.clone(),
                    answer: None,
                    is_past: false,
                });
            }
            Record::DecisionAnswered { id, answer, used } => {
                self.used(used);
                self.answered(at, id, answer);
            }
            Record::ScopeDecided { task, question, decision, rationale, by_person, used } => {
                self.used(used);
                let life = self.tasks.entry(task.clone()).or_default();
                life.scope.push((question.clone(), decision.clone()));
                life.question = None;
                let event = ScopeEvent {
                    task: task.clone(),
                    question: question.clone(),
                    decision: decision.clone(),
                    rationale: rationale.clone(),
                    by_person: *by_person,
                    at,
                };
                keep(&mut self.history.scope_decisions, event);
            }
            Record::PhaseReview { completed, total, status, content, used } => {
                self.used(used);
                self.done_since_phase_review = 0;
                self.history.phase_review_count += 1;
                let (status, content) = (status.clone(), content.clone());
                let event = PhaseEvent { completed: *completed, total: *total, status, content, at };
                keep(&mut self.history.phase_reviews, event);
            }
            Record::LimitWait { tier, until, command } => {
                self.limits.insert(*tier, (*until, *command));
            }
            Record::Budget { what, reached } => {
                let known = self.budgets.entry(what.clone()).or_default();
                *known |= *reached;
            }
            Record::PhaseGate { status, used, .. } => {
                self.used(used);
                self.gate_is_open = status == GateStatus::Proceed.as_str();
            }
            Record::ConfigReloaded { .. } => {}
            Record::Interrupted { tasks } => {
                for task in tasks {
                    let life = self.tasks.entry(task.clone()).or_default();
                    if matches!(life.stage, Stage::Attempting { .. }) {
                        (life.stage, life.interrupted) = (Stage::Open, true);
                        self.event(task, at, "interrupted", None);
                    }
                }
            }
            Record::Adopted { state } => self.adopt(state),
        }
    }

    /// Marks a task as done because a person said so, whatever its state.
    fn passed(&mut self, at: Timestamp, task: &TaskId) {
        if !self.can_be_passed(task) {
            return;
        }
        let life = self.tasks.entry(task.clone()).or_default();
        let has_begun = life.tier.is_some();
        life.stage = Stage::Ended(TaskOutcome::AlreadyDone);
        life.ended_at = Some(at);
        (life.interrupted, life.stuck) = (false, false);
        (life.feedback, life.guidance, life.question, life.last_error) = (None, None, None, None);
        life.asks_for_more = None;
        life.passed = has_begun;
        if has_begun {
            self.event(task, at, "already_done", None);
        }
    }

    /// Counts starts of the executive. They cost something, but do not count as attempts of a task.
    fn used(&mut self, used: &[ExecutiveUsage]) {
        self.spent.add_usage(used);
        for ExecutiveUsage { task, seconds, cost_usd, .. } in used {
            if let Some(life) = task.as_ref().and_then(|task| self.tasks.get_mut(task)) {
                life.spent.add(Tier::Executive, *seconds, *cost_usd);
            }
        }
    }

    /// Records activity, after which the reason of a pause may no longer hold.
    fn note_activity(&mut self) {
        self.service.iter_mut().for_each(|service| service.is_paused = false);
    }

    fn attempt_ended(&mut self, at: Timestamp, record: &Record) {
        let Record::AttemptEnded {
            task,
            run,
            how,
            signal,
            reason,
            miss,
            seconds,
            cost_usd,
            changed,
            tree,
            approach,
            until,
            ..
        } = record
        else {
            return;
        };
        let life = self.tasks.entry(task.clone()).or_default();
        let tier = life.tier.unwrap_or(Tier::Line);
        if let Some(attempt) = life.runs.iter_mut().rev().find(|attempt| attempt.run == *run) {
            // A worker that could not be started took no time.
            attempt.worked = 0.0 < *seconds;
        }
        life.spent.add(tier, *seconds, *cost_usd);
        if life.outcome().is_some_and(TaskOutcome::is_done) {
            // Meanwhile a person marked the task as done.
            self.spent.add(tier, *seconds, *cost_usd);
            return;
        }
        life.tree = tree.clone();
        life.stage = Stage::Open;
        if let Some(approach) = approach {
            life.approaches.push(approach.clone());
            let surplus = life.approaches.len().saturating_sub(MAX_APPROACHES);
            life.approaches.drain(..surplus);
        }
        self.spent.add(tier, *seconds, *cost_usd);
        let because = reason.clone().unwrap_or_default();
        match how {
            AttemptEnd::Limit => {
                // A limit of the provider is not a failure of the task.
                if let Some(until) = until {
                    self.limits.insert(tier, (*until, None));
                }
                return;
            }
            AttemptEnd::Interrupted => {
                life.interrupted = true;
                return self.event(task, at, "interrupted", None);
            }
            AttemptEnd::Said | AttemptEnd::Iteration | AttemptEnd::TimeLimit | AttemptEnd::Stalled => {
                life.iterations += 1;
                life.seconds_in_tier += seconds;
            }
        }
        match (how, signal) {
            (AttemptEnd::TimeLimit, _) => {
                life.asks_for_more = Some("the attempt came to its time limit".to_owned());
                life.last_error = life.asks_for_more.clone();
                life.failures += 1;
                self.event(task, at, "blocked", None);
            }
            (AttemptEnd::Said, Some(Signal::Blocked)) => {
                let because = if because.is_empty() { "the worker is blocked".to_owned() } else { because };
                life.asks_for_more = Some(because.clone());
                life.last_error = Some(because);
                life.failures += 1;
                self.event(task, at, "blocked", None);
            }
            (AttemptEnd::Said, Some(Signal::Question(question))) => {
                life.question = Some(question.clone());
                self.event(task, at, "iteration", None);
            }
            (AttemptEnd::Said, Some(claim)) if claim.claims_success() => {
                life.stage = Stage::Checking(ClaimCheck::new(run.clone(), claim.clone(), *changed));
            }
            _ => {
                let text =
                    if because.is_empty() { "the worker needs another attempt".to_owned() } else { because };
                self.failure(at, task, Feedback::Attempt(text, *miss), "iteration");
            }
        }
    }

    /// Changes the check of a run's claim. Records of an older run have no effect.
    fn check(&mut self, task: &TaskId, run: &RunId, change: impl FnOnce(&mut ClaimCheck)) {
        if let Some(Stage::Checking(checking)) = self.tasks.get_mut(task).map(|life| &mut life.stage)
            && checking.run == *run
        {
            change(checking);
        }
    }

    /// Ends the check of a run as a failure.
    fn failed(&mut self, at: Timestamp, task: &TaskId, run: &RunId, feedback: Feedback, status: &str) {
        let is_checked = self
            .tasks
            .get(task)
            .is_some_and(|life| matches!(&life.stage, Stage::Checking(checking) if checking.run == *run));
        if is_checked {
            self.failure(at, task, feedback, status);
        }
    }

    fn failure(&mut self, at: Timestamp, task: &TaskId, feedback: Feedback, status: &str) {
        let Some(life) = self.tasks.get_mut(task) else { return };
        life.stage = Stage::Open;
        life.failures += 1;
        let is_equal = life.last_failure.as_ref().is_some_and(|(last, _)| feedback.is_same_failure(last));
        life.equal_failures = if is_equal { life.equal_failures + 1 } else { 1 };
        let failure = (feedback.clone(), life.tree.clone());
        // Without a known tree, it is unknown whether anything changed.
        let is_same = failure.1.is_some() && life.last_failure.as_ref() == Some(&failure);
        life.repeats = if is_same { life.repeats + 1 } else { 1 };
        life.last_failure = Some(failure);
        life.last_error = Some(feedback.to_string());
        life.feedback = Some(feedback);
        self.event(task, at, status, None);
    }

    /// Returns how a review counts. The second unclear one in a row is a failure.
    fn verdict(
        &self,
        task: &TaskId,
        run: &RunId,
        result: ReviewResult,
        reason: String,
    ) -> (ReviewResult, String) {
        match self.tasks.get(task).map(|life| &life.stage) {
            Some(Stage::Checking(checking))
                if result == ReviewResult::Unclear && checking.run == *run && 1 <= checking.unclear =>
            {
                let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
                (ReviewResult::Fail, format!("{UNCLEAR_TWICE}{why}"))
            }
            _ => (result, reason),
        }
    }

    fn reviewed(&mut self, at: Timestamp, task: &TaskId, run: &RunId, result: ReviewResult, reason: String) {
        match result {
            ReviewResult::Pass => {
                self.check(task, run, |checking| (checking.reviewed, checking.unclear) = (true, 0))
            }
            ReviewResult::Fail => self.failed(at, task, run, Feedback::Review(reason), "review_failed"),
            ReviewResult::Unclear => {
                self.check(task, run, |checking| checking.unclear += 1);
            }
        }
    }

    fn task_ended(
        &mut self,
        at: Timestamp,
        task: &TaskId,
        outcome: TaskOutcome,
        reason: Option<&str>,
        stuck: bool,
    ) {
        let life = self.tasks.entry(task.clone()).or_default();
        if let Stage::Checking(checking) = &life.stage {
            life.reviewed = checking.reviewed;
        }
        life.stage = Stage::Ended(outcome);
        life.ended_at = Some(at);
        life.stuck = stuck;
        if outcome.is_done() {
            // Feedback is cleared when the task ends.
            (life.feedback, life.guidance, life.question, life.last_error) = (None, None, None, None);
            self.skips_in_a_row = 0;
            self.done_since_phase_review += 1;
        } else if let Some(reason) = reason {
            life.last_error = Some(reason.to_owned());
        }
        let status = match outcome {
            TaskOutcome::Complete => "complete",
            TaskOutcome::AlreadyDone => "already_done",
            TaskOutcome::Absorbed => "absorbed",
            TaskOutcome::Blocked => "blocked",
            TaskOutcome::Failed if stuck => "stuck",
            TaskOutcome::Failed => "max_iterations",
            TaskOutcome::Skipped => "skipped",
        };
        let seconds = self.tasks.get(task).map(|life| life.spent.minutes() * 60.0);
        // The attempt with that signal is already in the history.
        let last = self.history.tasks.iter_mut().rev().find(|event| event.task == *task);
        if let Some(last) = last.filter(|last| outcome == TaskOutcome::Blocked && last.status == status) {
            last.seconds = seconds;
            return;
        }
        self.event(task, at, status, seconds);
    }

    fn answered(&mut self, at: Timestamp, id: &super::DecisionId, answer: &Answer) {
        let Some(decided) = self.decisions.iter_mut().find(|decided| decided.decision.id == *id) else {
            return;
        };
        // Only the first answer counts.
        if decided.answer.is_some() {
            return;
        }
        decided.answer = Some(answer.clone());
        let decision = decided.decision.clone();
        self.note_activity();
        if decision.about == DecisionKind::Gate && answer.choice == "continue" {
            self.gate_is_open = true;
        }
        let Some(task) = &decision.task else { return };
        let life = self.tasks.entry(task.clone()).or_default();
        if matches!(&life.stage, Stage::Waiting(waiting) if waiting == id) {
            life.stage = Stage::Open;
        }
        if life.outcome().is_some_and(TaskOutcome::is_done) {
            return;
        }
        match (decision.about, answer.choice.as_str()) {
            (DecisionKind::Failure, choice) => {
                if answer.by == AnsweredBy::Executive {
                    let failure = life.last_error.clone().unwrap_or_default();
                    let (task, decision) = (task.clone(), choice.to_owned());
                    let reason = answer.reason.clone().unwrap_or_default();
                    let event = WalkawayEvent { task, decision, reason, failure, at };
                    keep(&mut self.history.walkaway_decisions, event);
                }
                match choice {
                    "retry" => {
                        life.stage = Stage::Open;
                        life.guidance = answer.guidance.clone();
                        (life.iterations, life.failures, life.seconds_in_tier) = (0, 0, 0.0);
                        (life.repeats, life.equal_failures, life.last_failure) = (0, 0, None);
                        life.stuck = false;
                        life.asks_for_more = None;
                        life.retries += u64::from(answer.by == AnsweredBy::Executive);
                        life.unclear_decisions +=
                            u64::from(answer.by == AnsweredBy::Executive && !answer.is_clear);
                    }
                    "skip" => {
                        life.stage = Stage::Ended(TaskOutcome::Skipped);
                        life.ended_at = Some(at);
                        match answer.by {
                            AnsweredBy::Executive => self.skips_in_a_row += 1,
                            AnsweredBy::Person | AnsweredBy::Supervisor => self.skips_in_a_row = 0,
                        }
                        self.event(task, at, "skipped", None);
                    }
                    _ => {}
                }
            }
            (DecisionKind::Manual, "pass") => {
                if let Stage::Checking(checking) = &mut life.stage {
                    checking.checked_by_hand = true;
                }
            }
            (DecisionKind::Manual, _) => {
                let reason =
                    answer.reason.clone().unwrap_or_else(|| "a person says that it is not done".to_owned());
                self.failure(at, task, Feedback::Manual(reason), "manual_verification_failed");
            }
            (DecisionKind::Verdict, "pass") => {
                if let Stage::Checking(checking) = &mut life.stage {
                    checking.reviewed = true;
                }
            }
            (DecisionKind::Verdict, _) => {
                let reason = answer.reason.clone().unwrap_or_else(|| "the review failed".to_owned());
                self.failure(at, task, Feedback::Review(reason), "review_failed");
            }
            (DecisionKind::Scope, text) => {
                if let Some(question) = life.question.take() {
                    life.scope.push((question, text.to_owned()));
                }
            }
            (DecisionKind::Phase | DecisionKind::Gate, _) => {}
        }
    }

    fn event(&mut self, task: &TaskId, at: Timestamp, status: &str, seconds: Option<f64>) {
        let life: &TaskLife = self.tasks.entry(task.clone()).or_default();
        let status =
            if status == "iteration" { format!("iteration_{}", life.iterations) } else { status.to_owned() };
        let is_failure = !matches!(
            status.as_str(),
            "started" | "complete" | "already_done" | "absorbed" | "interrupted" | "skipped"
        );
        let event = TaskEvent {
            task: task.clone(),
            tier: life.tier.unwrap_or(Tier::Line),
            at,
            seconds,
            category: life.feedback.as_ref().filter(|_| is_failure).map(|last| last.class().to_owned()),
            summary: life.last_error.clone().filter(|_| is_failure),
            approach: life.approaches.last().cloned().filter(|_| is_failure),
            status,
        };
        keep(&mut self.history.tasks, event);
    }
}

fn command_feedback(
    is_test: bool,
    command: &str,
    result: CommandResult,
    exit_code: Option<i32>,
    output: &str,
) -> Feedback {
    let (command, output) = (command.to_owned(), output.to_owned());
    Feedback::Command { is_test, command, result, exit_code, output }
}

impl std::fmt::Display for Feedback {
    /// Formats the failure as a sentence without a final stop.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Feedback::Attempt(text, _) => f.write_str(text),
            Feedback::Command { is_test, result, exit_code, .. } => {
                f.write_str(if *is_test { "the test command " } else { "a verification command " })?;
                match (result, exit_code) {
                    (CommandResult::TimedOut, _) => f.write_str("hung and was ended at its time limit"),
                    (CommandResult::NotStarted, _) => f.write_str("could not be started"),
                    (_, Some(code)) => write!(f, "exited with {code}"),
                    (_, None) => f.write_str("was ended by a signal"),
                }
            }
            Feedback::Markers(found) => {
                let of_conflict = found.iter().filter(|found| found.contains(": <<<<<<<")).count();
                match (of_conflict, found.len() - of_conflict) {
                    (_, 0) => write!(f, "the markers of a conflict are left in {}", found.join(", ")),
                    (_, others) => write!(f, "{others} changed lines have TODO, FIXME, HACK or XXX"),
                }
            }
            Feedback::Review(reason) if reason.is_empty() => f.write_str("the review failed"),
            Feedback::Review(reason) => write!(f, "the review failed: {reason}"),
            Feedback::Manual(reason) => write!(f, "a person checked it: {reason}"),
            Feedback::Conflict(files) => {
                write!(f, "the work conflicts with other tasks in {}", files.join(", "))
            }
            Feedback::CommitRefused(reason) => write!(f, "the commit was refused: {reason}"),
        }
    }
}
