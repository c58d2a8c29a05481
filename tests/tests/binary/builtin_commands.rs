//! `cmd.run` runs commands of agents like any other program.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up files and programs, and one that cannot read an answer fails"
)]

use brigade_tests::{Site, processes_with, until};
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, about, assert_stands, id_of, signal, text};

/// The file of profiles.
const PROFILES: &str = ".brigade/tools/profiles.toml";

/// A policy with a rule for commands, which holds only where a context names them.
const RULES: &str = r#"allowed_families = ["builtin"]
allowed_effects = ["local-read", "local-write", "process-exec", "network"]
max_timeout = 60

[env_bindings]
GREETING = "CANARY"

[[auto_approve]]
name = "commands"
tools = ["cmd.run"]
effects = ["process-exec", "local-write", "network"]
env = ["GREETING"]
"#;

/// Returns a workspace with the full-auto agent `local`, whose context has these limits.
fn site(limits: &str) -> Site {
    let site = Site::empty().env("CANARY", "canary-bound-4711-value");
    site.workspace.write(POLICY, RULES);
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write("a.txt", "one\ntwo\n");
    let context = if limits.is_empty() { "" } else { ", \"context.commands\"" };
    let agent = format!("[[agent]]\nname = \"local\"\nprofiles = [\"permission.full-auto\"{context}]\n");
    site.workspace.write(GATEWAY, agent);
    if !limits.is_empty() {
        let profile = format!(
            "[[profile]]\nname = \"context.commands\"\n[[profile.rule]]\nmatch = \"id:cmd.run\"\n\
             action = \"allow\"\nconstrain = {{ {limits} }}\n"
        );
        site.workspace.write(PROFILES, profile);
    }
    site
}

#[test]
fn commands_without_profile_ask_a_person() {
    let site = site("");
    let mut client = Client::connect(&site, "local");
    for name in ["cmd.run", "bash", "runCommand"] {
        let asked = client.call(name, json!({"command": "grep -c o a.txt"}));
        assert_stands(&asked, "pending", "approval_pending");
        assert_eq!(about(&asked)["tool"], "cmd.run");
    }
    let asked = client.call("bash", json!({"command": "grep -c o a.txt", "timeout": 4500}));
    assert_stands(&asked, "pending", "approval_pending");
    site.json(["call", "approve", &id_of(&asked)]).expect(0);
    let done = client.call("call.wait", json!({"call_id": id_of(&asked)}));
    assert_stands(&done, "completed", "");
    let expect =
        json!({"stdout": "2\n", "stderr": "", "exit_code": 0, "timed_out": false, "truncated": false});
    assert_eq!(done["structuredContent"], expect, "{done:#}");
    // The receipt has everything that receipts of programs have: bytes, words, sandbox, and the limit in seconds.
    let run = about(&done)["run_id"].as_str().unwrap();
    let receipt = site.json(["run", "show", run]).expect(0)["run"].clone();
    assert_eq!(receipt["argv"], json!(["grep", "-c", "o", "a.txt"]), "{receipt:#}");
    assert_eq!((&receipt["timeout"], &receipt["exit_code"]), (&json!(5.0), &json!(0)));
    assert!(receipt["binding"]["program"]["sha256"].is_string());
    // The policy has no sandbox, but the command is still confined.
    assert_eq!(receipt["sandbox"]["mode"], "best-effort", "{receipt:#}");
    assert_eq!(
        (&receipt["sandbox"]["network"], &receipt["effects"]),
        (&json!(false), &json!(["process-exec"]))
    );
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
}

#[test]
fn another_process_can_read_a_command_result() {
    let site = site("");
    let mut client = Client::connect(&site, "local");
    let asked = client.call("cmd.run", json!({"command": "cat a.txt"}));
    let id = id_of(&asked);
    site.json(["call", "approve", &id]).expect(0);
    let ran = client.call("call.wait", json!({"call_id": id}));
    let again = Client::connect(&site, "local").call("call.wait", json!({"call_id": id}));
    assert_eq!(ran["structuredContent"]["stdout"], "one\ntwo\n", "{ran:#}");
    assert_eq!(again["structuredContent"], ran["structuredContent"], "{again:#}");
}

