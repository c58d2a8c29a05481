use brigade_call::CheckpointStatus;
use brigade_core::{CallId, ErrorCode};
use brigade_workspace::{CATALOG, POLICY};

use super::*;
use crate::testing::{CallBench, RunEnding};

const FILE: &str = ".brigade/tools/checkpoints/gate.json";

fn id(text: &str) -> CheckpointId {
    text.parse().unwrap()
}

/// A workspace with a call that waits for the checkpoint `gate`.
fn waiting() -> (CallBench, CallId) {
    let bench = CallBench::new("");
    let run = bench.ran("{}", RunEnding::waiting(&[("gate", &["yes", "no"])]));
    assert_eq!(run.call.status, CallStatus::Waiting);
    (bench, run.call.id)
}

/// A workspace with a call that can resume.
fn answered() -> (CallBench, CallId) {
    let (bench, call) = waiting();
    bench.checkpoints().approve(&id("gate"), "yes").unwrap();
    (bench, call)
}

fn steps(error: &Error) -> Vec<&NextStep> {
    error.hints().iter().flat_map(Hint::steps).collect()
}

#[test]
fn an_answer_makes_its_call_resumable() {
    let (bench, call) = waiting();
    let answered = bench.checkpoints().approve(&id("gate"), "yes").unwrap();
    assert_eq!(answered.checkpoint.status, CheckpointStatus::Approved);
    assert_eq!(answered.checkpoint.selected_choice.as_deref(), Some("yes"));
    assert_eq!((answered.call.status, bench.run_count()), (CallStatus::ResumePending, 1));
    // The call itself neither runs nor is approved.
    assert!(bench.calls.run(&call).is_err() && bench.calls.approve(&call).is_err());
    assert_eq!(bench.calls.run(crate::RunTarget::Next).unwrap_err().code(), ErrorCode::NothingApproved);
}

#[test]
fn a_resumed_run_completes_its_call() {
    let (bench, call) = answered();
    let first = bench.runs().latest().unwrap().run.id;
    let resumed = bench.checkpoints().resume(&id("gate")).unwrap();
    assert_eq!(
        (resumed.checkpoint.status, resumed.call.status),
        (CheckpointStatus::Resumed, CallStatus::Completed)
    );
    assert_eq!(resumed.checkpoint.resume_run_id.as_ref(), Some(&resumed.receipt.id));
    assert_eq!(resumed.receipt.original_run_id, Some(first));
    let choice = resumed.receipt.resume.as_ref().and_then(|resume| resume.selected_choice.clone());
    assert_eq!((choice.as_deref(), resumed.call.resume_checkpoint_id), (Some("yes"), Some(id("gate"))));
    // It is not resumed twice.
    assert!(bench.checkpoints().resume(&id("gate")).is_err());
    assert_eq!((bench.run_count(), bench.status(&call)), (2, CallStatus::Completed));
    assert!(bench.runs().verify(1).unwrap().valid);
}

#[test]
fn a_failed_resume_keeps_its_checkpoint_resumed() {
    let (bench, call) = answered();
    bench.ends(RunEnding::failed());
    let resumed = bench.checkpoints().resume(&id("gate")).unwrap();
    assert_eq!((resumed.succeeded, resumed.receipt.exit_code), (false, Some(3)));
    assert_eq!(
        (resumed.checkpoint.status, bench.status(&call)),
        (CheckpointStatus::Resumed, CallStatus::Failed)
    );
}

#[test]
fn a_resumed_run_can_ask_again() {
    let (bench, call) = answered();
    bench.ends(RunEnding::waiting(&[("more", &["go"])]));
    let resumed = bench.checkpoints().resume(&id("gate")).unwrap();
    assert_eq!(
        (resumed.checkpoint.status, resumed.call.status),
        (CheckpointStatus::Resumed, CallStatus::Waiting)
    );
    bench.checkpoints().approve(&id("more"), "go").unwrap();
    bench.checkpoints().resume(&id("more")).unwrap();
    assert_eq!((bench.status(&call), bench.run_count()), (CallStatus::Completed, 3));
}

