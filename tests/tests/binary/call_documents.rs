//! All steps of a call in the fixture workspaces. Every document has the specified keys and types.

#![allow(clippy::disallowed_methods, reason = "tests look at the files that the binary wrote")]

use brigade_tests::Site;
use serde_json::json;

const ARGS: &str = r#"{"paths":["README.md"],"mode":"by-file"}"#;

#[test]
fn from_plan_to_receipt_on_repo_tools() {
    let site = Site::fixture("repo-tools");

    let plan = site.json(["call", "plan", "count-words", "--args", ARGS]).expect(0);
    assert_eq!((&plan["valid"], &plan["blockers"]), (&json!(true), &json!([])));
    assert_eq!(plan["plan"]["arguments"]["mode"], "--mode=by-file");
    assert!(!site.workspace.exists(".brigade/tools/calls.jsonl"), "planning writes nothing");

    let queued = site.json(["call", "queue", "count-words", "--args", ARGS]).expect(0);
    assert_eq!(
        (&queued["created"], &queued["skipped"], &queued["blocked"], &queued["reason"]),
        (&json!(1), &json!(0), &json!(0), &json!(null))
    );
    assert_eq!(queued["call"]["status"], "pending");
    let id = queued["call"]["id"].as_str().unwrap();
    assert_eq!(id, format!("call-{}", &plan["call_fingerprint"].as_str().unwrap()[..16]));

    let list = site.json(["call", "list"]).expect(0);
    assert_eq!((&list["counts"], &list["calls"][0]), (&json!({"pending": 1}), &queued["call"]));
    let shown = site.json(["call", "show", &id[..9]]).expect(0);
    assert_eq!((&shown["call"], &shown["error"]), (&queued["call"], &json!(null)));

    let approved = site.json(["call", "approve", id]).expect(0);
    assert_eq!(approved["call"]["status"], "approved");
    assert_eq!(site.json(["run", "list"]).expect(0)["run_count"], 0);
    assert_eq!(site.json(["run", "latest"]).expect(1)["run"], json!(null));

    let run = site.run_call(id).expect(0);
    let receipt = &run["receipt"];
    assert_eq!((&run["call"]["status"], &receipt["status"]), (&json!("completed"), &json!("completed")));
    assert_eq!(receipt["exit_code"], 0);
    assert_eq!(receipt["call_id"], id);
    assert_eq!(receipt["cwd"], site.workspace.path().to_str().unwrap());
    assert_eq!(receipt["sandbox"]["mode"], "enforce");
    let answer: serde_json::Value = serde_json::from_slice(&site.log(receipt, "stdout")).unwrap();
    assert_eq!(answer["mode"], "by-file");

    let run_id = receipt["id"].as_str().unwrap();
    let list = site.json(["run", "list"]).expect(0);
    assert_eq!((&list["run_count"], &list["counts"]), (&json!(1), &json!({"completed": 1})));
    assert_eq!((&list["runs"][0]["id"], &list["latest"]), (&receipt["id"], &list["runs"][0]));
    for words in [&["run", "show", run_id][..], &["run", "latest"]] {
        let mut shown = site.json(words).expect(0)["run"].clone();
        // Summaries have these keys even if the receipt has no value for them.
        shown.as_object_mut().unwrap().retain(|key, _| receipt.get(key).is_some());
        assert_eq!(&shown, receipt);
    }
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);

    let replay = site.json(["run", "replay", run_id]).expect(0);
    assert_eq!((&replay["created"], &replay["executed"]), (&json!(1), &json!(0)));
    assert_eq!(replay["call"]["status"], "pending");
    assert_eq!(replay["call"]["replay_of_run_id"], run_id);
    assert_eq!(replay["call"]["replay_source_call_id"], id);
    assert_ne!(replay["call"]["id"], id);
    assert_eq!(site.json(["run", "list"]).expect(0)["run_count"], 1, "a replay runs nothing");
}

