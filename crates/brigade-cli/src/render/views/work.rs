//! What waits for a person.

use brigade::core::Json;
use brigade::{BriefReport, InboxItemReport, InboxReport};

use super::doctor::show_issues;
use crate::render::failure::candidates;
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
        if let Some(error) = &self.error {
            page.error(error);
            candidates(&self.candidates, page);
        }
        if self.item.is_null() {
            return;
        }
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
    fn show(&self, page: &mut Page) {
        let sheet = &mut page.data;
        sheet.field("workspace", &self.target);
        sheet.field("tools", self.tool_count.to_string());
        sheet.field("calls to decide on", self.pending_approval_count.to_string());
        sheet.field_if("the oldest", values::some_text(&self.oldest_pending_call, "id"));
        sheet.field("approved, not run", self.approved_count.to_string());
        sheet.field("checkpoints to answer", self.pending_checkpoint_count.to_string());
        sheet.field_if("runtimes that are down", Some(self.runtimes_down.join(", ")));
        sheet.field_if("inbox", values::counts(&self.inbox));
        sheet.field("issues", self.issue_count.to_string());
        let top = [
            &self.top_tool_issue,
            &self.top_projection_issue,
            &self.top_policy_issue,
            &self.top_runtime_issue,
            &self.top_call_issue,
            &self.top_run_issue,
            &self.top_checkpoint_issue,
        ];
        let top: Vec<Json> = top.into_iter().filter(|issue| !issue.is_null()).cloned().collect();
        show_issues(&top, page);
        page.data.gap();
        page.data.field("next", Text::new(Tone::Accent, &self.next_command));
        page.data.field("because", &self.next_reason);
    }
}
