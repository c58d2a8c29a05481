//! What is wrong with one runtime.

use brigade_catalog::Runtime;
use brigade_core::{Hint, Json, Object, Place, Severity};

use crate::IssueType;

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

    /// Makes an issue of the whole runtime.
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

    /// Replaces what to do about it.
    #[must_use]
    pub fn with_fix(self, fix: impl Into<Hint>) -> RuntimeIssue {
        RuntimeIssue { fix: Some(fix.into()), ..self }
    }

    /// Replaces how bad it is.
    #[must_use]
    pub fn with_severity(self, severity: Severity) -> RuntimeIssue {
        RuntimeIssue { severity, ..self }
    }

    /// Returns the members that issues have in reports.
    pub fn to_json(&self) -> Object {
        Object::from([
            ("status".to_owned(), Json::from("warn")),
            ("name".to_owned(), self.issue_type.name().into()),
            ("tool_id".to_owned(), self.runtime_id.as_str().into()),
            ("family".to_owned(), "runtime".into()),
            ("issue_type".to_owned(), self.issue_type.code().into()),
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
