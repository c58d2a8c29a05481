//! Tasks of agents, with the fake worker `fixtures/kitchen/worker.py`.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails when it cannot continue, and scenarios are next to the workspace"
)]

use std::fs;
use std::path::Path;

use brigade_tests::{Site, until};
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, assert_stands, text};

const RULES: &str = r#"allowed_families = ["builtin"]
allowed_effects = ["local-read", "local-delete", "state-write", "process-exec", "process-control"]

[[auto_approve]]
name = "tasks"
tools = ["agent.*", "task.*", "execution.*"]
effects = ["local-read", "state-write", "process-exec", "process-control"]
"#;

const AGENTS: &str = r#"[[agent]]
name = "local"
profiles = ["access.operator", "permission.full-auto"]

[[agent]]
name = "ann"
profiles = ["access.operator", "permission.full-auto"]
"#;

/// Returns a workspace with the agent `greeter`, whose worker executes these steps.
fn site(steps: &Value, execution: &str) -> (Site, Client) {
    let site = Site::empty();
    site.workspace.write(POLICY, RULES);
    site.workspace.write(".brigade/tools.toml", "");
    let worker = brigade_testkit::fixtures().join("kitchen/worker.py");
    let command = format!("python3 -B {} {}", worker.display(), site.beside("scenario.json").display());
    let workers = format!("{AGENTS}\n[[worker]]\nid = \"mock\"\ncommand = {command:?}\n");
    site.workspace.write(GATEWAY, workers);
    let mut scenario = if steps.is_array() { json!({"default": steps}) } else { steps.clone() };
    scenario["record"] = json!(site.beside("calls"));
    fs::write(site.beside("scenario.json"), scenario.to_string()).unwrap();
    let mut client = Client::connect(&site, "local");
    let manifest = format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{name: greeter}}\nspec:\n  \
         runtime: {{language: python, version: '3'}}\n  task: {{instruction: Greet people.}}\n{execution}"
    );
    done(&mut client, "agent.create", json!({"manifest_yaml": manifest}));
    (site, client)
}

#[track_caller]
fn done(client: &mut Client, tool: &str, args: Value) -> Value {
    let result = client.call(tool, args);
    assert_ne!(result["isError"], json!(true), "{result:#}");
    result["structuredContent"].clone()
}

/// Starts a task, and returns its id.
#[track_caller]
fn begin(client: &mut Client) -> String {
    let started = done(client, "aegis.task.execute", json!({"agent_id": "greeter", "intent": "Greet Bob."}));
    assert_eq!(started["status"], "started", "{started:#}");
    started["execution_id"].as_str().unwrap().to_owned()
}

/// Waits for the end of a task.
#[track_caller]
fn ended(client: &mut Client, id: &str) -> Value {
    done(client, "task.wait", json!({"execution_id": id, "timeout_seconds": 60}))
}

/// Returns how the worker of a task was started.
fn call(site: &Site, id: &str, number: u32) -> Value {
    let file = site.beside("calls").join(format!("task-{id}.{number}"));
    until("the worker has begun", || {
        let text = fs::read_to_string(&file).ok()?;
        serde_json::from_str(&text).ok()
    })
}

/// Waits until a worker has ended.
fn gone(call: &Value) {
    let process = format!("/proc/{}", call["process"]);
    until("the worker has ended", || (!Path::new(&process).exists()).then_some(()));
}

