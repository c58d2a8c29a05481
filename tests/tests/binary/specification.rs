//! Every tool that the two specifications name, as `fixtures/specification` has it, against the listing and real calls.
//!
//! `cargo xtask fixtures` writes these tables. What differs on purpose is in [`DIFFERENCES`], each with the words of a
//! user page that say so.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "the test sets up files, programs and a server, and fails when it cannot continue"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use brigade_tests::{Site, until};
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, about, add, id_of, stands};

/// Members of results that differ on purpose: the tool, the path of the member, and the words of
/// docs/builtin-tools.md that say so.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    ("aegis.execute.intent", "stream_url", "`execute.intent` has no `stream_url`"),
    ("aegis.execution.file", "download_url", "`resource.blob` instead of `download_url`"),
    ("aegis.runtime.list", "runtimes.image", "runtimes have no `image`"),
];

/// Names that are known and never there, with the words of docs/builtin-tools.md that say so.
const NEVER: &[&str] = &["createTerminal", "updatePipelineSettings"];

/// Defaults that a specification describes in words, where the schema has none.
const DESCRIBED: &[&str] = &["current tenant", "local tenant", "latest", "ephemeral", "current branch"];

const EFFECTS: &str = r#"["local-read", "local-write", "local-delete", "state-write", "memory-write", "process-exec", "process-control", "network", "remote-read", "remote-mutation"]"#;

const PROFILES: &str = r#"[[profile]]
name = "context.commands"

[[profile.rule]]
match = "id:cmd.run"
action = "allow"
constrain = { commands = ["python3", "bash", "echo"], effects = ["network", "local-write"] }
"#;

fn table(name: &str) -> Vec<Value> {
    let path = brigade_testkit::fixtures().join("specification").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Starts a server with one page.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).unwrap();
            let answer =
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 11\r\n\r\n<h2>Two</h2";
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    port
}

/// A workspace where everything is there, with the results of all calls by the name of the tool.
struct Play {
    site: Site,
    client: Client,
    seen: BTreeMap<String, Vec<Value>>,
    given: BTreeMap<String, BTreeSet<String>>,
    page: String,
}

