use std::collections::BTreeMap;
use std::time::Duration;

use brigade_fs::DiskFs;

use super::*;
use crate::manifests::NewManifest;
use crate::questions::{AskedQuestion, Decision};

fn object(text: &str) -> Object {
    Json::parse(text).unwrap().as_object().cloned().unwrap()
}

#[test]
fn a_transition_is_whole_and_belongs_to_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&DiskFs::open(folder.path()).unwrap(), Duration::ZERO).unwrap();
    let (now, labels, redactor) = (Timestamp::from_unix_micros(0), BTreeMap::new(), Redactor::new(&[]));
    let manifest = NewManifest {
        kind: "workflow",
        name: "greet",
        version: "1.0.0",
        description: None,
        labels: &labels,
        text: "text",
        author: "ada",
        force: false,
    };
    store.deploy_manifest(&manifest, now).unwrap();
    let (manifest, revision) = store.manifest("workflow", "greet", None).unwrap();
    let (rights, blackboard) = (Json::Null, object(r#"{"a": 1}"#));
    let new = NewFlow {
        owner: "ada",
        caller: "agent:ada",
        rights: &rights,
        parent: None,
        manifest: &manifest,
        revision: &revision,
        intent: None,
        input: &Json::Null,
        blackboard: &blackboard,
        state: "A",
        gateway: "one",
    };
    let begun = store.begin_flow(&new, now).unwrap();
    let id = begun.id.as_str();
    let flow = || store.flow(Some("ada"), id).unwrap();
    assert_eq!(store.flow(Some("bob"), id).unwrap_err().answered_code(), ErrorCode::NotFound);
    let form = QuestionForm {
        questions: vec![AskedQuestion {
            id: "a".into(),
            question: "Go on?".into(),
            ..AskedQuestion::default()
        }],
        ..QuestionForm::default()
    };
    let yes = |_: &QuestionForm| Ok(Answer::declined(Decision::Decline));
    let answer = || store.answer_flow(Some("ada"), id, &yes, "person", &redactor, now).map(drop);
    assert_eq!(answer().unwrap_err().answered_code(), ErrorCode::NotWaiting);
    assert_eq!(store.ask_in_flow(id, "one", &form, &redactor, now), Ok(WriteOutcome::Written));
    assert_eq!((flow().shown(), store.waiting_questions().unwrap().len()), ("waiting", 1));
    answer().unwrap();
    assert_eq!(answer().unwrap_err().answered_code(), ErrorCode::NotWaiting);
    // No transition is recorded while the execution is paused.
    let (writes, outcome) = (object(r#"{"b": 2}"#), Json::from("out"));
    let visits = BTreeMap::from([("A".to_owned(), 1), ("B".to_owned(), 1)]);
    let transit = |next| Transit { outcome: &outcome, writes: &writes, human: Some("yes"), next };
    let to_b = NextState::State { name: "B", visits: &visits, transitions: 1, feedback: Some("told") };
    store.pause_flow(Some("ada"), id, true, now).unwrap();
    assert_eq!(store.transit(id, "one", &transit(to_b), now), Ok(WriteOutcome::Paused));
    assert_eq!((flow().shown(), flow().blackboard), ("paused", blackboard.clone()));
    store.pause_flow(Some("ada"), id, false, now).unwrap();
    assert_eq!(store.transit(id, "two", &transit(to_b), now), Ok(WriteOutcome::Lost));
    assert_eq!(store.transit(id, "one", &transit(to_b), now), Ok(WriteOutcome::Written));
    let stored = flow();
    assert_eq!((stored.state.as_str(), stored.transitions, stored.question), ("B", 1, None));
    assert_eq!((stored.blackboard, stored.human), (object(r#"{"a": 1, "b": 2}"#), Some("yes".to_owned())));
    // After a takeover the first process cannot write any more.
    assert!(store.take_flow_over(&begun, "two", now).unwrap());
    assert!(!store.take_flow_over(&begun, "three", now).unwrap());
    assert_eq!(store.write_step(id, "one", &Json::Null, None, now), Ok(WriteOutcome::Lost));
    assert_eq!(store.write_step(id, "two", &Json::from(1), None, now), Ok(WriteOutcome::Written));
    let large = object(&format!(r#"{{"x": "{}"}}"#, "x".repeat(MAX_BLACKBOARD)));
    assert_eq!(store.put_in_flow(None, id, &large, now).unwrap_err().answered_code(), ErrorCode::TooLarge);
    assert_eq!(store.remove_flow(None, id).unwrap_err().answered_code(), ErrorCode::NotEnded);
    assert_eq!(store.transit(id, "two", &transit(NextState::End(None)), now), Ok(WriteOutcome::Written));
    assert_eq!(flow().status, FlowStatus::Completed);
    assert!(!store.end_flow(id, FlowStatus::Cancelled, None, now).unwrap());
    assert_eq!(store.pause_flow(None, id, true, now).unwrap_err().answered_code(), ErrorCode::AlreadyEnded);
    let (_, events, total) = store.flow_events(Some("ada"), id, 100, 0).unwrap();
    let names: Vec<&str> = events.iter().map(|event| event.event_type.as_str()).collect();
    let expect = [
        "workflow_started",
        "state_entered",
        "person_asked",
        "person_answered",
        "workflow_paused",
        "workflow_resumed",
        "state_ended",
        "state_entered",
        "workflow_taken_over",
        "state_ended",
        "workflow_ended",
    ];
    assert_eq!((names.as_slice(), total), (expect.as_slice(), expect.len()));
    let visited = |state: &str| StateVisit { state: Some(state.to_owned()), visit: Some(1) };
    assert_eq!((&events[6].visited, &events[7].visited), (&visited("A"), &visited("B")));
    let payload = r#"{"by":"person","state":"A","visit":1}"#;
    assert_eq!(events[3].payload, Json::parse(payload).unwrap(), "the payload says it as well");
    assert_eq!(store.flows(Some("ada"), Some("greet"), 1, 0).unwrap().1, 1);
    store.remove_flow(Some("ada"), id).unwrap();
    assert_eq!(store.flows(None, None, 1, 0).unwrap().1, 0);
    // Each change is signed again, unless something else than this host changed the row.
    let begun = store.begin_flow(&new, now).unwrap();
    let id = begun.id.as_str();
    let flow = || store.flow(None, id).unwrap();
    assert_eq!((store.require_signed_flow(id), store.unsigned_flows()), (Ok(()), Ok(Vec::new())));
    let change = |sql: &str| store.change(|transaction| Ok(transaction.execute(sql, [])?)).unwrap();
    let mend = "UPDATE flow SET state = 'A', blackboard = '{\"a\":1}', caller = 'agent:ada', is_paused = 0";
    for sql in [
        "UPDATE flow SET host_mac = NULL",
        "UPDATE flow SET host_mac = 'x'",
        "UPDATE flow SET state = 'B'",
        "UPDATE flow SET blackboard = '{}'",
        "UPDATE flow SET caller = 'agent:bob'",
    ] {
        change(sql);
        assert_eq!(
            store.require_signed_flow(id).unwrap_err().answered_code(),
            ErrorCode::NotApprovedHere,
            "{sql}"
        );
        store.pause_flow(Some("ada"), id, true, now).unwrap();
        assert_eq!(store.unsigned_flows().unwrap().len(), 1, "{sql}: a change by a person signs nothing");
        assert!(!store.adopt_flow(&begun).unwrap(), "{sql}: it changed since it was shown");
        change(mend);
        assert!(store.adopt_flow(&flow()).unwrap() && store.require_signed_flow(id).is_ok(), "{sql}");
        assert_eq!(store.pause_flow(Some("ada"), id, false, now).map(|flow| flow.is_paused), Ok(false));
        assert_eq!(store.require_signed_flow(id), Ok(()), "{sql}");
    }
}