#[test]
fn shell_syntax_is_refused_with_an_alternative() {
    let site = site("");
    let mut client = Client::connect(&site, "local");
    for command in [
        "cat a.txt | wc -l",
        "cat a.txt; ls",
        "ls && ls",
        "cat < a.txt",
        "echo $(id)",
        "cat *.txt",
        "cat $HOME/x",
    ] {
        let answer = client.call("cmd.run", json!({"command": command}));
        assert_stands(&answer, "refused", "shell_syntax");
        assert!(text(&answer).contains("no shell reads the command"), "{}", text(&answer));
        assert!(text(&answer).contains("ask a person to add a script to the catalog"));
    }
    // The rules for files apply to the directory. A variable gets its value from the policy.
    for (args, code) in [
        (json!({"command": "ls", "cwd": "../.."}), "path_outside"),
        (json!({"command": "ls", "cwd": ".brigade"}), "protected_path"),
        (json!({"command": "ls", "env": {"LD_PRELOAD": true}}), "unsafe_env_label"),
        (json!({"command": "ls", "env": {"GREETING": "mine"}}), "env_by_policy"),
        (json!({"command": "ls", "timeout_seconds": 601}), "invalid_arguments"),
        (json!({"command": "ls 'open"}), "invalid_command"),
        (json!({"command": "nosuchprogram-4711"}), "program_not_found"),
    ] {
        let answer = client.call("cmd.run", args.clone());
        assert_stands(&answer, "refused", code);
    }
}

#[test]
fn a_shell_reads_a_text_that_a_person_approves() {
    let site = site("");
    let mut client = Client::connect(&site, "local");
    let args = json!({"command": "sort -r < a.txt | head -n 1; echo $1", "args": ["end"], "shell": true});
    let refused = client.call("cmd.run", args.clone());
    assert_stands(&refused, "refused", "policy_shell");
    assert!(text(&refused).contains("shell = \"approved\""), "{refused:#}");
    let rules = RULES.replace(
        "[env_bindings]",
        "[commands]\nshell = \"approved\"\ninline_code = \"refuse\"\n\n[env_bindings]",
    );
    site.workspace.write(POLICY, rules);
    let asked = client.call("cmd.run", args);
    assert_stands(&asked, "pending", "approval_pending");
    let shown = site.json(["call", "show", &id_of(&asked)]).expect(0).to_string();
    assert!(shown.contains("sort -r < a.txt | head -n 1; echo $1"), "{shown}");
    site.json(["call", "approve", &id_of(&asked)]).expect(0);
    let done = client.call("call.wait", json!({"call_id": id_of(&asked)}));
    assert_stands(&done, "completed", "");
    assert_eq!(done["structuredContent"]["stdout"], "two\nend\n", "{done:#}");
    let risky = client.call("cmd.run", json!({"command": "sudo ls", "shell": true}));
    assert_stands(&risky, "refused", "high_risk_command");
}

#[test]
fn read_only_commands_need_no_memory_search() {
    // Issue 17: every command was refused.
    let site = site("");
    site.workspace.write(GATEWAY, "[[agent]]\nname = \"local\"\nprofiles = [\"guard.memory\"]\n");
    site.write_program("ls", "#!/bin/sh\ntouch made.txt\n");
    site.brigade.clone().input("Fix the build").run(["work", "turn", "--as", "local"]).assert_code(0);
    let mut client = Client::connect(&site, "local");
    for command in ["cat a.txt", "ls -la", "grep -n o a.txt", "git log --oneline", "wc -l a.txt"] {
        let answer = client.call("cmd.run", json!({"command": command}));
        assert_stands(&answer, "pending", "approval_pending");
    }
    for command in ["touch x", "./ls", "sort -o a.txt a.txt", "git log --output=a.txt", "env cat a.txt"] {
        let answer = client.call("cmd.run", json!({"command": command}));
        assert_stands(&answer, "refused", "memory_search_first");
    }
}

