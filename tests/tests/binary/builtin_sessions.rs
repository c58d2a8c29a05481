//! Rights of an agent's session: starting, narrowing, and requesting more from a person.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up links, and one that cannot read an answer fails"
)]

use brigade_tests::Site;
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, assert_stands, id_of, late, stands, text};

const RULES: &str = r#"allowed_families = ["builtin"]
allowed_effects = ["local-read", "local-write"]

[[auto_approve]]
name = "files"
tools = ["fs.*"]
effects = ["local-read", "local-write"]
"#;

const CHAT: [&str; 3] = ["session.docs", "session.init", "session.mode"];

fn site(profiles: &str) -> Site {
    let site = Site::empty();
    site.workspace.write(POLICY, RULES);
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write(GATEWAY, format!("[[agent]]\nname = \"local\"\nprofiles = [{profiles}]\n"));
    site.workspace.write("a.txt", "one\n");
    site
}

/// Returns the names of a listing without the tools of the gateway.
fn own(names: &[String]) -> Vec<&str> {
    let starts = ["call.", "tools.", "output.", "budget."];
    names
        .iter()
        .map(String::as_str)
        .filter(|name| !starts.iter().any(|start| name.starts_with(start)))
        .collect()
}

fn switch(client: &mut Client, mode: &str) -> Value {
    client.call("session.mode", json!({"target_mode": mode, "reason": "the work needs it"}))
}

#[test]
fn a_session_narrows_itself_but_cannot_widen_itself() {
    let site = site("");
    let (mut client, mut other) = (Client::connect(&site, "local"), Client::connect(&site, "local"));
    let read = json!({"path": "a.txt"});
    assert_stands(&client.call("fs.read", read.clone()), "completed", "");
    let begun = client.call("session.init", json!({}))["structuredContent"].clone();
    assert_eq!((&begun["mode"], &begun["permission"]), (&json!("chat"), &json!("edit")), "{begun:#}");
    assert_eq!(begun["available_tools"], json!(CHAT));
    assert_eq!(begun["gates"]["session.mode"], "ask");
    assert!(begun["profiles"].as_array().unwrap().contains(&json!("mode.chat")));
    client.heard("notifications/tools/list_changed");
    // Exactly the listed tools are callable.
    assert_eq!(own(&client.names()), CHAT);
    assert_eq!(client.refused("tools/call", json!({"name": "fs.read", "arguments": read})), -32602);
    // Another session of the agent is not affected.
    assert_stands(&other.call("fs.read", read.clone()), "completed", "");
    assert_eq!(other.count("notifications/tools/list_changed"), 0);

    // A second start of the session does not widen its rights.
    let refused = client.call("session.init", json!({"mode": "operator"}));
    assert_stands(&refused, "refused", "mode_widens");
    let asked = switch(&mut client, "operator");
    let id = id_of(&asked);
    assert_eq!(asked["structuredContent"]["action"], "mode_switch_requested", "{asked:#}");
    assert_eq!((&asked["structuredContent"]["call_id"], &asked["isError"]), (&json!(id), &json!(false)));
    assert_eq!(id_of(&switch(&mut client, "operator")), id, "the same is asked once");
    assert_ne!(
        id_of(&{
            switch(&mut other, "chat");
            switch(&mut other, "operator")
        }),
        id,
        "it is of one session"
    );
    let brief = site.brigade.run(["work", "brief", "--json"]).assert_code(0).json();
    let waiting = brief["waiting"].as_array().unwrap();
    assert!(waiting.iter().any(|row| row["id"] == json!(id) && row["who"] == "agent:local"), "{waiting:#?}");
    assert_eq!(own(&client.names()), CHAT, "asking changes nothing");

    site.brigade.run(["work", "answer", &id, "--choice", "approve"]).assert_code(0);
    // The call belongs to the session that requested it.
    let elsewhere = other.call("call.status", json!({"call_id": id}));
    assert_eq!(elsewhere["structuredContent"]["status"], "approved");
    let switched = client.call("call.wait", json!({"call_id": id}));
    assert_eq!(switched["structuredContent"]["action"], "mode_switched", "{switched:#}");
    client.heard("notifications/tools/list_changed");
    assert_stands(&client.call("fs.read", read), "completed", "");
    // Receipt and record name the session and its profiles.
    let shown = site.json(["call", "show", &id]).expect(0);
    assert!(
        shown["call"]["session"]["profiles"].as_array().unwrap().contains(&json!("mode.chat")),
        "{shown:#}"
    );
    site.json(["audit", "verify"]);
}

