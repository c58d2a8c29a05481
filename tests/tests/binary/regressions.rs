//! Regression tests.

use std::process::Stdio;

use brigade_tests::{PATH, Site};
use serde_json::json;

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
