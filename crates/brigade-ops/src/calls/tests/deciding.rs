use brigade_call::{ApprovedBy, CallStatus, Step};
use brigade_core::{CallId, ErrorCode, ErrorKind, Hint, IdPrefix, NextStep};
use brigade_queue::{QueueError, Review};
use brigade_workspace::{CATALOG, POLICY};

use super::reasons;
use crate::testing::{CallBench, RunEnding};
use crate::{Error, Refusal, give_up, record_review};

/// Expects the refusal of a decision on this call.
#[track_caller]
fn refused(result: Result<crate::report::ReviewReport, Error>, id: &CallId, code: ErrorCode) -> Error {
    let error = result.unwrap_err();
    let Some(Refusal::Review { call: Some(call), .. }) = error.refusal() else { panic!("{error:?}") };
    assert_eq!((&call.id, error.kind(), error.code()), (id, ErrorKind::Refused, code), "{error}");
    error
}

#[test]
fn each_status_allows_its_decisions() {
    // Which of approve, reject and hold a call allows after each decision.
    let check = |decide: &dyn Fn(&CallBench, &CallId), status: CallStatus, allowed: [bool; 3]| {
        for (step, is_allowed) in allowed.into_iter().enumerate() {
            let bench = CallBench::new("");
            let id = bench.queue("{}");
            decide(&bench, &id);
            assert_eq!(bench.status(&id), status);
            let decided = match step {
                0 => bench.calls.approve(&id),
                1 => bench.calls.reject(&id, "no"),
                _ => bench.calls.hold(&id, "later"),
            };
            assert_eq!(decided.is_ok(), is_allowed, "{status} {step}: {:?}", decided.err());
            if let Err(error) = decided {
                assert_eq!(error.code(), ErrorCode::WrongState);
                assert_eq!(bench.status(&id), status);
            }
        }
    };
    let run = |bench: &CallBench, id: &CallId, ending: RunEnding| {
        bench.calls.approve(id).unwrap();
        bench.ends(ending);
        let _ = bench.calls.run(id);
    };
    check(&|_, _| (), CallStatus::Pending, [true, true, true]);
    check(&|bench, id| drop(bench.calls.hold(id, "later").unwrap()), CallStatus::Held, [true, true, true]);
    check(&|bench, id| drop(bench.calls.approve(id).unwrap()), CallStatus::Approved, [false, true, true]);
    check(
        &|bench, id| drop(bench.calls.reject(id, "no").unwrap()),
        CallStatus::Rejected,
        [false, false, false],
    );
    check(&|bench, id| run(bench, id, RunEnding::completed()), CallStatus::Completed, [false, false, false]);
    check(&|bench, id| run(bench, id, RunEnding::failed()), CallStatus::Failed, [false, false, false]);
    check(&|bench, id| run(bench, id, RunEnding::killed()), CallStatus::Interrupted, [false, false, false]);
    let waiting = RunEnding::waiting(&[("ask", &["yes"])]);
    check(&|bench, id| run(bench, id, waiting.clone()), CallStatus::Waiting, [false, true, false]);
}

#[test]
fn a_decision_stores_its_reason_and_time() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    bench.calls.hold(&id, "  later ").unwrap();
    let held = bench.call(&id);
    assert_eq!((held.review_reason.as_deref(), held.reviewed_at.is_some()), (Some("later"), true));
    bench.calls.approve(&id).unwrap();
    let approved = bench.call(&id);
    assert_eq!(approved.review_reason, None);
    assert_eq!(approved.approval.unwrap().by, ApprovedBy::command_line());
    assert!(held.reviewed_at < approved.reviewed_at);
}

#[test]
fn rejecting_and_holding_need_a_reason() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    for reason in ["", "  ", "\n"] {
        for result in [bench.calls.reject(&id, reason), bench.calls.hold(&id, reason)] {
            assert_eq!(result.unwrap_err().code(), ErrorCode::ReasonNeeded);
        }
    }
    assert_eq!(bench.status(&id), CallStatus::Pending);
}

#[test]
fn a_bound_value_in_a_reason_is_masked() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    bench.calls.reject(&id, "because canary/value+4711").unwrap();
    assert_eq!(bench.call(&id).review_reason.as_deref(), Some("because [redacted]"));
}

#[test]
fn a_changed_file_is_reported_before_the_approval() {
    let sandbox = CallBench::new("").read(POLICY) + "[sandbox]\nmode = \"best-effort\"\n";
    for (path, text, code, reason) in [
        ("bin/tool.sh", "echo other\n", ErrorCode::Refused, ErrorCode::ChangedProgram),
        (POLICY, &sandbox, ErrorCode::Refused, ErrorCode::ChangedPolicy),
        // The text that the request was based on is gone, so it is queued again.
        ("docs/tool.md", "# Other\n", ErrorCode::CallBlocked, ErrorCode::ChangedSource),
    ] {
        let bench = CallBench::new("");
        let id = bench.queue("{}");
        bench.write(path, text);
        let error = refused(bench.calls.approve(&id), &id, code);
        assert_eq!(reasons(&error), [reason.as_str()], "{path}");
        assert_eq!(bench.status(&id), CallStatus::Pending);
    }
}

