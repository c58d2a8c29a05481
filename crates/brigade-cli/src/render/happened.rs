//! Formats the events of a running service, one line each.

use brigade::kitchen::{Activity, RunningRow, ServiceView};
use brigade::kitchen::{
    AnsweredBy, AttemptEnd, CommandResult, Life, Line, PrdName, Record, ReviewResult, Signal, TaskId,
    TaskOutcome, duration, pluralize,
};

use super::text::{Text, Tone};
use super::when;

const DONE: &str = "✓";
const RUNS: &str = "→";
const WAITS: &str = "◐";
const OPEN: &str = "○";
const RAISED: &str = "⬆";

/// A line about a task: its marker, its name, and what happened.
struct TaskLine<'a> {
    prd: &'a PrdName,
    life: &'a Life,
}

impl TaskLine<'_> {
    fn task(&self, marker: &str, tone: Tone, task: &TaskId, text: &str) -> Text {
        Text::new(tone, marker)
            .then(Tone::Strong, &format!(" {}", self.prd.shown(task)))
            .then(Tone::Plain, &format!("  {text}"))
    }

    fn waits(&self, task: &TaskId, text: &str) -> Text {
        self.task(WAITS, Tone::Warning, task, text)
    }

    fn prd(&self, marker: &str, tone: Tone, text: &str) -> Text {
        Text::new(tone, marker)
            .then(Tone::Strong, &format!(" {}", self.prd.prefix()))
            .then(Tone::Plain, &format!("  {text}"))
    }

    fn command(
        &self,
        task: &TaskId,
        what: &str,
        command: &str,
        result: CommandResult,
        code: Option<i32>,
    ) -> Text {
        let how = match (result, code) {
            (CommandResult::Passed, _) => return self.waits(task, &format!("{what} passed: {command}")),
            (CommandResult::Failed, Some(code)) => format!("{what} failed with {code}: {command}"),
            (CommandResult::Failed, None) => format!("{what} was ended by a signal: {command}"),
            (CommandResult::TimedOut, _) => format!("{what} reached its time limit: {command}"),
            (CommandResult::NotStarted, _) => format!("{what} could not be started: {command}"),
        };
        self.task(WAITS, Tone::Bad, task, &how)
    }

    fn ended(&self, task: &TaskId, outcome: TaskOutcome, reason: Option<&str>) -> Text {
        let own = self.life.tasks.get(task);
        let seconds = own.and_then(|own| Some(own.ended_at?.since(own.started_at?).as_secs()));
        let time = seconds.map(|seconds| format!(" in {}", duration(seconds))).unwrap_or_default();
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        match outcome {
            TaskOutcome::Complete => {
                let commit = own.and_then(|own| own.commit.as_deref()).and_then(|commit| commit.get(..10));
                let commit = commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
                self.task(DONE, Tone::Good, task, &format!("done{time}{commit}"))
            }
            TaskOutcome::AlreadyDone => self.task(DONE, Tone::Good, task, "was already done"),
            TaskOutcome::Absorbed => {
                let by = own.and_then(|own| own.absorbed_by.as_ref());
                let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
                self.task(DONE, Tone::Good, task, &format!("was done{by}"))
            }
            TaskOutcome::Blocked => self.task(WAITS, Tone::Bad, task, &format!("is blocked{reason}")),
            TaskOutcome::Failed => self.task(WAITS, Tone::Bad, task, &format!("failed{reason}")),
            TaskOutcome::Skipped => self.task(OPEN, Tone::Warning, task, &format!("is left out{reason}")),
        }
    }
}

