//! Turns across all gateways of a workspace, and leftovers of a killed gateway.

use brigade_tests::{Site, until};
use serde_json::{Value, json};

use crate::serve_common::{
    Client, POLICY, about, add, agents, assert_stands, id_of, runs, signal, site, stands, text,
};

/// Records its start, and continues when the file `go` exists.
const WAITS: &str =
    "echo x >> \"$(basename \"$0\").began\"\nwhile [ ! -e go ]; do sleep 0.02; done\nprintf done\n";

fn began(site: &Site, id: &str) -> usize {
    let file = format!("{id}.sh.began");
    if site.workspace.exists(&file) { site.workspace.read_text(&file).lines().count() } else { 0 }
}

fn statuses(site: &Site) -> Vec<String> {
    let calls = site.json(["call", "list"]).expect(0);
    let calls = calls["calls"].as_array().cloned().unwrap_or_default();
    let mut found: Vec<String> =
        calls.iter().map(|call| call["status"].as_str().unwrap_or_default().to_owned()).collect();
    found.sort();
    found
}

/// Returns a workspace whose agent runs one call at a time, with two gateways.
fn two_gateways() -> (Site, Client, Client) {
    let site = site();
    agents(&site, "[agent.limits]\nconcurrent = 1\n");
    add(&site, "read-long", "", WAITS);
    let (one, other) = (Client::connect(&site, "local"), Client::connect(&site, "local"));
    (site, one, other)
}

#[test]
fn the_limit_of_running_calls_spans_gateways() {
    let (site, mut one, mut other) = two_gateways();
    let first = one.send_call("read-long", json!({}));
    until("start of the first call", || (began(&site, "read-long") == 1).then_some(()));
    let second = other.send_call("at-once", json!({"text": "now"}));
    until("approval of the second call", || (statuses(&site) == ["approved", "running"]).then_some(()));
    // Other agents have separate limits.
    let mut ann = Client::connect(&site, "ann");
    assert_stands(&ann.call("at-once", json!({"text": "ann"})), "completed", "");
    assert_eq!(
        (runs(&site, "at-once"), statuses(&site)[0].as_str()),
        (1, "approved"),
        "the second one waits"
    );
    site.workspace.write("go", "");
    assert_stands(&one.result(first), "completed", "");
    let second = other.result(second);
    assert_stands(&second, "completed", "");
    assert_eq!((text(&second), runs(&site, "at-once")), ("said now".to_owned(), 2));
}

/// Issue 14: an agent learns why a person must decide about a call that a rule had approved.
#[test]
fn a_call_reports_that_its_rule_was_removed() {
    let (site, mut one, mut other) = two_gateways();
    let first = one.send_call("read-long", json!({}));
    until("start of the first call", || (began(&site, "read-long") == 1).then_some(()));
    other.send_call("at-once", json!({"text": "now"}));
    until("approval of the second call", || (statuses(&site) == ["approved", "running"]).then_some(()));
    // An approved call stays approved.
    signal(other.pid(), "KILL");
    let approved = site.json(["call", "list", "--status", "approved"]).expect(0)["calls"][0]["id"].clone();
    site.workspace.replace(POLICY, "[\"at-once\", \"read-*\"]", "[\"read-*\"]");
    site.workspace.write("go", "");
    assert_stands(&one.result(first), "completed", "");
    let mut third = Client::connect(&site, "local");
    for _ in 0..2 {
        let waited = third.call("call.wait", json!({"call_id": approved, "timeout_seconds": 0}));
        assert_eq!(stands(&waited).0, "pending", "{waited:#}");
        let reason = "approval: the rule `reads` of the policy does not cover the call any more.";
        assert!(text(&waited).contains(reason), "{waited:#}");
    }
    assert_eq!(runs(&site, "at-once"), 0);
}

#[test]
fn a_killed_gateway_holds_no_turn() {
    let (site, mut one, mut other) = two_gateways();
    one.send_call("read-long", json!({}));
    until("start of the first call", || (began(&site, "read-long") == 1).then_some(()));
    let second = other.send_call("at-once", json!({"text": "now"}));
    until("approval of the second call", || (statuses(&site) == ["approved", "running"]).then_some(()));
    signal(one.pid(), "KILL");
    assert_stands(&other.result(second), "completed", "");
    assert_eq!(statuses(&site), ["completed", "interrupted"]);
    site.tools(["run", "verify"]).assert_code(0);
}

#[test]
fn writing_calls_run_one_by_one_in_all_gateways() {
    let site = site();
    add(&site, "writes", "effects = [\"local-write\"]\n", WAITS);
    let approved = |client: &mut Client, n: u64| -> Value {
        let pending = client.call("writes", json!({"n": n}));
        let id = id_of(&pending);
        site.tools(["call", "approve", &id]).assert_code(0);
        json!({"call_id": id, "timeout_seconds": 60})
    };
    let (mut one, mut other) = (Client::connect(&site, "local"), Client::connect(&site, "local"));
    let (first, second) = (approved(&mut one, 1), approved(&mut other, 2));
    let first = one.send_call("call.wait", first);
    until("start of the first call", || (began(&site, "writes") == 1).then_some(()));
    let second = other.send_call("call.wait", second);
    // Read-only calls do not wait for it.
    assert_stands(&other.call("at-once", json!({"text": "reads"})), "completed", "");
    assert_eq!(began(&site, "writes"), 1, "the second one waits");
    site.workspace.write("go", "");
    assert_stands(&one.result(first), "completed", "");
    assert_stands(&other.result(second), "completed", "");
    assert_eq!(began(&site, "writes"), 2);
}

#[test]
fn a_gateway_killed_after_its_answer_loses_nothing() {
    for sync in ["after", "before"] {
        let site = site();
        let agents = site.workspace.read_text(".brigade/tools/gateway.toml");
        site.workspace.write(".brigade/tools/gateway.toml", format!("sync = \"{sync}\"\n{agents}"));
        let mut client = Client::connect(&site, "local");
        let answers: Vec<Value> =
            (0..3).map(|n| client.call("at-once", json!({"text": "kept", "n": n}))).collect();
        signal(client.pid(), "KILL");
        for answer in &answers {
            assert_stands(answer, "completed", "");
            let run = about(answer)["run_id"].as_str().expect("it ran").to_owned();
            let receipt = site.json(["run", "show", run.as_str()]).expect(0)["run"].clone();
            assert_eq!(
                (receipt["status"].as_str(), receipt["approval"]["by"].as_str()),
                (Some("completed"), Some("rule"))
            );
            let call = site.json(["call", "show", &id_of(answer)]).expect(0)["call"].clone();
            assert_eq!(call["status"], "completed", "{sync}");
        }
        let verified = site.json(["run", "verify"]).expect(0);
        assert_eq!(verified["checked"], 3, "{verified:#}");
    }
}