#[test]
fn only_a_choice_is_an_answer() {
    let (bench, call) = waiting();
    for (choice, hint) in [("yess", Some("did you mean `yes`?")), ("perhaps", None), ("", None)] {
        let error = bench.checkpoints().approve(&id("gate"), choice).unwrap_err();
        let Some(Refusal::CheckpointReview { checkpoint: Some(_), call: Some(shown) }) = error.refusal()
        else {
            panic!("{error:?}")
        };
        assert_eq!((&shown.id, &shown.status), (&call, &CallStatus::Waiting));
        match hint {
            Some(hint) => assert_eq!(error.hints()[0].to_string(), hint),
            None => assert_eq!(steps(&error), [&NextStep::AnswerCheckpoint(id("gate"))]),
        }
    }
    // Without choices, any text is an answer.
    let bench = CallBench::new("");
    bench.ran("{}", RunEnding::waiting(&[("free", &[])]));
    bench.checkpoints().approve(&id("free"), "whatever").unwrap();
}

#[test]
fn a_secret_is_no_answer() {
    let bench = CallBench::new("");
    bench.ran("{}", RunEnding::waiting(&[("free", &[])]));
    for secret in ["canary/value+4711", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"] {
        let error = bench.checkpoints().approve(&id("free"), secret).unwrap_err();
        assert_eq!(error.to_string(), "the choice looks like a secret, so it is not stored");
    }
}

#[test]
fn a_rejected_checkpoint_is_not_resumed() {
    let (bench, call) = waiting();
    assert_eq!(bench.checkpoints().reject(&id("gate"), " ").unwrap_err().code(), ErrorCode::ReasonNeeded);
    let rejected = bench.checkpoints().reject(&id("gate"), "not safe").unwrap();
    assert_eq!(rejected.checkpoint.review_reason.as_deref(), Some("not safe"));
    for error in [
        bench.checkpoints().resume(&id("gate")).unwrap_err(),
        bench.checkpoints().approve(&id("gate"), "yes").unwrap_err(),
    ] {
        // The call can only be ended.
        assert_eq!(steps(&error), [&NextStep::Reject(call.clone())], "{error:?}");
    }
    bench.calls.reject(&call, "over").unwrap();
    assert_eq!((bench.status(&call), bench.run_count()), (CallStatus::Rejected, 1));
}

#[test]
fn an_answered_checkpoint_is_not_answered_again() {
    let (bench, _) = answered();
    for result in
        [bench.checkpoints().approve(&id("gate"), "no"), bench.checkpoints().reject(&id("gate"), "no")]
    {
        let error = result.unwrap_err();
        assert!(matches!(error.refusal(), Some(Refusal::CheckpointReview { checkpoint: Some(_), .. })));
    }
    let shown = bench.checkpoints().show(&IdPrefix::new("gate")).unwrap();
    assert_eq!(shown.checkpoint.selected_choice.as_deref(), Some("yes"));
}

#[test]
fn a_checkpoint_without_an_answer_is_not_resumed() {
    let (bench, _) = waiting();
    let error = bench.checkpoints().resume(&id("gate")).unwrap_err();
    assert_eq!(steps(&error), [&NextStep::AnswerCheckpoint(id("gate"))]);
    assert!(matches!(error.refusal(), Some(Refusal::Resume { checkpoint: Some(_), .. })));
    assert_eq!(bench.run_count(), 1);
}

#[test]
fn an_expired_checkpoint_is_not_answered() {
    let bench = CallBench::new("");
    let past = Some("2020-01-01T00:00:00Z".parse().unwrap());
    let ending = RunEnding { expires_at: past, ..RunEnding::waiting(&[("gate", &["yes"])]) };
    let call = bench.ran("{}", ending).call.id;
    let error = bench.checkpoints().approve(&id("gate"), "yes").unwrap_err();
    assert_eq!(steps(&error), [&NextStep::Reject(call.clone())]);
    bench.calls.reject(&call, "over").unwrap();
    let shown = bench.checkpoints().show(&IdPrefix::new("gate")).unwrap();
    assert_eq!(shown.checkpoint.status, CheckpointStatus::Rejected);
}

