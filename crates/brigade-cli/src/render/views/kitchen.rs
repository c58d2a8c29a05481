//! PRDs, the tiers and their workers.

mod plan;
mod records;
mod status;

use brigade::command::Argv;
use brigade::core::{NextStep, Severity};
use brigade::kitchen::{
    AnswerReport, ApprovalReport, ChangeKind, CommandRow, DecisionsReport, Fault as PrdFault,
    KitchenInitReport, PrdOrigin, ServiceReport, SummaryReport, Tier, ValidationReport, WorkersReport,
    WriteOutcome, pluralize,
};
use brigade::policy::{ErrorLine, Fault};

pub(crate) use status::{Escalations, show_status, show_task, task_lines, waiting_line};

use super::catalog::config_errors;
use crate::render::View;
use crate::render::fault;
use crate::render::page::Page;
use crate::render::shell::quote;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};

/// Reports which PRD was chosen by default.
pub(super) fn show_prd_origin(path: &str, taken: PrdOrigin, page: &mut Page) {
    let why = match taken {
        PrdOrigin::Named => return,
        PrdOrigin::Latest => "latest.json points to it",
        PrdOrigin::Interrupted => "one of its tasks was interrupted",
        PrdOrigin::Newest => "it is the newest one with pending tasks",
        PrdOrigin::Done => "it is the newest one, and no PRD has pending tasks",
    };
    page.note(&format!("took {path}: {why}"));
}

/// Shows the problems of the configuration, and why nothing would be started.
pub(super) fn configuration(issues: &[ErrorLine], refusals: &[ErrorLine], page: &mut Page) {
    // An error of the configuration is also a reason. Show it once.
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

pub(super) fn of_prd(fault: &PrdFault, severity: Severity) -> Fault {
    let task = fault.task.as_ref().map(|task| format!("{task}: ")).unwrap_or_default();
    Fault::new(fault.code.as_str(), format!("{task}{}", fault.message))
        .severity(severity)
        .at(fault.place.clone())
        .of_named_file()
}

impl View for ValidationReport {
    fn show(&self, page: &mut Page) {
        show_prd_origin(&self.prd_path, self.taken, page);
        let errors = self.errors.iter().map(|fault| of_prd(fault, Severity::Error));
        let warnings = self.warnings.iter().map(|fault| of_prd(fault, Severity::Warning));
        fault::list(errors.chain(warnings).collect(), &mut page.trouble);
        if !(self.errors.is_empty() && self.warnings.is_empty()) {
            page.trouble.gap();
        }
        configuration(&self.config_issues, &self.refusals, page);
        page.notes(&self.notes);
        page.data.field("prd", Text::new(Tone::Accent, &self.prd_path));
        page.data.field("valid", yes_or_no(self.valid));
        page.data.field("tasks", self.tasks.len().to_string());
        if let Some(fingerprint) = &self.fingerprint {
            page.data.field("fingerprint", Text::new(Tone::Accent, &fingerprint.to_string()));
            page.data.field("approved", yes_or_no(self.approved));
        }
        if !self.tasks.is_empty() {
            page.data.gap();
            let mut table = Table::new(["task", "tier", "verification", "why this tier…"]);
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
        if let Some(fingerprint) = self.fingerprint.filter(|_| !self.approved) {
            page.next_step(&NextStep::ApprovePrdAs { path: self.prd_path.clone(), fingerprint });
        }
    }
}

/// Shows which tasks can run in parallel.
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
                None => {
                    let why = row.missing.map_or_else(|| "not found".to_owned(), |why| why.to_string());
                    page.data.field("program", Text::new(Tone::Bad, &why));
                }
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
        page.notes(&self.notes);
        if self.tiers.iter().any(|row| !row.found) {
            page.note("nothing is started while a required program is missing");
        }
    }
}