impl Play {
    fn new() -> Play {
        let (site, port) = (Site::empty(), server());
        let origin = site.beside("origin.git").display().to_string();
        let policy = format!(
            "allowed_families = [\"builtin\", \"script\"]\nallowed_effects = {EFFECTS}\n\n\
             [[auto_approve]]\nname = \"all\"\ntools = [\"*\"]\neffects = {EFFECTS}\n\n\
             [git]\nurls = [{origin:?}]\n\n[web]\ndomains = [\"127.0.0.1:{port}\"]\n\n\
             [programs]\ncapture = \"./screen.sh\"\n"
        );
        let fixtures = brigade_testkit::fixtures();
        let line = |program: &str, file: &str| {
            format!("python3 -B {} {}", fixtures.join(program).display(), site.beside(file).display())
        };
        let (worker, tracker) =
            (line("kitchen/worker.py", "scenario.json"), line("issues/tracker.py", "issues.json"));
        let gateway = format!(
            "[[agent]]\nname = \"local\"\nidentity = true\n\
             profiles = [\"access.operator\", \"permission.full-auto\", \"context.commands\"]\n\n\
             [[worker]]\nid = \"mock\"\ncommand = {worker:?}\nadapter = \"claude\"\n\n\
             [issues]\ncommand = {tracker:?}\n\n[web]\nsearch = {{ folder = \"docs\" }}\n"
        );
        let rules = json!({
            "rules": [
                {"says": "Write one program", "do": [{"output": "print('hello')"}]},
                {"says": "Write the manifest of an agent", "do": [{"output": AGENT.replace("greeter", "poet")}]},
                {"says": "Write the manifest of a workflow", "do": [{"output": workflow("made", "1.0.0")}]},
                {"says": "Take your time", "do": [{"sleep": 120}]},
            ],
            "default": [{"write": "out.txt", "text": "left\n"}, {"write": "out.bin", "text": "\u{0}"}, {"output": "Hello"}],
        });
        fs::write(site.beside("scenario.json"), rules.to_string()).unwrap();
        for (path, text) in [
            (POLICY, policy.as_str()),
            (GATEWAY, &gateway),
            (".brigade/tools.toml", ""),
            (".brigade/tools/profiles.toml", PROFILES),
            (".gitignore", ".brigade/\n"),
            ("schemas/text.json", r#"{"type": "object", "properties": {"text": {"type": "string"}}}"#),
            ("docs/soup.md", "# Soup\n\nSalt comes last.\n"),
            ("a.txt", "one\ntwo\n"),
        ] {
            site.workspace.write(path, text);
        }
        site.write_program("screen.sh", "#!/bin/sh\nprintf '\\211PNG\\r\\n\\032\\nbytes'\n");
        add(&site, "unit", "categories = [\"test\"]\n", "echo passed\n");
        site.workspace.git_init();
        site.workspace.git(["init", "--quiet", "--bare", "--initial-branch=main", &origin]);
        site.workspace.git(["remote", "add", "origin", &origin]);
        site.workspace.git(["push", "--quiet", "--set-upstream", "origin", "main"]);
        let issues = ["list", "get", "create", "update", "comment", "dispatch", "close"];
        let issues: Vec<String> = issues.iter().map(|name| format!("issue.{name}")).collect();
        let own = ["proof.screenshot", "worker:mock", "unit"];
        site.trust(issues.iter().map(String::as_str).chain(own));
        let client = Client::connect(&site, "local");
        let page = format!("http://127.0.0.1:{port}/page");
        Play { site, client, seen: BTreeMap::new(), given: BTreeMap::new(), page }
    }

    /// Calls a tool, as a person who agrees, and notes its result. Returns the structured result.
    #[track_caller]
    fn call(&mut self, tool: &str, args: Value) -> Value {
        let result = self.result(tool, &args);
        assert_ne!(result["isError"], json!(true), "{tool} {args}: {result:#}");
        result["structuredContent"].clone()
    }

    #[track_caller]
    fn result(&mut self, tool: &str, args: &Value) -> Value {
        let names = args.as_object().unwrap().keys().cloned();
        self.given.entry(tool.to_owned()).or_default().extend(names);
        let mut result = self.client.call(tool, args.clone());
        while stands(&result).1 == "approval_pending" {
            let id = id_of(&result);
            self.site.json(["call", "approve", &id]).expect(0);
            result = self.client.call("call.wait", json!({"call_id": id}));
        }
        self.seen.entry(tool.to_owned()).or_default().push(result["structuredContent"].clone());
        result
    }
}

const AGENT: &str = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {name: greeter, version: 1.0.0, description: Greets, \
                     labels: {role: worker}}\nspec:\n  runtime: {language: python, version: '3'}\n  task: {instruction: Greet.}";

fn workflow(name: &str, version: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{name: {name}, version: {version}, description: Asks}}\n\
         spec:\n  initial_state: A\n  states:\n    A: {{kind: System, command: echo hello, transitions: [{{target: B}}]}}\n    \
         B: {{kind: Human, prompt: Go on?, transitions: [{{condition: input_equals_yes, target: C}}]}}\n    \
         C: {{kind: System, command: echo done, transitions: []}}\n"
    )
}

/// Plays files, commands, the web, schemas and the system.
fn play_files(play: &mut Play) {
    let path = |path: &str| json!({"path": path});
    play.call("fs.read", path("/workspace/a.txt"));
    play.call("fs.write", json!({"path": "src/b.txt", "content": "one\n"}));
    play.call("fs.list", path("src"));
    play.call("fs.create_dir", path("empty"));
    play.call("fs.delete", json!({"path": "empty", "recursive": true}));
    play.call("fs.edit", json!({"path": "src/b.txt", "target_content": "one", "replacement_content": "two"}));
    let edits = json!([{"target_content": "two", "replacement_content": "three"}]);
    play.call("fs.multi_edit", json!({"path": "src/b.txt", "edits": edits}));
    play.call("fs.grep", json!({"pattern": "three", "path": "."}));
    play.call("fs.glob", json!({"pattern": "**/*.txt", "path": "."}));
    play.call("web.search", json!({"query": "salt"}));
    play.call("web.fetch", json!({"url": play.page.clone()}));
    play.call("cmd.run", json!({"command": "echo hello"}));
    for key in ["agent/manifest/v1", "workflow/manifest/v1"] {
        play.call("aegis.schema.get", json!({"key": key}));
    }
    for text in [AGENT, "kind: Agent"] {
        play.call("aegis.schema.validate", json!({"kind": "agent", "manifest_yaml": text}));
    }
    for tool in ["aegis.system.info", "aegis.system.config", "aegis.tools.list", "aegis.runtime.list"] {
        play.call(tool, json!({}));
    }
    play.call("aegis.tools.search", json!({"query": "workflow"}));
}

