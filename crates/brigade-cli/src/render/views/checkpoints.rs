//! Checkpoints: questions that a program asks before it continues.

use brigade::core::{Json, NextStep, RunId};
use brigade::report::{CheckpointListReport, CheckpointReport, CheckpointReviewReport, ResumeReport};
use brigade::{Call, Checkpoint, CheckpointStatus};

use super::runs;
use crate::render::page::Page;
use crate::render::shell::quote;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};
use crate::render::{View, when, words};

impl View for CheckpointListReport {
    fn show(&self, page: &mut Page) {
        for error in &self.errors {
            page.trouble.line(
                Text::new(Tone::Bad, "unreadable: ")
                    .then(Tone::Accent, &error.checkpoint_path)
                    .then(Tone::Plain, &format!(": {}", error.error)),
            );
        }
        if self.checkpoints.is_empty() {
            page.data.line("no checkpoints");
            return;
        }
        let mut table = Table::new(["checkpoint", "tool", "status", "since…", "until…", "reason…"]);
        for checkpoint in &self.checkpoints {
            table.row([
                Text::new(Tone::Accent, checkpoint.id.as_str()),
                Text::from(&checkpoint.tool_id),
                words::status(checkpoint.status.as_str()),
                checkpoint.created_at.map_or_else(Text::default, |at| when::at(at, page.now)),
                checkpoint.expires_at.map_or_else(|| Text::from("never"), |until| when::at(until, page.now)),
                Text::from(checkpoint.reason.as_deref().unwrap_or_default()),
            ]);
        }
        page.data.table(table);
        page.next("brigade tools checkpoint show CHECKPOINT");
    }
}

impl View for CheckpointReport {
    fn show(&self, page: &mut Page) {
        show_checkpoint(&self.checkpoint, page);
        match &self.next {
            Some(NextStep::AnswerCheckpoint(id)) => {
                let choice = self.checkpoint.choices.first().map_or("continue", String::as_str);
                page.next(&format!("brigade tools checkpoint approve {id} --choice {}", quote(choice)));
            }
            Some(step) => page.next_step(step),
            None => {}
        }
    }
}

fn show_checkpoint(checkpoint: &Checkpoint, page: &mut Page) {
    let now = page.now;
    let sheet = &mut page.data;
    sheet.field("checkpoint", Text::new(Tone::Accent, checkpoint.id.as_str()));
    sheet.field("tool", Text::new(Tone::Strong, &checkpoint.tool_id));
    sheet.field("status", words::status(checkpoint.status.as_str()));
    sheet.field_if("call", Some(checkpoint.call_id.as_str()));
    sheet.field_if("run", Some(&checkpoint.run_id));
    sheet.field_if("reason", checkpoint.reason.as_deref());
    sheet.field_if("action", checkpoint.requested_action.as_deref());
    sheet.field_if("question", checkpoint.prompt.as_deref());
    sheet.field_if("choices", Some(checkpoint.choices.join(", ")));
    sheet.field_if("chosen", checkpoint.selected_choice.as_deref());
    for (at, name) in [
        (checkpoint.created_at, "created"),
        (checkpoint.expires_at, "expires"),
        (checkpoint.reviewed_at, "reviewed"),
    ] {
        sheet.field_if(name, at.map(|at| when::at(at, now)));
    }
    sheet.field_if("review", checkpoint.review_reason.as_deref());
    sheet.field_if("resumed by", checkpoint.resume_run_id.as_ref().map(RunId::as_str));
    match &checkpoint.context {
        Json::Null => {}
        Json::String(text) => sheet.field("context", text),
        context => sheet.field("context", context.to_compact()),
    }
}

/// Adds the next step for a checkpoint.
fn next_step(checkpoint: &Checkpoint, call: &Call, page: &mut Page) {
    let id = &checkpoint.id;
    let call_status = Some(call.status.as_str());
    match checkpoint.status {
        CheckpointStatus::Pending => {
            let choice = checkpoint.choices.first().map_or("continue", String::as_str);
            page.next(&format!("brigade tools checkpoint approve {id} --choice {}", quote(choice)));
        }
        // Other checkpoints of the run need an answer first.
        CheckpointStatus::Approved if call_status == Some("waiting") => {
            page.next_step(&NextStep::ListCheckpoints);
        }
        CheckpointStatus::Approved => match call.caller.agent() {
            Some(agent) => page.next_step(&NextStep::AgentGoesOn(agent.to_owned())),
            None => page.next_step(&NextStep::Resume(id.clone())),
        },
        CheckpointStatus::Rejected if matches!(call_status, Some("waiting" | "resume-pending")) => {
            page.next(&format!("brigade tools call reject {} --reason WHY", checkpoint.call_id));
        }
        CheckpointStatus::Rejected
        | CheckpointStatus::Resumed
        | CheckpointStatus::Failed
        | CheckpointStatus::Other(_) => {}
    }
}

impl View for CheckpointReviewReport {
    fn show(&self, page: &mut Page) {
        let (checkpoint, call) = (&self.checkpoint, &self.call);
        let call_status = call.status.as_str();
        let sheet = &mut page.data;
        sheet.field("checkpoint", Text::new(Tone::Accent, checkpoint.id.as_str()));
        sheet.field("status", words::status(checkpoint.status.as_str()));
        sheet.field_if("chosen", checkpoint.selected_choice.as_deref());
        sheet.field_if("reason", checkpoint.review_reason.as_deref());
        sheet.field("call", call.id.as_str());
        sheet.field("call status", words::status(call_status));
        if let Some(host) = self.resumes_on.as_ref().filter(|_| call_status == "resume-pending") {
            page.note(&format!("it is resumed on {host}, which made the run"));
        }
        next_step(checkpoint, call, page);
    }
}

impl View for ResumeReport {
    fn show(&self, page: &mut Page) {
        if let Some(failure) = &self.failure {
            page.error(brigade::ErrorCode::RunFailed, failure);
        }
        runs::show_receipt(&self.receipt, page);
        runs::next_step(&self.receipt, page);
    }
}
