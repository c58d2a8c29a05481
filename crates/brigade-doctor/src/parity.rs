//! Projection issues that a person has accepted.

use std::collections::BTreeSet;

use brigade_core::json::to_json;
use brigade_core::{Fingerprint, RecordedWord, words};
use brigade_macros::record;
use serde::Serialize;

use crate::{Issue, IssueType, ProjectionMark};

/// The file of a closeout: the projection issues that a person has accepted.
#[record(Default, PartialEq)]
pub struct Closeout {
    /// The name of its directory.
    pub closeout_id: String,
    /// When it was made.
    pub created_at: String,
    /// The verdict: `reviewed` or `deferred`.
    pub status: RecordedWord<Verdict>,
    /// The reason that the person gave; may be empty.
    pub reason: Option<String>,
    /// The number of issues.
    pub issue_count: u64,
    /// Their fingerprints.
    pub source_fingerprints: Vec<String>,
    /// A summary of one sentence.
    pub safe_summary: String,
    /// The file, in reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

words! {
    /// The verdict of a closeout.
    Verdict {
        /// The issues were reviewed and accepted.
        Reviewed = "reviewed",
        /// The issues are deferred.
        Deferred = "deferred",
    }
}

impl Closeout {
    /// Creates a closeout that accepts issues. The caller that stores it sets a name and a time.
    pub fn of_issues(issues: &[Issue], verdict: Verdict, reason: String) -> Closeout {
        Closeout {
            status: verdict.into(),
            reason: Some(reason),
            issue_count: issues.len() as u64,
            source_fingerprints: issues.iter().map(|issue| issue.fingerprint().to_hex()).collect(),
            safe_summary: format!("{} tool projection parity issue(s) {verdict}", issues.len()),
            ..Closeout::default()
        }
    }
}

/// Issues, split by a closeout.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuietedIssues {
    /// The remaining issues, in their order.
    pub issues: Vec<Issue>,
    /// Projection issues that the closeout accepts.
    pub quieted: Vec<Issue>,
    /// Projection issues that are new or changed since the closeout; also in `issues`.
    pub changed: Vec<Issue>,
}

/// Removes the projection issues whose fingerprints a closeout lists; `None` means no closeout.
///
/// Accepts the fingerprints of [`Issue::fingerprint`], their first 16 digits, and those of v0.30 for the same kind of
/// issue in the workspace at `root`.
pub fn quiet(issues: Vec<Issue>, closeout: Option<&BTreeSet<String>>, root: &str) -> QuietedIssues {
    let has_original =
        closeout.is_some_and(|listed| listed.iter().any(|listed| listed.len() == SHORT_FINGERPRINT_LEN));
    let mut divided = QuietedIssues::default();
    for issue in issues {
        let (Some(listed), Some(mark)) = (closeout, &issue.projection) else {
            divided.issues.push(issue);
            continue;
        };
        let fingerprint = issue.fingerprint();
        let of_original = || {
            let known = originals(&issue, mark, root);
            known.is_some_and(|known| known.iter().any(|known| listed.contains(known)))
        };
        if listed.contains(&fingerprint.to_hex())
            || listed.contains(&fingerprint.short())
            || (has_original && of_original())
        {
            divided.quieted.push(issue);
        } else {
            divided.changed.push(issue.clone());
            divided.issues.push(issue);
        }
    }
    divided
}

/// The number of digits of a v0.30 fingerprint.
const SHORT_FINGERPRINT_LEN: usize = 16;