/// Plays agents, tasks and what they leave.
fn play_agents(play: &mut Play) {
    let made = play.call("aegis.agent.create", json!({"manifest_yaml": AGENT, "force": false}));
    let id = made["agent_id"].clone();
    play.call(
        "aegis.agent.update",
        json!({"manifest_yaml": AGENT.replace("1.0.0", "1.0.1"), "force": false}),
    );
    play.call("aegis.agent.list", json!({}));
    play.call("aegis.agent.export", json!({"name": "greeter"}));
    play.call("aegis.agent.search", json!({"query": "greets", "limit": 5, "min_score": 0.1}));
    let task = json!({"agent_id": "greeter", "intent": "Greet Bob.", "input": {"prompt": "Hi"}});
    let task = play.call("aegis.task.execute", task)["execution_id"].clone();
    let of = json!({"execution_id": task});
    play.call(
        "aegis.task.wait",
        json!({"execution_id": task, "poll_interval_seconds": 1, "timeout_seconds": 60}),
    );
    for tool in ["aegis.agent.wait", "aegis.task.status", "aegis.task.logs"] {
        play.call(tool, of.clone());
    }
    play.call("aegis.task.list", json!({"agent_id": id, "limit": 5}));
    for file in ["out.txt", "/workspace/out.bin"] {
        play.call("aegis.execution.file", json!({"execution_id": task, "path": file}));
    }
    play.call("aegis.agent.logs", json!({"agent_id": id, "limit": 5, "offset": 0}));
    let slow = json!({"agent_id": "greeter", "intent": "Take your time."});
    let slow = play.call("aegis.task.execute", slow)["execution_id"].clone();
    play.call("aegis.task.cancel", json!({"execution_id": slow}));
    play.call("aegis.task.remove", of);
    let made = play.call("aegis.agent.generate", json!({"input": "An agent that writes poems"}));
    play.call("workflow.wait", json!({"execution_id": made["execution_id"], "timeout_seconds": 60}));
    let poet = play.call("aegis.agent.export", json!({"name": "poet"}));
    play.call("aegis.agent.delete", json!({"agent_id": poet["id"]}));
}

