//! What is wrong with one runtime.

use brigade_catalog::Runtime;
use brigade_core::{Hint, Json, NextStep, Object, Place, Severity};

/// The kinds of issues, as reports and the inbox name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IssueType {
    /// The entry of runtimes.toml cannot be used.
    Config,
    /// A command is judged too risky to run.
    HighRiskCommand,
    /// A command holds what looks like a secret.
    SecretInCommand,
    /// A command cannot be split, or its program is not there.
    BadCommand,
    /// The folder that it runs in is not there.
    MissingCwd,
    /// A path leads out of the workspace.
    OutsidePath,
    /// A pid file is left of a process that has ended.
    StalePid,
    /// A process runs that nothing proves to be this runtime.
    Unmanaged,
    /// Somebody else listens on its port.
    PortConflict,
    /// It runs and is not healthy.
    HealthFailed,
    /// It writes more into a log than is kept.
    LogTooLong,
    /// It runs, and the process that wrote its logs was killed.
    LogWriterGone,
    /// It runs as an older entry said.
    Outdated,
    /// It runs, and no entry names it any more.
    Left,
}

impl IssueType {
    /// All of them.
    pub const ALL: [IssueType; 14] = [
        IssueType::Config,
        IssueType::HighRiskCommand,
        IssueType::SecretInCommand,
        IssueType::BadCommand,
        IssueType::MissingCwd,
        IssueType::OutsidePath,
        IssueType::StalePid,
        IssueType::Unmanaged,
        IssueType::PortConflict,
        IssueType::HealthFailed,
        IssueType::LogTooLong,
        IssueType::LogWriterGone,
        IssueType::Outdated,
        IssueType::Left,
    ];

    /// Returns what helps with the runtime of this id; none where the entry is to be edited.
    pub fn next_step(self, runtime_id: &str) -> Option<NextStep> {
        let step: fn(String) -> NextStep = match self {
            IssueType::Config
            | IssueType::HighRiskCommand
            | IssueType::SecretInCommand
            | IssueType::BadCommand
            | IssueType::MissingCwd
            | IssueType::OutsidePath => return None,
            IssueType::StalePid | IssueType::Left => NextStep::StopRuntime,
            IssueType::Unmanaged | IssueType::PortConflict => NextStep::ShowRuntime,
            IssueType::HealthFailed
            | IssueType::LogTooLong
            | IssueType::LogWriterGone
            | IssueType::Outdated => NextStep::RestartRuntime,
        };
        Some(step(runtime_id.to_owned()))
    }

    /// Returns the stable name: `runtime_config`, `runtime_stale_pid`, …
    pub const fn as_str(self) -> &'static str {
        match self {
            IssueType::Config => "runtime_config",
            IssueType::HighRiskCommand => "runtime_high_risk_command",
            IssueType::SecretInCommand => "runtime_secret_in_command",
            IssueType::BadCommand => "runtime_bad_command",
            IssueType::MissingCwd => "runtime_missing_cwd",
            IssueType::OutsidePath => "runtime_outside_path",
            IssueType::StalePid => "runtime_stale_pid",
            IssueType::Unmanaged => "runtime_unmanaged",
            IssueType::PortConflict => "runtime_port_conflict",
            IssueType::HealthFailed => "runtime_health_failed",
            IssueType::LogTooLong => "runtime_log_too_long",
            IssueType::LogWriterGone => "runtime_log_writer_gone",
            IssueType::Outdated => "runtime_outdated",
            IssueType::Left => "runtime_left",
        }
    }
}

/// One thing that is wrong with a runtime. Never quotes a value of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeIssue {
    /// The runtime.
    pub runtime_id: String,
    /// What kind of issue it is.
    pub issue_type: IssueType,
    /// How bad it is; an error keeps the runtime from being started.
    pub severity: Severity,
    /// What is wrong, in a sentence without a final stop.
    pub detail: String,
    /// The place in runtimes.toml that it concerns.
    pub place: Place,
    /// The field that it concerns.
    pub field: Option<&'static str>,
    /// What to do about it.
    pub fix: Option<Hint>,
}

impl RuntimeIssue {
    /// Makes an issue of error severity about a field.
    pub(crate) fn of_field(
        runtime: &Runtime,
        issue_type: IssueType,
        field: &'static str,
        detail: impl Into<String>,
    ) -> RuntimeIssue {
        RuntimeIssue {
            runtime_id: runtime.id.to_string(),
            issue_type,
            severity: Severity::Error,
            detail: detail.into(),
            place: runtime.place_of(field),
            field: Some(field),
            fix: issue_type.next_step(runtime.id.as_str()).map(Hint::from),
        }
    }

    /// Makes an issue of the whole runtime.
    pub(crate) fn of_runtime(
        runtime: &Runtime,
        issue_type: IssueType,
        severity: Severity,
        detail: impl Into<String>,
    ) -> RuntimeIssue {
        RuntimeIssue {
            runtime_id: runtime.id.to_string(),
            issue_type,
            severity,
            detail: detail.into(),
            place: runtime.origin.place.clone(),
            field: None,
            fix: issue_type.next_step(runtime.id.as_str()).map(Hint::from),
        }
    }

    pub(crate) fn with_fix(self, fix: impl Into<Hint>) -> RuntimeIssue {
        RuntimeIssue { fix: Some(fix.into()), ..self }
    }

    pub(crate) fn with_severity(self, severity: Severity) -> RuntimeIssue {
        RuntimeIssue { severity, ..self }
    }

    /// Returns the name that doctor lists it by.
    pub fn name(&self) -> String {
        match self.issue_type {
            IssueType::Config => self.issue_type.as_str().to_owned(),
            issue_type => format!("tool_{}", issue_type.as_str()),
        }
    }

    /// Returns the members that issues have in reports.
    pub fn to_json(&self) -> Object {
        Object::from([
            ("status".to_owned(), Json::from("warn")),
            ("name".to_owned(), self.name().into()),
            ("tool_id".to_owned(), self.runtime_id.as_str().into()),
            ("family".to_owned(), "runtime".into()),
            ("issue_type".to_owned(), self.issue_type.as_str().into()),
            ("harness".to_owned(), Json::Null),
            ("projection_target".to_owned(), Json::Null),
            ("description".to_owned(), Json::Null),
            ("detail".to_owned(), self.detail.as_str().into()),
            ("severity".to_owned(), self.severity.as_str().into()),
            ("file".to_owned(), self.place.file.as_str().into()),
            ("line".to_owned(), self.place.line.into()),
            ("field".to_owned(), self.field.into()),
            ("fix".to_owned(), self.fix.as_ref().map(ToString::to_string).into()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_config_issues_keep_their_type_as_name() {
        let runtime = Runtime::new("helper", "x").unwrap();
        let name = |issue_type| RuntimeIssue::of_field(&runtime, issue_type, "command", "x").name();
        assert_eq!(name(IssueType::Config), "runtime_config");
        assert_eq!(name(IssueType::StalePid), "tool_runtime_stale_pid");
    }
}
