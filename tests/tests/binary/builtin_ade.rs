//! The core memory, instructions of sessions, chats with a model, and issues of a tracker.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up files and programs, and one that cannot read an answer fails"
)]

use std::fs;

use brigade_tests::Site;
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, about, assert_stands, done, id_of, text};

const RULES: &str = r#"allowed_families = ["builtin"]
allowed_effects = ["local-read", "memory-write", "process-exec", "process-control", "remote-read", "remote-mutation"]

[[auto_approve]]
name = "all"
tools = ["memory.search", "memory.add", "task.*", "issue.*"]
effects = ["local-read", "memory-write", "process-exec", "process-control", "remote-read", "remote-mutation"]
"#;

fn site(lines: &str) -> Site {
    let site = Site::empty();
    site.workspace.write(POLICY, RULES);
    site.workspace.write(".brigade/tools.toml", "");
    let ann = "[[agent]]\nname = \"ann\"\nprofiles = [\"role.chat\", \"permission.plan\"]\n";
    let local = "[[agent]]\nname = \"local\"\nidentity = true\nprofiles = [\"permission.full-auto\", \"access.operator\"]\n";
    site.workspace.write(GATEWAY, format!("{ann}\n{local}\n{lines}"));
    site
}

const CORE: &str = "brigade://memory/core";

/// Returns the instructions of a new session.
fn instructions(site: &Site, agent: &str) -> String {
    let mut client = Client::start(site, &["--as", agent]);
    client.hello("2025-11-25", json!({}))["instructions"].as_str().unwrap().to_owned()
}

/// Issue 44: the core memory is read, and a person sees what it replaces.
#[test]
fn the_core_memory_is_part_of_each_session() {
    let site = site("");
    let mut client = Client::connect(&site, "local");
    let update = |client: &mut Client, args: Value| -> String {
        let asked = client.call("memoryUpdateCore", args);
        assert_stands(&asked, "pending", "approval_pending");
        let shown = site.tools(["call", "show", &id_of(&asked)]).assert_code(0).stdout_text();
        site.json(["call", "approve", &id_of(&asked)]).expect(0);
        done(client, "call.wait", json!({"call_id": id_of(&asked)}));
        shown
    };
    let shown = update(&mut client, json!({"projectSummary": "A kitchen", "notes": ["Salt first"]}));
    assert!(shown.contains("core memory, notes: was empty, becomes [\"Salt first\"]"), "{shown}");
    let shown = update(&mut client, json!({"notes": ["Salt last"]}));
    assert!(shown.contains("was [\"Salt first\"], becomes [\"Salt last\"]"), "{shown}");
    let text = "Project:\n- A kitchen\nNotes:\n- Salt last\n";
    let told = instructions(&site, "local");
    assert!(told.ends_with(text) && told.contains("## Core memory"), "{told}");
    let begun = done(&mut client, "session.init", json!({"mode": "any"}));
    assert_eq!(
        (&begun["core_memory"]["version"], &begun["core_memory"]["notes"]),
        (&json!(2), &json!(["Salt last"]))
    );
    assert!(begun["system_prompt"].as_str().unwrap().ends_with(text), "{begun:#}");
    let listed = client.ask("resources/list", json!({}))["result"].clone();
    assert!(listed["resources"].as_array().unwrap().iter().any(|row| row["uri"] == CORE), "{listed:#}");
    let read = client.ask("resources/read", json!({"uri": CORE}))["result"].clone();
    assert_eq!(read["contents"][0]["text"], text, "{read:#}");
    let people = site.brigade.run(["work", "memory", "list", "--json"]).assert_code(0).json();
    let core = &people["core_memories"][0];
    assert_eq!(
        (&core["agent"], &core["projectSummary"]),
        (&json!("local"), &json!("A kitchen")),
        "{people:#}"
    );
    let shown = site.brigade.run(["work", "memory", "list"]).assert_code(0).stdout_text();
    assert!(shown.contains("core memory of local, version 2:") && shown.contains("- Salt last"), "{shown}");
    // An agent without an identity has none, and does not see that of another one.
    assert!(!instructions(&site, "ann").contains("Salt"));
    let mut ann = Client::connect(&site, "ann");
    assert_eq!(ann.refused("resources/read", json!({"uri": CORE})), -32002);
}