/// Plays workflows, their executions, and intents.
fn play_workflows(play: &mut Play) {
    let (first, second) = (workflow("ask", "1.0.0"), workflow("ask", "1.0.1"));
    for text in [first.as_str(), "kind: Workflow"] {
        play.call("aegis.workflow.validate", json!({"manifest_yaml": text}));
    }
    play.call("aegis.workflow.create", json!({"manifest_yaml": first, "force": false}));
    play.call("aegis.workflow.update", json!({"manifest_yaml": second, "force": false}));
    play.call("aegis.workflow.list", json!({"scope": "visible"}));
    play.call("aegis.workflow.export", json!({"name": "ask"}));
    play.call("aegis.workflow.search", json!({"query": "asks"}));
    let run = |play: &mut Play| {
        play.call(
            "aegis.workflow.run",
            json!({"name": "ask", "intent": "Go", "input": {"a": 1}, "blackboard": {}}),
        )["execution_id"]
            .clone()
    };
    let id = run(play);
    let of = json!({"execution_id": id});
    until("the workflow waits", || {
        (play.call("aegis.workflow.status", of.clone())["status"] == "waiting").then_some(())
    });
    play.call(
        "aegis.workflow.wait",
        json!({"execution_id": id, "poll_interval_seconds": 1, "timeout_seconds": 1}),
    );
    play.result("aegis.workflow.remove", &of);
    play.call("aegis.workflow.signal", json!({"execution_id": id, "response": "yes"}));
    play.call("aegis.workflow.wait", json!({"execution_id": id, "timeout_seconds": 60}));
    for tool in ["aegis.workflow.executions.get", "aegis.workflow.logs"] {
        play.call(tool, of.clone());
    }
    play.call("aegis.workflow.executions.list", json!({"workflow_id": "ask", "limit": 5, "offset": 0}));
    play.result("aegis.workflow.signal", &json!({"execution_id": id, "response": "yes"}));
    play.result("aegis.workflow.cancel", &of);
    let other = run(play);
    play.call("aegis.workflow.cancel", json!({"execution_id": other}));
    play.call("aegis.workflow.remove", of);
    play.call("aegis.workflow.promote", json!({"name": "ask", "target_scope": "global"}));
    play.call("aegis.workflow.demote", json!({"name": "ask", "target_scope": "tenant"}));
    let made = play.call("aegis.workflow.generate", json!({"input": "A workflow that asks"}));
    play.call("workflow.wait", json!({"execution_id": made["execution_id"], "timeout_seconds": 60}));
    play.call("aegis.workflow.delete", json!({"name": "made"}));
    let intent = json!({"intent": "Say hello", "inputs": {}, "language": "python", "timeout_seconds": 60});
    let id = play.call("aegis.execute.intent", intent)["pipeline_execution_id"].clone();
    play.call("aegis.execute.status", json!({"pipeline_execution_id": id}));
    play.call("aegis.execute.wait", json!({"execution_id": id, "timeout_seconds": 1}));
    play.call(
        "aegis.execute.wait",
        json!({"execution_id": id, "poll_interval_seconds": 1, "timeout_seconds": 90}),
    );
    play.call("aegis.execute.status", json!({"pipeline_execution_id": id}));
    let lost = json!({"intent": "Say hello", "language": "bash"});
    let lost = play.call("aegis.execute.intent", lost)["pipeline_execution_id"].clone();
    play.call("aegis.execute.wait", json!({"execution_id": lost, "timeout_seconds": 90}));
    play.call("aegis.execute.status", json!({"pipeline_execution_id": lost}));
}

/// Plays volumes, repositories and scripts.
fn play_stores(play: &mut Play) {
    let volume = play.call("aegis.volume.create", json!({"label": "v", "size_limit_bytes": 10_000}));
    let at = |path: &str| json!({"volume_id": volume["volume_id"], "path": path});
    play.call("aegis.file.mkdir", at("d"));
    let mut file = at("d/a.txt");
    file["content"] = json!("text");
    play.call("aegis.file.write", file);
    play.call("aegis.file.read", at("d/a.txt"));
    play.call("aegis.file.list", at("d"));
    play.call("aegis.file.delete", at("d/a.txt"));
    play.call("aegis.volume.list", json!({}));
    play.call("aegis.volume.quota", json!({}));
    play.call("aegis.volume.delete", json!({"volume_id": volume["volume_id"]}));
    let url = play.site.beside("origin.git").display().to_string();
    let clone = json!({"repo_url": url, "label": "copy", "git_ref": {"kind": "branch", "value": "main"}, "shallow": true});
    let made = play.call("aegis.git.clone", clone);
    let id = made["binding"]["binding_id"].as_str().unwrap_or_else(|| panic!("{made:#}")).to_owned();
    let of = json!({"binding_id": id});
    play.call("aegis.git.list", json!({"page": 1, "limit": 10}));
    play.call("aegis.git.status", of.clone());
    play.call("aegis.git.refresh", of.clone());
    play.call("aegis.git.diff", json!({"binding_id": "workspace", "staged": false}));
    play.call("aegis.git.commit", json!({"binding_id": "workspace", "message": "Add b"}));
    play.call("aegis.git.push", json!({"binding_id": "workspace", "remote": "origin", "ref": "main"}));
    play.call("aegis.git.delete", of);
    let script = json!({"name": "s", "code": "x", "description": "d", "tags": ["t"]});
    let saved = play.call("aegis.script.save", script);
    let id = saved["id"].clone();
    play.call("aegis.script.list", json!({"tag": "t", "q": "s"}));
    play.call("aegis.script.get", json!({"id": id}));
    play.call(
        "aegis.script.update",
        json!({"id": id, "name": "s", "code": "y", "description": "d", "tags": []}),
    );
    play.call("aegis.script.delete", json!({"id": id}));
}

