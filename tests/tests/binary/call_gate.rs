//! The gate before a run: inconsistent records, changes since queueing, missing programs and scripts, and configuration
//! that is a link.

#![allow(clippy::disallowed_methods, reason = "tests change the files that the binary reads")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use brigade_tests::{PATH, Site};
use serde_json::{Value, json};

const CALLS: &str = ".brigade/tools/calls.jsonl";
const CATALOG: &str = ".brigade/tools.toml";
const POLICY: &str = ".brigade/tools/policy.toml";

/// A script that leaves a mark when it runs.
const MARK: &str = "echo ran > ran.txt\n";

/// Edits the last record of the journal.
fn edit(site: &Site, change: impl FnOnce(&mut Value)) {
    let text = site.workspace.read_text(CALLS);
    let (before, last) = text.trim_end().rsplit_once('\n').expect("there is a header");
    let mut record: Value = serde_json::from_str(last).expect("a record");
    change(&mut record);
    site.workspace.write(CALLS, format!("{before}\n{record}\n"));
}

fn set(pointer: &str, value: Value) -> impl FnOnce(&mut Value) {
    move |record| *record.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value
}

/// Approves a call, edits its record, and checks that it is refused for this change or reason.
#[track_caller]
fn contradicts(pointer: &str, value: Value, changed: &[&str], because: &str) {
    let site = Site::script(MARK);
    let id = site.approved("tool", "{}");
    edit(&site, set(pointer, value));
    let document = site.run_call(&id).refused(because);
    assert_eq!(document["changed"], json!(changed), "{pointer}");
    assert!(!site.workspace.exists("ran.txt"), "{pointer}: it ran");
    site.json(["call", "run", "--next"]).refused(because);
    assert!(!site.workspace.exists("ran.txt"), "{pointer}: it ran");
}

#[test]
fn a_record_that_contradicts_itself_is_refused() {
    contradicts("/blockers", json!(["someone blocked this"]), &[], "someone blocked this");
    contradicts("/contract/effects", json!(["network"]), &["contract"], "contract");
    contradicts("/policy/fingerprint", json!("0"), &["approval record"], "approval record");
}

#[test]
fn changed_code_is_reported_before_approval() {
    let check = |change: &dyn Fn(&Site), code: &str| {
        let site = Site::script("echo ran\n");
        let id = site.queue("tool", "{}");
        change(&site);
        let document = site.json(["call", "approve", &id]).refused("changed since the call was queued");
        assert_eq!(document["blocker_details"][0]["code"], code, "{document:#}");
        assert_eq!(site.status(&id), "pending");
        site.json(["call", "approve", &id]).expect(0);
        site.run_call(&id).expect(0);
    };
    check(&|site| site.workspace.write("bin/tool.sh", "echo other\n"), "changed_program");
    check(&|site| site.add_to_policy("[sandbox]\nmode = \"best-effort\"\n"), "changed_policy");
    // A change between two approvals is reported again.
    let site = Site::script(MARK);
    let id = site.queue("tool", "{}");
    for body in ["echo one\n", "echo two\n"] {
        site.workspace.write("bin/tool.sh", body);
        site.json(["call", "approve", &id]).refused("bin/tool.sh");
    }
    site.json(["call", "approve", &id]).expect(0);
    // Rules for other tools do not affect the call.
    let id = site.queue("tool", r#"{"b":1}"#);
    site.add_to_policy("[sandbox.tool.other]\nmode = \"off\"\n");
    site.json(["call", "approve", &id]).expect(0);
}

#[test]
fn a_blocked_call_is_approvable_after_a_policy_change() {
    let site = Site::script(MARK);
    site.workspace.replace(POLICY, "allowed_effects = [\"local-read\", ", "allowed_effects = [");
    let queued = site.json(["call", "queue", "tool", "--include-blocked"]).expect(0);
    let id = queued["call"]["id"].as_str().unwrap().to_owned();
    site.json(["call", "approve", &id]).refused("local-read");
    site.workspace.replace(POLICY, "allowed_effects = [", "allowed_effects = [\"local-read\", ");
    site.json(["call", "approve", &id]).expect(0);
    site.run_call(&id).expect(0);
}

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
fn a_plan_reports_missing_programs_and_scripts() {
    let check = |command: &str, code: &str, named: &str| {
        let site = Site::script(MARK);
        site.workspace.replace(CATALOG, "sh bin/tool.sh", command);
        let plan = site.json(["call", "plan", "tool"]).expect(1);
        let detail = &plan["blocker_details"][0];
        assert_eq!(detail["code"], code, "{plan:#}");
        assert_eq!((&detail["file"], &detail["field"]), (&json!(CATALOG), &json!("command")));
        assert!(detail["line"].is_u64() && detail["hint"].is_string(), "{detail:#}");
        assert!(detail["message"].as_str().unwrap().contains(named), "{detail:#}");
        assert_eq!(plan["blockers"].as_array().unwrap().len(), 1, "{plan:#}");
        site.json(["call", "queue", "tool"]).expect(1);
        let queued = site.json(["call", "queue", "tool", "--include-blocked"]).expect(0);
        let id = queued["call"]["id"].as_str().unwrap();
        site.json(["call", "approve", id]).refused(named);
        let show = site.tools(["call", "show", id]);
        assert!(show.stdout_text().contains(named), "{show}");
        let doctor = site.json(["doctor"]).expect(0).to_string();
        assert!(doctor.contains("missing_command") && doctor.contains(named), "{doctor}");
    };
    check("nosuchprog bin/tool.sh", "program_not_found", "`nosuchprog`");
    check("./bin/tool.sh", "program_not_found", "`./bin/tool.sh`");
    check("python3 -u bin/gone.py", "script_not_found", "`bin/gone.py`");
    check("sh /nowhere/gone.sh", "script_not_found", "`/nowhere/gone.sh`");
}

#[test]
fn a_script_outside_of_the_workspace_is_bound() {
    let site = Site::script(MARK);
    let outside = site.beside("outside.sh");
    fs::write(&outside, "echo one\n").unwrap();
    site.workspace.replace(CATALOG, "sh bin/tool.sh", &format!("sh {}", outside.display()));
    let id = site.approved("tool", "{}");
    fs::write(&outside, "echo two\n").unwrap();
    let document = site.run_call(&id).refused("outside.sh");
    assert_eq!(document["blocker_details"][0]["code"], "changed_file", "{document:#}");
    fs::write(&outside, "echo one\n").unwrap();
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

#[test]
fn another_path_variable_is_not_a_change() {
    let site = Site::script(MARK);
    let id = site.queue("tool", "{}");
    let programs = site.beside("programs");
    fs::create_dir(&programs).unwrap();
    symlink(Path::new("/bin/sh"), programs.join("sh")).unwrap();
    let site = site.env("PATH", format!("{}:{PATH}", programs.display()));
    site.json(["call", "approve", &id]).expect(0);
    site.run_call(&id).expect(0);
}
