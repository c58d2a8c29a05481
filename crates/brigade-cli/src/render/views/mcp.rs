//! MCP tools: pins, live comparisons and imports.

use std::collections::BTreeMap;

use brigade::core::{NextStep, Severity};
use brigade::report::{
    EnableReport, EnabledTool, ImportAction, ImportMcpReport, ImportedServer, ListState, LiveIssue,
    LiveReport, LoginReport, LogoutReport, PinListReport, PinReport, PinState, PinSummary, ServerSummary,
    UpdateAction, UpdateReport,
};

use crate::render::next::with_named_option;
use crate::render::page::Page;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};
use crate::render::{View, when};

/// Formats the state of a pin.
fn pin_state(state: PinState) -> Text {
    Text::new(if state == PinState::Pinned { Tone::Good } else { Tone::Bad }, state.as_str())
}

/// Formats the state of a list.
fn list_state(state: ListState) -> Text {
    Text::new(if state == ListState::Known { Tone::Good } else { Tone::Bad }, state.as_str())
}

/// Lists changes.
fn changes(changes: &[String], page: &mut Page) {
    for change in changes {
        page.data.indented(2, Text::new(Tone::Warning, "- ").then(Tone::Plain, change));
    }
}

/// Lists the issues of a live comparison.
fn live_issues(issues: &[LiveIssue], page: &mut Page) {
    for issue in issues {
        let about = match &issue.tool {
            Some(tool) => format!("{}/{tool}", issue.server),
            None => issue.server.clone(),
        };
        let tone = if issue.severity == Severity::Info { Tone::Faint } else { Tone::Warning };
        page.data.line(
            Text::new(tone, &issue.code)
                .then(Tone::Strong, &format!(" {about}"))
                .then(Tone::Plain, &format!(": {}", issue.message)),
        );
        changes(&issue.changes, page);
        if let Some(hint) = &issue.hint {
            page.data.line(Text::new(Tone::Good, "help: ").then(Tone::Accent, &hint.to_string()));
        }
    }
}

impl View for PinListReport {
    fn show(&self, page: &mut Page) {
        for broken in &self.errors {
            page.error(brigade::ErrorCode::PinInvalid, &format!("{}: {}", broken.pin_path, broken.error));
        }
        if self.pins.is_empty() {
            page.data.line("no pins");
        } else {
            let mut table = Table::new(["pin", "server", "tool", "state", "since…"]);
            for pin in &self.pins {
                table.row([
                    Text::new(Tone::Accent, &pin.id),
                    Text::from(&pin.server),
                    Text::new(Tone::Strong, &pin.tool),
                    pin_state(pin.state),
                    when::moment(
                        pin.missing_since.as_ref().or(pin.offered_at.as_ref()).unwrap_or(&pin.pinned_at),
                        page.now,
                    ),
                ]);
            }
            page.data.table(table);
        }
        if !self.servers.is_empty() {
            let mut table = Table::new(["list of tools", "server", "tools", "state", "since…"]);
            for server in &self.servers {
                let since =
                    if server.state == ListState::Known { &server.known_at } else { &server.listed_at };
                table.row([
                    Text::new(Tone::Accent, &server.id),
                    Text::from(&server.server),
                    Text::from(server.tool_count.to_string()),
                    list_state(server.state),
                    when::moment(since, page.now),
                ]);
            }
            page.data.gap();
            page.data.table(table);
        }
        if self.is_live || 0 < self.issue_count {
            page.data.gap();
            page.data.field("issues", self.issue_count.to_string());
            live_issues(&self.issues, page);
        }
        if 0 < self.changed_count {
            page.next("brigade tools pins show PIN");
        }
    }
}

impl View for PinReport {
    fn show(&self, page: &mut Page) {
        if let Some(server) = &self.server {
            show_listing(server, &self.changes, self.accepted, page);
        }
        let Some(pin) = &self.pin else { return };
        let now = page.now;
        let sheet = &mut page.data;
        sheet.field("pin", Text::new(Tone::Accent, &pin.id));
        sheet.field("server", &pin.server);
        sheet.field("tool", Text::new(Tone::Strong, &pin.tool));
        sheet.field(
            "state",
            if self.accepted { Text::new(Tone::Good, "accepted") } else { pin_state(pin.state) },
        );
        sheet.field("pinned", when::moment(&pin.pinned_at, now));
        sheet.field_if("changed", pin.offered_at.as_ref().map(|at| when::moment(at, now)));
        sheet.field_if("not listed", pin.missing_since.as_ref().map(|at| when::moment(at, now)));
        sheet.lines_if("description", self.description.as_deref().unwrap_or_default());
        sheet.field("file", Text::new(Tone::Accent, &pin.pin_path));
        if !self.changes.is_empty() {
            page.data.gap();
            page.data.line(if self.accepted { "accepted:" } else { "changes at the server:" });
            changes(&self.changes, page);
        }
        if let (false, PinState::Changed, Some(offered)) = (self.accepted, pin.state, &self.offered) {
            // With the fingerprint, only the changes shown here are accepted.
            let fingerprint: String = offered.fingerprint.chars().take(16).collect();
            page.next(&with_named_option(
                "brigade tools pins accept",
                &pin.id,
                &format!("--fingerprint {fingerprint}"),
            ));
        }
    }
}

