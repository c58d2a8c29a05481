//! Discovery of what plugins and extensions bring, and of programs that are not read.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests make files and links in a home directory"
)]

use std::fs;
use std::os::unix::fs::symlink;

use brigade_tests::Site;
use serde_json::{Value, json};

use crate::discover::{discover, entry, home, ids, list, write};

fn skill(site: &Site, path: &str) {
    let name = path.rsplit('/').next().unwrap();
    let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\nText.\n");
    write(&home(site, &format!("{path}/SKILL.md")), text);
}

fn server(name: &str) -> String {
    json!({"mcpServers": {name: {"command": "x"}}}).to_string()
}

/// Returns whether an entry is enabled, and the plugin of its only origin.
fn state(found: &Value, id: &str) -> (bool, String) {
    let entry = entry(found, id);
    let [origin] = list(entry, "origins") else { panic!("{entry}") };
    assert_eq!(entry["enabled"], origin["enabled"], "{entry}");
    (entry["enabled"].as_bool().unwrap(), origin["plugin"].as_str().unwrap_or_default().to_owned())
}

#[track_caller]
fn check(found: &Value, expect: &[(&str, bool, &str)]) {
    for (id, enabled, plugin) in expect {
        assert_eq!(state(found, id), (*enabled, (*plugin).to_owned()), "{id}");
    }
}

/// Makes two versions of a plugin of Claude Code.
fn two_versions(site: &Site) -> String {
    let cache = ".claude/plugins/cache/shop/cards";
    for version in ["1.0.0", "1.1.0"] {
        let at = format!("{cache}/{version}");
        let commands = json!({"name": "cards", "commands": ["./extra/sort.md"]});
        write(&home(site, &format!("{at}/.claude-plugin/plugin.json")), commands.to_string());
        // The servers of a plugin may be at the outermost level.
        write(&home(site, &format!("{at}/.mcp.json")), json!({"cards": {"command": version}}).to_string());
        write(&home(site, &format!("{at}/extra/sort.md")), "Sort.\n");
        skill(site, &format!("{at}/skills/triage"));
    }
    home(site, cache).display().to_string()
}