#[test]
fn all_checkpoints_of_a_run_need_an_answer() {
    let bench = CallBench::new("");
    let call = bench.ran("{}", RunEnding::waiting(&[("first", &["a"]), ("second", &["b"])])).call.id;
    let one = bench.checkpoints().approve(&id("first"), "a").unwrap();
    assert_eq!(one.call.status, CallStatus::Waiting);
    let shown = bench.checkpoints().show(&IdPrefix::new("first")).unwrap();
    assert_eq!(shown.next, Some(NextStep::ListCheckpoints));
    assert!(bench.checkpoints().resume(&id("first")).is_err());
    let two = bench.checkpoints().approve(&id("second"), "b").unwrap();
    assert_eq!(two.call.status, CallStatus::ResumePending);
    let shown = bench.checkpoints().show(&IdPrefix::new("second")).unwrap();
    assert_eq!(shown.next, Some(NextStep::Resume(id("second"))));
    let resumed = bench.checkpoints().resume(&id("second")).unwrap();
    // The named one comes first.
    let choices = resumed.receipt.resume.unwrap().choices;
    let choices: Vec<(&str, Option<&str>)> =
        choices.iter().map(|one| (one.checkpoint_id.as_str(), one.selected_choice.as_deref())).collect();
    assert_eq!(choices, [("second", Some("b")), ("first", Some("a"))]);
    let counts = bench.checkpoints().list().unwrap().counts;
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [("resumed".to_owned(), 2)]);
    assert_eq!(bench.status(&call), CallStatus::Completed);
}

#[test]
fn a_change_while_a_call_waits_prevents_the_resume() {
    for (path, text, changed) in [
        ("bin/tool.sh", "echo evil\n", "file bin/tool.sh"),
        ("docs/tool.md", "# Other\n", "source"),
        (POLICY, "[sandbox]\nmode = \"enforce\"\nread_paths = [\"/var/tmp\"]\n", "policy"),
    ] {
        let (bench, call) = answered();
        let before = bench.read(path);
        bench.write(path, text);
        let error = bench.checkpoints().resume(&id("gate")).unwrap_err();
        let Some(Refusal::Resume { checkpoint: Some(_), run }) = error.refusal() else { panic!("{error:?}") };
        assert_eq!(run.changed, [changed]);
        // The call can be ended, or the change be taken back.
        assert!(steps(&error).contains(&&NextStep::Reject(call.clone())), "{error:?}");
        let shown = bench.checkpoints().show(&IdPrefix::new("gate")).unwrap();
        assert_eq!(shown.next, Some(NextStep::Reject(call.clone())), "{path}");
        assert_eq!(bench.status(&call), CallStatus::ResumePending);
        bench.write(path, before);
        bench.checkpoints().resume(&id("gate")).unwrap();
    }
}

#[test]
fn without_its_tool_a_call_is_not_resumed() {
    let (bench, call) = answered();
    bench.write(CATALOG, "");
    let error = bench.checkpoints().resume(&id("gate")).unwrap_err();
    assert!(error.blockers().iter().any(|reason| reason.is(ErrorCode::ToolMissing)), "{error:?}");
    assert_eq!((bench.status(&call), bench.run_count()), (CallStatus::ResumePending, 1));
}

#[test]
fn under_an_invalid_policy_no_way_out_is_proposed() {
    let (bench, _) = answered();
    bench.write(POLICY, "= =");
    let error = bench.checkpoints().resume(&id("gate")).unwrap_err();
    assert!(!steps(&error).iter().any(|step| matches!(step, NextStep::Reject(_))), "{error:?}");
}

/// Edits a text of the checkpoint's file.
fn edit(bench: &CallBench, from: &str, to: &str) {
    bench.replace(FILE, from, to);
}

