use brigade_core::{ErrorCode, ErrorKind, IdPrefix, NextStep};
use brigade_workspace::{CATALOG, POLICY};

use super::*;
use crate::report::{BriefReport, ImportReport, WaitingRow};
use crate::testing::{CallBench, RunEnding};

/// A workspace with one script and no policy, which is one issue.
fn bench(lines: &str) -> CallBench {
    let bench = CallBench::new(lines);
    bench.remove(POLICY);
    bench
}

/// Imports issues. Returns how many became rows, how many existed, and how many were dismissed.
#[track_caller]
fn imported(bench: &CallBench) -> [usize; 3] {
    let report = import(&bench.context).unwrap();
    assert_eq!(report.imports.len(), report.created);
    [report.created, report.skipped, report.dismissed]
}

/// Returns the id of the row for issues of this type.
#[track_caller]
fn row_of(report: &ImportReport, kind: &str) -> IdPrefix {
    let is_of = |row: &&InboxItem| {
        row.metadata.as_ref().is_some_and(|one| one.tool_issue_type.as_deref() == Some(kind))
    };
    let row = report.imports.iter().find(is_of);
    IdPrefix::new(row.unwrap_or_else(|| panic!("no {kind}: {report:#?}")).id.as_deref().unwrap())
}

#[track_caller]
fn decided(bench: &CallBench, row: &IdPrefix, step: InboxStep) {
    decide(&bench.context, row, step, (step == InboxStep::Dismiss).then_some("known")).unwrap();
}

#[test]
fn issues_are_imported_once() {
    let bench = bench("manifest_path = \"gone.json\"\nhealth_path = \"gone.json\"");
    let [created, ..] = imported(&bench);
    assert_eq!(created, 3, "two files and the policy");
    let before = bench.read(INBOX);
    for _ in 0..3 {
        assert_eq!(imported(&bench), [0, 3, 0]);
    }
    assert_eq!(bench.read(INBOX), before);
}

#[test]
fn issues_of_one_tool_and_type_are_several_rows() {
    let bench = bench("argument_template = { a = \"{b-c} {d-e}\", f = \"{g-h}\" }");
    assert_eq!(imported(&bench), [4, 0, 0]);
    assert_eq!(imported(&bench), [0, 4, 0]);
}

#[test]
fn a_decided_row_does_not_come_back() {
    let bench = bench("");
    let report = import(&bench.context).unwrap();
    let row = IdPrefix::new(report.imports[0].id.as_deref().unwrap());
    let status = || show(&bench.context, &row).unwrap().item.status.unwrap();
    assert_eq!(status(), InboxStatus::Pending);
    for step in [InboxStep::Promote, InboxStep::Done, InboxStep::Dismiss] {
        decided(&bench, &row, step);
        assert_eq!(status(), step.status());
        // Once is enough.
        let again = decide(&bench.context, &row, step, Some("known")).unwrap_err();
        assert!(matches!(again, RowError::Refused(_, Some(_))), "{again:?}");
        assert_eq!(imported(&bench)[0], 0);
    }
}

#[test]
fn a_dismissed_row_stays_until_the_issue_changes() {
    let bench = bench("");
    bench.write("schemas/tool.json", "{");
    let row = row_of(&import(&bench.context).unwrap(), "invalid_input_schema");
    decided(&bench, &row, InboxStep::Dismiss);
    assert_eq!(imported(&bench), [0, 1, 1]);
    bench.write("schemas/tool.json", "[1, 2");
    assert_eq!(imported(&bench), [1, 1, 0]);
    assert_eq!(imported(&bench), [0, 2, 0]);
    // The first issue occurs again, but a person already decided about it.
    bench.write("schemas/tool.json", "{");
    assert_eq!(imported(&bench), [0, 1, 1]);
}

#[test]
fn dismissing_a_missing_file_applies_to_that_file() {
    let bench = bench("health_path = \"one.json\"");
    let row = row_of(&import(&bench.context).unwrap(), "missing_health");
    decided(&bench, &row, InboxStep::Dismiss);
    assert_eq!(imported(&bench), [0, 1, 1]);
    bench.replace(CATALOG, "one.json", "two.json");
    assert_eq!(imported(&bench), [1, 1, 0]);
}

#[test]
fn unreadable_lines_are_set_aside_first() {
    let bench = bench("");
    imported(&bench);
    let row = bench.read(INBOX);
    bench.write(INBOX, format!("garbage\n{row}{{\"to"));
    // A quarantine file is an issue itself.
    let report = import(&bench.context).unwrap();
    assert_eq!((report.created, report.skipped, report.quarantined), (1, 1, 2));
    assert!(report.quarantine_path.is_some_and(|path| path.ends_with("inbox.quarantine-1.jsonl")));
    assert!(bench.read(INBOX).starts_with(&row));
    assert_eq!(imported(&bench), [0, 2, 0]);
}

