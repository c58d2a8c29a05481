//! Search results for tools, and usage statistics.

use brigade::Family;
use brigade::report::{
    CheckReport, CheckedTool, FindMatch, FindReport, SearchReport, ShownTool, StateReason, StatsReport,
    Suggestion, ToolStats,
};
use brigade::tools::{Availability, OrBuiltin, ToolState};

use brigade::core::{NextStep, Timestamp};
use brigade::profile::builtin::ToolApproval;

use crate::render::happened::first_line;
use crate::render::page::Page;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};
use crate::render::{View, when, words};

use super::catalog::{listed_id, tool_id};

/// Lists the capabilities that a tool states, and those that words about it suggest.
fn matched(found: &FindMatch) -> String {
    let inferred = found.inferred.iter().map(|label| format!("{label} (inferred)"));
    found.matched.iter().cloned().chain(inferred).collect::<Vec<_>>().join(", ")
}

impl View for FindReport {
    fn show(&self, page: &mut Page) {
        notes(&self.notes, page);
        if self.matches.is_empty() {
            page.data.line("no tool fits");
        } else {
            let mut table =
                Table::new(["id", "source", "level", "state", "callable", "matched…", "why not…"]);
            for found in &self.matches {
                let why: Vec<&str> = found.reasons.iter().map(|reason| reason.message.as_str()).collect();
                table.row([
                    tool_id(&found.id, false),
                    Text::from(found.source.map_or("", OrBuiltin::as_str)),
                    Text::from(found.level.as_str()),
                    words::status(found.state.as_str()),
                    words::yes_no(found.callable),
                    Text::from(matched(found)),
                    Text::from(why.join("; ")),
                ]);
            }
            page.data.table(table);
        }
        suggestions(&self.suggestions, self.discovered_at, page);
        if !self.gaps.is_empty() {
            page.note(&format!("no enabled tool has: {}", self.gaps.join(", ")));
        }
        match self.matches.iter().find(|found| found.callable).or(self.matches.first()) {
            Some(found) => page.next_step(&NextStep::ShowTool(found.id.clone())),
            None => page.next_step(&NextStep::ListTools),
        }
    }
}

impl View for SearchReport {
    fn show(&self, page: &mut Page) {
        notes(&self.notes, page);
        if self.matches.is_empty() {
            page.data.line("no tool matches");
            suggestions(&self.suggestions, self.discovered_at, page);
            page.next_step(&NextStep::ListTools);
            return;
        }
        let mut table = Table::new(["id", "family", "description…"]);
        for found in &self.matches {
            let tool = &found.tool;
            table.row([
                tool_id(&tool.id, tool.broken),
                Text::from(tool.family.map_or("unknown", Family::as_str)),
                Text::from(first_line(&tool.description)),
            ]);
        }
        page.data.table(table);
        suggestions(&self.suggestions, self.discovered_at, page);
    }
}

impl View for CheckReport {
    fn show(&self, page: &mut Page) {
        notes(&self.notes, page);
        if self.tools.is_empty() {
            page.data.line("no tools");
            return page.next_step(&NextStep::ListTools);
        }
        let mut table = Table::new(["id", "state", "version", "program…", "why…"]);
        for tool in &self.tools {
            let why: Vec<&str> = tool.reasons.iter().map(|reason| reason.message.as_str()).collect();
            table.row([
                listed_id(&tool.id, false, tool.enabled),
                words::status(tool.state.as_str()),
                Text::from(tool.version.observed.as_deref().unwrap_or("")),
                Text::from(tool.program.as_deref().unwrap_or("")),
                Text::from(why.join("; ")),
            ]);
        }
        page.data.table(table);
        let is_installable = |tool: &&CheckedTool| {
            let has_command = tool.install.as_ref().is_some_and(|install| !install.command.is_empty());
            matches!(tool.state, ToolState::Missing | ToolState::Outdated) && has_command
        };
        let is_untold = |tool: &&CheckedTool| {
            let needs_start = |code: &str| matches!(code, "check_not_run" | "version_unobserved");
            tool.state == ToolState::Unknown && tool.reasons.iter().any(|reason| needs_start(&reason.code))
        };
        let untold = self.tools.iter().find(is_untold).filter(|_| !self.ran_checks);
        match (self.tools.iter().find(is_installable), untold) {
            (Some(tool), _) => page.next_step(&NextStep::InstallTool(tool.id.clone())),
            (None, Some(tool)) => page.next_step(&NextStep::RunChecks(tool.id.clone())),
            (None, None) => page.next_step(&NextStep::ShowTool(self.tools[0].id.clone())),
        }
    }
}