/// Plays the tools of the second specification, under its names.
fn play_chats(play: &mut Play) {
    play.call("readFile", json!({"path": "a.txt"}));
    play.call("writeFile", json!({"path": "c.txt", "content": "one"}));
    play.call("editFile", json!({"path": "c.txt", "old_string": "one", "new_string": "two"}));
    play.call("bash", json!({"command": "echo hello", "timeout": 5_000}));
    play.call("grep", json!({"pattern": "two"}));
    play.call("glob", json!({"pattern": "*.txt"}));
    play.call("webFetch", json!({"url": play.page.clone()}));
    play.call("webSearch", json!({"query": "salt"}));
    let memory = json!({"content": "Salt comes last", "category": "convention", "scope": "agent", "scopeOwnerId": "local",
        "importance": "high", "pin": false, "writeMode": "strict"});
    let memory = play.call("memoryAdd", memory);
    play.call(
        "memorySearch",
        json!({"query": "salt", "scope": "agent", "scopeOwnerId": "local", "limit": 5}),
    );
    play.call("memoryPin", json!({"id": memory["id"]}));
    play.call("memoryUpdateCore", json!({"notes": ["Taste it"]}));
    play.call("TodoWrite", json!({"todos": [{"content": "Cook", "status": "pending"}]}));
    play.call("TodoRead", json!({}));
    play.ask();
    let lane = play.call("createLane", json!({"name": "Soup", "description": "Salt it"}));
    let id = lane["lane_id"].clone();
    play.call("createLane", json!({"name": "Side", "parentLaneId": id}));
    let path = lane["worktree_path"].as_str().unwrap().to_owned();
    play.site.workspace.write(format!("{path}/soup.txt"), "salt\n");
    play.site.workspace.git(["-C", &path, "add", "soup.txt"]);
    play.site.workspace.git(["-C", &path, "commit", "--quiet", "-m", "Add soup"]);
    let request = play.call("createPrFromLane", json!({"laneId": id, "title": "Soup", "body": "With salt."}));
    let number = request["pr_id"].clone();
    play.site
        .brigade
        .run(["work", "pr", "comment", "1", "More?", "--path", "soup.txt", "--line", "1"])
        .assert_code(0);
    let seen = play.call("prRefreshIssueInventory", json!({"prNumber": 1}));
    assert!(number.is_string() && seen["threads"].is_array(), "{seen:#}");
    let thread = seen["threads"][0]["id"].clone();
    play.call("prRerunFailedChecks", json!({"prNumber": 1}));
    play.call("prReplyToReviewThread", json!({"threadId": thread, "body": "Yes."}));
    play.call("prResolveReviewThread", json!({"threadId": thread}));
    for tool in ["getIssueInventory", "refreshIssueInventory"] {
        play.call(tool, json!({"prNumber": 1}));
    }
    play.call("captureScreenshot", json!({}));
    let report =
        json!({"status": "blocked", "summary": "Cooked", "artifacts": [], "blockerDescription": "No salt"});
    play.call("reportCompletion", report);
    play_control(play, &id);
}