#[test]
fn the_dialogue_of_a_client_shows_what_is_replaced() {
    let site = site("");
    let dialogue = "identity = true\nconfirm = \"elicitation\"\nconfirm_risk = \"high\"";
    site.workspace.write(GATEWAY, site.workspace.read_text(GATEWAY).replace("identity = true", dialogue));
    let mut client = Client::start(&site, &["--as", "local"]);
    client.hello("2025-11-25", json!({"elicitation": {}}));
    let request = client.send_call("memory.update_core", json!({"notes": ["Salt"]}));
    let asked = client.heard("elicitation/create");
    let message = asked["params"]["message"].as_str().unwrap();
    assert!(message.contains("binds: core memory, notes: was empty, becomes [\"Salt\"]"), "{message}");
    let reply = json!({"action": "accept", "content": {}});
    client.write(json!({"jsonrpc": "2.0", "id": asked["id"], "result": reply}).to_string());
    assert_stands(&client.result(request), "completed", "");
}

/// Issue 44: instructions name what a session is shown, and nothing else.
#[test]
fn instructions_follow_the_tools_of_the_session() {
    let site = site("");
    let (all, plan) = (instructions(&site, "local"), instructions(&site, "ann"));
    for told in ["`memory.add`", "## Reports", "- memory: add, pin, search, update_core\n", "`ask.user`"] {
        assert!(all.contains(told), "{told}: {all}");
    }
    assert!(!plan.contains("memory.add") && plan.contains("- memory: search\n"), "{plan}");
    assert!(plan.contains("`session.exit_plan`") && !all.contains("exit_plan"), "{all}");
    assert!(all.len() <= 6 << 10 && plan.len() < all.len());
}

