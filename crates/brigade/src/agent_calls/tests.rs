#![allow(clippy::disallowed_methods, reason = "tests set up files themselves")]

use std::fs;

use brigade_call::Caller;
use brigade_core::Json;
use tempfile::TempDir;

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

fn of(workspace: &Workspace, agent: &str) -> AgentCalls {
    workspace.with_env(|env| env.caller(Caller::Agent(agent.to_owned()))).agent_calls()
}

fn args(text: &str) -> Json {
    Json::object([("text", Json::from(text))])
}

fn nobody(_: &Plan, _: &View<'_>) -> Option<ApprovedBy> {
    None
}

fn rule(_: &Plan, _: &View<'_>) -> Option<ApprovedBy> {
    Some(ApprovedBy::Rule { rule: "all".to_owned(), file: "policy.toml".to_owned(), line: 3 })
}

fn ask(calls: &AgentCalls, args: Json, covers: &Covers<'_>) -> Call {
    match calls.ask_under("say", args, None, &[], &[], covers).unwrap() {
        Asked::Stored { call, .. } => *call,
        over => panic!("{over:?}"),
    }
}

#[test]
fn a_pending_call_is_approved_by_a_person_and_run_by_its_agent_once() {
    let (_folder, workspace) = workspace();
    let calls = of(&workspace, "a");
    let asked = ask(&calls, args("hello"), &nobody);
    assert_eq!((asked.status, asked.caller.agent()), (CallStatus::Pending, Some("a")));
    let id = asked.id;
    assert_eq!(ask(&calls, args("hello"), &nobody).id, id, "the same call waits once");
    assert_eq!(
        calls.go_on(&id).unwrap().call.status,
        CallStatus::Pending,
        "nothing runs before the approval"
    );
    workspace.calls().approve(id.as_str()).unwrap();

    let refused = workspace.calls().run(id.as_str()).unwrap_err();
    assert_eq!(refused.code(), codes::CALL_OF_AGENT.as_str(), "a person does not run it");
    let refused = workspace.calls().run(crate::RunTarget::Next).unwrap_err();
    assert_eq!(refused.code(), codes::NOTHING_APPROVED.as_str());

    let run = calls.go_on(&id).unwrap();
    let receipt = run.receipt.unwrap();
    assert_eq!((run.call.status, receipt.stdout_summary.as_str()), (CallStatus::Completed, "hello"));
    let review = receipt.approval.unwrap();
    assert_eq!((review.by.as_deref(), review.reviewer.as_deref()), (Some("person"), Some("command-line")));
    assert_eq!(calls.go_on(&id).unwrap().call.status, CallStatus::Completed, "it does not run again");
    assert_eq!(
        workspace.runs().replay(&IdPrefix::new(receipt.id.as_str())).unwrap_err().code(),
        codes::CALL_OF_AGENT.as_str()
    );
}

#[test]
fn nothing_of_one_agent_is_another_ones() {
    let (_folder, workspace) = workspace();
    let (a, b) = (of(&workspace, "a"), of(&workspace, "b"));
    let id = ask(&a, args("mine"), &rule).id;
    let run = a.go_on(&id).unwrap().receipt.unwrap().id.parse().unwrap();
    assert_eq!(b.show(&id).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(b.go_on(&id).unwrap_err().kind(), ErrorKind::NotFound);
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
    let calls = of(&workspace, "a");
    let asked = ask(&calls, args("at once"), &rule);
    assert_eq!(asked.status, CallStatus::Approved);
    let receipt = calls.go_on(&asked.id).unwrap().receipt.unwrap();
    let review = receipt.approval.unwrap();
    assert_eq!(
        (review.by.as_deref(), review.rule.as_deref(), review.file.as_deref(), review.line),
        (Some("rule"), Some("all"), Some("policy.toml"), Some(3))
    );
    // Under a rule, equal calls run again; a changed contract ends the approval in between.
    let again = ask(&calls, args("at once"), &rule);
    assert_ne!(again.id, asked.id);
    fs::write(folder.path().join("say.json"), SCHEMA.replace("required", "$comment\": \"\", \"required"))
        .unwrap();
    let refused = calls.go_on(&again.id).unwrap_err();
    assert!(refused.blockers().iter().any(|blocker| blocker.code == "changed_contract"), "{refused}");
}

#[test]
fn a_rejected_call_stays_rejected_and_a_withdrawn_one_may_be_asked_for_again() {
    let (_folder, workspace) = workspace();
    let calls = of(&workspace, "a");
    let id = ask(&calls, args("no"), &nobody).id;
    workspace.calls().reject(id.as_str(), "not today").unwrap();
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
    let calls = of(&workspace, "a");
    let shown = ask(&calls, args("yes"), &nobody);
    let other = ask(&calls, args("other"), &nobody);
    let by = || ApprovedBy::Elicitation { agent: "a".to_owned() };
    let forged = Call { planned_binding: other.planned_binding, ..shown.clone() };
    assert!(calls.agree(&forged, by()).is_err());
    assert_eq!(calls.agree(&shown, by()).unwrap().status, CallStatus::Approved);
    let review = calls.go_on(&shown.id).unwrap().receipt.unwrap().approval.unwrap();
    assert_eq!((review.by.as_deref(), review.agent.as_deref()), (Some("elicitation"), Some("a")));
}

#[test]
fn output_comes_in_whole_characters() {
    let (_folder, workspace) = workspace();
    let calls = of(&workspace, "a");
    let id = ask(&calls, args("aé€𝄞"), &rule).id;
    let run: RunId = calls.go_on(&id).unwrap().receipt.unwrap().id.parse().unwrap();
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
    let calls = of(&workspace, "a");
    let ruled = ask(&calls, args("by rule"), &rule).id;
    calls.give_up(&ruled).unwrap();
    let call = calls.show(&ruled).unwrap().call;
    assert_eq!((call.status, call.withdrawn), (CallStatus::Rejected, true));

    let person = ask(&calls, args("by a person"), &nobody).id;
    workspace.calls().approve(person.as_str()).unwrap();
    calls.give_up(&person).unwrap();
    assert_eq!(calls.show(&person).unwrap().call.status, CallStatus::Approved);
}
