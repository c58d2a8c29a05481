//! `execute.*`, `agent.generate` and `workflow.generate`: shipped workflows with the fake worker
//! `fixtures/kitchen/worker.py`.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails when it cannot continue, and scenarios are next to the workspace"
)]

use std::fs;

use brigade_tests::{Site, until};
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, about, text};

const RULES: &str = r#"allowed_families = ["builtin"]
allowed_effects = ["local-read", "local-write", "state-write", "process-exec", "process-control", "network"]

[[auto_approve]]
name = "intents"
tools = ["execute.*", "agent.*", "workflow.*", "schema.*", "task.*", "fs.*", "file.*", "volume.*", "cmd.run"]
effects = ["local-read", "local-write", "state-write", "process-exec", "process-control", "network"]
"#;

/// Two agents: the context of one grants commands the network, the other has fewer rights.
const AGENTS: &str = r#"[[agent]]
name = "local"
profiles = ["access.operator", "permission.full-auto", "context.commands"]

[[agent]]
name = "ann"
profiles = ["access.user", "permission.full-auto", "context.commands"]
"#;

const PROFILES: &str = r#"[[profile]]
name = "context.commands"

[[profile.rule]]
match = "id:cmd.run"
action = "allow"
constrain = { commands = ["python3", "bash"], effects = ["network", "local-write"] }
"#;

/// A workspace whose worker follows these rules.
fn site(rules: &Value) -> Site {
    let site = Site::empty();
    site.workspace.write(POLICY, RULES);
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write(".brigade/tools/profiles.toml", PROFILES);
    let worker = brigade_testkit::fixtures().join("kitchen/worker.py");
    let command = format!("python3 -B {} {}", worker.display(), site.beside("scenario.json").display());
    site.workspace.write(GATEWAY, format!("{AGENTS}\n[[worker]]\nid = \"mock\"\ncommand = {command:?}\n"));
    let scenario = json!({"rules": rules, "record": site.beside("calls")});
    fs::write(site.beside("scenario.json"), scenario.to_string()).unwrap();
    site
}

