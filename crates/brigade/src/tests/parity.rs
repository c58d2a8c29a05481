#![allow(clippy::disallowed_methods, reason = "tests set up files themselves")]

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use brigade_core::Timestamp;
use brigade_testkit::TickingClock;
use tempfile::TempDir;

use crate::env::Env;
use crate::health::Verdict;
use crate::tools::{ApplyRequest, Selection};
use crate::workspace::Workspace;

fn sample() -> (TempDir, Workspace) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".brigade")).unwrap();
    let catalog = "[[tool]]\nid = \"greet\"\nname = \"Greet\"\nfamily = \"skill\"\nsource_path = \"greet.md\"\n\
                   supported_harnesses = [\"claude\", \"codex\"]\nprojections = { claude = \".claude/skills/greet/SKILL.md\" }\n";
    fs::write(folder.path().join(".brigade/tools.toml"), catalog).unwrap();
    fs::write(folder.path().join("greet.md"), "hello\n").unwrap();
    let still = TickingClock::starting(Timestamp::from_unix_micros(TickingClock::BEGINNING), Duration::ZERO);
    let context = Env::of_process().clock(Arc::new(still));
    let workspace = Workspace::open(folder.path(), context).unwrap();
    (folder, workspace)
}

/// Counts what counts, what is quieted and what changed.
#[track_caller]
fn check(workspace: &Workspace, expect: (usize, usize, usize)) {
    let report = workspace.parity().status().unwrap();
    let found = (report.projection_issue_count, report.quieted_issue_count, report.changed_issue_count);
    assert_eq!(found, expect);
}

#[test]
fn a_closeout_quiets_what_it_lists_until_it_changes() {
    let (folder, workspace) = sample();
    check(&workspace, (2, 0, 0));
    let closeout =
        workspace.parity().closeout(Some("seen, token=hunter2hunter2"), Verdict::Reviewed).unwrap();
    assert_eq!((closeout.issue_count, closeout.status.as_str()), (2, "reviewed"));
    assert_eq!(closeout.safe_summary, "2 tool projection parity issue(s) reviewed");
    assert!(!fs::read_to_string(&closeout.path).unwrap().contains("hunter2"));
    check(&workspace, (0, 2, 0));
    let request = ApplyRequest { which: Selection::All, dry_run: false, force: false, prune: false };
    workspace.projections().apply(&request).unwrap();
    check(&workspace, (0, 1, 0));
    fs::write(folder.path().join("greet.md"), "hello again\n").unwrap();
    check(&workspace, (2, 0, 2));
}

#[test]
fn the_latest_closeout_counts_and_two_of_one_second_are_two() {
    let (folder, workspace) = sample();
    let first = workspace.parity().closeout(None, Verdict::Reviewed).unwrap();
    let second = workspace.parity().closeout(None, Verdict::Deferred).unwrap();
    assert_ne!(first.path, second.path);
    let latest = workspace.parity().status().unwrap().latest_closeout.unwrap();
    assert_eq!((latest.status.as_str(), latest.path), ("deferred", Some(second.path)));
    let later = folder.path().join(".brigade/tools/parity-closeouts/20990101-000000-tool-parity-closeout");
    fs::create_dir(&later).unwrap();
    let other = "{\"closeout_id\": \"c\", \"created_at\": \"2099-01-01T00:00:00+00:00\", \"source_fingerprints\": []}";
    fs::write(later.join("closeout.json"), other).unwrap();
    check(&workspace, (2, 0, 2));
}

#[test]
fn closeouts_that_cannot_be_read_are_said() {
    let (folder, workspace) = sample();
    let broken = folder.path().join(".brigade/tools/parity-closeouts/broken");
    fs::create_dir_all(&broken).unwrap();
    fs::write(broken.join("closeout.json"), "[1]").unwrap();
    let report = workspace.parity().status().unwrap();
    assert_eq!((report.errors.len(), report.latest_closeout), (1, None));
    check(&workspace, (2, 0, 0));
}
