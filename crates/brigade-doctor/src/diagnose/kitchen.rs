//! Diagnoses the kitchen.

use std::time::Duration;

use brigade_core::text::{escape_terminal, short};
use brigade_core::{ConfigIssue, NextStep, Place, Severity, Timestamp};
use brigade_kitchen::health::{KitchenHealth, PrdHealth};
use brigade_kitchen::life::TaskOutcome;
use brigade_kitchen::{PrdName, TaskId};

use crate::{Issue, IssueType, Snapshot};

/// How long a decision may wait for a person.
const MAX_WAIT: Duration = Duration::from_secs(72 * 60 * 60);

/// The maximum number of names in a sentence.
const MAX_NAMES: usize = 5;

/// The maximum length of a worker's text in a sentence, in characters.
const TEXT: usize = 200;

pub(super) fn kitchen(snapshot: &Snapshot<'_>, found: &mut Vec<Issue>) {
    let Some(kitchen) = snapshot.kitchen else { return };
    found.extend(kitchen.config.iter().map(config));
    for refusal in &kitchen.refusals {
        let issue = of_kitchen(IssueType::KitchenRefused, "kitchen", refusal.message.as_str());
        let evidence = format!("{} {}", refusal.code, refusal.message);
        found.push(issue.subject(refusal.message.as_str()).evidence(evidence).at(refusal.place.clone()));
    }
    for (tier, program) in &kitchen.missing {
        let program = escape_terminal(program);
        let detail = format!("the program of the {tier} tier, `{program}`, is not there");
        let issue = of_kitchen(IssueType::KitchenWorkerMissing, "kitchen", detail);
        found.push(issue.subject(tier.to_string()).evidence(program));
    }
    for prd in &kitchen.prds {
        of_file(prd, found);
        of_service(prd, snapshot.now, found);
        of_journal(prd, found);
    }
    receipts(kitchen, found);
}

fn of_kitchen(kind: IssueType, subject: &str, detail: impl Into<String>) -> Issue {
    let (tool_id, family) = (Some(subject.to_owned()), Some("kitchen".to_owned()));
    Issue { tool_id, family, ..Issue::new(kind, detail) }
}

fn of_prd(kind: IssueType, prd: &PrdHealth, detail: impl Into<String>) -> Issue {
    let path = prd.path.clone().unwrap_or_else(|| prd.journal.clone());
    let issue = of_kitchen(kind, prd.name.as_str(), detail);
    issue.at(Place::file(path.as_str())).object(path)
}

fn config(issue: &ConfigIssue) -> Issue {
    let kind = match issue.severity {
        Severity::Error => IssueType::KitchenConfig,
        Severity::Warning | Severity::Info => IssueType::KitchenConfigWarning,
    };
    let field = issue.field.as_ref().map(|field| format!("{field}: ")).unwrap_or_default();
    let found = of_kitchen(kind, "kitchen", format!("{field}{}", issue.message));
    let subject = issue.field.clone().unwrap_or_else(|| issue.place.file.clone());
    let found = found.subject(subject).evidence(issue.message.as_str()).at(issue.place.clone());
    Issue { severity: issue.severity, ..found }
}

fn of_file(prd: &PrdHealth, found: &mut Vec<Issue>) {
    if let Some(first) = prd.faults.first() {
        let detail = match prd.faults.len() {
            1 => format!("it has an error: {}", first.message),
            count => format!("it has {count} errors; the first one: {}", first.message),
        };
        let codes: Vec<&str> = prd.faults.iter().map(|fault| fault.code.as_str()).collect();
        let issue = of_prd(IssueType::KitchenPrdInvalid, prd, detail).evidence(codes.join(" "));
        found.push(issue.at(first.place.clone()));
    }
    if !prd.changed.is_empty() {
        let detail = format!("changed since it was approved: {}", names(&prd.changed));
        let issue = of_prd(IssueType::KitchenApprovalStale, prd, detail);
        found.push(issue.evidence(prd.changed.join(" ")));
    }
    if !prd.marked.is_empty() {
        let detail =
            format!("`passes` is true, but this was not done here: {}", shown(&prd.name, &prd.marked));
        found.push(of_prd(IssueType::KitchenMarked, prd, detail).evidence(words(&prd.marked)));
    }
}

