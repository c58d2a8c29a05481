//! The summary of a PRD in Markdown: tasks, attempts, escalations, reviews, decisions, cost, commits, skipped tasks.

use std::fmt::Write as _;

use brigade_cmdline::Argv;
use brigade_core::Report;
use brigade_macros::document;

use super::status::{StatusReport, TaskRow, TaskStatus};
use super::{duration, pluralize, tier_costs};
use crate::approval::PrdOrigin;
use crate::config::Settings;
use crate::life::Life;

/// The first words of every summary. A file is replaced only if it begins with them.
pub const SUMMARY_HEAD: &str = "# Summary of ";

/// The report of `summary`.
#[document("brigade.kitchen-summary.v1")]
#[derive(PartialEq)]
pub struct SummaryReport {
    /// The workspace root.
    pub target: String,
    /// The PRD, relative to the workspace.
    pub prd_path: String,
    /// How it was found.
    pub taken: PrdOrigin,
    /// The file that was written; absent if none was requested.
    pub path: Option<String>,
    /// The report in Markdown.
    pub text: String,
}

impl SummaryReport {
    /// Makes a report.
    pub fn new(target: String, status: &StatusReport, text: String) -> SummaryReport {
        SummaryReport {
            schema: SummaryReport::SCHEMA,
            target,
            prd_path: status.prd_path.clone(),
            taken: status.taken,
            path: None,
            text,
        }
    }
}

/// Escapes a text for Markdown, on one line.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c if c.is_control() => {}
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.trim().to_owned()
}

/// Renders the summary of a PRD.
pub fn summary(status: &StatusReport, life: &Life, settings: &Settings) -> String {
    let mut text = format!("{SUMMARY_HEAD}{}\n\n", plain(&status.feature_name));
    let outcome = match status.outcome {
        _ if status.running => "a service runs",
        Some(outcome) => outcome.as_str(),
        None => "not served yet",
    };
    let _ = writeln!(text, "* PRD: `{}`", status.prd_path);
    let _ =
        writeln!(text, "* State: {outcome}, {} of {} tasks done", status.completed_tasks, status.total_tasks);
    if let Some(branch) = &status.branch {
        let commit = status.commit.as_ref().map(|commit| format!(", last commit `{commit}`"));
        let _ = writeln!(text, "* Branch: {}{}", plain(branch), commit.unwrap_or_default());
    }
    let budget = &status.budget;
    let _ = writeln!(
        text,
        "* Workers: {}, {:.1} minutes, ${:.2}",
        pluralize(budget.attempts, "start"),
        budget.minutes,
        budget.cost_usd
    );
    tasks(&mut text, status);
    left_out(&mut text, status);
    if !status.escalation_history.is_empty() {
        text.push_str("\n## Escalations\n\n");
        for row in &status.escalation_history {
            let _ = writeln!(
                text,
                "* {} {}: {} to {}: {}",
                row.timestamp,
                row.task,
                row.from,
                row.to,
                plain(&row.reason)
            );
        }
    }
    if !life.history.reviews.is_empty() {
        text.push_str("\n## Reviews\n\n");
        for (at, task, result, reason) in &life.history.reviews {
            let result = result.as_str().to_lowercase();
            let _ = writeln!(text, "* {at} {task}: {result}{}", reason_suffix(Some(reason)));
        }
    }
    decisions(&mut text, life);
    text.push_str("\n## Cost\n\n| tier | starts | minutes | dollars |\n| --- | ---: | ---: | ---: |\n");
    for row in tier_costs(life, settings) {
        let _ =
            writeln!(text, "| {} | {} | {:.1} | {:.2} |", row.tier, row.attempts, row.minutes, row.cost_usd);
    }
    text
}

fn reason_suffix(reason: Option<&String>) -> String {
    reason
        .filter(|reason| !reason.is_empty())
        .map(|reason| format!(": {}", plain(reason)))
        .unwrap_or_default()
}

fn tasks(text: &mut String, status: &StatusReport) {
    text.push_str("\n## Tasks\n\n| | task | title | state | tier | attempts | time | commit |\n");
    text.push_str("| --- | --- | --- | --- | --- | ---: | ---: | --- |\n");
    for task in &status.tasks {
        let escalated = if task.escalated { " ⬆" } else { "" };
        let commit = task.commit.as_deref().map(|commit| format!("`{}`", &commit[..commit.len().min(12)]));
        let _ = writeln!(
            text,
            "| {}{escalated} | {} | {} | {} | {} | {} | {} | {} |",
            task.marker.as_str(),
            plain(task.id.as_str()),
            plain(&task.title),
            task.status.as_str(),
            task.tier,
            task.attempts,
            task.elapsed.map(duration).unwrap_or_default(),
            commit.unwrap_or_default()
        );
    }
}

/// Lists the tasks that are not done, with reasons.
fn left_out(text: &mut String, status: &StatusReport) {
    let is_open = |task: &&TaskRow| {
        matches!(
            task.status,
            TaskStatus::Failed | TaskStatus::Blocked | TaskStatus::Skipped | TaskStatus::Unreachable
        )
    };
    let open: Vec<&TaskRow> = status.tasks.iter().filter(is_open).collect();
    if open.is_empty() {
        return;
    }
    text.push_str("\n## Not done\n\n");
    for task in open {
        let reason = match task.status {
            TaskStatus::Unreachable => ": it depends on a skipped task".to_owned(),
            _ => reason_suffix(task.last_error.as_ref()),
        };
        let _ = writeln!(text, "* {} {}{reason}", plain(task.id.as_str()), task.status.as_str());
    }
    let has_skipped = status.tasks.iter().any(|task| task.status == TaskStatus::Skipped);
    if let Some(retry) = retry(&status.prd_path).filter(|_| has_skipped) {
        let _ = writeln!(text, "\nTo retry a skipped task and its dependents: `{retry}`");
    }
}

/// Returns the command that retries failed and skipped tasks.
pub fn retry(prd_path: &str) -> Option<Argv> {
    let words = ["brigade", "kitchen", "resume", prd_path, "retry"];
    Argv::new(words.map(str::to_owned).to_vec()).ok()
}

fn decisions(text: &mut String, life: &Life) {
    if life.decisions.is_empty() {
        return;
    }
    text.push_str("\n## Decisions\n\n");
    for decided in &life.decisions {
        let decision = &decided.decision;
        let task = decision.task.as_ref().map(|task| format!(" {task}")).unwrap_or_default();
        let answer = match &decided.answer {
            None => "waits".to_owned(),
            Some(answer) => {
                let by = answer.by.as_text();
                format!("{} by {by}{}", plain(&answer.choice), reason_suffix(answer.reason.as_ref()))
            }
        };
        let _ = writeln!(text, "* {}{task}: {}: {answer}", decision.created_at, plain(&decision.context));
    }
}
