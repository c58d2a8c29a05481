//! Projections: files that harnesses read.

mod parity;

use std::collections::BTreeMap;
use std::path::Path;

use brigade::core::NextStep;
use brigade::report::{
    ApplyReport, Lossiness, OrphanReport, ProjectionAction, ProjectionPlanReport, ProjectionReport,
    ProjectionStatus, Prunable, SyncPlanReport,
};

use super::catalog::config_errors;
use crate::render::page::{Page, Sheet};
use crate::render::shell::quote;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};
use crate::render::{View, words};

impl View for ProjectionPlanReport {
    fn show(&self, page: &mut Page) {
        config_errors(&self.errors, page);
        if self.projections.is_empty() && self.orphans.is_empty() {
            if self.errors.is_empty() {
                page.data.line("no projections");
            }
            return;
        }
        if self.tool_id.is_none() && !page.is_full && has_nothing_to_do(self) {
            let count = self.projections.len();
            let advice = self.projections.iter().filter(|item| !item.advice.is_empty()).count();
            let notes = match advice {
                0 => String::new(),
                count => format!("; {count} have notes (--full)"),
            };
            page.data.line(format!("{count} current, nothing to write{notes}"));
            return;
        }
        let folded = match self.tool_id {
            None => count_unwritten(&self.projections),
            Some(_) => BTreeMap::new(),
        };
        let is_folded = |item: &&ProjectionReport| is_unwritten(item) && folded.contains_key(&*item.tool_id);
        let shown: Vec<&ProjectionReport> = self.projections.iter().filter(|item| !is_folded(item)).collect();
        if !shown.is_empty() {
            page.data.table(table(&shown, &self.target));
        }
        for (tool, count) in &folded {
            let line = format!(": {count} projections were never written");
            page.data.line(Text::new(Tone::Strong, tool).then(Tone::Plain, &line));
        }
        show_details(&shown, &self.target, &mut page.data);
        show_orphans(&self.orphans, &self.target, &mut page.data);
        if !self.orphans_complete {
            page.note("not every directory could be searched for orphaned projections");
        }
        page.data.gap();
        page.data.field_if("status", words::counts(&self.counts));
        let is_due = self
            .projections
            .iter()
            .any(|item| matches!(item.action, ProjectionAction::Create | ProjectionAction::Update));
        let which = which(self.tool_id.as_deref());
        if let Some(tool) = folded.keys().next() {
            page.next_step(&NextStep::PlanProjections((*tool).to_owned()));
        }
        if is_due {
            page.next(&format!("brigade tools apply --dry-run {which}"));
        }
        if self.projections.iter().any(|item| item.action == ProjectionAction::Conflict) {
            // Without --force, the dry run would not show a diff.
            page.next(&format!("brigade tools apply --dry-run --force {which}"));
        }
        if self.orphans.iter().any(|orphan| orphan.prunable == Prunable::Yes) {
            page.next("brigade tools apply --all --prune --dry-run");
        }
    }
}

/// Returns whether every projection is current, and there is nothing to remove or to report.
fn has_nothing_to_do(plan: &ProjectionPlanReport) -> bool {
    plan.errors.is_empty()
        && plan.orphans.is_empty()
        && plan.orphans_complete
        && plan.projections.iter().all(|item| item.status == ProjectionStatus::Current)
}

/// The maximum number of unwritten projections of a tool that are listed separately in an overview of all tools.
const FOLDED: usize = 3;

fn is_unwritten(item: &ProjectionReport) -> bool {
    item.status == ProjectionStatus::Missing && item.action == ProjectionAction::Create
}

/// Counts the unwritten projections of each tool that has many of them.
fn count_unwritten(items: &[ProjectionReport]) -> BTreeMap<&str, usize> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for item in items.iter().filter(|item| is_unwritten(item)) {
        *counts.entry(&item.tool_id).or_default() += 1;
    }
    counts.retain(|_, count| FOLDED < *count);
    counts
}

impl View for SyncPlanReport {
    fn show(&self, page: &mut Page) {
        self.plan.show(page);
        page.note("a sync writes only with both --write and --force, and never removes files");
    }
}

