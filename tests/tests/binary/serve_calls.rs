//! Calls of agents: immediate, approved by a person or a dialogue, interrupted, cancelled, and limited.

#![allow(clippy::disallowed_methods, reason = "tests wait for facts outside of the server")]

use brigade_tests::{Site, processes_with, until};
use serde_json::{Value, json};

use crate::serve_common::{
    BOUND, Client, POLICY, Server, Session, about, add, agents, assert_stands, id_of, late, runs, site,
    stands, text, token,
};

/// Waits for a file, and prints a line.
const WAITS: &str = "echo x >> started\nwhile ! test -e go; do sleep 0.02; done\nprintf 'went on'\n";

fn receipt(site: &Site, result: &Value) -> Value {
    let run = about(result)["run_id"].as_str().expect("it ran");
    site.json(["run", "show", run]).expect(0)["run"].clone()
}

fn started(site: &Site) {
    until("run", || site.workspace.exists("started").then_some(()));
}

#[test]
fn a_rule_approves_at_once_and_is_in_the_receipt() {
    let site = site();
    let mut client = Client::connect(&site, "ann");
    let result = client.call("at-once", json!({"text": "hi"}));
    assert_eq!((result["isError"].as_bool(), text(&result).as_str()), (Some(false), "said hi"));
    assert_stands(&result, "completed", "");
    let receipt = receipt(&site, &result);
    assert_eq!(receipt["caller"], "agent:ann");
    let approval = &receipt["approval"];
    assert_eq!((&approval["by"], &approval["rule"]), (&json!("rule"), &json!("reads")), "{approval:#}");
    assert_eq!(approval["file"], POLICY);
    let line = approval["line"].as_u64().and_then(|line| usize::try_from(line).ok()).expect("a line");
    let policy = site.workspace.read_text(POLICY);
    let shown = policy.lines().nth(line - 1).unwrap_or_default();
    assert!(shown.contains("auto_approve") || shown.contains("reads"), "line {line}: {shown}");
    // A repeated call is a new run.
    client.call("at-once", json!({"text": "hi"}));
    assert_eq!(runs(&site, "at-once"), 2);
    site.json(["run", "verify"]).expect(0);
}

#[test]
fn a_tracked_policy_approves_nothing() {
    let site = site();
    site.workspace.git_init();
    site.workspace.git(["add", "-f", POLICY]);
    let mut client = Client::start(&site, &[]);
    let hello = client.hello("2025-11-25", json!({}));
    assert!(hello["instructions"].to_string().contains("tracks"), "{hello:#}");
    assert!(!client.names().contains(&"at-once".to_owned()));
    let refused = client.ask("tools/call", json!({"name": "at-once", "arguments": {"text": "x"}}));
    assert!(refused["error"].is_object(), "{refused:#}");
    assert_eq!(runs(&site, "at-once"), 0);
}

#[test]
fn a_pending_call_continues_after_an_approval() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let result = client.call("asks", json!({"text": "hi"}));
    assert_stands(&result, "pending", "approval_pending");
    assert_eq!(result["isError"], true);
    let id = id_of(&result);
    assert!(text(&result).contains(&id) && text(&result).contains("call.wait"), "{result:#}");
    assert_eq!(id_of(&client.call("asks", json!({"text": "hi"}))), id, "asking again is the same call");
    assert_eq!(id_of(&client.call("tools.call", json!({"name": "asks", "arguments": {"text": "hi"}}))), id);

    // Another agent cannot run it.
    site.json(["call", "approve", &id]).expect(0);
    let refused = site.json(["call", "run", &id]).expect(1);
    assert_eq!(refused["code"], "call_of_agent", "{refused:#}");
    site.json(["call", "run", "--next"]).expect(1);
    assert_eq!(runs(&site, "asks"), 0, "an approval runs nothing");

    let wait = json!({"call_id": id, "timeout_seconds": 30});
    let result = client.call("call.wait", wait.clone());
    assert_eq!((text(&result).as_str(), result["isError"].as_bool()), ("said hi", Some(false)), "{result:#}");
    let again = client.call("call.wait", wait);
    assert_eq!((text(&again).as_str(), about(&again)), ("said hi", about(&result)));
    assert_eq!(runs(&site, "asks"), 1);
    let receipt = receipt(&site, &result);
    assert_eq!((&receipt["approval"]["by"], &receipt["caller"]), (&json!("person"), &json!("agent:local")));
    assert_eq!(receipt["approval"]["reviewer"], "command-line", "{receipt:#}");

    // A repeated request waits for another approval, and then runs when it is requested again.
    let next = client.call("asks", json!({"text": "hi"}));
    assert_stands(&next, "pending", "approval_pending");
    assert_ne!(id_of(&next), id);
    let told = site.tools(["call", "approve", &id_of(&next)]).stderr_text();
    assert!(told.contains("agent local") && !told.contains("call run"), "{told}");
    assert_eq!(text(&client.call("asks", json!({"text": "hi"}))), "said hi");
    assert_eq!(runs(&site, "asks"), 2);
    let replay = site.json(["run", "replay", receipt["id"].as_str().unwrap()]);
    assert_eq!(replay.code, 1, "{}", replay.run);
    site.json(["run", "verify"]).expect(0);
}

