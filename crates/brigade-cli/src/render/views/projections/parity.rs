//! Closeouts, built-in tools and harnesses.

use brigade::core::NextStep;
use brigade::report::{CloseoutReport, DefaultsReport, HarnessListReport, HarnessReport, ParityReport};

use super::super::catalog::config_errors;
use super::super::doctor::show_issues;
use super::relative;
use crate::render::page::Page;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};
use crate::render::{View, when, words};

impl View for ParityReport {
    fn show(&self, page: &mut Page) {
        config_errors(&self.errors, page);
        let now = page.now;
        let closeout = self.latest_closeout.as_ref();
        page.data.field("last closeout", closeout.map_or("none", |closeout| &closeout.closeout_id));
        page.data.field_if("created", closeout.map(|closeout| when::moment(&closeout.created_at, now)));
        page.data.field_if("reason", closeout.and_then(|closeout| closeout.reason.as_deref()));
        page.data.field("accepted", self.quieted_issue_count.to_string());
        page.data.field("changed since", self.changed_issue_count.to_string());
        page.data.field("issues", self.projection_issue_count.to_string());
        show_issues(&self.issues, page);
        if 0 < self.projection_issue_count {
            page.next("brigade tools parity closeout --reason REASON");
        }
    }
}

impl View for CloseoutReport {
    fn show(&self, page: &mut Page) {
        let now = page.now;
        page.data.field("closeout", Text::new(Tone::Accent, &self.closeout_id));
        page.data.field("status", self.status.as_str());
        page.data.field("created", when::moment(&self.created_at, now));
        page.data.field_if("reason", Some(&self.reason));
        page.data.field("issues", self.issue_count.to_string());
        page.data.field_if("summary", Some(&self.safe_summary));
        page.data.field("wrote", Text::new(Tone::Accent, &self.path));
        page.next_step(&NextStep::ShowParity);
    }
}

impl View for DefaultsReport {
    fn show(&self, page: &mut Page) {
        let defaults = &self.defaults;
        config_errors(&defaults.errors, page);
        for conflict in &defaults.conflicts {
            page.error(
                brigade::ErrorCode::EntryExists,
                &format!("{}: {}", conflict.tool_id, conflict.detail),
            );
        }
        if let Some(first) = defaults.conflicts.first() {
            page.data.field("would add", join_names(&defaults.added));
            page.data.field("would update", join_names(&defaults.updated));
            page.note("nothing was written");
            page.next_step(&NextStep::ShowTool(first.tool_id.clone()));
        }
        if !defaults.valid || !defaults.conflicts.is_empty() {
            return;
        }
        let sheet = &mut page.data;
        sheet.field("catalog", Text::new(Tone::Accent, &self.config_path));
        sheet.field("created", words::yes_no(defaults.created));
        sheet.field(if defaults.dry_run { "would add" } else { "added" }, join_names(&defaults.added));
        sheet.field(if defaults.dry_run { "would update" } else { "updated" }, join_names(&defaults.updated));
        sheet.field("unchanged", join_names(&defaults.skipped));
        sheet.field_if("harnesses", defaults.projection_scope.as_ref().map(|scope| scope.join(", ")));
        for source in &defaults.sources {
            let detail = source.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
            let path = relative(&source.path, &self.target);
            sheet.field("source", format!("{path} ({}{detail})", source.action.as_str().replace('_', " ")));
        }
        sheet.field(
            "gitignore",
            if defaults.dry_run { "not changed by a dry run" } else { &defaults.gitignore },
        );
        if defaults.dry_run {
            page.note("nothing was written");
            return page.next_step(&NextStep::AddDefaults);
        }
        // Its output lists the files first.
        let dry_run = if self.next_command.step() == Some(&NextStep::ApplyAll) { " --dry-run" } else { "" };
        page.next(&format!("{}{dry_run}", self.next_command));
    }
}

fn join_names(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

impl View for HarnessListReport {
    fn show(&self, page: &mut Page) {
        let mut table = Table::new(["harness", "name", "tools", "directories…", "note…"]);
        for harness in &self.harnesses {
            let note = if harness.known { harness.note.as_deref().unwrap_or("") } else { "unknown" };
            table.row([
                Text::new(Tone::Strong, &harness.name),
                Text::from(&harness.title),
                Text::from(harness.tool_count.to_string()),
                Text::from(harness.folders.join(", ")),
                Text::from(note),
            ]);
        }
        page.data.table(table);
        page.next("brigade tools harness show NAME");
    }
}

impl View for HarnessReport {
    fn show(&self, page: &mut Page) {
        page.data.field("harness", Text::new(Tone::Strong, &self.name));
        page.data.field("name", &*self.title);
        page.data.field_if("note", self.note.as_deref());
        page.data.gap();
        let mut places = Table::new(["path", "format", "families…", "front matter…", "fidelity"]);
        for place in &self.places {
            let families: Vec<&str> = place.families.iter().map(|family| family.as_str()).collect();
            let keys = place.front_matter.iter();
            let keys =
                keys.map(
                    |key| if key.required { format!("{} (required)", key.key) } else { key.key.to_string() },
                );
            places.row([
                Text::new(Tone::Accent, &place.path),
                Text::from(place.format.as_str()),
                Text::from(families.join(", ")),
                Text::from(keys.collect::<Vec<_>>().join(", ")),
                Text::from(place.lossiness.as_str()),
            ]);
        }
        page.data.table(places);
        if self.tools.is_empty() {
            return;
        }
        page.data.gap();
        let mut tools = Table::new(["tool", "projects to…", "suggested…"]);
        for tool in &self.tools {
            tools.row([
                Text::new(Tone::Strong, &tool.tool_id),
                Text::from(relative(tool.projection_path.as_deref().unwrap_or(""), &self.target)),
                Text::from(tool.suggested_path.as_deref().unwrap_or("")),
            ]);
        }
        page.data.table(tools);
    }
}
