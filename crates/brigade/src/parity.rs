//! Closeouts: projection issues that a person reviewed and accepted.

use std::sync::Arc;

use brigade_doctor::{Closeout, Issue, Verdict, quiet};
use brigade_policy::ErrorLine;
use brigade_redact::Redactor;
use brigade_upkeep::{
    BrokenCloseout, CLOSEOUTS, closeouts, latest_closeout, projection_issues, shown_issues, store_closeout,
};

use crate::error::Error;
use crate::report::{CloseoutReport, ParityReport, Report as _};
use crate::room::Room;
use brigade_core::codes;
use brigade_upkeep::gather;

/// Operations on projection parity between harnesses.
#[derive(Clone)]
pub struct Parity {
    pub(crate) room: Arc<Room>,
}

impl Parity {
    /// Lists projection issues, and which of them the last closeout accepted.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn status(&self) -> Result<ParityReport, Error> {
        let closeouts = closeouts(&*self.room.fs)?;
        let listed = closeouts.fingerprints();
        let divided = quiet(issues_now(&self.room)?, listed.as_ref(), &self.room.target());
        let [issues, quieted_issues, changed_issues] = [&divided.issues, &divided.quieted, &divided.changed]
            .map(|issues| shown_issues(&self.room, issues));
        Ok(ParityReport {
            schema: ParityReport::SCHEMA,
            target: self.room.target(),
            closeouts_path: self.room.absolute(CLOSEOUTS),
            errors: closeouts.errors.iter().map(error_line).collect(),
            latest_closeout: latest_closeout(&self.room, closeouts),
            projection_issue_count: issues.len(),
            quieted_issue_count: quieted_issues.len(),
            changed_issue_count: changed_issues.len(),
            issues,
            quieted_issues,
            changed_issues,
        })
    }

    /// Accepts the current projection issues, so only new and changed ones count.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn closeout(&self, reason: Option<&str>, verdict: Verdict) -> Result<CloseoutReport, Error> {
        let issues = issues_now(&self.room)?;
        let reason =
            Redactor::new(&gather::telling_values(&self.room)).redact_str(reason.unwrap_or_default().trim());
        let now = self.room.now();
        let record = Closeout::of_issues(&issues, verdict, reason);
        let (stored, file) = store_closeout(&*self.room.fs, now, record)?;
        Ok(CloseoutReport {
            schema: CloseoutReport::SCHEMA,
            target: self.room.target(),
            closeout_id: stored.closeout_id,
            created_at: stored.created_at,
            status: stored.status.into(),
            reason: stored.reason.unwrap_or_default(),
            issue_count: issues.len(),
            source_fingerprints: stored.source_fingerprints,
            safe_summary: stored.safe_summary,
            path: self.room.absolute(file.as_str()),
        })
    }
}

fn error_line(broken: &BrokenCloseout) -> ErrorLine {
    ErrorLine::new(codes::CLOSEOUT_INVALID.as_str(), &broken.0)
}

/// Returns the current projection issues.
fn issues_now(room: &Room) -> Result<Vec<Issue>, Error> {
    Ok(projection_issues(room.host(), &*gather::config(room)?))
}

#[cfg(test)]
mod tests;
