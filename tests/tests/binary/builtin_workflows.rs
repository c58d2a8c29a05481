//! Workflows: states, transitions, people, limits, and killed processes.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails when it cannot continue, and scenarios are next to the workspace"
)]

use std::fs;

use brigade_tests::{Site, until};
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, add, assert_stands, text};

const RULES: &str = r#"allowed_families = ["builtin", "script"]
allowed_effects = ["local-read", "local-write", "local-delete", "state-write", "process-exec", "process-control"]

[[auto_approve]]
name = "workflows"
tools = ["agent.*", "task.*", "workflow.*", "fs.*", "cmd.run", "slow"]
effects = ["local-read", "local-write", "state-write", "process-exec", "process-control"]
"#;

const AGENTS: &str = r#"[[agent]]
name = "local"
profiles = ["access.operator", "permission.full-auto", "context.commands"]

[[agent]]
name = "ann"
profiles = ["access.operator", "permission.full-auto", "context.commands"]

[[agent]]
name = "reader"
profiles = ["access.operator", "permission.full-auto", "context.reading"]
"#;

/// Two contexts: the commands of one may be approved by a rule, the other cannot write files.
const PROFILES: &str = r#"[[profile]]
name = "context.commands"

[[profile.rule]]
match = "id:cmd.run"
action = "allow"
constrain = { commands = ["cat", "printf", "echo", "true"] }

[[profile]]
name = "context.reading"
hide = ["id:fs.write"]
"#;

fn site() -> Site {
    let site = Site::empty();
    site.workspace.write(POLICY, RULES);
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write(".brigade/tools/profiles.toml", PROFILES);
    site.workspace.write(GATEWAY, AGENTS);
    site.workspace
        .write("schemas/text.json", r#"{"type": "object", "properties": {"text": {"type": "string"}}}"#);
    add(&site, "slow", "effects = [\"local-write\"]\n", SCRIPT);
    site.trust(["slow"]);
    site
}

/// Deploys a workflow with these states.
#[track_caller]
fn deploy(client: &mut Client, name: &str, spec: &str) {
    let manifest = format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{name: {name}}}\nspec:\n  initial_state: A\n{spec}"
    );
    done(client, "workflow.create", json!({"manifest_yaml": manifest}));
}

#[track_caller]
fn done(client: &mut Client, tool: &str, args: Value) -> Value {
    let result = client.call(tool, args);
    assert_ne!(result["isError"], json!(true), "{tool}: {result:#}");
    result["structuredContent"].clone()
}

/// Starts an execution, and returns its id.
#[track_caller]
fn begin(client: &mut Client, args: Value) -> String {
    let started = done(client, "aegis.workflow.run", args);
    assert_eq!(started["status"], "started", "{started:#}");
    started["execution_id"].as_str().unwrap().to_owned()
}

/// Waits for the end of an execution, and returns the full execution.
#[track_caller]
fn ended(client: &mut Client, id: &str) -> Value {
    let waited = done(client, "workflow.wait", json!({"execution_id": id, "timeout_seconds": 60}));
    let logs = done(client, "workflow.logs", json!({"execution_id": id, "limit": 200}));
    assert_eq!(waited["timed_out"], json!(false), "{waited:#}\n{logs:#}");
    let mut all = done(client, "workflow.executions.get", json!({"execution_id": id}));
    all["events"] = logs["events"].clone();
    all
}

#[track_caller]
fn assert_code(result: &Value, code: &str) {
    assert!(text(result).contains(code), "{result:#}");
}

/// Returns why an execution failed.
fn failure(all: &Value) -> &Value {
    let events = all["events"].as_array().unwrap();
    &events.iter().find(|event| event["event_type"] == "workflow_ended").unwrap()["payload"]["code"]
}

/// Waits until a decision about `part` is pending.
fn waiting(site: &Site, part: &str) -> Value {
    until("a question waits", || {
        let brief = site.brigade.run(["work", "brief", "--json"]).assert_code(0).json();
        let rows = brief["waiting"].as_array()?.clone();
        rows.into_iter().find(|row| row["text"].as_str().is_some_and(|text| text.contains(part)))
    })
}

const BRANCHES: &str = "  states:\n    A:\n      kind: System\n      command: {tool: fs.write, arguments: {path: '{{input.path}}', \
                        content: '{{intent}} {{blackboard.n + 1}}'}}\n      transitions: [{condition: on_success, target: B}]\n    \
                        B:\n      kind: System\n      command: [cat, '{{input.path}}']\n      transitions:\n        \
                        - {condition: exit_code_zero, target: C}\n    C:\n      kind: ContainerRun\n      image: alpine\n      \
                        command: printf '{\"blackboard\":{\"seen\":\"%s\"}}' '{{B.output.stdout}}'\n      transitions: []\n";

