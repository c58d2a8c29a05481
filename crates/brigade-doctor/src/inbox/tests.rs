use brigade_catalog::{Family, Tool};
use brigade_core::{Json, NeutralWords};
use proptest::prelude::*;

use super::*;
use crate::IssueType;

fn issue(subject: &str, evidence: &str) -> Issue {
    let tool = Tool::new("greet", Family::Script).unwrap();
    let detail = format!("argument_template.{subject}: is not right");
    Issue::of_tool(IssueType::BadArgumentTemplate, &tool, "argument_template", detail)
        .subject(subject)
        .evidence(evidence)
}

fn now() -> Timestamp {
    Timestamp::from_unix_micros(1_700_000_000_000_000)
}

/// A v0.30 row for the same tool and type as [`issue`].
fn foreign(status: RowStatus, fingerprint: &str) -> InboxRow {
    InboxRow {
        status,
        text: "Repair something".to_owned(),
        key: Some(base_key(&issue("a", ""))),
        fingerprint: Some(fingerprint.to_owned()),
    }
}

/// Returns the row of an issue.
fn row_of(issue: &Issue) -> InboxItem {
    record(issue, &Mark::new(issue), &NeutralWords, now())
}

/// Returns the rows after an import.
fn after(rows: &[InboxRow], import: &Import) -> Vec<InboxRow> {
    let created = import.created.iter().map(|row| InboxRow::parse(row).unwrap());
    rows.iter().cloned().chain(created).collect()
}

/// Checks how many issues are created, skipped and dismissed, and that the next import creates nothing.
#[track_caller]
fn check(issues: &[Issue], rows: &[InboxRow], expect: (usize, usize, usize)) {
    let first = import(issues, rows, &NeutralWords, now());
    assert_eq!((first.created.len(), first.skipped, first.dismissed), expect);
    let second = import(issues, &after(rows, &first), &NeutralWords, now());
    assert_eq!((second.created.len(), second.dismissed), (0, expect.2));
}

fn with_status(issue: &Issue, status: RowStatus) -> InboxRow {
    InboxRow { status, ..InboxRow::parse(&row_of(issue)).unwrap() }
}

#[test]
fn a_dismissed_v030_row_silences_only_its_file() {
    let tool = Tool::new("greet", Family::Script).unwrap();
    let of = |path: &str| {
        Issue::of_tool(IssueType::MissingSchema, &tool, "schema_path", format!("`{path}` does not exist"))
            .evidence(format!("missing {path}"))
    };
    let dismissed = |path: &str| InboxRow {
        status: RowStatus::Dismissed,
        text: format!("Repair tool catalog issue greet/missing_schema: missing schema: {path}"),
        key: Some(base_key(&of(path))),
        fingerprint: Some("0123456789abcdef".to_owned()),
    };
    check(&[of("schemas/a.json")], &[dismissed("/home/ann/w/schemas/a.json")], (0, 0, 1));
    check(&[of("./schemas/a.json")], &[dismissed("/home/ann/w/schemas/a.json")], (0, 0, 1));
    check(&[of("schemas/b.json")], &[dismissed("/home/ann/w/schemas/a.json")], (1, 0, 0));
    check(&[of("a.json")], &[dismissed("/home/ann/w/extra.json")], (1, 0, 0));
}

#[test]
fn two_issues_of_one_tool_and_type_are_two_rows() {
    check(&[issue("a", ""), issue("b", "")], &[], (2, 0, 0));
}

#[test]
fn issues_with_equal_details_get_distinct_rows() {
    let of_run =
        |run: &str| Issue { run_id: Some(run.to_owned()), ..Issue::new(IssueType::RunFailed, "failed") };
    let of_file = |file: &str| Issue::new(IssueType::RunReceiptInvalid, "not JSON").subject(file);
    let issues = [of_run("run-1"), of_run("run-2"), of_file("a.json"), of_file("b.json")];
    check(&issues, &[], (4, 0, 0));
    let texts: Vec<String> = issues.iter().map(task_text).collect();
    assert_eq!(texts[0], "Repair tool catalog issue catalog/run_failed (run run-1): failed");
    assert_eq!(texts[3], "Repair tool catalog issue catalog/run_receipt_invalid (b.json): not JSON");
    // A row of another issue does not count, even if a person gave it the same text.
    let other = InboxRow { text: task_text(&issues[0]), ..with_status(&issues[1], RowStatus::Open) };
    check(&issues[..1], std::slice::from_ref(&other), (1, 0, 0));
    check(&issues[..1], &[InboxRow { key: None, ..other }], (0, 1, 0));
}

