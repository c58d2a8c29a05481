use std::path::Path;
use std::sync::Arc;

use brigade_fs::{MemoryFs, RelPath};

use crate::env::Env;
use crate::health::InboxStep;
use crate::paths::INBOX;
use crate::report::ImportReport;
use crate::sample::NewFile;
use crate::workspace::Workspace;
use crate::{IdPrefix, InboxFilter, Refusal};
use brigade_doctor::InboxItem;

const TOOLS: &str = "[[tool]]\nid = \"a\"\nname = \"A\"\nfamily = \"skill\"\nsource_path = \"a.md\"\nmanifest_path = \"m.json\"\n";

/// A workspace with two issues: a tool names two files that are not there.
fn workspace() -> Workspace {
    let files = [NewFile::new(".brigade/tools.toml", TOOLS)];
    let env = Env::of_process().files(Arc::new(MemoryFs::new()));
    Workspace::with_files(Path::new("/"), &files, env).unwrap()
}

#[track_caller]
fn check(workspace: &Workspace, created: usize, skipped: usize, dismissed: usize) -> ImportReport {
    let report = workspace.inbox().import().unwrap();
    assert_eq!(
        (report.created, report.skipped, report.dismissed),
        (created, skipped, dismissed),
        "{report:?}"
    );
    report
}

fn id(row: &InboxItem) -> IdPrefix {
    IdPrefix::new(row.id.as_deref().unwrap())
}

fn bytes(workspace: &Workspace) -> Vec<u8> {
    workspace.inner.fs.read(&RelPath::from_static(INBOX), 1 << 20).unwrap()
}

#[test]
fn five_imports_in_a_row_change_nothing() {
    let workspace = workspace();
    check(&workspace, 2, 0, 0);
    let before = bytes(&workspace);
    for _ in 0..5 {
        check(&workspace, 0, 2, 0);
    }
    assert_eq!(bytes(&workspace), before);
}

#[test]
fn decided_rows_come_back_only_when_the_issue_changes() {
    let workspace = workspace();
    let rows = check(&workspace, 2, 0, 0).imports;
    workspace.inbox().decide(&id(&rows[0]), InboxStep::Dismiss, Some("known")).unwrap();
    check(&workspace, 0, 1, 1);
    workspace.inbox().decide(&id(&rows[0]), InboxStep::Done, None).unwrap();
    workspace.inbox().decide(&id(&rows[1]), InboxStep::Promote, None).unwrap();
    check(&workspace, 0, 2, 0);
}

#[test]
fn lines_that_cannot_be_read_are_set_aside_and_never_lost() {
    let workspace = workspace();
    let foreign = r#"{"id": "x",  "status": "pending", "source": "other", "odd": NaN}"#;
    let text = format!("\u{feff}not json\n{foreign}\n[1]\n{{\"id\": \"torn");
    workspace.write_files(&[NewFile::new(INBOX, text)]).unwrap();
    assert_eq!(workspace.inbox().list(&InboxFilter::default()).unwrap().unreadable_count, 3);
    let report = check(&workspace, 3, 0, 0);
    assert_eq!(report.quarantined, 3);
    let quarantine: RelPath = RelPath::from_static(".brigade/work/imports/inbox.quarantine-1.jsonl");
    let set_aside = workspace.inner.fs.read(&quarantine, 1 << 20).unwrap();
    assert_eq!(set_aside, b"not json\n[1]\n{\"id\": \"torn\n");
    assert!(bytes(&workspace).starts_with(format!("{foreign}\n").as_bytes()));
    let again = check(&workspace, 0, 3, 0);
    assert_eq!(again.quarantined, 0);
}

#[test]
fn a_last_line_without_its_end_stays_a_row() {
    let workspace = workspace();
    workspace.write_files(&[NewFile::new(INBOX, "{\"id\":\"x\"}")]).unwrap();
    check(&workspace, 2, 0, 0);
    assert_eq!(workspace.inbox().list(&InboxFilter::default()).unwrap().item_count, 3);
}

#[test]
fn rows_are_found_by_their_id_or_its_beginning() {
    let workspace = workspace();
    let text = "{\"id\":\"ab\",\"status\":\"pending\"}\n{\"id\":\"abc\",\"status\":\"pending\"}\n";
    workspace.write_files(&[NewFile::new(INBOX, text)]).unwrap();
    let show = |prefix: &str| workspace.inbox().show(&IdPrefix::new(prefix));
    assert_eq!(id(&show("ab").unwrap().item).as_str(), "ab");
    assert_eq!(id(&show("abc").unwrap().item).as_str(), "abc");
    assert_eq!(show("a").unwrap_err().failure().could_be(), ["ab", "abc"]);
    assert!(matches!(show("x").unwrap_err().refusal(), Some(Refusal::InboxItem { item: None })));
    let decide = |step| workspace.inbox().decide(&IdPrefix::new("abc"), step, None);
    decide(InboxStep::Done).unwrap();
    assert_eq!(decide(InboxStep::Done).unwrap_err().to_string(), "the row is done already");
    assert!(bytes(&workspace).starts_with(b"{\"id\":\"ab\",\"status\":\"pending\"}\n"));
}
