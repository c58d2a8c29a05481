//! Tools, their contracts and their health.

use brigade::Family;
use brigade::core::{Json, NextStep};
use brigade::policy::ErrorLine;
use brigade::report::{
    ArgumentDescription, Contract, ContractsReport, DescribeReport, ShowReport, ShownTool, Suggestion,
    ToolLine, ToolLinesReport, ToolSummary,
};

use super::doctor::{place, show_issues};
use super::finding;
use crate::render::happened::first_line;
use crate::render::next::with_named_option;
use crate::render::page::Page;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};
use crate::render::{View, fault, when, words};

/// Adds the errors of a configuration file.
pub(super) fn config_errors(errors: &[ErrorLine], page: &mut Page) {
    fault::list(errors.iter().map(|error| error.fault().clone()).collect(), &mut page.trouble);
}

/// Shows the id of a tool.
pub(super) fn tool_id(id: &str, broken: bool) -> Text {
    if broken { Text::new(Tone::Bad, id).then(Tone::Bad, " (broken)") } else { Text::new(Tone::Strong, id) }
}

/// Shows the id of a listed tool, which may be disabled.
pub(super) fn listed_id(id: &str, broken: bool, enabled: bool) -> Text {
    let text = tool_id(id, broken);
    if enabled { text } else { text.then(Tone::Faint, " (disabled)") }
}

impl View for ToolLinesReport {
    fn show(&self, page: &mut Page) {
        config_errors(&self.errors, page);
        if self.errors.is_empty() {
            finding::notes(&self.notes, page);
        }
        if let Some(discovered) = &self.discovered {
            match self.discovered_at {
                Some(_) if discovered.is_empty() => page.data.line("no discovered entry fits"),
                Some(_) => {}
                None => {
                    page.data.line("nothing was discovered yet");
                    page.next_step(&NextStep::SyncRegistry);
                }
            }
            let rows: Vec<Suggestion> = discovered.iter().map(Suggestion::from_entry).collect();
            return finding::suggestions(&rows, self.discovered_at, page);
        }
        if self.tools.is_empty() {
            // An error already reports what cannot be listed, and the next step.
            if self.valid {
                page.data.line("no tools");
            }
            if !page.trouble.helps() {
                page.next_step(&self.next);
            }
            return;
        }
        let mut table = Table::new(["id", "family", "harnesses…", "description…"]);
        let is_full = page.is_full;
        let is_listed = |tool: &&ToolLine| is_full || tool.enabled || tool.broken;
        for tool in self.tools.iter().filter(is_listed) {
            let cell = |text: &str| match tool.enabled {
                true => Text::from(text),
                false => Text::new(Tone::Faint, text),
            };
            table.row([
                listed_id(&tool.id, tool.broken, tool.enabled),
                cell(tool.family.map_or("unknown", Family::as_str)),
                cell(&harnesses(&tool.supported_harnesses)),
                cell(&first_line(&tool.description)),
            ]);
        }
        let hidden = self.tools.len() - self.tools.iter().filter(is_listed).count();
        if hidden < self.tools.len() {
            page.data.table(table);
        }
        if 0 < hidden {
            let disabled = if hidden == 1 { "disabled tool is" } else { "disabled tools are" };
            page.note(&format!("{hidden} {disabled} not listed"));
            page.next("brigade tools list --all");
        } else if self.tools.iter().any(|tool| !tool.enabled) {
            page.next("brigade enable ID");
        }
        page.next("brigade tools describe ID");
    }
}

/// Lists harnesses, or their number if there are more than three.
fn harnesses(names: &[String]) -> String {
    if names.len() <= 3 { names.join(", ") } else { format!("{} harnesses", names.len()) }
}

impl View for ShowReport {
    fn show(&self, page: &mut Page) {
        finding::notes(&self.notes, page);
        let tool = &self.tool.summary;
        show_tool(&self.tool, page);
        note_disabled(tool, page);
        if tool.contract.has_contract {
            page.next_step(&NextStep::DescribeTool(tool.id.clone()));
        }
    }
}

/// Adds a note if a tool is disabled.
fn note_disabled(tool: &ToolSummary, page: &mut Page) {
    if !tool.enabled {
        let line = tool.origin.line.map_or_else(String::new, |line| format!(", entry at line {line}"));
        page.note(&format!("the tool is disabled; set `enabled = true` in {}{line}", tool.origin.file));
    }
}

fn show_tool(shown: &ShownTool, page: &mut Page) {
    let tool = &shown.summary;
    let sheet = &mut page.data;
    sheet.field("tool", tool_id(&tool.id, tool.broken));
    sheet.field("name", &tool.name);
    sheet.field_if("enabled", (!tool.enabled).then(|| Text::new(Tone::Bad, "no")));
    sheet.field_if("family", tool.family.map(Family::as_str));
    sheet.lines_if("description", &tool.description);
    sheet.field("defined at", place(&tool.origin.file, tool.origin.line));
    sheet.field_if("source", tool.source_path.as_ref());
    sheet.field_if("command", tool.command.as_ref());
    sheet.field("harnesses", tool.supported_harnesses.join(", "));
    sheet.field("tools", tool.tool_count.to_string());
    sheet.field_if("auth label", tool.auth_label.as_ref());
    sheet.field("schema file", words::yes_no(tool.schema_available));
    if let Some(mcp) = &tool.mcp {
        sheet.field("mcp servers", mcp.server_ids.join(", "));
    }
    finding::registry(shown, page);
    let sheet = &mut page.data;
    if !tool.projection_coverage.is_empty() {
        sheet.gap();
        let mut table = Table::new(["harness", "projection", "file…"]);
        for (harness, status) in &tool.projection_coverage {
            let path = tool.projection_paths.as_ref().and_then(|paths| paths.get(harness));
            table.row([
                Text::from(harness),
                words::status(status.as_str()),
                Text::from(path.map_or("", String::as_str)),
            ]);
        }
        sheet.table(table);
    }
}

