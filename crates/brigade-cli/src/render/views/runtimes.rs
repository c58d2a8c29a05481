//! Runtimes: how they stand, and what came of starting and stopping them.

use brigade::command::argv::Argv;
use brigade::core::Json;
use brigade::{
    RuntimeHealthReport, RuntimeListReport, RuntimeLogsReport, RuntimeReport, RuntimeRestartReport,
    RuntimeStartReport, RuntimeStatusReport, RuntimeStopReport, RuntimesSummary,
};

use super::catalog::config_errors;
use super::doctor::show_issues;
use crate::render::page::Page;
use crate::render::table::{Fit, Table};
use crate::render::text::{Text, Tone};
use crate::render::{View, values, when};

impl View for RuntimeListReport {
    fn show(&self, page: &mut Page) {
        if show_counts(&self.summary, page) {
            let mut table = Table::new([
                ("id", Fit::Whole),
                ("state", Fit::Whole),
                ("port", Fit::Whole),
                ("pid", Fit::Whole),
                ("command", Fit::Cut),
            ]);
            for runtime in &self.summary.runtimes {
                table.row([
                    Text::new(Tone::Accent, values::text(runtime, "id")),
                    state(runtime),
                    number(runtime, "port"),
                    number(runtime, "pid"),
                    Text::from(values::text(runtime, "command")),
                ]);
            }
            page.data.table(table);
            page.next("brigade tools runtime status");
        }
        note_issues(&self.summary, page);
    }
}

impl View for RuntimeStatusReport {
    fn show(&self, page: &mut Page) {
        if show_counts(&self.summary, page) {
            let mut table = Table::new([
                ("id", Fit::Whole),
                ("state", Fit::Whole),
                ("healthy", Fit::Whole),
                ("pid", Fit::Whole),
                ("started", Fit::Cut),
                ("detail", Fit::Cut),
            ]);
            for runtime in &self.summary.runtimes {
                let started = values::some_text(runtime, "started_at");
                table.row([
                    Text::new(Tone::Accent, values::text(runtime, "id")),
                    state(runtime),
                    healthy(runtime),
                    number(runtime, "pid"),
                    started.map_or_else(Text::default, |at| when::moment(at, page.now)),
                    Text::from(values::text(runtime, "health_detail")),
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
        page.data.field_if("state", values::counts(&summary.counts));
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
        sheet.field("runtime", Text::new(Tone::Strong, values::text(runtime, "id")));
        sheet.field_if("name", values::some_text(runtime, "name"));
        sheet.field("state", state(runtime));
        if !values::flag(runtime, "enabled") {
            sheet.field("enabled", "no");
        }
        if values::flag(runtime, "running") {
            sheet.field("managed", values::yes_no(values::flag(runtime, "managed")));
        }
        sheet.field_if("pid", Some(number(runtime, "pid")));
        sheet.field_if("started", values::some_text(runtime, "started_at").map(|at| when::moment(at, now)));
        if let Some(last) = runtime.get("last_health").filter(|last| !last.is_null()) {
            let word = Text::new(
                if values::flag(last, "ok") { Tone::Good } else { Tone::Bad },
                if values::flag(last, "ok") { "healthy" } else { "not healthy" },
            );
            let about = word.then(Tone::Plain, &format!(": {} ", values::text(last, "detail")));
            sheet.field("last check", about.and(when::moment(values::text(last, "checked_at"), now)));
        }
        sheet.field("command", values::text(runtime, "command"));
        sheet.field("folder", values::text(runtime, "cwd"));
        sheet.field_if("port", Some(number(runtime, "port")));
        sheet.field_if("pid file", values::some_text(runtime, "pid_path"));
        sheet.field_if("metadata", values::some_text(runtime, "metadata_path"));
        sheet.field_if("output", values::some_text(runtime, "stdout_log_path"));
        sheet.field_if("errors", values::some_text(runtime, "stderr_log_path"));
        show_issues(values::list(runtime, "issues"), page);
        let id = values::text(runtime, "id");
        let action = if values::flag(runtime, "running") { "logs" } else { "start" };
        page.next(&command_line(action, id));
    }
}

impl View for RuntimeStartReport {
    fn show(&self, page: &mut Page) {
        show_start(self, page);
        page.next(&command_line("status", ""));
    }
}

fn show_start(report: &RuntimeStartReport, page: &mut Page) {
    page.data.field("runtime", Text::new(Tone::Strong, &report.runtime_id));
    let state = match &report.reason {
        Some(reason) => Text::new(Tone::Good, "running").then(Tone::Plain, &format!(": {reason}")),
        None => Text::new(Tone::Good, "running"),
    };
    page.data.field("state", state);
    page.data.field_if("pid", report.pid.map(|pid| pid.to_string()));
    page.data.field_if("ready after", report.ready_after_seconds.map(when::measured));
    page.data.field_if("health", values::some_text(&report.health, "detail"));
    page.data.field_if("output", values::some_text(&report.runtime, "stdout_log_path"));
    page.data.field_if("errors", values::some_text(&report.runtime, "stderr_log_path"));
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
            page.note(&format!("nothing in {}", self.log_path));
        } else if self.has_earlier {
            page.note(&format!("there is more in {}", self.log_path));
        }
        if self.lines.is_empty() && self.other_has_lines && self.other_stream == "stderr" {
            page.next(&format!("{} --stderr", command_line("logs", &self.runtime_id)));
        }
    }
}

/// Shows the errors of the file and how many runtimes stand how; tells whether there are any.
fn show_counts(summary: &RuntimesSummary, page: &mut Page) -> bool {
    config_errors(&summary.errors, page);
    if summary.runtimes.is_empty() {
        page.data.line("no runtimes");
        return false;
    }
    page.data.field("runtimes", summary.runtime_count.to_string());
    page.data.field_if("state", values::counts(&summary.counts));
    page.data.gap();
    true
}

fn note_issues(summary: &RuntimesSummary, page: &mut Page) {
    if !summary.errors.is_empty() || summary.issue_count == 0 {
        return;
    }
    let (count, word) = match summary.issue_count {
        1 => (1, "issue"),
        count => (count, "issues"),
    };
    page.note(&format!("{count} {word}: see brigade tools runtime doctor"));
}

fn state(runtime: &Json) -> Text {
    let word = values::status(values::text(runtime, "state"));
    if values::flag(runtime, "running") && !values::flag(runtime, "managed") {
        return word.then(Tone::Warning, ", not managed");
    }
    if values::flag(runtime, "enabled") { word } else { word.then(Tone::Faint, ", disabled") }
}

fn healthy(runtime: &Json) -> Text {
    match runtime.get("health_ok").and_then(Json::as_bool) {
        Some(true) => Text::new(Tone::Good, "yes"),
        Some(false) => Text::new(Tone::Bad, "no"),
        None => Text::default(),
    }
}

fn number(runtime: &Json, key: &str) -> Text {
    Text::from(values::integer(runtime, key).map_or_else(String::new, |number| number.to_string()))
}

pub(in crate::render) fn numbers(pids: &[u32]) -> String {
    pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// Writes the command that acts on a runtime as a shell reads it; on all when the id is empty.
fn command_line(action: &str, id: &str) -> String {
    let words = ["brigade", "tools", "runtime", action, id];
    let words = words.into_iter().filter(|word| !word.is_empty()).map(str::to_owned).collect();
    Argv::new(words).map_or_else(|_| format!("brigade tools runtime {action}"), |argv| argv.to_string())
}

/// Returns the command that shows what a runtime wrote.
pub(in crate::render) fn logs_command(id: &str) -> String {
    command_line("logs", id)
}