#[test]
fn everybody_who_waits_gets_the_result_of_the_one_run() {
    let site = site();
    let mut clients = [Client::connect(&site, "local"), Client::connect(&site, "local")];
    let id = id_of(&clients[0].call("asks", json!({"text": "one"})));
    let wait = json!({"call_id": id, "timeout_seconds": 30});
    let mut asked = Vec::new();
    for (place, client) in clients.iter_mut().enumerate() {
        for _ in 0..3 {
            asked.push((place, client.send_call("call.wait", wait.clone())));
        }
        client.goes_on();
    }
    site.json(["call", "approve", &id]).expect(0);
    for (place, client) in clients.iter_mut().enumerate() {
        asked.push((place, client.send_call("call.wait", wait.clone())));
    }
    for (place, request) in asked {
        let result = clients[place].result(request);
        assert_eq!(
            (text(&result).as_str(), about(&result)["status"].as_str()),
            ("said one", Some("completed"))
        );
    }
    assert_eq!(runs(&site, "asks"), 1);
}

#[test]
fn a_waiting_client_sees_an_approval_at_once() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let id = id_of(&client.call("asks", json!({"text": "hi"})));
    let request = client.send_call("call.wait", json!({"call_id": id, "timeout_seconds": 60}));
    client.goes_on();
    site.json(["call", "approve", &id]).expect(0);
    assert_eq!(text(&client.result(request)), "said hi");
    let nothing = client.call("call.wait", json!({"call_id": "call-none", "timeout_seconds": 0}));
    assert_stands(&nothing, "refused", "unknown_call");
    let id = id_of(&client.call("asks", json!({"text": "still"})));
    let still = client.call("call.wait", json!({"call_id": id, "timeout_seconds": 0}));
    assert_stands(&still, "pending", "approval_pending");
}

#[test]
fn rejected_and_held_calls_say_why() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let id = id_of(&client.call("asks", json!({"text": "no"})));
    site.json(["call", "reject", &id, "--reason", "not on a Friday"]).expect(0);
    for result in [
        client.call("call.wait", json!({"call_id": id, "timeout_seconds": 5})),
        client.call("asks", json!({"text": "no"})),
    ] {
        assert_stands(&result, "rejected", "approval_rejected");
        assert!(text(&result).contains("not on a Friday"), "{result:#}");
        assert_eq!(id_of(&result), id);
    }
    let id = id_of(&client.call("asks", json!({"text": "later"})));
    site.json(["call", "hold", &id, "--reason", "ask me tomorrow"]).expect(0);
    let result = client.call("asks", json!({"text": "later"}));
    assert_stands(&result, "held", "approval_held");
    assert!(text(&result).contains("ask me tomorrow") && id_of(&result) == id, "{result:#}");
    assert_eq!(runs(&site, "asks"), 0);
}

