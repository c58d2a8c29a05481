use brigade_call::{Caller, RunStatus};
use brigade_core::NextStep;
use brigade_workspace::CATALOG;

use super::*;
use crate::testing::{CallBench, RunEnding};

fn question(id: &str, text: &str, second: i64) -> WaitingRow {
    let created = brigade_core::Timestamp::from_unix_micros(second * 1_000_000);
    WaitingRow::question(id.to_owned(), ("ann", "s-1"), text, vec!["yes".to_owned()], created)
}

#[test]
fn everything_that_waits_is_listed_oldest_first() {
    let bench = CallBench::new("");
    let asks = bench.ran("{}", RunEnding::waiting(&[("gate", &["yes"])]));
    let call = bench.queue(r#"{"a":1}"#);
    let held = bench.queue(r#"{"a":2}"#);
    bench.calls.hold(&held, "later").unwrap();
    bench.approved(r#"{"a":3}"#);
    let groups = bench.daily_with(Vec::new(), vec![question("q-1234567", "Go on?", 0)]).groups().unwrap();
    let rows: Vec<(WaitingKind, &str, &str)> = groups
        .iter()
        .map(|group| (group.row.kind, group.row.ids[0].as_str(), group.row.who.as_str()))
        .collect();
    assert_eq!(
        rows,
        [
            (WaitingKind::Question, "q-1234567", "agent:ann"),
            (WaitingKind::Checkpoint, "gate", "tool"),
            (WaitingKind::Approval, call.as_str(), "you"),
            (WaitingKind::Approval, held.as_str(), "you"),
        ]
    );
    // Names of checkpoints are not shortened, and ids of questions are.
    assert_eq!((groups[0].row.short_id.as_str(), groups[1].row.short_id.as_str()), ("q-1234", "gate"));
    assert_eq!(groups[1].row.choices, ["yes"]);
    assert_eq!((groups[3].row.held, groups[3].row.reason.as_deref()), (true, Some("later")));
    assert_eq!(groups[1].things, [ShownThing { id: "gate".to_owned(), revision: 0 }]);
    assert_eq!(asks.receipt.status, RunStatus::Waiting);
}

#[test]
fn a_row_describes_its_call() {
    let bench =
        CallBench::new("argument_template = { path = \"{path}\" }\neffects = [\"local-read\", \"network\"]");
    let id = bench.queue(r#"{"path":"a b"}"#);
    let [group] = bench.daily().groups().unwrap().try_into().unwrap();
    let row = group.row;
    assert_eq!((row.subject.as_str(), row.text.as_str()), ("tool", "path=\"a b\""));
    assert_eq!(
        (row.effects, row.choices),
        (vec!["local-read".into(), "network".into()], vec!["approve".to_owned(), "reject".into()])
    );
    assert_eq!(row.next.step(), Some(&NextStep::ShowCall(id)));
    assert_eq!((row.number, row.blocker_count, row.held), (0, 0, false));
}

#[test]
fn requests_are_equal_only_for_caller_and_state() {
    let bench = CallBench::new("");
    let agent = bench.for_caller(Caller::Agent("ann".parse().unwrap()));
    let first = bench.queue("{}");
    agent.queue("{}");
    assert_eq!(bench.daily().groups().unwrap().len(), 2);
    bench.calls.hold(&first, "later").unwrap();
    let who: Vec<String> = bench.daily().groups().unwrap().into_iter().map(|group| group.row.who).collect();
    assert_eq!(who, ["you", "ann"]);
}

#[test]
fn the_riskiest_is_first() {
    let bench = CallBench::new("");
    let entry = |id: &str, effects: &str| {
        CallBench::entry(id, "/bin/sh bin/tool.sh", &format!("effects = {effects}"))
    };
    bench.add(CATALOG, &entry("writes", "[\"local-write\"]"));
    bench.add(CATALOG, &entry("sends", "[\"local-write\", \"network\"]"));
    let queue = |tool: &str| bench.calls.queue(crate::Request::new(tool)).unwrap().call.id.to_string();
    let (reads, writes, sends) = (queue("tool"), queue("writes"), queue("sends"));
    let daily = bench.daily_with(Vec::new(), vec![question("q-1", "Go on?", 0)]);
    let report = daily.waiting().unwrap();
    let risks: Vec<RiskLevel> = report.items().iter().map(|item| item.risk).collect();
    assert!(risks.is_sorted_by(|left, right| left >= right), "{risks:?}");
    let ids: Vec<&str> = report.calls.iter().map(|item| item.id()).collect();
    assert_eq!(ids.last(), Some(&reads.as_str()));
    assert!(ids[..2].contains(&writes.as_str()) && ids[..2].contains(&sends.as_str()));
    // What runs nothing has the lowest risk.
    assert_eq!((report.questions[0].risk, report.waiting_count), (RiskLevel::Low, 4));
}

#[test]
fn approved_calls_of_people_do_not_wait() {
    let bench = CallBench::new("");
    let mine = bench.approved("{}");
    let agent = bench.for_caller(Caller::Agent("ann".parse().unwrap()));
    let other = agent.queue(r#"{"a":1}"#);
    bench.calls.approve(&other).unwrap();
    let report = bench.daily().waiting().unwrap();
    assert_eq!((report.waiting_count, report.approved.len()), (0, 1));
    assert_eq!(
        (report.approved[0].id(), report.approved[0].revision),
        (mine.as_str(), bench.stored(&mine).revision)
    );
    assert!(mine.as_str().starts_with(&report.approved[0].row.short_id));
}

#[test]
fn a_checkpoint_has_the_risk_of_its_call() {
    let bench = CallBench::new("effects = [\"local-write\", \"network\"]");
    bench.ran("{}", RunEnding::waiting(&[("gate", &["yes"])]));
    let report = bench.daily().waiting().unwrap();
    assert!(RiskLevel::Low < report.checkpoints[0].risk, "{:?}", report.checkpoints[0].risk);
}

#[test]
fn open_calls_are_those_that_are_not_finished() {
    let bench = CallBench::new("");
    bench.ran(r#"{"a":1}"#, RunEnding::completed());
    let rejected = bench.queue(r#"{"a":2}"#);
    bench.calls.reject(&rejected, "no").unwrap();
    let (pending, approved) = (bench.queue(r#"{"a":3}"#), bench.approved(r#"{"a":4}"#));
    let waiting = bench.ran(r#"{"a":5}"#, RunEnding::waiting(&[("gate", &["yes"])])).call.id;
    let mut open: Vec<(String, CallStatus)> =
        bench.daily().open_calls().unwrap().into_iter().map(|call| (call.id, call.status)).collect();
    open.sort_by(|left, right| left.0.cmp(&right.0));
    let mut expect = [
        (pending.to_string(), CallStatus::Pending),
        (approved.to_string(), CallStatus::Approved),
        (waiting.to_string(), CallStatus::Waiting),
    ];
    expect.sort_by(|left, right| left.0.cmp(&right.0));
    assert_eq!(open, expect);
}

#[test]
fn a_list_of_nothing_leaves_no_file() {
    let bench = CallBench::new("");
    assert_eq!(bench.daily().pending().unwrap().rows, []);
    assert!(!bench.exists(".brigade/tools/shown.json"));
}