/// Plays the tools that control others.
fn play_control(play: &mut Play, lane: &Value) {
    let chat =
        json!({"laneId": lane, "model": "haiku", "reasoningEffort": "high", "prompt": "Take your time."});
    let chat = play.call("spawnChat", chat)["execution_id"].clone();
    let next = play.call("handoffChat", json!({"sessionId": chat, "reason": "Late"}))["execution_id"].clone();
    play.call("interruptChat", json!({"sessionId": next}));
    play.call("triggerAgentWakeup", json!({"agentId": "greeter", "prompt": "Hi"}));
    play.call("runCommand", json!({"command": "echo hello"}));
    for tool in ["listLanes", "listWorkers", "listMissions", "getPipelineSettings", "listTestSuites"] {
        play.call(tool, json!({}));
    }
    play.call("inspectLane", json!({"laneId": lane}));
    let side = play.call("createLane", json!({"name": "Empty"}))["lane_id"].clone();
    play.call("renameLane", json!({"laneId": side, "name": "Nothing"}));
    play.call("archiveLane", json!({"laneId": side}));
    play.call("createAgent", json!({"manifest_yaml": AGENT.replace("greeter", "waiter")}));
    let newer = AGENT.replace("greeter", "waiter").replace("1.0.0", "1.0.1");
    play.call("updateAgent", json!({"manifest_yaml": newer}));
    let mission = play.call("startMission", json!({"name": "ask"}))["execution_id"].clone();
    let of = json!({"execution_id": mission});
    for tool in ["pauseMission", "resumeMission", "cancelMission"] {
        play.call(tool, of.clone());
    }
    play.call("runTestSuite", json!({"suite": "unit"}));
    play.call("listTestRuns", json!({"suite": "unit"}));
    play.result("stopTestSuite", &json!({"suite": "unit"}));
    for tool in NEVER {
        let absent = play.result(tool, &json!({}));
        assert_eq!(about(&absent)["code"], "not_available_here", "{absent:#}");
    }
}

/// Plays the session, which ends with fewer tools.
fn play_session(play: &mut Play) {
    play.call("zaru.docs", json!({"query": "how to create an agent"}));
    play.call("zaru.mode", json!({"target_mode": "agentic", "reason": "This needs an agent."}));
    play.call("zaru.init", json!({"mode": "chat"}));
}

impl Play {
    /// Asks a person, who answers at the command line.
    fn ask(&mut self) {
        let request = self.client.send_call("askUser", json!({"question": "Salt?"}));
        let id = until("a question waits", || {
            let brief = self.site.brigade.run(["work", "brief", "--json"]).assert_code(0).json();
            Some(
                brief["waiting"].as_array()?.iter().find(|row| row["kind"] == "question")?["id"]
                    .as_str()?
                    .to_owned(),
            )
        });
        self.site.brigade.run(["work", "answer", &id, "--text", "yes"]).assert_code(0);
        let result = self.client.result(request);
        self.given.entry("askUser".to_owned()).or_default().insert("question".to_owned());
        self.seen.entry("askUser".to_owned()).or_default().push(result["structuredContent"].clone());
    }
}

/// Returns whether a value has the members of a shape, in its types. An example in a list may be null by chance.
fn fits(shape: &Value, value: &Value, is_listed: bool) -> bool {
    let has =
        |(name, shape): (&String, &Value)| value.get(name).is_some_and(|value| fits(shape, value, is_listed));
    match shape {
        Value::Object(members) => members.iter().all(has),
        Value::Array(items) => {
            value.as_array().is_some_and(|values| values.iter().all(|value| fits(&items[0], value, true)))
        }
        _ => match shape.as_str().unwrap() {
            "any" => true,
            "null" => value.is_null() || is_listed,
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "string" => value.is_string(),
            other => panic!("unknown type {other}"),
        },
    }
}

/// Compares the parameters of a tool with the schema of its listing.
fn parameters(tool: &Value, described: &Value, found: &mut Vec<(String, String)>) {
    let name = tool["name"].as_str().unwrap();
    let schema = &described["input_schema"];
    for parameter in tool["parameters"].as_array().unwrap() {
        let parameter_name = parameter["name"].as_str().unwrap();
        let property = &schema["properties"][parameter_name];
        let mut differs =
            |what: String| found.push((name.to_owned(), format!("parameter {parameter_name}: {what}")));
        if property.is_null() {
            differs("missing".to_owned());
            continue;
        }
        if property["type"] != parameter["type"] {
            differs(format!("type {}", property["type"]));
        }
        let required = schema["required"].as_array().is_some_and(|all| all.contains(&parameter["name"]));
        if json!(required) != parameter["required"] {
            differs(format!("required {required}"));
        }
        let bare = |value: &Value| value.to_string().replace(['"', ' ', '\\'], "");
        match (&parameter["default"], &property["default"]) {
            (Value::Null, Value::Null) => {}
            (Value::String(text), Value::Null) if DESCRIBED.contains(&text.as_str()) => {}
            (theirs, ours) if bare(theirs) == bare(ours) => {}
            (_, ours) => differs(format!("default {ours}")),
        }
    }
}