#[test]
fn a_reported_change_is_accepted_by_the_next_approval() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    // Each change is reported again.
    for body in ["echo one\n", "echo two\n"] {
        bench.write("bin/tool.sh", body);
        let error = bench.calls.approve(&id).unwrap_err();
        assert_eq!(reasons(&error), ["changed_program"]);
        let hint = error.blockers()[0].hint.as_ref().map(Hint::to_string);
        assert_eq!(hint.as_deref(), Some("check `bin/tool.sh`"));
        assert_eq!(error.hints(), [Hint::to("take it as it is now", NextStep::Approve(id.clone()))]);
    }
    bench.calls.approve(&id).unwrap();
    assert!(bench.calls.run(&id).unwrap().succeeded);
    // Rules for other tools do not affect the call.
    let id = bench.queue(r#"{"b":1}"#);
    bench.add(POLICY, "[sandbox.tool.other]\nmode = \"off\"\n");
    bench.calls.approve(&id).unwrap();
}

#[test]
fn a_stricter_policy_prevents_the_approval() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    bench.replace(POLICY, r#"["secret-read"]"#, r#"["local-read"]"#);
    assert!(reasons(&bench.calls.approve(&id).unwrap_err()).contains(&"policy_denied_effect"));
    assert_eq!(bench.status(&id), CallStatus::Pending);
}

#[test]
fn a_call_of_a_tool_that_is_gone_is_only_declined() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    bench.write(CATALOG, CallBench::entry("other", "/bin/sh bin/tool.sh", ""));
    let error = bench.calls.approve(&id).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ToolMissing);
    assert!(matches!(error.refusal(), Some(Refusal::Review { call: Some(_), .. })));
    bench.calls.reject(&id, "its tool is gone").unwrap();
    assert_eq!(bench.status(&id), CallStatus::Rejected);
}

#[test]
fn an_approval_shows_what_it_binds() {
    let bench = CallBench::new(
        "argument_template = { path = \"{path}\", limit = \"--limit={limit}\" }\n\
         effects = [\"local-read\", \"network\"]",
    );
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}}}"#;
    bench.write("schemas/tool.json", schema);
    let first = bench.queue(r#"{"path":"a.txt"}"#);
    let preview = *bench.calls.approve(&first).unwrap().preview.unwrap();
    assert_eq!(preview.argv, ["/bin/sh", "bin/tool.sh", "a.txt"]);
    assert_eq!(
        (&preview.access.read[..], &preview.access.write[..]),
        (&["workspace".to_owned()][..], &[][..])
    );
    assert!(preview.access.network && preview.last_approved.is_none());
    assert!(preview.binding.files.contains_key("bin/tool.sh"));
    assert_eq!(preview.binding.program.unwrap().path, "/bin/sh");
    // The next approval is compared with it, whether it ran or not.
    bench.calls.run(&first).unwrap();
    bench.write("bin/tool.sh", "echo other\n");
    let second = bench.queue(r#"{"path":"a.txt","limit":1}"#);
    let preview = bench.calls.approve(&second).unwrap().preview.unwrap();
    let difference = preview.last_approved.as_ref().unwrap();
    assert_eq!((&difference.call_id, &difference.changed), (&first, &vec!["file bin/tool.sh".to_owned()]));
    let names: Vec<&str> = difference.arguments.iter().map(|argument| argument.name.as_str()).collect();
    assert_eq!(names, ["limit"]);
}

#[test]
fn a_decision_counts_only_for_the_shown_revision() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    let shown = bench.stored(&id);
    bench.calls.hold(&id, "later").unwrap();
    let stale = record_review(&bench.context, &shown, Review::Reject("no".to_owned()));
    refused(stale, &id, ErrorCode::ChangedMeanwhile);
    assert_eq!(bench.status(&id), CallStatus::Held);
    record_review(&bench.context, &bench.stored(&id), Review::Reject("no".to_owned())).unwrap();
    assert_eq!(bench.status(&id), CallStatus::Rejected);
}

