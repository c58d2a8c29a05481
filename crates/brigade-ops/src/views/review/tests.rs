use brigade_call::{Caller, HostOffer};
use brigade_policy::RiskLevel;
use brigade_workspace::POLICY;

use super::*;
use crate::report::WaitingRow;
use crate::testing::{CallBench, RunEnding};

fn review(bench: &CallBench, id: &brigade_core::CallId) -> ReviewCall {
    bench.daily().review_call(&IdPrefix::new(id.as_str())).unwrap()
}

#[test]
fn a_review_offers_what_its_status_allows() {
    use ReviewOffer::{Approve, Hold, Reject, Run};

    let bench = CallBench::new("");
    let id = bench.queue("{}");
    assert_eq!(review(&bench, &id).offers, [Approve, Reject, Hold]);
    bench.calls.hold(&id, "later").unwrap();
    assert_eq!(review(&bench, &id).offers, [Approve, Reject, Hold]);
    bench.calls.approve(&id).unwrap();
    assert_eq!(review(&bench, &id).offers, [Reject, Hold, Run]);
    bench.write("bin/tool.sh", "echo other\n");
    assert_eq!(review(&bench, &id).offers, [Reject, Hold], "what changed does not run");
    bench.calls.reject(&id, "no").unwrap();
    assert_eq!(review(&bench, &id).offers, []);
    let blocked = bench.queue(r#"{"a":1}"#);
    bench.replace(POLICY, r#"["secret-read"]"#, r#"["local-read"]"#);
    assert_eq!(review(&bench, &blocked).offers, [Reject, Hold]);
}

#[test]
fn always_is_offered_for_calls_of_agents() {
    let bench = CallBench::new("");
    let agent = bench.for_caller(Caller::Agent("ann".parse().unwrap()));
    let id = agent.queue("{}");
    assert!(review(&bench, &id).offers.contains(&ReviewOffer::Always));
    bench.calls.approve(&id).unwrap();
    let offers = review(&bench, &id).offers;
    assert!(!offers.contains(&ReviewOffer::Run) && !offers.contains(&ReviewOffer::Always), "{offers:?}");
}

#[test]
fn a_review_shows_what_a_decision_covers() {
    let bench =
        CallBench::new("argument_template = { path = \"{path}\" }\neffects = [\"local-read\", \"network\"]");
    bench.ran(r#"{"path":"first"}"#, RunEnding::completed());
    let id = bench.queue("{\"path\":\"a\u{200b} \"}");
    let shown = review(&bench, &id);
    // Invisible characters are visible.
    assert_eq!(shown.argv, ["/bin/sh", "bin/tool.sh", "$'a\\u{200b} '"]);
    assert!(RiskLevel::Low < shown.risk);
    assert_eq!(shown.runs.iter().map(|run| run.text.as_str()).collect::<Vec<_>>(), ["path=first"]);
    let changed: Vec<&str> =
        shown.diff.as_ref().unwrap().arguments.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(changed, ["path"]);
    let kinds: Vec<&str> = shown.events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["asked", "planned"]);
    let part = |name: &str| shown.parts().into_iter().find(|part| part.name == name).unwrap().lines;
    assert_eq!(part("command"), ["/bin/sh", "bin/tool.sh", "a\u{200b} "]);
    assert_eq!(part("arguments"), ["path = \"a\u{200b} \""]);
    assert!(part("access").contains(&"network true".to_owned()), "{:?}", part("access"));
    assert!(part("code").iter().any(|line| line.starts_with("bin/tool.sh ")), "{:?}", part("code"));
    assert!(!part("policy").is_empty() && part("blockers").is_empty());
    assert_eq!(
        (changed_parts(&shown.parts(), &shown.review_fingerprint), shown.differences(&shown.parts())),
        (vec![], vec![])
    );
}

#[test]
fn each_change_is_found_in_its_part() {
    type Change<'a> = &'a dyn Fn(&CallBench, &brigade_core::CallId);
    let changes: [(Change<'_>, &[&str]); 4] = [
        (&|bench, _| bench.write("bin/tool.sh", "echo other\n"), &["code"]),
        (&|bench, id| drop(bench.calls.hold(id, "later").unwrap()), &["call"]),
        (&|bench, _| bench.add(POLICY, "[sandbox]\nmode = \"enforce\"\n"), &["access", "code", "policy"]),
        // What other calls do does not belong to the decision.
        (&|bench, _| drop(bench.ran(r#"{"other":1}"#, RunEnding::completed())), &[]),
    ];
    for (change, parts) in changes {
        let bench = CallBench::new("");
        let id = bench.queue("{}");
        let before = review(&bench, &id);
        change(&bench, &id);
        let now = review(&bench, &id);
        let changed = changed_parts(&now.parts(), &before.review_fingerprint);
        for part in parts {
            assert!(changed.contains(part), "{part}: {changed:?}");
        }
        let named: Vec<&str> = now.differences(&before.parts()).iter().map(|one| one.part).collect();
        assert_eq!(named, changed);
        assert_eq!(now.check(&before.review_fingerprint).is_ok(), parts.is_empty());
        assert_eq!(parts.is_empty(), changed.is_empty(), "{changed:?}");
    }
}

#[test]
fn a_question_is_shown_whole_and_guarded() {
    let bench = CallBench::new("");
    bench.ran("{}", RunEnding::waiting(&[("gate", &["yes", "no"])]));
    let created = bench.context.now();
    let choices = vec!["a".to_owned()];
    let question = WaitingRow::question("q-1".to_owned(), ("ann", "s-1"), "Go on?", choices, created);
    let daily = bench.daily_with(Vec::new(), vec![question]);
    let gate = daily.review_question("gate").unwrap();
    assert_eq!((gate.kind, gate.text.as_str()), (WaitingKind::Checkpoint, "gate?"));
    assert_eq!(
        (gate.choices.as_slice(), gate.checkpoint.is_some()),
        (&["yes".to_owned(), "no".into()][..], true)
    );
    let asked = daily.review_question("q-1").unwrap();
    assert_eq!((asked.who.as_str(), asked.text.as_str()), ("agent:ann", "the whole text: Go on?"));
    asked.check(&asked.review_fingerprint).unwrap();
    let error = asked.check(&gate.review_fingerprint).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ChangedMeanwhile);
    assert!(error.to_string().starts_with("`q-1` changed since it was shown: question"), "{error}");
    // A call is not a question, and an answered one no longer waits.
    let call = bench.queue(r#"{"a":1}"#);
    bench.checkpoints().approve(&"gate".parse().unwrap(), "yes").unwrap();
    for id in [call.as_str(), "gate", "nothing"] {
        let error = daily.review_question(id).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, ErrorCode::WaitingMissing), "{id}");
    }
}

#[test]
fn a_ruling_is_one_line_with_its_place() {
    let ruling = RulingReport::allowing("effect", "network", "nothing denies it");
    assert_eq!(ruling.line(), "allows effect network: nothing denies it");
    let denied = RulingReport {
        allowed: false,
        file: Some(POLICY.to_owned()),
        line: Some(3),
        subject: None,
        ..ruling.clone()
    };
    assert_eq!(denied.line(), format!("refuses effect: nothing denies it ({POLICY} line 3)"));
    let file = RulingReport { line: None, ..denied };
    assert_eq!(file.line(), format!("refuses effect: nothing denies it ({POLICY})"));
}

#[test]
fn members_of_arguments_are_lines() {
    for (json, expect) in [
        (r#"{"b":[1],"a":"x"}"#, &["a = \"x\"", "b = [1]"][..]),
        ("{}", &[]),
        ("[1, 2]", &["[1,2]"]),
        ("null", &["null"]),
    ] {
        let mut lines = members(&Json::parse(json).unwrap());
        lines.sort();
        assert_eq!(lines, expect);
    }
}

/// Returns the access of a call that only reads.
fn review_access() -> Access {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    review(&bench, &id).touches.unwrap()
}

#[test]
fn access_is_one_line_for_each_path() {
    let access = review_access();
    assert_eq!(
        access_lines(&access),
        ["read workspace", "network false", &format!("sandbox {}", access.sandbox)]
    );
}

#[test]
fn offers_of_hosts_are_lines_that_name_them() {
    let access = review_access();
    let offer = |host: &str| HostOffer {
        host: host.to_owned(),
        is_own: false,
        offered_at: None,
        binding: None,
        access: access.clone(),
        blockers: Vec::new(),
        passed_over: Some("busy".to_owned()),
    };
    let groups = crate::calls::offers::grouped(&[offer("one"), offer("two")], None);
    let [group] = groups.as_slice() else { panic!("{groups:?}") };
    let lines = group.lines();
    assert_eq!(lines[0], "one, two: not covered");
    assert!(lines.contains(&"one, two: passed over: busy".to_owned()), "{lines:?}");
}
