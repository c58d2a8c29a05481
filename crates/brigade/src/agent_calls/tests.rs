#![allow(clippy::disallowed_methods, reason = "tests set up files themselves")]

use std::fs;

use brigade_access::AgentLimits;
use brigade_call::{ApproverKind, Caller};
use brigade_core::Json;
use tempfile::TempDir;

use super::requests::{ApproveFn, RuleSelection};
use super::*;
use crate::Workspace;
use crate::env::Env;

const CATALOG: &str = "[[tool]]\nid = 'say'\nname = 'Say'\nfamily = 'script'\ncommand = 'echo'\n\
    input_schema_path = 'say.json'\neffects = ['local-read']\n[tool.argument_template]\ntext = '{text}'\n";

const SCHEMA: &str =
    r#"{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}"#;

fn workspace() -> (TempDir, Workspace) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".brigade")).unwrap();
    fs::write(folder.path().join(".brigade/tools.toml"), CATALOG).unwrap();
    fs::write(folder.path().join("say.json"), SCHEMA).unwrap();
    let workspace = Workspace::open(folder.path(), Env::of_process()).unwrap();
    (folder, workspace)
}

fn agent_calls(workspace: &Workspace, agent: &str) -> AgentCalls {
    workspace.with_env(|env| env.caller(Caller::Agent(agent.to_owned()))).agent_calls()
}

fn args(text: &str) -> Json {
    Json::object([("text", Json::from(text))])
}

fn nobody(_: &Plan, _: RuleSelection<'_>) -> Result<ApprovedBy, Vec<String>> {
    Err(Vec::new())
}

fn rule(_: &Plan, selection: RuleSelection<'_>) -> Result<ApprovedBy, Vec<String>> {
    if matches!(selection, RuleSelection::AfterUnknownEnd(_)) {
        return Err(Vec::new());
    }
    Ok(ApprovedBy::Rule { rule: "all".to_owned(), file: "policy.toml".to_owned(), line: 3 })
}

fn ask(calls: &AgentCalls, args: Json, covers: &ApproveFn<'_>) -> Call {
    let terms = Terms {
        limits: &[],
        waiting: AgentLimits::default(),
        rates: &|_| Ok(None),
        granted: &[],
        covers,
        judge: None,
    };
    match calls.submit_request("say", args, None, &terms, &|request, _, _| request.store()).unwrap() {
        RequestOutcome::Stored { call, .. } => *call,
        over => panic!("{over:?}"),
    }
}

/// Asks for a call that gets to run at once. Returns what came of it, and the call that was begun.
fn ask_to_run(
    calls: &AgentCalls,
    args: Json,
    limits: &[Limit],
    covers: &ApproveFn<'_>,
) -> (RunRequestOutcome, Option<CallId>) {
    let terms = Terms {
        limits,
        waiting: AgentLimits::default(),
        rates: &|_| Ok(None),
        granted: &[],
        covers,
        judge: None,
    };
    let begun = std::cell::RefCell::new(None);
    let note = |id: &CallId| drop(begun.replace(Some(id.clone())));
    let run = |request: &requests::Request<'_>, planned, config: &_| request.run(planned, config, &note);
    (calls.submit_request("say", args, None, &terms, &run).unwrap(), begun.into_inner())
}

#[test]
fn agent_runs_an_approved_call_once() {
    let (_folder, workspace) = workspace();
    let calls = agent_calls(&workspace, "a");
    let asked = ask(&calls, args("hello"), &nobody);
    assert_eq!((asked.status, asked.caller.agent()), (CallStatus::Pending, Some("a")));
    let id = asked.id;
    assert_eq!(ask(&calls, args("hello"), &nobody).id, id, "the same call waits once");
    assert_eq!(
        calls.go_on(None, &id).unwrap().call.status,
        CallStatus::Pending,
        "nothing runs before the approval"
    );
    workspace.calls().approve(&id).unwrap();

    let refused = workspace.calls().run(&id).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::CallOfAgent, "a person does not run it");
    let refused = workspace.calls().run(crate::RunTarget::Next).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::NothingApproved);

    let run = calls.go_on(None, &id).unwrap();
    let receipt = run.receipt.unwrap();
    assert_eq!((run.call.status, receipt.stdout_summary.as_str()), (CallStatus::Completed, "hello"));
    let review = receipt.approval.unwrap();
    assert_eq!((review.by, review.reviewer.as_deref()), (Some(ApproverKind::Person), Some("command-line")));
    assert_eq!(calls.go_on(None, &id).unwrap().call.status, CallStatus::Completed, "it does not run again");
    assert_eq!(
        workspace.runs().replay(&IdPrefix::new(receipt.id.as_str())).unwrap_err().code(),
        ErrorCode::CallOfAgent
    );
}