/// Returns the possible v0.30 fingerprints of an issue; empty for a kind that v0.30 does not know.
///
/// v0.30 would write the same text as this version, or the unchanged source.
fn originals(issue: &Issue, mark: &ProjectionMark, root: &str) -> Option<[String; 2]> {
    let harness = mark.harness.as_str();
    let detail = match issue.kind {
        IssueType::ParityGap => format!("missing projection for {harness}"),
        IssueType::MissingProjection => format!("{harness}: projection will be created"),
        IssueType::StaleProjection => format!("{harness}: projection will be updated"),
        IssueType::ConflictedProjection => format!("{harness}: managed projection has local edits"),
        IssueType::UnmanagedProjection => {
            format!("{harness}: existing projection is not managed by Brigade")
        }
        _ => return None,
    };
    let is_gap = issue.kind == IssueType::ParityGap;
    let short = |fingerprint: Option<Fingerprint>| {
        fingerprint.filter(|_| !is_gap).map(|fingerprint| fingerprint.short())
    };
    Some([mark.expected, mark.source].map(|expected| {
        let original = Original {
            tool_id: issue.tool_id.as_deref(),
            family: issue.family.as_deref(),
            issue_type: issue.kind.code(),
            harness,
            projection_target: mark.target.as_ref().map(|target| format!("{root}/{target}")),
            projection_status: mark.status.filter(|_| !is_gap).map(|status| status.as_str()),
            tool_source_fingerprint: short(mark.source),
            expected_projection_fingerprint: short(expected),
            actual_projection_fingerprint: short(mark.actual),
            detail: &detail,
        };
        let text = to_json(&original).expect("an issue is JSON").to_canonical();
        Fingerprint::of_bytes(ascii(&text).as_bytes()).short()
    }))
}

/// The members of an issue that v0.30 hashes.
#[derive(Serialize)]
struct Original<'a> {
    tool_id: Option<&'a str>,
    family: Option<&'a str>,
    issue_type: &'a str,
    harness: &'a str,
    projection_target: Option<String>,
    projection_status: Option<&'a str>,
    tool_source_fingerprint: Option<String>,
    expected_projection_fingerprint: Option<String>,
    actual_projection_fingerprint: Option<String>,
    detail: &'a str,
}

/// Escapes non-ASCII characters, as v0.30 does before hashing.
fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii() {
            out.push(letter);
        } else {
            let mut units = [0; 2];
            out.extend(letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use brigade_projection::ProjectionStatus;

    use super::*;

    /// Hashes that differ only in their first digits.
    fn hash(digits: &str) -> Option<Fingerprint> {
        Some(format!("{digits}{}", "0".repeat(64 - digits.len())).parse().unwrap())
    }

    #[track_caller]
    fn check(kind: IssueType, tool: &str, mark: ProjectionMark, listed: &str) {
        let issue = Issue {
            tool_id: Some(tool.to_owned()),
            family: Some("script".to_owned()),
            projection: Some(mark),
            ..Issue::new(kind, "in our words")
        };
        let quieted = |listed: &str| {
            let listed = BTreeSet::from([listed.to_owned()]);
            quiet(vec![issue.clone()], Some(&listed), "/w").quieted.len()
        };
        assert_eq!((quieted(listed), quieted("0123456789abcdef")), (1, 0));
    }

    #[test]
    fn closeouts_of_v030_quiet_their_issues() {
        // Fingerprints of v0.30 in `/w`.
        let gap = ProjectionMark {
            harness: "cursor".to_owned(),
            target: None,
            status: Some(ProjectionStatus::Missing),
            source: hash("11e1791ec0ede64d"),
            expected: None,
            actual: None,
        };
        check(IssueType::ParityGap, "format-json", gap, "7124666a4f5550da");
        let missing = ProjectionMark {
            harness: "claude".to_owned(),
            target: Some(".claude/commands/git-log.md".to_owned()),
            status: Some(ProjectionStatus::Missing),
            source: hash("aea45042df7a0bad"),
            expected: hash("23bfbaa096e0a4f8"),
            actual: None,
        };
        check(IssueType::MissingProjection, "git-log", missing, "a092d03dd3f2ac10");
    }

    #[test]
    fn letters_are_escaped_as_python_does_it() {
        assert_eq!(ascii("aé日😀"), "a\\u00e9\\u65e5\\ud83d\\ude00");
    }
}