#[test]
fn an_edited_file_prevents_answer_and_resume() {
    for (from, to, member) in [
        ("\"status\": \"pending\"", "\"status\": \"approved\"", "status"),
        ("\"prompt\": \"gate?\"", "\"prompt\": \"other?\"", "prompt"),
        ("\"yes\"", "\"maybe\"", "choices"),
    ] {
        let (bench, _) = waiting();
        let before = bench.read(FILE);
        edit(&bench, from, to);
        let error = bench.checkpoints().approve(&id("gate"), "yes").unwrap_err();
        assert!(error.to_string().contains(member), "{error}");
        assert_eq!(steps(&error), [&NextStep::CompactState]);
        let shown = bench.checkpoints().show(&IdPrefix::new("gate")).unwrap();
        assert_eq!(shown.next, Some(NextStep::CompactState));
        bench.write(FILE, before);
        bench.checkpoints().approve(&id("gate"), "yes").unwrap();
        edit(&bench, "\"gate?\"", "\"other?\"");
        let error = bench.checkpoints().resume(&id("gate")).unwrap_err();
        assert!(error.to_string().contains("prompt"), "{error}");
        assert!(matches!(error.refusal(), Some(Refusal::Resume { .. })));
    }
}

#[test]
fn a_file_of_another_call_is_not_answered() {
    let (bench, call) = waiting();
    edit(&bench, &format!("\"call_id\": \"{call}\""), "\"call_id\": \"call-0000000000000000\"");
    let error = bench.checkpoints().approve(&id("gate"), "yes").unwrap_err();
    assert!(error.to_string().contains("call_id"), "{error}");
}

#[test]
fn a_lost_file_is_known_from_the_record() {
    for damaged in [None, Some("{"), Some("notes\n")] {
        let (bench, _) = waiting();
        let damage = || match damaged {
            Some(text) => bench.write(FILE, text),
            None => bench.remove(FILE),
        };
        damage();
        let shown = bench.checkpoints().show(&IdPrefix::new("gate")).unwrap();
        assert_eq!(shown.checkpoint.prompt.as_deref(), Some("gate?"));
        let list = bench.checkpoints().list().unwrap();
        assert_eq!((list.checkpoint_count, list.error_count), (1, 1));
        bench.checkpoints().approve(&id("gate"), "yes").unwrap();
        damage();
        bench.checkpoints().resume(&id("gate")).unwrap();
    }
}

#[test]
fn a_file_that_a_crash_left_is_no_change() {
    let (bench, _) = waiting();
    let before = bench.read(FILE);
    bench.checkpoints().approve(&id("gate"), "yes").unwrap();
    bench.write(FILE, before);
    bench.checkpoints().resume(&id("gate")).unwrap();
}

#[test]
fn a_taken_id_gets_a_suffix_and_an_exact_id_wins() {
    let (bench, _) = waiting();
    bench.checkpoints().reject(&id("gate"), "no").unwrap();
    let before = bench.read(FILE);
    let again = bench.ran(r#"{"again":true}"#, RunEnding::waiting(&[("gate", &["yes"])]));
    let taken = again.receipt.checkpoint_id.unwrap();
    assert!(taken.as_str().starts_with("gate-"), "{taken}");
    assert_eq!(bench.read(FILE), before, "a decision is not overwritten");
    let checkpoints = bench.checkpoints();
    assert_eq!(checkpoints.find(&IdPrefix::new("gate"), CheckpointStep::Answer).unwrap(), id("gate"));
    let error = checkpoints.find(&IdPrefix::new("gat"), CheckpointStep::Resume).unwrap_err();
    assert_eq!((error.code(), error.failure().could_be().len()), (ErrorCode::Ambiguous, 2));
    assert!(matches!(error.refusal(), Some(Refusal::Resume { checkpoint: None, .. })));
}

#[test]
fn a_missing_checkpoint_has_the_refusal_of_its_step() {
    let bench = CallBench::new("");
    let checkpoints = bench.checkpoints();
    let shown = checkpoints.show(&IdPrefix::new("nothing")).unwrap_err();
    assert!(matches!(shown.refusal(), Some(Refusal::Checkpoint)));
    let resumed = checkpoints.resume(&id("nothing")).unwrap_err();
    assert!(matches!(resumed.refusal(), Some(Refusal::Resume { checkpoint: None, .. })));
    let answered = checkpoints.approve(&id("nothing"), "yes").unwrap_err();
    assert!(matches!(answered.refusal(), Some(Refusal::CheckpointReview { checkpoint: None, call: None })));
    for error in [shown, resumed, answered] {
        assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, ErrorCode::CheckpointMissing));
    }
}

