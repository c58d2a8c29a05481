//! The steps of a setup, as a person sees them.

use brigade::report::{EnabledTool, SetupAction, SetupReport, SetupState};

use super::page::Page;
use super::table::Table;
use super::text::{Text, Tone};
use super::views::show_diff;

/// Shows the agent programs and servers that were found, with the numbers that answers may use.
pub(crate) fn show_found(report: &SetupReport, page: &mut Page) {
    if report.programs.is_empty() {
        page.data.line("no agent program that can be connected was found");
    } else {
        let mut table = Table::new(["", "agent program", "name", "state…"]);
        for (number, row) in (1..).zip(&report.programs) {
            table.row([
                Text::new(Tone::Faint, &format!("{number}")),
                Text::from(&row.title),
                Text::new(Tone::Strong, &row.program),
                Text::from(if row.state == SetupState::Known { "connected" } else { "" }),
            ]);
        }
        page.data.table(table);
    }
    page.data.gap();
    page.notes(&report.notes);
    if report.servers.is_empty() {
        page.data.line("no MCP server was found in the files of agent programs");
        return;
    }
    let mut table = Table::new(["", "server", "used by", "runs…", "state…"]);
    for (number, row) in (1..).zip(&report.servers) {
        let is_known = row.state == SetupState::Known;
        let tone = |tone: Tone| if is_known { Tone::Faint } else { tone };
        let state = match (is_known, &row.detail) {
            (true, _) => "already governed",
            (false, Some(detail)) => detail.as_str(),
            (false, None) => "",
        };
        // A server that only the catalog has cannot be chosen.
        let number = if row.programs.is_empty() { String::new() } else { number.to_string() };
        table.row([
            Text::new(Tone::Faint, &number),
            Text::new(tone(Tone::Strong), &row.name),
            Text::new(tone(Tone::Plain), &row.programs.join(", ")),
            Text::new(tone(Tone::Plain), &row.runs),
            Text::new(tone(Tone::Plain), state),
        ]);
    }
    page.data.table(table);
}

/// Shows the tools of the servers with their effects, and what happens to their calls.
pub(crate) fn show_tools(report: &SetupReport, page: &mut Page) {
    let tools = || report.servers.iter().flat_map(|server| &server.tools).chain(&report.tools);
    if tools().next().is_some() {
        page.data.gap();
        let mut table = Table::new(["tool", "effects", "calls…"]);
        for tool in tools() {
            let effects = if tool.effects.is_empty() { &tool.proposed_effects } else { &tool.effects };
            table.row([
                Text::new(Tone::Strong, &tool.tool_id),
                Text::from(effects.join(", ")),
                calls(tool, !report.programs.is_empty()),
            ]);
        }
        page.data.table(table);
    }
    show_left_out(report, page);
}

/// Shows which servers are left out, and why.
pub(crate) fn show_left_out(report: &SetupReport, page: &mut Page) {
    for server in report.servers.iter().filter(|server| server.state == SetupState::Failed) {
        page.data.gap();
        let why = server.detail.as_deref().unwrap_or_default();
        let line = Text::new(Tone::Bad, "left out ").then(Tone::Strong, &server.name);
        page.data.line(line.then(Tone::Plain, &format!(": {why}")));
        if let Some(hint) = &server.hint {
            page.data.line(Text::new(Tone::Good, "help: ").then(Tone::Accent, &hint.to_string()));
        }
    }
}

/// Says what happens to calls of a tool. Before the rule exists, its effects tell.
fn calls(tool: &EnabledTool, has_agents: bool) -> Text {
    let is_read = has_agents && tool.effects == ["local-read"];
    match (tool.enabled, &tool.detail) {
        (false, Some(detail)) => Text::new(Tone::Faint, &format!("off: {detail}")),
        (false, None) => Text::new(Tone::Faint, "off"),
        (true, _) if is_read || tool.gates.values().any(|gate| gate.starts_with("rule ")) => {
            Text::new(Tone::Good, "run without asking")
        }
        (true, _) => Text::new(Tone::Warning, "ask you first"),
    }
}

/// Shows every file that changes.
pub(crate) fn show_changes(report: &SetupReport, page: &mut Page) {
    let with_diff = report.changes.iter().filter(|change| !change.diff.is_empty());
    for change in with_diff {
        page.data.gap();
        page.data.line(action(change.action).then(Tone::Accent, &format!(" {}", change.path)));
        show_diff(&change.diff, &mut page.data);
    }
    page.data.gap();
    for change in report.changes.iter().filter(|change| change.diff.is_empty()) {
        let line = action(change.action).then(Tone::Accent, &format!(" {}", change.path));
        page.data.line(match &change.detail {
            Some(detail) => line.then(Tone::Plain, &format!(": {detail}")),
            None => line,
        });
    }
    if let Some(rule) = &report.rule {
        page.data.gap();
        let line = Text::new(Tone::Strong, &format!("rule {}", rule.name));
        page.data.line(line.then(Tone::Plain, &format!(": {}", rule.sentence)));
    }
    page.notes(&report.notes);
}

fn action(action: SetupAction) -> Text {
    match action {
        SetupAction::Create => Text::new(Tone::Good, "new"),
        SetupAction::Change => Text::new(Tone::Warning, "change"),
        SetupAction::Remove => Text::new(Tone::Bad, "remove"),
        SetupAction::Keep => Text::new(Tone::Faint, "keep"),
    }
}