/// Describes the permissions that a worker sets itself.
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
        match self.config {
            WriteOutcome::Added => page.data.field("wrote", &self.config_path),
            WriteOutcome::Kept => page.data.field("kept", &self.config_path),
        }
        page.data.field("tasks", &self.tasks_path);
        if let Some(imported) = &self.imported {
            page.data.field("imported", format!("{imported} ({} keys)", self.imported_keys));
        }
        for row in &self.skills {
            let entry = match (row.entry, row.source) {
                (WriteOutcome::Added, WriteOutcome::Added) => {
                    format!("{} (with {})", row.id, row.source_path)
                }
                (WriteOutcome::Added, WriteOutcome::Kept) => {
                    format!("{} ({} is unchanged)", row.id, row.source_path)
                }
                (WriteOutcome::Kept, _) => format!("{} already exists", row.id),
            };
            page.data.field("skill", entry);
        }
        page.data.field("gitignore", &self.gitignore);
        page.next(&self.next_command.to_string());
    }
}

/// Proposes to approve what was shown, or to begin with what was approved.
pub(crate) fn next_of_approval(report: &ApprovalReport, page: &mut Page) {
    match (&report.prd_path, report.fingerprint) {
        (Some(path), Some(_)) if report.approved => {
            page.next(&format!("brigade kitchen service {}", quote(path)));
        }
        (Some(path), Some(fingerprint)) => {
            page.next_step(&NextStep::ApprovePrdAs { path: path.clone(), fingerprint });
        }
        (None, Some(fingerprint)) if !report.approved => {
            page.next_step(&NextStep::ApproveWorkersAs(fingerprint.short()));
        }
        _ => {}
    }
}

impl View for ApprovalReport {
    fn show(&self, page: &mut Page) {
        if let (Some(path), Some(how)) = (&self.prd_path, self.taken) {
            show_prd_origin(path, how, page);
        }
        config_errors(&self.config_issues, page);
        match &self.prd_path {
            Some(path) => page.data.field("prd", Text::new(Tone::Accent, path)),
            None => page.data.field("for", "only the commands of the tiers"),
        }
        if self.revoked {
            page.data.field("approved", "revoked");
            return;
        }
        if let Some(fingerprint) = &self.fingerprint {
            page.data.field("fingerprint", Text::new(Tone::Accent, &fingerprint.to_string()));
        }
        page.data.field("approved", yes_or_no(self.approved));
        page.data.gap();
        for row in &self.commands {
            command(row, page);
        }
        if !self.changes.is_empty() {
            page.data.gap();
            page.data.line("Changed since the last approval:");
            for change in &self.changes {
                let how = match change.what {
                    ChangeKind::Added => "added",
                    ChangeKind::Removed => "removed",
                    ChangeKind::Changed => "changed",
                };
                page.data.indented(
                    2,
                    Text::new(Tone::Warning, how).then(Tone::Plain, &format!(" {}", change.field)),
                );
            }
        }
        page.notes(&self.notes);
        next_of_approval(self, page);
    }
}

/// Shows a whole command, without cutting it, and what it may do.
fn command(row: &CommandRow, page: &mut Page) {
    let kind = match row.tier {
        Some(tier) => format!("{} {tier}", row.kind.as_str()),
        None => row.kind.as_str().to_owned(),
    };
    let shell = if row.shell { " [shell]" } else { "" };
    page.data.line(
        Text::new(Tone::Strong, &format!("{kind}: "))
            .then(Tone::Accent, &command_line(&row.argv))
            .then(Tone::Warning, shell),
    );
    let mut may = vec![row.effects.join(", ")];
    if !row.write_paths.is_empty() {
        may.push(format!("writes {}", row.write_paths.join(", ")));
    }
    if !row.env_labels.is_empty() {
        may.push(format!("gets {}", row.env_labels.join(", ")));
    }
    page.data.indented(2, Text::new(Tone::Faint, &may.join("; ")));
}