#[test]
fn a_changed_contract_voids_the_approval() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let id = id_of(&client.call("asks", json!({"text": "x"})));
    site.json(["call", "approve", &id]).expect(0);
    site.workspace.write("bin/asks.sh", "echo changed >> asks.sh.ran\n");
    for result in [
        client.call("call.wait", json!({"call_id": id, "timeout_seconds": 2})),
        client.call("asks", json!({"text": "x"})),
    ] {
        assert_eq!(result["isError"], true, "{result:#}");
    }
    assert_eq!(runs(&site, "asks"), 0);
}

fn asking(site: &Site) -> Client {
    agents(site, "confirm = \"elicitation\"\nconfirm_risk = \"low\"\n");
    let mut client = Client::start(site, &[]);
    client.hello("2025-11-25", json!({"elicitation": {}}));
    client
}

#[test]
fn the_client_may_be_asked_by_a_request() {
    let site = site();
    add(&site, "writes", "effects = [\"local-write\"]\n", "echo x >> writes.sh.ran\n");
    let mut client = asking(&site);
    let reply = |client: &mut Client, text: &str, reply: Value| {
        let request = client.send_call("asks", json!({"text": text}));
        let question = client.heard("elicitation/create");
        let shown = question["params"]["message"].as_str().unwrap();
        for part in ["asks", text, "local-read", "low"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        client.write(json!({"jsonrpc": "2.0", "id": question["id"], "result": reply}).to_string());
        client.result(request)
    };
    let result = reply(&mut client, "yes", json!({"action": "accept", "content": {}}));
    assert_eq!(text(&result), "said yes");
    let approval = receipt(&site, &result)["approval"].clone();
    assert_eq!(
        (&approval["by"], &approval["agent"]),
        (&json!("elicitation"), &json!("local")),
        "{approval:#}"
    );
    let result = reply(&mut client, "no", json!({"action": "decline"}));
    assert_stands(&result, "rejected", "approval_rejected");
    let result = reply(&mut client, "cancelled", json!({"action": "cancel"}));
    assert_stands(&result, "pending", "approval_pending");
    for (number, shape) in
        [json!({"action": "accepted"}), json!({}), json!({"action": "accept", "content": [1]})]
            .into_iter()
            .enumerate()
    {
        let result = reply(&mut client, &format!("shape {number}"), shape.clone());
        assert_eq!(stands(&result).0, "pending", "{shape}: {result:#}");
    }
    assert_eq!(runs(&site, "asks"), 1);
    // A call with more risk cannot be approved in the dialogue.
    assert_stands(&client.call("writes", json!({})), "pending", "approval_pending");
    assert_eq!(client.count("elicitation/create"), 0);
    // Nor can a client that does not declare the capability.
    let mut silent = Client::connect(&site, "local");
    assert_stands(&silent.call("asks", json!({"text": "silent"})), "pending", "approval_pending");
    assert_eq!(silent.count("elicitation/create"), 0);
}

#[test]
fn the_client_may_be_asked_by_a_result() {
    let site = site();
    agents(&site, "confirm = \"elicitation\"\n\n[[agent]]\nname = \"other\"\nconfirm = \"elicitation\"\n");
    let can = json!({"elicitation": {}});
    let mut client = Client::start(&site, &[]);
    let call = |client: &mut Client, text: &str, more: Value| {
        let mut params = json!({"name": "asks", "arguments": {"text": text}});
        for (key, value) in more.as_object().unwrap() {
            params[key] = value.clone();
        }
        client.ask("tools/call", late(params, can.clone()))
    };
    let question = |client: &mut Client, text: &str| {
        let asked = call(client, text, json!({}))["result"].clone();
        assert_eq!(asked["resultType"], "input_required", "{asked:#}");
        let requests = asked["inputRequests"].as_object().expect("requests").clone();
        assert_eq!(requests.len(), 1, "{asked:#}");
        (requests.keys().next().unwrap().clone(), asked["requestState"].as_str().unwrap().to_owned())
    };
    let (key, state) = question(&mut client, "yes");
    let mut yes = json!({"requestState": state, "inputResponses": {}});
    yes["inputResponses"][&key] = json!({"action": "accept", "content": {}});
    // A changed state, other arguments, another agent.
    let mut changed = yes.clone();
    let mut damaged = state.clone();
    let place = damaged.len() / 2;
    let letter = if damaged.as_bytes()[place] == b'A' { "B" } else { "A" };
    damaged.replace_range(place..=place, letter);
    changed["requestState"] = json!(damaged);
    assert_eq!(call(&mut client, "yes", changed)["error"]["code"], -32602);
    assert_eq!(call(&mut client, "other", yes.clone())["error"]["code"], -32602);
    let mut other = Client::start(&site, &["--as", "other"]);
    assert_eq!(call(&mut other, "yes", yes.clone())["error"]["code"], -32602);
    assert_eq!(runs(&site, "asks"), 0);
    let result = call(&mut client, "yes", yes.clone())["result"].clone();
    assert_eq!(text(&result), "said yes", "{result:#}");
    assert_eq!(receipt(&site, &result)["approval"]["by"], "elicitation");
    // A reply that is sent twice does not run the call again.
    call(&mut client, "yes", yes);
    assert_eq!(runs(&site, "asks"), 1);
    for (text, action, status) in [("no", "decline", "rejected"), ("later", "cancel", "pending")] {
        let (key, state) = question(&mut client, text);
        let mut reply = json!({"requestState": state, "inputResponses": {}});
        reply["inputResponses"][&key] = json!({"action": action});
        let result = call(&mut client, text, reply)["result"].clone();
        assert_eq!(stands(&result).0, status, "{result:#}");
    }
    let (_, state) = question(&mut client, "silence");
    let result = call(&mut client, "silence", json!({"requestState": state}))["result"].clone();
    assert_eq!(stands(&result).0, "pending", "{result:#}");
    assert_eq!(runs(&site, "asks"), 1);
}

#[test]
fn all_faults_of_arguments_come_at_once() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let result = client.call("at-once", json!({"text": 5, "n": "many", "more": "a-value-nobody-quotes"}));
    assert_stands(&result, "refused", "invalid_arguments");
    let shown = about(&result)["faults"].to_string();
    for part in ["text", "n", "more"] {
        assert!(shown.contains(&format!("$.{part}")), "{part}: {result:#}");
    }
    assert!(!result.to_string().contains("a-value-nobody-quotes"), "{result:#}");
    assert_eq!(site.json(["call", "list"]).expect(0)["calls"], json!([]), "nothing is queued");
    // Arguments that are not an object are a protocol error.
    assert_eq!(client.refused("tools/call", json!({"name": "at-once", "arguments": [1]})), -32602);
}