#[test]
fn states_are_calls_of_the_caller_and_hand_data_on() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    deploy(&mut client, "chain", BRANCHES);
    let args = json!({"name": "chain", "intent": "$(id); `x`", "input": {"path": "a b;c.txt"}, "blackboard": {"n": 1}});
    let id = begin(&mut client, args);
    let all = ended(&mut client, &id);
    assert_eq!((&all["status"], &all["current_state"]), (&json!("completed"), &json!("C")), "{all:#}");
    assert_eq!(site.workspace.read_text("a b;c.txt"), "$(id); `x` 2");
    assert_eq!(all["blackboard"], json!({"n": 1, "seen": "$(id); `x` 2"}), "{all:#}");
    assert_eq!(all["state_outputs"]["B"]["exit_code"], json!(0));
    let events: Vec<&str> =
        all["events"].as_array().unwrap().iter().map(|event| event["event_type"].as_str().unwrap()).collect();
    let step = ["state_entered", "call_asked", "call_begun", "state_ended"];
    let expect: Vec<&str> = ["workflow_started"]
        .into_iter()
        .chain([step; 3].into_iter().flatten())
        .chain(["workflow_ended"])
        .collect();
    assert_eq!(events, expect);
    // Each step has a separate receipt of the same caller.
    let runs = site.workspace.files(".brigade/tools/runs");
    let receipts: Vec<Value> =
        runs.values().filter_map(|bytes| serde_json::from_slice::<Value>(bytes).ok()).collect();
    for tool in ["fs.write", "cmd.run"] {
        let receipt = receipts.iter().find(|receipt| receipt["tool_id"] == tool).unwrap();
        assert_eq!(receipt["caller"], "agent:local", "{receipt:#}");
    }
    // The execution belongs to the agent that started it.
    let mut other = Client::connect(&site, "ann");
    for tool in ["status", "wait", "logs", "executions.get", "pause", "resume"] {
        let refused = other.call(&format!("workflow.{tool}"), json!({"execution_id": id}));
        assert_code(&refused, "not_found");
    }
    let listed = done(&mut other, "workflow.executions.list", json!({}));
    assert_eq!((&listed["executions"], &listed["total"]), (&json!([]), &json!(0)));
    let listed = done(&mut client, "listMissions", json!({"workflow_id": "chain", "limit": 1}));
    assert_eq!((&listed["executions"][0]["execution_id"], &listed["total"]), (&json!(id), &json!(1)));
    for (asker, code) in [(&mut client, "already_ended"), (&mut other, "not_found")] {
        let again = done(asker, "workflow.cancel", json!({"execution_id": id}));
        assert_eq!((&again["cancelled"], &again["code"]), (&json!(false), &json!(code)), "{again:#}");
        assert_eq!((&again["tool"], again["error"].is_string()), (&json!("workflow.cancel"), true));
        assert_eq!(again["execution_id"], json!(id));
    }
    for args in [json!({"name": "nothing"}), json!({"name": "chain", "version": "9.0.0"})] {
        assert_code(&client.call("workflow.run", args), "not_found");
    }
    let foreign = client.call("workflow.status", json!({"execution_id": id, "tenant_id": "other"}));
    assert_stands(&foreign, "completed", "");
    let notes = &foreign["_meta"]["brigade/call"]["notes"];
    assert!(notes[0].as_str().unwrap().starts_with("`tenant_id` is ignored"), "{foreign:#}");
    let short = client.call("workflow.wait", json!({"execution_id": id, "timeout_seconds": 0}));
    assert_code(&short, "invalid_arguments");
}

#[test]
fn a_loop_ends_at_its_limit() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let state = "kind: System, command: 'true'";
    let visits =
        format!("  states:\n    A: {{{state}, max_state_visits: 3, transitions: [{{target: A}}]}}\n");
    deploy(&mut client, "visits", &visits);
    let total =
        format!("  max_total_transitions: 4\n  states:\n    A: {{{state}, transitions: [{{target: A}}]}}\n");
    deploy(&mut client, "total", &total);
    for (name, code, count) in [("visits", "max_state_visits", 3), ("total", "max_total_transitions", 5)] {
        let id = begin(&mut client, json!({"name": name}));
        let all = ended(&mut client, &id);
        assert_eq!((&all["status"], failure(&all)), (&json!("failed"), &json!(code)), "{all:#}");
        let entered = |event: &&Value| event["event_type"] == "state_entered";
        assert_eq!(all["events"].as_array().unwrap().iter().filter(entered).count(), count);
    }
}

