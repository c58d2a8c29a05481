//! Everything that waits for a person is in one list, and is answered with one command.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails when it cannot continue, and makes its links itself"
)]

use std::os::unix::fs::symlink;

use brigade_testkit::Brigade;
use brigade_tests::{Site, greeting};
use serde_json::{Value, json};

fn waiting(brigade: &Brigade) -> Vec<Value> {
    let brief = brigade.run(["work", "brief", "--json"]).assert_code(0).json();
    brief["waiting"].as_array().cloned().unwrap_or_default()
}

fn status(brigade: &Brigade, call: &str) -> Value {
    brigade.run(["tools", "call", "show", call, "--json"]).assert_code(0).json()["call"]["status"].clone()
}

#[test]
fn a_pending_call_is_decided_through_its_row() {
    let site = Site::script("echo done");
    let brigade = site.brigade.clone();
    assert_eq!(waiting(&brigade), Vec::<Value>::new());
    let id = site.queue("tool", "{}");
    let rows = waiting(&brigade);
    assert_eq!(rows.len(), 1, "{rows:?}");
    let row = &rows[0];
    assert_eq!(
        (&row["id"], &row["kind"], &row["who"]),
        (&json!(id), &json!("approval"), &json!("command-line"))
    );
    assert_eq!(row["choices"], json!(["approve", "reject"]));
    assert_eq!(row["next"], json!(format!("brigade show {id}")));
    // An invalid answer has no effect, and the error lists the valid ones.
    for words in [&["--choice", "maybe"][..], &["--text", "yes"], &[]] {
        let refused = brigade.run([&["work", "answer", &id][..], words].concat());
        refused.assert_code(2);
        assert!(refused.stderr_text().contains("approve, reject"), "{}", refused.stderr_text());
    }
    let answered =
        brigade.run(["work", "answer", &id[..12], "--choice", "approve", "--json"]).assert_code(0).json();
    assert_eq!((&answered["id"], &answered["outcome"]), (&json!(id), &json!("approved")));
    assert_eq!(status(&brigade, &id), "approved");
    assert_eq!(waiting(&brigade), Vec::<Value>::new());
    let gone = brigade.run(["work", "answer", &id, "--choice", "approve", "--json"]).assert_code(1).json();
    assert_eq!(gone["code"], "waiting_missing", "{gone:#}");

    site.run_call(&id).expect(0);
    let other = site.queue("tool", "{}");
    assert_ne!(other, id);
    brigade.run(["work", "answer", &other, "--decline", "--text", "not today"]).assert_code(0);
    let shown = brigade.run(["tools", "call", "show", &other, "--json"]).assert_code(0).json();
    assert_eq!(
        (&shown["call"]["status"], &shown["call"]["review_reason"]),
        (&json!("rejected"), &json!("not today"))
    );
}

#[test]
fn a_checkpoint_is_answered_by_its_row() {
    let ask = r#"if [ -n "${BRIGADE_TOOL_RESUME_CHECKPOINT_ID:-}" ]; then exit 0; fi
cat > "$BRIGADE_TOOL_CHECKPOINT_DIR/one.json" <<'END'
{"id":"gate","prompt":"Go on?","choices":["yes","no"]}
END
"#;
    let site = Site::script(ask);
    let call = site.approved("tool", "{}");
    site.run_call(&call).expect(0);
    let rows = waiting(&site.brigade);
    let row = rows.iter().find(|row| row["kind"] == "checkpoint").unwrap();
    assert_eq!(
        (&row["id"], &row["text"], &row["choices"]),
        (&json!("gate"), &json!("Go on?"), &json!(["yes", "no"]))
    );
    site.brigade.run(["work", "answer", "gate", "--choice", "maybe"]).assert_code(1);
    let answered =
        site.brigade.run(["work", "answer", "gate", "--choice", "yes", "--json"]).assert_code(0).json();
    assert_eq!((&answered["kind"], &answered["outcome"]), (&json!("checkpoint"), &json!("answered")));
    assert_eq!(answered["next_command"], "brigade tools checkpoint resume gate");
    site.json(["checkpoint", "resume", "gate"]).expect(0);
}

#[test]
fn turn_needs_known_agent_and_keeps_no_text() {
    let workspace = greeting("");
    let brigade = Brigade::new(&workspace);
    let turn = |text: &str| {
        let run = brigade.clone().input(text).run(["work", "turn", "--as", "local", "--json"]);
        let report = run.assert_code(0).json();
        (report["turn"].as_i64().unwrap(), report["memory"].as_str().unwrap().to_owned())
    };
    assert_eq!(turn("Fix the login, precious-words"), (1, "required".to_owned()));
    assert_eq!(turn("thanks"), (2, "none".to_owned()));
    assert_eq!(turn(""), (3, "none".to_owned()));
    let refused =
        brigade.clone().input("x").run(["work", "turn", "--as", "nobody", "--json"]).assert_code(1).json();
    assert_eq!(refused["code"], "agent_missing", "{refused:#}");
    for (path, bytes) in workspace.files(".") {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("precious-words"), "{path:?}");
    }
}

#[test]
fn workspace_without_memories_has_no_store() {
    let workspace = greeting("");
    let brigade = Brigade::new(&workspace);
    let list = brigade.run(["work", "memory", "list", "--json"]).assert_code(0).json();
    assert_eq!((&list["count"], &list["memories"]), (&json!(0), &json!([])));
    let shown = brigade.run(["work", "memory", "show", "mem-0", "--json"]).assert_code(1).json();
    assert_eq!(shown["code"], "memory_missing", "{shown:#}");
    brigade.run(["work", "memory", "export"]).assert_code(0);
    assert!(!workspace.exists(".brigade/tools/state.db"));
    // A link in its place is refused, and its target is unchanged.
    workspace.write("precious", "precious");
    workspace.write(".brigade/tools/other", "");
    symlink("../../precious", workspace.join(".brigade/tools/state.db")).unwrap();
    let refused = brigade.run(["work", "memory", "list", "--json"]).assert_code(3).json();
    assert_eq!(refused["code"], "path_outside", "{refused:#}");
    brigade.clone().input("Fix it").run(["work", "turn", "--as", "local"]).assert_code(3);
    assert_eq!(workspace.read_text("precious"), "precious");
}