#[test]
fn structured_output_must_fit_its_schema() {
    let site = site();
    site.workspace.write(
        "schemas/out.json",
        r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}"#,
    );
    add(&site, "read-data", "output_schema_path = \"schemas/out.json\"\n", "printf '%s' \"$1\"\n");
    let mut client = Client::connect(&site, "local");
    let result = client.call("read-data", json!({"text": "{\"n\": 7}"}));
    assert_eq!(result["structuredContent"], json!({"n": 7}), "{result:#}");
    for bad in ["{\"n\": \"x\"}", "no json", "", "{\"n\": 1, \"m\": 2}"] {
        let result = client.call("read-data", json!({"text": bad}));
        assert_stands(&result, "completed", "invalid_output");
        assert_eq!(result["isError"], true, "{bad}");
    }
}

#[test]
fn promised_data_beyond_the_limit_is_an_error() {
    let site = site();
    site.workspace.write("schemas/out.json", r#"{"type":"object","properties":{"n":{"type":"string"}}}"#);
    let script = "printf '{\"n\":\"'; head -c 100000 /dev/zero | tr '\\0' x; printf '\"}'\n";
    add(&site, "read-data", "output_schema_path = \"schemas/out.json\"\n", script);
    let mut client = Client::connect(&site, "local");
    let result = client.call("read-data", json!({}));
    assert_stands(&result, "completed", "invalid_output");
    assert_eq!((&result["isError"], &about(&result)["truncated"]), (&json!(true), &json!(true)));
    assert!(result.get("structuredContent").is_none() && result.to_string().len() < 34 << 10);
}

#[test]
fn control_tools_are_called_through_tools_call_too() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let through = |client: &mut Client, name: &str, arguments: Value| {
        client.call("tools.call", json!({"name": name, "arguments": arguments}))
    };
    let direct = client.call("call.list", json!({"limit": 3}));
    assert_eq!(through(&mut client, "call.list", json!({"limit": 3})), direct);
    assert_stands(&through(&mut client, "budget.get", json!({})), "completed", "");
    let itself = through(&mut client, "tools.call", json!({"name": "at-once", "arguments": {}}));
    assert_stands(&itself, "refused", "invalid_arguments");
    assert_eq!(runs(&site, "at-once"), 0);
    // An error names its place.
    for (arguments, path) in [
        (json!({"run_id": "r", "limit": 0}), "$.limit"),
        (json!({"run_id": "r", "offset": 1e30}), "$.offset"),
    ] {
        let wrong = client.call("output.read", arguments);
        assert!(text(&wrong).contains(path), "{wrong:#}");
        assert_eq!(about(&wrong)["faults"][0]["path"], path, "{wrong:#}");
    }
}