fn of_service(prd: &PrdHealth, now: Timestamp, found: &mut Vec<Issue>) {
    if prd.is_interrupted {
        let detail = format!("the service of {} was killed before it was done", prd.name);
        let issue = of_prd(IssueType::KitchenInterrupted, prd, detail);
        found.push(if prd.path.is_none() { without_file(issue) } else { issue });
    }
    for (task, outcome, error) in &prd.failed {
        let word = if *outcome == TaskOutcome::Blocked { "is blocked" } else { "failed" };
        let error = error.as_ref().map(|error| format!(": {}", text(error))).unwrap_or_default();
        let detail = format!("{} {word}{error}", prd.name.shown(task));
        let issue = of_prd(IssueType::KitchenTaskFailed, prd, detail);
        let issue = issue.subject(task.as_str()).evidence(word);
        found.push(if prd.path.is_none() { without_file(issue) } else { issue });
    }
    for decision in &prd.waiting {
        let waits = now.since(decision.created_at);
        if waits <= MAX_WAIT {
            continue;
        }
        let task = decision.task.as_ref().map(|task| format!("{}: ", prd.name.shown(task)));
        let days = waits.as_secs() / (24 * 60 * 60);
        let context = text(&decision.context);
        let detail = format!("{}waits since {days} days: {context}", task.unwrap_or_default());
        let issue = of_prd(IssueType::KitchenDecisionStale, prd, detail);
        found.push(issue.subject(decision.id.as_str()).object(decision.id.as_str()));
    }
    if let Some(problem) = &prd.branch {
        found.push(of_prd(IssueType::KitchenBranchLostWork, prd, problem).evidence(problem.as_str()));
    }
    if !prd.left.is_empty() {
        let detail = match prd.left.len() {
            1 => format!("a worktree is left: {}", shown(&prd.name, &prd.left)),
            count => format!("{count} worktrees are left: {}", shown(&prd.name, &prd.left)),
        };
        found.push(of_prd(IssueType::KitchenWorktreeLeft, prd, detail).evidence(words(&prd.left)));
    }
}

/// Changes the fix of an issue: without its file, a PRD can only be viewed.
fn without_file(issue: Issue) -> Issue {
    let journal = issue.object.clone().unwrap_or_default();
    let detail = format!("{}; the file of the PRD is gone", issue.detail);
    Issue { other_fix: Some(NextStep::ReadFile(journal)), detail, ..issue }
}

fn of_journal(prd: &PrdHealth, found: &mut Vec<Issue>) {
    let of_journal = |kind: IssueType, detail: String, line: Option<u64>| {
        let place = match line.and_then(|line| usize::try_from(line).ok()) {
            Some(line) => Place::at(prd.journal.as_str(), line, 1),
            None => Place::file(prd.journal.as_str()),
        };
        of_kitchen(kind, prd.name.as_str(), detail).at(place).object(prd.journal.as_str())
    };
    for (kind, is_loss) in [(IssueType::KitchenJournalDamaged, false), (IssueType::KitchenJournalLost, true)]
    {
        let damage: Vec<_> = prd.damage.iter().filter(|damage| damage.is_loss == is_loss).collect();
        let Some(first) = damage.first() else { continue };
        let at = first.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let more = match damage.len() {
            1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        let evidence: Vec<&str> = damage.iter().map(|damage| damage.problem.as_str()).collect();
        let issue = of_journal(kind, format!("{at}{}{more}", first.problem), first.line);
        found.push(issue.evidence(evidence.join("\n")));
    }
    for file in &prd.set_aside {
        let detail = "lines that were not records of its journal were set aside";
        let issue = of_kitchen(IssueType::KitchenLinesSetAside, prd.name.as_str(), detail);
        found.push(issue.subject(file.as_str()).at(Place::file(file)).object(file.as_str()));
    }
    if 0 < prd.unsigned {
        let s = if prd.unsigned == 1 { "" } else { "s" };
        let detail = format!("{} record{s} that approve or answer were not made on this host", prd.unsigned);
        found.push(of_journal(IssueType::NotApprovedHere, detail, None));
    }
    if 0 < prd.newer {
        let s = if prd.newer == 1 { "" } else { "s" };
        let detail = format!("{} record{s} of a newer version", prd.newer);
        found.push(of_journal(IssueType::KitchenJournalNewer, detail, None));
    }
}

fn receipts(kitchen: &KitchenHealth, found: &mut Vec<Issue>) {
    for (run, what) in &kitchen.receipts {
        let run = escape_terminal(run);
        let at = if run.is_empty() { String::new() } else { format!("{run}: ") };
        let issue = of_kitchen(IssueType::KitchenReceiptsBroken, "kitchen", format!("{at}{what}"));
        let issue = issue.subject(run).evidence(what.as_str()).at(Place::file(kitchen.ledger.as_str()));
        found.push(issue.object(kitchen.ledger.as_str()));
    }
}

fn text(text: &str) -> String {
    short(&escape_terminal(text), TEXT)
}

fn words(tasks: &[TaskId]) -> String {
    tasks.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" ")
}

fn shown(name: &PrdName, tasks: &[TaskId]) -> String {
    names(&tasks.iter().map(|task| name.shown(task)).collect::<Vec<_>>())
}

fn names(names: &[String]) -> String {
    let more = if MAX_NAMES < names.len() {
        format!(", and {} more", names.len() - MAX_NAMES)
    } else {
        String::new()
    };
    let first: Vec<String> =
        names.iter().take(MAX_NAMES).map(|name| escape_terminal(name).to_string()).collect();
    format!("{}{more}", first.join(", "))
}

#[cfg(test)]
mod tests;
