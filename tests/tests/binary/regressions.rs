//! Regression tests.

use std::process::Stdio;

use brigade_tests::{PATH, Site};
use serde_json::json;

const LINES: &str = "argument_template = { a = \"{a}\" }\nenv_labels = [\"GITHUB_TOKEN\"]\n";

#[test]
fn an_argument_cannot_carry_a_bound_value() {
    let value = "Zq7-canary/Value+99==";
    for (form, given) in [
        ("plain", format!("x{value}")),
        ("base64", "WnE3LWNhbmFyeS9WYWx1ZSs5OT09".to_owned()),
        ("hex", value.bytes().map(|byte| format!("{byte:02x}")).collect()),
        ("url", "Zq7-canary%2FValue%2B99%3D%3D".to_owned()),
    ] {
        let site = Site::script_with("echo ran\n", LINES).env("CANARY", value).env("OTHER", "x");
        let args = json!({ "a": given }).to_string();
        let document = site.json(["call", "queue", "tool", "--args", &args, "--include-blocked"]).expect(1);
        assert_eq!(document["blocker_details"][0]["code"], "secret_argument", "{form}: {document:#}");
        site.assert_nowhere(given.as_bytes(), &[]);
    }
}

#[test]
fn a_bound_value_is_an_argument_of_no_tool() {
    let value = "plain-canary-words";
    // The policy binds GITHUB_TOKEN to CANARY, but the tool does not use it.
    let site = Site::script_with("echo ran\n", "argument_template = { a = \"{a}\" }\n").env("CANARY", value);
    let args = json!({ "a": format!("x {value} y") }).to_string();
    for words in [vec!["call", "plan", "tool"], vec!["call", "queue", "tool", "--include-blocked"]] {
        let document = site.json(words.iter().copied().chain(["--args", &args])).expect(1);
        assert_eq!(document["blocker_details"][0]["code"], "secret_argument", "{document:#}");
    }
    let line = json!({ "tool": "tool", "args": { "a": value } }).to_string();
    let run =
        site.brigade.clone().input(line).run(["tools", "call", "queue", "--stdin", "--include-blocked"]);
    run.assert_code(1);
    let id = site.queue("tool", r#"{"a":"b"}"#);
    site.json(["call", "hold", &id, "--reason", &format!("because of {value}")]).expect(0);
    site.assert_nowhere(value.as_bytes(), &[]);
}

#[test]
fn many_runners_take_one_call_each() {
    let site = Site::script_with("echo ran >> ran.txt\n", "argument_template = { a = \"{a}\" }\n");
    let count = 6;
    for number in 0..count {
        site.approved("tool", &json!({ "a": number.to_string() }).to_string());
    }
    let mut runners: Vec<_> = (0..count)
        .map(|_| {
            let mut command = site.brigade.command(["tools", "call", "run", "--next"]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the runner starts")
        })
        .collect();
    for runner in &mut runners {
        assert!(runner.wait().expect("the runner ends").success());
    }
    assert_eq!(site.workspace.read_text("ran.txt").lines().count(), count);
}

#[test]
fn the_interpreter_of_a_launcher_is_bound() {
    let commands = [("env helper bin/x.sh", "a launcher"), ("bin/x.sh", "a first line")];
    for (command, what) in commands {
        let site = Site::script_with("", &format!("command = {command:?}\n"));
        site.write_program("venv/bin/helper", "#!/bin/sh\nexec /bin/sh \"$@\"\n");
        site.write_program("bin/x.sh", "#!/usr/bin/env helper\necho ran >> ran.txt\n");
        let path = format!("{}:{PATH}", site.workspace.join("venv/bin").display());
        let site = site.env("PATH", path);
        let id = site.approved("tool", "{}");
        site.write_program("venv/bin/helper", "#!/bin/sh\necho evil >> evil.txt\n");
        let document = site.run_call(&id).expect(1);
        assert_eq!(document["changed"], json!(["file venv/bin/helper"]), "{what}: {document:#}");
        assert!(!site.workspace.exists("evil.txt"));
        site.write_program("venv/bin/helper", "#!/bin/sh\nexec /bin/sh \"$@\"\n");
        site.run_call(&id).expect(0);
    }
}

#[test]
fn the_requester_cannot_be_edited_in_the_journal() {
    let site = Site::script("echo ran >> ran.txt\n");
    let id = site.approved("tool", "{}");
    let journal = site.workspace.read_text(".brigade/tools/calls.jsonl");
    let edited = journal.replace("\"caller\":\"command-line\"", "\"caller\":\"program:other\"");
    assert_ne!(journal, edited);
    site.workspace.write(".brigade/tools/calls.jsonl", &edited);
    let document = site.run_call(&id).expect(1);
    assert!(
        document["changed"].as_array().is_some_and(|changed| changed.contains(&json!("caller"))),
        "{document:#}"
    );
    assert!(!site.workspace.exists("ran.txt"));
}
