//! Tools of other agent programs.

use std::io::{self, Write};

use brigade::core::text::short;
use brigade::core::{NextStep, Severity, json};
use brigade::report::{DiscoveryReport, RegistrySyncReport};
use brigade::tools::{DiscoveredEntry, DiscoveryIssue, EntrySource, FileStatus, ServerTransport};

use crate::render::page::Page;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};
use crate::render::{View, when};

impl View for DiscoveryReport {
    fn show(&self, page: &mut Page) {
        let listed = || self.entries.iter().filter(|entry| entry.source != EntrySource::Harness);
        let found: Vec<&str> = self
            .harnesses
            .iter()
            .filter(|harness| harness.found)
            .map(|harness| harness.harness.as_str())
            .collect();
        let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
        page.data.field("agent programs", found);
        page.data.field("entries", listed().count().to_string());
        page.data.field("issues", self.issue_count.to_string());
        if listed().next().is_some() {
            let mut table = Table::new(["entry", "on", "runs…", "where…"]);
            for entry in listed() {
                let on = if entry.enabled { "yes" } else { "no" };
                table.row([
                    Text::new(Tone::Strong, &entry.id),
                    Text::from(on),
                    Text::from(runs(entry)),
                    Text::from(places(entry)),
                ]);
            }
            page.data.gap();
            page.data.table(table);
        }
        for harness in self.harnesses.iter().filter(|harness| harness.found) {
            let is_own = |entry: &&DiscoveredEntry| {
                entry.source == EntrySource::Harness
                    && entry.origins.iter().any(|origin| origin.harness == harness.harness)
            };
            let own: Vec<&str> =
                self.entries.iter().filter(is_own).map(|entry| entry.name.as_str()).collect();
            if !own.is_empty() {
                page.note(&format!("{} has its own tools: {}", harness.title, own.join(", ")));
            }
        }
        for file in self.harnesses.iter().flat_map(|harness| &harness.files) {
            if file.status == FileStatus::NotEvaluated {
                page.note(&format!("{} is a program, and is not evaluated", file.path));
            }
        }
        show_issues(&self.issues, page);
        let is_remote = |entry: &&DiscoveredEntry| {
            matches!(entry.transport, Some(ServerTransport::Http | ServerTransport::Sse))
        };
        let is_new = |entry: &&DiscoveredEntry| entry.registered_as.is_none();
        for entry in listed().filter(is_remote).filter(is_new).take(MAX_PROPOSALS) {
            page.next_step(&NextStep::Register(entry.id.clone()));
        }
        page.next_step(&NextStep::Setup);
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        json::write_with_lists(out, &self.without_entries(), &["entries"], |_, out| {
            json::write_list(out, &self.entries)
        })
    }
}

/// The maximum number of remote servers whose registration is proposed.
const MAX_PROPOSALS: usize = 3;

/// The maximum width of a column, so that rows stay readable if the width of the terminal is unknown.
const MAX_COLUMN_WIDTH: usize = 100;

/// Describes what an entry runs or connects to, on one line.
fn runs(entry: &DiscoveredEntry) -> String {
    let text = match (&entry.url_host, entry.transport) {
        (Some(host), Some(ServerTransport::Http | ServerTransport::Sse)) => host.clone(),
        _ if !entry.command.is_empty() => entry.command.join(" "),
        _ => entry.description.clone().unwrap_or_default(),
    };
    short(&text, MAX_COLUMN_WIDTH)
}

fn places(entry: &DiscoveredEntry) -> String {
    let mut places: Vec<String> = Vec::new();
    for origin in &entry.origins {
        let place = format!("{}/{}", origin.harness, origin.scope);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    short(&places.join(", "), MAX_COLUMN_WIDTH)
}

fn show_issues(issues: &[DiscoveryIssue], page: &mut Page) {
    if issues.is_empty() {
        return;
    }
    page.data.gap();
    for issue in issues {
        let tone = match issue.severity {
            Severity::Error => Tone::Bad,
            Severity::Warning => Tone::Warning,
            Severity::Info => Tone::Faint,
        };
        let mut text = Text::new(tone, issue.code.code());
        if let Some(id) = &issue.entry_id {
            text = text.then(Tone::Strong, &format!(" {id}"));
        }
        page.data.line(text.then(Tone::Plain, &format!(": {}", issue.message)));
        if !issue.refs.is_empty() {
            page.data.indented(4, Text::new(Tone::Faint, &issue.refs.join(", ")));
        } else if let Some(place) = issue.place() {
            page.data.indented(4, Text::new(Tone::Faint, &place));
        }
    }
}

impl View for RegistrySyncReport {
    fn show(&self, page: &mut Page) {
        page.data.field("cache", Text::new(Tone::Accent, &self.cache_path));
        page.data.field_if("made", self.made_at.map(|at| when::at(at, page.now)));
        page.data.field("entries", self.entry_count.to_string());
        let state = match (self.written, self.dry_run) {
            (true, _) => "written",
            (false, true) => "nothing was written",
            (false, false) => "unchanged",
        };
        page.data.field("state", state);
        if !(self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()) {
            let mut table = Table::new(["change", "entry", "fields…"]);
            for id in &self.added {
                table.row([Text::new(Tone::Good, "added"), Text::from(id), Text::default()]);
            }
            for changed in &self.changed {
                let fields = changed.fields.join(", ");
                table.row([Text::new(Tone::Warning, "changed"), Text::from(&changed.id), Text::from(fields)]);
            }
            for id in &self.removed {
                table.row([Text::new(Tone::Bad, "removed"), Text::from(id), Text::default()]);
            }
            page.data.gap();
            page.data.table(table);
        }
        show_issues(&self.issues, page);
    }
}
