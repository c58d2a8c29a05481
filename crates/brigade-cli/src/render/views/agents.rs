//! Agents, profiles, and the tools that agents are shown.

use brigade::core::NextStep;
use brigade::policy::Gate;
use brigade::profile::{Action, OpinionRow, ProfileRow, TextSize};
use brigade::report::{
    AgentApproval, AgentListReport, AgentReport, AgentToolsReport, CostReport, ProfileExplainReport,
    ProfileListReport, ProfileReport,
};

use crate::render::page::Page;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};
use crate::render::{View, words};
fn gate(action: Action) -> Text {
    let tone = match action {
        Action::Allow => Tone::Good,
        Action::Deny => Tone::Bad,
        Action::Ask | Action::Judge => Tone::Warning,
    };
    Text::new(tone, action.as_str())
}

fn place(file: &str, line: Option<usize>) -> String {
    line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"))
}

impl View for AgentToolsReport {
    fn show(&self, page: &mut Page) {
        if let Some(problem) = &self.policy_problem {
            page.note(&format!("{problem}, so nothing is shown and nothing can be called"));
        }
        if self.tools.is_empty() {
            return page.data.line(format!("the agent {} is shown no tools", self.agent).as_str());
        }
        let mut table = Table::new(["tool", "family", "risk", "gate", "effects…"]);
        for tool in &self.tools {
            table.row([
                Text::new(Tone::Accent, &tool.name),
                Text::from(&tool.family),
                Text::from(tool.risk.as_str()),
                gate(match tool.gate {
                    Gate::Allow => Action::Allow,
                    Gate::Ask => Action::Ask,
                }),
                Text::from(tool.effects.join(", ").as_str()),
            ]);
        }
        page.data.table(table);
        page.next(&format!("brigade tools profile explain ID --as {}", self.agent));
    }
}

impl View for AgentListReport {
    fn show(&self, page: &mut Page) {
        if !self.exists {
            page.note("no gateway.toml: the only agent is `local`, for the command line");
        }
        let mut table = Table::new(["agent", "token", "confirm", "profiles…"]);
        for agent in &self.agents {
            table.row([
                Text::new(Tone::Accent, agent.name.as_str()),
                Text::from(if agent.has_token { "yes" } else { "no" }),
                Text::from(&agent.confirm),
                Text::from(agent.profiles.join(", ").as_str()),
            ]);
        }
        match self.agents.first() {
            None => page.data.line("no agents"),
            Some(first) => {
                page.data.table(table);
                page.next(&format!("brigade tools list --as {}", first.name));
            }
        }
    }
}

impl View for AgentReport {
    fn show(&self, page: &mut Page) {
        page.data.field("agent", Text::new(Tone::Strong, self.agent.as_str()));
        page.data.field(self.action.as_str(), Text::new(Tone::Accent, &self.gateway_path));
        if let Some(token) = &self.token {
            page.data.field("token", Text::new(Tone::Strong, token));
            page.note("the token is shown only now; the file holds its sha256");
        }
        page.next_step(&NextStep::ListAgents);
    }
}

impl View for ProfileListReport {
    fn show(&self, page: &mut Page) {
        let mut table = Table::new(["profile", "default", "from", "shows…"]);
        for profile in &self.profiles {
            let shows = match &profile.show {
                None if profile.hide.is_empty() => "everything".to_owned(),
                None => format!("all but {}", profile.hide.join(", ")),
                Some(show) => show.join(", "),
            };
            table.row([
                Text::new(Tone::Accent, &profile.name),
                Text::from(if profile.default { "yes" } else { "" }),
                Text::from(place(&profile.file, profile.line.filter(|_| !profile.shipped)).as_str()),
                Text::from(shows.as_str()),
            ]);
        }
        page.data.table(table);
        page.next("brigade tools profile show NAME");
    }
}

impl View for ProfileReport {
    fn show(&self, page: &mut Page) {
        let ProfileRow { name, slot, shipped, default, show, hide, rules, file, line, .. } = &self.profile;
        page.data.field("profile", Text::new(Tone::Strong, name));
        page.data.field("slot", slot.as_str());
        page.data.field("default", words::good_or_bad(*default));
        page.data.field("from", Text::new(Tone::Accent, &place(file, line.filter(|_| !shipped))));
        page.data
            .field("show", show.as_ref().map_or_else(|| "everything".to_owned(), |show| show.join(", ")));
        if !hide.is_empty() {
            page.data.field("hide", hide.join(", "));
        }
        for rule in rules {
            let matches = rule.matches.join(", ");
            page.data.line(
                Text::new(Tone::Strong, rule.action.as_str()).then(Tone::Plain, &format!("  {matches}")),
            );
            let limits = rule.constrain.as_ref().and_then(|limits| brigade::core::json::to_json(limits).ok());
            if let Some(limits) = limits {
                page.data.indented(4, Text::new(Tone::Faint, &format!("within {}", limits.to_compact())));
            }
        }
    }
}

