//! `tools register REF` writes definitions of agent programs for a review.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests set up files and look at what the binary left")]

use std::fs;
use std::path::Path;

use brigade_tests::Site;
use serde_json::{Value, json};

const SECRET: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Servers with names and values that attack the program that writes them.
const HOSTILE: &str = r##"{"mcpServers": {
  "../../up": {"command": "x"},
  "..": {"command": "x"},
  "a/b": {"command": "x"},
  "-rf": {"command": "x"},
  "LONG": {"command": "x"},
  "HUGE": {"command": "x"},
  "\u202egnp": {"command": "x"},
  "line\nbreak": {"command": "x"},
  "q\"uote]": {"command": "x"},
  "twice": {"command": "one"},
  "twice": {"command": "two", "command": "three"},
  "env": {"command": "x", "env": {"TOKEN": "SECRET", "PASSWORD": "hunter2-EXAMPLE", "ROOT": "/srv",
    "PLAIN": "hunter2-EXAMPLE", "BAD NAME": "hunter2-EXAMPLE"}},
  "credentials": {"url": "https://ann:SECRET@mcp.example.com/hunter2-EXAMPLE"},
  "header": {"command": "x", "args": ["--header", "Authorization: Bearer SECRET"]},
  "words": {"command": "x\ny", "args": ["\u001b[2J", "'''", "\"\"\"", "# no comment"]},
  "null": null, "list": [], "number": {"command": 5}, "mixed": {"command": "x", "args": [1, {}]}
}}"##;

#[test]
fn hostile_servers_are_escaped_or_refused() {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", "# mine\n");
    let text =
        HOSTILE.replace("SECRET", SECRET).replace("LONG", &"l".repeat(200)).replace("HUGE", &"h".repeat(300));
    write(&site.workspace.home().join(".cursor/mcp.json"), &text);
    // The target of a link in the project is not read.
    write(&site.workspace.home().join("private.json"), r#"{"mcpServers": {"linked": {"command": "x"}}}"#);
    fs::create_dir_all(site.workspace.join(".cursor")).unwrap();
    let link = site.workspace.join(".cursor/mcp.json");
    std::os::unix::fs::symlink(site.workspace.home().join("private.json"), link).unwrap();
    let beside: Vec<_> =
        fs::read_dir(site.workspace.join("..")).unwrap().map(|entry| entry.unwrap().path()).collect();

    let found = site.json(["discover"]).expect(0);
    let mut refs: Vec<String> = vec!["mcp:linked".to_owned(), format!("mcp:{}", "h".repeat(300))];
    let entries = found["entries"].as_array().unwrap();
    let of_mcp = entries.iter().filter(|entry| entry["source"] == "mcp");
    refs.extend(of_mcp.map(|entry| entry["id"].as_str().unwrap().to_owned()));
    assert!(14 <= refs.len(), "{refs:?}");
    let mut registered = Vec::new();
    for reference in &refs {
        for words in [
            &["register", "--dry-run", "--json", "--", reference][..],
            &["register", "--dry-run", "--", reference],
        ] {
            let run = site.tools(words);
            assert!(matches!(run.code(), Some(0 | 1)), "{reference:?}: {run}");
            let said = run.stdout_text() + &run.stderr_text();
            for never in [SECRET, "hunter2", "\u{1b}", "\u{202e}"] {
                assert!(!said.contains(never), "{reference:?}: {run}");
            }
        }
        let run = site.tools(["register", "--json", "--", reference]);
        let document: Value = serde_json::from_str(&run.stdout_text()).unwrap();
        match document["registered"][0]["tool_id"].as_str() {
            Some(id) => {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
                assert!(id.chars().all(is_plain) && !id.starts_with('.'), "{reference:?} became {id:?}");
                assert_eq!(document["registered"][0]["enabled"], json!(false), "{document:#}");
                registered.push(reference.as_str());
            }
            None => assert!(!document["errors"].as_array().unwrap().is_empty(), "{document:#}"),
        }
    }
    assert!(!registered.contains(&"mcp:linked") && !registered.contains(&"mcp:header"), "{registered:?}");
    assert!(registered.contains(&"mcp:env") && registered.contains(&"mcp:twice"), "{registered:?}");
    let listed = site.json(["list"]).expect(0);
    let is_disabled = |tool: &Value| tool["enabled"] == false;
    let all = listed["tools"].as_array().unwrap().iter().all(is_disabled);
    assert_eq!((&listed["valid"], all), (&json!(true), true), "all are disabled: {listed:#}");
    let entries = site.workspace.read_text(".brigade/tools.toml").matches("[[tool]]").count();
    assert_eq!(entries, registered.len(), "{registered:?}");
    let runtimes = site.workspace.read_text(".brigade/tools/runtimes.toml");
    let written = site.workspace.read_text(".brigade/tools.toml") + &runtimes;
    for never in [SECRET, "hunter2", "\u{1b}", "\u{202e}"] {
        assert!(!written.contains(never), "{written}");
    }
    assert!(runtimes.contains("ROOT = \"/srv\"\n"), "{runtimes}");
    assert!(runtimes.contains("\"three\"") && !runtimes.contains("\"two\""), "the last of two keys counts");
    let now: Vec<_> =
        fs::read_dir(site.workspace.join("..")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(now, beside, "nothing is written outside");
}
