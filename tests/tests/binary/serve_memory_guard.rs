//! `guard.memory`: a turn that asks for a change needs a search of the memory first.

use serde_json::json;

use crate::serve_common::{Client, POLICY, add, agents, assert_stands, id_of, runs, site, text};

#[test]
fn change_request_requires_memory_search_first() {
    let site = site();
    let script = "echo x >> \"$(basename \"$0\").ran\"\nprintf 'said %s' \"$1\"\n";
    add(&site, "changes", "effects = [\"local-write\"]\n", script);
    site.workspace.replace(
        POLICY,
        "\"read-*\"]\neffects = [\"local-read\"]",
        "\"read-*\", \"changes\"]\neffects = [\"local-read\", \"local-write\"]",
    );
    agents(&site, "profiles = [\"guard.memory\"]\n");
    site.trust(["changes"]);
    let mut client = Client::connect(&site, "local");
    let turn = |words: &str| {
        site.brigade.clone().input(words).run(["work", "turn", "--as", "local"]).assert_code(0);
    };
    let mut call = |tool: &str, words: &str| client.call(tool, json!({"text": words}));
    // Without turns, the guard has no effect.
    assert_eq!(text(&call("changes", "one")), "said one");
    turn("Fix the login");
    assert_stands(&call("changes", "two"), "refused", "memory_search_first");
    assert_eq!(text(&call("at-once", "reads go on")), "said reads go on");
    turn("How does the login work?");
    assert_eq!(text(&call("changes", "three")), "said three");
    turn("Remember what we decided, and do it");
    assert_stands(&call("changes", "four"), "refused", "memory_search_first");
    // Another agent has separate turns.
    assert_eq!(text(&Client::connect(&site, "ann").call("changes", json!({"text": "five"}))), "said five");
    assert_eq!(runs(&site, "changes"), 3);
}

#[test]
fn an_approved_call_also_needs_the_search() {
    let site = site();
    let script = "echo x >> \"$(basename \"$0\").ran\"\nprintf 'said %s' \"$1\"\n";
    add(&site, "changes", "effects = [\"local-write\"]\n", script);
    agents(&site, "profiles = [\"guard.memory\"]\n");
    let mut client = Client::connect(&site, "local");
    let turn = |words: &str| {
        site.brigade.clone().input(words).run(["work", "turn", "--as", "local"]).assert_code(0);
    };
    let asked = client.call("changes", json!({"text": "one"}));
    assert_stands(&asked, "pending", "approval_pending");
    site.json(["call", "approve", &id_of(&asked)]).expect(0);
    let wait = json!({"call_id": id_of(&asked), "timeout_seconds": 30});
    turn("Fix the login");
    assert_stands(&client.call("call.wait", wait.clone()), "refused", "memory_search_first");
    assert_eq!(runs(&site, "changes"), 0);
    turn("How does the login work?");
    assert_eq!(text(&client.call("call.wait", wait)), "said one");
}
