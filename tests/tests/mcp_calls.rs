//! Calls of MCP tools through the whole way: plan, queue, approve, run.

#![allow(clippy::disallowed_methods, reason = "tests look at the files that the binary wrote")]

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

mod mcp_common;

use mcp_common::{HELLO, Spoken};

#[test]
fn a_call_goes_the_whole_way() {
    let spoken = Spoken::new("echo", "", "env_labels = [\"GITHUB_TOKEN\"]");
    let (code, run) = spoken.say(HELLO);
    let receipt = &run["receipt"];
    assert_eq!(code, 0, "{run:#}");
    assert_eq!(
        (&receipt["status"], &receipt["mcp_response_summary"], &receipt["mcp_is_error"]),
        (&json!("completed"), &json!("hello"), &json!(false))
    );
    assert_eq!((&receipt["mcp_server_id"], &receipt["mcp_tool_name"]), (&json!("voice"), &json!("echo")));
    assert_eq!(receipt["runtime"]["state"], "running");
    assert_eq!(receipt["mcp_pin"]["state"], "first use");
    assert_eq!(receipt["argv"].as_array().unwrap().len(), 4, "arguments are no words of the command");
    assert_eq!(run["call"]["status"], "completed");
    let (_, run) = spoken.say(HELLO);
    assert_eq!(run["receipt"]["mcp_pin"]["state"], "unchanged");
}

#[test]
fn the_server_gets_the_environment_of_a_call_and_nothing_of_it_is_kept() {
    let spoken = Spoken::new("env", "", "env_labels = [\"GITHUB_TOKEN\"]");
    let (code, run) = spoken.say("{}");
    assert_eq!(code, 0, "{run:#}");
    let said = run["receipt"].to_string();
    assert!(said.contains("GITHUB_TOKEN") && !said.contains("STRANGER"), "{said}");
    spoken.site.assert_nowhere(b"canary-EXAMPLE-value", &[]);
}

#[test]
fn an_entry_that_says_too_little_is_planned_and_not_queued() {
    let spoken = Spoken::stopped("echo", "", "");
    let line = "[[tool]]\nid = \"bare\"\nname = \"Bare\"\nfamily = \"mcp\"\ncommand = \"true\"\n";
    spoken.site.add_to_catalog(line);
    let plan = spoken.site.json(["call", "plan", "bare"]).expect(1);
    let details = plan["blocker_details"].as_array().unwrap();
    let codes: Vec<&str> = details.iter().filter_map(|detail| detail["code"].as_str()).collect();
    for code in [
        "mcp_missing_runtime",
        "mcp_missing_tool_name",
        "mcp_missing_timeout",
        "mcp_missing_permissions",
        "mcp_missing_effects",
        "mcp_missing_approval_mode",
        "missing_input_schema",
    ] {
        assert_eq!(codes.iter().filter(|found| **found == code).count(), 1, "{code} in {codes:?}");
    }
    assert_eq!(spoken.site.json(["call", "queue", "bare"]).expect(1)["created"], 0);
}

#[test]
fn a_stopped_runtime_refuses_the_call() {
    let spoken = Spoken::stopped("echo", "mark=called", "");
    let id = spoken.site.approved("say", HELLO);
    let run = spoken.site.run_call(&id).expect(1);
    assert_eq!(run["receipt"], json!(null));
    assert_eq!(run["blocker_details"][0]["code"], "runtime_stopped");
    assert_eq!(run["blocker_details"][0]["hint"], "brigade tools runtime start voice");
    assert_eq!((spoken.site.status(&id), spoken.called()), ("approved".to_owned(), String::new()));
    spoken.site.tools(["runtime", "start", "voice"]).assert_code(0);
    spoken.site.run_call(&id).expect(0);
    assert_eq!(spoken.called(), "echo\n");
}

/// Runs a call that must fail in this way, and returns its receipt.
#[track_caller]
fn fails(tool: &str, faults: &str, lines: &str, status: &str, kind: &str) -> Value {
    let spoken = Spoken::new(tool, &format!("{faults} mark=called"), lines);
    let (code, run) = spoken.say(HELLO);
    let receipt = &run["receipt"];
    assert_eq!(code, 1, "{run:#}");
    assert_eq!((&receipt["status"], &receipt["mcp_error_kind"]), (&json!(status), &json!(kind)), "{run:#}");
    assert_eq!(receipt["mcp_error_type"], "mcp_execution_failed");
    assert!(run["error"].is_string());
    let listed = spoken.site.json(["run", "list"]).expect(0);
    assert_eq!(listed["counts"], json!({ status: 1 }));
    let mut receipt = receipt.clone();
    receipt["called"] = json!(spoken.called());
    receipt
}

#[test]
fn a_tool_that_is_not_listed_is_not_called() {
    let receipt = fails("echo", "unlisted", "", "failed", "tool_not_listed");
    assert_eq!((&receipt["called"], &receipt["mcp_request_id"]), (&json!(""), &json!(null)));
    let receipt = fails("echo", "twice", "", "failed", "duplicate_tool");
    assert_eq!(receipt["called"], "");
}