#[test]
fn the_end_of_a_command_is_its_result() {
    let site = site("commands = [\"./end.sh\", \"sleep\", \"printf\", \"printenv\"]");
    site.write_program("end.sh", "#!/bin/sh\necho out; echo bad >&2; exit 3\n");
    let mut client = Client::connect(&site, "local");
    let ended = client.call("cmd.run", json!({"command": "./end.sh"}));
    assert_stands(&ended, "completed", "");
    assert_ne!(ended["isError"], true);
    let expect =
        json!({"stdout": "out\n", "stderr": "bad\n", "exit_code": 3, "timed_out": false, "truncated": false});
    assert_eq!(ended["structuredContent"], expect);
    assert!(text(&ended).contains("[exit code 3]"));
    let late = client.call("cmd.run", json!({"command": "sleep 600", "timeout_seconds": 1}));
    assert_stands(&late, "timed-out", "timed_out");
    assert_eq!(late["structuredContent"]["timed_out"], true, "{late:#}");
    // Words of `args` are never split. The output is limited.
    let words = client.call("cmd.run", json!({"command": "printf '[%s]'", "args": ["a b", "*", "$(x)"]}));
    assert_eq!(words["structuredContent"]["stdout"], "[a b][*][$(x)]");
    let cut = client.call("cmd.run", json!({"command": "printf abcdef", "max_output_bytes": 3}));
    assert_eq!(
        (&cut["structuredContent"]["stdout"], &cut["structuredContent"]["truncated"]),
        (&json!("abc"), &json!(true))
    );
    // A bound value reaches the command, and is masked in its output.
    let bound = client.call("cmd.run", json!({"command": "printenv GREETING", "env": {"GREETING": true}}));
    assert_eq!(bound["structuredContent"]["exit_code"], 0, "{bound:#}");
    assert!(!bound.to_string().contains("bound-4711"), "{bound:#}");
    let without = client.call("cmd.run", json!({"command": "printenv GREETING"}));
    assert_eq!(without["structuredContent"]["exit_code"], 1);
    let outside = client.call("cmd.run", json!({"command": "ls"}));
    assert_stands(&outside, "refused", "outside_context");
}

/// A program that tries to write to the workspace, and to open a socket.
const TRIES: &str = "#!/usr/bin/env python3\nimport socket, sys\n\
    try:\n    open('made.txt', 'w').write('x'); print('wrote')\nexcept OSError: print('no write')\n\
    try:\n    socket.socket(socket.AF_INET, socket.SOCK_STREAM); print('socket')\nexcept OSError: print('no socket')\n";

#[test]
fn context_limits_writes_and_network() {
    for (granted, expect) in [
        ("", "no write\nno socket\n"),
        (", effects = [\"local-write\"]", "wrote\nno socket\n"),
        (", effects = [\"local-write\", \"network\"]", "wrote\nsocket\n"),
    ] {
        let site = site(&format!("commands = [\"./tries.py\"]{granted}"));
        site.write_program("tries.py", TRIES);
        let mut client = Client::connect(&site, "local");
        let done = client.call("cmd.run", json!({"command": "./tries.py"}));
        assert_stands(&done, "completed", "");
        assert_eq!(done["structuredContent"]["stdout"], expect, "{granted}: {done:#}");
        assert_eq!(site.workspace.exists("made.txt"), expect.contains("wrote"));
        // A profile on top of the agent's profiles narrows rights, but grants none.
        let mut narrowed = Client::start(&site, &["--profile", "context.workspace"]);
        narrowed.hello("2025-11-25", json!({}));
        let done = narrowed.call("cmd.run", json!({"command": "./tries.py", "args": ["again"]}));
        assert_eq!(done["structuredContent"]["stdout"], "no write\nno socket\n", "{granted}: {done:#}");
    }
    // The policy decides whether the context's grants apply.
    let site = site("commands = [\"cat\"], effects = [\"network\"]");
    site.workspace.write(POLICY, RULES.replace(", \"network\"]\nmax", "]\nmax"));
    let answer = Client::connect(&site, "local").call("cmd.run", json!({"command": "cat a.txt"}));
    assert_stands(&answer, "refused", "policy_effect_not_allowed");
}