const ASKS: &str = "  states:\n    A:\n      kind: Human\n      prompt: Ship {{input.what}}?\n      transitions:\n        \
                    - {condition: input_equals_yes, target: B}\n        - {condition: input_equals_no, target: C}\n    \
                    B: {kind: System, command: [echo, '{{human.response}}'], transitions: []}\n    \
                    C: {kind: System, command: echo stopped, transitions: []}\n";

#[test]
fn an_execution_waits_for_the_approval_of_a_step() {
    let site = site();
    add(&site, "held", "effects = [\"local-write\"]\n", "echo held\n");
    let mut client = Client::connect(&site, "local");
    let spec =
        "  states:\n    A: {kind: System, command: {tool: held, arguments: {text: a}}, transitions: []}\n";
    deploy(&mut client, "holds", spec);
    let id = begin(&mut client, json!({"name": "holds"}));
    let row = waiting(&site, "held ");
    assert_eq!((&row["kind"], &row["who"]), (&json!("approval"), &json!(format!("agent:local of {id}"))));
    let named = || json!({"execution_id": id});
    let stands = done(&mut client, "workflow.status", named());
    assert_eq!(stands["status"], "waiting", "{stands:#}");
    let early = done(&mut client, "workflow.wait", json!({"execution_id": id, "timeout_seconds": 1}));
    assert_eq!((&early["timed_out"], &early["status"]), (&json!(true), &json!("waiting")), "{early:#}");
    let listed = done(&mut client, "workflow.executions.list", json!({}));
    assert_eq!(listed["executions"][0]["status"], "waiting", "{listed:#}");
    site.json(["call", "approve", row["id"].as_str().unwrap()]).expect(0);
    assert_eq!(ended(&mut client, &id)["status"], "completed");
}

#[test]
fn a_person_answers_from_the_command_line_once() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    deploy(&mut client, "ship", ASKS);
    let id = begin(&mut client, json!({"name": "ship", "input": {"what": "v1"}}));
    let row = waiting(&site, "Ship v1?");
    assert_eq!(row["choices"], json!(["yes", "no"]), "{row:#}");
    let stands = done(&mut client, "workflow.status", json!({"execution_id": id}));
    assert_eq!(stands["status"], "waiting", "{stands:#}");
    let early = done(&mut client, "workflow.wait", json!({"execution_id": id, "timeout_seconds": 1}));
    assert_eq!((&early["timed_out"], &early["status"]), (&json!(true), &json!("waiting")), "{early:#}");
    // While the execution is paused, an answer does not continue it.
    let paused = client.call("pauseMission", json!({"execution_id": id}));
    assert_eq!(paused["structuredContent"]["status"], "paused", "{paused:#}");
    let answer = row["id"].as_str().unwrap();
    site.brigade.run(["work", "answer", answer, "--choice", "yes"]).assert_code(0);
    let early = done(&mut client, "workflow.wait", json!({"execution_id": id, "timeout_seconds": 1}));
    assert_eq!((&early["status"], &early["current_state"]), (&json!("paused"), &json!("A")), "{early:#}");
    done(&mut client, "resumeMission", json!({"execution_id": id}));
    let all = ended(&mut client, &id);
    assert_eq!(all["state_outputs"]["B"]["output"]["stdout"], "yes\n", "{all:#}");
    let twice = site.brigade.run(["work", "answer", answer, "--choice", "no"]);
    assert_ne!(twice.code(), Some(0), "{twice}");
    // If a person allows it, an agent can answer. Then nothing is pending.
    let id = begin(&mut client, json!({"name": "ship", "input": {"what": "v2"}}));
    waiting(&site, "Ship v2?");
    let signal = json!({"execution_id": id, "response": "no"});
    let asked = client.call("workflow.signal", signal.clone());
    assert_stands(&asked, "pending", "approval_pending");
    let call = asked["_meta"]["brigade/call"]["id"].as_str().unwrap().to_owned();
    site.brigade.run(["tools", "call", "approve", &call]).assert_code(0);
    let signalled = done(&mut client, "workflow.signal", signal.clone());
    let expect = json!({"tool": "workflow.signal", "signalled": true, "execution_id": id});
    assert_eq!(signalled, expect);
    assert_eq!(ended(&mut client, &id)["current_state"], "C");
    let asked = client.call("workflow.signal", signal.clone());
    let call = asked["_meta"]["brigade/call"]["id"].as_str().unwrap().to_owned();
    site.brigade.run(["tools", "call", "approve", &call]).assert_code(0);
    let late = done(&mut client, "workflow.signal", signal);
    assert_eq!((&late["signalled"], &late["code"]), (&json!(false), &json!("not_waiting")), "{late:#}");
}

