//! Tests of `brigade work`.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]

use std::thread;

use brigade_testkit::{Brigade, TempWorkspace};
use brigade_tests::greeting;
use serde_json::{Value, json};

const INBOX: &str = ".brigade/work/imports/inbox.jsonl";

fn workspace() -> TempWorkspace {
    greeting("")
}

/// Imports issues. Returns how many became rows, how many existed and how many were dismissed.
#[track_caller]
fn import(brigade: &Brigade) -> [u64; 3] {
    let report = brigade.run(["tools", "import-issues", "--json"]).assert_code(0).json();
    ["created", "skipped", "dismissed"].map(|key| report[key].as_u64().unwrap())
}

#[test]
fn a_row_is_promoted_and_done_and_does_not_come_back() {
    let workspace = workspace();
    let brigade = Brigade::new(&workspace);
    let imported = brigade.run(["tools", "import-issues", "--json"]).assert_code(0).json();
    let id = imported["imports"][0]["id"].as_str().unwrap();
    let status = || {
        brigade.run(["work", "inbox", "show", id, "--json"]).assert_code(0).json()["item"]["status"].clone()
    };
    assert_eq!(status(), "pending");
    for (step, expect) in [("promote", "promoted"), ("done", "done"), ("dismiss", "dismissed")] {
        let mut words = vec!["work", "inbox", step, id];
        if step == "dismiss" {
            words.extend(["--reason", "known"]);
        }
        brigade.run(words.iter().copied()).assert_code(0);
        assert_eq!(status(), expect);
        brigade.run(words.iter().copied()).assert_code(1);
        let again = brigade.run(["tools", "import-issues", "--json"]).assert_code(0).json();
        assert_eq!(again["created"], 0);
    }
    brigade.run(["work", "inbox", "show", "nothing"]).assert_code(1);
    brigade.run(["work", "inbox", "list"]).assert_code(0);
}

#[test]
fn the_brief_names_what_waits_and_starts_nothing() {
    let workspace = workspace();
    let brigade = Brigade::new(&workspace);
    let next = || brigade.run(["work", "brief", "--json"]).assert_code(0).json()["next_command"].clone();
    assert_eq!(next(), "brigade tools policy init");
    let queued = brigade.run(["tools", "call", "queue", "greet", "--json"]).assert_code(0).json();
    let id = queued["call"]["id"].as_str().unwrap();
    let before = workspace.files(".");
    assert_eq!(next(), format!("brigade show {id}"));
    brigade.run(["work", "brief"]).assert_code(0);
    assert_eq!(workspace.files("."), before);
    brigade.run(["tools", "call", "approve", id]).assert_code(0);
    assert_eq!(next(), "brigade tools call run --next");
}

#[test]
fn a_dismissed_row_stays_until_the_issue_changes() {
    let workspace = workspace();
    workspace.write("greet.json", "{");
    let brigade = Brigade::new(&workspace);
    let rows = brigade.run(["tools", "import-issues", "--json"]).json()["imports"].clone();
    let is_schema = |row: &&Value| row["metadata"]["tool_issue_type"] == "invalid_input_schema";
    let row = rows.as_array().unwrap().iter().find(is_schema).unwrap()["id"].clone();
    brigade.run(["work", "inbox", "dismiss", row.as_str().unwrap(), "--reason", "known"]).assert_code(0);
    for _ in 0..5 {
        assert_eq!(import(&brigade), [0, 1, 1]);
    }
    workspace.write("greet.json", "[1, 2");
    assert_eq!(import(&brigade), [1, 1, 0]);
    assert_eq!(import(&brigade), [0, 2, 0]);
    // The first issue occurs again, but a person already decided about it.
    workspace.write("greet.json", "{");
    assert_eq!(import(&brigade), [0, 1, 1]);
}

#[test]
fn dismissing_a_missing_file_applies_to_that_file() {
    let workspace = greeting("health_path = \"one.json\"");
    let brigade = Brigade::new(&workspace);
    let rows = brigade.run(["tools", "import-issues", "--json"]).json()["imports"].clone();
    let is_health = |row: &&Value| row["metadata"]["tool_issue_type"] == "missing_health";
    let row = rows.as_array().unwrap().iter().find(is_health).unwrap()["id"].clone();
    brigade.run(["work", "inbox", "dismiss", row.as_str().unwrap(), "--reason", "known"]).assert_code(0);
    let [created, _, dismissed] = import(&brigade);
    assert_eq!([created, dismissed], [0, 1]);
    let catalog = workspace.read_text(".brigade/tools.toml").replace("one.json", "two.json");
    workspace.write(".brigade/tools.toml", catalog);
    let [created, _, dismissed] = import(&brigade);
    assert_eq!([created, dismissed], [1, 0]);
}

#[test]
fn two_issues_of_one_tool_and_type_are_two_rows_once() {
    let workspace = greeting("argument_template = { a = \"{b-c} {d-e}\", f = \"{g-h}\" }");
    let brigade = Brigade::new(&workspace);
    assert_eq!(import(&brigade), [4, 0, 0]);
    for _ in 0..5 {
        assert_eq!(import(&brigade), [0, 4, 0]);
    }
}

