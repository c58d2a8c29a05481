//! Discovery of tools in the files of agent programs, and its cache.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests make files, pipes and links in a home directory"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use brigade_testkit::fixtures;
use brigade_tests::Site;
use serde_json::{Value, json};

const CACHE: &str = ".brigade/tools/discovered.json";

/// Values of the fixtures that must not appear in any output.
const SECRETS: &[&str] = &[
    "hunter2EXAMPLE",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "0123456789abcdefEXAMPLE",
    "YOUR-API-KEY",
    "us-east-1",
    "a value",
    "/path/to/key",
    "team=1",
];

/// Makes a workspace and a home with the files of all harnesses.
fn everything() -> Site {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", "");
    let files = fixtures().join("harnesses");
    copy(&files.join("home"), site.workspace.home());
    copy(&files.join("workspace"), site.workspace.path());
    let claude = site.workspace.home().join(".claude.json");
    let text = fs::read_to_string(&claude).unwrap();
    let root = site.workspace.path().display().to_string();
    fs::write(&claude, text.replace("WORKSPACE", &root)).unwrap();
    site
}

/// Copies a directory with everything in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

pub fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

pub fn home(site: &Site, path: &str) -> PathBuf {
    site.workspace.home().join(path)
}

#[track_caller]
pub fn discover(site: &Site, words: &str) -> Value {
    site.json(["discover"].into_iter().chain(words.split_whitespace())).expect(0)
}

#[track_caller]
fn sync(site: &Site, words: &str) -> Value {
    site.json(["sync"].into_iter().chain(words.split_whitespace())).expect(0)
}

pub fn list<'d>(document: &'d Value, key: &str) -> &'d [Value] {
    document[key].as_array().unwrap_or_else(|| panic!("`{key}` is not a list in {document}"))
}

fn ids(document: &Value) -> Vec<String> {
    list(document, "entries").iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
pub fn entry<'d>(document: &'d Value, id: &str) -> &'d Value {
    let found = list(document, "entries").iter().find(|entry| entry["id"] == id);
    found.unwrap_or_else(|| panic!("no `{id}` in {:?}", ids(document)))
}

/// Returns the codes of issues, with the end of the path and the line.
fn issues(document: &Value) -> Vec<(String, String, u64)> {
    let row = |issue: &Value| {
        let path = issue["path"].as_str().unwrap_or_default();
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        (issue["code"].as_str().unwrap().to_owned(), name, issue["line"].as_u64().unwrap_or(0))
    };
    list(document, "issues").iter().map(row).collect()
}

/// Returns the status of a file by its harness and the end of its path.
#[track_caller]
fn status(document: &Value, harness: &str, end: &str) -> String {
    let of = list(document, "harnesses").iter().find(|row| row["harness"] == harness).unwrap();
    let files = list(of, "files").iter();
    let file = files.clone().find(|file| file["path"].as_str().unwrap().ends_with(end));
    file.unwrap_or_else(|| panic!("no {end} in {of}"))["status"].as_str().unwrap().to_owned()
}

#[test]
fn no_value_is_shown_or_stored() {
    let site = everything();
    let written = sync(&site, "");
    assert_eq!(written["written"], true);
    let cache = site.workspace.read_text(CACHE);
    let text = site.tools(["discover"]);
    let all = [discover(&site, "").to_string(), written.to_string(), cache, text.to_string()];
    for secret in SECRETS {
        for (index, text) in all.iter().enumerate() {
            assert!(!text.contains(secret), "{secret} in {index}");
        }
    }
    let differ = issues(&discover(&site, ""));
    assert!(differ.iter().any(|(code, ..)| code == "definitions_differ"), "{differ:?}");
    let words = "--scope project --source mcp --harness claude";
    assert_eq!(ids(&discover(&site, words)), ["mcp:local-db", "mcp:tickets"]);
    site.tools(["discover", "--harness", "emacs"]).assert_code(2);
}

