//! Every tool that a mode lists works there: an agent without further rights calls each through MCP, with the fake
//! worker `fixtures/kitchen/worker.py`.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails when it cannot continue, and scenarios are next to the workspace"
)]

use std::collections::BTreeSet;
use std::fs;

use brigade_tests::{Site, until};
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, about};

const RULES: &str = r#"allowed_families = ["builtin"]
allowed_effects = ["local-read", "local-write", "state-write", "process-exec", "process-control"]

[[auto_approve]]
name = "all"
tools = ["execute.*", "execution.*", "agent.*", "workflow.*", "schema.*", "task.*", "fs.*", "file.*", "volume.*", "cmd.run"]
effects = ["local-read", "local-write", "state-write", "process-exec", "process-control"]
"#;

const PROFILES: &str = r#"[[profile]]
name = "context.commands"

[[profile.rule]]
match = "id:cmd.run"
action = "allow"
constrain = { commands = ["python3"] }
"#;

const POET: &str = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {name: poet}\nspec:\n  runtime: {language: python, \
                    version: '3'}\n  task: {instruction: Write a poem.}";

const LOOP: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {name: greet}\nspec:\n  initial_state: A\n  \
                    states:\n    A: {kind: System, command: echo hello, transitions: []}";

const GREETER: &str = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {name: greeter}\nspec:\n  runtime: {language: \
                       python, version: '3'}\n  task: {instruction: Greet.}\n  tools: [fs.read, cmd.run, task.list]\n";

/// A workspace with the agent `greeter`, and one agent of the gateway for each mode, without more rights than a user.
fn site() -> Site {
    let site = Site::empty();
    site.workspace.write(POLICY, RULES);
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write(".brigade/tools/profiles.toml", PROFILES);
    site.workspace.write("a.txt", "words\n");
    let worker = brigade_testkit::fixtures().join("kitchen/worker.py");
    let command = format!("python3 -B {} {}", worker.display(), site.beside("scenario.json").display());
    let mut agents = String::new();
    for mode in ["chat", "agentic", "execute", "architect", "any"] {
        let access = if mode == "any" { "operator" } else { "user" };
        agents.push_str(&format!(
            "[[agent]]\nname = \"{mode}\"\nprofiles = [\"access.{access}\", \"mode.{mode}\", \"permission.full-auto\", \
             \"context.commands\"]\n"
        ));
    }
    site.workspace.write(GATEWAY, format!("{agents}\n[[worker]]\nid = \"mock\"\ncommand = {command:?}\n"));
    let looks =
        json!({"mcp": [["fs.read", {"path": "a.txt"}], ["cmd.run", {"command": "python3 --version"}]]});
    let rules = json!([
        {"says": "Write the manifest of an agent", "do": [{"output": POET}]},
        {"says": "Write the manifest of a workflow", "do": [{"output": LOOP}]},
        {"says": "Write one program", "do": [{"output": "print(2)"}]},
        {"says": "Take long", "do": [{"sleep": 60}]},
        {"says": "Look", "do": [looks, {"output": "looked"}]},
        {"do": [{"output": "It is 2."}]},
    ]);
    let scenario = json!({"rules": rules, "brigade": brigade_testkit::brigade_binary(), "workspace": site.workspace.path()});
    fs::write(site.beside("scenario.json"), scenario.to_string()).unwrap();
    let mut operator = Client::connect(&site, "any");
    let deployed = operator.call("agent.create", json!({"manifest_yaml": GREETER}));
    assert_ne!(deployed["isError"], json!(true), "{deployed:#}");
    site
}

/// A client that notes the tools whose calls succeeded.
struct Walk {
    client: Client,
    done: BTreeSet<String>,
}

impl Walk {
    fn new(site: &Site, mode: &str) -> Walk {
        Walk { client: Client::connect(site, mode), done: BTreeSet::new() }
    }

    #[track_caller]
    fn call(&mut self, tool: &str, args: Value) -> Value {
        let result = self.client.call(tool, args);
        assert_ne!(result["isError"], json!(true), "{tool}: {result:#}");
        assert!(about(&result).is_null() || about(&result)["status"] == "completed", "{tool}: {result:#}");
        self.done.insert(tool.to_owned());
        result["structuredContent"].clone()
    }

    /// Calls a tool and returns a member of its result.
    #[track_caller]
    fn text(&mut self, tool: &str, args: Value, member: &str) -> String {
        let result = self.call(tool, args);
        result[member].as_str().unwrap_or_else(|| panic!("{tool} has no {member}: {result:#}")).to_owned()
    }

    /// Waits for an execution, which must complete.
    #[track_caller]
    fn wait(&mut self, tool: &str, id: &str) -> Value {
        let waited = self.call(tool, json!({"execution_id": id, "timeout_seconds": 60}));
        assert_eq!(waited["status"], "completed", "{tool}: {waited:#}");
        waited
    }