#[test]
fn unreadable_lines_are_kept_next_to_the_inbox() {
    let workspace = workspace();
    let brigade = Brigade::new(&workspace);
    import(&brigade);
    let row = workspace.read_text(INBOX);
    let other = "{\"kind\": \"note\", \"source\": \"somebody\", \"extra\": [1.50, NaN]}\n";
    workspace.write(
        INBOX,
        [b"\xef\xbb\xbf", other.as_bytes(), b"garb\xffage\n[1]\n", row.as_bytes(), b"{\"to"].concat(),
    );
    let list = brigade.run(["work", "inbox", "list", "--json"]).assert_code(0).json();
    assert_eq!((&list["item_count"], &list["unreadable_count"]), (&2.into(), &3.into()));
    let bare = brigade.run(["work", "inbox", "--json"]).assert_code(0).json();
    assert_eq!(bare, list, "`work inbox` alone lists");
    // The lines are set aside first, because that is also an issue.
    assert_eq!(import(&brigade), [1, 1, 0]);
    let text = workspace.read_text(INBOX);
    assert!(text.starts_with(&format!("{other}{row}")) && text.lines().count() == 3, "{text}");
    let aside = workspace.read(".brigade/work/imports/inbox.quarantine-1.jsonl");
    assert_eq!(aside, b"garb\xffage\n[1]\n{\"to\n");
    for _ in 0..5 {
        assert_eq!(import(&brigade), [0, 2, 0]);
    }
    assert_eq!(workspace.read_text(INBOX), text);
}

#[test]
fn importers_at_once_add_each_row_once() {
    let workspace = greeting("manifest_path = \"gone.json\"\nschema_path = \"gone.json\"");
    let brigade = Brigade::new(&workspace);
    let created: u64 = thread::scope(|scope| {
        let imports: Vec<_> = (0..6).map(|_| scope.spawn(|| import(&brigade)[0])).collect();
        imports.into_iter().map(|import| import.join().unwrap()).sum()
    });
    assert_eq!(created, 3);
    assert_eq!(workspace.read_text(INBOX).lines().count(), 3);
}

/// A row in the format of 0.30.0.
fn old_row(status: &str, kind: &str) -> Value {
    json!({
        "acceptance": [format!("`brigade tools doctor` no longer reports greet/{kind}")],
        "created_at": "2026-11-21T20:27:14.890099+00:00",
        "id": format!("20261121-202714-task-repair-tool-catalog-issue-greet-{kind}-{status}"),
        "kind": "task",
        "metadata": {
            "projection_target": null,
            "provenance": {"schema": "brigade.provenance-envelope.v1", "trust": {"label": "untrusted"}},
            "source_fingerprint": "131b6c46d9b5eb22",
            "source_item_key": format!("tool-catalog:greet:{kind}::::"),
            "tool_call_id": null,
            "tool_checkpoint_id": null,
            "tool_family": "script",
            "tool_harness": null,
            "tool_id": "greet",
            "tool_issue_detail": "in other words",
            "tool_issue_type": kind,
            "tool_run_id": null,
        },
        "priority": "normal",
        "source": "tool-catalog",
        "status": status,
        "template": "bugfix",
        "text": format!("Repair tool catalog issue greet/{kind}: in other words"),
        "type": "workflow",
        "updated_at": "2026-11-21T20:27:14.890099+00:00",
        "unknown": {"kept": [1, null]},
    })
}

#[test]
fn rows_of_v030_count_and_stay_as_they_are() {
    let workspace =
        greeting("manifest_path = \"gone.json\"\nschema_path = \"gone.json\"\nhealth_path = \"gone.json\"");
    let kinds =
        [("pending", "missing_manifest"), ("dismissed", "missing_schema"), ("done", "missing_health")];
    let rows = kinds.map(|(status, kind)| old_row(status, kind).to_string() + "\n").concat();
    workspace.write(INBOX, &rows);
    let brigade = Brigade::new(&workspace);
    // Two issues are new: the missing policy, and files of v0.30 that other users can read.
    assert_eq!(import(&brigade), [2, 2, 1]);
    for _ in 0..5 {
        assert_eq!(import(&brigade), [0, 4, 1]);
    }
    let text = workspace.read_text(INBOX);
    assert!(text.starts_with(&rows), "{text}");
    assert_eq!(text.lines().count(), 5);
    let id = old_row("pending", "missing_manifest")["id"].as_str().unwrap().to_owned();
    brigade.run(["work", "inbox", "promote", &id]).assert_code(0);
    let shown = brigade.run(["work", "inbox", "show", &id, "--json"]).json()["item"].clone();
    assert_eq!((&shown["status"], &shown["unknown"]), (&"promoted".into(), &json!({"kept": [1, null]})));
    assert_eq!(import(&brigade)[0], 0);
}

#[test]
fn a_brief_of_much_changes_nothing() {
    let workspace = greeting(
        "manifest_path = \"gone.json\"\nsupported_harnesses = [\"claude\"]\nprojections = { claude = \"a/greet.md\" }",
    );
    let runtime = "[[runtime]]\nid = \"down\"\nname = \"Down\"\ncommand = \"sleep 600\"\n";
    workspace.write(".brigade/tools/runtimes.toml", runtime);
    let brigade = Brigade::new(&workspace);
    for number in 0..5 {
        let args = format!("{{\"n\": {number}}}");
        brigade.run(["tools", "call", "queue", "greet", "--args", &args]).assert_code(0);
    }
    import(&brigade);
    let before = workspace.files("");
    let text = brigade.run(["work", "brief"]).assert_code(0).stdout_text();
    assert!(text.lines().count() < 24, "{text}");
    let brief = brigade.run(["work", "brief", "--json"]).assert_code(0).json();
    assert_eq!((&brief["pending_approval_count"], &brief["runtimes_down"]), (&5.into(), &json!(["down"])));
    assert_eq!(workspace.files(""), before);
}
