//! Runtimes as reports and receipts show them.

use brigade_catalog::{Runtime, Runtimes};
use brigade_core::{ConfigIssue, Fingerprint, Hint, Json, NextStep, Object, Place, Severity, Spell};
use brigade_policy::Blocker;
use brigade_redact::{Redactor, shown_command};
use brigade_runtime::{RuntimeError, RuntimeFacts, RuntimeIssue};

use crate::error::{Error, ErrorKind};
use crate::room::Room;

/// The members that are paths.
const PATHS: &[&str] =
    &["cwd", "pid_path", "metadata_path", "stdout_log_path", "stderr_log_path", "health_path"];

impl Room {
    /// Writes a runtime as reports have it, with absolute paths.
    pub(super) fn runtime_json(&self, facts: &RuntimeFacts) -> Json {
        self.runtime_with_paths(&receipt_json(facts, &*self.env.speller))
    }

    /// Makes the paths of a runtime absolute that were stored relative to the workspace.
    pub(crate) fn runtime_with_paths(&self, runtime: &Json) -> Json {
        let mut runtime = runtime.clone();
        if let Json::Object(members) = &mut runtime {
            self.runtime_paths(members);
            if let Some(Json::Object(metadata)) = members.get_mut("metadata") {
                self.runtime_paths(metadata);
            }
        }
        runtime
    }

    fn runtime_paths(&self, members: &mut Object) {
        if members.get("cwd").and_then(Json::as_str) == Some(".") {
            members.insert("cwd".to_owned(), Json::from(self.target()));
        }
        for key in PATHS {
            self.make_absolute(members, key);
        }
    }
}

/// Writes a runtime as receipts have it: paths are relative to the workspace, and a command line shows no secret.
pub(super) fn receipt_json(facts: &RuntimeFacts, speller: &dyn Spell) -> Json {
    let redactor = Redactor::new(&[]);
    let mut members = facts.to_json();
    mask_command(&redactor, &mut members);
    if let Some(Json::Object(metadata)) = members.get_mut("metadata") {
        mask_command(&redactor, metadata);
    }
    let words = |step: &NextStep| speller.spell(step, None);
    let issues = facts.issues.iter().map(|found| issue(found, words));
    members.insert("issues".to_owned(), issues.collect::<Vec<_>>().into());
    Json::Object(members)
}

fn mask_command(redactor: &Redactor, members: &mut Object) {
    if let Some(Json::String(command)) = members.get_mut("command") {
        *command = redactor.redact_str(&shown_command(command));
    }
}

/// Returns what mends an issue: what a hint without a step speaks of is mended in the file.
fn fix(hint: Option<&Hint>, place: &Place, words: impl Fn(&NextStep) -> String) -> Json {
    Json::from(match hint.and_then(Hint::step) {
        Some(step) => words(step),
        None => words(&NextStep::Edit(place.clone())),
    })
}

/// Returns a hint that is a sentence and no step; it stands in the detail.
fn advice(hint: Option<&Hint>) -> Option<&Hint> {
    hint.filter(|hint| hint.step().is_none())
}

/// Writes an issue of a runtime.
pub(super) fn issue(issue: &RuntimeIssue, words: impl Fn(&NextStep) -> String) -> Json {
    let mut members = issue.to_json();
    // The detail may name processes, so it does not enter.
    let fingerprint = Fingerprint::builder("brigade.runtime-issue.v1")
        .text("type", issue.issue_type.code())
        .text("runtime_id", issue.runtime_id.as_str())
        .text("field", issue.field)
        .finish();
    members.insert("fingerprint".to_owned(), fingerprint.to_hex().into());
    if let Some(advice) = advice(issue.fix.as_ref()) {
        members.insert("detail".to_owned(), Json::from(format!("{} ({advice})", issue.detail)));
    }
    members.insert("fix".to_owned(), fix(issue.fix.as_ref(), &issue.place, words));
    Json::Object(members)
}

/// Writes an issue of the file of the runtimes, with the keys of an issue of a runtime.
pub(super) fn config_issue(issue: &ConfigIssue, words: impl Fn(&NextStep) -> String) -> Json {
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
    Json::object([
        ("status", Json::from("warn")),
        ("name", "runtime_config".into()),
        ("tool_id", issue.entry.clone().into()),
        ("family", "runtime".into()),
        ("issue_type", "runtime_config".into()),
        ("harness", Json::Null),
        ("projection_target", Json::Null),
        ("description", Json::Null),
        ("detail", detail.into()),
        ("severity", issue.severity.as_str().into()),
        ("file", issue.place.file.as_str().into()),
        ("line", issue.place.line.into()),
        ("field", issue.field.clone().into()),
        ("fix", fix(issue.hint.as_ref(), &issue.place, words)),
        ("fingerprint", fingerprint.to_hex().into()),
    ])
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
    fn an_issue_of_the_file_has_the_keys_of_one_of_a_runtime() {
        let found = ConfigIssue {
            severity: Severity::Error,
            place: Place::file("runtimes.toml"),
            entry: Some("helper".to_owned()),
            field: Some("port".to_owned()),
            message: "expected a port".to_owned(),
            hint: None,
        };
        let of_file = config_issue(&found, NextStep::to_string);
        assert_eq!(of_file.get("detail").and_then(Json::as_str), Some("port: expected a port"));
        let runtime = Runtime::new("helper", "'").unwrap();
        let fs = brigade_fs::MemoryFs::new();
        let host = brigade_runtime::Host::default();
        let supervisor = brigade_runtime::Supervisor::new(&fs, &brigade_core::SystemClock, &host);
        let facts = supervisor.facts_of_one(&runtime, brigade_runtime::Checks::Skip, None);
        let of_runtime = issue(&facts.issues[0], NextStep::to_string);
        let keys = |json: &Json| -> Vec<String> { json.as_object().unwrap().keys().cloned().collect() };
        assert_eq!(keys(&of_file), keys(&of_runtime));
    }

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
            let text = |key: &str| shown.get(key).and_then(Json::as_str).unwrap().to_owned();
            assert_eq!((text("detail").as_str(), text("fix").as_str()), (detail, fix));
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
        let shown = receipt_json(
            &supervisor.facts_of_one(&runtime, brigade_runtime::Checks::Skip, None),
            &brigade_core::NeutralWords,
        );
        assert!(!shown.to_compact().contains("EXAMPLE"), "{}", shown.to_compact());
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