/// Returns the prompts of the worker, in the order of its starts.
fn prompts(site: &Site) -> Vec<String> {
    let Ok(files) = fs::read_dir(site.beside("calls")) else { return Vec::new() };
    let mut files: Vec<_> = files.map(|entry| entry.unwrap()).collect();
    files.sort_by_key(|file| file.metadata().unwrap().modified().unwrap());
    let read = |file: &fs::DirEntry| -> Value {
        serde_json::from_str(&fs::read_to_string(file.path()).unwrap()).unwrap()
    };
    files.iter().map(|file| read(file)["prompt"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn done(client: &mut Client, tool: &str, args: Value) -> Value {
    let result = client.call(tool, args);
    assert_ne!(result["isError"], json!(true), "{tool}: {result:#}");
    result["structuredContent"].clone()
}

#[track_caller]
fn fails(client: &mut Client, tool: &str, args: Value, code: &str) {
    let result = client.call(tool, args.clone());
    assert_eq!(
        (&result["isError"], &about(&result)["code"]),
        (&json!(true), &json!(code)),
        "{tool} {args}: {result:#}"
    );
}

/// Starts the execution of an intent, and returns its id.
#[track_caller]
fn begin(client: &mut Client, args: Value) -> String {
    let started = done(client, "aegis.execute.intent", args);
    assert_eq!(started["status"], "started", "{started:#}");
    started["pipeline_execution_id"].as_str().unwrap().to_owned()
}

/// Waits for the end of an execution, and returns its status for the caller.
#[track_caller]
fn ended(client: &mut Client, id: &str) -> Value {
    let waited = done(client, "execute.wait", json!({"execution_id": id, "timeout_seconds": 90}));
    let logs = done(client, "workflow.logs", json!({"execution_id": id, "limit": 200}));
    assert_eq!(waited["timed_out"], json!(false), "{waited:#}\n{logs:#}");
    done(client, "execute.status", json!({"pipeline_execution_id": id}))
}

/// A program that adds two numbers and checks that it has no network and cannot write files.
const PROGRAM: &str = r#"import json, socket, sys
given = json.loads(sys.argv[1])
try:
    socket.create_connection(("127.0.0.1", 9), 2)
except PermissionError:
    print("no network")
except OSError as error:
    print("network:", error)
try:
    open("left.txt", "w")
    print("writes")
except OSError:
    print("writes nothing")
print(given["a"] + given["b"])
"#;

#[test]
fn shipped_program_runs_without_network() {
    let rules = json!([
        {"says": "is no valid python", "do": [{"output": "import sys\nsys.exit('no numbers')\n"}]},
        {"says": "failed with 1", "do": [{"output": PROGRAM}]},
        {"says": "Write one program", "do": [{"output": "print('broken\n"}]},
        {"says": "writes nothing\\n5", "do": [{"output": "The sum is 5."}]},
    ]);
    let site = site(&rules);
    let mut client = Client::connect(&site, "local");
    let id = begin(&mut client, json!({"intent": "Add a and b", "inputs": {"a": 2, "b": 3}}));
    let stands = ended(&mut client, &id);
    let logs = done(&mut client, "workflow.logs", json!({"execution_id": id, "limit": 200}));
    assert_eq!(stands["status"], "completed", "{stands:#}\n{logs:#}");
    assert_eq!(stands["final_result"], "The sum is 5.", "{stands:#}\n{:#?}", prompts(&site));
    assert!(stands["duration_ms"].is_u64(), "{stands:#}");
    assert_eq!(stands["reused_existing_agent"], false, "the first execution deployed it: {stands:#}");
    // The prompt names the error. The program has no network and no files, whatever the agent's context grants.
    let told = prompts(&site);
    assert_eq!(told.len(), 4, "{told:#?}");
    assert!(told[1].contains("SyntaxError") && told[2].contains("no numbers"), "{told:#?}");
    assert!(told[3].contains("no network"), "{told:#?}");
    assert!(!site.workspace.exists("left.txt"));
    // Each step is a call of the caller with a receipt.
    let receipts: Vec<Value> = site
        .workspace
        .files(".brigade/tools/runs")
        .values()
        .filter_map(|bytes| serde_json::from_slice::<Value>(bytes).ok())
        .collect();
    for (tool, count) in [("execute.intent", 1), ("task.execute", 4), ("fs.write", 3), ("cmd.run", 5)] {
        let own = receipts
            .iter()
            .filter(|receipt| receipt["tool_id"] == tool && receipt["caller"] == "agent:local");
        let own = own.filter(|receipt| receipt["kind"] != "attempt");
        assert_eq!(own.count(), count, "{tool}");
    }
    let other = Client::connect(&site, "ann").call("execute.status", json!({"pipeline_execution_id": id}));
    assert_eq!(about(&other)["code"], "not_found");
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
}

#[test]
fn a_program_that_is_never_right_is_given_up() {
    let site = site(&json!([{"says": "Write one program", "do": [{"output": "import sys\nsys.exit(4)\n"}]}]));
    let mut client = Client::connect(&site, "local");
    let id = begin(&mut client, json!({"intent": "Anything", "timeout_seconds": 20}));
    let stands = ended(&mut client, &id);
    assert_eq!(
        (&stands["status"], &stands["failed_at_state"]),
        (&json!("failed"), &json!("execution")),
        "{stands:#}"
    );
    assert!(stands["reason"].as_str().unwrap().starts_with("max_state_visits"), "{stands:#}");
    assert_eq!(prompts(&site).len(), 3);
    for (args, code) in [
        (json!({"intent": " "}), "invalid_arguments"),
        (json!({"intent": "x", "language": "cobol"}), "invalid_arguments"),
        (json!({"intent": "x", "timeout_seconds": 601}), "invalid_arguments"),
        (json!({"intent": "x", "volume_id": "volume-nothing"}), "not_found"),
    ] {
        fails(&mut client, "execute.intent", args, code);
    }
    fails(&mut client, "execute.status", json!({"pipeline_execution_id": "flow-nothing"}), "not_found");
}

#[test]
fn written_files_are_kept_in_a_volume() {
    let rules = json!([
        {"says": "Write one program", "do": [{"output": "echo \"$1\"\n"}]},
        {"do": [{"output": "It says hello."}]},
    ]);
    let site = site(&rules);
    let mut client = Client::connect(&site, "local");
    let volume = done(&mut client, "volume.create", json!({"label": "out", "size_limit_bytes": 100000}));
    let args = json!({"intent": "Say hello", "language": "bash", "volume_id": volume["volume_id"]});
    let id = begin(&mut client, args);
    let stands = ended(&mut client, &id);
    assert_eq!(
        (&stands["status"], &stands["final_result"]),
        (&json!("completed"), &json!("It says hello.")),
        "{stands:#}"
    );
    let kept = done(&mut client, "file.read", json!({"volume_id": volume["volume_id"], "path": "main.sh"}));
    assert_eq!(kept["content"], "echo \"$1\"", "the answer of a worker has no line end");
    let printed = json!({"volume_id": stands["volume_id"], "path": "output.txt"});
    assert_eq!(done(&mut client, "file.read", printed)["content"], "{}\n", "what it printed");
    assert_eq!(stands["reused_existing_agent"], false, "{stands:#}");
    let again = begin(&mut client, json!({"intent": "Say hello again", "language": "bash"}));
    assert_eq!(ended(&mut client, &again)["reused_existing_agent"], true);
}

const AGENT: &str = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {name: poet}\nspec:\n  runtime: {language: python, \
                     version: '3'}\n  task: {instruction: Write a poem.}\n  tools: [fs.read]";

/// Waits until a call of a tool is pending.
fn pending(site: &Site, tool: &str) -> Value {
    until("a call waits", || {
        let calls = site.json(["call", "list", "--status", "pending"]).json;
        let calls = calls["calls"].as_array()?.clone();
        calls.into_iter().find(|call| call["tool_id"] == tool)
    })
}

#[test]
fn generated_manifest_waits_as_call_of_caller() {
    let broken = AGENT.replace("name: poet", "name: 'A poet'");
    let rules = json!([
        {"says": "has faults", "do": [{"output": AGENT}]},
        {"says": "Write the manifest of an agent", "do": [{"output": broken}]},
    ]);
    let site = site(&rules);
    let mut client = Client::connect(&site, "ann");
    let started = done(&mut client, "agent.generate", json!({"input": "An agent that writes poems"}));
    let id = started["execution_id"].as_str().unwrap().to_owned();
    // The policy's rule covers the tool, but a person is asked for a caller that has no system access.
    let call = pending(&site, "agent.create");
    assert_eq!(call["caller"], "agent:ann", "{call:#}");
    assert_eq!(call["args"]["manifest_yaml"], AGENT, "{call:#}");
    assert!(prompts(&site)[1].contains("line"), "the faults have places: {:#?}", prompts(&site));
    let listed = done(&mut client, "agent.list", json!({}));
    assert!(!listed.to_string().contains("poet\""), "{listed:#}");
    site.json(["call", "approve", call["id"].as_str().unwrap()]).expect(0);
    let waited = done(&mut client, "workflow.wait", json!({"execution_id": id, "timeout_seconds": 60}));
    assert_eq!(waited["status"], "completed", "{waited:#}");
    let exported = done(&mut client, "agent.export", json!({"name": "poet"}));
    assert_eq!(exported["manifest_yaml"], AGENT);
    // Issue 44: for a caller with system access it is a call like any other, which the rule approves here.
    let mut local = Client::connect(&site, "local");
    let started = done(&mut local, "agent.generate", json!({"input": "An agent that writes poems"}));
    let waited = json!({"execution_id": started["execution_id"], "timeout_seconds": 60});
    let waited = done(&mut local, "agent.wait", waited);
    assert!(waited["last_error"].as_str().unwrap().starts_with("name_taken"), "{waited:#}");
    // A profile that hides the resulting tool, other than the access for which a person decides.
    let closed = format!("{PROFILES}\n[[profile]]\nname = \"guard.closed\"\nhide = [\"id:agent.create\"]\n");
    site.workspace.write(".brigade/tools/profiles.toml", closed);
    let gateway =
        site.workspace.read_text(GATEWAY).replace("\"access.user\",", "\"access.user\", \"guard.closed\",");
    site.workspace.write(GATEWAY, gateway);
    let mut ann = Client::connect(&site, "ann");
    fails(&mut ann, "agent.generate", json!({"input": "x"}), "not_available_here");
    fails(&mut client, "agent.generate", json!({"input": " "}), "invalid_arguments");
}

#[test]
fn a_rejected_generated_workflow_is_not_deployed() {
    let manifest = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {name: greet}\nspec:\n  initial_state: A\n  states:\n    A: \
                    {kind: System, command: echo hello, transitions: []}\n";
    let site = site(&json!([{"says": "Write the manifest of a workflow", "do": [{"output": manifest}]}]));
    let mut client = Client::connect(&site, "ann");
    let started = done(&mut client, "workflow.generate", json!({"input": "Say hello"}));
    let id = started["execution_id"].as_str().unwrap().to_owned();
    let call = pending(&site, "workflow.create");
    site.json(["call", "reject", call["id"].as_str().unwrap(), "--reason", "not now"]).expect(0);
    let waited = done(&mut client, "workflow.wait", json!({"execution_id": id, "timeout_seconds": 60}));
    assert_eq!(waited["status"], "failed", "{waited:#}");
    fails(&mut client, "workflow.export", json!({"name": "greet"}), "not_found");
}

#[test]
fn a_workflow_is_deployed_if_the_judge_accepts_it() {
    let verdict =
        |score: &str| format!("{{\"score\": {score}, \"confidence\": 0.6, \"reasoning\": \"It greets.\"}}");
    let rules = json!([
        {"says": "a bad goal", "do": [{"output": verdict("0.2")}]},
        {"says": "You judge", "do": [{"output": verdict("0.9")}]},
    ]);
    let site = site(&rules);
    let manifest = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {name: greet}\nspec:\n  initial_state: A\n  states:\n    A: \
                    {kind: System, command: echo hello, transitions: []}\n";
    let args = |more: Value| {
        let mut args = json!({"manifest_yaml": manifest, "force": true});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        args
    };
    let mut client = Client::connect(&site, "local");
    let skipped = done(&mut client, "workflow.create", args(json!({})));
    assert_eq!(skipped["semantic"], "skipped", "{skipped:#}");
    fails(&mut client, "workflow.create", args(json!({"min_score": 0.5})), "not_available_here");
    let gateway = site.workspace.read_text(GATEWAY);
    site.workspace.write(GATEWAY, format!("[judge]\nworker = \"mock\"\n\n{gateway}"));
    site.trust(["judge"]);
    let passed = done(&mut client, "workflow.create", args(json!({"task_context": "a good goal"})));
    assert_eq!((&passed["semantic"], &passed["score"]), (&json!("passed"), &json!(0.9)), "{passed:#}");
    for (more, code) in [
        (json!({"task_context": "a bad goal"}), "validation_failed"),
        (json!({"min_score": 0.95}), "validation_failed"),
        (json!({"min_confidence": 0.7}), "validation_failed"),
        (json!({"judge_agents": ["nobody"]}), "not_found"),
    ] {
        fails(&mut client, "workflow.create", args(more), code);
    }
    let named = json!({"judge_agents": ["mock", "mock"], "min_score": 0.9, "min_confidence": 0.6});
    assert_eq!(done(&mut client, "workflow.create", args(named))["semantic"], "passed");
}

#[test]
fn without_a_worker_nothing_is_generated() {
    let site = site(&json!([]));
    site.workspace.write(GATEWAY, AGENTS);
    let mut client = Client::connect(&site, "local");
    for (tool, args) in [
        ("execute.intent", json!({"intent": "x"})),
        ("agent.generate", json!({"input": "x"})),
        ("workflow.generate", json!({"input": "x"})),
    ] {
        assert!(!client.names().contains(&tool.to_owned()), "{tool}");
        let absent = client.call(tool, args);
        assert_eq!(about(&absent)["code"], "not_available_here", "{absent:#}");
        assert!(text(&absent).contains("worker.cli"), "{absent:#}");
    }
}
