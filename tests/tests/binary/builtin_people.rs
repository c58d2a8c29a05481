//! Interaction of agents and people: forms in clients, inbox rows, and scripts that become tools.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot read an answer fails")]

use brigade_tests::Site;
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, about, assert_stands, id_of, late, text};

const RULES: &str = r#"allowed_families = ["builtin", "script"]
allowed_effects = ["local-read", "local-write", "memory-write", "state-write"]

[[auto_approve]]
name = "all"
tools = ["*"]
effects = ["local-read", "local-write", "memory-write", "state-write"]
"#;

fn site(agent: &str) -> Site {
    let site = Site::empty();
    site.workspace.write(POLICY, RULES);
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write(GATEWAY, format!("[[agent]]\nname = \"local\"\n{agent}\n"));
    site.workspace.write("a.txt", "one\n");
    site
}

fn port() -> Value {
    json!({"questions": [{"id": "port", "question": "Which port?", "options": [{"label": "8080"}, {"label": "9090"}]}]})
}

#[test]
fn a_client_with_forms_is_asked_in_its_own() {
    let site = site("");
    let mut client = Client::start(&site, &[]);
    client.hello("2025-11-25", json!({"elicitation": {}}));
    let request = client.send_call("askUser", port());
    let asked = client.heard("elicitation/create");
    let schema = &asked["params"]["requestedSchema"];
    assert_eq!(schema["properties"]["port"]["enum"], json!(["8080", "9090"]), "{asked:#}");
    let reply = json!({"action": "accept", "content": {"port": "9090"}});
    client.write(json!({"jsonrpc": "2.0", "id": asked["id"], "result": reply}).to_string());
    let result = client.result(request);
    assert_eq!(result["structuredContent"]["answer"], "9090", "{result:#}");
    assert_eq!(result["structuredContent"]["answered_by"], "elicitation");
    // No decision is pending any more.
    let brief = site.brigade.run(["work", "brief", "--json"]).assert_code(0).json();
    assert!(brief["waiting"].as_array().is_none_or(Vec::is_empty), "{brief:#}");
    let request = client.send_call("ask.user", json!({"question": "Deploy?"}));
    let asked = client.heard("elicitation/create");
    client.write(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}}).to_string());
    assert_eq!(client.result(request)["structuredContent"]["decision"], "decline");
}

#[test]
fn a_client_without_a_handshake_brings_the_reply_back() {
    let site = site("");
    let mut client = Client::start(&site, &[]);
    let call = json!({"name": "ask.user", "arguments": port()});
    let forms = json!({"elicitation": {}});
    let first = client.ask("tools/call", late(call.clone(), forms.clone()))["result"].clone();
    let requests = first["inputRequests"].as_object().unwrap_or_else(|| panic!("{first:#}"));
    let key = requests.keys().next().unwrap().clone();
    let mut again = call;
    again["requestState"] = first["requestState"].clone();
    again["inputResponses"] = json!({key: {"action": "accept", "content": {"port": "8080"}}});
    let second = client.ask("tools/call", late(again, forms))["result"].clone();
    assert_eq!(second["structuredContent"]["answer"], "8080", "{second:#}");
}

#[test]
fn profiles_apply_to_questions_and_lists() {
    let site = site("profiles = [\"context.strict\"]");
    let strict = "[[profile]]\nname = \"context.strict\"\nhide = [\"id:ask.user\"]\n[[profile.rule]]\nmatch = \"id:todo.*\"\naction = \"ask\"\n";
    site.workspace.write(".brigade/tools/profiles.toml", strict);
    let mut client = Client::connect(&site, "local");
    assert_eq!(client.refused("tools/call", json!({"name": "ask.user", "arguments": port()})), -32602);
    let list = json!({"todos": [{"content": "Cook", "status": "pending"}]});
    let written = client.call("todo.write", list);
    assert_stands(&written, "pending", "approval_pending");
    let id = id_of(&written);
    site.json(["call", "approve", &id]).expect(0);
    let done = client.call("call.wait", json!({"call_id": id}));
    assert_eq!(done["structuredContent"]["count"], 1, "{done:#}");
    // The command line has no session.
    let plan = site.json(["call", "plan", "todo.write", "--args", r#"{"todos": []}"#]).expect(1);
    assert!(plan.to_string().contains("not_available_here"), "{plan:#}");
}

#[test]
fn only_remembered_questions_are_counted() {
    let site = site("");
    let mut client = Client::start(&site, &[]);
    client.hello("2025-11-25", json!({"elicitation": {}}));
    for number in 0..6 {
        let request = client.send_call("ask.user", json!({"question": format!("Number {number}?")}));
        let asked = client.heard("elicitation/create");
        client
            .write(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "cancel"}}).to_string());
        assert_eq!(client.result(request)["structuredContent"]["decision"], "cancel");
    }
    let seventh = client.call("ask.user", json!({"question": "Number 7?"}));
    assert_stands(&seventh, "refused", "rate_limited");
    let wait = about(&seventh)["retry_after_seconds"].as_u64().unwrap();
    assert!((1..=60).contains(&wait), "{seventh:#}");
    let add = |text: &str| json!({"content": text, "category": "fact"});
    for _ in 0..11 {
        let secret = client.call("memory.add", add("the key is ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"));
        assert_eq!(secret["structuredContent"]["durability"], "rejected", "{secret:#}");
        assert!(!secret.to_string().contains("ghp_0123456789"), "{secret:#}");
    }
    for number in 0..11 {
        let note = client
            .call("memory.add", add(&format!("diff --git a/{number} b/{number}\n@@ -1 +1 @@\n-a\n+b\n")));
        assert_eq!(note["structuredContent"]["durability"], "rejected", "{note:#}");
    }
    let kept = client.call("memory.add", add("The oven needs ten minutes to heat"));
    assert_eq!(kept["structuredContent"]["saved"], true, "{kept:#}");
    let journal = site.workspace.read_text(".brigade/tools/calls.jsonl");
    assert!(!journal.contains("ghp_0123456789"));
    let secret = client.call("ask.user", json!({"questions": [{"question": "Token?", "isSecret": true}]}));
    assert!(text(&secret).contains("rate") || text(&secret).contains("never ask for secrets"), "{secret:#}");
}