#[test]
fn failures_show_both_streams() {
    let site = site();
    add(&site, "read-bad", "", "echo out-words\necho err-words >&2\nexit 3\n");
    add(&site, "read-slow", "timeout = 1\n", "echo out-words\necho err-words >&2\nsleep 600\n");
    let mut client = Client::connect(&site, "local");
    for (tool, status, says) in [("read-bad", "failed", "3"), ("read-slow", "timed-out", "timeout")] {
        let result = client.call(tool, json!({}));
        assert_eq!(
            (stands(&result).0.as_str(), result["isError"].as_bool()),
            (status, Some(true)),
            "{result:#}"
        );
        for part in ["out-words", "err-words", says] {
            assert!(text(&result).contains(part), "{part}: {result:#}");
        }
    }
}

#[test]
fn a_checkpoint_waits_for_a_person() {
    let site = site();
    let script = r#"if [ -n "${BRIGADE_TOOL_RESUME_CHECKPOINT_ID:-}" ]; then printf 'chose %s' "$BRIGADE_TOOL_RESUME_CHOICE"; exit 0; fi
cat > "$BRIGADE_TOOL_CHECKPOINT_DIR/one.json" <<'END'
{"id":"gate","reason":"needs a look","prompt":"Go on?","choices":["yes","no"]}
END
"#;
    add(&site, "read-gate", "", script);
    let mut client = Client::connect(&site, "local");
    let result = client.call("read-gate", json!({}));
    assert_stands(&result, "waiting", "checkpoint_pending");
    assert!(about(&result).to_string().contains("gate"), "{result:#}");
    let id = id_of(&result);
    // A repeated call joins the running one.
    let again = client.call("read-gate", json!({}));
    assert_stands(&again, "waiting", "checkpoint_pending");
    assert_eq!((id_of(&again), &about(&again)["checkpoint_ids"]), (id.clone(), &json!(["gate"])));
    let wait = client.send_call("call.wait", json!({"call_id": id, "timeout_seconds": 60}));
    client.goes_on();
    let told = site.tools(["checkpoint", "approve", "gate", "--choice", "yes"]).stderr_text();
    assert!(told.contains("agent local") && !told.contains("checkpoint resume"), "{told}");
    let result = client.result(wait);
    assert_eq!(
        (text(&result).as_str(), stands(&result).0.as_str()),
        ("chose yes", "completed"),
        "{result:#}"
    );
    // A rejected call ends the wait.
    let id = id_of(&client.call("read-gate", json!({})));
    let wait = client.send_call("call.wait", json!({"call_id": id, "timeout_seconds": 60}));
    client.goes_on();
    let checkpoint = site.json(["call", "show", &id]).expect(0)["call"]["checkpoint_ids"][0].clone();
    let checkpoint = checkpoint.as_str().unwrap();
    site.json(["checkpoint", "reject", checkpoint, "--reason", "too risky"]).expect(0);
    let result = client.result(wait);
    assert_stands(&result, "waiting", "approval_rejected");
    assert!(text(&result).contains("too risky") && result["isError"] == true, "{result:#}");
    let again = client.call("read-gate", json!({}));
    assert_stands(&again, "waiting", "approval_rejected");
    assert_eq!(id_of(&again), id);
}

