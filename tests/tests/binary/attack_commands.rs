//! Every word after a program that runs code is bound if it names a file. Values of options are not options.

#![allow(clippy::disallowed_methods, reason = "tests change the files that an approval binds")]

use std::fs;
use std::process::Command;

use brigade_tests::Site;

/// Approves a command that runs a script, changes the script, and expects that the run is refused.
#[track_caller]
fn changed(site: &Site, command: &str, script: &std::path::Path) {
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", command, ""));
    fs::write(script, "print('one')\n").unwrap_or_else(|error| panic!("{}: {error}", script.display()));
    let id = site.approved("tool", "{}");
    fs::write(script, "print('two')\n").unwrap_or_else(|error| panic!("{}: {error}", script.display()));
    let refused = site.run_call(&id).expect(1);
    let name = script.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    assert!(refused["changed"].to_string().contains(name), "{command}: {refused:#}");
    site.json(["call", "reject", &id, "--reason", "changed"]).expect(0);
}

#[test]
fn a_script_is_bound_in_every_spelling() {
    let site = Site::script("true\n");
    site.write_program("run", "#!/usr/bin/env -S python3 bin/x.py\n");
    let inside = site.workspace.join("bin/x.py");
    for command in
        ["env -vS 'python3 bin/x.py'", "watch -g 'python3 bin/x.py'", "./run", "setarch x86_64 ./run"]
    {
        changed(&site, command, &inside);
    }
    let outside = site.beside("o.py");
    let shown = outside.display();
    for command in [
        format!("env -u X python3 {shown}"),
        format!("python3 -m trace --trace {shown}"),
        format!("taskset 1 python3 --unheard-of={shown}"),
        format!("awk -f{shown}"),
        format!("make --fil {shown}"),
    ] {
        changed(&site, &command, &outside);
    }
    // A file that the user cannot read is not bound, and is not an error.
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", "sh bin/tool.sh /etc/shadow", ""));
    site.json(["call", "plan", "tool"]).expect(0);
}

#[test]
fn a_value_that_looks_like_an_option_is_a_reason() {
    let args = |value: &str| format!("{{\"a\": {value}}}");
    let plan = |lines: &str, schema: &str, value: &str| {
        let site = Site::script_with("true\n", lines);
        site.workspace.write("schemas/tool.json", schema);
        let answer = site.json(["call", "plan", "tool", "--args", &args(value)]);
        let details = answer.json["blocker_details"].as_array().cloned().unwrap_or_default();
        let codes: Vec<String> =
            details.iter().filter_map(|detail| detail["code"].as_str().map(str::to_owned)).collect();
        codes
    };
    let any = r#"{"type":"object"}"#;
    let word = "argument_template = { a = \"{a}\" }";
    let refused = vec!["argument_looks_like_option".to_owned()];
    assert_eq!(plan(word, any, "\"--to-comm=sh\""), refused);
    assert_eq!(plan("argument_template = { a = \"{a}.txt\" }", any, "\"-x\""), refused);
    assert_eq!(plan("argument_template = { a = \"--a={a}\" }", any, "\"-x\""), Vec::<String>::new());
    assert_eq!(plan(word, any, "-5"), Vec::<String>::new());
    let allowed = format!("{word}\nallow_option_values = [\"a\"]");
    assert_eq!(plan(&allowed, any, "\"-x\""), Vec::<String>::new());
    let fixed = r#"{"type":"object","properties":{"a":{"enum":["-x","-y"]}}}"#;
    assert_eq!(plan(word, fixed, "\"-x\""), Vec::<String>::new());
    let constant =
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"const":"-x"}}}"##;
    assert_eq!(plan(word, constant, "\"-x\""), Vec::<String>::new());
}

#[test]
fn commands_allowed_by_an_entry_are_still_judged() {
    let lines = "argument_template = { a = \"{a}\" }\nallow_option_values = [\"a\"]";
    let site = Site::script("true\n");
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", "tar -xf a.tar", lines));
    let answer = site.json(["call", "plan", "tool", "--args", r#"{"a": "--to-comm=sh -c x"}"#]).expect(1);
    assert_eq!(answer["blocker_details"][0]["code"], "high_risk_command", "{answer:#}");
}

/// Issue 42: a pipe gives other bytes each time, so approving it would approve any code.
#[test]
fn a_pipe_is_not_bound_as_a_script() {
    let site = Site::script("");
    let made = Command::new("mkfifo").arg(site.workspace.join("bin/pipe.py")).status();
    assert!(made.is_ok_and(|status| status.success()));
    for (command, code) in
        [("python3 bin/pipe.py", 1), ("env -C bin python3 pipe.py", 1), ("cat bin/pipe.py", 0)]
    {
        site.workspace.write(".brigade/tools.toml", Site::entry("tool", command, ""));
        let plan = site.json(["call", "plan", "tool"]).expect(code);
        assert_eq!(plan.to_string().contains("code_not_bound"), code == 1, "{command}: {plan:#}");
    }
}
