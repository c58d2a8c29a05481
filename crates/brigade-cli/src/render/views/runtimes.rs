//! Runtimes: their state, starts and stops.

use std::path::Path;

use brigade::LogStream;
use brigade::core::{NextStep, Severity};
use brigade::records::RuntimeStatus;
use brigade::report::{
    RuntimeHealthReport, RuntimeListReport, RuntimeLogsReport, RuntimeReport, RuntimeRestartReport,
    RuntimeStartReport, RuntimeStatusReport, RuntimeStopReport, RuntimesSummary, StartState,
};

use super::catalog::config_errors;
use super::doctor::show_issues;
use crate::render::happened::first_line;
use crate::render::next::with_named_option;
use crate::render::page::Page;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};
use crate::render::{View, when, words};

impl View for RuntimeListReport {
    fn show(&self, page: &mut Page) {
        if show_counts(&self.summary, page) {
            let mut table = Table::new(["id", "state", "port", "pid", "command…"]);
            for runtime in &self.summary.runtimes {
                table.row([
                    Text::new(Tone::Accent, &runtime.id),
                    state(runtime),
                    words::number(runtime.port),
                    words::number(runtime.pid),
                    Text::from(&runtime.command),
                ]);
            }
            page.data.table(table);
            page.next_step(&NextStep::RuntimeStatus);
        }
        note_issues(&self.summary, page);
    }
}

impl View for RuntimeStatusReport {
    fn show(&self, page: &mut Page) {
        if show_counts(&self.summary, page) {
            let mut table = Table::new(["id", "state", "healthy", "pid", "started…", "detail…"]);
            for runtime in &self.summary.runtimes {
                table.row([
                    Text::new(Tone::Accent, &runtime.id),
                    state(runtime),
                    healthy(runtime),
                    words::number(runtime.pid),
                    runtime.started_at.map_or_else(Text::default, |at| when::at(at, page.now)),
                    Text::from(runtime.health_detail.as_deref().unwrap_or_default()),
                ]);
            }
            page.data.table(table);
        }
        note_issues(&self.summary, page);
    }
}

impl View for RuntimeHealthReport {
    fn show(&self, page: &mut Page) {
        let summary = &self.summary;
        page.data.field("runtimes", Text::new(Tone::Accent, &summary.config_path));
        page.data.field_if("state", words::counts(&summary.counts));
        let count = match summary.issue_count {
            0 => Text::new(Tone::Good, "none"),
            count => Text::from(count.to_string()),
        };
        page.data.field("issues", count);
        show_issues(&summary.issues, page);
    }
}

impl View for RuntimeReport {
    fn show(&self, page: &mut Page) {
        config_errors(&self.summary.errors, page);
        let runtime = &self.runtime;
        let now = page.now;
        let sheet = &mut page.data;
        sheet.field("runtime", Text::new(Tone::Strong, &runtime.id));
        sheet.field_if("name", Some(&runtime.name));
        sheet.field("state", state(runtime));
        if !runtime.enabled {
            sheet.field("enabled", "no");
        }
        if runtime.running {
            sheet.field("managed", words::yes_no(runtime.managed));
        }
        sheet.field_if("pid", Some(words::number(runtime.pid)));
        sheet.field_if("started", runtime.started_at.map(|at| when::at(at, now)));
        if let Some(last) = &runtime.last_health {
            let (tone, word) = if last.ok { (Tone::Good, "healthy") } else { (Tone::Bad, "not healthy") };
            let about = Text::new(tone, word).then(Tone::Plain, &format!(": {} ", last.detail));
            let checked = last.checked_at.map_or_else(Text::default, |at| when::at(at, now));
            sheet.field("last check", about.and(checked));
        }
        sheet.field("command", &runtime.command);
        sheet.field("cwd", runtime.cwd.as_deref().unwrap_or_default());
        sheet.field_if("port", Some(words::number(runtime.port)));
        sheet.field_if("pid file", Some(&runtime.pid_path));
        sheet.field_if("metadata", Some(&runtime.metadata_path));
        sheet.field_if("output", runtime.stdout_log_path.as_deref());
        sheet.field_if("errors", runtime.stderr_log_path.as_deref());
        if !self.tools.is_empty() {
            page.data.gap();
            let mut table = Table::new(["tool", "on", "effects", "description…"]);
            for tool in &self.tools {
                table.row([
                    Text::new(Tone::Strong, &tool.tool_id),
                    words::yes_no(tool.enabled),
                    Text::from(tool.effects.join(", ")),
                    Text::from(first_line(tool.description.as_deref().unwrap_or_default())),
                ]);
            }
            page.data.table(table);
        }
        show_issues(&runtime.issues, page);
        let id = runtime.id.clone();
        page.next_step(&match runtime.running {
            true => NextStep::ReadRuntimeLogs(id),
            false => NextStep::StartRuntime(id),
        });
    }
}

impl View for RuntimeStartReport {
    fn show(&self, page: &mut Page) {
        show_start(self, page);
        match &self.not_ready {
            Some(not_ready) => page.trouble.fault(not_ready.fault()),
            None => page.next_step(&NextStep::RuntimeStatus),
        }
    }
}