#[test]
fn every_script_of_repo_tools_runs_in_its_sandbox() {
    let site = Site::fixture("repo-tools").env("REPO_TOOLS_TOKEN", "canary-4711-canary");
    site.workspace.git_init();
    for (tool, args, status, code) in [
        ("git-log", r#"{"limit":5}"#, "completed", 0),
        ("find-todos", r#"{"path":"."}"#, "completed", 0),
        ("format-json", r#"{"path":"examples/git-log.json","sort_keys":true}"#, "completed", 0),
        ("always-fails", r#"{"message":"it's $(so)"}"#, "failed", 3),
        ("needs-token", "{}", "completed", 0),
    ] {
        let id = site.approved(tool, args);
        let run = site.run_call(&id).expect(i32::from(code != 0));
        assert_eq!(
            (&run["call"]["status"], &run["receipt"]["exit_code"]),
            (&json!(status), &json!(code)),
            "{run:#}"
        );
    }
    let latest = site.json(["run", "latest"]).expect(0);
    assert_eq!(latest["run"]["env_labels_used"], json!(["GITHUB_TOKEN"]));
    assert!(latest["run"]["stdout_summary"].as_str().unwrap().contains("\"length\": 18"));
    site.assert_nowhere(b"canary-4711-canary", &[]);
}

#[test]
fn the_commands_of_the_catalog_keep_their_keys() {
    for fixture in ["repo-tools", "seed"] {
        let site = Site::fixture(fixture);
        let id = if fixture == "seed" { "simplify" } else { "git-log" };
        let list = site.json(["list"]).expect(0);
        assert_eq!(list["tool_count"], if fixture == "seed" { 1 } else { 6 });
        assert_eq!(site.json(["show", id]).expect(0)["tool"]["id"], id);
        assert_eq!(site.json(["show", "nothing"]).expect(1)["tool"], json!(null));
        assert_eq!(site.json(["search", id]).expect(0)["match_count"], 1);
        assert_eq!(site.json(["search", ""]).expect(0)["match_count"], 0);
        assert_eq!(site.json(["describe", id]).expect(0)["valid"], true);
        site.json(["describe", "nothing"]).expect(1);
        assert_eq!(site.json(["contracts"]).expect(0)["contract_count"], list["tool_count"]);
        assert_eq!(site.json(["policy", "show"]).expect(0)["valid"], true);
        site.json(["checkpoint", "list"]).expect(0);
        site.json(["checkpoint", "show", "nothing"]).expect(1);
        site.json(["call", "list"]).expect(0);
        site.json(["call", "show", "nothing"]).expect(1);
        site.json(["run", "show", "nothing"]).expect(1);
    }
}

#[test]
fn the_commands_around_calls_keep_their_keys() {
    for fixture in ["repo-tools", "seed"] {
        let site = Site::fixture(fixture).env("SAFE_ENV", "x");
        let id = if fixture == "seed" { "simplify" } else { "git-log" };
        site.json(["plan"]).expect(0);
        site.json(["plan", id]).expect(0);
        site.json(["plan", "nothing"]).expect(1);
        site.json(["sync", "plan"]).expect(0);
        site.json(["apply", "--all", "--dry-run"]).expect(0);
        assert!(!site.workspace.exists(".claude"), "a dry run writes nothing");
        site.json(["apply", id]).expect(0);
        assert!(site.workspace.exists(".claude"));
        site.json(["apply"]).expect(2);
        site.json(["apply", id, "--all"]).expect(2);
        site.json(["doctor"]).expect(0);
        site.json(["policy", "doctor"]).expect(0);
        site.json(["policy", "show"]).expect(0);
        let first = site.json(["import-issues"]).expect(0);
        let second = site.json(["import-issues"]).expect(0);
        assert_eq!(second["created"], 0, "issues are imported once: {first:#}");
        for words in [&["runtime", "list"][..], &["runtime", "status"], &["runtime", "doctor"]] {
            site.json(words).expect(i32::from(fixture != "seed"));
        }
        site.json(["runtime", "show", "nothing"]).expect(1);
        site.json(["runtime", "stop", "nothing"]).expect(1);
        site.json(["parity", "status"]).expect(0);
        site.json(["parity", "closeout", "--reason", "known"]).expect(0);
        site.json(["parity", "status"]).expect(0);
        site.json(["defaults", "--dry-run"]).expect(0);
    }
}

#[test]
fn the_catalog_keeps_its_keys_with_a_history() {
    let body = r#"[ "${1:-}" != ask ] || echo '{"id":"ask"}' > "$BRIGADE_TOOL_CHECKPOINT_DIR/a.json"; exit "${2:-0}""#;
    let site = Site::script_with(body, r#"argument_template = { a = "{a}", b = "{b}" }"#);
    site.receipt_of("tool", r#"{"a":"x","b":"0"}"#);
    site.receipt_of("tool", r#"{"a":"x","b":"3"}"#);
    site.receipt_of("tool", r#"{"a":"ask","b":"0"}"#);
    site.queue("tool", r#"{"a":"y","b":"0"}"#);
    let held = site.queue("tool", r#"{"a":"z","b":"0"}"#);
    site.json(["call", "hold", &held, "--reason", "later"]).expect(0);
    site.approved("tool", r#"{"a":"w","b":"0"}"#);
    site.workspace.write("docs/tool.md", "# Changed\n");
    for command in ["list", "doctor"] {
        let list = site.json([command]).expect(0);
        assert_eq!(list["run_history"]["counts"], json!({"completed": 1, "failed": 1, "waiting": 1}));
        assert_eq!(
            list["call_queue"]["counts"],
            json!({"approved": 1, "completed": 1, "failed": 1, "held": 1, "pending": 1, "waiting": 1})
        );
        assert_eq!(
            (&list["call_queue"]["pending_count"], &list["checkpoints"]["checkpoint_count"]),
            (&json!(1), &json!(1))
        );
        let types: Vec<&str> = list["issues"]
            .as_array()
            .unwrap()
            .iter()
            .map(|issue| issue["issue_type"].as_str().unwrap())
            .collect();
        for expected in ["call_held", "call_stale_approved", "run_failed"] {
            assert!(types.contains(&expected), "{expected} is not in {types:?}");
        }
        // Issue 45: a failed run and its failed call are one issue.
        assert!(!types.contains(&"call_failed"), "{types:?}");
        assert_eq!(list["top_issue"], list["issues"][0]);
    }
}

#[test]
fn a_slash_command_is_planned_and_never_run() {
    let site = Site::fixture("seed").env("SAFE_ENV", "x");
    let plan = site.json(["call", "plan", "simplify", "--args", r#"{"path":"README.md"}"#]);
    let document = plan.refused("slash-command");
    assert_eq!(document["valid"], false);
    assert_eq!(
        document["blockers"].as_array().unwrap().len(),
        document["blocker_details"].as_array().unwrap().len()
    );

    // Without its family in the policy, the call is refused at every step.
    site.workspace.replace(".brigade/tools/policy.toml", r#"["script"]"#, "[]");
    let args = ["simplify", "--args", r#"{"path":"README.md"}"#];
    let plan = site.json([&["call", "plan"], &args[..]].concat()).refused("are not executed");
    assert_eq!(plan["blocker_details"][0]["code"], "family_not_executable", "{plan:#}");
    assert_eq!(
        plan["blocker_details"][0]["hint"],
        "to see where harnesses read it: brigade tools plan simplify\n\
         to call it, write `family = \"script\"` and a `command` in its entry"
    );
    let queued = site.json([&["call", "queue"], &args[..]].concat()).expect(1);
    assert_eq!(queued["created"], 0, "{queued:#}");
    let queue = [&["call", "queue", "--include-blocked"], &args[..]].concat();
    let id = site.json(queue).expect(0)["call"]["id"].as_str().expect("an id").to_owned();
    site.json(["call", "approve", &id]).refused("are not executed");
}

#[test]
fn described_tool_has_summary_and_contract_keys() {
    let site = Site::fixture("repo-tools");
    let listed = site.json(["list"]).expect(0)["tools"].clone();
    let is_it = |tool: &&serde_json::Value| tool["id"] == "count-words";
    let shown = listed.as_array().unwrap().iter().find(is_it).unwrap().clone();
    let described = site.json(["describe", "count-words"]).expect(0)["tool"].clone();
    for part in [&shown, &shown["contract"]] {
        for (key, value) in part.as_object().unwrap() {
            assert_eq!(&described[key], value, "{key}");
        }
    }
    let missing = site.json(["describe", "count-word"]).expect(1);
    assert!(missing["errors"].to_string().contains("no tool has the id"), "{missing:#}");
}