#[test]
fn a_task_returns_output_and_keeps_files_and_receipt() {
    let steps = json!([{"write": "a/out.txt", "text": "by {task}\n"}, {"write": "bin", "text": "\u{0}"},
        {"write": ".env", "text": "KEY=canary-4711"}, {"output": "Hello from {role}"}]);
    let (site, mut client) = site(&steps, "");
    let id = begin(&mut client);
    let stands = ended(&mut client, &id);
    assert_eq!(
        stands["status"],
        "completed",
        "{stands:#}\n{:#}",
        done(&mut client, "task.logs", json!({"execution_id": id}))
    );
    assert_eq!((&stands["last_output"], &stands["iteration_count"]), (&json!("Hello from task"), &json!(1)));
    assert_eq!((&stands["timed_out"], &stands["last_error"]), (&json!(false), &Value::Null));
    let started = call(&site, &id, 1);
    assert_eq!((&started["role"], &started["task"]), (&json!("task"), &json!(id)));
    assert!(started["folder"].as_str().unwrap().ends_with(&format!(".brigade/tasks/{id}")), "{started:#}");
    let prompt = started["prompt"].as_str().unwrap();
    assert!(prompt.contains("Greet people.") && prompt.contains("Greet Bob."), "{prompt}");
    let file = json!({"execution_id": id, "path": "/workspace/a/out.txt"});
    let file = done(&mut client, "aegis.execution.file", file);
    assert_eq!((&file["content"], &file["is_binary"]), (&json!(format!("by {id}\n")), &json!(false)));
    let binary = done(&mut client, "execution.file", json!({"execution_id": id, "path": "bin"}));
    assert!(binary["resource"]["blob"].is_string(), "{binary:#}");
    assert_eq!(binary["resource"]["mimeType"], binary["content_type"]);
    assert_eq!((&binary["is_binary"], &binary["size_bytes"]), (&json!(true), &json!(1)));
    for path in [".env", "./.env", "/workspace/.env"] {
        let closed = client.call("execution.file", json!({"execution_id": id, "path": path}));
        assert!(text(&closed).contains("protected_path"), "{closed:#}");
    }
    let outside =
        client.call("execution.file", json!({"execution_id": id, "path": "../../tools/policy.toml"}));
    assert_stands(&outside, "refused", "path_outside");
    assert!(text(&outside).contains("of the execution"), "{outside:#}");
    let logs = done(&mut client, "task.logs", json!({"execution_id": id, "limit": 2, "offset": 1}));
    assert_eq!((&logs["total"], &logs["events"][0]["sequence"]), (&json!(5), &json!(2)), "{logs:#}");
    assert_eq!(done(&mut client, "task.list", json!({}))["executions"][0]["id"], id);
    // The receipt of the attempt is in the ledger, and the ledger is complete.
    let runs = site.workspace.files(".brigade/tools/runs");
    let receipts: Vec<Value> =
        runs.values().filter_map(|bytes| serde_json::from_slice::<Value>(bytes).ok()).collect();
    let attempt = receipts.iter().find(|receipt| receipt["kind"] == "attempt").unwrap();
    assert_eq!(
        (&attempt["execution_id"], &attempt["status"]),
        (&json!(id), &json!("completed")),
        "{attempt:#}"
    );
    let verified = site.json(["run", "verify"]).expect(0);
    assert_eq!(verified["findings"], json!([]), "{verified:#}");
    // The task belongs to the agent that started it.
    let mut other = Client::connect(&site, "ann");
    for tool in ["task.status", "task.wait", "agent.wait", "task.logs", "task.cancel", "execution.file"] {
        let mut args = json!({"execution_id": id});
        if tool == "execution.file" {
            args["path"] = json!("bin");
        }
        let refused = other.call(tool, args);
        assert!(text(&refused).contains("not_found"), "{tool}: {refused:#}");
    }
}

#[test]
fn a_task_retries_until_its_validators_pass() {
    let scenario = json!({"rules": [{"attempt": 1, "do": [{"output": "no"}]}, {"attempt": 2, "do": [{"output": "{\"a\": 1}"}]}],
        "default": [{"output": "{\"answer\": 42}"}]});
    let execution = "  execution:\n    mode: iterative\n    max_iterations: 3\n    validation:\n      - {type: exit_code}\n      \
                     - {type: json_schema, schema: {type: object, required: [answer]}}\n      \
                     - {type: regex, pattern: '42'}\n";
    let (site, mut client) = site(&scenario, execution);
    let id = begin(&mut client);
    let stands = ended(&mut client, &id);
    assert_eq!(
        (&stands["status"], &stands["iteration_count"]),
        (&json!("completed"), &json!(3)),
        "{stands:#}"
    );
    assert_eq!(stands["last_output"], "{\"answer\": 42}");
    let second = call(&site, &id, 2);
    assert!(second["prompt"].as_str().unwrap().contains("the output is not JSON"), "{second:#}");
    let third = call(&site, &id, 3);
    assert!(third["prompt"].as_str().unwrap().contains("$.answer: required"), "{third:#}");
}

