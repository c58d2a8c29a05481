//! Converts runtimes and their issues for lists and receipts.

use brigade_call::RuntimeIssueRecord;
use brigade_catalog::{Runtime, Runtimes, UnsafeUserFile};
use brigade_core::text::escape_terminal;
use brigade_core::{ConfigIssue, ErrorCode, Fingerprint, Hint, NextStep, Place, Severity, StepFormatter};
use brigade_policy::Blocker;

use super::RuntimeIssue;
use crate::IssueType;

impl RuntimeIssue {
    /// Returns the issue for lists and receipts, with its next step formatted by `speller`.
    pub fn to_record(&self, speller: &dyn StepFormatter) -> RuntimeIssueRecord {
        // The detail may name processes, so it is not included.
        let fingerprint = Fingerprint::builder("brigade.runtime-issue.v1")
            .text("type", self.issue_type.code())
            .text("runtime_id", self.runtime_id.as_str())
            .text("field", self.field)
            .finish();
        RuntimeIssueRecord {
            name: self.issue_type.name(),
            tool_id: Some(self.runtime_id.clone()),
            issue_type: self.issue_type.code().to_owned(),
            field: self.field.map(str::to_owned),
            fingerprint: Some(fingerprint),
            ..record(self.severity, &self.detail, &self.place, self.fix.as_ref(), speller)
        }
    }

    /// Returns the issue as a reason why the runtime is not started.
    pub fn to_blocker(&self) -> Blocker {
        let mut blocker = Blocker::new(self.issue_type, self.detail.clone()).at(self.place.clone());
        blocker.field = self.field.map(str::to_owned);
        blocker.hint = self.fix.clone();
        blocker
    }
}

/// Returns an issue of the runtimes file, with the keys of an issue of a runtime.
pub fn config_record(issue: &ConfigIssue, speller: &dyn StepFormatter) -> RuntimeIssueRecord {
    let why = UnsafeUserFile::said_by(issue);
    let kind = if why.is_some() { IssueType::UserCatalogUnsafe } else { IssueType::RuntimeConfig };
    let fix = why.map(|why| Hint::from(why.fix(&issue.place.file)));
    let fingerprint = Fingerprint::builder("brigade.runtime-issue.v1")
        .text("type", kind.code())
        .text("runtime_id", issue.entry.as_deref())
        .text("field", issue.field.as_deref())
        .text("message", issue.message.as_str())
        .finish();
    let detail = match &issue.field {
        Some(field) => format!("{}: {}", escape_terminal(field), issue.message),
        None => issue.message.clone(),
    };
    RuntimeIssueRecord {
        name: kind.name(),
        tool_id: issue.entry.clone(),
        issue_type: kind.code().to_owned(),
        field: issue.field.clone(),
        fingerprint: Some(fingerprint),
        ..record(issue.severity, &detail, &issue.place, fix.as_ref().or(issue.hint.as_ref()), speller)
    }
}

/// Returns the common members. A hint with a next step becomes the fix. A hint without one is added to the detail, and
/// the fix names the file.
fn record(
    severity: Severity,
    detail: &str,
    place: &Place,
    hint: Option<&Hint>,
    speller: &dyn StepFormatter,
) -> RuntimeIssueRecord {
    let step = hint.and_then(Hint::step);
    RuntimeIssueRecord {
        status: "warn".to_owned(),
        family: Some("runtime".to_owned()),
        detail: match hint.filter(|_| step.is_none()) {
            Some(advice) => format!("{detail} ({advice})"),
            None => detail.to_owned(),
        },
        severity: Some(severity),
        file: Some(place.file.clone()),
        line: place.line,
        fix: Some(speller.spell(step.unwrap_or(&NextStep::Edit(place.clone())), None)),
        ..RuntimeIssueRecord::default()
    }
}

/// Returns why a runtime is not started: its issues, and each error of its entry.
pub fn start_blockers(runtimes: &Runtimes, runtime: &Runtime, issues: &[RuntimeIssue]) -> Vec<Blocker> {
    let mut found: Vec<Blocker> = issues.iter().map(RuntimeIssue::to_blocker).collect();
    let concerns = |issue: &&ConfigIssue| {
        runtime.is_broken
            && issue.severity == Severity::Error
            && issue.entry.as_deref().is_some_and(|entry| runtime.id == entry)
    };
    found.extend(runtimes.issues().iter().filter(concerns).map(|issue| {
        let mut blocker =
            Blocker::new(ErrorCode::RuntimeConfig, issue.message.clone()).at(issue.place.clone());
        blocker.field = issue.field.clone();
        blocker.hint = issue.hint.clone();
        blocker
    }));
    found
}

/// Returns why a runtime with a valid entry is not started: it is disabled, remote, or several entries have its id.
pub fn not_to_be_started(runtimes: &Runtimes, runtime: &Runtime) -> Option<Blocker> {
    if !runtime.enabled {
        let blocker = Blocker::new(ErrorCode::RuntimeDisabled, "the runtime is disabled");
        let blocker = blocker.at(runtime.place_of("enabled")).field("enabled");
        return Some(blocker.hint("set `enabled = true`"));
    }
    if runtime.url.is_some() {
        let message = "the runtime is a remote server, which has no process to start";
        let blocker =
            Blocker::new(ErrorCode::RuntimeConfig, message).at(runtime.place_of("url")).field("url");
        return Some(blocker.hint("import its tools, and call them"));
    }
    let same = || runtimes.runtimes().iter().filter(|other| other.id == runtime.id);
    let last = same().nth(1)?;
    let message = format!("{} entries have the id", same().count());
    let blocker = Blocker::new(ErrorCode::RuntimeConfig, message).at(last.place_of("id")).field("id");
    Some(blocker.hint("give each runtime a unique id"))
}

#[cfg(test)]
mod tests {
    use brigade_catalog::Masks;
    use brigade_core::NeutralWords;

    use super::*;
    use crate::RuntimeFacts;

    #[test]
    fn steps_become_the_fix_and_advice_joins_the_detail() {
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
            let shown = config_record(&found, &NeutralWords);
            assert_eq!((shown.detail.as_str(), shown.fix.as_deref()), (detail, Some(fix)));
        }
        let advice = "did you mean `runtime`?";
        check(advice, &format!("runtim: unknown key ({advice})"), "edit:runtimes.toml:3:1");
        check(NextStep::InitRuntimes, "runtim: unknown key", "init-runtimes");
    }

    #[test]
    fn a_command_shows_no_secret() {
        let mut runtime = Runtime::new("helper", "serve --token=EXAMPLE1234567890 Zq7tail").unwrap();
        runtime.cwd = Some("a/Zq7tail".to_owned());
        runtime.health_path = Some("Zq7tail.json".to_owned());
        let masks = Masks::new(&["Zq7tail".into()]);
        let shown = RuntimeFacts::new(&runtime, &masks).status(&NeutralWords);
        assert_eq!(shown.command, "serve --token=[redacted] [redacted]");
        assert_eq!(
            (shown.cwd.as_deref(), shown.health_path.as_deref()),
            (Some("a/[redacted]"), Some("[redacted].json"))
        );
    }
}
