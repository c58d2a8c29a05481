//! Installations of tools.

use brigade::Receipt;
use brigade::report::InstallReport;
use brigade::tools::ToolState;

use crate::render::page::{Page, Sheet};
use crate::render::table::Table;
use crate::render::text::{Text, Tone};
use crate::render::{View, blockers};

impl View for InstallReport {
    fn show(&self, page: &mut Page) {
        super::finding::notes(&self.notes, page);
        if self.queued.is_empty() && self.skipped.is_empty() && self.blocked.is_empty() {
            page.data.line("nothing to install");
            return;
        }
        if !self.queued.is_empty() {
            let mut table = Table::new(["tool", "call", "status", "command…"]);
            for row in &self.queued {
                table.row([
                    Text::new(Tone::Strong, &row.tool_id),
                    Text::new(Tone::Accent, row.call_id.as_deref().unwrap_or("-")),
                    Text::from(&row.status),
                    Text::from(row.command.as_deref().unwrap_or_default()),
                ]);
            }
            page.data.table(table);
        }
        for row in &self.skipped {
            page.data
                .line(Text::new(Tone::Strong, &row.tool_id).then(Tone::Plain, &format!(": {}", row.reason)));
        }
        for row in &self.blocked {
            let why = row.reason.as_str().replace('_', " ");
            page.data.line(Text::new(Tone::Strong, &row.tool_id).then(Tone::Bad, &format!(": {why}")));
            blockers::show(&row.blocker_details, &mut page.data);
        }
        if let Some(next) = &self.next {
            page.next_step(next);
        }
    }
}

/// Shows the result of an installation.
pub(super) fn show_installation(receipt: &Receipt, sheet: &mut Sheet) {
    let Some(install) = &receipt.install else { return };
    let state = |state: Option<ToolState>| state.map_or("not seen", ToolState::as_str);
    sheet.field("tool was", state(install.before));
    let is_there = install.after == Some(ToolState::Available);
    let tone = if is_there { Tone::Good } else { Tone::Warning };
    sheet.field("tool is", Text::new(tone, state(install.after)));
    sheet.field_if("program", install.program.as_deref());
    sheet.field_if("version", install.version.as_deref());
}
