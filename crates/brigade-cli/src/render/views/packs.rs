//! Tool packs.

use brigade::core::NextStep;
use brigade::report::{
    Pack, PackArchiveReport, PackBuildReport, PackImportReport, PackListReport, PackShowReport, PackedSource,
};

use crate::render::page::Page;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};
use crate::render::{View, when};

/// Shows which parts of the catalog are missing in a pack.
fn missing(errors: &[String], sources: &[PackedSource], page: &mut Page) {
    for error in errors {
        page.data.field("not packed", Text::new(Tone::Warning, error));
    }
    for source in sources.iter().filter(|source| !source.packed) {
        let reason = source.reason.as_deref().unwrap_or_default();
        let text = format!("{}: {}: {reason}", source.tool_id, source.source_path);
        page.data.field("not packed", Text::new(Tone::Warning, &text));
    }
}

fn sources_text(sources: &[PackedSource]) -> String {
    sources.iter().filter(|source| source.packed).count().to_string()
}

impl View for PackBuildReport {
    fn show(&self, page: &mut Page) {
        let catalog = &self.portable_catalog;
        page.data.field("pack", Text::new(Tone::Accent, &self.pack_id));
        page.data.field("path", &self.path);
        page.data.field("entries", catalog.entries.len().to_string());
        page.data.field("sources", sources_text(&catalog.source_files));
        page.data.field("issues", self.issue_count.to_string());
        missing(&catalog.entry_errors, &catalog.source_files, page);
        page.next("brigade tools pack import DIRECTORY --target OTHER");
    }
}

impl View for PackListReport {
    fn show(&self, page: &mut Page) {
        for pack in &self.unreadable {
            page.note(&format!("the pack {} cannot be read: {}", pack.pack_id, pack.error));
        }
        if self.packs.is_empty() {
            page.data.line("no packs");
            page.next("brigade tools pack build");
            return;
        }
        let mut table = Table::new(["pack", "built", "entries", "issues"]);
        for pack in &self.packs {
            table.row([
                Text::new(Tone::Accent, &pack.pack_id),
                when::moment(&pack.created_at, page.now),
                Text::from(pack.portable_catalog.entries.len().to_string()),
                Text::from(pack.issue_count.to_string()),
            ]);
        }
        page.data.table(table);
        page.next("brigade tools pack show PACK");
    }
}

impl View for PackShowReport {
    fn show(&self, page: &mut Page) {
        let Pack { portable_catalog: catalog, .. } = &self.pack;
        page.data.field("pack", Text::new(Tone::Accent, &self.pack.pack_id));
        page.data.field_if("path", self.pack.path.as_deref());
        page.data.field("built", when::moment(&self.pack.created_at, page.now));
        page.data.field("tools", self.pack.tool_count.to_string());
        page.data.field("issues", self.pack.issue_count.to_string());
        let ids = catalog.entries.iter().filter_map(|entry| entry.get("id")?.as_str());
        page.data.field("entries", ids.collect::<Vec<_>>().join(", "));
        page.data.field("sources", sources_text(&catalog.source_files));
        missing(&catalog.entry_errors, &catalog.source_files, page);
    }
}

impl View for PackArchiveReport {
    fn show(&self, page: &mut Page) {
        page.data.field("archived", Text::new(Tone::Accent, &self.pack_id));
        page.data.field("path", &self.archive_path);
    }
}

impl View for PackImportReport {
    fn show(&self, page: &mut Page) {
        for conflict in &self.conflicts {
            let about = conflict.tool_id.as_deref().unwrap_or("catalog");
            let source = conflict.source_path.as_ref().map(|path| format!(" ({path})")).unwrap_or_default();
            page.error(brigade::ErrorCode::PackConflict, &format!("{about}: {}{source}", conflict.reason));
            for error in &conflict.errors {
                page.error(brigade::ErrorCode::ConfigInvalid, error);
            }
        }
        if !self.valid {
            page.note("nothing was imported");
            if let Some(id) = self.conflicts.iter().find_map(|conflict| conflict.tool_id.as_deref()) {
                page.next_step(&NextStep::ShowTool(id.to_owned()));
            }
            return;
        }
        page.data.field("pack", Text::new(Tone::Accent, &self.pack_id));
        page.data.field("imported", self.imported_count.to_string());
        page.data.field("unchanged", self.skipped_existing_count.to_string());
        page.data.field("gitignore", &self.gitignore);
        for source in &self.copied_sources {
            page.data.field("source", &source.source_path);
        }
        if !self.imported.is_empty() {
            let mut table = Table::new(["tool", "command…", "effects…", "enabled"]);
            for entry in &self.imported {
                table.row([
                    Text::new(Tone::Strong, &entry.tool_id),
                    Text::from(entry.command.as_deref().unwrap_or("")),
                    Text::from(entry.effects.join(", ")),
                    Text::from(if entry.enabled { "yes" } else { "no" }),
                ]);
            }
            page.data.gap();
            page.data.table(table);
        }
        page.next(&self.next_command.to_string());
    }
}