#[test]
fn a_state_of_a_person_has_a_default() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let spec = "  states:\n    A: {kind: Human, prompt: Go on?, timeout: 1s, default_response: 'no', transitions: [{condition: \
                input_equals_no, target: B}]}\n    B: {kind: Human, prompt: Sure?, timeout: 1s, transitions: []}\n";
    deploy(&mut client, "patience", spec);
    let id = begin(&mut client, json!({"name": "patience"}));
    let all = ended(&mut client, &id);
    assert_eq!((&all["current_state"], failure(&all)), (&json!("B"), &json!("timed_out")), "{all:#}");
    assert_eq!(all["state_outputs"]["A"]["response"], "no");
    let brief = site.brigade.run(["work", "brief", "--json"]).assert_code(0).json();
    assert!(brief["waiting"].as_array().is_none_or(Vec::is_empty), "{brief:#}");
}

#[test]
fn a_workflow_gets_no_more_than_who_began_it() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let write =
        "kind: System, command: {tool: fs.write, arguments: {path: out.txt, content: x}}, transitions: []";
    deploy(&mut client, "writes", &format!("  states:\n    A: {{{write}}}\n"));
    deploy(
        &mut client,
        "around",
        "  states:\n    A: {kind: Subworkflow, workflow: writes, transitions: []}\n",
    );
    let mut reader = Client::connect(&site, "reader");
    for name in ["writes", "around"] {
        let id = begin(&mut reader, json!({"name": name}));
        let all = ended(&mut reader, &id);
        assert_eq!((&all["status"], failure(&all)), (&json!("failed"), &json!("not_found")), "{all:#}");
        assert!(!site.workspace.exists("out.txt"));
    }
    let id = begin(&mut client, json!({"name": "around"}));
    let all = ended(&mut client, &id);
    assert_eq!(all["status"], "completed", "{all:#}");
    assert_eq!(site.workspace.read_text("out.txt"), "x");
    let listed = done(&mut client, "workflow.executions.list", json!({}));
    assert_eq!(listed["total"], json!(2), "{listed:#}");
}

#[test]
fn a_workflow_that_runs_itself_is_cut_off() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    deploy(&mut client, "self", "  states:\n    A: {kind: Subworkflow, workflow: self, transitions: []}\n");
    let id = begin(&mut client, json!({"name": "self"}));
    let all = ended(&mut client, &id);
    assert_eq!((&all["status"], failure(&all)), (&json!("failed"), &json!("too_deep")), "{all:#}");
    assert_eq!(done(&mut client, "workflow.executions.list", json!({}))["total"], json!(8));
}

const SLOW: &str = "  states:\n    A: {kind: System, command: {tool: fs.write, arguments: {path: before, content: x}}, \
                    transitions: [{target: B}]}\n    B: {kind: System, command: {tool: slow, arguments: {text: a}}, \
                    transitions: [{condition: on_success, target: C}]}\n    C: {kind: System, command: {tool: fs.write, \
                    arguments: {path: after, content: x}}, transitions: []}\n";

/// A script that records its start and waits for the file `go`.
const SCRIPT: &str = "echo x >> began\nwhile [ ! -e go ]; do sleep 0.1; done\n";

#[test]
fn next_gateway_resumes_workflow_after_kill() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    deploy(&mut client, "slow", SLOW);
    let id = begin(&mut client, json!({"name": "slow"}));
    until("the step has begun", || site.workspace.exists("began").then_some(()));
    // The gateway is killed.
    drop(client);
    site.workspace.write("go", "");
    // The gateway of another agent takes the execution over.
    let other = Client::connect(&site, "ann");
    let row = waiting(&site, "Its outcome is unknown");
    assert_eq!(row["choices"], json!(["retry", "succeeded", "failed"]), "{row:#}");
    site.brigade.run(["work", "answer", row["id"].as_str().unwrap(), "--choice", "succeeded"]).assert_code(0);
    let mut client = Client::connect(&site, "local");
    let all = ended(&mut client, &id);
    assert_eq!((&all["status"], &all["current_state"]), (&json!("completed"), &json!("C")), "{all:#}");
    assert!(site.workspace.exists("before") && site.workspace.exists("after"));
    assert_eq!(site.workspace.read_text("began"), "x\n", "what had begun is not done again by itself");
    let names: Vec<&str> =
        all["events"].as_array().unwrap().iter().map(|event| event["event_type"].as_str().unwrap()).collect();
    assert_eq!(names.iter().filter(|name| **name == "workflow_taken_over").count(), 1, "{names:?}");
    drop(other);
}

