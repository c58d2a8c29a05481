//! PRDs, the tiers and their workers.

use brigade::command::Argv;
use brigade::core::Severity;
use brigade::kitchen::{Fault as PrdFault, Taken, Tier};
use brigade::{ErrorLine, Fault, KitchenInitReport, ValidationReport, WorkersReport};

use super::catalog::config_errors;
use crate::render::View;
use crate::render::fault;
use crate::render::page::Page;
use crate::render::table::{Fit, Table};
use crate::render::text::{Text, Tone};

/// Says which PRD was taken when nobody named one.
pub(super) fn taken(path: &str, taken: Taken, page: &mut Page) {
    let why = match taken {
        Taken::Named => return,
        Taken::Latest => "latest.json leads to it",
        Taken::Interrupted => "it was interrupted",
        Taken::Newest => "it is the newest one with pending tasks",
    };
    page.note(&format!("took {path}: {why}"));
}

/// Shows what is wrong with the configuration, and why nothing would be started.
pub(super) fn configuration(issues: &[ErrorLine], refusals: &[ErrorLine], page: &mut Page) {
    // An error of the configuration is a reason, too, and shown once.
    let is_error = |line: &&ErrorLine| line.fault().severity == Severity::Error;
    let mut lines: Vec<ErrorLine> = issues.iter().filter(|line| !is_error(line)).cloned().collect();
    lines.extend(refusals.iter().cloned());
    config_errors(&lines, page);
}

/// Formats words as a command line.
pub(super) fn command_line(words: &[String]) -> String {
    Argv::new(words.to_vec()).map(|words| words.to_string()).unwrap_or_default()
}

pub(super) fn tier(tier: Tier) -> Text {
    Text::new(Tone::Strong, tier.as_str())
}

pub(super) fn yes_or_no(yes: bool) -> Text {
    if yes { Text::new(Tone::Good, "yes") } else { Text::new(Tone::Warning, "no") }
}

fn of_prd(fault: &PrdFault, severity: Severity) -> Fault {
    let task = fault.task.as_ref().map(|task| format!("{task}: ")).unwrap_or_default();
    Fault::new(fault.code.as_str(), format!("{task}{}", fault.message))
        .severity(severity)
        .at(fault.place.clone())
}

impl View for ValidationReport {
    fn show(&self, page: &mut Page) {
        taken(&self.prd_path, self.taken, page);
        let errors = self.errors.iter().map(|fault| of_prd(fault, Severity::Error));
        let warnings = self.warnings.iter().map(|fault| of_prd(fault, Severity::Warning));
        fault::list(errors.chain(warnings).collect(), &mut page.trouble);
        if !(self.errors.is_empty() && self.warnings.is_empty()) {
            page.trouble.gap();
        }
        configuration(&self.config_issues, &self.refusals, page);
        page.data.field("prd", Text::new(Tone::Accent, &self.prd_path));
        page.data.field("valid", yes_or_no(self.valid));
        page.data.field("tasks", self.tasks.len().to_string());
        if let Some(fingerprint) = &self.fingerprint {
            page.data.field("fingerprint", Text::new(Tone::Accent, &fingerprint.to_string()));
            page.data.field("approved", yes_or_no(self.approved));
        }
        if !self.tasks.is_empty() {
            page.data.gap();
            let mut table = Table::new([
                ("task", Fit::Whole),
                ("tier", Fit::Whole),
                ("verification", Fit::Whole),
                ("why this tier", Fit::Cut),
            ]);
            for task in &self.tasks {
                let kinds: Vec<&str> = task.verification.iter().map(|entry| entry.kind.as_str()).collect();
                table.row([
                    Text::new(Tone::Strong, task.id.as_str()),
                    task.tier.as_str().into(),
                    kinds.join(", ").into(),
                    Text::new(Tone::Faint, &task.reason),
                ]);
            }
            page.data.table(table);
        }
        if self.valid {
            page.data.gap();
            waves(&self.waves, page);
        }
    }
}

/// Shows which tasks can begin together.
pub(super) fn waves(waves: &[Vec<brigade::kitchen::TaskId>], page: &mut Page) {
    for (index, wave) in waves.iter().enumerate() {
        let ids: Vec<&str> = wave.iter().map(|id| id.as_str()).collect();
        page.data.short_field(&format!("wave {}", index + 1), ids.join(", "));
    }
}

impl View for WorkersReport {
    fn show(&self, page: &mut Page) {
        configuration(&self.config_issues, &self.refusals, page);
        for row in &self.tiers {
            page.data.gap();
            page.data.field("tier", tier(row.tier));
            page.data.field("command", Text::new(Tone::Accent, &row.command));
            match &row.adapter {
                Some(adapter) => page.data.field("adapter", adapter),
                None => page.data.field("adapter", Text::new(Tone::Bad, "unknown")),
            }
            match &row.program {
                Some(program) => page.data.field("program", program),
                None => page.data.field("program", Text::new(Tone::Bad, "not found")),
            }
            if let Some(argv) = &row.argv {
                page.data.field("started as", command_line(argv));
            }
            if let Some(permissions) = row.permissions {
                page.data.field("own permissions", permissions_text(permissions));
            }
            page.data.field_if("may write", Some(row.write_paths.join(", ")));
            page.data.field_if("variables", Some(row.env_labels.join(", ")));
        }
        page.data.gap();
        page.data.field("effects", self.effects.join(", "));
        if let Some(fingerprint) = &self.fingerprint {
            page.data.field("fingerprint", Text::new(Tone::Accent, &fingerprint.to_string()));
            page.data.field("approved", yes_or_no(self.approved));
        }
        if self.tiers.iter().any(|row| !row.found) {
            page.note("nothing is started while a program that is needed is not there");
        }
    }
}

/// Says which permissions of its own a worker has.
pub(super) fn permissions_text(permissions: brigade::kitchen::Permissions) -> Text {
    use brigade::kitchen::Permissions as P;
    match permissions {
        P::Narrow => "narrow".into(),
        P::Skipped => Text::new(Tone::Warning, "skipped"),
        P::OwnChoice => "the program decides".into(),
    }
}

impl View for KitchenInitReport {
    fn show(&self, page: &mut Page) {
        config_errors(&self.issues, page);
        page.data.field("wrote", &self.config_path);
        page.data.field("tasks", &self.tasks_path);
        if let Some(imported) = &self.imported {
            page.data.field("imported", format!("{imported} ({} keys)", self.imported_keys));
        }
        page.data.field("gitignore", &self.gitignore);
        page.next(&self.next_command.to_string());
    }
}