/// Shows the tool list of a server.
fn show_listing(server: &ServerSummary, changed: &[String], accepted: bool, page: &mut Page) {
    let now = page.now;
    let sheet = &mut page.data;
    sheet.field("list of tools", Text::new(Tone::Accent, &server.id));
    sheet.field("server", Text::new(Tone::Strong, &server.server));
    sheet.field("tools", server.tool_count.to_string());
    sheet.field("state", if accepted { Text::new(Tone::Good, "accepted") } else { list_state(server.state) });
    sheet.field("known", when::moment(&server.known_at, now));
    sheet.field("listed", when::moment(&server.listed_at, now));
    sheet.field("file", Text::new(Tone::Accent, &server.listing_path));
    if !changed.is_empty() {
        page.data.gap();
        page.data.line(if accepted { "accepted:" } else { "changes of the list:" });
        changes(changed, page);
        if !accepted {
            page.next_step(&NextStep::AcceptPin(server.id.clone()));
        }
    }
}

/// Shows how the server's listing of a call's tool differs from its pin.
pub(super) fn waiting_change(pin: &PinSummary, page: &mut Page) {
    let now = page.now;
    if let Some(since) = &pin.missing_since {
        page.data.field(
            "server",
            Text::new(Tone::Bad, "has not listed the tool since ").and(when::moment(since, now)),
        );
    }
    let Some(since) = &pin.offered_at else { return };
    page.data.field("server", Text::new(Tone::Bad, "changed the tool ").and(when::moment(since, now)));
    changes(&pin.changes, page);
    page.note(&format!(
        "approving accepts this change of `{}` at server `{}`, and no other change",
        pin.tool, pin.server
    ));
}

/// Shows the changes that an approval accepted.
pub(super) fn accepted_change(pin: &PinSummary, accepted: &[String], page: &mut Page) {
    if accepted.is_empty() {
        return;
    }
    page.data.field("accepted", format!("changes of server `{}` to `{}`:", pin.server, pin.tool));
    changes(accepted, page);
    page.data.field("pin", Text::new(Tone::Accent, &pin.id));
}

/// Shows the result of a live comparison.
pub(super) fn live(report: &LiveReport, page: &mut Page) {
    page.data.gap();
    for server in &report.servers {
        let status = match &server.error {
            Some(_) => Text::new(Tone::Bad, "did not answer"),
            None if server.tools.len() == 1 => Text::from("lists 1 tool"),
            None => Text::from(format!("lists {} tools", server.tools.len())),
        };
        page.data.field(&format!("server {}", server.server), status);
    }
    for tool in &report.tools {
        let name = format!("{} describes {}", tool.server, tool.tool);
        page.data.lines_if(&name, tool.description.as_deref().unwrap_or_default());
    }
    page.data.field("live issues", report.issue_count.to_string());
    live_issues(&report.issues, page);
}

impl View for ImportMcpReport {
    fn show(&self, page: &mut Page) {
        page.data.field("runtime", Text::new(Tone::Strong, &self.runtime_id));
        page.data.field("home", self.home.as_deref().map_or("that of the person", |home| home));
        page.data.field_if("writes", (!self.write_paths.is_empty()).then(|| self.write_paths.join(", ")));
        page.data.field_if("variables", (!self.variables.is_empty()).then(|| self.variables.join(", ")));
        let noun = if self.listed_count == 1 { "tool" } else { "tools" };
        page.data.field("listed", format!("{} {noun}", self.listed_count));
        page.data.field(if self.dry_run { "would add" } else { "added" }, self.added_count.to_string());
        if !self.tools.is_empty() {
            page.data.gap();
            let mut table = Table::new(["id", "tool", "action", "proposed effects", "what…"]);
            for tool in &self.tools {
                let what = tool.detail.as_deref().or(tool.description.as_deref()).unwrap_or_default();
                let what = what.lines().next().unwrap_or_default();
                table.row([
                    Text::new(Tone::Strong, &tool.tool_id),
                    Text::from(&tool.mcp_tool_name),
                    Text::from(tool.action.as_str()),
                    Text::from(tool.proposed_effects.join(", ")),
                    Text::from(what),
                ]);
            }
            page.data.table(table);
        }
        for tool in self.tools.iter().filter(|tool| !tool.schema_problems.is_empty()) {
            page.data.gap();
            page.data.line(format!("the input schema of {} is not supported:", tool.tool_id));
            changes(&tool.schema_problems, page);
        }
        if let Some(enabled) = &self.enabled {
            page.data.gap();
            enabled.show(page);
        } else if 0 < self.added_count && !self.dry_run {
            page.note("new entries are disabled, and their effects are only proposed: review them, then enable them");
            if let Some(first) = self.tools.iter().find(|tool| tool.action == ImportAction::Add) {
                page.next_step(&NextStep::DescribeTool(first.tool_id.clone()));
                page.next_step(&NextStep::EnableTools(first.tool_id.clone()));
            }
        }
    }
}