/// Returns the size of a file.
fn size(site: &Site, path: &str) -> u64 {
    fs::metadata(site.workspace.join(path)).map_or(0, |found| found.len())
}

#[test]
fn kill_between_transition_writes_is_recovered() {
    // Issue 17: a step writes to the call journal, its receipt and the store. The gateway is killed after each line of
    // the journal, and between the lines when the store is written.
    let site = site();
    site.workspace.write(POLICY, RULES.replace("\"slow\"", "\"slow\", \"mark\""));
    add(&site, "mark", "effects = [\"local-write\"]\n", "echo \"$1\" >> marks\n");
    site.trust(["mark"]);
    let state = |name: &str, next: &str| {
        format!(
            "    {name}: {{kind: System, command: {{tool: mark, arguments: {{text: '{{{{intent}}}}-{name}'}}}}, \
             transitions: [{next}]}}\n"
        )
    };
    let states = state("A", "{condition: on_success, target: B}")
        + &state("B", "{condition: on_success, target: C}")
        + &state("C", "");
    deploy(&mut Client::connect(&site, "local"), "marks", &format!("  states:\n{states}"));
    let (journal, log) = (".brigade/tools/calls.jsonl", ".brigade/tools/state.db-wal");
    let mut asked = 0;
    for round in 0..10_u64 {
        let intent = format!("r{round}");
        let mut client = Client::connect(&site, "local");
        let id = begin(&mut client, json!({"name": "marks", "intent": intent}));
        // Each round lets the files grow a little more.
        let begun = (size(&site, journal), size(&site, log));
        let grown =
            || size(&site, journal).saturating_sub(begun.0) + size(&site, log).saturating_sub(begun.1);
        let is_over = || {
            site.workspace.exists("marks")
                && site.workspace.read_text("marks").contains(&format!("{intent}-C"))
        };
        let started = std::time::Instant::now();
        while grown() < round * 6_000 && !is_over() && started.elapsed().as_secs() < 30 {
            std::thread::park_timeout(std::time::Duration::from_micros(200));
        }
        drop(client);
        let mut client = Client::connect(&site, "local");
        let marks = |name: &str| {
            let all = if site.workspace.exists("marks") {
                site.workspace.read_text("marks")
            } else {
                String::new()
            };
            all.lines().filter(|line| *line == format!("{intent}-{name}")).count()
        };
        let mut seen = json!(null);
        let begun = std::time::Instant::now();
        loop {
            let status = done(&mut client, "workflow.status", json!({"execution_id": id}));
            if matches!(status["status"].as_str(), Some("completed" | "failed" | "cancelled")) {
                break;
            }
            assert!(begun.elapsed().as_secs() < 60, "{round}: it does not continue: {status:#} {seen:#}");
            let brief = site.brigade.run(["work", "brief", "--json"]).assert_code(0).json();
            let rows = brief["waiting"].as_array().cloned().unwrap_or_default();
            for row in &rows {
                // A person checks what an interrupted step did. A repeated step needs another approval.
                let did = marks(status["current_state"].as_str().unwrap()) == 1;
                let choice = match row["text"].as_str().unwrap().contains("Its outcome is unknown") {
                    true if did => "succeeded",
                    true => "retry",
                    false => "approve",
                };
                asked += 1;
                site.brigade.run(["work", "answer", row["id"].as_str().unwrap(), "--choice", choice]);
            }
            seen = brief["waiting"].clone();
        }
        let all = ended(&mut client, &id);
        assert_eq!(all["status"], "completed", "{round}: {all:#}");
        assert_eq!(
            [marks("A"), marks("B"), marks("C")],
            [1, 1, 1],
            "{round}: each step is done once: {all:#}"
        );
    }
    eprintln!("a person was asked {asked} times in 10 rounds");
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
}

