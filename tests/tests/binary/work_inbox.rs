//! Tests of `brigade work`.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]

use std::thread;

use brigade_testkit::{Brigade, TempWorkspace};
use brigade_tests::greeting;
use serde_json::json;

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
    let list = brigade.run(["work", "inbox", "list", "--json"]).assert_code(0).json();
    assert_eq!(
        brigade.run(["work", "inbox", "--json"]).assert_code(0).json(),
        list,
        "`work inbox` alone lists"
    );
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
