//! Closeouts: projection issues that a person reviewed and accepted.

use std::sync::Arc;

use brigade_core::{ErrorCode, Report as _};
use brigade_doctor::{Closeout, Issue, Verdict, quiet};
use brigade_policy::{ErrorLine, Failure};
use brigade_redact::Redactor;

use crate::closeouts::{BrokenCloseout, CLOSEOUTS, closeouts, projection_issues, store_closeout};
use crate::doctor::shown::{latest_closeout, shown_issues};
use crate::error::Error;
use crate::report::{CloseoutReport, ParityReport};
use brigade_workspace::{WorkspaceContext, gather};

/// Operations on projection parity between harnesses.
#[derive(Clone)]
pub struct Parity {
    context: Arc<WorkspaceContext>,
}

impl Parity {
    /// Creates the operations on a workspace.
    pub fn new(context: Arc<WorkspaceContext>) -> Parity {
        Parity { context }
    }

    /// Lists projection issues, and which of them the last closeout accepted.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn status(&self) -> Result<ParityReport, Error> {
        Ok(status(&self.context)?)
    }

    /// Accepts the current projection issues, so only new and changed ones count.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn closeout(&self, reason: Option<&str>, verdict: Verdict) -> Result<CloseoutReport, Error> {
        Ok(closeout(&self.context, reason, verdict)?)
    }
}

pub(crate) fn status(context: &WorkspaceContext) -> Result<ParityReport, Failure> {
    let closeouts = closeouts(&*context.fs);
    let listed = closeouts.fingerprints();
    let divided = quiet(issues_now(context)?, listed.as_ref(), &context.target());
    let [issues, quieted_issues, changed_issues] =
        [&divided.issues, &divided.quieted, &divided.changed].map(|issues| shown_issues(context, issues));
    Ok(ParityReport {
        schema: ParityReport::SCHEMA,
        target: context.target(),
        closeouts_path: context.absolute(CLOSEOUTS),
        errors: closeouts.errors.iter().map(error_line).collect(),
        latest_closeout: latest_closeout(context, closeouts),
        projection_issue_count: issues.len(),
        quieted_issue_count: quieted_issues.len(),
        changed_issue_count: changed_issues.len(),
        issues,
        quieted_issues,
        changed_issues,
    })
}

pub(crate) fn closeout(
    context: &WorkspaceContext,
    reason: Option<&str>,
    verdict: Verdict,
) -> Result<CloseoutReport, Failure> {
    let issues = issues_now(context)?;
    let reason = Redactor::new(&gather::telling_values(context))
        .for_settings()
        .redact_str(reason.unwrap_or_default().trim());
    let now = context.now();
    let record = Closeout::of_issues(&issues, verdict, reason);
    let (stored, file) = store_closeout(&*context.fs, now, record)?;
    Ok(CloseoutReport {
        schema: CloseoutReport::SCHEMA,
        target: context.target(),
        closeout_id: stored.closeout_id,
        created_at: stored.created_at,
        status: verdict,
        reason: stored.reason.unwrap_or_default(),
        issue_count: issues.len(),
        source_fingerprints: stored.source_fingerprints,
        safe_summary: stored.safe_summary,
        path: context.absolute(file.as_str()),
    })
}

fn error_line(broken: &BrokenCloseout) -> ErrorLine {
    ErrorLine::new(ErrorCode::CloseoutInvalid, &broken.0)
}

/// Returns the current projection issues.
fn issues_now(context: &WorkspaceContext) -> Result<Vec<Issue>, Failure> {
    Ok(projection_issues(context.host(), &*gather::config(context)?))
}

#[cfg(test)]
mod tests;