#[test]
fn acceptance_criteria_name_no_line() {
    let issue = issue("a", "").at(Place::at(".brigade/tools.toml", 7, 1));
    let row = row_of(&issue);
    let acceptance = &row.acceptance[0];
    assert!(acceptance.ends_with("try: edit:.brigade/tools.toml"), "{acceptance}");
}

#[test]
fn an_imported_issue_is_skipped_until_it_changes() {
    let one = issue("a", "x");
    for status in [RowStatus::Open, RowStatus::Closed] {
        check(std::slice::from_ref(&one), &[with_status(&one, status)], (0, 1, 0));
    }
    check(&[issue("a", "y")], &[with_status(&one, RowStatus::Closed)], (1, 0, 0));
}

#[test]
fn a_dismissed_issue_stays_dismissed_until_it_changes() {
    let dismissed = with_status(&issue("a", "old"), RowStatus::Dismissed);
    check(&[issue("a", "old")], std::slice::from_ref(&dismissed), (0, 0, 1));
    check(&[issue("a", "new")], &[dismissed], (1, 0, 0));
}

#[test]
fn an_issue_that_changes_back_keeps_its_row() {
    let rows =
        [with_status(&issue("a", "x"), RowStatus::Open), with_status(&issue("a", "y"), RowStatus::Closed)];
    check(&[issue("a", "x")], &rows, (0, 1, 0));
}

#[test]
fn each_v030_row_counts_for_one_issue() {
    let rows =
        [foreign(RowStatus::Open, "0123456789abcdef"), foreign(RowStatus::Dismissed, "fedcba9876543210")];
    let issues = [issue("a", ""), issue("b", ""), issue("c", "")];
    check(&issues[..2], &rows, (0, 1, 1));
    check(&issues, &rows, (1, 1, 1));
    check(&issues[..1], &[foreign(RowStatus::Closed, "0123456789abcdef")], (0, 1, 0));
}

