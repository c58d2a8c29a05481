use brigade_access::builtin::ToolApproval;
use brigade_call::RunStatus;
use brigade_core::NextStep;
use brigade_queue::Review;
use brigade_workspace::POLICY;

use super::*;
use crate::record_review;
use crate::testing::{CallBench, RunEnding};

fn why(bench: &CallBench, id: &brigade_core::CallId) -> LifeReport {
    bench.daily().why(IdPrefix::new(id.as_str())).unwrap()
}

fn kinds(report: &LifeReport) -> Vec<&str> {
    report.events.iter().map(|event| event.kind.as_str()).collect()
}

#[test]
fn a_life_has_its_events_in_order() {
    let bench = CallBench::new(r#"argument_template = { path = "{path}" }"#);
    let id = bench.queue(r#"{"path":"a.txt"}"#);
    let report = why(&bench, &id);
    assert_eq!((kinds(&report), report.status.as_str()), (vec!["asked", "planned"], "pending"));
    assert_eq!(report.events[0].text, "command-line asked for tool");
    assert_eq!(report.events[0].details, ["arguments: path=a.txt"]);
    assert_eq!(report.events[1].text, "the plan had no blockers");
    assert_eq!(
        (report.now.as_slice(), report.next.and_then(|hint| hint.step().cloned())),
        (&["it can be approved".to_owned()][..], Some(NextStep::Approve(id.clone())))
    );
    bench.calls.approve(&id).unwrap();
    let report = why(&bench, &id);
    assert_eq!(report.now, ["it can be run"]);
    assert_eq!(report.events[2].text, "a person approved it (command-line)");
    assert!(report.events[3].details.contains(&"bin/tool.sh".to_owned()), "{report:#?}");
    bench.calls.run(&id).unwrap();
    let report = why(&bench, &id);
    assert_eq!(kinds(&report), ["asked", "planned", "approved", "bound", "started", "ended"]);
    assert_eq!(report.now, ["nothing: it is completed, and a call runs only once"]);
    assert!(report.events.windows(2).all(|pair| pair[0].at <= pair[1].at), "{report:#?}");
    assert!(id.as_str().starts_with(&report.short_id));
}

#[test]
fn a_call_that_was_declined_says_by_whom_and_why() {
    for (review, kind, text) in [
        (Review::Reject("no".to_owned()), "rejected", "a person rejected it"),
        (Review::Hold("no".to_owned()), "held", "a person put it on hold"),
        (Review::Withdraw("no".to_owned()), "rejected", "it was withdrawn"),
    ] {
        let bench = CallBench::new("");
        let id = bench.queue("{}");
        record_review(&bench.context, &bench.stored(&id), review).unwrap();
        let report = why(&bench, &id);
        let last = report.events.last().unwrap();
        assert_eq!(
            (last.kind.as_str(), last.text.as_str(), last.details.as_slice()),
            (kind, text, &["no".to_owned()][..])
        );
    }
    let bench = CallBench::new("");
    let id = bench.approved("{}");
    record_review(&bench.context, &bench.stored(&id), Review::Reopen("other hosts".to_owned())).unwrap();
    assert_eq!(why(&bench, &id).events.last().unwrap().text, "its approval was withdrawn");
}

#[test]
fn what_prevents_the_next_step_is_named() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    bench.replace(POLICY, r#"["secret-read"]"#, r#"["local-read"]"#);
    let now = why(&bench, &id).now;
    assert_eq!(now[0], "it cannot be approved:");
    assert!(now[1].contains("local-read"), "{now:?}");
    let bench = CallBench::new("");
    let id = bench.approved("{}");
    bench.write("bin/tool.sh", "echo other\n");
    let now = why(&bench, &id).now;
    assert_eq!(
        (now[0].as_str(), now.last().unwrap().as_str()),
        ("it cannot be run:", "changed since the approval: file bin/tool.sh")
    );
}

#[test]
fn each_run_of_a_resumed_call_is_told() {
    let bench = CallBench::new("");
    let id = bench.ran("{}", RunEnding::waiting(&[("gate", &["yes"])])).call.id;
    assert_eq!(why(&bench, &id).now, ["it waits for the answer to a checkpoint"]);
    bench.checkpoints().approve(&"gate".parse().unwrap(), "yes").unwrap();
    assert_eq!(why(&bench, &id).now, ["it can be resumed"]);
    bench.ends(RunEnding::failed());
    bench.checkpoints().resume(&"gate".parse().unwrap()).unwrap();
    let report = why(&bench, &id);
    let ended: Vec<(&str, &[String])> = report
        .events
        .iter()
        .filter(|event| event.kind == "ended")
        .map(|event| (event.text.as_str(), event.details.as_slice()))
        .collect();
    assert_eq!(
        ended[0],
        ("it ended: waiting", &["exit code 0".to_owned(), "checkpoint gate".to_owned()][..])
    );
    assert_eq!(ended[1].0, "it ended: failed");
    let resumed =
        report.events.iter().filter(|event| event.details.contains(&"resumed after gate".to_owned()));
    assert_eq!(resumed.count(), 1);
}

#[test]
fn an_interrupted_run_is_told_from_the_call() {
    let bench = CallBench::new("");
    let id = bench.approved("{}");
    bench.ends(RunEnding::killed());
    bench.calls.run(&id).unwrap_err();
    let report = why(&bench, &id);
    assert_eq!(
        (report.status.as_str(), kinds(&report)),
        (RunStatus::Interrupted.as_str(), vec!["asked", "planned", "approved", "bound"])
    );
}

#[test]
fn who_or_which_rule_approved_is_one_sentence() {
    let bench = CallBench::new("");
    let call = bench.call(&bench.queue("{}"));
    let text = |by: ApprovedBy| approved(&call, &by).text;
    let rule = ApprovedBy::Rule { rule: "reads".to_owned(), file: POLICY.to_owned(), line: 7 };
    assert_eq!(text(rule), format!("the rule reads approved it ({POLICY} line 7)"));
    assert_eq!(
        text(ApprovedBy::NotNeeded { row: ToolApproval::None }),
        "no approval was needed (approval of the built-in tool: none)"
    );
    assert_eq!(
        text(ApprovedBy::Elicitation { agent: "ann".parse().unwrap() }),
        "a person approved it in the client of ann"
    );
    assert_eq!(text(ApprovedBy::command_line()), "a person approved it (command-line)");
}

#[test]
fn many_bound_files_are_counted() {
    let bench = CallBench::new("code = [\"lib/**\"]");
    for number in 0..30 {
        bench.write(&format!("lib/{number:02}.sh"), "true\n");
    }
    let id = bench.approved("{}");
    let report = why(&bench, &id);
    let bound = report.events.iter().find(|event| event.kind == "bound").unwrap();
    assert_eq!(bound.details.len(), MAX_FILES + 1, "{bound:?}");
    assert!(bound.details.last().unwrap().ends_with(" more"), "{bound:?}");
}
