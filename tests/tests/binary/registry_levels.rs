//! Entries of the user and the project, names of tools, and the policy for both.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests write user files, and fail when they cannot continue"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use brigade_tests::Site;
use serde_json::{Value, json};

/// Returns the directory of the user's files.
fn user(site: &Site) -> PathBuf {
    let directory = site.workspace.home().join(".config/brigade");
    fs::create_dir_all(directory.join("schemas")).unwrap();
    directory
}

/// Returns a workspace with the tool `tool`, and a user file with these entries.
fn site(entries: &str) -> Site {
    let site = Site::script("echo \"hello $*\"");
    let directory = user(&site);
    fs::write(directory.join("schemas/any.json"), "{\"type\": \"object\"}").unwrap();
    fs::write(directory.join("tools.toml"), entries).unwrap();
    site
}

fn entry(id: &str, more: &str) -> String {
    format!(
        "[[tool]]\nid = \"{id}\"\nname = \"{id}\"\nfamily = \"script\"\ncommand = \"sh bin/tool.sh\"\n\
         input_schema_path = \"schemas/any.json\"\neffects = [\"local-read\"]\napproval_mode = \"on-request\"\n{more}\n"
    )
}

fn ids(rows: &Value) -> Vec<&str> {
    rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect()
}

#[test]
fn a_tool_of_the_user_is_called_in_any_workspace() {
    let site = site(&entry("mine", "aliases = [\"m\"]\nsource = { kind = \"cli\" }"));
    let listed = site.json(["list"]).expect(0);
    assert_eq!(ids(&listed["tools"]), ["tool", "mine"]);
    assert_eq!(ids(&site.json(["list", "--level", "user"]).expect(0)["tools"]), ["mine"]);
    // If a level is given several times, one must match.
    let both = site.json(["list", "--level", "user", "--level", "project"]).expect(0);
    assert_eq!(ids(&both["tools"]), ["tool", "mine"]);
    let discovered = site.json(["list", "--level", "discovered", "--level", "user"]).expect(0);
    assert_eq!((ids(&discovered["tools"]), &discovered["discovered"]), (vec!["mine"], &json!([])));
    let shown = site.json(["show", "mine"]).expect(0)["tool"].clone();
    assert_eq!(shown["level"], "user");
    let directory = user(&site);
    assert_eq!(shown["origin"]["file"], directory.join("tools.toml").to_str().unwrap());
    assert_eq!(shown["contract"]["input_schema_path"], directory.join("schemas/any.json").to_str().unwrap());
    // By id, alias and qualified id. Records contain the id.
    for name in ["mine", "m", "cli:mine"] {
        assert_eq!(site.json(["call", "plan", name]).expect(0)["plan"]["tool_id"], "mine", "{name}");
        for line in [&["plan", name][..], &["sync", "plan", name], &["apply", name, "--dry-run"]] {
            assert_eq!(site.json(line).expect(0)["tool_id"], "mine", "{line:?}");
        }
    }
    site.json(["show", "script:mine"]).expect(1);
    let receipt = site.receipt_of("cli:mine", "{}");
    assert_eq!((&receipt["tool_id"], &receipt["status"]), (&json!("mine"), &json!("completed")));
    let runs = site.json(["run", "list", "--tool", "m"]).expect(0)["runs"].clone();
    assert_eq!((runs.as_array().unwrap().len(), &runs[0]["kind"]), (1, &json!("run")));
    assert_eq!(site.json(["stats", "m"]).expect(0)["tools"][0]["runs"], 1);
}

