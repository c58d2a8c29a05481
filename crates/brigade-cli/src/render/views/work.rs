//! Work that needs a decision.

use std::collections::BTreeSet;

use brigade::core::NextStep;
use brigade::health::{InboxItem, InboxStatus};
use brigade::report::{BriefReport, InboxItemReport, InboxReport, WorkAnswerReport};
#[cfg(feature = "builtin")]
use brigade::report::{
    MemoryListReport, MemoryReport, PullRequestListReport, PullRequestReport, WorkTurnReport,
};
#[cfg(feature = "builtin")]
use brigade::store::memory::AgentCore;

use super::doctor::{FOLDED, IssueLine, UNWRITTEN, issue_line};
use crate::render::page::Page;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};
use crate::render::{View, when, words};

impl View for InboxReport {
    fn show(&self, page: &mut Page) {
        if 0 < self.unreadable_count {
            page.note(&format!("cannot read {} lines of the inbox", self.unreadable_count));
        }
        if self.items.is_empty() {
            page.data.line("no rows");
            page.next("brigade tools import-issues");
            return;
        }
        page.data.field_if("rows", words::counts(&self.counts));
        page.data.gap();
        let mut table = Table::new(["row", "status", "source", "created", "text…"]);
        let is_folded = |item: &&InboxItem| {
            let issue = item.metadata.as_ref().and_then(|metadata| metadata.tool_issue_type.as_deref());
            issue == Some(UNWRITTEN) && item.status == Some(InboxStatus::Pending)
        };
        let (unwritten, mut shown): (Vec<&InboxItem>, Vec<&InboxItem>) =
            self.items.iter().partition(is_folded);
        if unwritten.len() <= FOLDED {
            shown = self.items.iter().collect();
        } else {
            let tools = unwritten.iter().filter_map(|item| item.metadata.as_ref()?.tool_id.as_deref());
            let tools: BTreeSet<&str> = tools.collect();
            page.data.line(format!(
                "{} pending rows: projections of {} tools were never written",
                unwritten.len(),
                tools.len()
            ));
            page.data.gap();
            page.next("brigade tools plan");
        }
        if shown.is_empty() {
            return;
        }
        for item in shown {
            let text = |text: &Option<String>| Text::from(text.as_deref().unwrap_or_default());
            let created = item.created_at.as_deref().unwrap_or_default();
            let age = created.parse().map_or_else(|_| created.to_owned(), |at| when::distance(at, page.now));
            table.row([
                Text::new(Tone::Accent, item.id.as_deref().unwrap_or_default()),
                words::status(item.status.as_ref().map_or("", InboxStatus::as_str)),
                text(&item.source),
                Text::from(age),
                text(&item.text),
            ]);
        }
        page.data.table(table);
        page.next("brigade work inbox show ROW");
    }
}

impl View for InboxItemReport {
    fn show(&self, page: &mut Page) {
        let item = &self.item;
        let (id, status) =
            (item.id.as_deref().unwrap_or_default(), item.status.as_ref().map_or("", InboxStatus::as_str));
        let now = page.now;
        let sheet = &mut page.data;
        sheet.field("row", Text::new(Tone::Accent, id));
        sheet.field("status", words::status(status));
        sheet.field_if("source", item.source.as_deref());
        sheet.field_if("text", item.text.as_deref());
        sheet.field_if("created", item.created_at.as_deref().map(|at| when::moment(at, now)));
        sheet.field_if("updated", item.updated_at.as_deref().map(|at| when::moment(at, now)));
        sheet.field_if("priority", item.priority.as_deref());
        sheet.field_if("done when", Some(item.acceptance.join(", ")));
        if status == "pending" {
            page.next(&format!("brigade work inbox promote {id}"));
        }
    }
}

impl View for WorkAnswerReport {
    fn show(&self, page: &mut Page) {
        page.data.line(Text::new(Tone::Accent, &self.id).then(Tone::Plain, &format!(": {}", self.outcome)));
        let command = self.next_command.to_string();
        page.next(&command);
    }
}