#[test]
fn the_list_of_plugins_decides_what_is_installed() {
    let site = Site::empty();
    let cache = two_versions(&site);
    let list_of = |records: Value| json!({"version": 2, "plugins": records}).to_string();
    let index = home(&site, ".claude/plugins/installed_plugins.json");
    assert_eq!(discover(&site, "--source mcp --source skill")["entry_count"], 0);
    write(
        &index,
        list_of(json!({"cards@shop": [{"scope": "user", "installPath": format!("{cache}/1.0.0")}]})),
    );
    let found = discover(&site, "--harness claude --source mcp --source skill");
    assert_eq!(ids(&found), ["mcp:cards", "skill:sort", "skill:triage"]);
    assert_eq!(entry(&found, "mcp:cards")["command"], json!(["1.0.0"]));
    let on = |is_on| [("mcp:cards", is_on, "cards@shop"), ("skill:triage", is_on, "cards@shop")];
    check(&found, &on(true));
    let settings = json!({"enabledPlugins": {"cards@shop": false}}).to_string();
    write(&home(&site, ".claude/settings.json"), settings);
    check(&discover(&site, ""), &on(false));
    // The settings of the workspace are stronger.
    site.workspace.write(".claude/settings.json", r#"{"enabledPlugins": {"cards@shop": true}}"#);
    check(&discover(&site, ""), &on(true));
    // Plugins of other workspaces are not shown.
    let elsewhere =
        json!([{"scope": "project", "projectPath": "/other", "installPath": format!("{cache}/1.0.0")}]);
    write(&index, list_of(json!({"cards@shop": elsewhere})));
    assert_eq!(discover(&site, "--source mcp --source skill")["entry_count"], 0);
}

#[test]
fn a_broken_manifest_is_one_issue() {
    let site = Site::empty();
    let cache = two_versions(&site);
    let broken = home(&site, ".claude/plugins/cache/shop/broken");
    write(&broken.join(".claude-plugin/plugin.json"), "{\"name\": \"broken\", \"token\": hunter2EXAMPLE}");
    write(&broken.join(".mcp.json"), server("broken"));
    let linked = home(&site, ".claude/plugins/cache/shop/linked");
    fs::create_dir_all(home(&site, "work/linked/skills")).unwrap();
    symlink(home(&site, "work/linked"), &linked).unwrap();
    write(&linked.join(".mcp.json"), server("linked"));
    symlink(".", home(&site, "work/linked/skills/loop")).unwrap();
    let records = json!({
        "broken@shop": [{"scope": "user", "installPath": broken}],
        "cards@shop": {"installPath": format!("{cache}/1.1.0")},
        "gone@shop": [{"scope": "user", "installPath": "/gone/away"}],
        "linked@shop": [{"scope": "user", "installPath": linked}],
    });
    let index = home(&site, ".claude/plugins/installed_plugins.json");
    write(&index, json!({"version": 2, "plugins": records}).to_string());
    let found = discover(&site, "--harness claude");
    let on = [("mcp:broken", true, "broken@shop"), ("mcp:linked", true, "linked@shop")];
    check(&found, &on);
    let mut issues: Vec<(&str, &str)> = Vec::new();
    for issue in list(&found, "issues") {
        issues.push((issue["code"].as_str().unwrap(), issue["message"].as_str().unwrap()));
    }
    issues.sort_unstable();
    let missing = "the directory of the plugin `gone@shop` is missing";
    assert_eq!(issues, [("client_file_invalid", "expected a value"), ("client_file_unreadable", missing)]);
    assert!(!found.to_string().contains("hunter2"), "{found}");
}

#[test]
fn extensions_of_other_programs_are_read() {
    let site = Site::empty();
    for (version, depth) in [("0.9.0", "a"), ("0.10.0", "a/b/c")] {
        let at = format!(".codex/plugins/cache/shop/board/{version}");
        let manifest = json!({"name": "board", "mcpServers": "./servers.json"}).to_string();
        write(&home(&site, &format!("{at}/.codex-plugin/plugin.json")), manifest);
        write(&home(&site, &format!("{at}/servers.json")), server("board"));
        skill(&site, &format!("{at}/skills/{depth}/deep"));
    }
    write(&home(&site, ".codex/config.toml"), "[plugins.\"board@shop\"]\nenabled = true\n");
    let words = json!(["${extensionPath}${/}index.js"]);
    for name in ["papers", "quiet"] {
        let extension = json!({"name": name, "mcpServers": {name: {"command": "node", "args": words}}});
        let at = format!(".gemini/extensions/{name}");
        write(&home(&site, &format!("{at}/gemini-extension.json")), extension.to_string());
        write(&home(&site, &format!("{at}/commands/{name}/go.toml")), "prompt = 'Go.'\n");
    }
    let rules = json!({"quiet": {"overrides": ["!/*"]}, "papers": {"overrides": ["!/*", "/*"]}});
    write(&home(&site, ".gemini/extensions/extension-enablement.json"), rules.to_string());
    let config =
        json!({"command": "node", "args": ["${__dirname}/x.js"], "env": {"TOKEN": "${user_config.token}"}});
    let manifest = json!({"name": "notes", "server": {"type": "node", "mcp_config": config}}).to_string();
    write(&home(&site, ".config/Claude/Claude Extensions/org.notes/manifest.json"), manifest);
    let settings = r#"{"isEnabled": false, "userConfig": {"token": "hunter2EXAMPLE"}}"#;
    write(&home(&site, ".config/Claude/Claude Extensions Settings/org.notes.json"), settings);
    let found = discover(&site, "");
    let expect = [
        ("mcp:board", true, "board@shop"),
        ("skill:deep", true, "board@shop"),
        ("mcp:papers", true, "papers"),
        ("skill:papers:go", true, "papers"),
        ("mcp:quiet", false, "quiet"),
        ("mcp:notes", false, "notes"),
    ];
    check(&found, &expect);
    let path = entry(&found, "skill:deep")["origins"][0]["path"].as_str().unwrap();
    assert!(path.contains("/0.10.0/"), "the newest version: {path}");
    let notes = entry(&found, "mcp:notes");
    assert_eq!(notes["unresolved"], json!(["${__dirname}", "${user_config.token}"]));
    assert_eq!(notes["literal_secrets"], json!([]));
    assert!(!found.to_string().contains("hunter2"), "{found}");
}

#[test]
fn skills_are_read_to_the_depth_of_the_program() {
    let site = Site::empty();
    skill(&site, ".agents/skills/team/shared");
    skill(&site, ".claude/skills/team/hidden");
    let found = discover(&site, "--source skill");
    let programs: Vec<&Value> =
        list(entry(&found, "skill:shared"), "origins").iter().map(|origin| &origin["harness"]).collect();
    assert_eq!(programs, ["codex", "opencode", "crush"]);
    assert!(ids(&discover(&site, "--harness claude --source skill")).is_empty());
}

#[test]
fn an_installed_program_that_is_not_read_is_named() {
    let site = Site::empty();
    fs::create_dir_all(home(&site, ".junie")).unwrap();
    let found = discover(&site, "");
    let [issue] = list(&found, "issues") else { panic!("{found}") };
    assert_eq!((&issue["code"], &issue["harness"]), (&json!("program_not_read"), &json!("junie")));
    assert_eq!(issue["message"], "Junie is installed, but its files are not read");
    let row = list(&found, "harnesses").iter().find(|row| row["harness"] == "junie").unwrap();
    assert_eq!((&row["found"], &row["files"]), (&json!(true), &json!([])));
}
