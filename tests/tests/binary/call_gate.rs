//! The gate before a run: directories and configuration that are links, and paths of projections.

#![allow(clippy::disallowed_methods, reason = "tests change the files that the binary reads")]

use std::fs;
use std::os::unix::fs::symlink;

use brigade_tests::Site;
use serde_json::{Value, json};

const CATALOG: &str = ".brigade/tools.toml";
const POLICY: &str = ".brigade/tools/policy.toml";

/// A script that leaves a mark when it runs.
const MARK: &str = "echo ran > ran.txt\n";

#[test]
fn a_directory_reached_through_a_link_is_bound() {
    let site = Site::script_with(MARK, "cwd = \"d\"\n");
    for folder in ["one", "two"] {
        fs::create_dir(site.workspace.join(folder)).unwrap();
    }
    let link = site.workspace.join("d");
    symlink("one", &link).unwrap();
    let tool = site.workspace.join("bin/tool.sh").display().to_string();
    site.workspace.replace(CATALOG, "sh bin/tool.sh", &format!("sh {tool}"));
    let id = site.approved("tool", "{}");
    fs::remove_file(&link).unwrap();
    symlink("two", &link).unwrap();
    site.run_call(&id).refused("folder that cwd leads to");
    let other = site.queue("tool", r#"{"b":1}"#);
    fs::remove_file(&link).unwrap();
    symlink("one", &link).unwrap();
    site.json(["call", "approve", &other]).refused("changed since the call was queued");
    site.run_call(&id).expect(0);
}

#[test]
fn a_broken_policy_link_blocks_everything() {
    let site = Site::script(MARK);
    let approved = site.approved("tool", "{}");
    site.workspace.remove(POLICY);
    for target in ["../../nowhere/policy.toml", "gone.toml", "/nowhere/policy.toml"] {
        let _ = fs::remove_file(site.workspace.join(POLICY));
        symlink(target, site.workspace.join(POLICY)).unwrap();
        site.json(["call", "plan", "tool"]).refused("link");
        site.run_call(&approved).expect(1);
        let shown = site.json(["policy", "show"]).json;
        assert_eq!(shown["valid"], json!(false), "{shown:#}");
        let doctor = site.json(["doctor"]).json.to_string();
        assert!(!doctor.contains("policy_missing\""), "{doctor}");
    }
    assert!(!site.workspace.exists("ran.txt"));
    // A catalog reached through such a link exists, too.
    site.workspace.remove(CATALOG);
    symlink("gone.toml", site.workspace.join(CATALOG)).unwrap();
    let list = site.json(["list"]).json.to_string();
    assert!(list.contains("link") && !list.contains("tools init"), "{list}");
}

#[test]
fn a_sandboxed_run_cannot_write_a_linked_policy() {
    let site = Site::script_with(
        "echo x >> cfg/policy.toml; rm -f cfg/policy.toml; mv cfg moved; echo ran > ran.txt\n",
        "effects = [\"local-write\"]\n",
    );
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\n");
    fs::create_dir(site.workspace.join("cfg")).unwrap();
    fs::rename(site.workspace.join(POLICY), site.workspace.join("cfg/policy.toml")).unwrap();
    symlink("../../cfg/policy.toml", site.workspace.join(POLICY)).unwrap();
    let before = site.workspace.read_text("cfg/policy.toml");
    let id = site.approved("tool", "{}");
    let document = site.run_call(&id).json;
    assert_eq!(document["receipt"]["policy"]["enabled"], json!(true), "{document:#}");
    assert_eq!(site.workspace.read_text("cfg/policy.toml"), before);
    assert!(site.workspace.exists("ran.txt"), "the rest of the workspace can be written\n{document:#}");
}

#[test]
fn a_projection_never_replaces_files_of_a_tool() {
    for target in ["docs/tool.md", "./docs/../docs/tool.md", "bin/tool.sh", "link.md"] {
        let site = Site::script_with(
            MARK,
            &format!("supported_harnesses = [\"claude\"]\nprojections = {{ claude = {target:?} }}\n"),
        );
        symlink("docs/tool.md", site.workspace.join("link.md")).unwrap();
        let files = |site: &Site| [site.workspace.read("docs/tool.md"), site.workspace.read("bin/tool.sh")];
        let before = files(&site);
        let plan = site.json(["plan", "tool"]).json;
        assert_eq!(plan["projections"][0]["status"], "invalid", "{target}: {plan:#}");
        assert_eq!(plan["projections"][0]["reason"], "is-input", "{target}: {plan:#}");
        site.json(["apply", "--all", "--force"]);
        assert_eq!(files(&site), before, "{target}");
    }
}

#[test]
fn outside_path_blocks_projections_reported_once() {
    for field in ["cwd", "manifest_path", "schema_path", "examples_path", "health_path", "input_schema_path"]
    {
        let site = Site::script_with(
            MARK,
            &format!(
                "{field} = \"../outside\"\nsupported_harnesses = [\"claude\"]\nprojections = {{ claude = \".claude/commands/t.md\" }}\n"
            ),
        );
        site.json(["apply", "tool"]);
        assert!(!site.workspace.exists(".claude/commands/t.md"), "{field}");
        let doctor = site.json(["doctor"]).json;
        let issues = doctor["issues"].as_array().expect("a list").iter();
        let told: Vec<&Value> = issues.filter(|issue| issue["issue_type"] == "path_outside").collect();
        assert_eq!(told.len(), 1, "{field}: {told:#?}");
    }
}

#[test]
fn targets_of_unsupported_harnesses_are_checked() {
    let site = Site::script_with(
        MARK,
        "supported_harnesses = [\"claude\"]\nprojections = { claude = \".claude/t.md\", codex = \"../../x.md\", cursor = \".git/hooks/x\", pi = \"ok.md\" }\n",
    );
    let doctor = site.json(["doctor"]).json;
    let issues = doctor["issues"].as_array().expect("a list").iter();
    let told: Vec<&str> = issues
        .filter(|issue| issue["issue_type"] == "projection_refused")
        .map(|issue| issue["detail"].as_str().unwrap())
        .collect();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told[0].contains("outside the workspace") && told[1].contains(".git"), "{told:#?}");
}
