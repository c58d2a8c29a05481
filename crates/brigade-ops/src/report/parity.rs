//! Documents about closeouts, defaults and harnesses.

use crate::defaults::Defaults;
use brigade_core::Hint;
use brigade_core::json::sorted;
use brigade_doctor::{Closeout, Verdict};
use brigade_macros::document;
use brigade_policy::{Diagnosis, ErrorLine};
use brigade_projection::{HarnessLine, HarnessPlaceReport, HarnessTool};
use std::borrow::Cow;

use brigade_doctor::IssueReport;

/// `tools parity status`: projection issues, divided by the last closeout.
#[document("brigade.parity.v1")]
pub struct ParityReport {
    /// The workspace root.
    pub target: String,
    /// The directory of closeouts.
    pub closeouts_path: String,
    /// The last closeout, with its `path`; `null` without a closeout.
    pub latest_closeout: Option<Closeout>,
    /// Number of issues that are not accepted.
    pub projection_issue_count: usize,
    /// Number of issues that the closeout accepts.
    pub quieted_issue_count: usize,
    /// Number of new and changed issues since.
    pub changed_issue_count: usize,
    /// Issues that are not accepted.
    #[serde(serialize_with = "sorted::serialize")]
    pub issues: Vec<IssueReport>,
    /// Issues that the closeout accepts.
    #[serde(serialize_with = "sorted::serialize")]
    pub quieted_issues: Vec<IssueReport>,
    /// New and changed issues since; they are also in `issues`.
    #[serde(serialize_with = "sorted::serialize")]
    pub changed_issues: Vec<IssueReport>,
    /// Unreadable closeouts.
    pub errors: Vec<ErrorLine>,
}

/// `tools parity closeout`: the closeout that was written.
#[document("brigade.parity-closeout.v1")]
pub struct CloseoutReport {
    /// The workspace root.
    pub target: String,
    /// The name of its directory.
    pub closeout_id: String,
    /// When the closeout was created.
    pub created_at: String,
    /// The verdict.
    pub status: Verdict,
    /// The reason given by the user; may be empty.
    pub reason: String,
    /// Number of listed issues.
    pub issue_count: usize,
    /// Their fingerprints.
    pub source_fingerprints: Vec<String>,
    /// A summary, as one sentence.
    pub safe_summary: String,
    /// The file.
    pub path: String,
}

/// `tools defaults`: built-in tools that were added to the catalog.
#[document("brigade.defaults.v1")]
pub struct DefaultsReport {
    /// The workspace root.
    pub target: String,
    /// The catalog file.
    pub config_path: String,
    /// The result.
    #[serde(flatten)]
    pub defaults: Defaults,
    /// The next command to try.
    pub next_command: Hint,
    /// Where and why the command failed, and what to do.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
}

/// `tools harness list`.
#[document("brigade.harnesses.v1")]
pub struct HarnessListReport {
    /// The workspace root.
    pub target: String,
    /// The known harnesses, and others that the catalog names.
    pub harnesses: Vec<HarnessLine>,
    /// Number of entries.
    pub harness_count: usize,
}

/// `tools harness show`.
#[document("brigade.harness.v1")]
pub struct HarnessReport {
    /// The workspace root.
    pub target: String,
    /// The name in tools.toml.
    pub name: String,
    /// The display name.
    pub title: Cow<'static, str>,
    /// The files it reads in a workspace, the preferred kind first.
    pub places: Vec<HarnessPlaceReport>,
    /// Notes.
    pub note: Option<Cow<'static, str>>,
    /// Enabled tools that support it, with their projections.
    pub tools: Vec<HarnessTool>,
    /// Number of entries.
    pub tool_count: usize,
}