/// Returns the line for a record, or `None` if it has no news for people. `life` is the state after the record.
pub(crate) fn event_line(prd: &PrdName, line: &Line, life: &Life) -> Option<Text> {
    let about = TaskLine { prd, life };
    let because =
        |reason: &Option<String>| reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    Some(match &line.record {
        Record::ServiceStarted { total, .. } => {
            about.prd(OPEN, Tone::Faint, &format!("a service begins with {}", pluralize(*total, "task")))
        }
        Record::AttemptStarted { task, tier, attempt, .. } => {
            about.task(RUNS, Tone::Accent, task, &format!("{}, attempt {attempt}", tier.title()))
        }
        Record::AttemptEnded { task, how, reason, signal, .. } => match how {
            AttemptEnd::Said => {
                let text = match signal.as_ref()? {
                    Signal::Complete => "reports that it is complete".to_owned(),
                    Signal::AlreadyDone => "reports that it was already done".to_owned(),
                    Signal::Absorbed(by) => format!("reports that {by} did it"),
                    Signal::Blocked => "reports that it is blocked".to_owned(),
                    Signal::Continue => "needs another attempt".to_owned(),
                    Signal::Question(question) => format!("asks: {}", first_line(question)),
                };
                about.waits(task, &format!("{text}{}", because(reason)))
            }
            AttemptEnd::Iteration => about.waits(task, &format!("needs another attempt{}", because(reason))),
            AttemptEnd::Limit => about.waits(task, "reached the limit of its provider"),
            AttemptEnd::TimeLimit => about.waits(task, "reached its time limit"),
            AttemptEnd::Stalled => about.waits(task, "was ended because it printed nothing"),
            AttemptEnd::Interrupted => about.waits(task, &format!("was interrupted{}", because(reason))),
        },
        Record::Verification { task, command, result, exit_code, .. } => {
            about.command(task, "verification", command, *result, *exit_code)
        }
        Record::Test { task, command, result, exit_code, .. } => {
            about.command(task, "the test", command, *result, *exit_code)
        }
        Record::Todo { task, found, .. } if !found.is_empty() => {
            about.waits(task, &format!("left open work: {}", found.join(", ")))
        }
        Record::Review { task, result, reason, .. } => {
            let (tone, text) = match result {
                ReviewResult::Pass => (Tone::Good, "passed its review"),
                ReviewResult::Fail => (Tone::Bad, "failed its review"),
                ReviewResult::Unclear => (Tone::Warning, "has a review without a clear verdict"),
            };
            about.task(WAITS, tone, task, &format!("{text}{}", because(reason)))
        }
        Record::Committed { task, refused: Some(refused), .. } => {
            about.task(WAITS, Tone::Bad, task, &format!("is not committed: {refused}"))
        }
        Record::Integrated { task, moved: true, .. } => {
            about.waits(task, "was moved to the new tip of the branch; it is verified again")
        }
        Record::Integrated { task, conflict, .. } if !conflict.is_empty() => {
            about.task(WAITS, Tone::Bad, task, &format!("conflicts in {}", conflict.join(", ")))
        }
        Record::TaskEnded { task, outcome, reason, .. } => about.ended(task, *outcome, reason.as_deref()),
        Record::Escalated { task, from, to, reason } => {
            let text = format!("moves from {} to {}: {reason}", from.title(), to.title());
            about.task(RAISED, Tone::Warning, task, &text)
        }
        Record::DecisionAsked { decision } => {
            let text = format!("waits for a decision, {}: {}", decision.id, first_line(&decision.context));
            match &decision.task {
                Some(task) => about.waits(task, &text),
                None => about.prd(WAITS, Tone::Warning, &text),
            }
        }
        Record::DecisionAnswered { id, answer, .. } => {
            let by = match answer.by {
                AnsweredBy::Person => "a person",
                AnsweredBy::Supervisor => "the supervisor",
                AnsweredBy::Executive => "the executive",
            };
            let task = life.decisions.iter().find(|decided| decided.decision.id == *id);
            let text = format!("{by} says {}{}", first_line(&answer.choice), because(&answer.reason));
            match task.and_then(|decided| decided.decision.task.as_ref()) {
                Some(task) => about.waits(task, &text),
                None => about.prd(WAITS, Tone::Plain, &text),
            }
        }
        Record::PhaseReview { status, content, .. } => {
            let text = format!("review of the PRD: {status}: {}", first_line(content));
            about.prd(WAITS, Tone::Plain, &text)
        }
        Record::PhaseGate { status, content, .. } => {
            about.prd(WAITS, Tone::Plain, &format!("before the next PRD: {status}: {}", first_line(content)))
        }
        Record::LimitWait { tier, until, .. } => about.prd(
            WAITS,
            Tone::Warning,
            &format!("{} waits for its provider until {}", tier.title(), when::clock(*until)),
        ),
        Record::Budget { what, reached } => {
            let text = if *reached { "is used up" } else { "is nearly used up" };
            about.prd(WAITS, Tone::Warning, &format!("the budget `{what}` {text}"))
        }
        Record::ConfigReloaded { keys } => {
            about.prd(OPEN, Tone::Faint, &format!("settings changed: {}", keys.join(", ")))
        }
        Record::Approved { .. }
        | Record::Revoked { .. }
        | Record::ServiceEnded { .. }
        | Record::TaskStarted { .. }
        | Record::Todo { .. }
        | Record::Committed { .. }
        | Record::Integrated { .. }
        | Record::Absorbed { .. }
        | Record::ScopeDecided { .. }
        | Record::Interrupted { .. }
        | Record::Adopted { .. } => return None,
    })
}

/// Returns the first line of a text, with a mark if there are more.
pub(crate) fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
}

/// Formats a line that a worker printed.
pub(crate) fn printed_line(task: &str, line: &str) -> Text {
    Text::new(Tone::Faint, task).then(Tone::Faint, " | ").then(Tone::Plain, line)
}

/// Reports that lines of a worker were left out.
pub(crate) fn left_out(task: &str, lines: u64) -> Text {
    Text::new(Tone::Faint, &format!("{task} | [{lines} lines are left out here]"))
}

/// Returns the progress line of a service.
pub(crate) fn progress(scene: &ServiceView) -> Text {
    let mut text = format!("  {} of {} done", scene.done, scene.total);
    if 0 < scene.waiting {
        text.push_str(&format!(", {} waiting for a decision", scene.waiting));
    }
    text.push_str(&format!(", ${:.2}, {}", scene.cost_usd, duration(scene.seconds)));
    Text::new(Tone::Strong, &scene.prd).then(Tone::Plain, &text)
}

/// Formats a running task.
pub(crate) fn running(row: &RunningRow) -> Text {
    let (marker, tone) = match row.doing {
        Activity::Working => (RUNS, Tone::Accent),
        Activity::Verifying
        | Activity::Testing
        | Activity::Reviewing
        | Activity::Integrating
        | Activity::Deciding => (WAITS, Tone::Warning),
    };
    let doing = match row.doing {
        Activity::Working => String::new(),
        doing => format!("{}, ", doing.as_str()),
    };
    let last = row.last_line.split('\r').rfind(|part| !part.trim().is_empty()).unwrap_or_default();
    Text::new(tone, marker)
        .then(Tone::Warning, if row.escalated { RAISED } else { "" })
        .then(Tone::Strong, &format!(" {}", row.task))
        .then(
            Tone::Plain,
            &format!("  {}, attempt {}, {doing}{}", row.tier, row.attempt, duration(row.seconds)),
        )
        .then(Tone::Faint, &format!("  {}", last.trim()))
}
