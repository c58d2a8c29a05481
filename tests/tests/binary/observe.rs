//! `tools observe` shows what the entry of a tool should declare, and `--write` adds it.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]

use brigade_tests::Site;
use serde_json::{Value, json};

fn paths(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect()
}

/// Returns a tool whose script loads code and reads data that the entry does not declare.
fn site(sandbox: &str, lines: &str) -> Site {
    let site = Site::script("");
    site.add_to_policy(&format!("[sandbox]\nmode = \"enforce\"\n{sandbox}"));
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", "sh bin/tool.sh", lines));
    site.workspace
        .write("bin/tool.sh", ". ./lib/a.sh || true\n. ./lib/b.sh || true\ncat words.txt || true\n");
    site.workspace.write("lib/a.sh", "echo a\n");
    site.workspace.write("lib/b.sh", "echo b\n");
    site.workspace.write("words.txt", "words\n");
    site
}

#[test]
fn used_files_are_shown_and_written_into_the_entry() {
    let site = site("", "effects = [\n  \"local-read\", # the words\n  \"network\",\n]");
    let nothing = site.json(["observe", "tool"]).expect(0);
    assert_eq!((&nothing["run_count"], &nothing["code"]), (&json!(0), &json!([])));
    // Without observations, the effects are unknown, too.
    assert_eq!(
        (&nothing["complete"], &nothing["effects_unused"]),
        (&json!(false), &json!([])),
        "{nothing:#}"
    );
    let untouched = site.json(["observe", "tool", "--write"]).expect(0);
    assert_eq!(untouched["written"], false, "{untouched:#}");
    site.receipt_of("tool", "{}");
    let id = site.approved("tool", "{}");
    let seen = site.json(["observe", "tool"]).expect(0);
    assert_eq!(seen["complete"], true, "{seen:#}");
    assert_eq!(paths(&seen["unbound"]), ["lib/a.sh", "lib/b.sh", "words.txt"]);
    assert_eq!((&seen["code"], &seen["data"]), (&json!(["lib/**"]), &json!(["words.txt"])), "{seen:#}");
    assert_eq!(seen["effects_undeclared"], json!([]), "{seen:#}");
    assert_eq!((&seen["effects_unused"], &seen["written"]), (&json!(["network"]), &json!(false)));
    let text = site.tools(["observe", "tool"]).stdout_text();
    for part in ["declare as code: 1", "lib/**", "declare as data: 1"] {
        assert!(text.contains(part), "{part}: {text}");
    }

    // An error elsewhere in the file is reported, but does not block.
    let before = site.workspace.read_text(".brigade/tools.toml");
    site.workspace.write(".brigade/tools.toml", format!("{before}\n[[tool]]\nid = \"other\"\n"));
    let seen = site.json(["observe", "tool"]).expect(0);
    let error = seen["errors"][0].as_str().unwrap_or_default();
    assert!(error.contains("other") && seen["code"] == json!(["lib/**"]), "{seen:#}");
    let text = site.tools(["observe", "tool"]);
    assert!(text.stderr_text().contains("other"), "{}", text.stderr_text());
    site.workspace.write(".brigade/tools.toml", &before);

    let written = site.json(["observe", "tool", "--write"]).expect(0);
    assert_eq!((&written["written"], &written["code"]), (&json!(true), &json!(["lib/**"])));
    let after = site.workspace.read_text(".brigade/tools.toml");
    let expect = before.replace("  \"network\",\n", "");
    assert!(after.starts_with(expect.trim_end()), "{after}");
    assert!(after.contains("# the words") && after.contains("code = [\"lib/**\"]"), "{after}");
    site.run_call(&id).refused("contract");
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(receipt["status"], "completed", "{receipt:#}");
    let bound = receipt["binding"]["files"].as_object().unwrap();
    assert!(bound.contains_key("lib/a.sh") && bound.contains_key("lib/b.sh"), "{receipt:#}");
    let again = site.json(["observe", "tool", "--write"]).expect(0);
    assert_eq!((&again["written"], &again["unbound"]), (&json!(false), &json!([])), "{again:#}");
}

#[test]
fn denied_files_are_declared_and_then_permitted() {
    let site = site("reads = \"closed\"\n", "effects = [\"local-read\"]");
    site.workspace.write("bin/tool.sh", ". ./lib/a.sh\ncat words.txt\n");
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(receipt["status"], "failed", "{receipt:#}");
    // The run after a denied file sees the files that follow.
    for expect in [json!(["lib/a.sh"]), json!(["words.txt"])] {
        let seen = site.json(["observe", "tool", "--runs", "1", "--write"]).expect(0);
        assert_eq!(json!(paths(&seen["unbound"])), expect, "{seen:#}");
        assert_eq!(seen["unbound"][0]["denied"], true);
        site.receipt_of("tool", "{}");
    }
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!((&receipt["status"], &receipt["stdout_summary"]), (&json!("completed"), &json!("a words")));
}