/// Returns the argument for one tool or all tools.
fn which(tool_id: Option<&str>) -> String {
    match tool_id {
        None => "--all".to_owned(),
        Some(id) if id.starts_with('-') => format!("-- {}", quote(id)),
        Some(id) => quote(id),
    }
}

fn table(items: &[&ProjectionReport], target: &str) -> Table {
    let mut table = Table::new(["tool", "harness", "status", "action", "read as", "file…"]);
    for item in items {
        table.row([
            Text::new(Tone::Strong, &item.tool_id),
            Text::from(&item.harness),
            words::status(item.status.as_str()),
            action(item.action),
            lossiness(item.lossiness),
            Text::from(relative(item.projection_path.as_deref().unwrap_or(""), target)),
        ]);
    }
    table
}

fn action(action: ProjectionAction) -> Text {
    let tone = match action {
        ProjectionAction::Create | ProjectionAction::Update => Tone::Accent,
        ProjectionAction::Conflict => Tone::Bad,
        ProjectionAction::Skip => Tone::Faint,
    };
    Text::new(tone, action.as_str())
}

/// Formats how well the harness reads the file.
fn lossiness(lossiness: Option<Lossiness>) -> Text {
    match lossiness {
        None => Text::new(Tone::Faint, "unknown"),
        Some(Lossiness::Native) => Text::from("native"),
        Some(word) => Text::new(Tone::Warning, &word.as_str().replace('-', " ")),
    }
}

/// Returns a path relative to the workspace.
fn relative<'p>(path: &'p str, target: &str) -> &'p str {
    Path::new(path).strip_prefix(target).ok().and_then(Path::to_str).unwrap_or(path)
}

/// Shows why files cannot be written, and advice.
fn show_details(items: &[&ProjectionReport], target: &str, sheet: &mut Sheet) {
    let is_trouble = |item: &&&ProjectionReport| {
        item.action == ProjectionAction::Conflict
            || matches!(item.status, ProjectionStatus::Invalid | ProjectionStatus::MissingSource)
            || !item.advice.is_empty()
    };
    let mut troubled = items.iter().filter(is_trouble).peekable();
    if troubled.peek().is_some() {
        sheet.gap();
    }
    for item in troubled {
        sheet.line(
            Text::new(Tone::Strong, &item.tool_id)
                .then(Tone::Plain, &format!(" for {}: {}", item.harness, item.detail)),
        );
        if let Some(path) = &item.projection_path {
            sheet.indented(2, Text::new(Tone::Accent, relative(path, target)));
        }
        for advice in &item.advice {
            sheet.indented(2, Text::new(Tone::Faint, "note: ").then(Tone::Plain, &advice.message));
        }
    }
}

fn show_orphans(orphans: &[OrphanReport], target: &str, sheet: &mut Sheet) {
    if orphans.is_empty() {
        return;
    }
    sheet.gap();
    sheet.line(Text::new(Tone::Faint, "orphaned projections:"));
    for orphan in orphans {
        sheet.indented(
            2,
            Text::new(Tone::Accent, relative(&orphan.projection_path, target))
                .then(Tone::Plain, &format!(": {}", orphan.detail)),
        );
    }
}