#[test]
fn nothing_of_one_agent_is_another_ones() {
    let (_folder, workspace) = workspace();
    let (a, b) = (agent_calls(&workspace, "a"), agent_calls(&workspace, "b"));
    let id = ask(&a, args("mine"), &rule).id;
    let run = a.go_on(None, &id).unwrap().receipt.unwrap().id;
    assert_eq!(b.show(&id).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(b.go_on(None, &id).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(b.withdraw(&id).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(b.receipt(&run).unwrap().is_none());
    assert!(b.output(&run, LogStream::Stdout, 0, 10).unwrap().is_none());
    assert!(b.list(0, 10).unwrap().is_empty());
    assert_eq!(b.spent(Duration::from_secs(60)).unwrap().calls, 0);
    assert_ne!(ask(&b, args("mine"), &nobody).id, id, "an equal call of `b` is its own");
    assert_eq!(a.list(0, 10).unwrap().len(), 1);
}

#[test]
fn a_rule_approves_and_binds_as_a_person_would() {
    let (folder, workspace) = workspace();
    let calls = agent_calls(&workspace, "a");
    let asked = ask(&calls, args("at once"), &rule);
    assert_eq!(asked.status, CallStatus::Approved);
    let receipt = calls.go_on(None, &asked.id).unwrap().receipt.unwrap();
    let review = receipt.approval.unwrap();
    assert_eq!(
        (review.by, review.rule.as_deref(), review.file.as_deref(), review.line),
        (Some(ApproverKind::Rule), Some("all"), Some("policy.toml"), Some(3))
    );
    // Under a rule, equal calls run again; a changed contract ends the approval in between.
    let again = ask(&calls, args("at once"), &rule);
    assert_ne!(again.id, asked.id);
    fs::write(folder.path().join("say.json"), SCHEMA.replace("required", "$comment\": \"\", \"required"))
        .unwrap();
    let refused = calls.go_on(None, &again.id).unwrap_err();
    assert!(refused.blockers().iter().any(|blocker| blocker.is(ErrorCode::ChangedContract)), "{refused}");
}

#[test]
fn rejected_call_stays_rejected_and_withdrawn_not() {
    let (_folder, workspace) = workspace();
    let calls = agent_calls(&workspace, "a");
    let id = ask(&calls, args("no"), &nobody).id;
    workspace.calls().reject(&id, "not today").unwrap();
    let again = ask(&calls, args("no"), &rule);
    assert_eq!((again.id, again.review_reason.as_deref()), (id, Some("not today")));

    let id = ask(&calls, args("later"), &nobody).id;
    assert!(calls.withdraw(&id).unwrap().withdrawn);
    let again = ask(&calls, args("later"), &nobody);
    assert_eq!(again.status, CallStatus::Pending);
    assert_ne!(again.id, id);
}

#[test]
fn an_agreement_holds_for_what_was_shown() {
    let (_folder, workspace) = workspace();
    let calls = agent_calls(&workspace, "a");
    let shown = ask(&calls, args("yes"), &nobody);
    let other = ask(&calls, args("other"), &nobody);
    let by = || ApprovedBy::Elicitation { agent: "a".to_owned() };
    let forged = Call { planned_binding: other.planned_binding, ..shown.clone() };
    assert!(calls.agree(&forged, by()).is_err());
    assert_eq!(calls.agree(&shown, by()).unwrap().status, CallStatus::Approved);
    let review = calls.go_on(None, &shown.id).unwrap().receipt.unwrap().approval.unwrap();
    assert_eq!((review.by, review.agent.as_deref()), (Some(ApproverKind::Elicitation), Some("a")));
}

#[test]
fn output_comes_in_whole_characters() {
    let (_folder, workspace) = workspace();
    let calls = agent_calls(&workspace, "a");
    let id = ask(&calls, args("aé€𝄞"), &rule).id;
    let run: RunId = calls.go_on(None, &id).unwrap().receipt.unwrap().id;
    let piece = |offset, limit| calls.output(&run, LogStream::Stdout, offset, limit).unwrap().unwrap();
    let (mut text, mut offset) = (String::new(), Some(0));
    while let Some(from) = offset {
        let piece = piece(from, 1);
        assert_eq!((piece.content.chars().count(), piece.total_bytes), (1, 11));
        text.push_str(&piece.content);
        offset = piece.next_offset;
    }
    assert_eq!(text, "aé€𝄞\n");
    assert_eq!((piece(11, 5).content.as_str(), piece(99, 5).next_offset), ("", None));
}

#[test]
fn only_what_a_rule_approved_is_given_up() {
    let (_folder, workspace) = workspace();
    let calls = agent_calls(&workspace, "a");
    let ruled = ask(&calls, args("by rule"), &rule).id;
    calls.give_up(&ruled, "the program is gone").unwrap();
    let call = calls.show(&ruled).unwrap().call;
    assert_eq!((call.status, call.withdrawn), (CallStatus::Rejected, true));
    let reason = call.review_reason.unwrap_or_default();
    assert!(reason.ends_with("was not run: the program is gone"), "{reason}");

    let person = ask(&calls, args("by a person"), &nobody).id;
    workspace.calls().approve(&person).unwrap();
    calls.give_up(&person, "busy").unwrap();
    assert_eq!(calls.show(&person).unwrap().call.status, CallStatus::Approved);
}

#[test]
fn a_call_under_a_rule_runs_in_one_go_and_is_written_twice() {
    let (folder, workspace) = workspace();
    let calls = agent_calls(&workspace, "a");
    let (asked, begun) = ask_to_run(&calls, args("in one go"), &[], &rule);
    let RunRequestOutcome::Ran(ran) = asked else { panic!("{asked:?}") };
    assert_eq!((Some(&ran.call.id), ran.call.status), (begun.as_ref(), CallStatus::Completed));
    let receipt = ran.receipt.unwrap();
    let by = receipt.approval.as_ref().and_then(|approval| approval.rule.as_deref());
    assert_eq!((receipt.stdout_summary.as_str(), by), ("in one go", Some("all")));
    let journal = fs::read_to_string(folder.path().join(".brigade/tools/calls.jsonl")).unwrap();
    let statuses: Vec<&str> = journal.lines().filter(|line| line.contains("\"id\":\"call-")).collect();
    assert_eq!(statuses.len(), 2, "one line with the claim, one with the end: {statuses:?}");
    assert!(statuses[0].contains("\"status\":\"running\"") && statuses[0].contains("\"rule\":\"all\""));
    // The same call again is another one.
    let (again, _) = ask_to_run(&calls, args("in one go"), &[], &rule);
    assert!(matches!(again, RunRequestOutcome::Ran(again) if again.call.id != ran.call.id));
}

#[test]
fn only_a_new_call_under_a_rule_and_within_limits_runs_at_once() {
    let (_folder, workspace) = workspace();
    let calls = agent_calls(&workspace, "a");
    let stored = |asked: (RunRequestOutcome, Option<CallId>)| match asked {
        (RunRequestOutcome::Requested(RequestOutcome::Stored { call, .. }), None) => *call,
        asked => panic!("{asked:?}"),
    };
    let pending = stored(ask_to_run(&calls, args("a person"), &[], &nobody));
    assert_eq!(pending.status, CallStatus::Pending);
    // A call that waits is approved by the rule, and not made a second time.
    let approved = stored(ask_to_run(&calls, args("a person"), &[], &rule));
    assert_eq!((&approved.id, &approved.status), (&pending.id, &CallStatus::Approved));
    assert_eq!(calls.go_on(None, &approved.id).unwrap().call.status, CallStatus::Completed);

    let limit = Limit { window: Duration::from_secs(60), most: 1, of: LimitUnit::Calls };
    let (over, begun) = ask_to_run(&calls, args("too much"), &[limit], &rule);
    assert!(matches!(over, RunRequestOutcome::Requested(RequestOutcome::Over(_))) && begun.is_none());
    assert_eq!(calls.list(0, 10).unwrap().len(), 1, "nothing was stored");

    // While another call of the agent runs, this one waits for its turn.
    let busy = agent_calls(&workspace.with_env(|env| env.at_once(1)), "a");
    let other = ask(&calls, args("other"), &rule);
    let claim = brigade_call::Claim {
        run_id: other.next_run_id(),
        runner: Some(brigade_queue::this_runner().unwrap()),
    };
    let queue = busy.inner.queue();
    queue.lock(busy.inner.now()).unwrap().claim(&other.id, 1, claim, busy.inner.now()).unwrap();
    let waits = stored(ask_to_run(&busy, args("waits"), &[], &rule));
    assert_eq!(waits.status, CallStatus::Approved);
    assert_eq!(busy.go_on(None, &waits.id).unwrap_err().code(), ErrorCode::NotItsTurn);
    let runs = fs::read_dir(workspace.root().join(".brigade/tools/runs")).unwrap();
    let logs = runs.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".log"));
    assert_eq!(logs.count(), 2, "the logs of what did not run are removed");
}

#[test]
fn a_call_whose_equal_was_cut_off_does_not_run_by_itself() {
    let (_folder, workspace) = workspace();
    let calls = agent_calls(&workspace, "a");
    let cut = ask(&calls, args("cut off"), &rule);
    let runner = brigade_call::Runner { pid: u32::MAX, start_time: 1, boot_id: "none".to_owned() };
    let claim = brigade_call::Claim { run_id: cut.next_run_id(), runner: Some(runner) };
    let queue = calls.inner.queue();
    queue.lock(calls.inner.now()).unwrap().claim(&cut.id, 1, claim, calls.inner.now()).unwrap();
    let (asked, begun) = ask_to_run(&calls, args("cut off"), &[], &rule);
    let RunRequestOutcome::Requested(RequestOutcome::Stored { call, unknown, .. }) = asked else {
        panic!("{asked:?}")
    };
    assert_eq!((call.status, unknown, begun), (CallStatus::Pending, Some(cut.id), None));
}

const RULE: &str = "allowed_families = ['script']\nallowed_effects = ['local-read']\n[[auto_approve]]\n\
    name = 'reads'\ntools = ['say']\neffects = ['local-read']\nmax_calls_per_hour = 1\n";

/// What changes before a call continues, and whether it runs still.
type Case<'c> = (&'c str, &'c dyn Fn(&TempDir), bool);

#[test]
fn a_rule_that_does_not_cover_a_call_any_more_does_not_let_it_run() {
    let write = |policy: &'static str| {
        move |folder: &TempDir| fs::write(folder.path().join(".brigade/tools/policy.toml"), policy).unwrap()
    };
    const GONE: &str = "allowed_families = ['script']\nallowed_effects = ['local-read']\n";
    const EXPIRED: &str = "allowed_families = ['script']\nallowed_effects = ['local-read']\n[[auto_approve]]\n\
        name = 'reads'\ntools = ['say']\neffects = ['local-read']\nexpires = '2020-01-31'\n";
    const NARROWER: &str = "allowed_families = ['script']\nallowed_effects = ['local-read']\n[[auto_approve]]\n\
        name = 'reads'\ntools = ['say']\neffects = ['local-read']\narguments = { text = 'docs/**' }\n";
    let rewrite =
        |folder: &TempDir| fs::write(folder.path().join("say.json"), "{\"type\": \"object\"}").unwrap();
    let changes: [Case<'_>; 5] = [
        ("as it was", &|_| {}, true),
        ("gone", &write(GONE), false),
        ("expired", &write(EXPIRED), false),
        ("narrower", &write(NARROWER), false),
        ("another schema", &rewrite, false),
    ];
    for (what, change, runs) in changes {
        let (folder, workspace) = workspace();
        fs::create_dir_all(folder.path().join(".brigade/tools")).unwrap();
        write(RULE)(&folder);
        let reviewed = ["say".to_owned()];
        let seen = workspace.calls().show_trust(&reviewed).unwrap();
        workspace.calls().trust(&reviewed, &seen).unwrap();
        let shown = || workspace.agents().tools("local", &[], brigade_access::NameStyle::Dotted).unwrap();
        let calls = agent_calls(&workspace, "local");
        let ask = || match calls.ask(&shown(), "say", args("hello")).unwrap() {
            RequestOutcome::Stored { call, .. } => *call,
            other => panic!("{what}: {other:?}"),
        };
        let asked = ask();
        assert_eq!(asked.approved_without_person().and_then(ApprovedBy::rule), Some("reads"), "{what}");
        change(&folder);
        if what == "gone" {
            // The same call again waits for a person, too.
            let again = ask();
            assert_eq!((&again.id, &again.status), (&asked.id, &CallStatus::Pending));
        }
        let gone_on = calls.go_on(Some(&shown()), &asked.id).unwrap().call;
        if runs {
            assert_eq!(gone_on.status, CallStatus::Completed, "{what}");
            continue;
        }
        assert_eq!((&gone_on.status, gone_on.approval.is_none()), (&CallStatus::Pending, true), "{what}");
        assert!(gone_on.review_reason.unwrap().contains("`reads`"), "{what}");
        let approved = workspace.calls().approve(&asked.id);
        if what == "another schema" {
            // A person cannot approve it either: it was queued with the other schema.
            assert!(approved.is_err(), "{approved:?}");
            continue;
        }
        approved.unwrap();
        let ran = calls.go_on(Some(&shown()), &asked.id).unwrap().call;
        assert_eq!(ran.status, CallStatus::Completed, "{what}: a person agreed");
    }
}