#[test]
fn a_command_ends_when_cancelled_or_with_the_gateway() {
    let site = site("commands = [\"./long.sh\"]");
    let script = "#!/bin/sh\ntrap '' TERM\nsh -c 'sleep 4000; true' \"$1\" &\nsleep 4000\n";
    site.write_program("long.sh", script);
    let mark = site.workspace.join("mark-4711").display().to_string();
    let long =
        |client: &mut Client| client.send_call("cmd.run", json!({"command": "./long.sh", "args": [mark]}));
    let running = |site: &Site| -> Vec<Value> {
        let listed = site.json(["call", "list", "--status", "running"]).expect(0);
        listed["calls"].as_array().unwrap().clone()
    };
    let until = |what: &str, holds: &dyn Fn() -> bool| until(what, || holds().then_some(()));
    let mut client = Client::connect(&site, "local");
    let id = long(&mut client);
    until("it runs", &|| !running(&site).is_empty());
    client.tell("notifications/cancelled", json!({"requestId": id}));
    until("it was ended", &|| running(&site).is_empty());
    assert_eq!(processes_with(&mark), [0_u32; 0]);
    let mut second = Client::connect(&site, "local");
    long(&mut second);
    until("it runs", &|| !running(&site).is_empty());
    signal(second.pid(), "KILL");
    until("nothing is left", &|| processes_with(&mark).is_empty());
    until("it is recorded", &|| running(&site).is_empty());
}

#[test]
fn commands_can_run_from_the_command_line() {
    let site = site("");
    let args = r#"{"command": "cat a.txt"}"#;
    let plan = site.json(["call", "plan", "cmd.run", "--args", args]).expect(0);
    assert_eq!(plan["argv"], json!(["cat", "a.txt"]), "{plan:#}");
    let queued = site.json(["call", "queue", "cmd.run", "--args", args]).expect(0);
    let id = queued["call"]["id"].as_str().unwrap().to_owned();
    site.json(["call", "approve", &id]).expect(0);
    // The file in the command is bound.
    let run = site.json(["call", "run", &id]).expect(0);
    assert_eq!(run["receipt"]["stdout_summary"], "one two", "{run:#}");
    let queued = site.json(["call", "queue", "cmd.run", "--args", args]).expect(0);
    let id = queued["call"]["id"].as_str().unwrap().to_owned();
    site.json(["call", "approve", &id]).expect(0);
    site.workspace.write("a.txt", "other\n");
    let refused = site.json(["call", "run", &id]).expect(1);
    assert_eq!(refused["blocker_details"][0]["code"], "changed_file", "{refused:#}");
    assert_eq!(site.json(["doctor", "--only", "run_replay_blocked"]).expect(0)["issues"], json!([]));
}