/// Removes a member from a shape, by its path through members and lists. Returns whether the shape had it.
fn remove(shape: &mut Value, path: &str) -> bool {
    match (shape, path.split_once('.')) {
        (Value::Array(items), _) => remove(&mut items[0], path),
        (Value::Object(members), None) => members.remove(path).is_some(),
        (shape, Some((name, rest))) => shape.get_mut(name).is_some_and(|shape| remove(shape, rest)),
        _ => false,
    }
}

/// Compares the results of calls with the examples of a tool: each result fits one, and each example occurs.
fn results(tool: &Value, seen: &[Value], found: &mut Vec<(String, String)>) {
    let name = tool["name"].as_str().unwrap();
    let mut shapes = tool["results"].as_array().unwrap().clone();
    for (_, path, _) in DIFFERENCES.iter().filter(|row| row.0 == name) {
        let removed = shapes.iter_mut().map(|shape| remove(shape, path)).filter(|removed| *removed);
        assert_eq!(removed.count(), 1, "{name} {path}");
    }
    for (at, shape) in
        shapes.iter().enumerate().filter(|(_, shape)| !seen.iter().any(|value| fits(shape, value, false)))
    {
        let occurs = |name: &str, shape| {
            seen.iter().any(|value| value.get(name).is_some_and(|value| fits(shape, value, false)))
        };
        let missing = shape.as_object().unwrap().iter().filter(|(name, shape)| !occurs(name, shape));
        let missing: Vec<&str> = missing.map(|(name, _)| name.as_str()).collect();
        found.push((name.to_owned(), format!("example {at} does not occur: {}", missing.join(", "))));
    }
    let is_other =
        |value: &&Value| !shapes.is_empty() && !shapes.iter().any(|shape| fits(shape, value, false));
    for value in seen.iter().filter(is_other) {
        let text: String = value.to_string().chars().take(300).collect();
        found.push((name.to_owned(), format!("another result: {text}")));
    }
}

/// Checks that a page of the documentation has these words.
#[track_caller]
fn page_says(play: &mut Play, page: &str, words: &str) {
    let read =
        play.client.ask("resources/read", json!({"uri": format!("brigade://docs/{page}")}))["result"].clone();
    let text = read["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{page}: {read:#}"));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(words), "docs/{page}.md does not say {words}");
}

/// Issue 44: everything that the specifications name is there, under its name and in its form.
#[test]
fn every_tool_of_the_specifications_works() {
    let mut play = Play::new();
    let (aegis, ade) = (table("aegis-tools.json"), table("ade-tools.json"));
    let mut found = Vec::new();
    for tool in &aegis {
        let described = play.client.call("tools.describe", json!({"name": tool["name"]}));
        parameters(tool, &described["structuredContent"], &mut found);
    }
    play_files(&mut play);
    play_agents(&mut play);
    play_workflows(&mut play);
    play_stores(&mut play);
    play_chats(&mut play);
    let never = NEVER.iter().map(|name| format!("`{name}`"));
    for words in DIFFERENCES.iter().map(|(.., words)| (*words).to_owned()).chain(never) {
        page_says(&mut play, "builtin-tools", &words);
    }
    play_session(&mut play);
    let none = Vec::new();
    for tool in aegis.iter().chain(&ade) {
        let name = tool["name"].as_str().unwrap();
        let seen = play.seen.get(name).unwrap_or(&none);
        assert!(!seen.is_empty(), "{name} is not called");
        results(tool, seen, &mut found);
    }
    for tool in &ade {
        let given = &play.given[tool["name"].as_str().unwrap()];
        for parameter in tool["parameters"].as_array().unwrap() {
            let parameter = parameter["name"].as_str().unwrap();
            assert!(given.contains(parameter), "{}: no call gives {parameter}", tool["name"]);
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
