use brigade_call::{CallStatus, Caller, OnBlocked};
use brigade_core::{ErrorCode, ErrorKind};
use brigade_workspace::{CATALOG, POLICY};

use super::{codes, reasons, says};
use crate::report::{BatchReport, BatchRow};
use crate::testing::{CallBench, RunEnding};
use crate::{CallFilter, Request};

#[test]
fn equal_requests_are_one_call() {
    let bench = CallBench::new(r#"argument_template = { a = "{a}", b = "{b}" }"#);
    let id = bench.queue(r#"{"a":"1","b":"2"}"#);
    // Neither the order of the members nor the status matters.
    for status in [CallStatus::Pending, CallStatus::Approved] {
        assert_eq!(bench.status(&id), status);
        let again = bench.queued(r#" {"b":"2", "a":"1"} "#);
        assert_eq!((again.created, again.skipped, &again.call.id), (0, 1, &id));
        assert!(again.reason.is_some());
        let _ = bench.calls.approve(&id);
    }
    assert_eq!(bench.calls.list(CallFilter::default()).unwrap().into_iter().count(), 1);
    // A call that ran can be requested again, under another id.
    bench.calls.run(&id).unwrap();
    let next = bench.queue(r#"{"a":"1","b":"2"}"#);
    assert!(next.as_str().starts_with(&format!("{id}-queued-")), "{next}");
}

#[test]
fn numbers_are_compared_as_they_are_written() {
    let bench = CallBench::new(r#"argument_template = { n = "{n}" }"#);
    let [first, second] = [r#"{"n":1}"#, r#"{"n":1.0}"#].map(|args| bench.queue(args));
    assert_ne!(first, second);
    let huge = r#"{"n":123456789012345678901234567890}"#;
    bench.queue(huge);
    assert!(bench.read(".brigade/tools/calls.jsonl").contains("123456789012345678901234567890"));
}

#[test]
fn a_rejected_call_returns_only_when_it_changed() {
    let bench = CallBench::new(r#"argument_template = { a = "{a}" }"#);
    let id = bench.queue(r#"{"a":"1"}"#);
    bench.calls.reject(&id, "no").unwrap();
    let again = bench.queued(r#"{"a":"1"}"#);
    assert_eq!((again.created, again.skipped, &again.call.id), (0, 1, &id));
    assert!(again.reason.is_some_and(|reason| reason.contains("rejected")));
    assert_ne!(bench.queue(r#"{"a":"2"}"#), id);
    bench.replace(CATALOG, "timeout = 30", "timeout = 29");
    assert_ne!(bench.queue(r#"{"a":"1"}"#), id);
}

#[test]
fn a_blocked_call_is_stored_only_on_request() {
    let bench = CallBench::new("");
    bench.write("schemas/tool.json", r#"{"type":"object","required":["a"]}"#);
    let refused = bench.calls.queue(Request::new("tool")).unwrap_err();
    assert_eq!((refused.kind(), reasons(&refused)), (ErrorKind::Refused, vec!["invalid_args"]));
    let queued = bench.calls.queue(Request::new("tool").blocked(OnBlocked::Include)).unwrap();
    assert_eq!((queued.created, queued.blocked), (1, 1));
    says(&queued.blocker_details, ErrorCode::InvalidArgs, "$.a");
    let id = queued.call.id;
    assert_eq!(reasons(&bench.calls.approve(&id).unwrap_err()), ["invalid_args"]);
    assert_eq!(bench.status(&id), CallStatus::Pending);
    assert!(reasons(&bench.calls.run(&id).unwrap_err()).contains(&"invalid_args"));
    assert_eq!(bench.run_count(), 0);
}

#[test]
fn a_blocked_call_is_approved_without_its_reason() {
    let bench = CallBench::new("");
    bench.replace(POLICY, "allowed_effects = [\"local-read\", ", "allowed_effects = [");
    let id = bench.calls.queue(Request::new("tool").blocked(OnBlocked::Include)).unwrap().call.id;
    assert_eq!(reasons(&bench.calls.approve(&id).unwrap_err()), ["policy_effect_not_allowed"]);
    bench.replace(POLICY, "allowed_effects = [", "allowed_effects = [\"local-read\", ");
    bench.calls.approve(&id).unwrap();
    assert!(bench.calls.run(&id).unwrap().succeeded);
}

#[test]
fn a_call_names_its_caller() {
    let bench = CallBench::new("");
    assert_eq!(bench.call(&bench.queue("{}")).caller, Caller::CommandLine);
}

/// Queues lines. Returns the rows as `line status` and the report.
#[track_caller]
fn batch(bench: &CallBench, lines: &[u8], blocked: OnBlocked) -> (Vec<BatchRow>, BatchReport) {
    let mut rows = Vec::new();
    let report =
        bench.calls.queue_lines(&mut &lines[..], blocked, &mut |row| rows.push(row.clone())).unwrap();
    (rows, report)
}

#[test]
fn each_line_of_a_batch_has_its_own_result() {
    let bench = CallBench::new(r#"argument_template = { a = "{a}" }"#);
    bench.write("schemas/tool.json", r#"{"type":"object","properties":{"a":{"type":"string"}}}"#);
    let lines = b"{\"tool\":\"tool\",\"args\":{\"a\":\"1\"}}\n\n  \n{\"tool\":\"tool\",\"args\":{\"a\":\"1\"}}\n\
        {\"tool\":\"tool\",\"args\":{\"a\":1}}\n{\"tool\":\"nope\"}\nnot json\n{\"tool\":\"tool\",\"args\":{\"a\":\"2\"}}";
    let (rows, report) = batch(&bench, lines, OnBlocked::Refuse);
    assert_eq!((report.created, report.skipped, report.refused), (2, 1, 3));
    // Blank lines are counted and skipped.
    assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [1, 4, 5, 6, 7, 8]);
    let ids: Vec<bool> = rows.iter().map(|row| row.call_id.is_some()).collect();
    assert_eq!(ids, [true, true, false, false, false, true]);
    assert_eq!(rows[0].call_id, rows[1].call_id, "an equal call is the same");
    assert_eq!(bench.calls.list(CallFilter::default()).unwrap().into_iter().count(), 2);
}

#[test]
fn a_batch_can_store_blocked_calls() {
    let bench = CallBench::new("");
    bench.write("schemas/tool.json", r#"{"type":"object","required":["a"]}"#);
    let line = b"{\"tool\":\"tool\"}\n";
    assert_eq!(batch(&bench, line, OnBlocked::Refuse).1.refused, 1);
    let (_, report) = batch(&bench, line, OnBlocked::Include);
    assert_eq!((report.created, report.refused), (1, 0));
}

#[test]
fn a_secret_in_a_batch_is_not_stored() {
    let bench = CallBench::new("");
    let line = b"{\"tool\":\"tool\",\"args\":{\"password\":\"EXAMPLE-canary-1\"}}\n";
    let (rows, report) = batch(&bench, line, OnBlocked::Include);
    assert_eq!((report.created, report.refused), (0, 1));
    assert!(!format!("{rows:?}").contains("canary"));
    assert!(!bench.exists(".brigade/tools/calls.jsonl"));
}

#[test]
fn an_empty_batch_stores_nothing() {
    let bench = CallBench::new("");
    let (rows, report) = batch(&bench, b"\n\n", OnBlocked::Refuse);
    assert_eq!((rows.len(), report.created, report.skipped, report.refused), (0, 0, 0, 0));
    assert!(!bench.exists(".brigade/tools/calls.jsonl"));
}

#[test]
fn a_line_that_is_too_long_ends_a_batch() {
    let bench = CallBench::new("");
    let mut lines = b"{\"tool\":\"tool\"}\n".to_vec();
    lines.extend(std::iter::repeat_n(b' ', (16 << 20) + 1));
    let mut rows = 0;
    let refuse = OnBlocked::Refuse;
    let error = bench.calls.queue_lines(&mut &lines[..], refuse, &mut |_| rows += 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().starts_with("line 2 is longer than"), "{error}");
}

#[test]
fn a_replay_of_todays_facts_waits_for_approval() {
    let bench = CallBench::new(r#"argument_template = { a = "{a}" }"#);
    let run = bench.ran(r#"{"a":"1"}"#, RunEnding::completed());
    let prefix = brigade_core::IdPrefix::new(run.receipt.id.as_str());
    let [one, two] = [(); 2].map(|()| bench.runs().replay(&prefix).unwrap());
    assert_ne!(one.call.id, two.call.id, "every replay is a separate call");
    assert_eq!((one.created, one.executed, bench.run_count()), (1, 0, 1));
    let replay = bench.call(&one.call.id).replay.unwrap();
    assert_eq!(replay.run_id, run.receipt.id.to_string());
    assert_eq!(replay.source_call_id.as_deref(), Some(run.call.id.as_str()));
    assert!(bench.calls.run(&one.call.id).is_err());
    bench.calls.approve(&one.call.id).unwrap();
    bench.calls.run(&one.call.id).unwrap();
    assert_eq!(bench.run_count(), 2);
    // The schema of today decides.
    bench.write("schemas/tool.json", r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#);
    let refused = bench.runs().replay(&prefix).unwrap_err();
    assert_eq!(reasons(&refused), ["invalid_args"]);
    let Some(crate::Refusal::Replay { run: Some(_), plan: Some(plan) }) = refused.refusal() else {
        panic!("{refused:?}")
    };
    assert_eq!(codes(&plan.blocker_details), ["invalid_args"]);
    let missing = bench.runs().replay(&brigade_core::IdPrefix::new("run-nothing")).unwrap_err();
    assert!(matches!(missing.refusal(), Some(crate::Refusal::Replay { run: None, plan: None })));
}
