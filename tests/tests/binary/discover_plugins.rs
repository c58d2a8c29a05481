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

use crate::discover::{discover, entry, home, list, write};

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
