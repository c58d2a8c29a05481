//! Runs and their receipts.

use std::io::{self, Write};

use brigade::core::{CheckpointId, NextStep, json};
use brigade::records::{ObservedAddress, ObservedDenial};
use brigade::report::{
    HistoryRow, LedgerReport, ObserveReport, ReplayReport, Rows, RunInputsReport, RunListReport,
    RunShowReport,
};
use brigade::{Effect, Receipt, RunStatus};

use super::catalog::config_errors;
use super::daily::{history_row, history_table};
use crate::render::page::{Page, Sheet};
use crate::render::text::{Text, Tone};
use crate::render::{View, when, words};

/// Shows a list of runs, each as the log shows it.
pub(crate) fn show_run_list(list: &RunListReport, rows: &[HistoryRow], page: &mut Page) {
    for error in &list.errors {
        page.trouble.line(
            Text::new(Tone::Bad, "unreadable: ")
                .then(Tone::Accent, &error.receipt_path)
                .then(Tone::Plain, &format!(": {}", error.error)),
        );
    }
    if rows.is_empty() {
        page.data.line("no runs");
        page.notes(&list.notes);
        page.next_step(&NextStep::ListCalls);
        return;
    }
    if let Some(counts) = words::counts(&list.counts) {
        page.data.line(Text::new(Tone::Faint, "runs: ").then(Tone::Plain, &counts));
    }
    let mut table = history_table("run");
    rows.iter().for_each(|row| history_row(row, page.now, &mut table));
    page.data.table(table);
    page.next("brigade tools run show RUN");
    if let Some(last) = &list.next_before {
        page.next(&format!("brigade tools run list --before {last}"));
    }
}

/// Writes a list of runs as its document.
pub(crate) fn write_run_list(list: &RunListReport, out: &mut dyn Write) -> io::Result<()> {
    let mut bare = list.clone();
    bare.runs = Rows::none();
    json::write_with_lists(out, &bare, &["runs"], |_, out| json::write_rows(out, &list.runs, drop))
}

impl View for RunShowReport {
    fn show(&self, page: &mut Page) {
        match &self.logs_on {
            Some(host) => {
                let mut receipt = (*self.run).clone();
                (receipt.stdout_log_path, receipt.stderr_log_path) = (None, None);
                receipt.receipt_path = None;
                show_receipt(&receipt, page);
                page.data.field("logs", format!("on {host}"));
            }
            None => show_receipt(&self.run, page),
        }
        for warning in self.run.warnings.iter().flatten() {
            page.note(warning);
        }
        note_unrecorded(&self.run, page);
        if let Some(step) = &self.next {
            page.next_step(step);
        }
    }
}

impl View for RunInputsReport {
    fn show(&self, page: &mut Page) {
        page.data.field("run", Text::new(Tone::Accent, &self.run_id));
        page.data.field("tool", Text::new(Tone::Strong, &self.tool_id));
        match &self.observed_run_id {
            Some(start) if is_start(start) => {
                page.data.field(
                    "observed",
                    format!("{start}, the process of the server, with the calls of all its entries"),
                );
            }
            Some(run) if *run != self.run_id => {
                page.data.field(
                    "observed",
                    format!("{run}, with the same bound files; other files may have changed since"),
                );
            }
            Some(_) => {}
            None => page.data.field_if("observed", self.reason.as_deref()),
        }
        if self.observed_run_id.is_some() && !self.complete {
            page.note("the observation is incomplete; entries may be missing");
        }
        let groups = [
            ("bound by the approval", &self.bound),
            ("named by arguments", &self.arguments),
            ("data", &self.data),
            ("not covered", &self.uncovered),
        ];
        for (name, inputs) in groups {
            let lines = inputs.iter().map(|input| {
                let text = Text::from(&input.path);
                let text = if input.executed { text.then(Tone::Plain, " (executed)") } else { text };
                if input.differs { text.then(Tone::Bad, " (other bytes than approved)") } else { text }
            });
            group(page, name, lines);
        }
        group(page, "written", self.written.iter().map(Text::from));
        let address = |seen: &ObservedAddress| match seen.port {
            Some(port) => format!("{} {} port {port}", seen.what, seen.address),
            None => format!("{} {}", seen.what, seen.address),
        };
        group(page, "connected", self.connected.iter().map(|seen| Text::from(address(seen))));
        let denial = |denied: &ObservedDenial| format!("{} {}", denied.what, denied.path);
        group(page, "denied", self.denied.iter().map(|denied| Text::from(denial(denied))));
    }
}

