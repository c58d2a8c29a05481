//! Registrations of tools.

use brigade::ErrorCode;
use brigade::policy::Fault;
use brigade::report::RegisterReport;
use brigade::tools::ToolSource;

use crate::render::View;
use crate::render::page::Page;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};

impl View for RegisterReport {
    fn show(&self, page: &mut Page) {
        if !self.registered.is_empty() {
            let mut table = Table::new(["tool", "action", "source", "enabled", "what…"]);
            for row in &self.registered {
                table.row([
                    Text::new(Tone::Strong, &row.tool_id),
                    Text::from(row.action.as_str()),
                    Text::from(row.source.map_or("-", ToolSource::as_str)),
                    Text::from(if row.enabled { "yes" } else { "no" }),
                    Text::from(&row.detail),
                ]);
            }
            page.data.table(table);
        }
        for error in &self.errors {
            let field = error.field.as_deref().filter(|field| !field.is_empty());
            let field = field.map_or_else(String::new, |field| format!("{field}: "));
            let reference =
                error.reference.as_ref().filter(|reference| !field.starts_with(&format!("{reference}:")));
            let reference = reference.map_or_else(String::new, |reference| format!("{reference}: "));
            let message = format!("{reference}{field}{}", error.message);
            page.trouble.fault(Fault::new(error.code.clone(), message).at(error.place()));
        }
        if self.errors.iter().any(|error| error.code == ErrorCode::RefUnknown) {
            page.next("brigade tools discover");
        }
        if self.errors.iter().any(|error| error.code == ErrorCode::IdTaken) {
            page.note("`--id ID` registers it under another id, and `--replace` replaces the existing entry");
        }
        page.notes(self.notes.iter().map(|note| format!("{} ({}): {}", note.field, note.code, note.message)));
        if let Some(next) = self.registered.iter().find_map(|row| row.next_command.as_ref()) {
            page.next(&next.to_string());
        }
    }
}