#[test]
fn a_cancelled_call_ends_all_its_processes() {
    let site = site();
    add(&site, "read-long", "", "(sleep 976) &\necho x > started\nsleep 976\n");
    let mut client = Client::connect(&site, "ann");
    let request = client.send_call("read-long", json!({}));
    started(&site);
    // A cancel by another agent, or for an unknown id, has no effect.
    let mut other = Client::connect(&site, "ben");
    other.tell("notifications/cancelled", json!({"requestId": request}));
    other.goes_on();
    client.tell("notifications/cancelled", json!({"requestId": 4711}));
    client.goes_on();
    let running = site.json(["call", "list"]).expect(0)["calls"][0]["status"].clone();
    assert_eq!(running, "running");
    client.tell("notifications/cancelled", json!({"requestId": request, "reason": "no longer"}));
    let receipt = until("receipt", || {
        let run = site.json(["run", "latest"]);
        (run.code == 0).then(|| run.json["run"].clone())
    });
    assert_eq!(receipt["status"], "interrupted", "{receipt:#}");
    assert!(receipt["failure"].as_str().unwrap_or_default().contains("agent:ann"), "{receipt:#}");
    assert_eq!(processes_with(&format!("{}/", site.workspace.path().display())), Vec::<u32>::new());
    client.goes_on();
    // Its end was reported, so the rule may run it again.
    site.workspace.remove("started");
    let again = client.send_call("read-long", json!({}));
    started(&site);
    let id =
        client.call("call.list", json!({"limit": 1}))["structuredContent"]["calls"][0]["call_id"].clone();
    let refused = other.call("call.cancel", json!({"call_id": id}));
    assert_stands(&refused, "refused", "unknown_call");
    let ended = client.call("call.cancel", json!({"call_id": id}));
    assert_eq!(ended["structuredContent"]["cancelled"], true, "{ended:#}");
    let result = client.result(again);
    assert_stands(&result, "interrupted", "interrupted");
    assert!(text(&result).contains("agent:ann"), "{result:#}");
    // A pending call stays if its question is cancelled.
    let id = id_of(&client.call("asks", json!({"text": "stays"})));
    let wait = client.send_call("call.wait", json!({"call_id": id, "timeout_seconds": 60}));
    client.goes_on();
    client.tell("notifications/cancelled", json!({"requestId": wait}));
    client.goes_on();
    assert_eq!(site.status(&id), "pending");
}

#[test]
fn without_a_handshake_a_call_is_cancelled_too() {
    let site = site();
    add(&site, "read-long", "", "echo x > started\nsleep 976\n");
    let mut client = Client::start(&site, &["--as", "ann"]);
    let params = late(json!({"name": "read-long", "arguments": {}}), json!({}));
    let request = client.send("tools/call", params);
    started(&site);
    client.tell("notifications/cancelled", json!({"requestId": request}));
    let receipt = until("receipt", || {
        let run = site.json(["run", "latest"]);
        (run.code == 0).then(|| run.json["run"].clone())
    });
    assert_eq!(receipt["status"], "interrupted", "{receipt:#}");
    // Handshake messages have no effect here.
    client.tell("notifications/initialized", json!({}));
    let listed = client.ask("tools/list", late(json!({}), json!({})));
    assert!(listed["result"]["tools"].is_array(), "{listed:#}");
}

#[test]
fn a_command_line_decision_ends_the_dialogue() {
    let site = site();
    let mut client = asking(&site);
    let request = client.send_call("asks", json!({"text": "both"}));
    let question = client.heard("elicitation/create");
    let id = site.json(["call", "list"]).expect(0)["calls"][0]["id"].as_str().unwrap().to_owned();
    site.json(["call", "approve", &id]).expect(0);
    assert_eq!(text(&client.result(request)), "said both");
    // A late reply of the client has no effect.
    let accept =
        json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}});
    client.write(accept.to_string());
    client.goes_on();
    assert_eq!(runs(&site, "asks"), 1);
    // A client that only shows pages gets no form.
    let mut pages = Client::start(&site, &[]);
    pages.hello("2025-11-25", json!({"elicitation": {"url": {}}}));
    assert_stands(&pages.call("asks", json!({"text": "pages"})), "pending", "approval_pending");
    assert_eq!(pages.count("elicitation/create"), 0);
}