#[test]
fn a_decided_call_names_the_step_that_is_left() {
    let bench = CallBench::new("");
    let run = bench.ran("{}", RunEnding::completed());
    let error = bench.calls.approve(&run.call.id).unwrap_err();
    let steps: Vec<&NextStep> = error.hints().iter().flat_map(Hint::steps).collect();
    assert_eq!(steps, [&NextStep::Replay(run.receipt.id.clone())]);
    let id = bench.queue(r#"{"a":1}"#);
    bench.calls.reject(&id, "no").unwrap();
    let error = bench.calls.approve(&id).unwrap_err();
    assert_eq!(error.hints().iter().flat_map(Hint::steps).count(), 0, "{error:?}");
    assert!(error.hints()[0].to_string().starts_with("a rejected call cannot be queued again"), "{error:?}");
}

#[test]
fn a_prefix_means_the_calls_that_allow_the_step() {
    let bench = CallBench::new(r#"argument_template = { a = "{a}" }"#);
    let [a, b, c] = ["1", "2", "3"].map(|arg| bench.queue(&format!("{{\"a\":\"{arg}\"}}")));
    bench.calls.approve(&a).unwrap();
    let all = IdPrefix::new("call-");
    let error = bench.calls.find(&all, Step::Approve).unwrap_err();
    let mut candidates = error.failure().could_be().to_vec();
    candidates.sort();
    let mut expect = [b.to_string(), c.to_string()];
    expect.sort();
    assert_eq!((error.code(), &candidates[..]), (ErrorCode::Ambiguous, &expect[..]));
    // A single call that allows the step is meant.
    assert_eq!(bench.calls.find(&all, Step::Claim).unwrap(), a);
    bench.calls.run(&a).unwrap();
    let error = bench.calls.find(&all, Step::Claim).unwrap_err();
    assert_eq!(error.to_string(), "several calls match `call-`, and none can be run");
    assert!(error.failure().could_be().is_empty() && matches!(error.refusal(), Some(Refusal::Run(_))));
    assert_eq!(bench.calls.find(&CallBench::prefix(&b, 1), Step::Hold).unwrap(), b);
}

#[test]
fn an_exact_id_wins_over_longer_ones() {
    let bench = CallBench::new("");
    let first = bench.ran("{}", RunEnding::completed()).call.id;
    let second = bench.queue("{}");
    assert!(second.as_str().starts_with(first.as_str()));
    assert_eq!(bench.calls.show(IdPrefix::new(first.as_str())).unwrap().call.id, first);
    assert_eq!(bench.calls.show(CallBench::prefix(&second, 3)).unwrap().call.id, second);
    let error = bench.calls.show(CallBench::prefix(&first, 1)).unwrap_err();
    assert_eq!(error.failure().could_be(), [first.to_string(), second.to_string()]);
    for nothing in ["", "../../x", "call-nope"] {
        let error = bench.calls.show(IdPrefix::new(nothing)).unwrap_err();
        assert!(matches!(error.refusal(), Some(Refusal::Call { call: None })), "{nothing}: {error:?}");
    }
}

#[test]
fn a_mistyped_id_is_answered_with_a_near_one() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    let last = if id.as_str().ends_with('0') { '1' } else { '0' };
    let typed = format!("{}{last}", CallBench::prefix(&id, 1).as_str());
    let error = bench.calls.find(&IdPrefix::new(&typed), Step::Approve).unwrap_err();
    assert_eq!((error.code(), &error.hints()[0]), (ErrorCode::CallMissing, &Hint::did_you_mean(id.as_str())));
}

#[test]
fn only_approvals_of_rules_are_given_up() {
    let bench = CallBench::new("");
    let rule = ApprovedBy::Rule { rule: "r".to_owned(), file: "policy.toml".to_owned(), line: 3 };
    let by_rule = bench.queue(r#"{"a":1}"#);
    let by_person = bench.approved(r#"{"a":2}"#);
    let pending = bench.queue(r#"{"a":3}"#);
    let binding = bench.call(&by_person).approval.unwrap().binding;
    let review = Review::Approve(Box::new(binding), rule, Vec::new());
    record_review(&bench.context, &bench.stored(&by_rule), review).unwrap();
    for kept in [&by_person, &pending] {
        let call = give_up(&bench.context, bench.stored(kept), "gone").unwrap();
        assert_eq!(call.map(|call| call.id).as_ref(), Some(kept));
    }
    assert_eq!(give_up(&bench.context, bench.stored(&by_rule), "gone").unwrap().map(|call| call.id), None);
    let withdrawn = bench.call(&by_rule);
    assert_eq!((withdrawn.status, withdrawn.withdrawn), (CallStatus::Rejected, true));
    assert_eq!(withdrawn.review_reason.as_deref(), Some("a rule approved it, and it was not run: gone"));
}

#[test]
fn a_missing_call_is_no_call_of_a_refusal() {
    let bench = CallBench::new("");
    let id: CallId = "call-nope".parse().unwrap();
    for result in [bench.calls.approve(&id), bench.calls.reject(&id, "no"), bench.calls.hold(&id, "no")] {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, ErrorCode::CallMissing));
        assert!(matches!(error.refusal(), Some(Refusal::Review { call: None, pin: None })));
    }
    assert_eq!(Error::from(QueueError::Changed { id }).code(), ErrorCode::ChangedMeanwhile);
}

#[test]
fn a_bare_word_is_not_an_id() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    for word in ["call", "c", "ends", "the", ""] {
        assert!(bench.calls.find(&IdPrefix::new(word), Step::Reject).is_err(), "{word}");
    }
    // One distinguishing character is enough.
    assert_eq!(bench.calls.find(&IdPrefix::new(&id.as_str()[..6]), Step::Reject).unwrap(), id);
}
