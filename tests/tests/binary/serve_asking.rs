//! Calls of agents that continue after the client's dialogue, after a checkpoint, and when no rule covers them any
//! more.

use brigade_tests::{Site, processes_with, until};
use serde_json::{Value, json};

use crate::serve_common::{Client, POLICY, add, agents, assert_stands, done, id_of, late, runs, site, text};

#[test]
fn critical_call_asks_client_where_agent_may_be_asked() {
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
fn answered_checkpoint_resumes_on_next_request() {
    let site = site();
    let script = r#"if [ -n "${BRIGADE_TOOL_RESUME_CHECKPOINT_ID:-}" ]; then printf 'went on'; exit 0; fi
echo '{"id":"gate","reason":"needs a look","prompt":"Go on?","choices":["yes"]}' > "$BRIGADE_TOOL_CHECKPOINT_DIR/one.json"
"#;
    add(&site, "read-gate", "", script);
    let mut client = Client::connect(&site, "local");
    let id = id_of(&client.call("read-gate", json!({})));
    site.json(["checkpoint", "approve", "gate", "--choice", "yes"]).expect(0);
    let result = client.call("read-gate", json!({}));
    assert_eq!((text(&result).as_str(), id_of(&result)), ("went on", id));
}

#[test]
fn exhausted_rule_still_names_missing_conditions() {
    let site = site();
    let rules = site.workspace.read_text(POLICY);
    site.workspace.write(POLICY, format!("{rules}max_calls_per_hour = 1\n"));
    let explain = || site.json(["policy", "explain", "at-once", "--as", "local"]).expect(0)["agent"].clone();
    assert_eq!(explain()["rule"], "reads");
    let mut client = Client::connect(&site, "local");
    assert_eq!(text(&client.call("at-once", json!({"text": "one"}))), "said one");
    let used_up = "the rule has approved 1 calls in the last hour, which is its limit";
    let explained = explain();
    assert_eq!((&explained["rule"], &explained["rules"][0]["missing"]), (&Value::Null, &json!([used_up])));
    let pending = client.call("at-once", json!({"text": "two"}));
    assert_stands(&pending, "pending", "approval_pending");
    let told = text(&pending);
    assert!(told.contains("`reads`") && told.contains(used_up), "{told}");
    // A rule for other tools is not mentioned.
    let told = text(&client.call("asks", json!({"text": "two"})));
    assert!(!told.contains("reads"), "{told}");
}

const CONFIRMS: &str = "confirm = \"elicitation\"\nconfirm_risk = \"low\"\n";

/// Accepts the question of a client about a call of `asks`, after `meanwhile`. Returns the result.
fn accepted(client: &mut Client, is_late: bool, said: &str, meanwhile: impl FnOnce(&str)) -> Value {
    let (can, yes) = (json!({"elicitation": {}}), json!({"action": "accept", "content": {}}));
    let params = json!({"name": "asks", "arguments": {"text": said}});
    let pending = |client: &mut Client| {
        let listed = client.call("call.list", json!({}));
        listed["structuredContent"]["calls"][0]["call_id"].as_str().expect("a call waits").to_owned()
    };
    if !is_late {
        let request = client.send("tools/call", params);
        let question = client.heard("elicitation/create");
        meanwhile(&pending(client));
        client.write(json!({"jsonrpc": "2.0", "id": question["id"], "result": yes}).to_string());
        return client.result(request);
    }
    let asked = client.ask("tools/call", late(params.clone(), can.clone()))["result"].clone();
    let listed = json!({"name": "call.list", "arguments": {}});
    let listed = client.ask("tools/call", late(listed, can.clone()))["result"].clone();
    meanwhile(listed["structuredContent"]["calls"][0]["call_id"].as_str().expect("a call waits"));
    let mut back = params;
    back["requestState"] = asked["requestState"].clone();
    let key =
        asked["inputRequests"].as_object().and_then(|requests| requests.keys().next()).expect("a request");
    back["inputResponses"] = json!({key.as_str(): yes});
    client.ask("tools/call", late(back, can))["result"].clone()
}

/// Returns a client with or without a handshake. Its person can be asked.
fn asked_client(site: &Site, is_late: bool) -> Client {
    let mut client = Client::start(site, &[]);
    if !is_late {
        client.hello("2025-11-25", json!({"elicitation": {}}));
    }
    client
}

/// Issue 14: gateway.toml at the time of the answer counts, not at the time of the question.
#[test]
fn stale_dialogue_leaves_the_call_pending() {
    for is_late in [false, true] {
        let site = site();
        agents(&site, CONFIRMS);
        let mut client = asked_client(&site, is_late);
        let result = accepted(&mut client, is_late, "none", |_| agents(&site, "confirm = \"none\"\n"));
        assert_stands(&result, "pending", "approval_pending");
        assert!(text(&result).contains("dialogue may no longer approve it"), "{result:#}");
        assert_eq!(runs(&site, "asks"), 0);
        // A person can still approve at the command line.
        site.json(["call", "approve", &id_of(&result)]).expect(0);
    }
}

/// Issue 14: a person held the call while the client showed its question.
#[test]
fn a_dialogue_approves_no_call_that_is_held() {
    for is_late in [false, true] {
        let site = site();
        agents(&site, CONFIRMS);
        let mut client = asked_client(&site, is_late);
        let result = accepted(&mut client, is_late, "held", |id| {
            site.json(["call", "hold", id, "--reason", "not now"]).expect(0);
        });
        assert_stands(&result, "held", "approval_held");
        assert!(text(&result).contains("not now"), "{result:#}");
        assert_eq!(runs(&site, "asks"), 0);
    }
}

/// Issue 14: an equal request got a new pending call, or an error that the call is busy.
#[test]
fn equal_call_waits_for_the_running_one() {
    let site = site();
    add(
        &site,
        "waits",
        "",
        "echo x >> \"$(basename \"$0\").ran\"\nwhile [ ! -e go ]; do sleep 0.02; done\nprintf done\n",
    );
    let (mut one, mut other) = (Client::connect(&site, "local"), Client::connect(&site, "local"));
    let id = id_of(&one.call("waits", json!({})));
    site.json(["call", "approve", &id]).expect(0);
    let first = one.send_call("waits", json!({}));
    until("start of the run", || (runs(&site, "waits") == 1).then_some(()));
    let again = json!({"name": "waits", "arguments": {}, "_meta": {"progressToken": "again"}});
    let (second, third) = (one.send("tools/call", again.clone()), other.send("tools/call", again));
    for client in [&mut one, &mut other] {
        let told = client.heard("notifications/progress")["params"].clone();
        assert_eq!(
            (&told["progressToken"], &told["message"]),
            (&json!("again"), &json!(format!("call {id} is running")))
        );
    }
    site.workspace.write("go", "");
    for result in [one.result(first), one.result(second), other.result(third)] {
        assert_stands(&result, "completed", "");
        assert_eq!((text(&result).as_str(), id_of(&result)), ("done", id.clone()));
    }
    assert_eq!(runs(&site, "waits"), 1);
}

/// Issue 14: `call.cancel` for a run in another gateway had no effect.
#[test]
fn only_its_agent_cancels_a_run_of_another_gateway() {
    let site = site();
    add(&site, "read-long", "", "echo x > started\nsleep 977\n");
    let (mut one, mut other) = (Client::connect(&site, "ann"), Client::connect(&site, "ann"));
    let request = one.send_call("read-long", json!({}));
    until("start of the run", || site.workspace.exists("started").then_some(()));
    let id = other.call("call.list", json!({"limit": 1}))["structuredContent"]["calls"][0]["call_id"].clone();
    let refused = Client::connect(&site, "ben").call("call.cancel", json!({"call_id": id}));
    assert_stands(&refused, "refused", "unknown_call");
    assert_eq!(site.status(id.as_str().unwrap()), "running");
    let ended = done(&mut other, "call.cancel", json!({"call_id": id}));
    assert_eq!(ended, json!({"call_id": id, "cancelled": true}));
    let result = one.result(request);
    assert_stands(&result, "interrupted", "interrupted");
    assert!(text(&result).contains("agent:ann"), "{result:#}");
    let receipt = site.json(["run", "latest"]).expect(0)["run"].clone();
    assert_eq!(receipt["status"], "interrupted", "{receipt:#}");
    assert!(receipt["failure"].as_str().unwrap_or_default().contains("agent:ann"), "{receipt:#}");
    assert_eq!(processes_with(&format!("{}/", site.workspace.path().display())), Vec::<u32>::new());
    let again = done(&mut other, "call.cancel", json!({"call_id": id}));
    assert_eq!(again["cancelled"], false, "{again:#}");
    assert!(site.workspace.files(".brigade/tools/runtime/ending").is_empty());
}