#[test]
fn an_approval_applies_only_to_its_session() {
    let site = site("\"mode.chat\"");
    let mut client = Client::connect(&site, "local");
    let id = id_of(&switch(&mut client, "agentic"));
    site.json(["call", "approve", &id]).expect(0);
    // Issue 17: another session used what a person had approved.
    let mut next = Client::connect(&site, "local");
    let early = next.call("call.wait", json!({"call_id": id}));
    assert_stands(&early, "approved", "wrong_session");
    let switched = client.call("call.wait", json!({"call_id": id}));
    assert_eq!(switched["structuredContent"]["action"], "mode_switched", "{switched:#}");
    let id = id_of(&switch(&mut client, "operator"));
    site.json(["call", "approve", &id]).expect(0);
    drop(client);
    let late = next.call("call.wait", json!({"call_id": id}));
    assert_stands(&late, "failed", "session_gone");
    assert_eq!(own(&next.names()), CHAT);
}

#[test]
fn modes_that_cannot_be_are_refused() {
    let site = site("");
    let mut client = Client::start(&site, &["--profile", "mode.agentic"]);
    client.hello("2025-11-25", json!({}));
    for (mode, code) in
        [("chatty", "unknown_mode"), ("access.operator", "unknown_mode"), ("operator", "mode_fixed")]
    {
        assert_stands(&switch(&mut client, mode), "refused", code);
    }
    assert_stands(&client.call("session.init", json!({"mode": 7})), "refused", "invalid_arguments");
    assert_stands(
        &client.call("session.mode", json!({"target_mode": "chat"})),
        "refused",
        "invalid_arguments",
    );
    assert_eq!(switch(&mut client, "chat")["structuredContent"]["action"], "mode_switched");
    assert_eq!(own(&client.names()), CHAT);
    for profile in ["mode.external", "mode.agent-loop"] {
        let mut client = Client::start(&site, &["--profile", profile]);
        client.hello("2025-11-25", json!({}));
        assert!(!own(&client.names()).iter().any(|name| name.starts_with("session.")), "{profile}");
    }
}