#[test]
fn a_suite_runs_as_a_separate_call() {
    let site = site("");
    site.workspace.write(POLICY, RULES.replace("[\"builtin\"]", "[\"builtin\", \"script\"]"));
    let mut client = Client::connect(&site, "local");
    let absent = client.call("listTestSuites", json!({}));
    assert_stands(&absent, "refused", "not_available_here");
    assert!(text(&absent).contains("test.suites"), "{absent:#}");
    let schema = r#"{"type":"object","properties":{"text":{"type":"string"}},"additionalProperties":false}"#;
    site.workspace.write("schemas/text.json", schema);
    crate::serve_common::add(&site, "unit", "categories = [\"test\"]\n", "echo all passed\n");
    crate::serve_common::add(&site, "other", "", "echo no\n");
    let mut client = Client::connect(&site, "local");
    let agreed = |client: &mut Client, tool: &str, args: Value| {
        let asked = client.call(tool, args);
        assert_stands(&asked, "pending", "approval_pending");
        site.json(["call", "approve", &id_of(&asked)]).expect(0);
        client.call("call.wait", json!({"call_id": id_of(&asked)}))
    };
    let listed = agreed(&mut client, "test.list", json!({}));
    assert_eq!(listed["structuredContent"]["suites"], json!(["unit"]), "{listed:#}");
    let missing = agreed(&mut client, "test.run", json!({"suite": "other"}));
    assert_eq!(about(&missing)["code"], "not_found", "{missing:#}");
    let asked = agreed(&mut client, "runTestSuite", json!({"suite": "unit"}));
    let call =
        asked["structuredContent"]["call_id"].as_str().unwrap_or_else(|| panic!("{asked:#}")).to_owned();
    // The suite itself waits for a person, and has a separate receipt.
    site.json(["call", "approve", &call]).expect(0);
    let ran = client.call("call.wait", json!({"call_id": call}));
    assert_stands(&ran, "completed", "");
    assert!(text(&ran).contains("all passed"), "{ran:#}");
    assert_eq!(about(&ran)["tool"], "unit");
    let runs = agreed(&mut client, "listTestRuns", json!({"suite": "unit"}));
    let rows = runs["structuredContent"]["runs"].clone();
    assert_eq!((&rows[0]["call_id"], &rows[0]["status"]), (&json!(call), &json!("completed")), "{rows:#}");
    // A suite that the session cannot see is unknown there, and is not listed.
    let hidden = "[[profile]]\nname = \"context.closed\"\n[[profile.rule]]\nmatch = \"id:unit\"\naction = \"deny\"\n\
                  [[profile.rule]]\nmatch = \"id:*\"\naction = \"allow\"\n";
    site.workspace.write(PROFILES, hidden);
    let mut client = Client::start(&site, &["--as", "local", "--profile", "context.closed"]);
    client.hello("2025-11-25", json!({}));
    let missing = agreed(&mut client, "test.run", json!({"suite": "unit"}));
    assert_eq!(about(&missing)["code"], "not_found", "{missing:#}");
    assert!(text(&missing).contains("test suite"), "{missing:#}");
    let listed = agreed(&mut client, "test.list", json!({}));
    assert_eq!(listed["structuredContent"]["suites"], json!([]), "{listed:#}");
}

/// Issue 17: a result reported a cut after 2048 of 2048 bytes.
#[test]
fn a_result_cut_by_the_policy_states_its_full_size() {
    let site = site("commands = [\"seq\"]");
    site.workspace.write(POLICY, RULES.replace("max_timeout", "max_output_bytes = 2048\nmax_timeout"));
    let mut client = Client::connect(&site, "local");
    let long = client.call("cmd.run", json!({"command": "seq 1 20000"}));
    assert_stands(&long, "completed", "");
    let note = "[cut after 2048 of 108894 bytes; the policy keeps no more (`max_output_bytes`)]";
    assert!(text(&long).ends_with(note), "{}", &text(&long)[2_000..]);
}

/// Issue 17: a rule for a workspace script never matched, and a rule for a program matched a file of the same name.
#[test]
fn a_rule_names_a_script_or_a_program() {
    let site = site("commands = [\"./run.sh\", \"run.sh\", \"./seq\", \"seq\"]");
    for name in ["run.sh", "seq"] {
        site.write_program(name, "#!/bin/sh\necho mine\n");
    }
    let rule = |pattern: &str| format!("{RULES}arguments = {{ command = \"{pattern}\" }}\n");
    let asks = |pattern: &str, command: &str| {
        site.workspace.write(POLICY, rule(pattern));
        let mut client = Client::connect(&site, "local");
        about(&client.call("cmd.run", json!({"command": command})))["status"].clone()
    };
    assert_eq!(asks("./run.sh *", "./run.sh -v"), "completed");
    assert_eq!(asks("./run.sh", "././run.sh"), "completed");
    assert_eq!(asks("seq *", "seq 2"), "completed");
    assert_eq!(asks("seq *", "./seq 3"), "pending");
    assert_eq!(asks("./seq *", "seq 4"), "pending");
}