/// Issue 44: `spawnChat` starts a worker with the model that it names.
#[test]
fn a_chat_is_spawned_with_a_model() {
    let worker = brigade_testkit::fixtures().join("kitchen/worker.py");
    let scene =
        |site: &Site| format!("python3 -B {} {}", worker.display(), site.beside("scenario.json").display());
    let site = site("");
    let workers = format!(
        "\n[[worker]]\nid = \"mock\"\ncommand = \"{0} --model opus\"\nadapter = \"claude\"\n\n\
         [[worker]]\nid = \"bare\"\ncommand = {0:?}\n",
        scene(&site)
    );
    site.workspace.write(GATEWAY, site.workspace.read_text(GATEWAY) + &workers);
    let scenario = json!({"default": [{"output": "Cooked."}], "record": site.beside("calls")});
    fs::write(site.beside("scenario.json"), scenario.to_string()).unwrap();
    site.trust(["worker:mock", "worker:bare"]);
    let mut client = Client::connect(&site, "local");
    let chat = json!({"model": "haiku", "reasoningEffort": "high", "prompt": "Cook the soup."});
    let id = done(&mut client, "spawnChat", chat)["execution_id"].as_str().unwrap().to_owned();
    let ended = done(&mut client, "task.wait", json!({"execution_id": id, "timeout_seconds": 60}));
    assert_eq!(
        (&ended["status"], &ended["last_output"]),
        (&json!("completed"), &json!("Cooked.")),
        "{ended:#}"
    );
    let started = fs::read_to_string(site.beside("calls").join(format!("task-{id}.1"))).unwrap();
    let started: Value = serde_json::from_str(&started).unwrap();
    let words = started["words"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let words = words.collect::<Vec<_>>().join(" ");
    assert!(words.contains("--model haiku --effort high") && !words.contains("opus"), "{words}");
    assert!(started["prompt"].as_str().unwrap().contains("Cook the soup."), "{started:#}");
    // Its own names for interrupting, handing over and waking up.
    let next = done(&mut client, "handoffChat", json!({"sessionId": id, "reason": "Taste it."}));
    let next = next["execution_id"].clone();
    let ended = done(&mut client, "task.wait", json!({"execution_id": next, "timeout_seconds": 60}));
    assert_eq!(ended["status"], "completed", "{ended:#}");
    let late = client.call("interruptChat", json!({"sessionId": next}));
    assert!(text(&late).contains("completed"), "{late:#}");
    let woken = json!({"agentId": "brigade-chat", "prompt": "Serve it.", "reason": "It is noon."});
    done(&mut client, "triggerAgentWakeup", woken);
    let odd = client.call("spawnChat", json!({"model": "--dangerously-skip-permissions", "prompt": "x"}));
    assert_eq!(about(&odd)["code"], "invalid_arguments", "{odd:#}");
}

/// Issue 44: an adapter answers `issue.*` over standard input and output.
#[test]
fn issues_are_worked_on_over_an_adapter() {
    let bare = site("");
    let mut client = Client::connect(&bare, "local");
    assert!(client.names().iter().all(|name| !name.starts_with("issue.")));
    let absent = client.call("linearGetIssue", json!({"issueId": "ENG-1"}));
    assert_eq!(about(&absent)["code"], "not_available_here", "{absent:#}");
    assert!(text(&absent).contains("[issues]"), "{absent:#}");

    let adapter = brigade_testkit::fixtures().join("issues/tracker.py");
    let site = site("");
    let command = format!("python3 -B {} {}", adapter.display(), site.beside("issues.json").display());
    let issues = format!("\n[issues]\ncommand = {command:?}\n");
    site.workspace.write(GATEWAY, site.workspace.read_text(GATEWAY) + &issues);
    let tools = ["list", "get", "create", "update", "comment", "dispatch", "close"]
        .map(|name| format!("issue.{name}"));
    site.trust(tools.iter().map(String::as_str));
    let mut client = Client::connect(&site, "local");
    assert!(tools.iter().all(|tool| client.names().contains(tool)));
    let new = json!({"title": "Salt", "description": "Too little $(id) {x}", "labels": ["soup"], "project": "menu"});
    let made = done(&mut client, "issue.create", new)["issue"].clone();
    assert_eq!(
        (&made["identifier"], &made["state_type"]),
        (&json!("ENG-1"), &json!("unstarted")),
        "{made:#}"
    );
    let found =
        done(&mut client, "linearSearchIssues", json!({"projectSlug": "menu", "stateTypes": ["unstarted"]}));
    assert_eq!((&found["total"], &found["issues"][0]["title"]), (&json!(1), &json!("Salt")), "{found:#}");
    let id = json!("ENG-1");
    let sent = done(&mut client, "issue.dispatch", json!({"id": id, "assignee": "cook"}));
    assert_eq!(
        (&sent["issue"]["assignee"], &sent["issue"]["state"]),
        (&json!("cook"), &json!("In Progress"))
    );
    let said = done(&mut client, "linearAddComment", json!({"issueId": id, "body": "More salt"}));
    assert_eq!(said["comment_id"], "issue-1-1", "{said:#}");
    done(&mut client, "linearUpdateIssueState", json!({"issueId": id, "stateId": "Todo"}));
    done(&mut client, "issue.close", json!({"id": id, "note": "Tastes good"}));
    let got = done(&mut client, "linearGetIssue", json!({"issueId": id}))["issue"].clone();
    assert_eq!(
        (&got["state"], &got["comments"][1]["body"]),
        (&json!("Done"), &json!("Tastes good")),
        "{got:#}"
    );
    assert_eq!(got["description"], "Too little $(id) {x}");
    let none = client.call("issue.get", json!({"id": "ENG-9"}));
    assert_eq!((&none["isError"], &about(&none)["code"]), (&json!(true), &json!("not_found")), "{none:#}");
    assert!(text(&none).contains("there is no issue ENG-9"), "{none:#}");
    // A program that does not keep to the protocol.
    site.workspace.write(GATEWAY, site.workspace.read_text(GATEWAY).replace(&command, "echo done"));
    site.trust(["issue.list"]);
    let odd = client.call("issue.list", json!({}));
    assert_eq!(about(&odd)["code"], "provider_failed", "{odd:#}");
}
