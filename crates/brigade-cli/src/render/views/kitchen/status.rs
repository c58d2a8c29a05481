//! The state of the tasks of a PRD, and their cost.

use brigade::core::NextStep;
use brigade::kitchen::{
    AnsweredBy, DecisionKind, DecisionRow, KitchenCostReport, Marker, Outcome, StatusReport, TaskRow,
    TaskStatus, duration, pluralize,
};

use super::super::catalog::config_errors;
use super::{show_prd_origin, yes_or_no};
use crate::render::View;
use crate::render::page::Page;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};
use crate::render::when;

/// Which escalations are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escalations {
    /// The newest ones.
    Newest,
    /// All that are known.
    All,
}

/// The maximum number of escalations that are shown by default.
const MAX_ESCALATIONS: usize = 5;

/// Shows the status of a PRD.
pub(crate) fn show_status(report: &StatusReport, escalations: Escalations, page: &mut Page) {
    show_prd_origin(&report.prd_path, report.taken, page);
    config_errors(&report.config_issues, page);
    page.data.field("feature", Text::new(Tone::Strong, &report.feature_name));
    page.data.field("prd", Text::new(Tone::Accent, &report.prd_path));
    page.data.field("state", state(report));
    page.data.field("done", format!("{} of {}", report.completed_tasks, report.total_tasks));
    if let Some(current) = &report.current_task {
        page.data.field("now", format!("{}/{} ({})", report.prefix, current.id, current.worker.title()));
    }
    page.data.field_if("branch", report.branch.as_deref());
    page.data.field_if("commit", report.commit.as_deref());
    page.data.field("approved", yes_or_no(report.approved));
    let budget = &report.budget;
    if 0 < budget.attempts {
        page.data.field(
            "workers",
            format!(
                "{}, {:.1} minutes, ${:.2}",
                pluralize(budget.attempts, "start"),
                budget.minutes,
                budget.cost_usd
            ),
        );
    }
    page.data.gap();
    page.data.table(tasks(report));
    let shown = match escalations {
        Escalations::All => &report.escalation_history[..],
        Escalations::Newest => {
            let from = report.escalation_history.len().saturating_sub(MAX_ESCALATIONS);
            &report.escalation_history[from..]
        }
    };
    if !shown.is_empty() {
        page.data.gap();
        page.data.line(format!("Escalations: {}", report.escalations));
        for row in shown {
            let text = format!("{}/{}: {} to {}: {}", report.prefix, row.task, row.from, row.to, row.reason);
            page.data.indented(2, text);
        }
    }
    for row in &report.decisions {
        page.data.gap();
        decision(row, page);
    }
    for issue in &report.issues {
        page.note(issue);
    }
    if let Some(reason) = &report.attention_reason {
        page.note(&format!("needs attention: {reason}"));
    }
    if let Some(row) = report.decisions.first() {
        page.next_step(&NextStep::AnswerDecision(row.id.to_string()));
    } else if let Some(fingerprint) = report.fingerprint.filter(|_| !report.approved) {
        page.next_step(&NextStep::ApprovePrdAs { path: report.prd_path.clone(), fingerprint });
    }
}

/// Shows one task of a PRD.
pub(crate) fn show_task(report: &StatusReport, task: &TaskRow, page: &mut Page) {
    let name = format!("{}/{}", report.prefix, task.id);
    page.data.field("task", Text::new(Tone::Strong, &name).then(Tone::Plain, &format!("  {}", task.title)));
    page.data.field("prd", Text::new(Tone::Accent, &report.prd_path));
    page.data.field("state", marker(task).then(task_tone(task), &format!(" {}", task_state(task))));
    let needs = task.depends_on.iter().map(|id| format!("{}/{id}", report.prefix));
    page.data.field_if("needs", Some(needs.collect::<Vec<_>>().join(", ")));
    page.data.field("tier", format!("{} ({})", task.tier, task.route_reason));
    page.data.field("wave", task.wave.to_string());
    page.data.field("attempts", task.attempts.to_string());
    page.data.field_if("cost", Some(dollars(task.cost_usd)));
    page.data.field_if("time", task.elapsed.map(duration));
    page.data.field_if("commit", task.commit.as_deref());
    page.data.field_if("worktree", task.worktree.as_deref());
    page.data.field_if("last error", task.last_error.as_deref());
    page.next_step(&match &task.decision {
        Some(decision) => NextStep::AnswerDecision(decision.to_string()),
        None => NextStep::KitchenStatus(report.prd_path.clone()),
    });
}

