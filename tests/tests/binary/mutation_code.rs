//! The code that an approval binds, and what it reports about other files.

#![allow(clippy::disallowed_methods, reason = "tests change the files that an approval binds")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use brigade_tests::{PATH, Site};
use serde_json::{Value, json};

use crate::mutation_common::{ARGS, CATALOG, refused, site};

const POLICY: &str = ".brigade/tools/policy.toml";

/// Returns a workspace with a tool of this command. Fake programs exist for all its words.
fn with_programs(command: &str) -> Site {
    let site = site();
    site.workspace.replace(CATALOG, "\"sh bin/tool.sh\"", &format!("{command:?}"));
    let programs = site.beside("programs");
    fs::create_dir_all(&programs).expect("the folder can be made");
    let program = programs.join(command.split(' ').next().expect("a command has a program"));
    fs::write(&program, "#!/bin/sh\n").expect("the program can be written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("the program can be made one");
    site.env("PATH", format!("{PATH}:{}", programs.display()))
}

/// Approves a call of this command, changes a file, and expects that the run is refused because of it.
#[track_caller]
fn bound(command: &str, file: &Path) {
    let site = with_programs(command);
    site.workspace.replace(CATALOG, "argument_template = { a = \"{a}\" }\n", "");
    let place = site.workspace.join(file);
    fs::create_dir_all(place.parent().expect("a file has a folder")).expect("the folder can be made");
    fs::write(&place, "one\n").expect("the file can be written");
    let id = site.approved("tool", ARGS);
    fs::write(&place, "two\n").expect("the file can be written");
    let document = site.run_call(&id).expect(1);
    assert!(document["changed"].to_string().contains(&*file.to_string_lossy()), "{command}: {document:#}");
    assert_eq!(document["receipt"], Value::Null);
}

#[test]
fn every_file_that_a_word_names_is_bound() {
    for (command, file) in [
        ("sh bin/tool.sh -cconf.json", "conf.json"),
        ("sh bin/tool.sh --config=conf.json", "conf.json"),
        ("sh bin/tool.sh @conf.json", "conf.json"),
        ("cat -d@conf.json", "conf.json"),
        ("unheard-of a=b=conf.json", "conf.json"),
        ("node --import file:a%20b.js x", "a b.js"),
        ("awk -fa.awk", "a.awk"),
        ("make --fil x.mk", "x.mk"),
        ("cat notes.txt", "notes.txt"),
        ("env -C sub python3 a.py", "sub/a.py"),
        ("env -S 'python3 bin/x.py'", "bin/x.py"),
        ("env -S '-C sub python3 a.py'", "sub/a.py"),
        ("timeout 5 prlimit --nofile=100 setarch x86_64 sh bin/x.sh", "bin/x.sh"),
        ("watch -g 'python3 bin/x.py'", "bin/x.py"),
        ("find . -exec sh ./a.sh {} ;", "a.sh"),
    ] {
        bound(command, Path::new(file));
    }
    let elsewhere = site().beside("elsewhere.txt");
    for command in [format!("cat {}", elsewhere.display()), format!("cat --in={}", elsewhere.display())] {
        bound(&command, &elsewhere);
    }
}

#[test]
fn programs_after_wrappers_and_interpreters_are_bound() {
    let site = with_programs("env timeout 5 wrapped x");
    let programs = site.beside("programs");
    let write = |name: &str, text: &str| {
        fs::write(programs.join(name), text).expect("the program can be written");
        fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).expect("it is a program");
    };
    fs::remove_file(programs.join("env")).expect("that of the system is meant");
    write("inner", "#!/bin/sh\n");
    write("wrapped", &format!("#!{}/inner -x\n", programs.display()));
    for (args, name, text) in
        [(ARGS, "inner", "#!/bin/sh\ntrue\n"), (r#"{"a":"2"}"#, "wrapped", "#!/bin/sh\n")]
    {
        let id = site.approved("tool", args);
        let before = fs::read(programs.join(name)).expect("the program can be read");
        write(name, text);
        let document = site.run_call(&id).expect(1);
        assert!(document["changed"].to_string().contains(name), "{name}: {document:#}");
        fs::write(programs.join(name), before).expect("the program can be written");
        site.json(["call", "reject", &id, "--reason", "changed"]).expect(0);
    }
}

#[test]
fn the_approval_reports_files_that_are_not_bound() {
    let site = site();
    site.workspace.replace(CATALOG, "sh bin/tool.sh", "python3 -B -m pkg");
    site.workspace.write("pkg/__main__.py", "print('one')\n");
    let plan = site.json(["call", "plan", "tool", "--args", ARGS]).expect(0);
    assert_eq!(plan["bound_code"]["may_also_load"], "workspace");
    let note = json!({
        "code": "undeclared_code",
        "message": "`python3 -m` chooses the code that it runs, and the entry declares none; write \
                    `code = [\"pkg/**\"]` into the entry, or `reads = \"closed\"` under [sandbox] of the policy for \
                    a complete answer",
    });
    assert_eq!(plan["bound_code"]["notes"], json!([note]));
    let text = site.tools(["call", "plan", "tool", "--args", ARGS]);
    assert!(text.stdout_text().contains("may also load:  anything in the workspace"), "{text}");
    let id = site.approved("tool", ARGS);
    site.workspace.write("pkg/__main__.py", "print('two')\n");
    assert_eq!(site.run_call(&id).expect(0)["receipt"]["stdout_summary"], "two");
}

#[test]
fn the_policy_can_refuse_undeclared_code() {
    let site = site();
    site.workspace.replace(CATALOG, "sh bin/tool.sh", "make -s");
    site.add_to_policy("[commands]\nundeclared_code = \"refuse\"\n");
    let plan = |site: &Site| site.json(["call", "plan", "tool", "--args", ARGS]).json;
    let codes = |plan: &Value| {
        let details = plan["blocker_details"].as_array().cloned().unwrap_or_default();
        details.iter().map(|detail| detail["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let refused = plan(&site);
    assert_eq!(codes(&refused), ["undeclared_code"], "{refused:#}");
    let hint = refused["blocker_details"][0]["hint"].to_string();
    assert!(
        hint.contains("code = [\\\"Makefile\\\", \\\"*.mk\\\"]") && hint.contains("closed"),
        "{refused:#}"
    );
    let explained = site.json(["policy", "explain", "tool"]).json;
    assert!(
        explained["rulings"].to_string().contains("commands.undeclared_code")
            || !explained["allowed"].as_bool().unwrap()
    );
    let issues = site.json(["doctor"]).json;
    assert!(issues.to_string().contains("\"undeclared_code\""), "{issues:#}");
    site.workspace.replace(CATALOG, "cwd = \".\"", "cwd = \".\"\ncode = [\"Makefile\"]");
    site.workspace.write("Makefile", "1:\n\techo ran\n");
    assert_eq!(codes(&plan(&site)), [""; 0]);
    site.workspace.replace(CATALOG, "\ncode = [\"Makefile\"]", "");
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\nreads = \"closed\"\n");
    let closed = plan(&site);
    assert_eq!((codes(&closed), &closed["bound_code"]["may_also_load"]), (vec![], &json!("nothing")));
    let wrong = site.workspace.read(POLICY);
    site.workspace.write(POLICY, String::from_utf8_lossy(&wrong).replace("\"refuse\"", "\"never\""));
    assert_eq!(codes(&plan(&site)), ["policy_invalid"]);
}

/// Code files of observed runs are bound from the next approval on.
#[test]
fn code_of_observed_runs_is_learned() {
    let site = Site::script("");
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\n");
    let entry = |command: &str| Site::entry("tool", command, "argument_template = { a = \"{a}\" }");
    site.workspace.write(CATALOG, entry("/usr/bin/python3 -B main.py"));
    site.workspace.write("main.py", "import lib, sys\nopen(sys.argv[1]).read()\nopen('notes.txt').read()\n");
    for (path, text) in [("lib.py", "import deep\n"), ("deep.py", ""), ("notes.txt", ""), ("arg.py", "")] {
        site.workspace.write(path, text);
    }
    let (first, second) =
        (site.approved("tool", r#"{"a":"arg.py"}"#), site.approved("tool", r#"{"a":"./arg.py"}"#));
    let receipt = site.run_call(&first).expect(0)["receipt"].clone();
    if receipt["observed"]["state"] != "observed" {
        return;
    }
    // An earlier approval binds the same as before.
    site.run_call(&second).expect(0);
    let plan =
        || site.json(["call", "plan", "tool", "--args", r#"{"a":"arg.py"}"#]).expect(0)["bound_code"].clone();
    let learned = plan();
    assert_eq!(learned["learned"]["files"], json!(["deep.py", "lib.py"]), "{learned:#}");
    assert_eq!(learned["learned"]["run_id"], receipt["id"]);
    let text = site.tools(["call", "plan", "tool", "--args", r#"{"a":"arg.py"}"#]).stdout_text().to_owned();
    assert!(text.contains(&format!("2 files, from {}", receipt["id"].as_str().unwrap())), "{text}");
    let path = site.workspace.join(".brigade/tools/learned.json");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let id = site.approved("tool", r#"{"a":"arg.py","b":"1"}"#);
    site.workspace.write("deep.py", "changed = 1\n");
    let document = site.run_call(&id).expect(1);
    assert_eq!(document["changed"], json!(["file deep.py"]), "{document:#}");
    site.workspace.write("deep.py", "");
    site.run_call(&id).expect(0);
    let forgotten = site.json(["observe", "tool", "--forget"]).expect(0);
    assert_eq!(forgotten["forgotten"], 2, "{forgotten:#}");
    assert_eq!(plan().get("learned"), None);
    // A change of the entry has the same effect.
    site.receipt_of("tool", r#"{"a":"arg.py","b":"2"}"#);
    assert!(plan().get("learned").is_some());
    site.workspace.write(CATALOG, entry("/usr/bin/python3 -B ./main.py"));
    assert_eq!(plan().get("learned"), None);
}

#[test]
fn an_approval_of_an_earlier_rule_is_void() {
    let site = site();
    let id = site.approved("tool", ARGS);
    let calls = site.workspace.join(".brigade/tools/calls.jsonl");
    let text = fs::read_to_string(&calls).unwrap();
    let earlier = text.replace(",\"version\":2", "");
    assert_ne!(earlier, text);
    fs::write(&calls, earlier).unwrap();
    refused(&site, &id, &["approved by an earlier version, which bound other files"]);
}

#[test]
fn a_path_that_cannot_be_bound_is_a_reason() {
    let site = site();
    site.workspace.replace(CATALOG, "sh bin/tool.sh", "sh /proc/self/cwd/bin/tool.sh");
    let plan = site.json(["call", "plan", "tool", "--args", ARGS]).json;
    assert_eq!(plan["blocker_details"][0]["code"], "code_not_bound", "{plan:#}");
}

#[test]
fn a_directory_that_is_only_an_argument_is_not_code() {
    let site = site();
    site.workspace.replace(CATALOG, "sh bin/tool.sh", "sh bin/tool.sh src");
    site.workspace.write("src/data.txt", "1\n");
    let id = site.approved("tool", ARGS);
    site.workspace.write("src/data.txt", "2\n");
    site.run_call(&id).expect(0);
}

#[test]
fn a_link_that_a_word_names_is_bound_with_its_target() {
    let site = site();
    site.workspace.replace(CATALOG, "sh bin/tool.sh", "sh bin/tool.sh linked/a.txt");
    site.workspace.write("one/a.txt", "1\n");
    site.workspace.write("two/a.txt", "1\n");
    symlink("one", site.workspace.join("linked")).unwrap();
    let id = site.approved("tool", ARGS);
    fs::remove_file(site.workspace.join("linked")).unwrap();
    symlink("two", site.workspace.join("linked")).unwrap();
    refused(&site, &id, &["file linked", "file one/a.txt", "file two/a.txt"]);
}