#[test]
fn errors_of_a_worker_fail_the_task() {
    for (steps, code) in [
        (json!([{"exit": 3}]), "worker_failed"),
        (json!([{"die": "KILL"}]), "worker_failed"),
        (json!([{"bad_result": "broken"}]), "no_output"),
        (json!(["nothing"]), "no_output"),
    ] {
        let (_site, mut client) = site(&steps, "");
        let id = begin(&mut client);
        let stands = ended(&mut client, &id);
        assert_eq!(stands["status"], "failed", "{steps}: {stands:#}");
        assert!(stands["last_error"].as_str().unwrap().starts_with(code), "{steps}: {stands:#}");
    }
    let execution = "  execution: {iteration_timeout: 1s}\n";
    let (_site, mut client) = site(&json!([{"sleep": 600}]), execution);
    let id = begin(&mut client);
    let stands = ended(&mut client, &id);
    assert!(stands["last_error"].as_str().unwrap().starts_with("timed_out"), "{stands:#}");
}

#[test]
fn a_task_that_is_cancelled_takes_its_worker_with_it() {
    let (site, mut client) = site(&json!([{"child": 600}, {"sleep": 600}]), "");
    let id = begin(&mut client);
    let worker = call(&site, &id, 1);
    let waited = done(&mut client, "agent.wait", json!({"execution_id": id, "timeout_seconds": 1}));
    assert_eq!((&waited["status"], &waited["timed_out"]), (&json!("timed_out"), &json!(true)), "{waited:#}");
    let short = client.call("task.wait", json!({"execution_id": id, "timeout_seconds": 0}));
    assert!(text(&short).contains("invalid_arguments"), "{short:#}");
    done(&mut client, "task.message", json!({"execution_id": id, "text": "Hurry"}));
    let removed = client.call("task.remove", json!({"execution_id": id}));
    assert_stands(&removed, "pending", "approval_pending");
    let next = done(
        &mut client,
        "handoffChat",
        json!({"execution_id": id, "agent_id": "greeter", "note": "Be kind"}),
    );
    gone(&worker);
    assert_eq!(ended(&mut client, &id)["status"], "cancelled");
    let next = next["execution_id"].as_str().unwrap();
    let worker = call(&site, next, 1);
    assert!(worker["prompt"].as_str().unwrap().contains("Be kind"), "{worker:#}");
    done(&mut client, "interruptChat", json!({"execution_id": next}));
    gone(&worker);
    let again = client.call("task.cancel", json!({"execution_id": next}));
    assert!(text(&again).contains("already_ended"), "{again:#}");
}

#[test]
fn a_task_ends_with_the_gateway_that_began_it() {
    let (site, mut client) = site(&json!([{"sleep": 600}]), "");
    let id = begin(&mut client);
    let worker = call(&site, &id, 1);
    // The gateway is killed.
    drop(client);
    gone(&worker);
    let mut client = Client::connect(&site, "local");
    let stands = done(&mut client, "task.status", json!({"execution_id": id}));
    assert_eq!(stands["status"], "failed", "{stands:#}");
    assert!(stands["last_error"].as_str().unwrap().starts_with("interrupted"), "{stands:#}");
}

#[test]
fn a_person_judges_where_no_judge_is() {
    let execution = "  execution:\n    validation:\n      - {type: semantic, judge_agent: judge, criteria: It is polite.}\n";
    let (site, mut client) = site(&json!([{"output": "Hello"}]), execution);
    let id = begin(&mut client);
    let row = until("the question waits", || {
        let brief = site.brigade.run(["work", "brief", "--json"]).assert_code(0).json();
        brief["waiting"].as_array().and_then(|rows| rows.first().cloned())
    });
    assert!(row["text"].as_str().unwrap().contains("It is polite."), "{row:#}");
    site.brigade.run(["work", "answer", row["id"].as_str().unwrap(), "--choice", "yes"]).assert_code(0);
    assert_eq!(ended(&mut client, &id)["status"], "completed");
}

