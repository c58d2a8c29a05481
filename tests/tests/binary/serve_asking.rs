//! Calls of agents that go on: after the client's own dialogue, after a checkpoint, and when no rule covers them any
//! more.

use serde_json::{Value, json};

use crate::serve_common::{Client, POLICY, add, agents, assert_stands, id_of, site, text};

#[test]
fn the_client_may_be_asked_about_a_critical_call_where_its_agent_may_be() {
    let site = site();
    add(&site, "critical", "risk_class = \"privileged\"\n", "printf 'did it'\n");
    agents(&site, "confirm = \"elicitation\"\nconfirm_risk = \"critical\"\n");
    let mut client = Client::start(&site, &[]);
    client.hello("2025-11-25", json!({"elicitation": {}}));
    let request = client.send_call("critical", json!({}));
    let question = client.heard("elicitation/create");
    assert!(question["params"]["message"].to_string().contains("critical"), "{question:#}");
    let accepted = json!({"action": "accept", "content": {}});
    client.write(json!({"jsonrpc": "2.0", "id": question["id"], "result": accepted}).to_string());
    assert_eq!(text(&client.result(request)), "did it");
}

#[test]
fn a_call_that_was_answered_at_a_checkpoint_goes_on_when_it_is_asked_for_again() {
    let site = site();
    let script = r#"if [ -n "${BRIGADE_TOOL_RESUME_CHECKPOINT_ID:-}" ]; then printf 'went on'; exit 0; fi
echo '{"id":"gate","reason":"needs a look","prompt":"Go on?","choices":["yes"]}' > "$BRIGADE_TOOL_CHECKPOINT_DIR/one.json"
"#;
    add(&site, "read-gate", "", script);
    let mut client = Client::of(&site, "local");
    let id = id_of(&client.call("read-gate", json!({})));
    site.json(["checkpoint", "approve", "gate", "--choice", "yes"]).expect(0);
    let result = client.call("read-gate", json!({}));
    assert_eq!((text(&result).as_str(), id_of(&result)), ("went on", id));
}

#[test]
fn what_is_missing_for_a_rule_is_told_also_when_its_calls_are_used_up() {
    let site = site();
    let rules = site.workspace.read_text(POLICY);
    site.workspace.write(POLICY, format!("{rules}max_calls_per_hour = 1\n"));
    let explain = || site.json(["policy", "explain", "at-once", "--as", "local"]).expect(0)["agent"].clone();
    assert_eq!(explain()["rule"], "reads");
    let mut client = Client::of(&site, "local");
    assert_eq!(text(&client.call("at-once", json!({"text": "one"}))), "said one");
    let used_up = "the rule has approved 1 calls in the last hour, which is its limit";
    let explained = explain();
    assert_eq!((&explained["rule"], &explained["rules"][0]["missing"]), (&Value::Null, &json!([used_up])));
    let pending = client.call("at-once", json!({"text": "two"}));
    assert_stands(&pending, "pending", "approval_pending");
    let told = text(&pending);
    assert!(told.contains("`reads`") && told.contains(used_up), "{told}");
    // A rule for other tools says nothing.
    let told = text(&client.call("asks", json!({"text": "two"})));
    assert!(!told.contains("reads"), "{told}");
}