#[test]
fn checkpoints_are_listed_newest_first() {
    let bench = CallBench::new("");
    for (name, args) in [("one", r#"{"a":1}"#), ("two", r#"{"a":2}"#)] {
        bench.ran(args, RunEnding::waiting(&[(name, &["yes"])]));
    }
    let list = bench.checkpoints().list().unwrap();
    let ids: Vec<&str> = list.checkpoints.iter().map(|checkpoint| checkpoint.id.as_str()).collect();
    assert_eq!((ids, list.counts.get("pending")), (vec!["two", "one"], Some(&2)));
}

#[test]
fn a_call_with_an_unreadable_checkpoint_can_be_ended() {
    let (bench, call) = waiting();
    bench.write(FILE, "{");
    let error = bench.calls.run(&call).unwrap_err();
    let of_reasons = error.blockers().iter().filter_map(|reason| reason.hint.as_ref());
    let steps: Vec<&NextStep> = error.hints().iter().chain(of_reasons).flat_map(Hint::steps).collect();
    assert!(steps.contains(&&NextStep::Reject(call.clone())), "{error:?}");
    let ended = bench.calls.reject(&call, "over").unwrap().call;
    assert_eq!((ended.status, ended.review_reason.as_deref()), (CallStatus::Rejected, Some("over")));
    let shown = bench.checkpoints().show(&IdPrefix::new("gate")).unwrap();
    assert_eq!(shown.checkpoint.status, CheckpointStatus::Rejected);
    // Its checkpoint was not declined, so the same can be asked for again.
    bench.queue("{}");
    assert!(bench.runs().verify(1).unwrap().valid);
}

/// A workspace with the calls and checkpoints that 0.30.0 left.
fn of_v030(files: &[&str]) -> CallBench {
    let bench = CallBench::new("");
    let state = brigade_testkit::fixtures().join("state/0.30.0");
    let fs = brigade_fs::DiskFs::open(&state).unwrap();
    for file in files {
        let bytes = brigade_fs::Fs::read(&fs, &file.parse().unwrap(), 1 << 20).unwrap();
        bench.write(&format!(".brigade/tools/{file}"), bytes);
    }
    bench
}

#[test]
fn a_paused_call_of_v030_can_only_be_ended() {
    let files = ["calls.jsonl", "checkpoints/checkpoint-1.json", "checkpoints/checkpoint-3.json"];
    let bench = of_v030(&files);
    for (checkpoint, call) in [("checkpoint-1", "call-waiting"), ("checkpoint-3", "call-resume")] {
        let reject = NextStep::Reject(call.parse().unwrap());
        let error = bench.checkpoints().resume(&id(checkpoint)).unwrap_err();
        assert_eq!(steps(&error), [&reject], "{error:?}");
        let shown = bench.checkpoints().show(&IdPrefix::new(checkpoint)).unwrap();
        assert_eq!(shown.next.as_ref(), Some(&reject));
        assert_eq!(bench.calls.show(IdPrefix::new(call)).unwrap().next, Some(reject));
        bench.calls.reject(&call.parse().unwrap(), "no").unwrap();
    }
}

#[test]
fn a_paused_v030_call_is_replayed_only_with_its_tool() {
    let bench = of_v030(&["calls.jsonl", "checkpoints/checkpoint-1.json", "runs/run-waiting.json"]);
    let refused = || {
        let error = bench.checkpoints().approve(&id("checkpoint-1"), "yes").unwrap_err();
        steps(&error).into_iter().cloned().collect::<Vec<_>>()
    };
    let reject = NextStep::Reject("call-waiting".parse().unwrap());
    let run = bench.runs().show(&IdPrefix::new("run-waiting")).unwrap().run;
    bench.write(CATALOG, "");
    assert_eq!(refused(), std::slice::from_ref(&reject));
    bench.write(CATALOG, CallBench::entry(&run.tool_id, "/bin/sh bin/tool.sh", ""));
    assert_eq!(refused(), [NextStep::Replay(run.id.clone()), reject]);
}
