//! One reading of a command line: whatever a word names behind a program that runs code is bound, and values are no
//! options.

#![allow(clippy::disallowed_methods, reason = "tests change the files that an approval binds")]

use std::fs;

use brigade_tests::{PATH, Site};

/// Has a command approved that runs a script, changes the script, and expects that the run is refused.
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
    // A file that nobody may read is bound by nobody, and is no reason to fail.
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
fn what_an_entry_allows_is_still_judged() {
    let lines = "argument_template = { a = \"{a}\" }\nallow_option_values = [\"a\"]";
    let site = Site::script("true\n");
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", "tar -xf a.tar", lines));
    let answer = site.json(["call", "plan", "tool", "--args", r#"{"a": "--to-comm=sh -c x"}"#]).expect(1);
    assert_eq!(answer["blocker_details"][0]["code"], "high_risk_command", "{answer:#}");
}

/// Issue 12: a script of `package.json` and the words behind it are one command, as if that stood in the entry.
#[test]
fn an_argument_behind_a_script_of_packages_chooses_no_code() {
    let site = Site::script("true\n");
    let scripts = r#"{"scripts": {"n": "node", "m": "npm run n --", "x": "node x.js", "x": "node x.js"}}"#;
    site.workspace.write("package.json", scripts);
    for file in ["run.js", "x.js", "data.csv"] {
        site.workspace.write(file, "");
    }
    let lines = "argument_template = { a = \"{a}\" }";
    for (command, argument, is_code) in [
        ("npm run -s n --", "run.js", true),
        ("npm run -s n --", "run", true),
        ("npm run m --", "./run.js", true),
        ("npm run -s x --", "run.js", false),
        ("npm run -s x --", "data.csv", false),
    ] {
        site.workspace.write(".brigade/tools.toml", Site::entry("tool", command, lines));
        let args = format!("{{\"a\": {argument:?}}}");
        let plan = site.json(["call", "plan", "tool", "--args", &args]).json;
        let details = plan["blocker_details"].as_array().cloned().unwrap_or_default();
        let found = details.iter().filter(|detail| detail["code"] == "argument_is_code").count();
        assert_eq!(found, usize::from(is_code), "{command} {argument}: {plan:#}");
    }
}

#[test]
fn what_recipes_start_is_bound_where_only_the_program_can_tell_them_apart() {
    let site = Site::script("true\n");
    site.workspace.write("Makefile", "all:\n\t@true\ngo:\n\t@python3 run.py\n");
    site.workspace.write("justfile", "alias g := go\n[no-cd]\ngo:\n  python3 run.py\n");
    // They are there whatever is installed.
    let programs = site.beside("programs");
    fs::create_dir_all(&programs).expect("the folder can be made");
    for name in ["make", "just"] {
        let program = programs.join(name);
        fs::write(&program, "#!/bin/sh\n").expect("the program can be written");
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("the program can be made one");
    }
    let site = site.env("PATH", format!("{PATH}:{}", programs.display()));
    for command in
        ["make -s ./go", "make -s -f Makefile go", "just g", "just go", "just --justfile justfile go"]
    {
        changed(&site, command, &site.workspace.join("run.py"));
    }
}