fn show_start(report: &RuntimeStartReport, page: &mut Page) {
    page.data.field("runtime", Text::new(Tone::Strong, &report.runtime_id));
    let state = match &report.reason {
        Some(reason) if report.state == Some(StartState::Starting) => {
            Text::new(Tone::Warning, "starting").then(Tone::Plain, &format!(": {reason}"))
        }
        Some(reason) => Text::new(Tone::Good, "running").then(Tone::Plain, &format!(": {reason}")),
        None => Text::new(Tone::Good, "running"),
    };
    page.data.field("state", state);
    page.data.field_if("pid", report.pid.map(|pid| pid.to_string()));
    page.data.field_if("ready after", report.ready_after_seconds.map(when::format_seconds));
    match &report.health {
        Some(health) => page.data.field_if("health", Some(&health.detail)),
        None if report.skipped == 1 => page.data.field("health", "not checked"),
        None => {}
    }
    page.data.field_if("output", report.runtime.stdout_log_path.as_deref());
    page.data.field_if("errors", report.runtime.stderr_log_path.as_deref());
}

impl View for RuntimeStopReport {
    fn show(&self, page: &mut Page) {
        show_stop(self, page);
    }
}

fn show_stop(report: &RuntimeStopReport, page: &mut Page) {
    page.data.field("runtime", Text::new(Tone::Strong, &report.runtime_id));
    let killed = match report.killed {
        Some(killed) if 0 < killed => format!(", {killed} of them killed"),
        _ => String::new(),
    };
    let stopped = match (&report.reason, report.processes) {
        (Some(reason), _) => reason.clone(),
        (None, Some(1)) => "1 process".to_owned(),
        (None, count) => format!("{} processes{killed}", count.unwrap_or_default()),
    };
    let word = if report.stopped == 0 { "nothing" } else { "yes" };
    page.data.field("stopped", Text::from(word).then(Tone::Plain, &format!(": {stopped}")));
    page.data.field_if("pid", report.pid.map(|pid| pid.to_string()));
}

impl View for RuntimeRestartReport {
    fn show(&self, page: &mut Page) {
        if let Some(stop) = &self.stop {
            show_stop(stop, page);
            page.data.gap();
        }
        if let Some(start) = &self.start {
            start.show(page);
        }
    }
}

impl View for RuntimeLogsReport {
    fn show(&self, page: &mut Page) {
        for line in &self.lines {
            page.data.line(line);
        }
        if self.lines.is_empty() {
            page.note(&format!("{} is empty", self.log_path));
        } else if self.has_earlier {
            page.note(&format!("earlier lines are in {}", self.log_path));
        }
        if self.lines.is_empty() && self.other_has_lines && self.other_stream == LogStream::Stderr {
            page.next(&with_named_option("brigade tools runtime logs", &self.runtime_id, "--stderr"));
        }
    }
}

/// Shows the errors of the file and the counts by state; returns whether there are any runtimes.
fn show_counts(summary: &RuntimesSummary, page: &mut Page) -> bool {
    config_errors(&summary.errors, page);
    if summary.runtimes.is_empty() {
        // An error already reports what cannot be listed.
        if summary.errors.is_empty() {
            page.data.line("no runtimes");
        }
        return false;
    }
    page.data.field("runtimes", summary.runtime_count.to_string());
    page.data.field_if("state", words::counts(&summary.counts));
    page.data.gap();
    true
}

/// Notes the problem of the user's file, and the number of other issues.
fn note_issues(summary: &RuntimesSummary, page: &mut Page) {
    if !summary.errors.is_empty() || summary.issue_count == 0 {
        return;
    }
    let of_user = summary.issues.iter().filter_map(|issue| {
        let file = issue.file.as_deref().filter(|file| Path::new(file).is_absolute())?;
        let line = issue.line.map(|line| format!(":{line}")).unwrap_or_default();
        (issue.severity == Some(Severity::Error)).then(|| format!("{file}{line}: {}", issue.detail))
    });
    let notes: Vec<String> = of_user.collect();
    page.notes(&notes);
    match summary.issue_count - notes.len() {
        0 => {}
        1 => page.note("1 issue"),
        count => page.note(&format!("{count} issues")),
    }
    page.next_step(&NextStep::CheckRuntimes);
}

fn state(runtime: &RuntimeStatus) -> Text {
    let word = words::status(&runtime.state);
    if runtime.running && !runtime.managed {
        return word.then(Tone::Warning, ", not managed");
    }
    if runtime.enabled { word } else { word.then(Tone::Faint, ", disabled") }
}

fn healthy(runtime: &RuntimeStatus) -> Text {
    match runtime.health_ok {
        Some(true) => Text::new(Tone::Good, "yes"),
        Some(false) => Text::new(Tone::Bad, "no"),
        None => Text::default(),
    }
}

pub(in crate::render) fn numbers(pids: &[u32]) -> String {
    pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