impl View for ObserveReport {
    fn show(&self, page: &mut Page) {
        config_errors(&self.errors, page);
        page.data.field("tool", Text::new(Tone::Strong, &self.tool_id));
        let observed = self.observed_run_ids.len();
        page.data.field("runs", format!("{} looked at, {observed} observed", self.run_count));
        if observed == 0 {
            let why =
                "no run was observed: a run is observed in a sandbox, on Linux, unless `observe` is `never`";
            page.note(self.reason.as_deref().unwrap_or(why));
            return;
        }
        if !self.complete {
            page.note("the observation is incomplete; entries may be missing");
        }
        if self.observed_run_ids.iter().any(|id| is_start(id)) {
            page.note("its server is observed as one process: this is from the calls of all its entries");
        }
        let unbound = self.unbound.iter().map(|file| {
            let text = Text::from(&file.path);
            let text = if file.executed { text.then(Tone::Plain, " (executed)") } else { text };
            let text = if file.denied { text.then(Tone::Bad, " (denied)") } else { text };
            if file.written { text.then(Tone::Warning, " (written by the run)") } else { text }
        });
        group(page, "not bound, named or declared", unbound);
        let verb = if self.written { "added to" } else { "declare as" };
        group(page, &format!("{verb} code"), self.code.iter().map(Text::from));
        group(page, &format!("{verb} data"), self.data.iter().map(Text::from));
        let name = "moved from code to data, and not bound any more";
        group(page, name, self.code_removed.iter().map(Text::from));
        group(page, "code that a run tried to write", self.code_written.iter().map(Text::from));
        if !self.code_written.is_empty() {
            page.note(
                "it stays code, and no run may write it; if a file is state instead of code, `--write --as-data PATH` \
                 makes it data, which approvals do not bind",
            );
        }
        let effects = self.effects_undeclared.iter().map(|used| {
            let word = if used.denied { "denied" } else { "used" };
            Text::new(Tone::Strong, &used.effect).then(Tone::Plain, &format!(" ({word}: {})", used.example))
        });
        group(page, if self.written { "added to effects" } else { "used, not declared" }, effects);
        let name = if self.written { "removed from effects" } else { "declared, not used" };
        group(page, name, self.effects_unused.iter().map(Text::from));
        for advice in &self.advice {
            page.note(advice);
        }
        if self.written {
            page.note("approvals of the tool's calls have ended: queue and approve them again");
        }
        page.next(&self.next_command.to_string());
    }
}

/// Returns whether an id is that of a kept server's start.
fn is_start(id: &str) -> bool {
    id.starts_with("start-")
}

/// Shows a list under its name and length. Shows nothing for an empty list.
fn group(page: &mut Page, name: &str, lines: impl ExactSizeIterator<Item = Text>) {
    if lines.len() == 0 {
        return;
    }
    page.data.gap();
    page.data.line(Text::new(Tone::Strong, &format!("{name}: {}", lines.len())));
    for line in lines {
        page.data.indented(2, line);
    }
}

