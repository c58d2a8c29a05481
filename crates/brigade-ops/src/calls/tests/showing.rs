use std::ops::ControlFlow;
use std::slice;

use brigade_call::{CallStatus, RunStatus};
use brigade_core::{ErrorCode, ErrorKind, IdPrefix, NextStep};
use brigade_workspace::{CATALOG, POLICY};

use super::codes;
use crate::testing::{CallBench, RunEnding};
use crate::{CallFilter, Refusal};

fn prefix(id: &brigade_core::CallId) -> IdPrefix {
    IdPrefix::new(id.as_str())
}

#[test]
fn a_shown_call_has_the_step_that_is_accepted_now() {
    let bench = CallBench::new(r#"argument_template = { a = "{a}" }"#);
    let id = bench.queue(r#"{"a":"b"}"#);
    let next = || bench.calls.show(prefix(&id)).unwrap().next;
    assert_eq!(next(), Some(NextStep::Approve(id.clone())));
    bench.calls.approve(&id).unwrap();
    assert_eq!(next(), Some(NextStep::RunCall(id.clone())));
    bench.write("bin/tool.sh", "echo other\n");
    assert_eq!(next(), Some(NextStep::QueueCall("tool".to_owned())));
    bench.write("bin/tool.sh", "echo ran\n");
    let run = bench.calls.run(&id).unwrap();
    assert_eq!(next(), Some(NextStep::ShowRun(run.receipt.id.clone())));
}

#[test]
fn no_approval_is_proposed_after_a_source_change() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    bench.write("docs/tool.md", "# Other\n");
    assert_eq!(bench.calls.show(prefix(&id)).unwrap().next, Some(NextStep::Reject(id)));
}

#[test]
fn a_shown_call_says_what_changed_since_its_approval() {
    let bench = CallBench::new("");
    let id = bench.approved("{}");
    assert_eq!(bench.calls.show(prefix(&id)).unwrap().changed, [""; 0]);
    bench.write("bin/tool.sh", "echo other\n");
    assert_eq!(bench.calls.show(prefix(&id)).unwrap().changed, ["file bin/tool.sh"]);
}

#[test]
fn a_pending_call_shows_what_prevents_its_approval() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    assert!(bench.calls.show(prefix(&id)).unwrap().blocker_details.is_empty());
    bench.replace(POLICY, r#"["secret-read"]"#, r#"["local-read"]"#);
    let shown = bench.calls.show(prefix(&id)).unwrap();
    assert!(codes(&shown.blocker_details).contains(&"policy_denied_effect"), "{shown:#?}");
    assert!(shown.preview.is_some());
}

#[test]
fn a_finished_call_has_no_preview() {
    let bench = CallBench::new("");
    let run = bench.ran("{}", RunEnding::completed());
    let shown = bench.calls.show(prefix(&run.call.id)).unwrap();
    assert!(shown.preview.is_none() && shown.blocker_details.is_empty() && shown.changed.is_empty());
}

#[test]
fn a_call_without_its_tool_is_shown_without_a_preview() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    bench.write(CATALOG, "");
    let shown = bench.calls.show(prefix(&id)).unwrap();
    assert_eq!((shown.call.id, shown.preview.is_none()), (id, true));
}

#[test]
fn an_invalid_policy_shows_only_finished_calls() {
    let bench = CallBench::new("");
    let run = bench.ran("{}", RunEnding::completed());
    let open = bench.queue(r#"{"a":1}"#);
    bench.write(POLICY, "= =");
    bench.calls.show(prefix(&run.call.id)).unwrap();
    let error = bench.calls.show(prefix(&open)).unwrap_err();
    let Some(Refusal::Call { call: Some(call) }) = error.refusal() else { panic!("{error:?}") };
    assert_eq!(call.id, open);
    assert!(error.blockers().iter().all(|reason| reason.is(ErrorCode::PolicyInvalid)), "{error:?}");
}

#[test]
fn showing_returns_the_revision_that_a_decision_needs() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    let before = bench.calls.show_revision(prefix(&id)).unwrap().1;
    bench.calls.hold(&id, "later").unwrap();
    let after = bench.calls.show_revision(prefix(&id)).unwrap().1;
    assert!(before < after);
    assert_eq!(after, bench.stored(&id).revision);
}

