//! Calls of MCP tools: plan, queue, approve, run.

#![allow(clippy::disallowed_methods, reason = "tests look at the files that the binary wrote")]

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::mcp_common::{HELLO, READS, VoiceSite, close};

#[test]
fn a_call_goes_the_whole_way() {
    let spoken = VoiceSite::new("echo", "", "env_labels = [\"GITHUB_TOKEN\"]");
    let (code, run) = spoken.say(HELLO);
    let receipt = &run["receipt"];
    assert_eq!(code, 0, "{run:#}");
    assert_eq!(
        (&receipt["status"], &receipt["mcp_response_text"], &receipt["mcp_is_error"]),
        (&json!("completed"), &json!("hello"), &json!(false))
    );
    assert_eq!((&receipt["mcp_server_id"], &receipt["mcp_tool_name"]), (&json!("voice"), &json!("echo")));
    assert_eq!(receipt["runtime"]["state"], "running");
    assert_eq!(receipt["mcp_protocol_version"], "2025-11-25");
    // Issue 12: compared right before the run, as for scripts.
    assert!(receipt["check_gap_seconds"].as_f64().is_some_and(|gap| gap < 5.0), "{receipt:#}");
    let response = &receipt["mcp_response_summary"];
    assert_eq!((&response["id"], &response["jsonrpc"]), (&receipt["mcp_request_id"], &json!("2.0")));
    assert_eq!(response["result"]["content"][0], json!({"type": "text", "characters": 5, "text": "hello"}));
    assert_eq!(receipt["mcp_pin"]["state"], "first use");
    assert_eq!(receipt["argv"].as_array().unwrap().len(), 4, "arguments are not words of the command");
    assert_eq!(run["call"]["status"], "completed");
    assert_eq!(run["call"]["contract"]["requires_runtime"], true, "no MCP tool is called without one");
    let (_, run) = spoken.say(HELLO);
    assert_eq!(run["receipt"]["mcp_pin"]["state"], "unchanged");
}

