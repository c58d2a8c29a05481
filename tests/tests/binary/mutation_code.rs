//! The code that an approval binds, and what it reports about other files.

#![allow(clippy::disallowed_methods, reason = "tests change the files that an approval binds")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use brigade_tests::Site;
use serde_json::{Value, json};

use crate::mutation_common::{ARGS, CATALOG, refused, site};

const POLICY: &str = ".brigade/tools/policy.toml";

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