#[test]
fn full_auto_leaves_rows_for_a_later_look() {
    let site = site("profiles = [\"permission.full-auto\"]");
    let mut client = Client::connect(&site, "local");
    assert_stands(&client.call("fs.read", json!({"path": "a.txt"})), "completed", "");
    let inbox = || {
        let listed = site.brigade.run(["work", "inbox", "list", "--json"]).assert_code(0).json();
        listed.to_string()
    };
    assert!(!inbox().contains("fs.read"));
    let written = client.call("fs.write", json!({"path": "b.txt", "content": "x"}));
    assert_stands(&written, "completed", "");
    let rows = inbox();
    assert!(rows.contains(&id_of(&written)) && rows.contains("Review fs.write"), "{rows}");
    site.workspace.write(GATEWAY, "[[agent]]\nname = \"local\"\n");
    let mut edit = Client::connect(&site, "local");
    let other = edit.call("fs.write", json!({"path": "c.txt", "content": "x"}));
    assert!(!inbox().contains(&id_of(&other)));
}

#[test]
fn a_person_makes_a_tool_of_a_script() {
    let site = site("");
    let mut client = Client::connect(&site, "local");
    let saved = client.call(
        "script.save",
        json!({"name": "Say hello", "code": "print(\"hello\")\n", "language": "python"}),
    );
    let id = saved["structuredContent"]["id"].as_str().unwrap().to_owned();
    let promoted = site.json(["script", "promote", &id]).expect(0);
    assert_eq!(promoted["registered"][0]["tool_id"], "say-hello", "{promoted:#}");
    assert_eq!(promoted["registered"][0]["enabled"], false);
    assert_eq!(site.workspace.read_text("scripts/say-hello.py"), "print(\"hello\")\n");
    let shown = site.json(["show", "say-hello"]).expect(0);
    assert_eq!(
        (&shown["tool"]["enabled"], &shown["tool"]["command"]),
        (&json!(false), &json!("python3 scripts/say-hello.py"))
    );
    // Promoting twice has no further effect, and overwrites nothing.
    let again = site.json(["script", "promote", &id]).expect(1);
    assert!(!again["errors"].as_array().unwrap().is_empty(), "{again:#}");
    site.workspace.write("scripts/other.py", "mine\n");
    site.json(["script", "promote", &id, "--id", "other"]).expect(1);
    assert_eq!(site.workspace.read_text("scripts/other.py"), "mine\n");
    assert_eq!(site.json(["script", "promote", "script-none"]).expect(1)["code"], "script_missing");
}

#[test]
fn an_operator_sees_settings_after_an_approval() {
    let site = site("profiles = [\"access.operator\"]");
    let mut client = Client::connect(&site, "local");
    let asked = client.call("system.config", json!({}));
    assert_stands(&asked, "pending", "approval_pending");
    let id = id_of(&asked);
    site.json(["call", "approve", &id]).expect(0);
    let config = client.call("call.wait", json!({"call_id": id}))["structuredContent"].clone();
    assert_eq!(config["origins"]["policy.allowed_families"], ".brigade/tools/policy.toml:1", "{config:#}");
    assert_eq!(config["content"]["gateway"]["page_size"], 100);
    let mut user = Client::start(&site, &["--profile", "access.user"]);
    user.hello("2025-11-25", json!({}));
    assert_eq!(user.refused("tools/call", json!({"name": "system.config", "arguments": {}})), -32602);
}