#[test]
fn rows_are_listed_by_status_and_source() {
    let bench = bench("");
    let rows = "{\"id\":\"a\",\"status\":\"pending\",\"source\":\"x\"}\n{\"id\":\"b\",\"status\":\"odd\"}\n\
        {\"id\":\"c\"}\nbroken\n";
    bench.write(INBOX, rows);
    let ids = |status: Option<&str>, source: Option<&str>| {
        let status = status.map(InboxStatus::from_word);
        let filter = InboxFilter { status, source: source.map(str::to_owned) };
        list(&bench.context, &filter).map(|report| {
            let ids = report.items.into_iter().filter_map(|item| item.id);
            (ids.collect::<Vec<_>>(), report.counts.len(), report.unreadable_count)
        })
    };
    let all = (vec!["a".to_owned(), "b".to_owned(), "c".to_owned()], 3, 1);
    assert_eq!(ids(None, None).unwrap(), all);
    assert_eq!(ids(Some("pending"), None).unwrap().0, ["a"]);
    // A status that a row has can be listed, whatever it is.
    assert_eq!(ids(Some("odd"), None).unwrap().0, ["b"]);
    assert_eq!(ids(None, Some("x")).unwrap().0, ["a"]);
    assert_eq!(ids(Some("done"), Some("x")).unwrap().0, [""; 0]);
    assert_eq!(ids(Some("other"), None).unwrap_err().code(), ErrorCode::StatusUnknown);
    assert_eq!(bench.read(INBOX), rows, "a list changes nothing");
}

#[test]
fn a_decision_on_a_missing_row_changes_nothing() {
    let bench = bench("");
    bench.write(INBOX, "{\"id\":\"a\"}\nbroken\n");
    let missing = IdPrefix::new("nope");
    let refused = decide(&bench.context, &missing, InboxStep::Done, None).unwrap_err();
    assert!(matches!(refused, RowError::Refused(_, None)), "{refused:?}");
    assert!(matches!(show(&bench.context, &missing).unwrap_err(), RowError::Refused(_, None)));
    let no_reason = decide(&bench.context, &IdPrefix::new("a"), InboxStep::Dismiss, Some(" ")).unwrap_err();
    let RowError::Failed(failure) = no_reason else { panic!("{no_reason:?}") };
    assert_eq!((failure.kind(), failure.code()), (ErrorKind::Usage, ErrorCode::ReasonNeeded));
    assert_eq!(bench.read(INBOX), "{\"id\":\"a\"}\nbroken\n");
}

#[test]
fn findings_of_a_worker_become_rows_once() {
    let bench = bench("");
    let found = ["Fix the login".to_owned(), "Rename it".to_owned()];
    assert_eq!(add_backlog(&bench.context, "T-1", &found).unwrap(), 2);
    assert_eq!(add_backlog(&bench.context, "T-1", &found).unwrap(), 0);
    assert_eq!(add_backlog(&bench.context, "T-2", &["Another".to_owned()]).unwrap(), 1);
    assert_eq!(list(&bench.context, &InboxFilter::default()).unwrap().item_count, 3);
    assert_eq!(add_backlog(&bench.context, "T-3", &[]).unwrap(), 0);
}

fn summary(bench: &CallBench) -> BriefReport {
    brief::brief(&bench.context, Vec::new(), false, Vec::new()).unwrap()
}

#[track_caller]
fn next(bench: &CallBench) -> NextStep {
    summary(bench).next_command.step().cloned().unwrap()
}

#[test]
fn the_brief_proposes_the_most_urgent_step() {
    let bench = bench("");
    assert_eq!(next(&bench), NextStep::InitPolicy);
    let id = bench.queue("{}");
    assert_eq!(next(&bench), NextStep::ShowCall(id.clone()));
    bench.calls.approve(&id).unwrap();
    assert_eq!(next(&bench), NextStep::RunNext);
    bench.ends(RunEnding::waiting(&[("gate", &["yes"])]));
    bench.calls.run(&id).unwrap();
    assert_eq!(next(&bench), NextStep::ShowCheckpoint("gate".parse().unwrap()));
    bench.write(POLICY, "= =");
    assert_eq!(summary(&bench).next_reason, "the policy has an error, so nothing runs");
    bench.write(CATALOG, "= =");
    assert_eq!(summary(&bench).next_reason, "the catalog has an error");
}

#[test]
fn a_question_of_an_agent_comes_first() {
    let bench = bench("");
    bench.queue("{}");
    let now = bench.context.now();
    for (choices, expect) in [
        (vec!["yes".to_owned()], NextStep::AnswerByChoice("q-1".to_owned())),
        (Vec::new(), NextStep::AnswerByText("q-1".to_owned())),
    ] {
        let question = WaitingRow::question("q-1".to_owned(), ("ann", "s-1"), "Go on?", choices, now);
        let report = brief::brief(&bench.context, Vec::new(), false, vec![question]).unwrap();
        assert_eq!((report.next_command.step(), report.waiting.len()), (Some(&expect), 2));
        assert_eq!(report.next_reason, "an agent waits for an answer");
    }
}

