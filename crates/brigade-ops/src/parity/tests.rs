use brigade_workspace::CATALOG;

use super::*;
use crate::testing::Bench;
use crate::{DefaultsRequest, Ignore, OnExisting, add_default_tools};

/// Makes a workspace whose tools have no projections yet.
fn site() -> Bench {
    let bench = Bench::new(&[]);
    let request = DefaultsRequest { dry_run: false, existing: OnExisting::Keep, ignore: Ignore::Skip };
    add_default_tools(&bench.context, request).map_err(|error| error.failure).unwrap();
    bench
}

#[track_caller]
fn now(bench: &Bench) -> ParityReport {
    let report = status(&bench.context).unwrap();
    let counts = [report.projection_issue_count, report.quieted_issue_count, report.changed_issue_count];
    assert_eq!(counts, [report.issues.len(), report.quieted_issues.len(), report.changed_issues.len()]);
    report
}

#[test]
fn a_closeout_quiets_the_issues_that_it_lists() {
    let bench = site();
    let before = now(&bench);
    assert!(0 < before.projection_issue_count && before.quieted_issue_count == 0);
    assert!(before.latest_closeout.is_none());
    let report = closeout(&bench.context, Some("  seen "), Verdict::Reviewed).unwrap();
    assert_eq!((report.issue_count, report.reason.as_str()), (before.projection_issue_count, "seen"));
    assert!(report.path.starts_with(&format!("/memory/{CLOSEOUTS}/")), "{}", report.path);
    let after = now(&bench);
    assert_eq!((after.projection_issue_count, after.quieted_issue_count), (0, before.projection_issue_count));
    assert_eq!(after.latest_closeout.map(|closeout| closeout.closeout_id), Some(report.closeout_id));
}

#[test]
fn an_issue_that_comes_later_counts() {
    let bench = site();
    closeout(&bench.context, None, Verdict::Reviewed).unwrap();
    let more = "\n[[tool]]\nid = \"later\"\nname = \"Later\"\nfamily = \"skill\"\nsource_path = \"tools/simplify.md\"\n\
        supported_harnesses = [\"claude\"]\n[tool.projections]\nclaude = \".claude/commands/later.md\"\n";
    bench.write(CATALOG, &(bench.read(CATALOG).unwrap() + more));
    let after = now(&bench);
    assert!(0 < after.projection_issue_count, "{after:?}");
    assert!(after.issues.iter().all(|issue| issue.tool_id.as_deref() == Some("later")), "{:?}", after.issues);
}

#[test]
fn the_reason_of_a_closeout_has_no_secret() {
    let bench = site();
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let report = closeout(&bench.context, Some(&format!("token {secret}")), Verdict::Reviewed).unwrap();
    assert!(!report.reason.contains(secret), "{}", report.reason);
    bench.assert_nowhere(secret, &[]);
}

#[test]
fn an_unreadable_closeout_is_reported_and_quiets_nothing() {
    let bench = site();
    let report = closeout(&bench.context, None, Verdict::Reviewed).unwrap();
    bench.write(report.path.strip_prefix("/memory/").unwrap(), "{");
    let after = now(&bench);
    assert_eq!((after.errors.len(), after.quieted_issue_count), (1, 0));
    assert!(0 < after.projection_issue_count);
}