#[test]
fn an_effect_that_was_tried_and_denied_is_undeclared() {
    let site = site("", "effects = [\"local-read\"]");
    site.workspace.write("bin/tool.sh", "echo x > words.txt || true\n");
    site.receipt_of("tool", "{}");
    let seen = site.json(["observe", "tool"]).expect(0);
    assert_eq!(seen["effects_undeclared"], json!([]), "the run completed without it: {seen:#}");
    site.workspace.write("bin/tool.sh", "echo x > words.txt\n");
    site.receipt_of("tool", "{}");
    let seen = site.json(["observe", "tool"]).expect(0);
    let expect = json!([{"effect": "local-write", "example": "words.txt", "denied": true}]);
    assert_eq!(seen["effects_undeclared"], expect, "{seen:#}");
}

#[test]
fn missing_tool_and_uneditable_entry_are_reported() {
    let site = site("", "");
    site.json(["observe", "gone"]).expect(1);
    assert_eq!(site.tools(["observe", "tool", "--runs", "0"]).code(), Some(2));
}

#[test]
fn doctor_names_undeclared_inputs_of_last_run() {
    let site = site("", "effects = [\"local-read\", \"network\"]");
    let issues = || {
        let report: Value = site.tools(["doctor", "--tool", "tool", "--json"]).json();
        let issue = |issue: &Value| {
            let text = |key: &str| issue[key].as_str().unwrap_or_default().to_owned();
            (text("issue_type"), text("fix"))
        };
        let found: Vec<_> = report["issues"].as_array().unwrap().iter().map(issue).collect();
        let kinds = ["tool_reads_unbound", "effects_undeclared", "effects_unused"];
        found.into_iter().filter(|(kind, _)| kinds.contains(&kind.as_str())).collect::<Vec<_>>()
    };
    assert_eq!(issues(), []);
    site.receipt_of("tool", "{}");
    let expect = [
        ("tool_reads_unbound", "brigade tools observe tool --write"),
        ("effects_unused", "brigade tools observe tool"),
    ];
    assert_eq!(issues(), expect.map(|(kind, next)| (kind.to_owned(), next.to_owned())));
    // The approval of the second run binds what the first run taught.
    site.receipt_of("tool", "{}");
    assert_eq!(issues(), [("effects_unused".to_owned(), "brigade tools observe tool".to_owned())]);
    site.json(["observe", "tool", "--write"]).expect(0);
    assert_eq!(issues(), [], "the entry declares it now");
    site.workspace.write("bin/tool.sh", "echo x > words.txt\n");
    site.receipt_of("tool", "{}");
    assert_eq!(issues().first().map(|(kind, _)| kind.as_str()), Some("effects_undeclared"));
}

#[test]
fn the_review_shows_bound_and_unbound_files() {
    let site = Site::script("");
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\n");
    let entry = |lines: &str| Site::entry("tool", "sh run.sh", lines);
    site.workspace.write(".brigade/tools.toml", entry("effects = [\"local-read\"]"));
    site.workspace.write("run.sh", ". ./lib/more.sh\ncat notes\n");
    site.workspace.write("lib/more.sh", "echo more\n");
    site.workspace.write("notes", "noted\n");
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(receipt["status"], "completed", "{receipt:#}");
    let plan = site.json(["call", "plan", "tool"]).expect(0);
    let code = &plan["bound_code"];
    let by = |path: &str| {
        let files = code["files"].as_array().unwrap().iter();
        files.filter(|file| file["path"] == path).map(|file| file["by"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        (by("run.sh"), by("lib/more.sh")),
        (vec![json!("command")], vec![json!("learned")]),
        "{code:#}"
    );
    assert_eq!(code["unbound"], json!(["notes"]), "{code:#}");
    let id = site.queue("tool", "{\"path\": \"x\"}");
    assert_eq!(site.json(["call", "show", &id]).expect(0)["preview"]["bound_code"], *code);
    let text = site.tools(["call", "approve", &id]).stdout_text();
    for part in ["1 file, from run-", "may also load", "notes (used by the last observed run)"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Declared files are bound as code. What was learned for the old entry does not count.
    site.workspace.write(".brigade/tools.toml", entry("code = [\"lib/**\"]\ndata = [\"notes\"]"));
    let plan = site.json(["call", "plan", "tool"]).expect(0);
    let code = &plan["bound_code"];
    assert!(
        code["files"].as_array().unwrap().contains(&json!({"path": "lib/more.sh", "by": "code"})),
        "{code:#}"
    );
    assert_eq!((code["unbound"].clone(), code.get("learned")), (json!([]), None), "{code:#}");
}
