//! Runtimes as reports and receipts show them.

use brigade_call::{RuntimeIssueRecord, RuntimeStatus};
use brigade_catalog::{Runtime, Runtimes};
use brigade_core::{ConfigIssue, Fingerprint, Hint, NextStep, Place, Severity, Spell};
use brigade_policy::Blocker;
use brigade_redact::{Redactor, shown_command};
use brigade_runtime::{RuntimeError, RuntimeFacts, RuntimeIssue};

use crate::error::{Error, ErrorKind};
use crate::room::Room;
use crate::shown;

/// Shows a runtime.
pub(crate) fn runtime_status(room: &Room, facts: &RuntimeFacts) -> RuntimeStatus {
    shown::shown_runtime(room, recorded(facts, &*room.env.speller))
}

/// Returns a runtime as receipts have it: paths are relative to the workspace, and a command line shows no secret.
pub(super) fn recorded(facts: &RuntimeFacts, speller: &dyn Spell) -> RuntimeStatus {
    let redactor = Redactor::new(&[]);
    let mask = |command: &mut String| *command = redactor.redact_str(&shown_command(command));
    let mut status = facts.status();
    mask(&mut status.command);
    status.metadata.iter_mut().filter_map(|metadata| metadata.command.as_mut()).for_each(mask);
    let words = |step: &NextStep| speller.spell(step, None);
    status.issues = facts.issues.iter().map(|found| issue(found, words)).collect();
    status
}

/// Returns what mends an issue: what a hint without a step speaks of is mended in the file.
fn fix(hint: Option<&Hint>, place: &Place, words: impl Fn(&NextStep) -> String) -> String {
    match hint.and_then(Hint::step) {
        Some(step) => words(step),
        None => words(&NextStep::Edit(place.clone())),
    }
}

/// Returns a hint that is a sentence and no step; it stands in the detail.
fn advice(hint: Option<&Hint>) -> Option<&Hint> {
    hint.filter(|hint| hint.step().is_none())
}

/// Shows an issue of a runtime.
pub(super) fn issue(issue: &RuntimeIssue, words: impl Fn(&NextStep) -> String) -> RuntimeIssueRecord {
    // The detail may name processes, so it does not enter.
    let fingerprint = Fingerprint::builder("brigade.runtime-issue.v1")
        .text("type", issue.issue_type.code())
        .text("runtime_id", issue.runtime_id.as_str())
        .text("field", issue.field)
        .finish();
    RuntimeIssueRecord {
        detail: match advice(issue.fix.as_ref()) {
            Some(advice) => format!("{} ({advice})", issue.detail),
            None => issue.detail.clone(),
        },
        fingerprint: Some(fingerprint),
        fix: Some(fix(issue.fix.as_ref(), &issue.place, words)),
        ..issue.to_record()
    }
}

/// Shows an issue of the file of the runtimes, with the keys of an issue of a runtime.
pub(super) fn config_issue(issue: &ConfigIssue, words: impl Fn(&NextStep) -> String) -> RuntimeIssueRecord {
    let fingerprint = Fingerprint::builder("brigade.runtime-issue.v1")
        .text("type", "runtime_config")
        .text("runtime_id", issue.entry.as_deref())
        .text("field", issue.field.as_deref())
        .text("message", issue.message.as_str())
        .finish();
    let mut detail = match &issue.field {
        Some(field) => format!("{}: {}", brigade_core::text::escape_terminal(field), issue.message),
        None => issue.message.clone(),
    };
    if let Some(advice) = advice(issue.hint.as_ref()) {
        detail = format!("{detail} ({advice})");
    }
    RuntimeIssueRecord {
        status: "warn".to_owned(),
        name: "runtime_config".to_owned(),
        tool_id: issue.entry.clone(),
        family: Some("runtime".to_owned()),
        issue_type: "runtime_config".to_owned(),
        detail,
        severity: Some(issue.severity.as_str().to_owned()),
        file: Some(issue.place.file.clone()),
        line: issue.place.line,
        field: issue.field.clone(),
        fix: Some(fix(issue.hint.as_ref(), &issue.place, words)),
        fingerprint: Some(fingerprint),
        ..RuntimeIssueRecord::default()
    }
}

