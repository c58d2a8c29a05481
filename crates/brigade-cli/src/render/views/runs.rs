//! Runs and their receipts.

use std::io::{self, Write};

use brigade::core::Json;
use brigade::{LedgerReport, ReplayReport, Rows, RunListReport, RunShowReport};

use crate::render::next::step_text;
use crate::render::page::Page;
use crate::render::table::{Fit, Table};
use crate::render::text::{Text, Tone};
use crate::render::{View, json, values, when};

impl View for RunListReport {
    fn show(&self, page: &mut Page) {
        for error in &self.errors {
            let path = values::text(error, "receipt_path");
            page.trouble.line(
                Text::new(Tone::Bad, "unreadable: ")
                    .then(Tone::Accent, path)
                    .then(Tone::Plain, &format!(": {}", values::text(error, "error"))),
            );
        }
        if self.runs.is_empty() {
            page.data.line("no runs");
            for note in &self.notes {
                page.note(note);
            }
            page.next("brigade tools call run --next");
            return;
        }
        page.data.field("runs", self.run_count.to_string());
        page.data.field_if("status", values::counts(&self.counts));
        page.data.gap();
        page.data.table(runs_table(&self.runs, page));
        page.next("brigade tools run show RUN");
        if let Some(last) = &self.next_before {
            page.next(&format!("brigade tools run list --before {last}"));
        }
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let bare = RunListReport { runs: Rows::none(), ..self.clone() };
        json::write_with_lists(out, &bare, &["runs"], |_, out| json::write_list(out, &self.runs, drop))
    }
}

fn runs_table(runs: &Rows<Json>, page: &Page) -> Table {
    let mut table = Table::new([
        ("run", Fit::Whole),
        ("tool", Fit::Whole),
        ("status", Fit::Whole),
        ("exit", Fit::Whole),
        ("took", Fit::Whole),
        ("started", Fit::Cut),
    ]);
    for run in runs.iter() {
        let run = &run;
        table.row([
            Text::new(Tone::Accent, values::text(run, "id")),
            Text::from(values::text(run, "tool_id")),
            values::status(values::text(run, "status")),
            Text::from(values::integer(run, "exit_code").map_or_else(String::new, |code| code.to_string())),
            Text::from(values::number(run, "duration_seconds").map_or_else(String::new, when::measured)),
            when::moment(values::text(run, "started_at"), page.now),
        ]);
    }
    table
}

impl View for RunShowReport {
    fn show(&self, page: &mut Page) {
        show_receipt(&self.run, page);
        note_unrecorded(&self.run, page);
        if let Some(step) = &self.next {
            page.next(&step_text(step));
        }
    }
}

/// Shows what a receipt says.
pub(super) fn show_receipt(receipt: &Json, page: &mut Page) {
    let now = page.now;
    let sheet = &mut page.data;
    sheet.field("run", Text::new(Tone::Accent, values::text(receipt, "id")));
    sheet.field_if("call", values::some_text(receipt, "call_id"));
    sheet.field("tool", Text::new(Tone::Strong, values::text(receipt, "tool_id")));
    sheet.field("status", values::status(values::text(receipt, "status")));
    sheet.field_if("started", values::some_text(receipt, "started_at").map(|at| when::moment(at, now)));
    sheet.field_if("took", values::number(receipt, "duration_seconds").map(when::measured));
    sheet.field_if("exit code", values::integer(receipt, "exit_code").map(|code| code.to_string()));
    if values::flag(receipt, "timed_out") {
        let limit = values::number(receipt, "timeout").map_or_else(String::new, when::limit);
        sheet.field("timed out", Text::new(Tone::Bad, &format!("yes, after {limit}")));
    }
    sheet.field_if("command", values::some_text(receipt, "command_label"));
    sheet.field_if("effects", Some(values::words(receipt, "effects")));
    sheet.field_if("env labels", Some(values::words(receipt, "env_labels_used")));
    if let Some(tool) = values::some_text(receipt, "mcp_tool_name") {
        let server = values::text(receipt, "mcp_server_id");
        sheet.field("mcp tool", format!("{tool} of {server}"));
        sheet.field_if("answer", values::some_text(receipt, "mcp_response_text"));
        for change in values::list(receipt, "mcp_pin_changes").iter().filter_map(Json::as_str) {
            sheet.field("changed", Text::new(Tone::Warning, change));
        }
    } else {
        // What a server writes are messages of the protocol; its answer says it better.
        sheet.field_if("output", values::some_text(receipt, "stdout_summary"));
    }
    sheet.field_if("errors", values::some_text(receipt, "stderr_summary"));
    sheet.field_if("full output", values::some_text(receipt, "stdout_log_path"));
    sheet.field_if("full errors", values::some_text(receipt, "stderr_log_path"));
    if receipt.get("recorded").and_then(Json::as_bool) != Some(false) {
        sheet.field_if("receipt", values::some_text(receipt, "receipt_path"));
    }
    sheet.field_if("checkpoint", values::some_text(receipt, "checkpoint_id"));
}

fn note_unrecorded(receipt: &Json, page: &mut Page) {
    if receipt.get("recorded").and_then(Json::as_bool) == Some(false) {
        page.note("the runner was ended before the run was; its receipt is written by the next command that changes a call");
    }
}

/// Says what can be done after a run.
pub(super) fn next_step(receipt: &Json, page: &mut Page) {
    note_unrecorded(receipt, page);
    match values::text(receipt, "status") {
        "waiting" => match values::some_text(receipt, "checkpoint_id") {
            Some(checkpoint) => page.next(&format!("brigade tools checkpoint show {checkpoint}")),
            None => page.next("brigade tools checkpoint list"),
        },
        "failed" | "timed-out" | "interrupted" => {
            page.next(&format!("brigade tools run replay {}", values::text(receipt, "id")));
        }
        _ => {}
    }
}

impl View for ReplayReport {
    fn show(&self, page: &mut Page) {
        let id = values::text(&self.call, "id");
        page.data.field("replay of", values::text(&self.run, "id"));
        page.data.field("call", Text::new(Tone::Accent, id));
        page.data.field("status", values::status(values::text(&self.call, "status")));
        page.data.field("executed", "no");
        page.next(&format!("brigade tools call approve {id}"));
    }
}

impl View for LedgerReport {
    fn show(&self, page: &mut Page) {
        page.data.field("checked", format!("{} receipts", self.checked));
        page.data.field(
            "result",
            if self.valid {
                Text::new(Tone::Good, "everything fits together")
            } else {
                Text::new(Tone::Bad, "something does not fit")
            },
        );
        if !self.adopted {
            page.note("receipts of an older program enter the ledger with the first write");
        }
        for finding in &self.findings {
            let place = match (finding.sequence, finding.line) {
                (Some(sequence), _) => format!("{sequence}: "),
                (None, Some(line)) => format!("ledger.jsonl:{line}"),
                (None, None) => String::new(),
            };
            page.data.indented(
                2,
                Text::new(Tone::Bad, finding.problem)
                    .then(Tone::Plain, &format!(" {place}"))
                    .then(Tone::Accent, &finding.run_id)
                    .then(Tone::Plain, &format!(": {}", finding.detail)),
            );
        }
    }
}