#[cfg(feature = "builtin")]
impl View for WorkTurnReport {
    fn show(&self, page: &mut Page) {
        page.data.line(format!("turn {} of {}: memory {}", self.turn, self.agent, self.memory));
    }
}

#[cfg(feature = "builtin")]
impl View for MemoryListReport {
    fn show(&self, page: &mut Page) {
        for AgentCore { agent, core } in &self.core_memories {
            let text = format!("core memory of {agent}, version {}:", core.version);
            page.data.line(Text::new(Tone::Strong, &text));
            core.to_markdown().lines().for_each(|line| page.data.indented(2, line));
        }
        if self.memories.is_empty() {
            page.data.line("no memories");
            return;
        }
        let mut table = Table::new(["memory", "scope", "tier", "author", "updated", "content…"]);
        for memory in &self.memories {
            let owner = if memory.owner.is_empty() { "" } else { " " };
            table.row([
                Text::new(Tone::Accent, &memory.id),
                Text::from(format!("{}{owner}{}", memory.scope, memory.owner)),
                Text::from(if memory.pinned { "pinned".to_owned() } else { memory.tier.to_string() }),
                Text::from(memory.author.as_str()),
                Text::from(when::distance(memory.updated_at, page.now)),
                Text::from(brigade::core::text::short(&memory.content, 200)),
            ]);
        }
        page.data.table(table);
        page.next("brigade work memory show MEMORY");
    }
}

#[cfg(feature = "builtin")]
impl View for MemoryReport {
    fn show(&self, page: &mut Page) {
        let (memory, now) = (&self.memory, page.now);
        let sheet = &mut page.data;
        let removed = if self.removed { " (removed)" } else { "" };
        sheet.field("memory", Text::new(Tone::Accent, &memory.id).then(Tone::Plain, removed));
        sheet.field("scope", memory.scope.as_str());
        sheet.field_if("owner", Some(memory.owner.as_str()).filter(|owner| !owner.is_empty()));
        sheet.field("author", memory.author.as_str());
        sheet.field("category", memory.category.as_str());
        sheet.field("importance", memory.importance.as_str());
        sheet.field("tier", format!("{} ({})", memory.tier, memory.status));
        sheet.field("pinned", if memory.pinned { "yes" } else { "no" });
        sheet.field("found", format!("{} times", memory.uses));
        sheet.field("created", when::moment(&memory.created_at.to_string(), now));
        sheet.field("updated", when::moment(&memory.updated_at.to_string(), now));
        sheet.field("content", memory.content.as_str());
    }
}

#[cfg(feature = "builtin")]
impl View for PullRequestListReport {
    fn show(&self, page: &mut Page) {
        if self.pull_requests.is_empty() {
            page.data.line("no pull requests");
            return;
        }
        let mut table = Table::new(["number", "author", "made", "state", "threads", "branch", "title…"]);
        for request in &self.pull_requests {
            table.row([
                Text::new(Tone::Accent, &request.number.to_string()),
                Text::from(request.author.as_str()),
                Text::from(when::distance(request.created_at, page.now)),
                Text::from(if request.is_closed { "closed" } else { "open" }),
                Text::from(format!("{} open", request.open_threads)),
                Text::from(request.branch.as_str()),
                Text::from(request.title.as_str()),
            ]);
        }
        page.data.table(table);
        page.next("brigade work pr show NUMBER");
    }
}

#[cfg(feature = "builtin")]
impl View for PullRequestReport {
    fn show(&self, page: &mut Page) {
        let (request, now) = (&self.pull_request, page.now);
        let sheet = &mut page.data;
        let closed = if request.is_closed { " (closed)" } else { "" };
        sheet.field("pull request", Text::new(Tone::Accent, &request.id).then(Tone::Plain, closed));
        sheet.field("number", request.number.to_string());
        sheet.field("title", request.title.as_str());
        sheet.field("author", request.author.as_str());
        sheet.field("lane", request.lane.as_str());
        sheet.field("branch", format!("{} into {}", request.branch, request.base));
        sheet.field("created", when::moment(&request.created_at.to_string(), now));
        sheet.field_if("body", Some(self.body.as_str()).filter(|body| !body.is_empty()));
        for thread in &self.threads {
            let place = match (&thread.path, thread.line) {
                (Some(path), Some(line)) => format!(" {path}:{line}"),
                (Some(path), None) => format!(" {path}"),
                (None, _) => String::new(),
            };
            let resolved = if thread.is_resolved { " (resolved)" } else { "" };
            sheet.gap();
            sheet.field(
                "thread",
                Text::new(Tone::Accent, &thread.id).then(Tone::Plain, &format!("{place}{resolved}")),
            );
            for comment in &thread.comments {
                sheet.field(&comment.author, comment.body.as_str());
            }
        }
        page.next("brigade work pr comment NUMBER TEXT");
    }
}