#[test]
fn requests_without_a_handshake_are_one_session() {
    let site = site("");
    let mut client = Client::start(&site, &[]);
    let call = |client: &mut Client, name: &str, arguments: Value| {
        let answer = client.ask("tools/call", late(json!({"name": name, "arguments": arguments}), json!({})));
        answer["result"].clone()
    };
    let begun = call(&mut client, "session.init", json!({"mode": "mode.chat"}));
    assert_eq!(begun["structuredContent"]["mode"], "chat", "{begun:#}");
    let page = client.ask("tools/list", late(json!({}), json!({})))["result"].clone();
    let names: Vec<String> = page["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(own(&names), CHAT);
}

#[test]
fn an_accepted_plan_lets_the_session_edit() {
    let site = site("\"permission.plan\"");
    let mut client = Client::connect(&site, "local");
    let names = client.names();
    assert!(own(&names).contains(&"session.exit_plan") && !own(&names).contains(&"fs.write"));
    let plan = client.call("exitPlanMode", json!({"plan": "1. Write b.txt"}));
    assert_stands(&plan, "pending", "approval_pending");
    let id = id_of(&plan);
    let brief = site.brigade.run(["work", "brief", "--json"]).assert_code(0).json();
    let row = brief["waiting"].as_array().unwrap().iter().find(|row| row["id"] == json!(id)).unwrap().clone();
    assert_eq!((&row["kind"], &row["text"]), (&json!("plan"), &json!("1. Write b.txt")));
    site.brigade.run(["work", "answer", &id, "--choice", "approve"]).assert_code(0);
    let accepted = client.call("call.wait", json!({"call_id": id}));
    assert_eq!(accepted["structuredContent"], json!({"decision": "accept", "call_id": id}), "{accepted:#}");
    client.heard("notifications/tools/list_changed");
    assert_stands(&client.call("fs.write", json!({"path": "b.txt", "content": "x"})), "completed", "");
    assert!(!own(&client.names()).contains(&"session.exit_plan"));
    // The agent itself can still only plan.
    let mut next = Client::connect(&site, "local");
    assert!(!own(&next.names()).contains(&"fs.write"));
    // Without the profile in gateway.toml, the session loses the granted rights.
    site.workspace.write(GATEWAY, "[[agent]]\nname = \"local\"\nprofiles = [\"role.external\"]\n");
    client.heard("notifications/tools/list_changed");
    assert!(!own(&client.names()).contains(&"fs.write"));
    // A rejected plan has no effect.
    let id = id_of(&next_plan(&site));
    site.brigade.run(["work", "answer", &id, "--decline", "--text", "smaller steps"]).assert_code(0);
}

/// Starts a session that can only plan, and submits a plan.
fn next_plan(site: &Site) -> Value {
    site.workspace.write(GATEWAY, "[[agent]]\nname = \"local\"\nprofiles = [\"permission.plan\"]\n");
    let mut client = Client::connect(site, "local");
    client.call("session.exit_plan", json!({"plan": "2. Write everything"}))
}

#[test]
fn the_documentation_is_found_and_read() {
    let site = site("\"mode.chat\"");
    let mut client = Client::connect(&site, "local");
    let found = client.call("zaru.docs", json!({"query": "what does an approval bind"}));
    assert_eq!(stands(&found).0, "completed", "{found:#}");
    let section = &found["structuredContent"]["sections"][0];
    let url = section["url"].as_str().unwrap();
    assert!(url.starts_with("brigade://docs/"), "{url}");
    let read = client.ask("resources/read", json!({"uri": url}))["result"].clone();
    let whole = read["contents"][0]["text"].as_str().unwrap();
    assert!(whole.starts_with(section["content"].as_str().unwrap()), "{whole}");
    assert!(text(&client.call("session.docs", json!({"query": "?"}))).contains("blank_query"));
    assert_eq!(client.refused("resources/read", json!({"uri": "brigade://docs/../x"})), -32002);
    let mut other = Client::start(&site, &["--profile", "mode.external"]);
    other.hello("2025-11-25", json!({}));
    assert_eq!(other.refused("resources/read", json!({"uri": url})), -32002);
}

/// A profile that restricts files to `docs`.
const DOCS: &str = r#"[[profile]]
name = "context.docs"

[[profile.rule]]
match = "*"
action = "allow"
constrain = { paths = ["docs"], max_bytes = "10B" }
"#;

#[test]
fn path_context_has_no_way_out() {
    let site = site("\"context.docs\"");
    site.workspace.write(".brigade/tools/profiles.toml", DOCS);
    site.workspace.write("docs/a.txt", "one\n");
    site.workspace.write("priv/s.txt", "secret\n");
    std::os::unix::fs::symlink("../priv", site.workspace.join("docs/l")).unwrap();
    std::os::unix::fs::symlink("a.txt", site.workspace.join("docs/same")).unwrap();
    let mut client = Client::connect(&site, "local");
    for path in ["docs/a.txt", "docs/same", "./docs/../docs/a.txt"] {
        assert_stands(&client.call("fs.read", json!({"path": path})), "completed", "");
    }
    let edits = json!([{"target_content": "one", "replacement_content": "0123456789a"}]);
    for (tool, args) in [
        ("fs.read", json!({"path": "docs/l/s.txt"})),
        ("fs.write", json!({"path": "docs/l/new/w.txt", "content": "x"})),
        ("fs.list", json!({"path": "docs/l"})),
        ("fs.grep", json!({"path": "docs/l", "pattern": "s"})),
        ("fs.multi_edit", json!({"path": "docs/a.txt", "edits": edits})),
    ] {
        let refused = client.call(tool, args.clone());
        assert_eq!(stands(&refused).1, "outside_context", "{tool} {args}: {refused:#}");
    }
    assert_eq!(site.workspace.read_text("docs/a.txt"), "one\n");
    assert_eq!(site.workspace.read_text("priv/s.txt"), "secret\n");
}

#[test]
fn narrower_session_cannot_continue_wider_calls() {
    let site = site("");
    site.workspace.write(".brigade/tools/profiles.toml", DOCS);
    site.workspace.write(POLICY, RULES.replace("\"fs.*\"", "\"fs.read\""));
    let mut wide = Client::connect(&site, "local");
    let id = id_of(&wide.call("fs.write", json!({"path": "a.txt", "content": "two\n"})));
    site.json(["call", "approve", &id]).expect(0);
    let mut narrow = Client::start(&site, &["--as", "local", "--profile", "context.docs"]);
    narrow.hello("2025-11-25", json!({}));
    let refused = narrow.call("call.wait", json!({"call_id": id}));
    assert_eq!(stands(&refused).1, "wrong_session", "{refused:#}");
    assert_eq!(site.workspace.read_text("a.txt"), "one\n");
    assert_stands(&wide.call("call.wait", json!({"call_id": id})), "completed", "");
    assert_eq!(site.workspace.read_text("a.txt"), "two\n");
}