#[test]
fn a_row_has_the_shape_of_the_inbox() {
    let row = row_of(&issue("a", ""));
    let id = row.id.clone().unwrap();
    let expect = Json::parse(
        r#"{"acceptance": ["`diagnose` no longer reports greet/bad_argument_template; try: edit:.brigade/tools.toml"],
        "created_at": "2023-11-14T22:13:20+00:00",
        "id": "20231114-221320-task-repair-tool-catalog-issue-greet-bad-argument-bc0ba3",
        "kind": "task",
        "metadata": {"projection_target": null,
            "provenance": {
                "attribution": "observed",
                "captured_at": "2023-11-14T22:13:20+00:00",
                "collection_id": "work-inbox:tool-catalog",
                "hashes": {"content": "CONTENT", "content_algorithm": "sha256", "content_scope": "item.text.utf8.v1",
                    "raw": null, "raw_algorithm": null, "raw_scope": null},
                "ingested_at": "2023-11-14T22:13:20+00:00",
                "item_id": "tool-catalog:greet:bad_argument_template:::::a",
                "locator": {"kind": "uri", "value": "work-import:ID"},
                "modality": "tool-output",
                "origin": "workspace",
                "redaction": {"count": 0, "detectors": [], "origin": "workspace",
                    "policy_version": "brigade.evidence-redaction.v1", "schema": "brigade.evidence-redaction.v1",
                    "schema_version": 1, "status": "clean"},
                "repository": {"id": "unknown", "revision": null},
                "schema": "brigade.provenance-envelope.v1",
                "schema_version": 1,
                "session": {"harness": null, "id": null},
                "source": {"kind": "tool-catalog", "producer": "brigade tools import-issues", "system": "work-inbox"},
                "trust": {"assigned_at": "2023-11-14T22:13:20+00:00",
                    "assigned_by": "ingest:brigade tools import-issues",
                    "injection": {"count": 0, "rules": [], "status": "pending"}, "label": "untrusted",
                    "trust_policy": {"schema": "brigade.trust-policy.v1", "schema_version": 1}}},
            "source_fingerprint": "FINGERPRINT",
            "source_item_key": "tool-catalog:greet:bad_argument_template:::::a",
            "tool_call_id": null, "tool_checkpoint_id": null, "tool_family": "script", "tool_harness": null, "tool_id": "greet",
            "tool_issue_detail": "argument_template.a: is not right", "tool_issue_type": "bad_argument_template",
            "tool_run_id": null},
        "priority": "normal", "source": "tool-catalog", "status": "pending", "template": "bugfix",
        "text": "Repair tool catalog issue greet/bad_argument_template: argument_template.a: is not right",
        "type": "workflow", "updated_at": "2023-11-14T22:13:20+00:00"}"#
            .replace("FINGERPRINT", &issue("a", "").fingerprint().to_hex())
            .replace("CONTENT", &Fingerprint::of_bytes(task_text(&issue("a", "")).as_bytes()).to_hex())
            .replace("work-import:ID", &format!("work-import:{id}"))
            .as_str(),
    );
    let mut expect = expect.unwrap();
    if let Json::Object(members) = &mut expect {
        let stem = members["id"].as_str().and_then(|id| id.rsplit_once('-')).unwrap().0.to_owned();
        assert!(id.starts_with(&stem) && id.len() == stem.len() + 7, "{id}");
        members.insert("id".to_owned(), Json::from(id));
    }
    assert_eq!(Json::Object(row.to_members()), expect);
}

#[test]
fn a_provenance_of_another_form_is_kept() {
    for provenance in [
        r#"{"schema": "brigade.provenance-envelope.v1", "hashes": {"content": "0123", "salt": null}, "trust": {"label": "x", "by": 7}}"#,
        r#"{"hashes": "none", "session": null}"#,
        r#"["workspace"]"#,
        "null",
    ] {
        let row =
            Json::parse(&format!(r#"{{"id": "x", "metadata": {{"provenance": {provenance}}}}}"#)).unwrap();
        let read = InboxItem::from_members(row.as_object().cloned().unwrap()).unwrap();
        assert_eq!(Json::Object(read.to_members()), row, "{provenance}");
    }
}

fn any_status() -> impl Strategy<Value = RowStatus> {
    prop::sample::select(&[RowStatus::Open, RowStatus::Dismissed, RowStatus::Closed][..])
}

proptest! {
    #[test]
    fn the_second_import_adds_nothing(
        issues in prop::collection::vec(("[ab]", "[xy]"), 0..6),
        ours in prop::collection::vec(("[ab]", "[xy]", any_status()), 0..6),
        theirs in prop::collection::vec((any_status(), "[01]{16}"), 0..4),
    ) {
        let issues: Vec<Issue> = issues.iter().map(|(subject, evidence)| issue(subject, evidence)).collect();
        let ours = ours.iter().map(|(subject, evidence, status)| with_status(&issue(subject, evidence), *status));
        let theirs = theirs.iter().map(|(status, fingerprint)| foreign(*status, fingerprint));
        let rows: Vec<InboxRow> = theirs.chain(ours).collect();
        let first = import(&issues, &rows, &NeutralWords, now());
        let second = import(&issues, &after(&rows, &first), &NeutralWords, now());
        prop_assert!(second.created.is_empty());
        prop_assert_eq!(first.created.len() + first.skipped + first.dismissed, issues.len());
    }

    #[test]
    fn any_json_is_a_row_or_not(text in r#"[{}\[\]":,a-z0-9]{0,40}"#) {
        if let Ok(Json::Object(members)) = Json::parse(&text) {
            let _ = InboxRow::parse(&InboxItem::from_members(members).unwrap());
        }
    }
}