/// Shows a receipt.
pub(super) fn show_receipt(receipt: &Receipt, page: &mut Page) {
    let now = page.now;
    let sheet = &mut page.data;
    sheet.field("run", Text::new(Tone::Accent, receipt.id.as_str()));
    sheet.field_if("call", Some(receipt.call_id.as_str()));
    sheet.field("tool", Text::new(Tone::Strong, &receipt.tool_id));
    sheet.field("status", words::status(receipt.status.as_str()));
    sheet.field_if("started", receipt.started_at().map(|at| when::at(at, now)));
    sheet.field_if(
        "duration",
        receipt.duration_seconds.as_ref().map(|took| when::format_seconds(took.as_f64())),
    );
    sheet.field_if("exit code", Some(words::number(receipt.exit_code)));
    super::install::show_installation(receipt, sheet);
    if receipt.timed_out {
        let limit = receipt.timeout.as_ref().map_or_else(String::new, |limit| when::limit(limit.as_f64()));
        sheet.field("timed out", Text::new(Tone::Bad, &format!("yes, after {limit}")));
    }
    sheet.field_if("command", receipt.command_label.as_deref());
    let effects: Vec<&str> = receipt.effects.iter().map(Effect::as_str).collect();
    sheet.field_if("effects", Some(effects.join(", ")));
    sheet.field_if("env labels", Some(receipt.env_labels_used.join(", ")));
    if let Some(tool) = receipt.mcp_tool_name.as_deref().filter(|tool| !tool.is_empty()) {
        let server = receipt.mcp_server_id.as_deref().unwrap_or_default();
        sheet.field("mcp tool", format!("{tool} of {server}"));
        sheet.field_if("answer", receipt.mcp_response_text.as_deref());
        for change in receipt.mcp_pin_changes.iter().flatten() {
            sheet.field("changed", Text::new(Tone::Warning, change));
        }
    } else {
        // The output of an MCP server is protocol messages, so only its answer is shown.
        sheet.field_if("output", Some(&receipt.stdout_summary));
    }
    sheet.field_if("errors", Some(&receipt.stderr_summary));
    let output = receipt.output.as_ref();
    let dropped = output.map_or(0, |output| output.stdout.dropped);
    log(["full output", "kept output"], receipt.stdout_log_path.as_deref(), dropped, sheet);
    let dropped = output.map_or(0, |output| output.stderr.dropped);
    log(["full errors", "kept errors"], receipt.stderr_log_path.as_deref(), dropped, sheet);
    if receipt.recorded != Some(false) {
        sheet.field_if("receipt", receipt.receipt_path.as_deref());
    }
    sheet.field_if("checkpoint", receipt.checkpoint_id.as_ref().map(CheckpointId::as_str));
}

/// Adds the log file of a stream. The first label is used if the file is complete.
fn log([whole, part]: [&str; 2], file: Option<&str>, dropped: u64, sheet: &mut Sheet) {
    if dropped == 0 {
        return sheet.field_if(whole, file);
    }
    let rest = format!(" ({dropped} more bytes were dropped; see `max_output_bytes` in policy.toml)");
    sheet.field_if(part, file.map(|file| Text::new(Tone::Plain, file).then(Tone::Faint, &rest)));
}

fn note_unrecorded(receipt: &Receipt, page: &mut Page) {
    if receipt.recorded == Some(false) {
        page.note(
            "brigade was ended during this run; the next command that changes a call writes the receipt",
        );
    }
}

/// Adds the next step after a run.
pub(super) fn next_step(receipt: &Receipt, page: &mut Page) {
    note_unrecorded(receipt, page);
    match receipt.status {
        RunStatus::Waiting => {
            let checkpoint = receipt.checkpoint_id.clone();
            page.next_step(&checkpoint.map_or(NextStep::ListCheckpoints, NextStep::ShowCheckpoint));
        }
        RunStatus::Failed | RunStatus::TimedOut | RunStatus::Interrupted => {
            page.next_step(&NextStep::Replay(receipt.id.clone()));
        }
        _ => {}
    }
}

impl View for ReplayReport {
    fn show(&self, page: &mut Page) {
        let call = &self.call;
        page.data.field("replay of", self.run.id.as_str());
        page.data.field("call", Text::new(Tone::Accent, call.id.as_str()));
        page.data.field("status", words::status(call.status.as_str()));
        page.data.field("executed", "no");
        page.next_step(&NextStep::Approve(call.id.clone()));
    }
}

impl View for LedgerReport {
    fn show(&self, page: &mut Page) {
        let noun = if self.checked == 1 { "receipt" } else { "receipts" };
        page.data.field("checked", format!("{} {noun}", self.checked));
        page.data.field(
            "result",
            if self.valid { Text::new(Tone::Good, "valid") } else { Text::new(Tone::Bad, "invalid") },
        );
        if !self.adopted {
            page.note("the receipts of v0.30 are added to the ledger by the first write");
        }
        for finding in &self.findings {
            let place = match (finding.sequence, finding.line) {
                (Some(sequence), _) => format!("{sequence}: "),
                (None, Some(line)) => format!("ledger.jsonl:{line}"),
                (None, None) => String::new(),
            };
            page.data.indented(
                2,
                Text::new(Tone::Bad, finding.problem.as_str())
                    .then(Tone::Plain, &format!(" {place}"))
                    .then(Tone::Accent, &finding.run_id)
                    .then(Tone::Plain, &format!(": {}", finding.detail)),
            );
        }
    }
}