impl View for DecisionsReport {
    fn show(&self, page: &mut Page) {
        if self.decisions.is_empty() {
            page.data.line("no decision waits");
            return;
        }
        for (index, row) in self.decisions.iter().enumerate() {
            if 0 < index {
                page.data.gap();
            }
            status::decision(row, page);
        }
        show_skipped(&self.decisions, page);
        if let Some(first) = self.decisions.iter().find(|row| row.choice.is_none()) {
            page.next_step(&NextStep::AnswerDecision(first.id.to_string()));
        }
    }
}

/// Explains how to resume skipped tasks.
fn show_skipped(rows: &[brigade::kitchen::DecisionRow], page: &mut Page) {
    if rows.iter().any(|row| row.choice.as_deref() == Some("skip")) {
        page.note(
            "`kitchen resume PRD retry` resumes skipped tasks; `kitchen ticket PRD ID` resumes one of them",
        );
    }
}

impl View for AnswerReport {
    fn show(&self, page: &mut Page) {
        status::decision(&self.decision, page);
        show_skipped(std::slice::from_ref(&self.decision), page);
        page.next(&self.next_command.to_string());
    }
}

impl View for SummaryReport {
    fn show(&self, page: &mut Page) {
        show_prd_origin(&self.prd_path, self.taken, page);
        match &self.path {
            Some(path) => page.data.field("wrote", Text::new(Tone::Accent, path)),
            None => self.text.lines().for_each(|line| page.data.line(line)),
        }
    }
}

impl View for ServiceReport {
    fn show(&self, page: &mut Page) {
        let several = !self.prds.is_empty();
        let reports = if several { &self.prds[..] } else { std::slice::from_ref(self) };
        for report in reports {
            page.data.gap();
            show_service(report, page);
        }
    }
}

fn show_service(report: &ServiceReport, page: &mut Page) {
    page.data.field("prd", Text::new(Tone::Accent, &report.prd_path));
    page.data.field("outcome", report.outcome.as_str());
    if let Some(ticket) = &report.ticket {
        let how = ticket.outcome.map_or("needs another attempt", brigade::kitchen::TaskOutcome::as_text);
        page.data.field(
            "task",
            Text::new(Tone::Strong, ticket.task.as_str()).then(Tone::Plain, &format!(": {how}")),
        );
    }
    page.data.field("done", format!("{} of {}", report.done, report.total));
    page.data.field_if("branch", report.branch.as_deref());
    page.data.field_if("commit", report.commit.as_deref());
    let lists = [
        ("failed", &report.failed),
        ("blocked", &report.blocked),
        ("skipped", &report.skipped),
        ("unreachable", &report.unreachable),
    ];
    for (name, ids) in lists {
        let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
        page.data.field_if(name, Some(ids.join(", ")));
    }
    if 0 < report.attempts {
        let workers = format!("{}, ${:.2}", pluralize(report.attempts, "start"), report.cost_usd);
        page.data.field("workers", workers);
    }
    if let Some(tasks) = report.tasks.as_ref().filter(|tasks| !tasks.is_empty()) {
        page.data.gap();
        let mut table = Table::new(["task", "tier", "title…", "why this tier…"]);
        for task in tasks {
            table.row([
                Text::new(Tone::Strong, task.id.as_str()),
                task.tier.as_str().into(),
                (&task.title).into(),
                Text::new(Tone::Faint, &task.reason),
            ]);
        }
        page.data.table(table);
        page.data.gap();
    }
    waves(report.waves.as_deref().unwrap_or_default(), page);
    for row in &report.decisions {
        page.data.gap();
        status::decision(row, page);
    }
    match &report.reason {
        Some(reason) if report.tasks.is_some() => {
            page.note(&format!("nothing would be started: {reason}"));
        }
        Some(reason) => page.note(reason),
        None => {}
    }
    page.notes(report.notes.iter().chain(&report.issues));
    for next in &report.next {
        page.next(&next.to_string());
    }
}