#[test]
fn a_result_that_is_cut_says_so_and_where_the_rest_is() {
    let site = site("commands = [\"seq\"]");
    let rules = RULES.replace("[\"cmd.run\"]", "[\"cmd.run\", \"fs.read\"]");
    site.workspace.write(
        POLICY,
        rules.replace("effects = [\"process-exec\"", "effects = [\"local-read\", \"process-exec\""),
    );
    let mut client = Client::connect(&site, "local");
    let short = client.call("cmd.run", json!({"command": "seq 1 3"}));
    assert_eq!((&about(&short)["truncated"], text(&short)), (&json!(false), "1\n2\n3\n".to_owned()));
    let long = client.call("cmd.run", json!({"command": "seq 1 20000"}));
    assert_stands(&long, "completed", "");
    assert_eq!(about(&long)["truncated"], true, "{}", about(&long));
    let shown = long["structuredContent"]["stdout"].as_str().unwrap().len();
    let run = about(&long)["run_id"].as_str().unwrap();
    let note = format!("[cut after {shown} of 108894 bytes; `output.read` with run_id `{run}` reads on]");
    assert!(text(&long).ends_with(&note), "{}", &text(&long)[shown - 10..]);
    assert_eq!(text(&long).matches("[cut").count(), 1);
    let rest = client.call("output.read", json!({"run_id": run, "offset": shown}));
    assert!(long["structuredContent"]["stdout"].as_str().unwrap().len() < 108_894);
    assert_ne!(rest["isError"], json!(true), "{rest:#}");
    // The rest of a file is read with its own tool.
    let lines: String = (0..20_000).map(|line| format!("{line}\n")).collect();
    site.workspace.write("long.txt", lines);
    let read = client.call("fs.read", json!({"path": "long.txt", "limit": 10_000}));
    assert_eq!(about(&read)["truncated"], true, "{}", about(&read));
    let next = read["structuredContent"]["next_offset"].clone();
    let said = text(&read);
    assert!(
        said.ends_with(&format!("`fs.read` with offset {next} reads on]")),
        "{}",
        &said[said.len() - 100..]
    );
    let goes_on = client.call("fs.read", json!({"path": "long.txt", "offset": next, "limit": 1}));
    assert!(text(&goes_on).starts_with(&format!("{next}\n")), "{goes_on:#}");
}

#[test]
fn the_running_call_of_a_suite_is_ended() {
    let site = site("");
    site.workspace.write(
        POLICY,
        format!(
            "{}\n[[auto_approve]]\nname = \"suites\"\ntools = [\"test.*\"]\n\
             effects = [\"process-control\", \"process-exec\"]\n",
            RULES
                .replace("[\"builtin\"]", "[\"builtin\", \"script\"]")
                .replace("\"network\"]\nmax", "\"network\", \"process-control\"]\nmax")
        ),
    );
    let schema = r#"{"type":"object","properties":{"text":{"type":"string"}},"additionalProperties":false}"#;
    site.workspace.write("schemas/text.json", schema);
    let script = "(sleep 976) &\necho x > started\nsleep 976\n";
    crate::serve_common::add(&site, "unit", "categories = [\"test\"]\n", script);
    let mut client = Client::connect(&site, "local");
    let idle = client.call("test.stop", json!({"suite": "unit"}));
    assert_eq!(about(&idle)["code"], "not_running", "{idle:#}");
    let unknown = client.call("stopTestSuite", json!({"suite": "other"}));
    assert_eq!(about(&unknown)["code"], "not_found", "{unknown:#}");
    // From its own gateway, and from another gateway of the workspace.
    let mut other = Client::connect(&site, "local");
    for is_elsewhere in [false, true] {
        let asked = client.call("test.run", json!({"suite": "unit"}));
        let id =
            asked["structuredContent"]["call_id"].as_str().unwrap_or_else(|| panic!("{asked:#}")).to_owned();
        site.json(["call", "approve", &id]).expect(0);
        let run = client.send_call("call.wait", json!({"call_id": id}));
        until("the suite runs", || site.workspace.exists("started").then_some(()));
        let stopper = if is_elsewhere { &mut other } else { &mut client };
        let stopped = stopper.call("stopTestSuite", json!({"suite": "unit"}));
        assert_eq!(stopped["structuredContent"], json!({"call_id": id, "cancelled": true}), "{stopped:#}");
        let ended = client.result(run);
        assert_stands(&ended, "interrupted", "interrupted");
        assert!(text(&ended).contains("agent:local"), "{ended:#}");
        assert_eq!(processes_with(&format!("{}/", site.workspace.path().display())), Vec::<u32>::new());
        site.workspace.remove("started");
    }
    let idle = client.call("test.stop", json!({"suite": "unit"}));
    assert_eq!(about(&idle)["code"], "not_running", "{idle:#}");
}