#[test]
fn changed_worker_is_not_started_again() {
    let execution = "  execution:\n    mode: iterative\n    max_iterations: 2\n    validation:\n      \
                     - {type: semantic, judge_agent: judge, criteria: It is polite.}\n";
    let (site, client) = site(&json!([{"output": "Hello"}]), execution);
    drop(client);
    let shipped = brigade_testkit::fixtures().join("kitchen/worker.py");
    let worker = fs::read_to_string(&shipped).unwrap();
    site.workspace.write("bin/worker.py", &worker);
    let here = site.workspace.join("bin/worker.py").display().to_string();
    site.workspace.replace(GATEWAY, &shipped.display().to_string(), &here);
    site.trust(["worker:mock"]);
    let mut client = Client::connect(&site, "local");
    let id = begin(&mut client);
    let row = until("the question waits", || {
        let brief = site.brigade.run(["work", "brief", "--json"]).assert_code(0).json();
        brief["waiting"].as_array().and_then(|rows| rows.first().cloned())
    });
    site.workspace.write("bin/worker.py", format!("{worker}\nprint('more')\n"));
    site.brigade.run(["work", "answer", row["id"].as_str().unwrap(), "--choice", "no"]).assert_code(0);
    let stands = ended(&mut client, &id);
    assert_eq!((&stands["status"], &stands["iteration_count"]), (&json!("failed"), &json!(1)), "{stands:#}");
    let error = stands["last_error"].as_str().unwrap();
    assert!(error.starts_with("changed_since_approval: file bin/worker.py of worker mock"), "{error}");
}

#[test]
fn a_worker_hands_its_own_task_off() {
    let steps = json!({
        "brigade": brigade_testkit::brigade_binary(),
        "default": [{"mcp": [["task.handoff", {"execution_id": "{task}", "agent_id": "next"}]]}, {"sleep": 60}],
        "rules": [{"says": "Go on.", "do": [{"output": "done by {task}"}]}],
    });
    let (site, mut client) = site(&steps, "  tools: [task.handoff]\n");
    let next = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {name: next}\nspec:\n  \
                runtime: {language: python, version: '3'}\n  task: {instruction: Go on.}\n";
    done(&mut client, "agent.create", json!({"manifest_yaml": next}));
    let id = begin(&mut client);
    let worker = call(&site, &id, 1);
    gone(&worker);
    assert_eq!(ended(&mut client, &id)["status"], "cancelled");
    let listed = done(&mut client, "task.list", json!({}));
    let next = listed["executions"][0]["id"].as_str().unwrap().to_owned();
    let stands = ended(&mut client, &next);
    assert_eq!(
        (&stands["status"], &stands["last_output"]),
        (&json!("completed"), &json!(format!("done by {next}")))
    );
}

/// Returns what the worker of a task recorded about its tool calls.
fn told(site: &Site, id: &str, name: &str) -> Value {
    let path = format!(".brigade/tasks/{id}/{name}");
    serde_json::from_str(&site.workspace.read_text(path)).unwrap()
}

/// Returns a scenario whose worker connects to the gateway.
fn calling(steps: &Value) -> Value {
    let binary = brigade_testkit::brigade_binary();
    json!({"brigade": binary, "default": steps})
}