#[test]
fn a_list_is_filtered_by_status_and_tool() {
    let bench = CallBench::new("");
    bench.add(CATALOG, &CallBench::entry("other", "/bin/sh bin/tool.sh", ""));
    let first = bench.queue(r#"{"a":1}"#);
    let second = bench.approved(r#"{"a":2}"#);
    let other = bench.calls.queue(crate::Request::new("other")).unwrap().call.id;
    let list = |status: Option<CallStatus>, tool: Option<&str>, limit: Option<usize>| {
        let filter = CallFilter { status, tool: tool.map(str::to_owned), limit };
        let list = bench.calls.list(filter).unwrap();
        list.into_iter().map(|call| call.unwrap().id).collect::<Vec<_>>()
    };
    assert_eq!(list(None, None, None), [first.clone(), second.clone(), other.clone()]);
    assert_eq!(list(Some(CallStatus::Approved), None, None), slice::from_ref(&second));
    assert_eq!(list(Some(CallStatus::Failed), None, None), []);
    assert_eq!(list(None, Some("tool"), None), [first.clone(), second.clone()]);
    assert_eq!(list(Some(CallStatus::Pending), Some("other"), None), slice::from_ref(&other));
    // A limit keeps the newest.
    assert_eq!(list(None, None, Some(2)), [second.clone(), other]);
    assert_eq!(list(None, Some("tool"), Some(1)), [second]);
    assert_eq!(list(None, None, Some(0)), []);
}

#[test]
fn a_list_counts_all_calls_whatever_it_lists() {
    let bench = CallBench::new("");
    bench.queue(r#"{"a":1}"#);
    bench.ran(r#"{"a":2}"#, RunEnding::failed());
    let filter = CallFilter { status: Some(CallStatus::Pending), ..CallFilter::default() };
    let list = bench.calls.list(filter).unwrap();
    let counts: Vec<(&str, u64)> =
        list.counts.iter().map(|(status, count)| (status.as_str(), *count)).collect();
    assert_eq!(counts, [("failed", 1), ("pending", 1)]);
}

#[test]
fn unknown_status_fails_and_unknown_tool_is_noted() {
    let bench = CallBench::new("");
    let status = CallStatus::from_word("pendng");
    let error = bench.calls.list(CallFilter { status: Some(status), ..CallFilter::default() }).err().unwrap();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Usage, ErrorCode::StatusUnknown));
    let list = |tool: &str| {
        let filter = CallFilter { tool: Some(tool.to_owned()), ..CallFilter::default() };
        bench.calls.list(filter).unwrap().notes().unwrap()
    };
    assert_eq!(list("tool"), [""; 0]);
    let [note] = list("tolo").try_into().unwrap();
    assert!(note.contains("no tool has the id `tolo`") && note.contains("did you mean `tool`?"), "{note}");
}

#[test]
fn a_list_is_read_until_its_reader_breaks() {
    let bench = CallBench::new("");
    for number in 0..3 {
        bench.queue(&format!("{{\"n\":{number}}}"));
    }
    let list = bench.calls.list(CallFilter::default()).unwrap();
    let mut seen = 0;
    list.for_each(&mut |_| {
        seen += 1;
        if seen == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert_eq!(seen, 2);
    let mut texts = Vec::new();
    list.for_each_text(&mut |text| {
        texts.push(String::from_utf8(text.to_vec()).unwrap());
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(
        texts.len() == 3 && texts.iter().all(|text| text.contains("\"status\": \"pending\"")),
        "{texts:?}"
    );
}

#[test]
fn a_short_id_is_the_shortest_that_means_the_call() {
    let bench = CallBench::new("");
    let first = bench.ran("{}", RunEnding::completed()).call;
    let second = bench.call(&bench.queue("{}"));
    let list = bench.calls.list(CallFilter::default()).unwrap();
    let [one, two] = [&first, &second].map(|call| list.short_id(call).unwrap());
    for (short, call) in [(&one, &first), (&two, &second)] {
        assert!(short.len() < call.id.as_str().len(), "{short}");
        assert_eq!(bench.calls.show(IdPrefix::new(short)).unwrap().call.id, call.id);
    }
    // A repeated call is named by its first call and its own part.
    assert!(two.contains('~'), "{two}");
    assert_eq!(first.status.as_str(), RunStatus::Completed.as_str());
}