#[test]
fn a_run_that_takes_its_time_says_so() {
    let site = site();
    add(&site, "read-long", "", WAITS);
    let mut client = Client::connect(&site, "local");
    let params = json!({"name": "read-long", "arguments": {}, "_meta": {"progressToken": "mine"}});
    let request = client.send("tools/call", params);
    let mut before = 0.0;
    for _ in 0..2 {
        let told = client.heard("notifications/progress");
        assert_eq!(told["params"]["progressToken"], "mine");
        let now = told["params"]["progress"].as_f64().unwrap();
        assert!(before < now, "{told:#}");
        before = now;
    }
    site.workspace.write("go", "");
    assert_eq!(text(&client.result(request)), "went on");
}

#[test]
fn long_results_are_cut_and_read_by_pages() {
    let site = site();
    let script = "i=0; while [ $i -lt 4000 ]; do printf 'zeile %s ü€ ' $i; i=$((i+1)); done; printf ' canary-bound-4711-value end'\n";
    add(&site, "read-much", "", script);
    let mut client = Client::connect(&site, "local");
    let result = client.call("read-much", json!({}));
    assert_eq!(about(&result)["truncated"], true);
    let shown = text(&result);
    assert!(
        shown.len() < 33 << 10 && shown.lines().last().unwrap().contains("output.read"),
        "{}",
        shown.len()
    );
    let run = about(&result)["run_id"].clone();
    let mut whole = String::new();
    let mut offset = 0;
    let total = loop {
        let page = client.call("output.read", json!({"run_id": run, "offset": offset, "limit": 10_001}));
        let page = page["structuredContent"].clone();
        whole.push_str(page["content"].as_str().unwrap_or_else(|| panic!("{page:#}")));
        match page.get("next_offset") {
            Some(next) => offset = next.as_u64().unwrap(),
            None => break page["total_bytes"].as_u64().unwrap(),
        }
    };
    assert_eq!(whole.len() as u64, total);
    assert!(whole.starts_with("zeile 0 ü€ ") && whole.ends_with(" end") && !whole.contains(BOUND));
    assert!(shown.starts_with(&whole[..1000]));
    let uri = format!("brigade://run/{}/stdout", run.as_str().unwrap());
    let read = client.ask("resources/read", json!({"uri": uri}));
    assert_eq!(read["result"]["contents"][0]["text"].as_str(), Some(&*whole));
}

#[test]
fn limits_hold_for_concurrent_gateways() {
    let site = site();
    agents(&site, "[agent.limits]\ncalls_per_minute = 5\n");
    let mut clients = [Client::connect(&site, "local"), Client::connect(&site, "local")];
    let mut asked = Vec::new();
    for n in 0..12 {
        for (place, client) in clients.iter_mut().enumerate() {
            asked.push((place, client.send_call("at-once", json!({"text": n.to_string()}))));
        }
    }
    let mut done = 0;
    for (place, request) in asked {
        let result = clients[place].result(request);
        match stands(&result).1.as_str() {
            "" => done += 1,
            code => {
                assert_eq!(code, "rate_limited", "{result:#}");
                let wait = about(&result)["retry_after_seconds"].as_u64().unwrap();
                assert!((1..=60).contains(&wait), "{result:#}");
            }
        }
    }
    assert_eq!((done, runs(&site, "at-once")), (5, 5));
    // Limits survive a restart, and are per agent.
    let result = Client::connect(&site, "local").call("at-once", json!({"text": "again"}));
    assert_stands(&result, "refused", "rate_limited");
    assert_eq!(text(&Client::connect(&site, "ann").call("at-once", json!({"text": "ann"}))), "said ann");
    agents(&site, "[agent.limits]\noutput_per_hour = \"10B\"\n");
    let result = Client::connect(&site, "local").call("at-once", json!({"text": "again"}));
    assert_stands(&result, "refused", "budget_exhausted");
}