#[test]
fn a_worker_calls_the_tools_that_its_manifest_names() {
    let calls = json!([
        ["fs.read", {"path": "a.txt"}],
        ["readFile", {"path": "a.txt"}],
        ["fs.write", {"path": "a.txt", "content": "changed"}],
        ["session.mode", {"target_mode": "operator", "reason": "more"}]
    ]);
    let steps = json!([{"mcp": calls}, {"output": "done"}]);
    let tools = "  tools: [readFile, fs.list]\n";
    let (site, mut client) = site(&calling(&steps), tools);
    site.workspace.write("a.txt", "words\n");
    let rules = RULES.replace("\"execution.*\"]", "\"execution.*\", \"fs.*\"]");
    let rules = rules.replace("\"local-delete\", ", "\"local-delete\", \"local-write\", ");
    site.workspace.write(POLICY, rules);
    let id = begin(&mut client);
    let stands = ended(&mut client, &id);
    assert_eq!(stands["status"], "completed", "{stands:#}");
    let told = told(&site, &id, "mcp.json");
    let listed: Vec<&str> = told["listed"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(listed.contains(&"fs.read") && listed.contains(&"fs.list"), "{listed:?}");
    assert!(!listed.contains(&"fs.write") && !listed.contains(&"task.execute"), "{listed:?}");
    let results = told["results"].as_array().unwrap();
    for read in &results[..2] {
        assert_eq!(read["structuredContent"]["content"], "words\n", "{told:#}");
    }
    // A tool that is not listed cannot be called, and the session cannot widen this.
    assert!(results[2]["isError"] == json!(true) || results[2]["code"].is_number(), "{:#}", results[2]);
    assert_eq!(site.workspace.read_text("a.txt"), "words\n");
    assert_eq!((&told["code"], &told["error"]), (&json!(0), &json!("")), "{told:#}");
    // Its calls belong to the agent that started the task, and have receipts.
    let calls = site.json(["call", "list"]).expect(0);
    let reads = calls["calls"].as_array().unwrap().iter().filter(|call| call["tool_id"] == "fs.read");
    let reads: Vec<&Value> = reads.collect();
    assert!(!reads.is_empty() && reads.iter().all(|call| call["caller"] == "agent:local"), "{calls:#}");
    // The pipes are removed with the task.
    assert!(!site.workspace.join(format!(".brigade/tasks/{id}/.gateway")).exists());
}

#[test]
fn a_worker_has_no_more_rights_than_its_caller() {
    let steps = json!([{"mcp": [["fs.write", {"path": "a.txt", "content": "changed"}]]}, {"output": "done"}]);
    let (site, _) = site(&calling(&steps), "  tools: [fs.write, fs.read]\n  security_context: nowhere\n");
    site.workspace.write("a.txt", "words\n");
    let mut client = Client::connect(&site, "local");
    let id = begin(&mut client);
    assert_eq!(ended(&mut client, &id)["status"], "completed");
    // The context does not exist, so nothing is allowed.
    assert_eq!(told(&site, &id, "mcp.json")["listed"], json!([]));
    // A session that hides writing tools also hides them from its tasks, regardless of the manifest.
    let manifest = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {name: greeter}\nspec:\n  \
                    runtime: {language: python, version: '3'}\n  tools: [fs.write, fs.read]\n";
    done(&mut client, "agent.update", json!({"manifest_yaml": manifest, "force": true}));
    let profile = "[[profile]]\nname = \"context.closed\"\nhide = [\"id:fs.write\"]\n";
    site.workspace.write(".brigade/tools/profiles.toml", profile);
    let mut client = Client::start(&site, &["--as", "local", "--profile", "context.closed"]);
    client.hello("2025-11-25", json!({}));
    let id = begin(&mut client);
    assert_eq!(ended(&mut client, &id)["status"], "completed");
    let told = told(&site, &id, "mcp.json");
    let listed = told["listed"].as_array().unwrap();
    assert!(listed.contains(&json!("fs.read")) && !listed.contains(&json!("fs.write")), "{listed:?}");
    assert_eq!(site.workspace.read_text("a.txt"), "words\n");
}

/// Returns the only call of a tool.
fn call_of(site: &Site, tool: &str) -> Value {
    let calls = site.json(["call", "list"]).expect(0);
    let mut found = calls["calls"].as_array().unwrap().iter().filter(|call| call["tool_id"] == tool);
    let call = found.next().cloned().unwrap_or_default();
    assert!(found.next().is_none(), "{calls:#}");
    call
}

#[test]
fn a_worker_answers_for_no_person() {
    let steps = json!([
        {"mcp": [["fs.delete", {"path": "a.txt"}]], "accept": true},
        {"output": "done"}
    ]);
    let (site, mut client) = site(&calling(&steps), "  tools: [fs.delete]\n");
    let agents = site.workspace.read_text(GATEWAY);
    let confirm = "confirm = \"elicitation\"\nconfirm_risk = \"high\"\nprofiles = [\"access.operator\"";
    site.workspace.write(GATEWAY, agents.replacen("profiles = [\"access.operator\"", confirm, 1));
    site.workspace.write("a.txt", "words\n");
    let id = begin(&mut client);
    assert_eq!(ended(&mut client, &id)["status"], "completed");
    let told = told(&site, &id, "mcp.json");
    assert_stands(&told["results"][0], "pending", "approval_pending");
    assert_eq!(call_of(&site, "fs.delete")["status"], "pending");
    assert!(site.workspace.exists("a.txt"));
}

#[test]
fn a_worker_sees_no_calls_but_its_own() {
    let steps = json!([{"mcp": [
        ["call.list", {}],
        ["call.wait", {"call_id": "@CALL", "timeout_seconds": 0}],
        ["output.read", {"run_id": "@RUN"}],
        ["call.cancel", {"call_id": "@PENDING"}],
        ["fs.list", {"path": "."}],
        ["call.list", {}]
    ]}, {"output": "done"}]);
    let (site, mut client) = site(&calling(&steps), "  tools: [fs.list]\n");
    let rules = RULES.replace("\"execution.*\"]", "\"execution.*\", \"fs.read\", \"fs.list\"]");
    site.workspace.write(POLICY, rules);
    site.workspace.write("secret.txt", "for the caller alone\n");
    let read = client.call("fs.read", json!({"path": "secret.txt"}));
    assert_stands(&read, "completed", "");
    let pending = client.call("fs.delete", json!({"path": "secret.txt"}));
    assert_stands(&pending, "pending", "approval_pending");
    let about =
        |result: &Value, name: &str| result["_meta"]["brigade/call"][name].as_str().unwrap().to_owned();
    let scenario = fs::read_to_string(site.beside("scenario.json")).unwrap();
    let scenario = scenario.replace("@CALL", &about(&read, "id")).replace("@RUN", &about(&read, "run_id"));
    fs::write(site.beside("scenario.json"), scenario.replace("@PENDING", &about(&pending, "id"))).unwrap();
    let id = begin(&mut client);
    assert_eq!(ended(&mut client, &id)["status"], "completed");
    let told = told(&site, &id, "mcp.json");
    let results = told["results"].as_array().unwrap();
    assert_eq!(results[0]["structuredContent"]["calls"], json!([]), "{told:#}");
    for result in &results[1..4] {
        assert!(result["isError"] == json!(true), "{result:#}");
    }
    assert!(!told.to_string().contains("for the caller alone"), "{told:#}");
    let own = results[5]["structuredContent"]["calls"].as_array().unwrap();
    assert!(own.len() == 1 && own[0].to_string().contains("fs.list"), "{own:?}");
    assert_eq!(call_of(&site, "fs.delete")["status"], "pending");
    // The agent that started the task sees all of its calls.
    let all = done(&mut client, "call.list", json!({}))["calls"].to_string();
    assert!(all.contains("fs.list") && all.contains("fs.delete"), "{all}");
}

#[test]
fn processes_of_a_task_end_with_it() {
    let steps = json!({
        "brigade": brigade_testkit::brigade_binary(),
        "default": [{"mcp": [["task.execute", {"agent_id": "slow"}]]}, {"sleep": 60}],
        "rules": [{"says": "Wait.", "do": [{"sleep": 60}]}],
    });
    let (site, mut client) = site(&steps, "  tools: [task.execute]\n");
    let slow = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {name: slow}\nspec:\n  \
                runtime: {language: python, version: '3'}\n  task: {instruction: Wait.}\n";
    done(&mut client, "agent.create", json!({"manifest_yaml": slow}));
    let id = begin(&mut client);
    let child = until("the child has begun", || {
        let told = fs::read_to_string(site.workspace.join(format!(".brigade/tasks/{id}/mcp.json"))).ok()?;
        let told: Value = serde_json::from_str(&told).ok()?;
        Some(told["results"][0]["structuredContent"]["execution_id"].as_str()?.to_owned())
    });
    let worker = call(&site, &child, 1);
    done(&mut client, "task.cancel", json!({"execution_id": id}));
    gone(&worker);
    let stands = done(&mut client, "task.status", json!({"execution_id": child}));
    assert_eq!(stands["status"], "cancelled", "{stands:#}");
}

#[test]
fn approval_binds_agent_and_worker() {
    let (site, mut client) = site(&json!([{"output": "done"}]), "");
    site.workspace
        .write("bin/worker.py", fs::read(brigade_testkit::fixtures().join("kitchen/worker.py")).unwrap());
    let agents = site.workspace.read_text(GATEWAY);
    let elsewhere = brigade_testkit::fixtures().join("kitchen/worker.py").display().to_string();
    site.workspace.write(GATEWAY, agents.replace(&elsewhere, "bin/worker.py"));
    site.workspace.write(POLICY, RULES.replace("\"task.*\"", "\"task.list\""));
    let args = json!({"agent_id": "greeter", "intent": "Greet Bob."});
    let approved = |client: &mut Client, args: &Value| {
        let asked = client.call("task.execute", args.clone());
        assert_stands(&asked, "pending", "approval_pending");
        let id = asked["_meta"]["brigade/call"]["id"].as_str().unwrap().to_owned();
        let shown = site.tools(["call", "show", &id]).stdout_text();
        assert!(shown.contains("agent greeter") && shown.contains("worker mock"), "{shown}");
        assert!(shown.contains("bin/worker.py"), "{shown}");
        site.json(["call", "approve", &id]).expect(0);
        id
    };
    let goes_on = |client: &mut Client, id: &str| client.call("call.wait", json!({"call_id": id}));
    // Another version of the agent.
    let id = approved(&mut client, &args);
    let manifest = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {name: greeter, version: 2.0.0}\nspec:\n  \
                    runtime: {language: python, version: '3'}\n  task: {instruction: Evil.}\n";
    done(&mut client, "agent.update", json!({"manifest_yaml": manifest}));
    let refused = goes_on(&mut client, &id);
    assert!(text(&refused).contains("agent greeter"), "{refused:#}");
    // Other bytes of the worker.
    let id = approved(&mut client, &json!({"agent_id": "greeter", "intent": "Greet Ann."}));
    site.workspace.write("bin/worker.py", "print('evil')\n");
    let refused = goes_on(&mut client, &id);
    assert!(text(&refused).contains("bin/worker.py"), "{refused:#}");
    assert_eq!(done(&mut client, "task.list", json!({}))["executions"], json!([]));
}

#[test]
fn a_dead_client_in_a_task_frees_its_slot() {
    let steps = json!([
        {"mcp": [["fs.list", {"path": "."}]], "to": "one.json", "kill": true},
        {"mcp": [["fs.list", {"path": "."}]], "to": "two.json", "again": true},
        {"mcp": [], "to": "three.json", "options": ["--profile", "mode.any"]},
        {"output": "done"}
    ]);
    let (site, mut client) = site(&calling(&steps), "  tools: [fs.list]\n");
    let rules = RULES.replace("\"execution.*\"]", "\"execution.*\", \"fs.*\"]");
    site.workspace.write(POLICY, rules);
    let id = begin(&mut client);
    assert_eq!(ended(&mut client, &id)["status"], "completed");
    for name in ["one.json", "two.json"] {
        let told = told(&site, &id, name);
        assert_eq!(told["results"][0]["structuredContent"]["status"], "success", "{told:#}");
    }
    let second = told(&site, &id, "two.json")["second"].as_str().unwrap().to_owned();
    assert!(second.contains("only one can be at a time"), "{second}");
    let refused = told(&site, &id, "three.json");
    assert_eq!(refused["code"], json!(2), "{refused:#}");
}

#[test]
fn a_worker_cannot_replace_the_gateway_pipes() {
    let steps =
        json!([{"delete": ".gateway"}, {"link": ".gateway", "to": "../../../mine"}, {"output": "done"}]);
    let (site, mut client) = site(&steps, "");
    site.workspace.write("mine/to", "kept");
    site.workspace.write("mine/from", "kept");
    let id = begin(&mut client);
    assert_eq!(ended(&mut client, &id)["status"], "completed");
    client.close_input();
    client.ended();
    assert_eq!(site.workspace.read_text("mine/to"), "kept");
    assert_eq!(site.workspace.read_text("mine/from"), "kept");
}

#[test]
fn a_confined_worker_reaches_its_session() {
    let steps = json!([{"mcp": [["fs.read", {"path": "a.txt"}]]}, {"output": "done"}]);
    let (site, mut client) = site(&calling(&steps), "  tools: [fs.read]\n");
    site.workspace.write("a.txt", "words\n");
    fs::write(site.beside("scenario.json"), calling(&steps).to_string()).unwrap();
    let beside = site.beside("scenario.json").parent().unwrap().display().to_string();
    let fixtures = brigade_testkit::fixtures().display().to_string();
    let sandbox =
        format!("[sandbox]\nmode = \"best-effort\"\nread_paths = [{beside:?}, {fixtures:?}]\n\n[[auto");
    let rules = RULES.replace("[[auto", &sandbox).replace("\"execution.*\"]", "\"execution.*\", \"fs.*\"]");
    site.workspace.write(POLICY, rules);
    let id = begin(&mut client);
    let stands = ended(&mut client, &id);
    assert_eq!(stands["status"], "completed", "{stands:#}");
    let told = told(&site, &id, "mcp.json");
    assert_eq!(told["results"][0]["structuredContent"]["content"], "words\n", "{told:#}");
    let runs = site.workspace.files(".brigade/tools/runs");
    let mut receipts = runs.values().filter_map(|bytes| serde_json::from_slice::<Value>(bytes).ok());
    let attempt = receipts.find(|receipt| receipt["kind"] == "attempt").unwrap();
    assert_eq!(attempt["sandbox"]["mode"], "best-effort", "{attempt:#}");
}