/// Turns issues that keep a runtime from being started into reasons; errors of its entry are told one by one.
pub(super) fn blockers(
    runtimes: &Runtimes,
    runtime: &Runtime,
    issues: &[RuntimeIssue],
    speller: &dyn Spell,
) -> Vec<Blocker> {
    let of_issue = |issue: &RuntimeIssue| {
        let mut blocker = Blocker::new(issue.issue_type.code(), issue.detail.clone()).at(issue.place.clone());
        blocker.field = issue.field.map(str::to_owned);
        blocker.hint = issue.fix.clone();
        blocker.spell(speller);
        blocker
    };
    let mut found: Vec<Blocker> = issues.iter().map(of_issue).collect();
    let concerns = |issue: &&ConfigIssue| {
        runtime.is_broken
            && issue.severity == Severity::Error
            && issue.entry.as_deref().is_some_and(|entry| runtime.id == entry)
    };
    found.extend(runtimes.issues().iter().filter(concerns).map(|issue| {
        let mut blocker = Blocker::new("runtime_config", issue.message.clone()).at(issue.place.clone());
        blocker.field = issue.field.clone();
        blocker.hint = issue.hint.clone();
        blocker
    }));
    found
}

/// Says that a runtime is switched off.
pub(super) fn disabled(runtime: &Runtime) -> Blocker {
    Blocker::new("runtime_disabled", "the runtime is disabled")
        .at(runtime.place_of("enabled"))
        .field("enabled")
        .hint("set `enabled = true`")
}

impl From<RuntimeError> for Error {
    fn from(error: RuntimeError) -> Error {
        let kind = match error {
            RuntimeError::Fs(error) => return error.into(),
            RuntimeError::Newer { .. } | RuntimeError::Outside { .. } => ErrorKind::Refused,
            _ => ErrorKind::Environment,
        };
        Error::new(kind, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fix_of_an_issue_is_a_command_and_advice_stands_in_the_detail() {
        #[track_caller]
        fn check(hint: impl Into<Hint>, detail: &str, fix: &str) {
            let found = ConfigIssue {
                severity: Severity::Warning,
                place: Place::at("runtimes.toml", 3, 1),
                entry: None,
                field: Some("runtim".to_owned()),
                message: "unknown key".to_owned(),
                hint: Some(hint.into()),
            };
            let shown = config_issue(&found, NextStep::to_string);
            assert_eq!((shown.detail.as_str(), shown.fix.as_deref()), (detail, Some(fix)));
        }
        let advice = "did you mean `runtime`?";
        check(advice, &format!("runtim: unknown key ({advice})"), "edit:runtimes.toml:3:1");
        check(NextStep::InitRuntimes, "runtim: unknown key", "init-runtimes");
    }

    #[test]
    fn a_command_shows_no_secret() {
        let runtime = Runtime::new("helper", "serve --token=EXAMPLE1234567890").unwrap();
        let fs = brigade_fs::MemoryFs::new();
        let host = brigade_runtime::Host::default();
        let supervisor = brigade_runtime::Supervisor::new(&fs, &brigade_core::SystemClock, &host);
        let shown = recorded(
            &supervisor.facts_of_one(&runtime, brigade_runtime::Checks::Skip, None),
            &brigade_core::NeutralWords,
        );
        assert!(!shown.command.contains("EXAMPLE"), "{}", shown.command);
    }
}

#[cfg(test)]
mod codes {
    use brigade_doctor::IssueType;

    #[track_caller]
    fn kind(code: &str) -> IssueType {
        IssueType::from_code(code).unwrap_or_else(|| panic!("{code} is not in the table"))
    }

    #[test]
    fn the_table_has_every_code_that_is_shown_of_servers() {
        for source in [include_str!("../live/compare.rs"), include_str!("../pins.rs")] {
            let quoted = source.split('"').filter(|text| text.starts_with("mcp_"));
            let codes: Vec<&str> =
                quoted.filter(|text| !matches!(*text, "mcp_tool_name" | "mcp_server_id")).collect();
            assert!(!codes.is_empty());
            codes.into_iter().for_each(|code| assert_eq!(kind(code).code(), code));
        }
    }
}