#[test]
fn an_empty_home_has_twenty_absent_harnesses() {
    let site = Site::empty();
    let found = discover(&site, "");
    let rows = list(&found, "harnesses");
    assert_eq!((rows.len(), &found["entry_count"]), (20, &json!(0)));
    assert!(rows.iter().all(|row| row["found"] == false), "{rows:?}");
    assert!(!site.workspace.exists(".brigade"));
    let refused = site.json(["sync"]);
    let refused = refused.expect(1);
    assert_eq!(refused["code"], "workspace_missing");
    assert!(!site.workspace.exists(".brigade"));
    // A program on PATH is sufficient.
    site.write_program("bin/crush", "#!/bin/sh\nexit 1\n");
    let brigade = site.brigade.clone().env("PATH", site.workspace.join("bin"));
    let found = brigade.run(["tools", "discover", "--json", "--harness", "crush"]);
    assert_eq!(found.json()["harnesses"][0]["found"], true);
}

#[test]
fn a_hostile_file_hides_nothing_else() {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", "");
    write(&home(&site, ".cursor/mcp.json"), r#"{"mcpServers": {"good": {"command": "good"}}}"#);
    let make_pipe = std::process::Command::new("mkfifo").arg(home(&site, "pipe")).status().unwrap();
    assert!(make_pipe.success());
    fs::create_dir_all(home(&site, ".codex")).unwrap();
    fs::rename(home(&site, "pipe"), home(&site, ".codex/config.toml")).unwrap();
    fs::create_dir_all(home(&site, ".copilot")).unwrap();
    symlink("/dev/zero", home(&site, ".copilot/mcp-config.json")).unwrap();
    fs::create_dir_all(home(&site, ".qwen")).unwrap();
    symlink("settings.json", home(&site, ".qwen/settings.json")).unwrap();
    fs::create_dir_all(home(&site, ".factory/mcp.json")).unwrap();
    write(
        &home(&site, ".config/zed/settings.json"),
        "{\"context_servers\": ".to_owned() + &"[".repeat(10 << 20),
    );
    let aliases: String =
        (1..40).map(|level| format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1)).collect();
    write(&home(&site, ".config/goose/config.yaml"), format!("a0: &a0 [x, x]\n{aliases}extensions: *a39\n"));
    write(
        &home(&site, ".gemini/settings.json"),
        "{\n  // x\n  \"mcpServers\": {\n    \"g\": hunter2EXAMPLE\n",
    );
    write(
        &home(&site, ".codeium/windsurf/mcp_config.json"),
        "{\"mcpServers\": {\"evil\\u001b[2J\\u202e\": {\"command\": \"x\"}, \"none\": {}}}",
    );
    write(&home(&site, "secret.json"), r#"{"mcpServers": {"stolen": {"command": "stolen"}}}"#);
    fs::create_dir_all(site.workspace.join(".cursor")).unwrap();
    symlink(home(&site, "secret.json"), site.workspace.join(".cursor/mcp.json")).unwrap();
    symlink(site.workspace.home(), site.workspace.join(".factory")).unwrap();
    fs::create_dir_all(home(&site, ".claude/commands/a")).unwrap();
    symlink(".", home(&site, ".claude/commands/a/again")).unwrap();
    write(&home(&site, ".claude/commands/a/b.md"), "x");
    let found = discover(&site, "");
    assert!(!found.to_string().contains("stolen") && !found.to_string().contains("hunter2"));
    let listed: Vec<String> = ids(&found).into_iter().filter(|id| !id.starts_with("harness:")).collect();
    assert_eq!(listed, ["mcp:evil\u{1b}[2J\u{202e}", "mcp:good", "skill:a:b"]);
    for (harness, end, expect) in [
        ("codex", ".codex/config.toml", "unreadable"),
        ("copilot", "mcp-config.json", "unreadable"),
        ("qwen", ".qwen/settings.json", "unreadable"),
        ("factory", "home/.factory/mcp.json", "unreadable"),
        ("zed", "zed/settings.json", "broken"),
        ("goose", "config.yaml", "broken"),
        ("gemini", "home/.gemini/settings.json", "broken"),
        ("cursor", "workspace/.cursor/mcp.json", "unreadable"),
        ("cursor", "home/.cursor/mcp.json", "read"),
    ] {
        assert_eq!(status(&found, harness, end), expect, "{harness} {end}");
    }
    let told = issues(&found);
    for expect in
        [("client_file_invalid", "settings.json", 4), ("server_without_command", "mcp_config.json", 1)]
    {
        assert!(
            told.iter().any(|(code, name, line)| (code.as_str(), name.as_str(), *line) == expect),
            "{told:?}"
        );
    }
    let text = site.tools(["discover"]);
    text.assert_code(0);
    assert!(text.stdout_text().contains("mcp:evil\\u{1b}[2J\\u{202e}"), "{text}");
}

#[test]
fn a_total_size_limit_hides_no_user_entries() {
    let site = everything();
    let before = discover(&site, "");
    let comments = format!("# {}\n", "x".repeat(60_000)).repeat(70);
    for number in 0..40 {
        site.workspace.write(format!(".continue/mcpServers/z{number}.yaml"), &comments);
    }
    let after = discover(&site, "");
    let full = list(&after, "issues").iter().find(|issue| issue["code"] == "too_many_entries").unwrap();
    let message = full["message"].as_str().unwrap();
    assert!(
        message.ends_with(
            "files of the workspace are not read: those before hold 128 MiB or 5000 entries together"
        ),
        "{message}"
    );
    assert_eq!((&full["harness"], &full["path"]), (&json!("continue"), &Value::Null));
    // Only entries with this path in the same directory are removed.
    let mut gone = ids(&before);
    gone.retain(|id| !ids(&after).contains(id));
    assert_eq!(gone, ["mcp:from-json"]);
    assert_eq!(status(&after, "continue", "z9.yaml"), "unreadable");
    assert_eq!(status(&after, "continue", "z0.yaml"), "read");
}

#[test]
fn a_skill_that_links_reach_counts_once() {
    let site = Site::empty();
    write(&home(&site, "dotfiles/review/SKILL.md"), "---\nname: review\ndescription: Reviews\n---\n");
    for folder in [".claude/skills", ".cursor/skills", ".codex/skills", ".agents/skills"] {
        fs::create_dir_all(home(&site, folder)).unwrap();
        symlink(home(&site, "dotfiles/review"), home(&site, folder).join("review")).unwrap();
    }
    let found = discover(&site, "--source skill");
    assert_eq!(ids(&found), ["skill:review"]);
    let refs: Vec<&str> = list(entry(&found, "skill:review"), "origins")
        .iter()
        .map(|origin| origin["ref"].as_str().unwrap())
        .collect();
    assert_eq!(refs.iter().filter(|reference| reference.ends_with("@codex/user")).count(), 1, "{refs:?}");
    assert!(refs.contains(&"skill:review@claude/user") && refs.contains(&"skill:review@cursor/user"));
    assert_eq!(found["issue_count"], 0);
}

/// Issue 15: an entry with such a name was skipped silently.
#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_text_is_reported() {
    use std::os::unix::ffi::OsStringExt as _;

    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", "");
    let skill = "---\nname: good\ndescription: x\n---\n";
    write(&home(&site, ".claude/skills/good/SKILL.md"), skill);
    let odd = std::ffi::OsString::from_vec(b"b\xff".to_vec());
    write(&home(&site, ".claude/skills").join(odd).join("SKILL.md"), skill);
    let found = discover(&site, "--harness claude --source skill");
    assert_eq!(ids(&found), ["skill:good"]);
    let told = list(&found, "issues").iter().find(|issue| issue["code"] == "name_unusual").expect("an issue");
    assert_eq!(told["message"], "1 name is not UTF-8 text, so nothing of it is read");
    assert!(told["path"].as_str().unwrap().ends_with(".claude/skills"), "{told:#}");
}
