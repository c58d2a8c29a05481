//! Documents have the counts and names of v0.30, also if a file is broken.

#![allow(clippy::disallowed_methods, reason = "a test makes a link")]

use brigade_tests::Site;
use serde_json::{Value, json};

const CATALOG: &str = ".brigade/tools.toml";
const POLICY: &str = ".brigade/tools/policy.toml";
const RUNTIMES: &str = ".brigade/tools/runtimes.toml";

fn types(issues: &Value) -> Vec<&str> {
    issues.as_array().into_iter().flatten().filter_map(|issue| issue["issue_type"].as_str()).collect()
}

#[test]
fn contracts_count_only_what_blocks_calls() {
    let site = Site::fixture("repo-tools");
    // No projection was written yet.
    let contracts = site.json(["contracts"]).expect(0);
    assert_eq!((&contracts["issue_count"], &contracts["issues"]), (&json!(0), &json!([])));
    for contract in contracts["contracts"].as_array().unwrap() {
        assert_eq!(contract["issue_count"], 0, "{contract}");
    }
    site.workspace.remove("schemas/git-log.input.json");
    site.workspace.remove("docs/git-log.md");
    let contracts = site.json(["contracts"]).expect(0);
    assert_eq!(types(&contracts["issues"]), ["missing_input_schema"]);
    let doctor = site.json(["doctor"]).expect(0);
    assert!(types(&doctor["issues"]).contains(&"missing_source"), "{}", doctor["issues"]);
}

#[test]
fn an_invalid_policy_shows_no_rule_and_allows_nothing() {
    let site = Site::fixture("repo-tools");
    site.workspace.write(POLICY, "allowed_families = [\"nope\"]\ndenied_effects = [\"network\"]\n");
    for words in [["policy", "show"], ["policy", "doctor"]] {
        let shown = site.json(words).expect(1);
        assert_eq!((&shown["valid"], &shown["policy"]), (&json!(false), &json!(null)));
        if words[1] == "doctor" {
            let top = &shown["top_issue"];
            assert_eq!((&top["tool_id"], &top["family"]), (&json!("policy"), &json!("policy")));
        }
    }
    let plan = site.json(["call", "plan", "count-words"]).expect(1);
    assert_eq!(plan["policy"]["allowed"], false);
    assert!(plan["policy"].get("denied_effects").is_none(), "no rule holds: {plan:#}");
    // In an invalid TOML file, nothing is recognized.
    site.workspace.write(POLICY, "allowed_families = \n");
    assert_eq!(site.json(["policy", "show"]).expect(1)["policy"], json!(null));
    assert_eq!(site.json(["call", "plan", "count-words"]).expect(1)["policy"]["allowed"], false);
}

#[test]
fn built_in_tools_are_added_to_a_list_catalog() {
    let entry = r#"{id="a", name="A", family="script", command="echo"}"#;
    for list in
        [format!("tool = [ {entry} ]\n"), "tool = []\n".to_owned(), format!("tool = [\n  {entry},\n]\n")]
    {
        let site = Site::empty();
        site.workspace.write(CATALOG, &list);
        let before = site.json(["list"]).expect(0)["tool_count"].as_u64().unwrap();
        assert_eq!(site.json(["defaults"]).expect(0)["added"].as_array().unwrap().len(), 4);
        assert_eq!(
            site.json(["list"]).expect(0)["tool_count"],
            before + 4,
            "{}",
            site.workspace.read_text(CATALOG)
        );
    }
}

#[test]
fn the_fix_of_a_runtime_issue_is_a_command() {
    let site = Site::empty();
    for (text, code) in [
        ("[[runtim]]\nid = \"x\"\n", 1),
        ("[[runtime]]\nid = \"x\"\nname = \"x\"\ncommand = \"sleep 1\"\nprot = 3\n", 0),
    ] {
        site.workspace.write(RUNTIMES, text);
        for words in [["runtime", "list"], ["runtime", "doctor"]] {
            let report = site.json(words).expect(code);
            assert_eq!(report["valid"], code == 0, "{text}");
            for issue in report["issues"].as_array().unwrap() {
                let fix = issue["fix"].as_str().unwrap();
                assert!(fix.starts_with("${EDITOR:-vi} ") && fix.ends_with(RUNTIMES), "{issue}");
            }
            assert!(report["issues"].to_string().contains("did you mean"), "{}", report["issues"]);
        }
    }
}

#[test]
fn a_missing_tool_is_invalid_and_reported_once() {
    let site = Site::fixture("repo-tools");
    let nope = site.json(["describe", "nope"]).expect(1);
    assert_eq!((&nope["valid"], nope["errors"].as_array().unwrap().len()), (&json!(false), 1));
    let missing = Site::empty().json(["describe", "nope"]).expect(1);
    assert_eq!(missing["errors"].as_array().unwrap().len(), 1, "{}", missing["errors"]);
}