#[test]
fn the_log_tells_what_is_done_and_no_value() {
    let spoken = VoiceSite::new("echo", "", "env_labels = [\"GITHUB_TOKEN\"]");
    let id = spoken.site.approved("say", r#"{"text":"a-value-of-a-person"}"#);
    let words = ["tools", "call", "run", &id, "--json"];
    let run = spoken.site.brigade.command(words).env("BRIGADE_LOG", "trace").output().expect("it runs");
    let log = String::from_utf8_lossy(&run.stderr);
    for told in [
        "brigade_runtime",
        "checked the health of a runtime",
        "brigade_exec",
        "are still those that were approved",
        "brigade_process",
        "started a program",
        "everything it started have ended",
        "brigade_mcp",
        "the server listed its tools",
        "compared the tool with its pin",
        "the server answered a request",
        // Spans with durations.
        "claim{call=",
        "append{file=.brigade/tools/calls.jsonl",
        "synced",
        "finish{call=",
        "append{file=.brigade/tools/runs/ledger.jsonl",
        "run{run=",
        "spawn{program=",
        "mcp{purpose=\"call\"}",
        "health{pid=",
        "close time.busy=",
    ] {
        assert!(log.contains(told), "{told}\n{log}");
    }
    for secret in ["a-value-of-a-person", "canary-EXAMPLE-value"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[test]
fn server_gets_call_environment_for_one_call() {
    let spoken = VoiceSite::new("env", "", "env_labels = [\"GITHUB_TOKEN\"]");
    let (code, run) = spoken.say("{}");
    assert_eq!(code, 0, "{run:#}");
    let said = run["receipt"].to_string();
    assert!(said.contains("GITHUB_TOKEN") && !said.contains("STRANGER"), "{said}");
    spoken.site.assert_nowhere(b"canary-EXAMPLE-value", &[]);
}

#[test]
fn an_incomplete_entry_is_planned_but_not_queued() {
    let spoken = VoiceSite::stopped("echo", "", "");
    let line = "[[tool]]\nid = \"bare\"\nname = \"Bare\"\nfamily = \"mcp\"\ncommand = \"true\"\n";
    spoken.site.add_to_catalog(line);
    let plan = spoken.site.json(["call", "plan", "bare"]).expect(1);
    let details = plan["blocker_details"].as_array().unwrap();
    let codes: Vec<&str> = details.iter().filter_map(|detail| detail["code"].as_str()).collect();
    for code in [
        "mcp_missing_runtime",
        "mcp_missing_tool_name",
        "mcp_missing_timeout",
        "mcp_missing_effects",
        "mcp_missing_approval_mode",
        "missing_input_schema",
    ] {
        assert_eq!(codes.iter().filter(|found| **found == code).count(), 1, "{code} in {codes:?}");
    }
    assert_eq!(spoken.site.json(["call", "queue", "bare"]).expect(1)["created"], 0);
}

#[test]
fn floods_of_messages_are_read_in_bounded_memory() {
    // Enough memory for every call. Without a limit, a flood takes gigabytes within seconds.
    let limited = |spoken: &VoiceSite, id: &str| {
        let run = spoken.site.brigade.command(["tools", "call", "run", id, "--json"]);
        let mut command = std::process::Command::new("prlimit");
        command.arg("--as=1000000000").arg(run.get_program()).args(run.get_args());
        command.env_clear().envs(run.get_envs().filter_map(|(key, value)| Some((key, value?))));
        command.current_dir(run.get_current_dir().unwrap());
        let output = command.output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    };
    for what in ["notes", "progress", "pings", "big-pings"] {
        let spoken = VoiceSite::new("echo", &format!("floods={what}"), "timeout = 1");
        let id = spoken.site.approved("say", HELLO);
        let run = limited(&spoken, &id);
        let receipt = &run["receipt"];
        assert_eq!(receipt["status"], "timed-out", "{what}: {run:#}");
        assert_eq!((&receipt["timed_out"], &receipt["exit_code"]), (&json!(true), &json!(null)), "{what}");
    }
    for (what, count) in [("notes", 50_000), ("pings", 5_000)] {
        let spoken = VoiceSite::new("echo", &format!("floods={what} count={count}"), "timeout = 60");
        let id = spoken.site.approved("say", HELLO);
        assert_eq!(limited(&spoken, &id)["receipt"]["status"], "completed", "{what}");
    }
}

#[test]
fn a_missing_runtime_never_overwrites_the_runtimes() {
    let spoken = VoiceSite::stopped("echo", "", "");
    let id = spoken.site.approved("say", HELLO);
    let file = ".brigade/tools/runtimes.toml";
    let hint = || spoken.site.run_call(&id).expect(1)["blocker_details"][0]["hint"].clone();
    spoken.site.workspace.write(file, "");
    assert_eq!(hint(), "add a [[runtime]] entry to .brigade/tools/runtimes.toml");
    std::fs::remove_file(spoken.site.workspace.join(file)).unwrap();
    assert_eq!(hint(), "brigade tools runtime init");
}

#[test]
fn a_stopped_runtime_refuses_the_call() {
    let spoken = VoiceSite::stopped("echo", "mark=called", "");
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

/// Runs a call that must fail with this status and kind, and returns its receipt.
#[track_caller]
fn fails(tool: &str, faults: &str, lines: &str, status: &str, kind: &str) -> Value {
    let spoken = VoiceSite::new(tool, &format!("{faults} mark=called"), lines);
    let (code, run) = spoken.say(HELLO);
    let receipt = &run["receipt"];
    assert_eq!(code, 1, "{run:#}");
    assert_eq!((&receipt["status"], &receipt["mcp_error_kind"]), (&json!(status), &json!(kind)), "{run:#}");
    assert_eq!(receipt["mcp_error_type"], "mcp_execution_failed");
    assert!(run["error"].is_string());
    let doctor = spoken.site.json(["doctor"]).json;
    let issues = doctor["issues"].as_array().expect("issues are a list");
    let of_doctor = match kind {
        "malformed_message" | "oversized_message" | "unsupported_answer" => "mcp_malformed_response",
        "tool_not_listed" | "duplicate_tool" | "list_failed" | "pin_changed" => "mcp_tool_mismatch",
        _ => "mcp_execution_failed",
    };
    let why = issues.iter().find(|issue| issue["issue_type"] == of_doctor);
    if status == "failed" {
        let detail = why.expect("doctor tells of it")["detail"].as_str().expect("an issue has a detail");
        let failure: String =
            receipt["failure"].as_str().expect("the receipt says why").chars().take(40).collect();
        assert!(detail.contains(&failure), "{detail}");
    }
    let listed = spoken.site.json(["run", "list"]).expect(0);
    assert_eq!(listed["counts"], json!({ status: 1 }));
    let mut receipt = receipt.clone();
    receipt["called"] = json!(spoken.called());
    receipt
}

#[test]
fn a_program_that_others_can_change_is_always_read() {
    use std::os::unix::fs::MetadataExt;

    let spoken = VoiceSite::new("echo", "", "");
    let site = &spoken.site;
    assert_eq!(spoken.say(HELLO).0, 0);
    let path = ".brigade/tools/digests.json";
    let approved = |args: &str| {
        let id = site.queue("say", args);
        let approved = site.json(["call", "approve", &id]).expect(0);
        (id, approved["call"]["approval_binding"]["program"]["sha256"].clone())
    };
    let (_, digest) = approved(r#"{"text":"first"}"#);
    // Times and length do not prove the bytes, regardless of the owner.
    let found = std::fs::metadata("/usr/bin/python3").unwrap();
    let key = format!(
        "{}:{}:{}:{}.{:09}:{}.{:09}",
        found.dev(),
        found.ino(),
        found.len(),
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec()
    );
    let wrong = "0".repeat(64);
    let known = json!({"schema": "brigade.digests.v1", "files": {key: wrong}});
    site.workspace.write(path, known.to_string());
    let (id, again) = approved(r#"{"text":"again"}"#);
    assert_eq!(again, digest);
    site.run_call(&id).expect(0);

    // An invalid cache is ignored.
    site.workspace.write(path, "{}");
    let (id, again) = approved(r#"{"text":"once more"}"#);
    assert_eq!(again, digest);
    site.run_call(&id).expect(0);
}

#[test]
fn a_tool_that_is_not_listed_is_not_called() {
    let receipt = fails("echo", "unlisted", "", "failed", "tool_not_listed");
    assert_eq!((&receipt["called"], &receipt["mcp_request_id"]), (&json!(""), &json!(null)));
}

#[test]
fn a_tool_that_says_that_it_failed_has_failed() {
    let receipt = fails("fail", "", "", "failed", "tool_error");
    assert_eq!(receipt["mcp_is_error"], true);
    assert!(receipt["mcp_response_text"].as_str().unwrap().starts_with("error: "));
    assert_eq!(receipt["mcp_response_summary"]["result"]["isError"], true);
}

#[test]
fn broken_server_checkpoint_fails_the_run() {
    let spoken = VoiceSite::fickle("echo");
    spoken.turn("good", "drops={\"id\":\"gate\",\"reason\":\"look\",\"prompt\":\"on?\"}");
    let (code, run) = spoken.say(HELLO);
    assert_eq!((code, &run["receipt"]["status"]), (0, &json!("waiting")), "{run:#}");
    assert_eq!(run["receipt"]["checkpoint_id"], "gate");
    assert_eq!(spoken.site.json(["checkpoint", "list"]).expect(0)["checkpoint_count"], 1);
    let spoken = VoiceSite::fickle("echo");
    spoken.turn("good", "drops={broken");
    let (code, run) = spoken.say(HELLO);
    assert_eq!((code, &run["receipt"]["status"]), (1, &json!("failed")), "{run:#}");
    assert!(run["error"].as_str().is_some_and(|error| error.contains("checkpoint file a.json")), "{run:#}");
}

/// Returns the only pin issue that doctor reports.
#[track_caller]
fn pin_issue(spoken: &VoiceSite) -> Value {
    let report = spoken.site.json(["doctor", "--only", "tool"]).json;
    let issues = report["issues"].as_array().expect("issues are a list");
    let of_pins = issues
        .iter()
        .filter(|issue| issue["issue_type"].as_str().expect("an issue has a type").starts_with("mcp_"));
    let found: Vec<Value> = of_pins.cloned().collect();
    assert!(found.len() < 2, "{found:#?}");
    found.first().cloned().unwrap_or_default()
}

const PIN: &str = ".brigade/tools/pins/voice--echo.json";

#[test]
fn changed_tool_is_blocked_until_accepted() {
    let spoken = VoiceSite::fickle("echo");
    let site = &spoken.site;
    assert_eq!(spoken.say(HELLO).0, 0);
    let mode = std::fs::metadata(site.workspace.join(PIN)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let pinned = site.workspace.read(PIN);
    assert_eq!(
        site.json(["pins", "accept", "say"]).expect(1)["accepted"],
        false,
        "there is nothing to accept"
    );
    assert_eq!(pin_issue(&spoken), json!(null));

    spoken.turn("good", "changed-description added-parameter");
    let (code, run) = spoken.say(HELLO);
    assert_eq!((code, &run["receipt"]["mcp_error_kind"]), (1, &json!("pin_changed")), "{run:#}");
    let changes = run["receipt"]["mcp_pin_changes"].to_string();
    assert!(changes.contains("~/.ssh/id_rsa") && changes.contains("note"), "{changes}");
    let error = run["error"].as_str().unwrap();
    assert!(error.contains("approved: description, parameters") && !error.contains("id_rsa"), "{error}");
    assert!(error.contains("brigade tools pins accept voice--echo") && error.contains("approve"), "{error}");
    assert_eq!(spoken.called(), "echo\n", "the changed tool was not called");

    let list = site.json(["pins", "list"]).expect(0);
    assert_eq!((&list["changed_count"], &list["pins"][0]["state"]), (&json!(1), &json!("changed")));
    let shown = site.json(["pins", "show", "voice"]).expect(0);
    assert_eq!(shown["changes"].as_array().unwrap().len(), 2, "{shown:#}");
    assert!(site.tools(["pins", "show", "say"]).assert_code(0).stdout_text().contains("id_rsa"));
    let issue = pin_issue(&spoken);
    assert_eq!(
        (&issue["issue_type"], &issue["tool_id"], &issue["severity"], &issue["fix"]),
        (
            &json!("mcp_tool_changed"),
            &json!("say"),
            &json!("error"),
            &json!("brigade tools pins show voice--echo")
        )
    );
    assert!(issue["detail"].as_str().unwrap().contains("id_rsa"), "{issue:#}");

    let accepted = site.json(["pins", "accept", "say"]).expect(0);
    assert_eq!((&accepted["accepted"], &accepted["pin"]["state"]), (&json!(true), &json!("pinned")));
    assert_eq!(pin_issue(&spoken), json!(null));
    assert_eq!(spoken.say(HELLO).0, 0);
    assert_eq!(spoken.called(), "echo\necho\n");
    assert_ne!(site.workspace.read(PIN), pinned);
}

/// Returns a workspace whose server changed after the first use. One run was refused because of it.
fn changed(faults: &str) -> VoiceSite {
    let spoken = VoiceSite::fickle("echo");
    assert_eq!(spoken.say(HELLO).0, 0);
    spoken.turn("good", faults);
    assert_eq!(spoken.say(HELLO).1["receipt"]["mcp_error_kind"], "pin_changed");
    spoken
}

#[test]
fn approval_after_change_accepts_exactly_that_change() {
    let spoken = changed("changed-description added-parameter");
    let site = &spoken.site;
    let id = site.queue("say", HELLO);
    let shown = site.json(["call", "show", &id]).expect(0);
    let changes = shown["pin"]["changes"].clone();
    assert_eq!((&shown["pin"]["state"], changes.as_array().unwrap().len()), (&json!("changed"), 2));
    let text = site.tools(["call", "show", &id]).assert_code(0).stdout_text();
    assert!(text.contains("id_rsa") && text.contains("note"), "{text}");

    let approved = site.json(["call", "approve", &id]).expect(0);
    assert_eq!((&approved["accepted_changes"], &approved["pin"]["state"]), (&changes, &json!("pinned")));
    assert_eq!(approved["call"]["approval_binding"]["pin"], shown["pin"]["offered_fingerprint"]);
    site.run_call(&id).expect(0);
    assert_eq!(spoken.called(), "echo\necho\n");
    assert_eq!(site.json(["pins", "list"]).expect(0)["changed_count"], 0);
    assert_eq!(spoken.say(HELLO).0, 0, "further calls are approved without a change to take");

    let spoken = changed("removed-parameter");
    let id = spoken.site.queue("say", HELLO);
    let text = spoken.site.tools(["call", "approve", &id]).assert_code(0).stdout_text();
    assert!(text.contains("accepted") && text.contains("parameter"), "{text}");
}

#[test]
fn a_server_that_changes_again_is_refused_again() {
    let spoken = changed("changed-description");
    let id = spoken.site.approved("say", HELLO);
    spoken.turn("changed-description", "added-parameter");
    let run = spoken.site.run_call(&id).expect(1);
    assert_eq!(run["receipt"]["mcp_error_kind"], "pin_changed", "{run:#}");
    assert_eq!(spoken.called(), "echo\n");
    let shown = spoken.site.json(["pins", "show", "say"]).expect(0);
    assert!(
        shown["description"].as_str().unwrap().contains("id_rsa"),
        "what was approved is the pin: {shown:#}"
    );
    assert_eq!(shown["pin"]["state"], "changed");
    assert_eq!(spoken.say(HELLO).0, 0, "and the next approval takes the next change");
}

#[test]
fn a_call_approved_for_another_listing_is_refused() {
    let spoken = VoiceSite::fickle("echo");
    let site = &spoken.site;
    assert_eq!(spoken.say(HELLO).0, 0);
    let old = site.approved("say", r#"{"text":"approved before"}"#);
    spoken.turn("good", "widened-parameter");
    let first = spoken.say(HELLO).1;
    assert_eq!(first["receipt"]["mcp_error_kind"], "pin_changed");
    // First the change is pending. The second time, it was accepted with another call.
    for _ in 0..2 {
        let run = site.run_call(&old).expect(1);
        assert_eq!(
            (&run["receipt"], &run["blocker_details"][0]["code"]),
            (&json!(null), &json!("changed_pin"))
        );
        let hint = run["blocker_details"][0]["hint"].as_str().unwrap();
        assert!(hint.contains("brigade tools pins show say"), "{hint}");
        site.json(["call", "queue", "say", "--args", HELLO]).expect(0);
        let pending = site.json(["call", "list", "--status", "pending"]).expect(0);
        if let Some(id) = pending["calls"][0]["id"].as_str() {
            site.json(["call", "approve", id]).expect(0);
        }
    }
    let report = site.json(["doctor", "--only", "call_stale_approved"]).json;
    assert_eq!(report["issues"][0]["call_id"], old, "{report:#}");
    let again = site.approved("say", r#"{"text":"approved before"}"#);
    assert_ne!(again, old, "an approval of a removed tool does not block");
    site.run_call(&again).expect(0);
    assert_eq!(spoken.called(), "echo\necho\n");
}

#[test]
fn calls_approved_before_the_first_use_run() {
    let spoken = VoiceSite::fickle("echo");
    let site = &spoken.site;
    let one = site.approved("say", HELLO);
    let other = site.approved("say", r#"{"text":"other"}"#);
    site.run_call(&one).expect(0);
    let same = site.json(["call", "queue", "say", "--args", r#"{"text":"other"}"#]).expect(0);
    assert_eq!((&same["created"], &same["call"]["id"]), (&json!(0), &json!(other)));
    site.run_call(&other).expect(0);
    assert_eq!(spoken.called(), "echo\necho\n");
}

#[test]
fn a_run_completes_an_interrupted_renewal() {
    let spoken = changed("changed-description");
    let before = spoken.site.workspace.read(PIN);
    let id = spoken.site.approved("say", HELLO);
    spoken.site.workspace.write(PIN, before);
    spoken.site.run_call(&id).expect(0);
    for name in ["say", "mcp:say"] {
        assert_eq!(spoken.site.json(["pins", "show", name]).expect(0)["pin"]["state"], "pinned", "{name}");
    }
}

#[test]
fn vanished_pinned_tool_is_an_issue() {
    let spoken = VoiceSite::fickle("echo");
    assert_eq!(spoken.say(HELLO).0, 0);
    spoken.turn("good", "unlisted");
    assert_eq!(spoken.say(HELLO).1["receipt"]["mcp_error_kind"], "tool_not_listed");
    assert_eq!(pin_issue(&spoken)["issue_type"], "mcp_tool_vanished");
    let shown = spoken.site.json(["pins", "show", "say"]).expect(0);
    assert_eq!(
        (&shown["pin"]["state"], &shown["pin"]["missing_since"].is_string()),
        (&json!("vanished"), &true)
    );
    spoken.turn("unlisted", "good");
    assert_eq!(spoken.say(HELLO).0, 0);
    assert_eq!(pin_issue(&spoken), json!(null));
}

#[test]
fn approval_accepts_no_later_change() {
    let spoken = VoiceSite::fickle("echo");
    let site = &spoken.site;
    assert_eq!(spoken.say(HELLO).0, 0);
    let early = site.queue("say", r#"{"text":"early"}"#);
    spoken.turn("good", "changed-description");
    assert_eq!(spoken.say(HELLO).1["receipt"]["mcp_error_kind"], "pin_changed");
    let refused = site.json(["call", "approve", &early]).expect(1);
    assert_eq!(refused["blocker_details"][0]["code"], "changed_pin", "{refused:#}");
    assert_eq!(site.json(["pins", "show", "say"]).expect(0)["pin"]["state"], "changed", "nothing was taken");

    // A call queued when the change was visible accepts exactly that change, not a later one.
    let later = site.queue("say", r#"{"text":"later"}"#);
    spoken.turn("changed-description", "added-parameter");
    site.json(["pins", "list", "--live"]).expect(1);
    let refused = site.json(["call", "approve", &later]).expect(1);
    assert_eq!(refused["blocker_details"][0]["code"], "changed_pin", "{refused:#}");
    let again = site.queue("say", r#"{"text":"again"}"#);
    site.json(["call", "approve", &again]).expect(0);
    site.run_call(&again).expect(0);
    // A change that was accepted meanwhile is no longer reported.
    site.json(["call", "approve", &early]).expect(0);
}

#[test]
fn concurrent_first_use_pins_once() {
    let spoken = VoiceSite::new("echo", "mark=called", "");
    let site = &spoken.site;
    let description = "description = \"Says it again.\"\n";
    let by_process = "description = f\"Says it again {os.getpid()}.\"\n";
    site.workspace.replace("server.py", description, by_process);
    // No call runs before all are verified, because a call creates the mark file, which invalidates approvals.
    let all = "os.mkdir(f'up.{os.getpid()}')\nwhile sum(name.startswith('up.') for name in os.listdir('.')) < 6:\n    time.sleep(0.01)\n";
    let faults = "FAULTS = sys.argv[1:]\n";
    site.workspace.replace("server.py", faults, &format!("{faults}{all}"));
    let ids: Vec<String> =
        (0..6).map(|number| site.approved("say", &format!(r#"{{"text":"{number}"}}"#))).collect();
    let runs: Vec<_> = ids
        .iter()
        .map(|id| {
            let mut command = site.brigade.command(["tools", "call", "run", id, "--json"]);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    let receipts: Vec<Value> = runs
        .into_iter()
        .map(|run| serde_json::from_slice::<Value>(&run.wait_with_output().unwrap().stdout).unwrap())
        .map(|run| run["receipt"].clone())
        .collect();
    let count = |key: &str, value: &str| receipts.iter().filter(|receipt| receipt[key] == value).count();
    assert_eq!(
        (count("status", "completed"), count("mcp_error_kind", "pin_changed")),
        (1, 5),
        "{receipts:#?}"
    );
    let first = receipts.iter().find(|receipt| receipt["status"] == "completed").unwrap();
    assert_eq!(first["mcp_pin"]["state"], "first use");
    let pin: Value = serde_json::from_slice(&site.workspace.read(PIN)).unwrap();
    assert_eq!(pin["pin"]["fingerprint"], first["mcp_pin"]["listed"]);
    assert_eq!(spoken.called(), "echo\n", "only one was called");
}

#[test]
fn server_back_at_its_pin_may_be_called() {
    let spoken = changed("removed-parameter");
    spoken.turn("removed-parameter", "reordered");
    spoken.site.json(["pins", "list", "--live"]).expect(0);
    assert_eq!(spoken.site.json(["pins", "list"]).expect(0)["changed_count"], 0);
    assert_eq!(spoken.say(HELLO).0, 0);
}

#[test]
fn a_pin_that_cannot_be_read_refuses_the_call() {
    let spoken = VoiceSite::new("echo", "mark=called", "");
    let path = PIN;
    let id = spoken.site.approved("say", HELLO);
    for text in ["", "{", "{}", r#"{"schema":"brigade.tool_pin.v9"}"#] {
        spoken.site.workspace.write(path, text);
        let run = spoken.site.run_call(&id).expect(1);
        assert_eq!(run["blocker_details"][0]["code"], "mcp_pin_unreadable", "{run:#}");
        assert_eq!(spoken.site.status(&id), "approved");
        assert_eq!(spoken.site.workspace.read_text(path), text, "it is never written over");
        assert_eq!(spoken.site.json(["pins", "list"]).expect(1)["error_count"], 1);
        assert_eq!(pin_issue(&spoken)["issue_type"], "mcp_pin_unreadable");
        let plan = spoken.site.json(["call", "plan", "say", "--args", HELLO]).expect(1);
        assert_eq!(
            plan["blocker_details"][0]["code"], "mcp_pin_unreadable",
            "it is found out early: {plan:#}"
        );
    }
    assert_eq!(spoken.called(), "");
}

/// Issue 12: a server can read bound files and `data`. Its arguments are messages and open nothing.
#[test]
fn a_closed_server_reads_only_bound_files_and_data() {
    for effects in ["local-read", "local-read\", \"local-write"] {
        let lines = format!("effects = [\"{effects}\"]\ncode = [\"lib/**\"]\ndata = [\"data/**\"]");
        let spoken = VoiceSite::new("echo", "", &lines);
        close(&spoken.site);
        spoken.site.workspace.write("server.py", READS);
        for named in ["secret.txt", ".", "lib/part.py"] {
            let (code, run) = spoken.say(&json!({"text": named}).to_string());
            let receipt = &run["receipt"];
            let bound = if named == "lib/part.py" { "word = 'approved'" } else { "closed" };
            let expect = format!("approved datum {bound} closed closed");
            assert_eq!((code, &receipt["mcp_response_text"]), (0, &json!(expect)), "{named}: {receipt:#}");
            let race = if effects.contains("write") { "possible" } else { "none" };
            assert_eq!(
                (&receipt["sandbox"]["reads"], &receipt["sandbox"]["race"]),
                (&json!("closed"), &json!(race)),
                "{receipt:#}"
            );
            let said = receipt["warnings"].to_string();
            assert!(said.contains("denied: secret.txt; add it to code or data"), "{said}");
        }
        let id = spoken.site.approved("say", r#"{"text":"x"}"#);
        spoken.site.workspace.write("lib/part.py", "word = 'other'\n");
        spoken.site.run_call(&id).refused("changed since it was approved: file lib/part.py");
    }
}