impl View for LoginReport {
    fn show(&self, page: &mut Page) {
        page.data.field("server", Text::new(Tone::Strong, &self.server));
        page.data.field("origin", &self.mcp_origin);
        page.data.field("logged in at", &self.issuer);
        page.data.field_if("scope", self.scope.as_ref());
        page.data.field("refreshed", if self.can_refresh { "without you" } else { "no" });
        page.data.field("tokens", &self.tokens_path);
    }
}

impl View for LogoutReport {
    fn show(&self, page: &mut Page) {
        page.data.field("server", Text::new(Tone::Strong, &self.server));
        page.data.field("origin", &self.mcp_origin);
        page.data.field("tokens", if self.removed { "removed" } else { "there were none" });
    }
}

/// Says what became of the tools of a server that was enabled.
pub(crate) fn imported_line(server: &ImportedServer) -> String {
    let id = &server.runtime_id;
    match &server.error {
        Some(error) => format!("the tools of `{id}` were not imported: {error}"),
        None => format!(
            "{} tools of `{id}` were imported, disabled; enable them with `brigade tools enable '{id}-*' --accept-hints`",
            server.added.len()
        ),
    }
}

/// Sums up the gates of a tool: agents with the same gate are named together.
fn gates(gates: &BTreeMap<String, String>) -> String {
    let mut agents: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (agent, gate) in gates {
        agents.entry(gate).or_default().push(agent);
    }
    match agents.len() {
        1 if 1 < gates.len() => format!("all agents: {}", agents.into_keys().collect::<String>()),
        _ => {
            let each = agents.into_iter().map(|(gate, agents)| format!("{}: {gate}", agents.join(", ")));
            each.collect::<Vec<_>>().join("; ")
        }
    }
}

impl View for EnableReport {
    fn show(&self, page: &mut Page) {
        let done = if self.written { "changed" } else { "would change" };
        page.data.field(done, self.changed_count.to_string());
        if self.tools.is_empty() {
            return;
        }
        page.data.gap();
        let mut table = Table::new(["id", "enabled", "effects", "proposed effects", "gate…"]);
        for tool in &self.tools {
            table.row([
                Text::new(Tone::Strong, &tool.tool_id),
                Text::from(if tool.enabled { "yes" } else { "no" }),
                Text::from(tool.effects.join(", ")),
                Text::from(tool.proposed_effects.join(", ")),
                Text::from(gates(&tool.gates)),
            ]);
        }
        page.data.table(table);
        let detail_line = |tool: &EnabledTool| Some(format!("{}: {}", tool.tool_id, tool.detail.as_ref()?));
        page.notes(self.tools.iter().filter_map(detail_line));
        let starts = |tool: &EnabledTool| {
            Some(format!(
                "{}: its tools are imported, for which this is started: {}",
                tool.tool_id,
                tool.starts.as_ref()?
            ))
        };
        if self.imported.is_empty() {
            page.notes(self.tools.iter().filter_map(starts));
        }
        page.notes(self.imported.iter().map(imported_line));
        if !self.written && !self.dry_run && 0 < self.changed_count {
            page.note("nothing was written");
        }
    }
}

impl View for UpdateReport {
    fn show(&self, page: &mut Page) {
        if self.servers.is_empty() {
            page.data.line("no tools were imported from a server");
        }
        for server in &self.servers {
            page.data.field("server", Text::new(Tone::Strong, &server.runtime_id));
            if let Some(error) = &server.error {
                page.data.line(Text::new(Tone::Bad, error));
                continue;
            }
            page.data.field("unchanged", server.unchanged_count.to_string());
            for tool in &server.tools {
                let tone = match tool.action {
                    UpdateAction::New => Tone::Good,
                    UpdateAction::Changed => Tone::Warning,
                    UpdateAction::Removed => Tone::Bad,
                };
                page.data.line(
                    Text::new(tone, tool.action.as_str()).then(Tone::Strong, &format!(" {}", tool.tool_id)),
                );
                changes(&tool.changes, page);
            }
        }
        if self.written {
            page.note(
                "pins and entries were renewed; effects and rights are as before, and new tools are disabled",
            );
        } else if !self.dry_run && 0 < self.changed_count {
            page.note("nothing was written");
        }
    }
}