#[test]
fn unsafe_user_file_stops_nothing() {
    let site = site(&entry("mine", ""));
    let file = user(&site).join("tools.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(ids(&site.json(["list"]).expect(0)["tools"]), ["tool"]);
    let doctor = site.json(["doctor"]).expect(0);
    let issues = doctor["issues"].as_array().unwrap();
    let found = issues.iter().find(|issue| issue["issue_type"] == "user_catalog_unsafe").unwrap();
    assert_eq!(found["severity"], "error");
    assert_eq!(found["fix"], format!("chmod o-w {}", file.display()));
    let notes = site.json(["check", "tool"]).expect(0)["notes"].to_string();
    assert!(notes.contains("tools.toml"), "{notes}");
    // Runtimes of the user are reported with the tools.
    let runtimes = user(&site).join("tools/runtimes.toml");
    fs::create_dir_all(runtimes.parent().unwrap()).unwrap();
    fs::write(&runtimes, "[[runtime]]\nid = 'r'\nname = 'R'\ncommand = 'sleep 9'\n").unwrap();
    fs::set_permissions(&runtimes, fs::Permissions::from_mode(0o666)).unwrap();
    let doctor = site.json(["doctor"]).expect(0);
    let rows = doctor["issues"].as_array().unwrap().iter();
    let unsafe_rows: Vec<&Value> = rows.filter(|row| row["issue_type"] == "user_catalog_unsafe").collect();
    assert_eq!(unsafe_rows.len(), 2, "{unsafe_rows:#?}");
    assert_ne!(unsafe_rows[0]["fingerprint"], unsafe_rows[1]["fingerprint"]);
    let types = site.json(["runtime", "doctor"]).expect(0)["issues"].to_string();
    assert!(types.contains("user_catalog_unsafe") && !types.contains("runtime_config"), "{types}");
    assert!(types.contains(&format!("\"fix\":\"chmod o-w {}\"", runtimes.display())), "{types}");
    let note = format!("note: {}: other users can write the file, so it is ignored\n", runtimes.display());
    for words in [["runtime", "list"], ["runtime", "status"]] {
        let text = site.tools(words).stderr_text();
        assert!(text.contains(&note) && !text.contains("issue"), "{text}");
    }
    fs::remove_file(&runtimes).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(ids(&site.json(["list"]).expect(0)["tools"]), ["tool", "mine"]);
    fs::write(&file, "[[tool]]\nid = \"mine\nname = 3\n").unwrap();
    let listed = site.json(["list"]).expect(0);
    assert_eq!(ids(&listed["tools"]), ["tool", "mine"]);
    assert_eq!((&listed["valid"], &listed["tools"][1]["broken"]), (&json!(true), &json!(true)));
    for words in [&["check", "tool"][..], &["search", "tool"], &["find", "--source", "script"]] {
        let notes = site.json(words).expect(0)["notes"].to_string();
        assert!(notes.contains("tools.toml:2:"), "{notes}");
    }
    site.json(["call", "plan", "mine"]).refused("invalid_entry");
    assert!(site.json(["doctor"]).expect(0)["issues"].to_string().contains("tools.toml"));
    site.json(["call", "plan", "tool"]).expect(0);
}

#[test]
fn a_linked_user_file_is_reported_and_kept() {
    let site = site("");
    let (file, other) = (user(&site).join("tools.toml"), site.workspace.home().join("dot.toml"));
    fs::rename(&file, &other).unwrap();
    std::os::unix::fs::symlink(&other, &file).unwrap();
    site.workspace.write("new.toml", entry("new", ""));
    let refused = site.tools(["register", "new.toml", "--level", "user"]);
    let said = refused.stderr_text();
    assert_eq!(refused.code(), Some(3), "{refused}");
    assert!(said.contains(file.to_str().unwrap()) && said.contains("leads out of"), "{said}");
    assert!(!said.contains("workspace") && fs::read_to_string(&other).unwrap().is_empty(), "{said}");
    assert!(said.contains(&format!("a link to {}", other.display())), "{said}");
    assert!(said.starts_with("error[path_outside]"), "{said}");
}

#[test]
fn a_link_within_the_level_folder_is_kept() {
    let site = site("");
    site.workspace.write("new.toml", entry("new", ""));
    // In the user's directory.
    let (file, real) = (user(&site).join("tools.toml"), user(&site).join("kept/mine.toml"));
    fs::create_dir_all(real.parent().unwrap()).unwrap();
    fs::rename(&file, &real).unwrap();
    std::os::unix::fs::symlink("kept/mine.toml", &file).unwrap();
    site.json(["register", "new.toml", "--level", "user"]).expect(0);
    assert!(fs::symlink_metadata(&file).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("id = \"new\""));
    // In the project. Nothing is written outside of `.brigade`.
    let outside = site.workspace.join("elsewhere.toml");
    fs::rename(site.workspace.join(".brigade/tools.toml"), &outside).unwrap();
    std::os::unix::fs::symlink("../elsewhere.toml", site.workspace.join(".brigade/tools.toml")).unwrap();
    let before = fs::read_to_string(&outside).unwrap();
    let refused = site.tools(["register", "new.toml"]);
    assert!(refused.stderr_text().contains("elsewhere.toml, which leads out of"), "{refused}");
    assert_eq!((refused.code(), fs::read_to_string(&outside).unwrap()), (Some(3), before));
}

/// Only root can change the owner of a file.
#[test]
fn a_file_of_another_account_is_said_to_be_one() {
    let site = site(&entry("mine", ""));
    let file = user(&site).join("tools.toml");
    if std::os::unix::fs::chown(&file, Some(4_711), None).is_err() {
        return;
    }
    site.workspace.write("new.toml", entry("new", ""));
    let refused = site.json(["register", "new.toml", "--level", "user"]).expect(1);
    let message = refused["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("belongs to another account") && !message.contains("mode"), "{message}");
    let doctor = site.json(["doctor"]).expect(0);
    let rows = doctor["issues"].as_array().unwrap();
    let row = rows.iter().find(|row| row["issue_type"] == "user_catalog_unsafe").unwrap();
    assert!(row["detail"].as_str().unwrap().contains("belongs to another account"), "{row}");
    assert_eq!(row["fix"], format!("sudo chown \"$(id -un)\" {}", file.display()));
}
