//! Plans, calls, and what became of them.

use std::borrow::Cow;

use brigade::core::{Json, NextStep};
use brigade::{CallReport, PlanReport, QueueReport, ReviewReport, RunReport};

use super::runs;
use crate::render::blockers;
use crate::render::next::step_text;
use crate::render::page::{Page, Sheet};
use crate::render::shell::quoted;
use crate::render::text::{Text, Tone};
use crate::render::{View, values, when};

impl View for PlanReport {
    fn show(&self, page: &mut Page) {
        let sheet = &mut page.data;
        sheet.field("tool", Text::new(Tone::Strong, &self.tool_id));
        show_contract(&self.plan, sheet);
        sheet.field_if("command line", command_line(&self.argv));
        sheet.field("can be queued", values::yes_no(self.valid));
        show_arguments(self.plan.get("args"), sheet);
        show_blockers(&self.blocker_details, sheet);
        for warning in &self.warnings {
            page.note(warning);
        }
        if self.valid {
            page.next(&queue_command(&self.tool_id, self.plan.get("args")));
        } else {
            page.next(&format!("brigade tools describe {}", self.tool_id));
        }
    }
}

/// Returns the command that queues what was planned.
fn queue_command(tool_id: &str, arguments: Option<&Json>) -> String {
    let command = format!("brigade tools call queue {}", quoted(tool_id));
    match arguments.and_then(Json::as_object).filter(|arguments| !arguments.is_empty()) {
        Some(arguments) => {
            let json = Json::Object(arguments.clone()).to_compact();
            if LONG < json.len() {
                return format!("{command} --args-json FILE (with the same arguments)");
            }
            format!("{command} --args {}", quoted(&json))
        }
        None => command,
    }
}

/// How much of one argument, or of all in a command, is shown, in bytes.
const LONG: usize = 2_000;

/// Returns the beginning of a text that is too long to be shown, and how much is left out.
fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= LONG {
        return Cow::Borrowed(text);
    }
    let shown = &text[..text.floor_char_boundary(LONG)];
    Cow::Owned(format!("{shown}… (and {} bytes more)", text.len() - shown.len()))
}

/// Shows the words of a command line so that a shell would read them back.
fn command_line(argv: &[String]) -> Option<Text> {
    let words: Vec<String> = argv.iter().map(|word| quoted(&shortened(word))).collect();
    (!words.is_empty()).then(|| Text::new(Tone::Accent, &words.join(" ")))
}

/// Shows what a call may do; for plans and for the contract of a stored call.
fn show_contract(contract: &Json, sheet: &mut Sheet) {
    sheet.field_if("family", values::some_text(contract, "family"));
    sheet.field_if("command", values::some_text(contract, "command"));
    sheet.field_if("cwd", values::some_text(contract, "cwd"));
    sheet.field_if("approval mode", values::some_text(contract, "approval_mode"));
    sheet.field_if("permissions", Some(values::words(contract, "permissions")));
    sheet.field_if("effects", Some(values::words(contract, "effects")));
    sheet.field_if("env labels", Some(values::words(contract, "env_labels")));
    sheet.field_if("timeout", values::number(contract, "timeout").map(when::limit));
    sheet.field_if("runtime", values::some_text(contract, "runtime_id"));
    sheet.field_if("mcp tool", values::some_text(contract, "mcp_tool_name"));
}

fn show_arguments(arguments: Option<&Json>, sheet: &mut Sheet) {
    let Some(arguments) = arguments.and_then(Json::as_object).filter(|arguments| !arguments.is_empty())
    else {
        return;
    };
    sheet.line(Text::new(Tone::Faint, "arguments:"));
    for (name, value) in arguments {
        sheet.indented(
            2,
            Text::new(Tone::Strong, name)
                .then(Tone::Plain, &format!(" = {}", shortened(&value.to_compact()))),
        );
    }
}

/// Shows how many reasons there are, and each.
fn show_blockers(details: &[Json], sheet: &mut Sheet) {
    if details.is_empty() {
        return;
    }
    sheet.line(Text::new(Tone::Faint, "blockers: ").then(Tone::Bad, &details.len().to_string()));
    blockers::show(details, sheet);
}

impl View for QueueReport {
    fn show(&self, page: &mut Page) {
        let id = values::text(&self.call, "id");
        page.data.field("call", Text::new(Tone::Accent, id));
        page.data.field("tool", values::text(&self.call, "tool_id"));
        page.data.field("status", values::status(values::text(&self.call, "status")));
        page.data.field("queued", if self.created == 1 { "yes" } else { "no, it was there already" });
        page.data.field_if("reason", self.reason.as_ref());
        show_blockers(&self.blocker_details, &mut page.data);
        next_step(&self.call, page);
    }
}