fn state(report: &StatusReport) -> Text {
    if report.running {
        return Text::new(Tone::Accent, "a service runs");
    }
    match report.outcome {
        None => "not served yet".into(),
        Some(Outcome::Complete) => Text::new(Tone::Good, "complete"),
        Some(outcome) => Text::new(Tone::Warning, outcome.as_str()),
    }
}

fn marker(task: &TaskRow) -> Text {
    let tone = match task.marker {
        Marker::Done => Tone::Good,
        Marker::Running => Tone::Accent,
        Marker::Waiting => Tone::Warning,
        Marker::Open => Tone::Faint,
    };
    let escalated = if task.escalated { "⬆" } else { "" };
    Text::new(tone, task.marker.as_str()).then(Tone::Warning, escalated)
}

fn task_tone(task: &TaskRow) -> Tone {
    match task.status {
        TaskStatus::Failed | TaskStatus::Blocked => Tone::Bad,
        TaskStatus::Skipped | TaskStatus::Unreachable | TaskStatus::Interrupted => Tone::Warning,
        _ => Tone::Plain,
    }
}

fn task_state(task: &TaskRow) -> String {
    task.status.as_str().replace('_', " ")
}

fn tasks(report: &StatusReport) -> Table {
    let mut table = Table::new([
        "",
        "task",
        "state",
        "tier",
        "wave",
        "attempts",
        "cost",
        "time",
        "title…",
        "last error…",
    ]);
    for task in &report.tasks {
        table.row([
            marker(task),
            Text::new(Tone::Strong, &format!("{}/{}", report.prefix, task.id)),
            Text::new(task_tone(task), &task_state(task)),
            task.tier.as_str().into(),
            task.wave.to_string().into(),
            task.attempts.to_string().into(),
            dollars(task.cost_usd).into(),
            task.elapsed.map(duration).unwrap_or_default().into(),
            (&task.title).into(),
            Text::new(Tone::Faint, task.last_error.as_deref().unwrap_or_default()),
        ]);
    }
    table
}

/// Formats what a task cost; nothing if it cost nothing.
fn dollars(cost: f64) -> String {
    match cost {
        cost if cost <= 0.0 => String::new(),
        cost if cost < 0.1 => format!("${cost:.4}"),
        cost => format!("${cost:.2}"),
    }
}

/// Returns a line for each task, in the order of the file. If they do not fit, tasks that need attention are kept.
pub(crate) fn task_lines(report: &StatusReport, room: usize) -> Vec<Text> {
    let weight = |task: &TaskRow| match task.status {
        TaskStatus::Running | TaskStatus::Failed | TaskStatus::Blocked => 0,
        TaskStatus::Waiting | TaskStatus::Interrupted => 1,
        TaskStatus::Pending => 2,
        TaskStatus::Skipped | TaskStatus::Unreachable => 3,
        TaskStatus::Complete | TaskStatus::AlreadyDone | TaskStatus::Absorbed => 4,
    };
    let mut kept: Vec<usize> = (0..report.tasks.len()).collect();
    let is_all = report.tasks.len() <= room;
    if !is_all {
        kept.sort_by_key(|at| (weight(&report.tasks[*at]), *at));
        kept.truncate(room.saturating_sub(1));
        kept.sort_unstable();
    }
    let line = |at: &usize| {
        let task = &report.tasks[*at];
        let text = format!("  {}, {}: {}", task_state(task), task.tier, task.title);
        marker(task).then(Tone::Strong, &format!(" {}/{}", report.prefix, task.id)).then(Tone::Plain, &text)
    };
    let mut lines: Vec<Text> = kept.iter().map(line).collect();
    if !is_all {
        lines.push(Text::new(
            Tone::Faint,
            &format!("  and {}", pluralize((report.tasks.len() - kept.len()) as u64, "more task")),
        ));
    }
    lines
}