#[test]
fn the_brief_counts_stale_approvals_apart() {
    let bench = CallBench::new("");
    bench.approved("{}");
    assert_eq!((summary(&bench).approved_count, summary(&bench).stale_approval_count), (1, 0));
    assert_eq!(next(&bench), NextStep::RunNext);
    bench.write("bin/tool.sh", "echo other\n");
    let stale = summary(&bench);
    assert_eq!((stale.approved_count, stale.stale_approval_count), (1, 1));
    assert_ne!(next(&bench), NextStep::RunNext);
}

#[test]
fn the_brief_lists_what_waits_and_what_failed() {
    let bench = CallBench::new("");
    bench.ran(r#"{"a":1}"#, RunEnding::failed());
    bench.ran(r#"{"a":2}"#, RunEnding::completed());
    let first = bench.queue(r#"{"a":3}"#);
    let held = bench.queue(r#"{"a":4}"#);
    bench.calls.hold(&held, "later").unwrap();
    let runtime = "[[runtime]]\nid = \"down\"\nname = \"Down\"\ncommand = \"sleep 600\"\n";
    bench.write(".brigade/tools/runtimes.toml", runtime);
    let report = summary(&bench);
    assert_eq!((report.pending_approval_count, report.held_count, report.tool_count), (1, 1, 1));
    assert_eq!(report.oldest_pending_call.map(|call| call.id), Some(first));
    assert_eq!((report.recent_failures.len(), report.runtimes_down), (1, vec!["down".to_owned()]));
    // After a day, a failure is no longer news.
    bench.clock.advance(std::time::Duration::from_secs(25 * 3600));
    assert_eq!(summary(&bench).recent_failures.len(), 0);
}

#[test]
fn a_brief_changes_nothing() {
    let bench = CallBench::new("manifest_path = \"gone.json\"");
    bench.queue("{}");
    let files = [CATALOG, POLICY, ".brigade/tools/calls.jsonl"];
    let before = files.map(|path| bench.read(path));
    summary(&bench);
    assert_eq!(files.map(|path| bench.read(path)), before);
    assert!(!bench.exists(INBOX) && !bench.exists(".brigade/tools/shown.json"));
}

#[test]
fn a_kitchen_needs_no_catalog() {
    let bench = bench("");
    bench.remove(CATALOG);
    let report = brief::brief(&bench.context, Vec::new(), true, Vec::new()).unwrap();
    assert_ne!(report.next_reason, "the catalog has an error");
    let without = brief::brief(&bench.context, Vec::new(), false, Vec::new()).unwrap();
    assert_eq!(without.next_reason, "the catalog has an error");
}

/// A row as 0.30.0 wrote it.
fn old_row(status: &str, kind: &str) -> String {
    format!(
        r#"{{"acceptance": [], "created_at": "2026-11-21T20:27:14.890099+00:00", "id": "20261121-{kind}-{status}",
        "kind": "task", "metadata": {{"projection_target": null, "source_fingerprint": "131b6c46d9b5eb22",
        "source_item_key": "tool-catalog:tool:{kind}::::", "tool_family": "script", "tool_id": "tool",
        "tool_issue_detail": "in other words", "tool_issue_type": "{kind}"}}, "priority": "normal",
        "source": "tool-catalog", "status": "{status}", "template": "bugfix",
        "text": "Repair tool catalog issue tool/{kind}: in other words", "unknown": {{"kept": [1, null]}}}}"#
    )
    .replace('\n', " ")
        + "\n"
}

#[test]
fn rows_of_v030_count_and_stay_as_they_are() {
    let bench =
        bench("manifest_path = \"gone.json\"\nschema_path = \"gone.json\"\nhealth_path = \"gone.json\"");
    let kinds =
        [("pending", "missing_manifest"), ("dismissed", "missing_schema"), ("done", "missing_health")];
    let rows = kinds.map(|(status, kind)| old_row(status, kind)).concat();
    bench.write(INBOX, &rows);
    // Only the missing policy is new.
    assert_eq!(imported(&bench), [1, 2, 1]);
    assert_eq!(imported(&bench), [0, 3, 1]);
    assert!(bench.read(INBOX).starts_with(&rows));
    let row = IdPrefix::new("20261121-missing_manifest-pending");
    decided(&bench, &row, InboxStep::Promote);
    assert!(bench.read(INBOX).contains("\"unknown\":{\"kept\":[1,null]}"), "{}", bench.read(INBOX));
    assert_eq!(imported(&bench)[0], 0);
}