impl View for DescribeReport {
    fn show(&self, page: &mut Page) {
        let contract = &self.tool.contract;
        show_contract(contract, page);
        show_arguments(&self.arguments, page);
        show_examples(&self.examples, page);
        page.data.gap();
        page.data.field("issues", self.issue_count.to_string());
        show_issues(&self.issues, page);
        if let Some(live) = &self.live {
            super::mcp::live(live, page);
        }
        if !self.tool.summary.enabled {
            return note_disabled(&self.tool.summary, page);
        }
        // Tools of other families are projected, but never called.
        match contract.family {
            Some(Family::Script | Family::Mcp) => {
                page.next(&with_named_option("brigade tools call plan", &contract.tool_id, "--args JSON"));
            }
            _ => page.next_step(&NextStep::PlanProjections(contract.tool_id.clone())),
        }
    }
}

fn show_contract(contract: &Contract, page: &mut Page) {
    let sheet = &mut page.data;
    sheet.field("tool", Text::new(Tone::Strong, &contract.tool_id));
    sheet.field("name", &contract.name);
    sheet.field_if("family", contract.family.map(Family::as_str));
    sheet.lines_if("description", &contract.description);
    sheet.field_if("command", contract.command.as_ref());
    sheet.field_if("cwd", contract.cwd.as_ref());
    sheet.field("approval mode", contract.approval_mode.as_str());
    sheet.field_if("permissions", Some(contract.permissions.join(", ")));
    sheet.field_if("effects", Some(contract.effects.join(", ")));
    sheet.field_if("timeout", contract.timeout.map(when::limit));
    sheet.field_if("idle timeout", contract.idle_timeout.map(when::limit));
    sheet.field_if("env labels", Some(contract.env_labels.join(", ")));
    sheet.field_if("auth label", contract.auth_label.as_ref());
    sheet.field_if("runtime", contract.runtime_id.as_ref());
    sheet.field_if("mcp tool", contract.mcp_tool_name.as_ref());
    sheet.field_if("input schema", contract.input_schema_path.as_ref());
    sheet.field_if("output schema", contract.output_schema_path.as_ref());
}

fn show_arguments(arguments: &[ArgumentDescription], page: &mut Page) {
    if arguments.is_empty() {
        return;
    }
    page.data.gap();
    let mut table = Table::new(["argument", "type…", "required", "description…"]);
    for argument in arguments {
        table.row([
            Text::new(Tone::Strong, &argument.name),
            Text::from(&argument.kind),
            words::yes_no(argument.required),
            Text::from(first_line(argument.description.as_deref().unwrap_or(""))),
        ]);
    }
    page.data.table(table);
}

/// Shows the arguments of each example, in the format of `--args`.
fn show_examples(examples: &Json, page: &mut Page) {
    let Some(examples) = examples.as_array().filter(|examples| !examples.is_empty()) else { return };
    page.data.gap();
    page.data.line("examples:");
    for example in examples {
        if let Some(description) = example.get("description").and_then(Json::as_str) {
            page.data.indented(2, Text::new(Tone::Faint, description));
        }
        let arguments = example.get("args").unwrap_or(example);
        page.data.indented(4, Text::new(Tone::Accent, &arguments.to_compact()));
    }
}

impl View for ContractsReport {
    fn show(&self, page: &mut Page) {
        config_errors(&self.errors, page);
        let mut table = Table::new(["id", "family", "state", "issues", "approval", "input schema…"]);
        for health in &self.contracts {
            let contract = &health.contract;
            let family = contract.family;
            let state = match contract.has_contract && health.issue_count == 0 {
                false => Text::new(Tone::Warning, "needs-review"),
                true if family.is_some_and(Family::is_executable) => words::status("ready"),
                // Agents read it; calls of it are refused.
                true => Text::new(Tone::Faint, "not-called"),
            };
            table.row([
                Text::new(Tone::Strong, &contract.tool_id),
                Text::from(contract.family.map_or("unknown", Family::as_str)),
                state,
                Text::from(health.issue_count.to_string()),
                Text::from(contract.approval_mode.as_str()),
                Text::from(contract.input_schema_path.as_deref().unwrap_or("")),
            ]);
        }
        if self.contracts.is_empty() {
            // An error already reports what cannot be listed.
            if self.errors.is_empty() {
                page.data.line("no tools");
            }
            if !page.trouble.helps() && !self.errors.is_empty() {
                page.next_step(&NextStep::Diagnose);
            }
            return;
        }
        page.data.table(table);
        if let Some(live) = &self.live {
            super::mcp::live(live, page);
        }
        if 0 < self.issue_count {
            page.next("brigade tools describe ID");
        }
    }
}