/// Formats a waiting decision.
pub(crate) fn waiting_line(row: &DecisionRow) -> Text {
    let task = row.task.as_ref().map(|task| format!("/{task}")).unwrap_or_default();
    let context = row.context.lines().next().unwrap_or_default();
    Text::new(Tone::Warning, "?")
        .then(Tone::Strong, &format!(" {}{task}", row.prd.prefix()))
        .then(Tone::Plain, &format!("  waits for a decision, {}: {context}", row.id))
}

/// Shows a decision, and its answer if it has one.
pub(super) fn decision(row: &DecisionRow, page: &mut Page) {
    let task = row.task.as_ref().map(|task| format!("/{task}")).unwrap_or_default();
    let what = match row.kind {
        DecisionKind::Failure => "a task failed",
        DecisionKind::Scope => "a question about the scope",
        DecisionKind::Manual => "to be checked by hand",
        DecisionKind::Phase => "a review of the PRD",
        DecisionKind::Gate => "before the next PRD",
        DecisionKind::Verdict => "a review without a clear verdict",
    };
    page.data.field("decision", Text::new(Tone::Accent, row.id.as_str()));
    page.data.field("about", format!("{}{task}: {what}", row.prd.prefix()));
    page.data.field("context", &row.context);
    page.data.field("asked", when::at(row.created_at, page.now));
    if let Some(choice) = &row.choice {
        let by = match row.by {
            Some(AnsweredBy::Supervisor) => "the supervisor",
            Some(AnsweredBy::Executive) => "the executive",
            Some(AnsweredBy::Person) | None => "a person",
        };
        page.data.field("answer", Text::new(Tone::Good, choice).then(Tone::Faint, &format!(" by {by}")));
        page.data.field_if("reason", row.reason.as_deref());
        page.data.field_if("guidance", row.guidance.as_deref());
    } else if row.choices.is_empty() {
        page.data.field("choices", "a text");
    } else {
        page.data.field("choices", row.choices.join(", "));
    }
}

impl View for KitchenCostReport {
    fn show(&self, page: &mut Page) {
        show_prd_origin(&self.prd_path, self.taken, page);
        page.data.field("prd", Text::new(Tone::Accent, &self.prd_path));
        page.data.field("starts", self.attempts.to_string());
        page.data.field("minutes", format!("{:.1}", self.minutes));
        page.data
            .field("cost", format!("${:.2} (${:.2} reported by workers)", self.cost_usd, self.reported_usd));
        let limits = &self.limits;
        page.data.field_if("most dollars", limits.cost_usd.map(|limit| format!("{limit:.2}")));
        page.data.field_if("most minutes", limits.minutes.map(|limit| format!("{limit:.1}")));
        page.data.field_if("most starts", limits.attempts.map(|limit| limit.to_string()));
        page.data.gap();
        let mut table = Table::new(["tier", "starts", "minutes", "cost"]);
        for row in &self.tiers {
            table.row([
                row.tier.as_str().into(),
                row.attempts.to_string().into(),
                format!("{:.1}", row.minutes).into(),
                format!("${:.2}", row.cost_usd).into(),
            ]);
        }
        page.data.table(table);
        if !self.tasks.is_empty() {
            page.data.gap();
            let mut table = Table::new(["task", "tier", "attempts", "minutes", "cost"]);
            for row in &self.tasks {
                table.row([
                    Text::new(Tone::Strong, row.id.as_str()),
                    row.tier.as_str().into(),
                    row.attempts.to_string().into(),
                    format!("{:.1}", row.minutes).into(),
                    format!("${:.2}", row.cost_usd).into(),
                ]);
            }
            page.data.table(table);
        }
    }
}