impl View for ProfileExplainReport {
    fn show(&self, page: &mut Page) {
        page.data.field("tool", Text::new(Tone::Strong, &self.tool_id));
        page.data.field("agent", self.agent.as_str());
        page.data.field("visible", words::good_or_bad(self.visible));
        page.data.field("gate", gate(self.gate));
        page.data.field("risk", self.risk.as_str());
        page.data.gap();
        for OpinionRow { profile, shows, action, reason, file, line, not_held, .. } in &self.opinions {
            let (tone, mark) = if *shows { (Tone::Good, "yes") } else { (Tone::Bad, "no ") };
            page.data.line(
                Text::new(tone, mark)
                    .then(Tone::Plain, "  ")
                    .then(Tone::Strong, profile)
                    .then(Tone::Plain, &format!(": {action}, {reason}")),
            );
            if let Some(file) = file {
                let at = Text::new(Tone::Faint, "at ").then(Tone::Accent, &place(file, *line));
                page.data.indented(7, at);
            }
            if !not_held.is_empty() {
                let limits = not_held.join(", ");
                let why =
                    format!("{limits} cannot be applied to calls: the entry does not declare its arguments");
                page.data.indented(7, Text::new(Tone::Warning, &why));
            }
        }
        if !self.reasons.is_empty() {
            page.data.gap();
            for reason in &self.reasons {
                page.data.line(Text::new(Tone::Bad, "hidden: ").then(Tone::Plain, reason));
            }
        }
    }
}

/// Shows which rule approves calls of an agent.
pub(super) fn approval(approval: &AgentApproval, page: &mut Page) {
    page.data.gap();
    page.data.field("agent", approval.agent.as_str());
    page.data.field("visible", words::good_or_bad(approval.visible));
    page.data.field("gate", gate(approval.gate));
    page.data.field("risk", approval.risk.as_str());
    if !approval.visible {
        page.data.field("approved by", "not applicable: the agent cannot call it");
        return;
    }
    match &approval.rule {
        Some(rule) if approval.rules.iter().all(|known| known.name != *rule) => {
            page.data.field("approved by", "not applicable: its calls need no approval")
        }
        Some(rule) => page.data.field("approved by", format!("the rule {rule}")),
        None => page.data.field("approved by", "a person, each call"),
    }
    for rule in &approval.rules {
        let at = place(&rule.file, rule.line);
        page.data.line(Text::new(Tone::Strong, &rule.name).then(Tone::Faint, " at ").then(Tone::Accent, &at));
        for (name, pattern) in &rule.arguments {
            page.data.indented(4, format!("where {name} matches {pattern}").as_str());
        }
        for missing in &rule.missing {
            page.data.indented(4, Text::new(Tone::Bad, "missing: ").then(Tone::Plain, missing));
        }
    }
}

fn size(size: TextSize) -> Text {
    Text::from(format!("{} tokens, {} bytes", size.tokens, size.bytes).as_str())
}

impl View for CostReport {
    fn show(&self, page: &mut Page) {
        let costs = &self.costs;
        page.data.field("agent", self.agent.as_str());
        page.data.field("list", self.list.as_str());
        for listing in &costs.listings {
            page.data.field(&format!("{} ({} tools)", listing.list, listing.tool_count), size(listing.size));
        }
        page.data.field("extra turn to describe", size(costs.describe_turn));
        page.data.field("extra turn to search", size(costs.search_turn));
        for least in &costs.cheapest {
            let calls = if least.calls == 1 { "1 call".to_owned() } else { format!("{} calls", least.calls) };
            page.data.field(
                &format!("cheapest for {calls}"),
                Text::new(Tone::Good, least.list.as_str())
                    .then(Tone::Plain, &format!(", {} tokens", least.size.tokens)),
            );
        }
        let full = costs.full_from_calls.map_or_else(
            || "never".to_owned(),
            |calls| if calls <= 1 { "always".to_owned() } else { format!("from {calls} calls on") },
        );
        page.data.field("full is the cheapest", full);
        if !costs.tools.is_empty() {
            page.data.gap();
            let mut table = Table::new(["tool", "full, tokens", "compact, tokens", "full, bytes"]);
            for tool in &costs.tools {
                table.row([
                    Text::new(Tone::Accent, &tool.name),
                    Text::from(tool.full.tokens.to_string().as_str()),
                    Text::from(tool.compact.tokens.to_string().as_str()),
                    Text::from(tool.full.bytes.to_string().as_str()),
                ]);
            }
            page.data.table(table);
        }
        page.note("tokens are estimated");
    }
}