    /// Calls what every mode lists, and compares the listing with the calls that succeeded.
    #[track_caller]
    fn end(mut self, mode: &str) {
        assert_eq!(self.call("session.init", json!({"mode": mode}))["mode"], mode);
        self.call("session.docs", json!({"query": "how to create an agent"}));
        let to = self.call("session.mode", json!({"target_mode": mode, "reason": "It stays."}));
        assert_eq!(to["action"], "mode_switched", "{to:#}");
        self.call("budget.get", json!({}));
        self.call("call.list", json!({}));
        self.call("tools.list", json!({}));
        self.call("tools.search", json!({"query": "mode"}));
        self.call("tools.describe", json!({"name": "session.docs"}));
        self.call("tools.call", json!({"name": "session.docs", "arguments": {"query": "agent"}}));
        let listed: BTreeSet<String> = self.client.names().into_iter().collect();
        // These follow a call that waits or ran; other tests have them.
        let follow = ["call.cancel", "call.status", "call.wait", "output.read"];
        let left: Vec<&String> =
            listed.difference(&self.done).filter(|name| !follow.contains(&name.as_str())).collect();
        assert!(left.is_empty(), "mode.{mode} lists tools that were not called: {left:?}");
        assert!(self.done.is_subset(&listed), "{:?}", self.done.difference(&listed).collect::<Vec<_>>());
    }
}

/// Approves the only pending call of a tool.
fn approve(site: &Site, tool: &str) {
    let call = until("a call waits", || {
        let calls = site.json(["call", "list", "--status", "pending"]).json;
        calls["calls"].as_array()?.iter().find(|call| call["tool_id"] == tool).cloned()
    });
    site.json(["call", "approve", call["id"].as_str().unwrap()]).expect(0);
}

/// A task of this session reads the file and runs the command that its manifest allows, which no mode but `any` lists.
#[track_caller]
fn task_has_its_tools(walk: &mut Walk) {
    let id = walk.text("task.execute", json!({"agent_id": "greeter", "intent": "Look"}), "execution_id");
    assert_eq!(walk.wait("task.wait", &id)["last_output"], "looked");
    let told =
        walk.text("execution.file", json!({"execution_id": id, "path": "/workspace/mcp.json"}), "content");
    let told: Value = serde_json::from_str(&told).unwrap();
    let results = told["results"].as_array().unwrap();
    assert_eq!(results[0]["structuredContent"]["content"], "words\n", "{told:#}");
    assert_eq!(results[1]["structuredContent"]["exit_code"], 0, "{told:#}");
    for hidden in ["session.mode", "fs.write", "agent.list"] {
        assert!(!told["listed"].as_array().unwrap().contains(&json!(hidden)), "{told:#}");
    }
}

/// Generates an agent: a user's request, which a person approves.
#[track_caller]
fn generates_an_agent(site: &Site, walk: &mut Walk) {
    let id = walk.text("agent.generate", json!({"input": "An agent for poems"}), "execution_id");
    approve(site, "agent.create");
    walk.wait("agent.wait", &id);
    let agents = walk.call("agent.list", json!({}));
    let poet = agents["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "poet").cloned();
    let poet = poet.unwrap_or_else(|| panic!("{agents:#}"));
    walk.call("agent.logs", json!({"agent_id": poet["id"]}));
}

#[test]
fn all_tools_of_agentic_mode_work() {
    let site = site();
    let mut walk = Walk::new(&site, "agentic");
    generates_an_agent(&site, &mut walk);
    task_has_its_tools(&mut walk);
    let id = walk.text("task.execute", json!({"agent_id": "greeter", "intent": "Take long"}), "execution_id");
    walk.call("task.list", json!({}));
    assert_eq!(walk.call("task.cancel", json!({"execution_id": id}))["cancelled"], true);
    walk.call("task.logs", json!({"execution_id": id}));
    walk.end("agentic");
}

#[test]
fn all_tools_of_execute_mode_work() {
    let site = site();
    let mut walk = Walk::new(&site, "execute");
    let id = walk.text("execute.intent", json!({"intent": "What is 1 + 1?"}), "pipeline_execution_id");
    walk.wait("execute.wait", &id);
    walk.wait("workflow.wait", &id);
    let stands = walk.call("execute.status", json!({"pipeline_execution_id": id}));
    assert_eq!(stands["final_result"], "It is 2.", "{stands:#}");
    let program = walk.call("execution.file", json!({"execution_id": id, "path": "/workspace/main.py"}));
    assert_eq!(program["content"], "print(2)", "{program:#}");
    walk.end("execute");
}

#[test]
fn all_tools_of_architect_mode_work() {
    let site = site();
    let mut walk = Walk::new(&site, "architect");
    let id = walk.text("workflow.generate", json!({"input": "A workflow that greets"}), "execution_id");
    approve(&site, "workflow.create");
    walk.wait("workflow.wait", &id);
    walk.call("workflow.logs", json!({"execution_id": id}));
    let listed = walk.call("workflow.list", json!({}));
    assert!(listed.to_string().contains("\"greet\""), "{listed:#}");
    generates_an_agent(&site, &mut walk);
    task_has_its_tools(&mut walk);
    walk.call("schema.get", json!({"key": "agent/manifest/v1"}));
    let valid = walk.call("schema.validate", json!({"kind": "agent", "manifest_yaml": GREETER}));
    assert_eq!(valid["valid"], true, "{valid:#}");
    walk.end("architect");
}

#[test]
fn all_tools_of_chat_mode_work() {
    Walk::new(&site(), "chat").end("chat");
}

#[test]
fn a_session_that_switched_to_execute_executes() {
    // The overlay of `session.init` is a mode, too.
    let site = site();
    let mut walk = Walk::new(&site, "any");
    walk.call("zaru.init", json!({"mode": "execute"}));
    let id = walk.text("execute.intent", json!({"intent": "What is 1 + 1?"}), "pipeline_execution_id");
    walk.wait("execute.wait", &id);
    assert!(!walk.client.names().contains(&"fs.write".to_owned()));
}