/// Says what can be done with a call as it stands.
fn next_step(call: &Json, page: &mut Page) {
    let id = values::text(call, "id");
    match values::text(call, "status") {
        "pending" if values::list(call, "blockers").is_empty() => {
            page.next(&format!("brigade tools call approve {id}"));
        }
        // What it binds may have changed since it was put aside.
        "held" => page.next(&format!("brigade tools call show {id}")),
        "approved" => page.next(&format!("brigade tools call run {id}")),
        "waiting" => page.next("brigade tools checkpoint list"),
        "resume-pending" => {
            if let Some(checkpoint) = values::some_text(call, "checkpoint_id") {
                page.next(&format!("brigade tools checkpoint resume {checkpoint}"));
            }
        }
        "completed" | "failed" | "timed-out" | "interrupted" => {
            if let Some(run) = values::some_text(call, "run_id") {
                page.next(&format!("brigade tools run show {run}"));
            }
        }
        _ => {}
    }
}

impl View for CallReport {
    fn show(&self, page: &mut Page) {
        show_call(&self.call, page);
        if let Some(pin) = &self.pin {
            super::mcp::waiting_change(pin, page);
        }
        if !self.changed.is_empty() {
            page.data.field("changed", Text::new(Tone::Bad, &self.changed.join(", ")));
            page.note("changed since it was approved, so it does not run; queue it again and approve that");
        }
        match &self.next {
            Some(NextStep::QueueCall(tool)) => page.next(&queue_command(tool, self.call.get("args"))),
            Some(step) => page.next(&step_text(step)),
            None => {}
        }
    }
}

fn show_call(call: &Json, page: &mut Page) {
    let now = page.now;
    let sheet = &mut page.data;
    sheet.field("call", Text::new(Tone::Accent, values::text(call, "id")));
    sheet.field("tool", Text::new(Tone::Strong, values::text(call, "tool_id")));
    sheet.field("status", values::status(values::text(call, "status")));
    for (key, name) in [
        ("created_at", "created"),
        ("reviewed_at", "reviewed"),
        ("started_at", "started"),
        ("completed_at", "completed"),
    ] {
        sheet.field_if(name, values::some_text(call, key).map(|at| when::moment(at, now)));
    }
    sheet.field_if("reason", values::some_text(call, "review_reason"));
    sheet.field_if("replay of", values::some_text(call, "replay_of_run_id"));
    sheet.field_if("family", values::some_text(call, "family"));
    sheet.field_if("command", values::some_text(call, "command"));
    if let Some(contract) = call.get("contract") {
        show_contract(contract, sheet);
    }
    sheet.field_if("exit code", values::integer(call, "exit_code").map(|code| code.to_string()));
    sheet.field_if("run", values::some_text(call, "run_id"));
    sheet.field_if("receipt", values::some_text(call, "receipt_path"));
    let waits = matches!(values::text(call, "status"), "waiting" | "resume-pending");
    sheet.field_if("waits on", values::some_text(call, "checkpoint_id").filter(|_| waits));
    show_arguments(call.get("args"), sheet);
    match values::list(call, "blocker_details") {
        [] => show_blockers(&as_details(values::list(call, "blockers")), sheet),
        details => show_blockers(details, sheet),
    }
}

/// Makes details of reasons that are sentences alone, as older records have them.
fn as_details(sentences: &[Json]) -> Vec<Json> {
    sentences.iter().map(|sentence| Json::object([("message", sentence.clone())])).collect()
}

impl View for ReviewReport {
    fn show(&self, page: &mut Page) {
        page.data.field("call", Text::new(Tone::Accent, values::text(&self.call, "id")));
        page.data.field("tool", values::text(&self.call, "tool_id"));
        page.data.field("status", values::status(values::text(&self.call, "status")));
        page.data.field_if("reason", values::some_text(&self.call, "review_reason"));
        if let Some(pin) = &self.pin {
            super::mcp::accepted_change(pin, &self.accepted_changes, page);
        }
        next_step(&self.call, page);
    }
}

impl View for RunReport {
    fn show(&self, page: &mut Page) {
        for passed in &self.passed_over {
            let reasons = passed.reasons.join("; ");
            page.note(&format!("passed over {}: {reasons}", passed.call_id));
        }
        for warning in &self.warnings {
            page.note(warning);
        }
        if let Some(failure) = &self.failure {
            page.error(brigade::codes::RUN_FAILED, failure);
        }
        runs::show_receipt(&self.receipt, page);
        runs::next_step(&self.receipt, page);
    }
}
