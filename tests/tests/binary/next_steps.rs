//! Suggested commands work, and errors name the actual cause.

#![allow(clippy::disallowed_methods, reason = "tests put folders where files should be")]

use brigade_tests::Site;
use serde_json::json;

/// Returns the command that a page suggests.
#[track_caller]
fn next(run: &brigade_testkit::Run) -> String {
    let text = run.stderr_text();
    let line = text.lines().find_map(|line| line.strip_prefix("help: "));
    line.unwrap_or_else(|| panic!("nothing is suggested\n{run}")).to_owned()
}

#[test]
fn without_runs_the_list_of_calls_is_proposed() {
    let site = Site::script("echo ran\n");
    for words in [["run", "list"], ["run", "latest"]] {
        assert_eq!(next(&site.tools(words)), "brigade tools call list", "{words:?}");
    }
    site.tools(["call", "list"]).assert_code(0);
}

#[test]
fn calls_that_never_run_are_not_listed_as_ready() {
    let site = Site::script("echo ran\n");
    for family in ["skill", "slash-command", "superpower"] {
        site.add_to_catalog(&Site::entry(family, "sh bin/tool.sh", &format!("family = {family:?}\n")));
    }
    let listed = site.tools(["contracts"]).stdout_text();
    let state = |id: &str| {
        let row =
            listed.lines().find(|line| line.starts_with(&format!("{id} "))).expect("each tool has a row");
        row.split_whitespace().nth(2).expect("a row has a state").to_owned()
    };
    assert_eq!(state("tool"), "ready", "{listed}");
    for family in ["skill", "slash-command", "superpower"] {
        assert_ne!(state(family), "ready", "{listed}");
    }
}