impl View for StatsReport {
    fn show(&self, page: &mut Page) {
        if self.tools.is_empty() {
            page.data.line("nothing has run yet");
            return page.next_step(&NextStep::ListCalls);
        }
        let mut table = Table::new([
            "id",
            "runs",
            "completed",
            "failures",
            "installed",
            "median",
            "longest",
            "last used",
            "cost",
        ]);
        let time = |milliseconds: Option<u64>| {
            milliseconds
                .map_or_else(String::new, |milliseconds| when::format_seconds(milliseconds as f64 / 1000.0))
        };
        for tool in &self.tools {
            let cost = tool.cost.map_or_else(String::new, |cost| {
                format!("{cost} {}", tool.cost_unit.as_deref().unwrap_or_default()).trim_end().to_owned()
            });
            table.row([
                tool_id(&tool.id, false),
                Text::from(tool.runs.to_string()),
                Text::from(tool.completed.to_string()),
                Text::from(tool.failures.to_string()),
                Text::from(installed_text(tool)),
                Text::from(time(tool.median_ms)),
                Text::from(time(tool.max_ms)),
                tool.last_used.map_or_else(Text::default, |at| when::at(at, page.now)),
                Text::from(cost),
            ]);
        }
        page.data.table(table);
        if 0 < self.unreadable_count {
            page.note(&format!("{} unreadable receipts are not counted", self.unreadable_count));
        }
    }
}

/// Returns how often a tool was installed, and how often that failed.
fn installed_text(tool: &ToolStats) -> String {
    match (tool.installations, tool.failed_installations) {
        (0, 0) => String::new(),
        (installed, 0) => installed.to_string(),
        (installed, failed) => format!("{installed} ({failed} failed)"),
    }
}

/// Adds the registry data of a tool's entry, and whether the tool is installed.
pub(super) fn registry(tool: &ShownTool, page: &mut Page) {
    let sheet = &mut page.data;
    sheet.field("level", tool.level.as_str());
    sheet.field_if("kind of source", tool.source.map(OrBuiltin::as_str));
    sheet.field_if("aliases", Some(tool.aliases.join(", ")));
    sheet.field_if("categories", Some(tool.categories.join(", ")));
    sheet.field_if("capabilities", Some(tool.capabilities.join(", ")));
    sheet.field_if("suggested", Some(tool.suggested_capabilities.join(", ")));
    sheet.field_if("approval", tool.approval.map(ToolApproval::as_str));
    sheet.field_if("availability", tool.availability.map(Availability::as_str));
    sheet.field_if("version", tool.version.as_ref());
    sheet.field("state", words::status(tool.state.as_str()));
    for StateReason { message, .. } in &tool.reasons {
        sheet.field("", Text::new(Tone::Faint, message));
    }
    if let Some(install) = &tool.install {
        sheet.field_if("install", Some(install.command.join("  or  ")));
        sheet.field_if("check", install.check.as_ref());
        sheet.field_if("docs", install.docs.as_ref());
    }
    if let Some(cost) = tool.cost.as_ref().and_then(|cost| Some((cost.per_call?, cost.unit.as_deref()))) {
        let (amount, unit) = (cost.0.to_string(), cost.1.unwrap_or_default());
        sheet.field("cost of a call", format!("{amount} {unit}").trim_end());
    }
    for row in &tool.shadowed {
        let place = super::doctor::place(&row.file, row.line);
        sheet.field("hides", place);
    }
}

/// Adds matching discovered entries, and when they were discovered.
pub(super) fn suggestions(rows: &[Suggestion], discovered_at: Option<Timestamp>, page: &mut Page) {
    if rows.is_empty() {
        return;
    }
    page.data.gap();
    let mut table = Table::new(["discovered", "in…", "description…"]);
    for row in rows {
        table.row([
            Text::from(&row.id),
            Text::from(row.harnesses.join(", ")),
            Text::from(first_line(&row.description)),
        ]);
    }
    page.data.table(table);
    if let Some(at) = discovered_at {
        let age = when::distance(at, page.now);
        page.note(&format!(
            "discovered {age}, and callable only when registered; `brigade tools sync` looks again"
        ));
    }
}

/// Adds notes about unreadable or unclear data.
pub(super) fn notes(notes: &[String], page: &mut Page) {
    // Outside of a workspace, this was already reported.
    if page.has_workspace() {
        page.notes(notes);
    }
}