#[test]
fn a_tool_that_says_that_it_failed_has_failed() {
    let receipt = fails("fail", "", "", "failed", "tool_error");
    assert_eq!(receipt["mcp_is_error"], true);
    assert!(receipt["mcp_response_summary"].as_str().unwrap().starts_with("error: "));
    fails("echo", "rpc-error", "", "failed", "json_rpc_error");
}

#[test]
fn a_server_that_does_not_answer_is_ended_in_time() {
    let receipt = fails("echo", "silent", "timeout = 1", "timed-out", "timed_out");
    assert_eq!((&receipt["timed_out"], &receipt["exit_code"]), (&json!(true), &json!(null)));
    fails("echo", "never-starts", "timeout = 1", "timed-out", "timed_out");
}

#[test]
fn a_server_that_will_not_exit_is_ended_and_its_answer_counts() {
    for fault in ["stays", "ignores-term"] {
        let spoken = Spoken::new("echo", fault, "");
        let (code, run) = spoken.say(HELLO);
        assert_eq!((code, &run["receipt"]["mcp_response_summary"]), (0, &json!("hello")), "{run:#}");
        assert_eq!(run["receipt"]["mcp_server_exit"], "ended: did not exit when its input was closed");
    }
}

#[test]
fn what_changed_since_the_first_use_is_not_called_until_it_is_accepted() {
    let spoken = Spoken::fickle("echo");
    let site = &spoken.site;
    assert_eq!(spoken.say(HELLO).0, 0);
    let path = ".brigade/tools/pins/voice--echo.json";
    let mode = std::fs::metadata(site.workspace.join(path)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let pinned = site.workspace.read(path);
    assert_eq!(
        site.json(["pins", "accept", "say"]).expect(1)["accepted"],
        false,
        "there is nothing to accept"
    );

    spoken.turn("good", "changed-description added-parameter");
    let (code, run) = spoken.say(HELLO);
    assert_eq!((code, &run["receipt"]["mcp_error_kind"]), (1, &json!("pin_changed")), "{run:#}");
    let changes = run["receipt"]["mcp_pin_changes"].to_string();
    assert!(changes.contains("~/.ssh/id_rsa") && changes.contains("note"), "{changes}");
    assert!(run["error"].as_str().unwrap().contains("brigade tools pins accept voice--echo"));
    assert_eq!(spoken.called(), "echo\n", "the changed tool was not called");

    // A new approval of a call alone changes nothing: it does not show what the server says.
    assert_eq!(spoken.say(HELLO).0, 1);
    let list = site.json(["pins", "list"]).expect(0);
    assert_eq!((&list["changed_count"], &list["pins"][0]["state"]), (&json!(1), &json!("changed")));
    let shown = site.json(["pins", "show", "voice"]).expect(0);
    assert_eq!(shown["changes"].as_array().unwrap().len(), 2, "{shown:#}");
    assert!(site.tools(["pins", "show", "say"]).assert_code(0).stdout_text().contains("id_rsa"));

    let accepted = site.json(["pins", "accept", "say"]).expect(0);
    assert_eq!((&accepted["accepted"], &accepted["pin"]["state"]), (&json!(true), &json!("pinned")));
    assert_eq!(spoken.say(HELLO).0, 0);
    assert_eq!(spoken.called(), "echo\necho\n");
    assert_ne!(site.workspace.read(path), pinned);
}

#[test]
fn a_server_that_returns_to_what_was_pinned_may_be_called_again() {
    let spoken = Spoken::fickle("echo");
    assert_eq!(spoken.say(HELLO).0, 0);
    spoken.turn("good", "removed-parameter");
    assert_eq!(spoken.say(HELLO).0, 1);
    spoken.turn("removed-parameter", "reordered");
    assert_eq!(spoken.say(HELLO).0, 0);
    assert_eq!(spoken.site.json(["pins", "list"]).expect(0)["changed_count"], 0);
}

#[test]
fn a_pin_that_cannot_be_read_refuses_the_call() {
    let spoken = Spoken::new("echo", "mark=called", "");
    let path = ".brigade/tools/pins/voice--echo.json";
    let id = spoken.site.approved("say", HELLO);
    for text in ["", "{", "{}", r#"{"schema":"brigade.tool_pin.v9"}"#] {
        spoken.site.workspace.write(path, text);
        let run = spoken.site.run_call(&id).expect(1);
        assert_eq!(run["blocker_details"][0]["code"], "mcp_pin_unreadable", "{run:#}");
        assert_eq!(spoken.site.status(&id), "approved");
        assert_eq!(spoken.site.workspace.read_text(path), text, "it is never written over");
        assert_eq!(spoken.site.json(["pins", "list"]).expect(1)["error_count"], 1);
    }
    assert_eq!(spoken.called(), "");
}