#[test]
fn an_approved_call_that_changed_is_queued_again() {
    let site = Site::script("echo ran\n");
    let id = site.approved("tool", r#"{"a":"b"}"#);
    assert_eq!(next(&site.tools(["call", "show", &id])), format!("brigade tools call run {id}"));
    site.workspace.write("bin/tool.sh", "echo other\n");
    let shown = site.json(["call", "show", &id]).expect(0);
    assert_eq!(shown["changed"], json!(["file bin/tool.sh"]));
    let run = site.tools(["call", "show", &id]);
    assert_eq!(next(&run), r#"brigade tools call queue tool --args '{"a":"b"}'"#, "{run}");
    let queued = site.json(["call", "queue", "tool", "--args", r#"{"a":"b"}"#]).expect(0);
    assert_eq!(queued["created"], 1, "{queued:#}");
}

#[test]
fn no_approval_is_suggested_after_a_source_change() {
    let site = Site::script_with("echo ran\n", "source_path = \"docs/tool.md\"\n");
    site.workspace.write("docs/tool.md", "Says ran.\n");
    let id = site.queue("tool", "{}");
    assert_eq!(next(&site.tools(["call", "show", &id])), format!("brigade approve {id}"));
    site.workspace.write("docs/tool.md", "Says something else.\n");
    let command = next(&site.tools(["call", "show", &id]));
    assert_eq!(command, format!("brigade tools call reject {id} --reason WHY"));
    site.json(["call", "approve", &id]).expect(1);
    // In a list, the suggestion is to look at the call.
    assert_eq!(next(&site.tools(["call", "list"])), format!("brigade show {id}"));
}

#[test]
fn one_of_two_checkpoints_is_not_enough_to_resume() {
    let site = Site::script(
        "[ -n \"$BRIGADE_TOOL_RESUME_CHOICE\" ] && exit 0\ncd \"$BRIGADE_TOOL_CHECKPOINT_DIR\"\n\
         echo '{\"id\":\"k1\"}' > 1.json; echo '{\"id\":\"k2\"}' > 2.json\n",
    );
    let id = site.approved("tool", "{}");
    site.run_call(&id).expect(0);
    let approved = site.tools(["checkpoint", "approve", "k1", "--choice", "yes"]);
    assert_eq!(next(&approved), "brigade tools checkpoint list");
    assert_eq!(next(&site.tools(["checkpoint", "show", "k1"])), "brigade tools checkpoint list");
    let approved = site.tools(["checkpoint", "approve", "k2", "--choice", "yes"]);
    assert_eq!(next(&approved), "brigade tools checkpoint resume k2");
    assert!(site.tools(["call", "show", &id]).stdout_text().contains("waits on"));
    site.json(["checkpoint", "resume", "k2"]).expect(0);
    // It is no longer waiting.
    assert!(!site.tools(["call", "show", &id]).stdout_text().contains("waits on"));
}

#[test]
fn a_choice_is_typed_as_it_is_shown() {
    let site = Site::script(
        "[ -n \"$BRIGADE_TOOL_RESUME_CHOICE\" ] && { printf %s \"$BRIGADE_TOOL_RESUME_CHOICE\" > choice; exit 0; }\n\
         echo '{\"id\":\"ask\",\"choices\":[\"go\\u001b[1m\"]}' > \"$BRIGADE_TOOL_CHECKPOINT_DIR/a.json\"\n",
    );
    let id = site.approved("tool", "{}");
    site.run_call(&id).expect(0);
    let command = next(&site.tools(["checkpoint", "show", "ask"]));
    let choice = command.split("--choice ").nth(1).expect("a choice").trim_matches('\'').to_owned();
    assert!(!choice.contains('\u{1b}'), "{choice:?}");
    let document = site.json(["checkpoint", "approve", "ask", "--choice", &choice]).expect(0);
    assert_eq!(document["checkpoint"]["selected_choice"], "go\u{1b}[1m");
}

#[test]
fn a_policy_that_is_a_directory_is_not_begun() {
    let site = Site::script("echo ran\n");
    site.workspace.remove(".brigade/tools/policy.toml");
    assert_eq!(next(&site.tools(["policy", "show"])), "brigade tools policy init");
    std::fs::create_dir(site.workspace.join(".brigade/tools/policy.toml")).expect("the folder can be made");
    assert_eq!(next(&site.tools(["policy", "show"])), "brigade tools policy doctor");
}

#[test]
fn no_plan_is_suggested_for_tools_without_calls() {
    let site = Site::script_with("echo ran\n", "family = \"skill\"\n");
    assert_eq!(next(&site.tools(["describe", "tool"])), "brigade tools plan tool");
}

#[test]
fn a_second_entry_of_an_id_is_blamed_for_that_alone() {
    let site = Site::script("echo ran\n");
    site.add_to_catalog(&Site::entry("tool", "nosuch", ""));
    let document = site.json(["doctor"]).expect(1);
    let issues = document["issues"].as_array().expect("issues");
    let types: Vec<_> = issues
        .iter()
        .filter(|issue| issue["severity"] == "error")
        .map(|issue| &issue["issue_type"])
        .collect();
    assert_eq!(types, [&json!("config")], "{issues:#?}");
    let run = site.tools(["doctor"]);
    assert!(
        run.stdout_text().contains(".brigade/tools.toml:19:") || run.stdout_text().contains(":1\n"),
        "{run}"
    );
}

#[test]
fn a_receipt_that_is_a_directory_is_reported() {
    let site = Site::script("echo ran\n");
    site.receipt_of("tool", "{}");
    std::fs::create_dir(site.workspace.join(".brigade/tools/runs/run-x.json"))
        .expect("the folder can be made");
    let document = site.json(["run", "list"]).expect(0);
    assert_eq!(document["error_count"], 1, "{document:#}");
    assert!(site.tools(["run", "list", "--all"]).stderr_text().contains("run-x.json"));
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
}

#[test]
fn verbose_says_what_is_done() {
    let site = Site::script("echo ran\n");
    let id = site.approved("tool", "{}");
    for words in [&["list", "-v"][..], &["call", "plan", "tool", "-v"], &["call", "run", &id, "-v"]] {
        let run = site.tools(words);
        run.assert_code(0);
        assert!(run.stderr_text().contains("DEBUG"), "{run}");
    }
}

#[test]
fn an_exported_receipt_can_be_verified() {
    let site = Site::script("echo ran\n");
    site.tools(["keys", "init"]).assert_code(0);
    let id = site.receipt_of("tool", "{}")["id"].as_str().expect("an id").to_owned();
    let document = site.json(["run", "export", &id]).expect(0);
    assert_eq!(document["schema"], "brigade.run-export.v1");
    site.workspace.write("envelope.json", document.to_string());
    assert_eq!(site.json(["run", "verify", "--envelope", "envelope.json"]).expect(0)["valid"], true);
    let plain = site.tools(["run", "export", &id]).json();
    assert_eq!(plain.get("schema"), None);
}

#[test]
fn a_checkpoint_that_is_a_directory_is_not_to_be_read() {
    let site = Site::script("echo ran\n");
    std::fs::create_dir_all(site.workspace.join(".brigade/tools/checkpoints/x.json"))
        .expect("the folder can be made");
    let document = site.json(["doctor"]).expect(0);
    let issues = document["issues"].as_array().expect("issues");
    let issue =
        issues.iter().find(|issue| issue["issue_type"] == "checkpoint_invalid").expect("the folder is found");
    assert_eq!(issue["fix"], "brigade tools checkpoint list");
}

/// Issue 13: with `--target`, suggestions after failures did not name the workspace.
#[test]
fn proposals_name_the_workspace_elsewhere() {
    let site = Site::script("echo ran\n");
    let root = site.workspace.join(".").canonicalize().unwrap();
    let root = root.to_str().unwrap();
    let there = format!("brigade --target {root} tools ");
    let outside = site.brigade.clone().current_dir("/");
    let typed = |words: &[&str]| {
        ["--target", root, "tools"]
            .into_iter()
            .chain(words.iter().copied())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for words in [
        &["show", "nope"][..],
        &["call", "show", "call-nope"],
        &["call", "approve", "call-nope"],
        &["call", "run", "call-nope"],
        &["call", "list"],
        &["run", "list"],
        &["run", "show", "run-nope"],
        &["runtime", "start", "nope"],
        &["policy", "show"],
        &["pins", "show", "nope"],
        &["checkpoint", "show", "nope"],
    ] {
        let run = outside.run(typed(words));
        let said = format!("{}{}", run.stdout_text(), run.stderr_text());
        assert!(said.contains("brigade "), "{words:?} proposes nothing\n{run}");
        assert_eq!(said.matches("brigade tools ").count(), 0, "{run}");
        assert!(said.contains(&there), "{run}");
        // In the workspace itself, the command needs no option.
        let mut here = vec!["tools"];
        here.extend(words);
        let here = site.brigade.run(here);
        assert!(!here.stderr_text().contains("--target"), "{here}");
        let mut json = typed(words);
        json.push("--json".to_owned());
        let document = outside.run(json).stdout_text();
        assert!(!document.contains("brigade tools "), "{document}");
    }
    let missing = site.json(["show", "nope"]).expect(1);
    assert_eq!(missing["help"], "brigade tools list", "{missing:#}");
    let several = outside.run(typed(&["call", "approve", "call-a", "call-b", "--json"])).json();
    assert!(several["calls"][0]["help"].as_str().unwrap().contains(&there), "{several:#}");
    assert_eq!(several["calls"][0]["code"], "call_missing", "{several:#}");
}

#[test]
fn without_a_workspace_only_making_one_is_proposed() {
    let site = Site::empty();
    for words in [
        &["call", "list"][..],
        &["run", "list"],
        &["checkpoint", "list"],
        &["search", "x"],
        &["pack", "list"],
        &["parity", "status"],
        &["call", "show", "call-1"],
        &["doctor"],
    ] {
        let run = site.tools(words.iter());
        let said = run.stderr_text();
        let proposed: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("help: ")).collect();
        assert_eq!(proposed, ["brigade setup", "brigade tools init"], "{run}");
    }
    site.tools(["init"]).assert_code(0);
}