#[test]
fn a_rule_counts_its_calls_at_the_same_moment() {
    let site = site();
    site.workspace.replace(POLICY, "name = \"reads\"", "name = \"reads\"\nmax_calls_per_hour = 3");
    let mut client = Client::connect(&site, "local");
    let asked: Vec<u64> =
        (0..12).map(|n| client.send_call("at-once", json!({"text": n.to_string()}))).collect();
    let results: Vec<Value> = asked.into_iter().map(|request| client.result(request)).collect();
    let done = results.iter().filter(|result| stands(result).0 == "completed").count();
    let waiting = results.iter().filter(|result| stands(result).1 == "approval_pending").count();
    assert_eq!((done, waiting, runs(&site, "at-once")), (3, 9, 3));
}

#[test]
fn writing_calls_run_one_by_one() {
    let site = site();
    site.workspace.replace(
        POLICY,
        "effects = [\"local-read\"]",
        "effects = [\"local-read\", \"local-write\"]",
    );
    let script = "mkdir lock || echo together >> together\nsleep 0.1\nrmdir lock\n";
    add(&site, "read-and-write", "effects = [\"local-write\"]\n", script);
    let mut client = Client::connect(&site, "local");
    let asked: Vec<u64> =
        (0..4).map(|n| client.send_call("read-and-write", json!({"text": n.to_string()}))).collect();
    for request in asked {
        assert_eq!(stands(&client.result(request)).0, "completed");
    }
    assert!(!site.workspace.exists("together"));
}

#[test]
fn a_closed_connection_ends_no_run() {
    let site = site();
    add(&site, "read-long", "", WAITS);
    let token = token(&site, "ann");
    let server = Server::start(&site, &["--http", "127.0.0.1:0"]);
    let mut session = Session::open(&server.place, Some(&token));
    let connection = session.leave("tools/call", json!({"name": "read-long", "arguments": {}}));
    started(&site);
    drop(connection);
    let calls = session.call("call.list", json!({}));
    let id = calls["structuredContent"]["calls"][0]["call_id"].clone();
    site.workspace.write("go", "");
    let result = session.call("call.wait", json!({"call_id": id, "timeout_seconds": 30}));
    assert_eq!(text(&result), "went on", "{result:#}");
}

#[test]
fn call_without_turn_is_refused_and_stays_approved() {
    let site = site();
    agents(&site, "[agent.limits]\nconcurrent = 1\n");
    let script = "echo x >> slow.ran\nwhile [ ! -e go ]; do sleep 0.05; done\nprintf done\n";
    add(&site, "read-slow", "", script);
    let mut client = Client::connect(&site, "local");
    let approved = id_of(&client.call("asks", json!({"text": "x"})));
    site.tools(["call", "approve", &approved]).assert_code(0);
    // One call runs, 64 wait, and one more is refused.
    let mut ids: Vec<u64> = (0..66).map(|n| client.send_call("read-slow", json!({"n": n}))).collect();
    let first = client.message();
    let place = ids.iter().position(|id| first["id"] == json!(id)).expect("an answer to a call");
    ids.remove(place);
    assert_stands(&first["result"], "refused", "busy");
    assert!(about(&first["result"])["id"].is_null(), "nothing is left to continue: {first:#}");
    let left = site.json(["call", "list", "--status", "rejected"]).expect(0);
    assert_eq!(left["calls"].as_array().map(Vec::len), Some(1), "{left:#}");
    let busy = client.call("call.wait", json!({"call_id": approved}));
    assert_stands(&busy, "approved", "busy");
    assert_eq!(id_of(&busy), approved);
    let shown = site.json(["call", "show", &approved]).expect(0);
    assert_eq!(shown["call"]["status"], "approved");
    site.workspace.write("go", "");
    for id in ids {
        assert_stands(&client.result(id), "completed", "");
    }
    assert_stands(&client.call("call.wait", json!({"call_id": approved})), "completed", "");
    assert_eq!(runs(&site, "asks"), 1);
}
