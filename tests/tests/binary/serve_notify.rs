//! `[notify]` of gateway.toml: a program learns what waits for a person.

use brigade_tests::until;
use serde_json::{Value, json};

use crate::serve_common::{Client, agents, assert_stands, site};

#[test]
fn a_program_is_told_once_what_waits() {
    let site = site();
    site.workspace.write("bin/tell.sh", "cat >> told.txt\n");
    agents(&site, "\n[notify]\ncommand = [\"sh\", \"bin/tell.sh\"]\n");
    let mut client = Client::connect(&site, "ann");
    // An agent could have written the script.
    assert_stands(&client.call("asks", json!({"text": "1"})), "pending", "approval_pending");
    until("the warning", || client.said().contains("`brigade tools trust notify`").then_some(()));
    assert!(!site.workspace.exists("told.txt"));
    site.tools(["trust", "notify", "--yes"]).assert_code(0);
    for text in ["2", "2", "\u{1b}]0;3\u{7}"] {
        client.call("asks", json!({"text": text}));
    }
    let told = until("two notifications", || {
        let text = site.workspace.exists("told.txt").then(|| site.workspace.read_text("told.txt"))?;
        (text.matches('\n').count() == 2).then_some(text)
    });
    let mut events: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    events.sort_by_key(|event| event["arguments"]["text"] == "2");
    let event = &events[1];
    assert_eq!(
        (&event["event"], &event["agent"], &event["tool_id"], &event["arguments"]),
        (&json!("call_waiting"), &json!("ann"), &json!("asks"), &json!({"text": "2"})),
        "{event:#}"
    );
    assert_eq!(event["next"], format!("brigade approve {}", event["call_id"].as_str().unwrap()));
    until("a receipt of each", || {
        let runs = site.json(["run", "list", "--tool", "notify"]).expect(0)["runs"].clone();
        (runs.as_array().map(Vec::len) == Some(2)).then_some(())
    });
}