impl View for ApplyReport {
    fn show(&self, page: &mut Page) {
        config_errors(&self.errors, page);
        if !self.errors.is_empty()
            && self.applied.is_empty()
            && self.skipped_count == 0
            && self.conflict_count == 0
        {
            return;
        }
        let (wrote, removed) =
            if self.dry_run { ("would write", "would remove") } else { ("wrote", "removed") };
        for item in &self.applied {
            let path = relative(item.projection_path.as_deref().unwrap_or(""), &self.target);
            page.data.line(
                Text::new(Tone::Good, wrote)
                    .then(Tone::Plain, " ")
                    .then(Tone::Accent, path)
                    .then(Tone::Faint, &format!(" ({} for {}, {})", item.tool_id, item.harness, item.action)),
            );
            if let Some(diff) = &item.diff {
                show_diff(diff, &mut page.data);
            }
        }
        for orphan in &self.pruned {
            let path = relative(&orphan.projection_path, &self.target);
            page.data.line(Text::new(Tone::Warning, removed).then(Tone::Plain, " ").then(Tone::Accent, path));
        }
        show_trouble(self, page);
        if self.dry_run && FOLDED < self.applied.len() {
            page.data.gap();
            page.data.table(by_harness(&self.applied));
        }
        show_orphans(&self.orphans, &self.target, &mut page.data);
        page.data.gap();
        page.data.field(if self.dry_run { "to write" } else { "written" }, self.applied_count.to_string());
        let without_source =
            self.skipped.iter().filter(|item| item.status == ProjectionStatus::MissingSource).count();
        let not_written = self.refused_count + without_source;
        page.data.field("unchanged", self.skipped_count.saturating_sub(not_written).to_string());
        if 0 < without_source {
            page.data.field("without source", without_source.to_string());
        }
        page.data.field("refused", self.refused_count.to_string());
        page.data.field("conflicts", self.conflict_count.to_string());
        if self.dry_run && 0 < self.applied_count + self.pruned.len() {
            let options = [(self.force, "--force "), (self.prune, "--prune ")];
            let options: String =
                options.into_iter().filter(|(is_set, _)| *is_set).map(|(_, word)| word).collect();
            page.next(&format!("brigade tools apply {options}{}", which(self.tool_id.as_deref())));
        }
        let left = self.conflict_count + self.refused_count;
        if 0 < left && 0 < self.applied_count {
            let files =
                if left == 1 { "1 file was not".to_owned() } else { format!("{left} files were not") };
            let (files, rest) = match (self.dry_run, left) {
                (true, 1) => ("1 file would not be".to_owned(), "; the others would be up to date"),
                (true, _) => (format!("{left} files would not be"), "; the others would be up to date"),
                (false, _) => (files, "; all others are up to date"),
            };
            let is_rest_done = without_source == 0 && self.failed.is_empty();
            page.note(&format!("exit code 1: {files} written{}", if is_rest_done { rest } else { "" }));
        }
        if 0 < self.conflict_count && !self.force {
            page.note("use --force to overwrite files with local edits");
        }
    }
}

/// Counts projections by harness.
fn by_harness(items: &[ProjectionReport]) -> Table {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for item in items {
        *counts.entry(&item.harness).or_default() += 1;
    }
    let mut table = Table::new(["harness", "files"]);
    for (harness, count) in counts {
        table.row([Text::from(harness), Text::from(count.to_string())]);
    }
    table
}

/// Shows the files that were not written.
fn show_trouble(report: &ApplyReport, page: &mut Page) {
    let refused = report
        .skipped
        .iter()
        .filter(|item| matches!(item.status, ProjectionStatus::Invalid | ProjectionStatus::MissingSource));
    for item in report.conflicts.iter().chain(refused) {
        let path = relative(item.projection_path.as_deref().unwrap_or(&item.harness), &report.target);
        page.trouble.line(
            Text::new(Tone::Bad, "not written: ")
                .then(Tone::Accent, path)
                .then(Tone::Plain, &format!(" ({}): {}", item.tool_id, item.detail)),
        );
    }
    for failed in &report.failed {
        page.trouble.line(
            Text::new(Tone::Bad, "error: ")
                .then(Tone::Accent, relative(&failed.projection_path, &report.target))
                .then(Tone::Plain, &format!(": {}", failed.error)),
        );
    }
}

/// Shows a unified diff.
pub(in crate::render) fn show_diff(diff: &str, sheet: &mut Sheet) {
    for line in diff.lines() {
        let tone = match line.as_bytes().first() {
            _ if line.starts_with("+++") || line.starts_with("---") => Tone::Strong,
            Some(b'+') => Tone::Good,
            Some(b'-') => Tone::Bad,
            Some(b'@') => Tone::Accent,
            Some(_) | None => Tone::Plain,
        };
        sheet.indented(4, Text::new(tone, line));
    }
}
