//! What waits for a person.

use brigade::{BriefReport, InboxItemReport, InboxReport};

use super::doctor::issue_line;
use crate::render::page::Page;
use crate::render::table::{Fit, Table};
use crate::render::text::{Text, Tone};
use crate::render::{View, values, when};

impl View for InboxReport {
    fn show(&self, page: &mut Page) {
        if 0 < self.unreadable_count {
            page.note(&format!("{} lines of the inbox cannot be read", self.unreadable_count));
        }
        if self.items.is_empty() {
            page.data.line("no rows");
            page.next("brigade tools import-issues");
            return;
        }
        page.data.field_if("rows", values::counts(&self.counts));
        page.data.gap();
        let mut table = Table::new([
            ("row", Fit::Whole),
            ("status", Fit::Whole),
            ("source", Fit::Whole),
            ("created", Fit::Whole),
            ("text", Fit::Cut),
        ]);
        for item in &self.items {
            let created = values::text(item, "created_at");
            let age = created.parse().map_or_else(|_| created.to_owned(), |at| when::distance(at, page.now));
            table.row([
                Text::new(Tone::Accent, values::text(item, "id")),
                values::status(values::text(item, "status")),
                Text::from(values::text(item, "source")),
                Text::from(age),
                Text::from(values::text(item, "text")),
            ]);
        }
        page.data.table(table);
        page.next("brigade work inbox show ROW");
    }
}

impl View for InboxItemReport {
    fn show(&self, page: &mut Page) {
        let now = page.now;
        let sheet = &mut page.data;
        sheet.field("row", Text::new(Tone::Accent, values::text(&self.item, "id")));
        sheet.field("status", values::status(values::text(&self.item, "status")));
        sheet.field_if("source", values::some_text(&self.item, "source"));
        sheet.field_if("text", values::some_text(&self.item, "text"));
        for (key, name) in [("created_at", "created"), ("updated_at", "updated")] {
            sheet.field_if(name, values::some_text(&self.item, key).map(|at| when::moment(at, now)));
        }
        sheet.field_if("priority", values::some_text(&self.item, "priority"));
        sheet.field_if("done when", Some(values::words(&self.item, "acceptance")));
        if values::text(&self.item, "status") == "pending" {
            page.next(&format!("brigade work inbox promote {}", values::text(&self.item, "id")));
        }
    }
}

impl View for BriefReport {
    /// Fits one screen: at most 22 lines of what is there, each cut where the terminal ends, but for the next command.
    fn show(&self, page: &mut Page) {
        let now = page.now;
        let sheet = &mut page.data;
        sheet.short_field("workspace", &self.target);
        sheet.short_field("tools", self.tool_count.to_string());
        let mut undecided = Text::from(self.pending_approval_count.to_string());
        if let Some(id) = values::some_text(&self.oldest_pending_call, "id") {
            let age = values::text(&self.oldest_pending_call, "created_at").parse();
            let age = age.map_or_else(|_| String::new(), |at| format!(", {}", when::distance(at, now)));
            undecided = undecided.then(Tone::Faint, &format!(" (the oldest: {id}{age})"));
        }
        sheet.short_field("calls to decide on", undecided);
        let stale = match self.stale_approval_count {
            0 => String::new(),
            stale => format!(" ({stale} changed since)"),
        };
        sheet.short_field("approved, not run", format!("{}{stale}", self.approved_count));
        sheet.short_field("checkpoints to answer", self.pending_checkpoint_count.to_string());
        if !self.runtimes_down.is_empty() {
            let names = format!("{} ({})", self.runtimes_down.len(), self.runtimes_down.join(", "));
            sheet.short_field("runtimes that are down", names);
        }
        if let Some(counts) = values::counts(&self.inbox) {
            sheet.short_field("inbox", counts);
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
        ];
        let mut table = Table::new([("worst of", Fit::Whole), ("severity", Fit::Whole), ("issue", Fit::Cut)]);
        for (area, issue) in top.into_iter().filter(|(_, issue)| !issue.is_null()) {
            let [severity, line] = issue_line(issue);
            table.row([Text::from(area), severity, line]);
        }
        if 0 < table.len() {
            page.data.gap();
            page.data.table(table);
        }
        page.data.gap();
        page.data.field("next", Text::new(Tone::Accent, &self.next_command.to_string()));
        page.data.short_field("because", &self.next_reason);
    }
}

#[cfg(test)]
mod tests {
    use brigade::core::{Hint, Json, Timestamp};
    use unicode_width::UnicodeWidthStr as _;

    use super::*;
    use crate::render::page::Look;
    use crate::render::text::Colour;

    fn issue(kind: &str) -> Json {
        Json::object([
            ("severity", Json::from("warning")),
            ("issue_type", Json::from(kind)),
            ("tool_id", Json::from("a-tool-with-a-long-name")),
            (
                "detail",
                Json::from("something is wrong, and it takes many words to say what it is: ".repeat(5)),
            ),
        ])
    }

    /// A brief of a workspace that has everything, and much of it.
    fn full() -> BriefReport {
        let counts = |words: &[&str]| Json::object(words.iter().map(|word| (*word, Json::from(12_345_u64))));
        BriefReport {
            schema: "",
            target: format!("/home/someone/{}", "a-long-folder/".repeat(12)),
            valid: true,
            tool_count: 10_000,
            pending_approval_count: 10_000,
            oldest_pending_call: Json::object([
                ("id", Json::from("call-0123456789abcdef")),
                ("created_at", Json::from("2026-01-01T00:00:00+00:00")),
            ]),
            approved_count: 10_000,
            stale_approval_count: 10_000,
            pending_checkpoint_count: 10_000,
            call_counts: Json::Null,
            top_tool_issue: issue("invalid_output_schema"),
            top_projection_issue: issue("conflicted_projection"),
            top_policy_issue: issue("policy_denied_effect"),
            top_runtime_issue: issue("runtime_high_risk_command"),
            top_call_issue: issue("call_stale_approved"),
            top_run_issue: issue("run_replay_blocked"),
            top_checkpoint_issue: issue("checkpoint_rejected"),
            issue_count: 10_000,
            runtimes_down: (0..50).map(|number| format!("runtime-{number}")).collect(),
            inbox: counts(&["pending", "promoted", "dismissed", "done", "total", "unreadable"]),
            next_command: Hint::from("brigade tools call show call-0123456789abcdef"),
            next_reason: "a call waits for a decision ".repeat(10),
        }
    }

    #[test]
    fn a_brief_of_much_fits_one_screen() {
        let mut page = Page::new(Timestamp::from_unix_micros(1_790_000_000_000_000));
        full().show(&mut page);
        let text = page.data.write(Look { colour: Colour::Off, width: Some(80), graphics: false }, None);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() < 24, "{} lines\n{text}", lines.len());
        for line in lines {
            assert!(line.width() <= 80, "{} columns: {line}", line.width());
        }
        assert!(text.contains("\nnext:") && text.contains("call show call-0123456789abcdef\n"), "{text}");
    }
}
