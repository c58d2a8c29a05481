//! Checkpoints: what a program asks before it goes on.

use brigade::core::Json;
use brigade::{CheckpointListReport, CheckpointReport, CheckpointReviewReport, ResumeReport};

use super::runs;
use crate::render::page::Page;
use crate::render::shell::quoted;
use crate::render::table::{Fit, Table};
use crate::render::text::{Text, Tone};
use crate::render::{View, values, when};

impl View for CheckpointListReport {
    fn show(&self, page: &mut Page) {
        for error in &self.errors {
            page.trouble.line(
                Text::new(Tone::Bad, "unreadable: ")
                    .then(Tone::Accent, values::text(error, "checkpoint_path"))
                    .then(Tone::Plain, &format!(": {}", values::text(error, "error"))),
            );
        }
        if self.checkpoints.is_empty() {
            page.data.line("no checkpoints");
            return;
        }
        let mut table = Table::new([
            ("checkpoint", Fit::Whole),
            ("tool", Fit::Whole),
            ("status", Fit::Whole),
            ("since", Fit::Cut),
            ("until", Fit::Cut),
            ("reason", Fit::Cut),
        ]);
        for checkpoint in &self.checkpoints {
            table.row([
                Text::new(Tone::Accent, values::text(checkpoint, "id")),
                Text::from(values::text(checkpoint, "tool_id")),
                values::status(values::text(checkpoint, "status")),
                when::moment(values::text(checkpoint, "created_at"), page.now),
                values::some_text(checkpoint, "expires_at")
                    .map_or_else(|| Text::from("no end"), |until| when::moment(until, page.now)),
                Text::from(values::text(checkpoint, "reason")),
            ]);
        }
        page.data.table(table);
        page.next("brigade tools checkpoint show CHECKPOINT");
    }
}

impl View for CheckpointReport {
    fn show(&self, page: &mut Page) {
        show_checkpoint(&self.checkpoint, page);
        next_step(&self.checkpoint, self.call_status.as_deref(), page);
    }
}

fn show_checkpoint(checkpoint: &Json, page: &mut Page) {
    let now = page.now;
    let sheet = &mut page.data;
    sheet.field("checkpoint", Text::new(Tone::Accent, values::text(checkpoint, "id")));
    sheet.field("tool", Text::new(Tone::Strong, values::text(checkpoint, "tool_id")));
    sheet.field("status", values::status(values::text(checkpoint, "status")));
    sheet.field_if("call", values::some_text(checkpoint, "call_id"));
    sheet.field_if("run", values::some_text(checkpoint, "run_id"));
    sheet.field_if("reason", values::some_text(checkpoint, "reason"));
    sheet.field_if("wants to", values::some_text(checkpoint, "requested_action"));
    sheet.field_if("asks", values::some_text(checkpoint, "prompt"));
    sheet.field_if("choices", Some(values::words(checkpoint, "choices")));
    sheet.field_if("chosen", values::some_text(checkpoint, "selected_choice"));
    for (key, name) in [("created_at", "created"), ("expires_at", "expires"), ("reviewed_at", "reviewed")] {
        sheet.field_if(name, values::some_text(checkpoint, key).map(|at| when::moment(at, now)));
    }
    sheet.field_if("review", values::some_text(checkpoint, "review_reason"));
    sheet.field_if("resumed by", values::some_text(checkpoint, "resume_run_id"));
    if let Some(context) = checkpoint.get("context").filter(|context| !context.is_null()) {
        sheet.field("context", values::short(context));
    }
}

/// Says what can be done with a checkpoint as it stands.
fn next_step(checkpoint: &Json, call_status: Option<&str>, page: &mut Page) {
    let id = values::text(checkpoint, "id");
    match values::text(checkpoint, "status") {
        "pending" => {
            let choices = values::list(checkpoint, "choices");
            let choice = choices.first().and_then(Json::as_str).unwrap_or("continue");
            page.next(&format!("brigade tools checkpoint approve {id} --choice {}", quoted(choice)));
        }
        // Others of the same run are still to be answered.
        "approved" if call_status == Some("waiting") => page.next("brigade tools checkpoint list"),
        "approved" => page.next(&format!("brigade tools checkpoint resume {id}")),
        "rejected" if matches!(call_status, Some("waiting" | "resume-pending")) => {
            let call = values::text(checkpoint, "call_id");
            page.next(&format!("brigade tools call reject {call} --reason WHY"));
        }
        _ => {}
    }
}

impl View for CheckpointReviewReport {
    fn show(&self, page: &mut Page) {
        let sheet = &mut page.data;
        sheet.field("checkpoint", Text::new(Tone::Accent, values::text(&self.checkpoint, "id")));
        sheet.field("status", values::status(values::text(&self.checkpoint, "status")));
        sheet.field_if("chosen", values::some_text(&self.checkpoint, "selected_choice"));
        sheet.field_if("reason", values::some_text(&self.checkpoint, "review_reason"));
        sheet.field_if("call", values::some_text(&self.call, "id"));
        sheet.field_if("call status", values::some_text(&self.call, "status").map(values::status));
        next_step(&self.checkpoint, values::some_text(&self.call, "status"), page);
    }
}

impl View for ResumeReport {
    fn show(&self, page: &mut Page) {
        if let Some(failure) = &self.failure {
            page.error(brigade::codes::RUN_FAILED, failure);
        }
        runs::show_receipt(&self.receipt, page);
        runs::next_step(&self.receipt, page);
    }
}
