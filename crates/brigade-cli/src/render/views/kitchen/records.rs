//! Receipts of the kitchen, and removed worktrees.

use brigade::core::NextStep;
use brigade::kitchen::{
    KitchenCleanReport, KitchenReceipt, KitchenReceiptsReport, KitchenVerifyReport, RunEnd,
};

use super::{command_line, show_prd_origin};
use crate::render::View;
use crate::render::page::Page;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};
use crate::render::when;

fn end(end: RunEnd) -> Text {
    let tone = match end {
        RunEnd::Completed => Tone::Good,
        RunEnd::Interrupted => Tone::Warning,
        RunEnd::Failed | RunEnd::TimedOut | RunEnd::Stalled | RunEnd::NotStarted => Tone::Bad,
    };
    Text::new(tone, end.as_str())
}

/// Returns the subject of a receipt, such as `prd-add-auth/US-001`.
fn subject(receipt: &KitchenReceipt) -> String {
    match (&receipt.prd, &receipt.task) {
        (Some(prd), Some(task)) => prd.shown(task),
        (Some(prd), None) => prd.to_string(),
        (None, _) => String::new(),
    }
}

fn seconds(receipt: &KitchenReceipt) -> f64 {
    receipt.completed_at.since(receipt.started_at).as_secs_f64()
}

impl View for KitchenReceiptsReport {
    fn show(&self, page: &mut Page) {
        for run in &self.unreadable {
            page.trouble.line(Text::new(Tone::Bad, "missing or unreadable: ").then(Tone::Accent, run));
        }
        if !self.unreadable.is_empty() {
            page.next_step(&NextStep::VerifyKitchenReceipts);
        }
        match self.receipts.as_slice() {
            [] => page.data.line("no receipts"),
            // A single requested receipt is shown completely.
            [receipt] => show_receipt(receipt, page),
            receipts => {
                page.data.field("receipts", format!("{} of {}", receipts.len(), self.total));
                page.data.gap();
                page.data.table(table(receipts, page));
            }
        }
    }
}

fn table(receipts: &[KitchenReceipt], page: &Page) -> Table {
    let mut table = Table::new(["run", "kind", "task", "status", "duration", "started…"]);
    for receipt in receipts {
        table.row([
            Text::new(Tone::Accent, receipt.id.as_str()),
            receipt.kind.as_str().into(),
            subject(receipt).into(),
            end(receipt.status),
            when::format_seconds(seconds(receipt)).into(),
            when::at(receipt.started_at, page.now),
        ]);
    }
    table
}

fn show_receipt(receipt: &KitchenReceipt, page: &mut Page) {
    let now = page.now;
    let sheet = &mut page.data;
    sheet.field("run", Text::new(Tone::Accent, receipt.id.as_str()));
    sheet.field("kind", receipt.kind.as_str());
    sheet.field_if("task", Some(subject(receipt)));
    sheet.field_if("tier", receipt.tier.map(|tier| tier.as_str()));
    sheet.field_if("attempt", receipt.attempt.map(|number| number.to_string()));
    sheet.field("status", end(receipt.status));
    sheet.field_if("exit code", receipt.exit_code.map(|code| code.to_string()));
    sheet.field_if("problem", receipt.problem.as_deref());
    sheet.field("started", when::at(receipt.started_at, now));
    sheet.field("duration", when::format_seconds(seconds(receipt)));
    sheet.field_if("command", Some(command_line(&receipt.argv)));
    sheet.field_if("program", receipt.program.as_deref());
    sheet.field_if("sha256", receipt.program_sha256.map(|bytes| bytes.to_string()));
    sheet.field_if("directory", Some(&receipt.directory));
    sheet.field_if("variables", Some(receipt.env_labels.join(", ")));
    sheet.field_if("approved as", receipt.fingerprint.map(|fingerprint| fingerprint.to_string()));
    for (name, log) in [("stdout", &receipt.stdout), ("stderr", &receipt.stderr)] {
        if let Some(log) = log {
            let left_out = match log.left_out {
                0 => String::new(),
                bytes => format!("; {bytes} bytes are left out"),
            };
            sheet.field(name, format!("{} ({} bytes{left_out})", log.path, log.bytes));
        }
    }
    sheet.field_if("sandbox", Some(receipt.sandbox.mode.as_str()));
}

impl View for KitchenVerifyReport {
    fn show(&self, page: &mut Page) {
        let noun = if self.checked == 1 { "receipt" } else { "receipts" };
        page.data.field("checked", format!("{} {noun}", self.checked));
        let result =
            if self.valid { Text::new(Tone::Good, "valid") } else { Text::new(Tone::Bad, "invalid") };
        page.data.field("result", result);
        for finding in &self.findings {
            let place = match finding.line {
                Some(line) => format!("{}/ledger.jsonl:{line}", self.runs_path),
                None if finding.run.is_empty() => "a receipt".to_owned(),
                None => finding.run.clone(),
            };
            page.data.indented(
                2,
                Text::new(Tone::Accent, &place).then(Tone::Plain, &format!(": {}", finding.what)),
            );
        }
    }
}

impl View for KitchenCleanReport {
    fn show(&self, page: &mut Page) {
        show_prd_origin(&self.prd_path, self.taken, page);
        let removed: Vec<&str> = self.removed.iter().map(|id| id.as_str()).collect();
        page.data.field_if("removed", Some(removed.join(", ")));
        if let Some(abandoned) = &self.abandoned {
            match &abandoned.reference {
                Some(reference) => page.data.field("work is at", Text::new(Tone::Accent, reference)),
                None => page.note("there was no work to keep"),
            }
        }
        for row in &self.kept {
            page.data.field(
                "kept",
                Text::new(Tone::Strong, row.task.as_str()).then(Tone::Plain, &format!(": {}", row.reason)),
            );
        }
        if self.removed.is_empty() && self.kept.is_empty() {
            page.data.line("no worktrees");
        }
        if let Some(next) = &self.next_command {
            page.next(&next.to_string());
        }
    }
}