#[test]
fn the_next_gateway_continues_a_command_line_start() {
    let site = site();
    let states = "  states:\n    A:\n      kind: System\n      command: [echo, hi]\n      transitions: [{condition: on_success, \
                  target: B}]\n    B:\n      kind: Human\n      prompt: Go on?\n      transitions: []\n";
    deploy(&mut Client::connect(&site, "local"), "greet", states);
    let run = |id: &str| {
        site.json(["call", "approve", id]).expect(0);
        site.json(["call", "run", id]).expect(0);
    };
    let queued = site.json(["call", "queue", "workflow.run", "--args", r#"{"name": "greet"}"#]).expect(0);
    run(queued["call"]["id"].as_str().unwrap());
    // Its first step waits for a person, and no process is running.
    let calls = site.json(["call", "list", "--status", "pending"]).expect(0);
    assert_eq!(calls["calls"][0]["tool_id"], "cmd.run", "{calls:#}");
    run(calls["calls"][0]["id"].as_str().unwrap());
    let _gateway = Client::connect(&site, "ann");
    waiting(&site, "Go on?");
}

#[test]
fn a_cancelled_workflow_ends_its_command() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    deploy(&mut client, "slow", SLOW);
    deploy(&mut client, "around", "  states:\n    A: {kind: Subworkflow, workflow: slow, transitions: []}\n");
    let id = begin(&mut client, json!({"name": "around"}));
    until("the step has begun", || site.workspace.exists("began").then_some(()));
    let refused = client.call("workflow.remove", json!({"execution_id": id}));
    assert_stands(&refused, "pending", "approval_pending");
    let cancelled = done(&mut client, "cancelMission", json!({"execution_id": id}));
    assert_eq!((&cancelled["cancelled"], &cancelled["execution_id"]), (&json!(true), &json!(id)));
    assert_eq!(ended(&mut client, &id)["status"], "cancelled");
    let listed = done(&mut client, "workflow.executions.list", json!({}));
    for row in listed["executions"].as_array().unwrap() {
        assert_eq!(row["status"], "cancelled", "{listed:#}");
    }
    until("the command has ended", || {
        let calls = fs::read_to_string(site.workspace.path().join(".brigade/tools/calls.jsonl")).unwrap();
        let last = calls.lines().rfind(|line| line.contains("\"slow\""))?.to_owned();
        last.contains("\"interrupted\"").then_some(())
    });
    assert!(!site.workspace.exists("after"));
}

#[test]
fn agents_work_at_once_and_agree_or_do_not() {
    let site = site();
    let worker = brigade_testkit::fixtures().join("kitchen/worker.py");
    let command = format!("python3 -B {} {}", worker.display(), site.beside("scenario.json").display());
    site.workspace.write(GATEWAY, format!("{AGENTS}\n[[worker]]\nid = \"mock\"\ncommand = {command:?}\n"));
    let scenario = json!({"default": [{"output": "{\"score\": 0.9, \"confidence\": 0.8}"}], "record": site.beside("calls")});
    fs::write(site.beside("scenario.json"), scenario.to_string()).unwrap();
    let mut client = Client::connect(&site, "local");
    let agent = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {name: critic}\nspec: {runtime: {image: a/b}}\n";
    done(&mut client, "agent.create", json!({"manifest_yaml": agent}));
    let spec = "  states:\n    A:\n      kind: ParallelAgents\n      agents: [{agent: critic, input: 'Look at {{input.what}}'}, \
                {agent: critic, input: 'Look at {{input.what}}'}]\n      consensus: {strategy: unanimous, threshold: \
                0.8}\n      transitions: [{condition: consensus, threshold: 0.8, agreement: 0.7, target: B}]\n    \
                B: {kind: Agent, agent: critic, input: 'Said {{A.score}}', transitions: [{condition: score_above, threshold: \
                0.5, target: C}]}\n    C: {kind: System, command: [echo, '{{B.output.score}}'], transitions: []}\n";
    deploy(&mut client, "review", spec);
    let id = begin(&mut client, json!({"name": "review", "input": {"what": "a.rs"}}));
    let all = ended(&mut client, &id);
    assert_eq!(all["status"], "completed", "{all:#}");
    assert_eq!(all["state_outputs"]["C"]["output"]["stdout"], "0.9\n", "{all:#}");
    assert_eq!(all["state_outputs"]["A"]["output"]["agents"].as_array().unwrap().len(), 2);
    assert_eq!(done(&mut client, "task.list", json!({}))["executions"].as_array().unwrap().len(), 3);
}

/// Returns the calls of a tool that wait for a person.
fn pending(site: &Site, tool: &str) -> Vec<String> {
    let calls = site.json(["call", "list", "--status", "pending"]).expect(0);
    let own = calls["calls"].as_array().unwrap().iter().filter(|call| call["tool_id"] == tool);
    own.map(|call| call["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn equal_steps_of_two_executions_are_two_calls() {
    let site = site();
    site.workspace.write(POLICY, RULES.replace("\"cmd.run\", ", ""));
    let mut client = Client::connect(&site, "local");
    deploy(
        &mut client,
        "ship",
        "  states:\n    A: {kind: System, command: [echo, shipped], transitions: []}\n",
    );
    let executions = [(); 3].map(|()| begin(&mut client, json!({"name": "ship"})));
    let calls =
        until("all of them wait", || Some(pending(&site, "cmd.run")).filter(|calls| calls.len() == 3));
    done(&mut client, "workflow.cancel", json!({"execution_id": executions[0]}));
    let left = until("one is withdrawn", || Some(pending(&site, "cmd.run")).filter(|calls| calls.len() == 2));
    site.json(["call", "approve", &left[0], &left[1]]).expect(0);
    assert!(left.iter().all(|id| calls.contains(id)));
    for id in &executions[1..] {
        assert_eq!(ended(&mut client, id)["status"], "completed");
    }
    let runs = site.json(["run", "list"]).expect(0);
    let ran = runs["runs"].as_array().unwrap().iter().filter(|run| run["tool_id"] == "cmd.run").count();
    assert_eq!(ran, 2, "each has a separate run");
}

#[test]
fn approval_binds_workflow_and_question() {
    let site = site();
    site.workspace.write(
        POLICY,
        RULES.replace(
            "\"workflow.*\"",
            "\"workflow.create\", \"workflow.update\", \"workflow.executions.list\"",
        ),
    );
    let mut client = Client::connect(&site, "local");
    let states = |word: &str| {
        format!("  states:\n    A: {{kind: System, command: [echo, {word}], transitions: []}}\n")
    };
    deploy(&mut client, "ship", &states("harmless"));
    let asked = client.call("workflow.run", json!({"name": "ship"}));
    assert_stands(&asked, "pending", "approval_pending");
    let id = asked["_meta"]["brigade/call"]["id"].as_str().unwrap().to_owned();
    let shown = site.tools(["call", "show", &id]).stdout_text();
    assert!(shown.contains("workflow ship"), "{shown}");
    site.json(["call", "approve", &id]).expect(0);
    let manifest = format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{name: ship, version: 2.0.0}}\nspec:\n  \
         initial_state: A\n{}",
        states("evil")
    );
    done(&mut client, "workflow.update", json!({"manifest_yaml": manifest}));
    let refused = client.call("call.wait", json!({"call_id": id}));
    assert!(text(&refused).contains("workflow ship"), "{refused:#}");
    assert_eq!(done(&mut client, "workflow.executions.list", json!({}))["executions"], json!([]));
    // Consent to one question is not consent to the next.
    deploy(
        &mut client,
        "two",
        "  states:\n    A: {kind: Human, prompt: 'Harmless?', transitions: [{condition: always, target: B}]}\n    \
         B: {kind: Human, prompt: 'Delete it?', transitions: []}\n",
    );
    let run = agreed(&site, &mut client, "workflow.run", json!({"name": "two"}));
    let execution = run["structuredContent"]["execution_id"].clone();
    let question = waiting(&site, "Harmless?");
    let asked = client.call("workflow.signal", json!({"execution_id": execution, "response": "yes"}));
    let signal = asked["_meta"]["brigade/call"]["id"].as_str().unwrap().to_owned();
    let shown = site.tools(["call", "show", &signal]).stdout_text();
    assert!(shown.contains("the question of `A`"), "{shown}");
    site.json(["call", "approve", &signal]).expect(0);
    let id = question["id"].as_str().unwrap();
    site.brigade.run(["work", "answer", id, "--text", "ok"]).assert_code(0);
    waiting(&site, "Delete it?");
    let refused = client.call("call.wait", json!({"call_id": signal}));
    assert!(text(&refused).contains("the question of"), "{refused:#}");
    waiting(&site, "Delete it?");
}

#[test]
fn a_value_makes_no_option() {
    let site = site();
    site.workspace.write("important.txt", "precious\n");
    let mut client = Client::connect(&site, "local");
    deploy(
        &mut client,
        "show",
        "  states:\n    A: {kind: System, command: [cat, '{{input.x}}', important.txt], transitions: []}\n",
    );
    deploy(
        &mut client,
        "called",
        "  states:\n    A: {kind: System, command: {tool: cmd.run, arguments: {command: cat, args: ['{{input.x}}']}}, \
         transitions: []}\n",
    );
    for name in ["show", "called"] {
        let id = begin(&mut client, json!({"name": name, "input": {"x": "--help"}}));
        let all = ended(&mut client, &id);
        assert_eq!(failure(&all), "argument_looks_like_option", "{all:#}");
        let id = begin(&mut client, json!({"name": name, "input": {"x": "important.txt"}}));
        assert_eq!(ended(&mut client, &id)["status"], "completed");
    }
}

#[track_caller]
fn agreed(site: &Site, client: &mut Client, tool: &str, args: Value) -> Value {
    let asked = client.call(tool, args.clone());
    assert_stands(&asked, "pending", "approval_pending");
    let call = asked["_meta"]["brigade/call"]["id"].as_str().unwrap().to_owned();
    site.brigade.run(["tools", "call", "approve", &call]).assert_code(0);
    client.call(tool, args)
}

#[test]
fn a_workflow_is_offered_more_widely_and_less() {
    let here = site();
    let home = here.beside("home");
    fs::create_dir_all(&home).unwrap();
    let home = home.to_str().unwrap();
    let (here, there) = (here.env("HOME", home), site().env("HOME", home));
    let (mut client, mut other) = (Client::connect(&here, "local"), Client::connect(&there, "local"));
    let leaf = "  states:\n    A: {kind: System, command: echo leaf, transitions: []}\n";
    deploy(&mut client, "leaf", leaf);
    deploy(&mut client, "tree", "  states:\n    A: {kind: Subworkflow, workflow: leaf, transitions: []}\n");
    assert_code(&other.call("workflow.run", json!({"name": "tree"})), "not_found");
    let refused = agreed(&here, &mut client, "workflow.promote", json!({"name": "tree"}));
    assert_code(&refused, "refers_to_narrower");
    for name in ["leaf", "tree"] {
        let done = agreed(&here, &mut client, "workflow.promote", json!({"name": name}));
        assert_eq!(done["structuredContent"]["target_scope"], "global", "{done:#}");
    }
    let again =
        agreed(&here, &mut client, "workflow.promote", json!({"name": "leaf", "target_scope": "tenant"}));
    assert_code(&again, "not_wider");
    let listed = done(&mut other, "workflow.list", json!({"scope": "global"}));
    assert_eq!(listed["workflows"].as_array().unwrap().len(), 2, "{listed:#}");
    let id = begin(&mut other, json!({"name": "tree"}));
    let all = ended(&mut other, &id);
    assert_eq!(all["state_outputs"]["A"]["output"]["result"]["output"]["stdout"], "leaf\n", "{all:#}");
    // Another workspace can neither change nor demote it. No workspace can while others depend on it.
    let refused = agreed(&there, &mut other, "workflow.demote", json!({"name": "leaf"}));
    assert_code(&refused, "not_found");
    let refused = agreed(&here, &mut client, "workflow.demote", json!({"name": "leaf"}));
    assert_code(&refused, "in_use");
    let refused = agreed(&here, &mut client, "workflow.delete", json!({"name": "tree"}));
    assert_code(&refused, "in_wider_scope");
    // A user in an argument gives no rights.
    let forged = agreed(&there, &mut other, "workflow.demote", json!({"name": "tree", "user_id": "local"}));
    assert_code(&forged, "not_found");
    for name in ["tree", "leaf"] {
        let done =
            agreed(&here, &mut client, "workflow.demote", json!({"name": name, "target_scope": "user"}));
        assert_eq!(done["structuredContent"]["demoted"], json!(true), "{done:#}");
    }
    assert_code(&other.call("workflow.run", json!({"name": "tree"})), "not_found");
    assert_eq!(done(&mut other, "workflow.list", json!({}))["workflows"], json!([]));
    let mut ann = Client::connect(&here, "ann");
    assert_code(&ann.call("workflow.export", json!({"name": "leaf"})), "not_found");
    assert_eq!(done(&mut ann, "workflow.list", json!({}))["workflows"], json!([]));
    let id = begin(&mut client, json!({"name": "leaf"}));
    assert_eq!(ended(&mut client, &id)["status"], "completed");
}
