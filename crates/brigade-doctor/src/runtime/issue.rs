//! Issues of runtimes.

use brigade_catalog::Runtime;
use brigade_core::{Hint, Place, Severity};

use crate::{Health, IssueType};

/// A problem of a runtime. Never quotes a value of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeIssue {
    /// The runtime.
    pub runtime_id: String,
    /// What kind of issue it is.
    pub issue_type: IssueType,
    /// The severity. A runtime with an error cannot be started.
    pub severity: Severity,
    /// The problem: one sentence without a final stop.
    pub detail: String,
    /// The place in runtimes.toml that it concerns.
    pub place: Place,
    /// The field that it concerns.
    pub field: Option<&'static str>,
    /// How to fix it.
    pub fix: Option<Hint>,
}

impl RuntimeIssue {
    /// Creates an error about a field.
    pub fn of_field(
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
            fix: issue_type.step_for(runtime.id.as_str()).map(Hint::from),
        }
    }

    /// Creates an issue of the whole runtime.
    pub fn of_runtime(
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
            fix: issue_type.step_for(runtime.id.as_str()).map(Hint::from),
        }
    }

    /// Creates the issue of a health check that failed.
    pub fn of_health(runtime: &Runtime, health: &Health) -> RuntimeIssue {
        let kind = IssueType::RuntimeHealthFailed;
        RuntimeIssue::of_runtime(runtime, kind, Severity::Warning, health.detail.as_str())
    }

    /// Replaces the fix.
    #[must_use]
    pub fn with_fix(self, fix: impl Into<Hint>) -> RuntimeIssue {
        RuntimeIssue { fix: Some(fix.into()), ..self }
    }

    /// Replaces the severity.
    #[must_use]
    pub fn with_severity(self, severity: Severity) -> RuntimeIssue {
        RuntimeIssue { severity, ..self }
    }
}