/// The maximum number of issues in a brief.
const MAX_TOP_ISSUES: usize = 5;

impl View for BriefReport {
    /// Shows at most 22 lines, to fit one screen. Each is cut to the width of the terminal, except for the next
    /// command.
    fn show(&self, page: &mut Page) {
        let now = page.now;
        let sheet = &mut page.data;
        sheet.short_field("workspace", &self.target);
        sheet.short_field("tools", self.tool_count.to_string());
        let mut undecided = Text::from(self.pending_approval_count.to_string());
        if let Some(call) = &self.oldest_pending_call {
            let age = call.created_at.map_or_else(String::new, |at| format!(", {}", when::distance(at, now)));
            undecided = undecided.then(Tone::Faint, &format!(" (oldest: {}{age})", call.id));
        }
        sheet.short_field("pending calls", undecided);
        if 0 < self.held_count {
            sheet.short_field("held calls", self.held_count.to_string());
        }
        let stale = match self.stale_approval_count {
            0 => String::new(),
            stale => format!(" ({stale} changed since)"),
        };
        sheet.short_field("approved calls", format!("{}{stale}", self.approved_count));
        sheet.short_field("open checkpoints", self.pending_checkpoint_count.to_string());
        if let Some(newest) = self.recent_failures.last() {
            let count = self.recent_failures.len();
            let why = newest.failure.as_deref().unwrap_or(&newest.status);
            let newest = format!("{} of {}: {}: {why}", newest.short_id, newest.who, newest.tool_id);
            sheet.short_field("failed since yesterday", format!("{count} (newest: {newest})"));
        }
        if !self.machine_changes.is_empty() {
            sheet.short_field("on this machine", self.machine_changes.join(", "));
            page.next_step(&NextStep::SyncRegistry);
        }
        let sheet = &mut page.data;
        if !self.interrupted_prds.is_empty() {
            sheet.short_field("interrupted PRDs", self.interrupted_prds.join(", "));
        }
        if !self.runtimes_down.is_empty() {
            let names = format!("{} ({})", self.runtimes_down.len(), self.runtimes_down.join(", "));
            sheet.short_field("runtimes down", names);
        }
        if let Some(counts) = words::counts(&self.inbox) {
            sheet.short_field("inbox", counts);
        }
        if let Some(oldest) = self.kitchen_decisions.first() {
            let count = self.kitchen_decisions.len();
            sheet.short_field(
                "kitchen decisions",
                format!("{count} (oldest: {}: {})", oldest.id, oldest.context),
            );
        }
        let asks = |row: &&brigade::report::WaitingRow| row.kind == brigade::report::WaitingKind::Question;
        if let Some(oldest) = self.waiting.iter().find(asks) {
            let count = self.waiting.iter().filter(asks).count();
            sheet.short_field(
                "questions of agents",
                format!("{count} (oldest: {} of {}: {})", oldest.id, oldest.who, oldest.text),
            );
        }
        sheet.short_field("issues", self.issue_count.to_string());
        let top = [
            ("tools", &self.top_tool_issue),
            ("projections", &self.top_projection_issue),
            ("policy", &self.top_policy_issue),
            ("runtimes", &self.top_runtime_issue),
            ("calls", &self.top_call_issue),
            ("runs", &self.top_run_issue),
            ("checkpoints", &self.top_checkpoint_issue),
            ("kitchen", &self.top_kitchen_issue),
        ];
        let mut table = Table::new(["top issues", "severity", "issue…"]);
        let top = top.into_iter().filter_map(|(area, issue)| Some((area, issue.as_ref()?)));
        for (area, issue) in top.take(MAX_TOP_ISSUES) {
            let [severity, line] = issue_line(&IssueLine::from(issue));
            table.row([Text::from(area), severity, line]);
        }
        if 0 < table.len() {
            page.data.gap();
            page.data.table(table);
        }
        page.data.gap();
        page.data.short_field("next", &self.next_reason);
        // The next step is the purpose of a brief, so it is data.
        if !page.has_workspace() {
            return;
        }
        let command = self.next_command.to_string();
        page.data.line(Text::new(Tone::Good, "help: ").then(Tone::Accent, &command));
        if 1 < self.pending_approval_count + self.held_count {
            page.next("brigade pending");
        }
        if !self.recent_failures.is_empty() {
            page.next("brigade log --since 24h --failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use brigade::Report as _;
    use brigade::core::Timestamp;
    use serde_json::{Value, json};
    use unicode_width::UnicodeWidthStr as _;

    use super::*;
    use crate::render::CommandWords;
    use crate::render::page::TextFormat;
    use crate::render::text::Colour;

    fn issue(kind: &str) -> Value {
        json!({
            "status": "warn",
            "name": format!("tool_{kind}"),
            "tool_id": "a-tool-with-a-long-name",
            "issue_type": kind,
            "labels": [],
            "help": null,
            "detail": "something is wrong, and it takes many words to say what it is: ".repeat(5),
            "severity": "warning",
            "fingerprint": "",
            "fix": "",
        })
    }

    /// A brief of a workspace with many items of every kind.
    fn full() -> BriefReport {
        let words = ["pending", "promoted", "dismissed", "done", "total", "unreadable"];
        let counts: BTreeMap<&str, u64> = words.into_iter().map(|word| (word, 12_345)).collect();
        let runtimes: Vec<String> = (0..50).map(|number| format!("runtime-{number}")).collect();
        let brief = json!({
            "schema": BriefReport::SCHEMA,
            "target": format!("/home/someone/{}", "a-long-folder/".repeat(12)),
            "valid": true,
            "tool_count": 10_000,
            "pending_approval_count": 10_000,
            "oldest_pending_call": {
                "id": "call-0123456789abcdef",
                "status": "pending",
                "tool_id": "t",
                "created_at": "2026-01-01T00:00:00+00:00",
            },
            "approved_count": 10_000,
            "stale_approval_count": 10_000,
            "pending_checkpoint_count": 10_000,
            "call_counts": {},
            "top_tool_issue": issue("invalid_output_schema"),
            "top_projection_issue": issue("conflicted_projection"),
            "top_policy_issue": issue("policy_denied_effect"),
            "top_runtime_issue": issue("runtime_high_risk_command"),
            "top_call_issue": issue("call_stale_approved"),
            "top_run_issue": issue("run_replay_blocked"),
            "top_checkpoint_issue": issue("checkpoint_rejected"),
            "top_kitchen_issue": issue("kitchen_approval_stale"),
            "issue_count": 10_000,
            "runtimes_down": runtimes,
            "inbox": counts,
            "next_command": "brigade tools call show call-0123456789abcdef",
            "next_reason": "a call waits for a decision ".repeat(10),
        });
        serde_json::from_value(brief).unwrap()
    }

    #[test]
    fn a_brief_of_much_fits_one_screen() {
        let mut page = Page::new(Timestamp::from_unix_micros(1_790_000_000_000_000), CommandWords::default());
        full().show(&mut page);
        let text = page.data.write(TextFormat { colour: Colour::Off, width: Some(80) }, None);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() < 24, "{} lines\n{text}", lines.len());
        for line in lines {
            assert!(line.width() <= 80, "{} columns: {line}", line.width());
        }
        assert!(text.contains("\nnext:"), "{text}");
        assert!(text.ends_with("\nhelp: brigade tools call show call-0123456789abcdef\n"), "{text}");
    }
}
