//! Discovery of tools in the files of agent programs, and its cache.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests make files, pipes and links in a home directory, and look at modes"
)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
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
pub fn copy(from: &Path, to: &Path) {
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

/// Issue 15: without a known home directory, cached entries of the user's files are kept.
#[test]
fn user_entries_stay_when_the_home_is_unknown() {
    let site = everything();
    let before = site.json(["sync"]).expect(0);
    let mut site = site.env("HOME", "");
    for name in ["XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"] {
        site = site.env(name, "");
    }
    fs::remove_file(site.workspace.join(".mcp.json")).unwrap();
    let document = site.json(["sync"]).expect(0);
    let is_told = |issue: &Value| issue["message"].as_str().unwrap().contains("HOME is not set");
    assert!(document["issues"].as_array().unwrap().iter().any(is_told), "{document:#}");
    let scopes = |key: &str| document[key].as_array().unwrap().len();
    assert!(before["entry_count"].as_u64().unwrap() <= document["entry_count"].as_u64().unwrap() + 5);
    assert!(0 < scopes("removed") + scopes("changed"), "the file of the workspace is gone");
    let cache: Value = serde_json::from_slice(&site.workspace.read(CACHE)).unwrap();
    let of_user =
        |entry: &Value| entry["origins"].as_array().unwrap().iter().any(|origin| origin["scope"] == "user");
    let kept = cache["entries"].as_array().unwrap().iter().filter(|entry| of_user(entry)).count();
    assert!(10 < kept, "{kept}");
    let document = site.env("HOME", "rel/x").json(["sync"]).expect(0);
    let is_told = |issue: &Value| issue["message"].as_str().unwrap().contains("HOME is not an absolute path");
    assert!(document["issues"].as_array().unwrap().iter().any(is_told), "{document:#}");
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

fn texts(document: &Value, key: &str) -> Vec<String> {
    list(document, key).iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

pub fn ids(document: &Value) -> Vec<String> {
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
fn every_harness_is_read_in_its_own_format() {
    let site = everything();
    let found = discover(&site, "");
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for harness in list(&found, "harnesses") {
        for file in list(harness, "files").iter().filter(|file| file["source"] == "mcp") {
            let key = [&harness["harness"], &file["scope"]].map(|text| text.as_str().unwrap().to_owned());
            *counts.entry(key.into()).or_default() += file["entry_count"].as_u64().unwrap();
        }
    }
    let expect = [
        ("amp", "project", 1),
        ("amp", "user", 2),
        ("antigravity", "user", 1),
        ("claude", "local", 1),
        ("claude", "project", 1),
        ("claude", "user", 2),
        ("claude-desktop", "user", 2),
        ("cline", "user", 2),
        ("codex", "project", 1),
        ("codex", "user", 2),
        ("continue", "project", 2),
        ("continue", "user", 2),
        ("copilot", "project", 1),
        ("copilot", "user", 2),
        ("crush", "project", 1),
        ("crush", "user", 2),
        ("cursor", "project", 1),
        ("cursor", "user", 2),
        ("factory", "project", 1),
        ("factory", "user", 2),
        ("gemini", "project", 1),
        ("gemini", "user", 3),
        ("goose", "user", 2),
        ("kiro", "user", 2),
        ("opencode", "project", 2),
        ("opencode", "user", 2),
        ("qwen", "project", 2),
        ("qwen", "user", 1),
        ("roo", "project", 1),
        ("vscode", "project", 1),
        ("vscode", "user", 2),
        ("windsurf", "project", 1),
        ("windsurf", "user", 2),
        ("zed", "project", 1),
        ("zed", "user", 3),
    ];
    let expect = expect.map(|(harness, scope, count)| ((harness.to_owned(), scope.to_owned()), count));
    counts.retain(|_, count| *count != 0);
    assert_eq!(counts, BTreeMap::from(expect));
    for harness in list(&found, "harnesses") {
        assert_eq!(harness["found"], true, "{harness}");
        for file in list(harness, "files") {
            assert!(Path::new(file["path"].as_str().unwrap()).is_absolute(), "{file}");
            assert!(
                ["read", "absent", "not-evaluated"].contains(&file["status"].as_str().unwrap()),
                "{file}"
            );
        }
    }
    assert_eq!(status(&found, "crush", "/crushrc"), "not-evaluated");
}

#[test]
fn entries_say_what_the_files_say() {
    let site = everything();
    let found = discover(&site, "");
    let context7 = entry(&found, "mcp:context7@codex/user");
    assert_eq!(context7["command"], json!(["npx", "-y", "@upstash/context7-mcp"]));
    assert_eq!(context7["env_labels"], json!(["MY_ENV_VAR", "LOCAL_TOKEN", "REMOTE_TOKEN"]));
    assert_eq!((&context7["timeout"], &context7["tools_denied"]), (&json!(45.5), &json!(["slow"])));
    let origin = &context7["origins"][0];
    assert_eq!(
        (&origin["ref"], &origin["key_path"], &origin["line"]),
        (&json!("mcp:context7@codex/user"), &json!("mcp_servers.context7"), &json!(8))
    );
    let figma = entry(&found, "mcp:figma@codex/user");
    assert_eq!((&figma["url_host"], &figma["enabled"]), (&json!("mcp.figma.com"), &json!(false)));
    assert_eq!(figma["header_names"], json!(["X-Figma-Region", "X-Trace", "Authorization"]));
    assert_eq!(figma["env_labels"], json!(["FIGMA_OAUTH_TOKEN", "TRACE_ID"]));
    // One definition in two harnesses, although each writes the variable differently.
    let github = entry(&found, "mcp:github@claude/user");
    let refs: Vec<&Value> = list(github, "origins").iter().map(|origin| &origin["ref"]).collect();
    assert_eq!(refs, ["mcp:github@claude/user", "mcp:github@cursor/user"]);
    assert_eq!(github["unresolved"], json!(["${GITHUB_TOKEN}", "${env:GITHUB_TOKEN}"]));
    let python = entry(&found, "mcp:pythonTools@gemini/user");
    assert_eq!((&python["timeout"], &python["cwd"]), (&json!(15), &json!("./mcp-servers/python")));
    assert_eq!(python["unresolved"], json!(["${EXTERNAL_API_KEY}", "$DB_CONNECTION_STRING"]));
    assert_eq!(entry(&found, "mcp:streaming@gemini/user")["enabled"], false);
    // Copilot lists disabled servers in another file.
    let of_copilot = entry(&found, "mcp:context7@copilot/user");
    assert_eq!(
        (&of_copilot["enabled"], &of_copilot["origins"][0]["enabled"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(status(&found, "copilot", ".copilot/settings.json"), "read");
    assert_eq!(entry(&found, "mcp:streaming@gemini/user")["timeout"], json!(0.5));
    assert_eq!(entry(&found, "mcp:local-db")["literal_secrets"], json!(["env.DB_PASSWORD"]));
    let pdf = entry(&found, "skill:pdf-tools");
    assert_eq!(
        (&pdf["family"], &pdf["tools_allowed"]),
        (&json!("skill"), &json!(["Bash(pdftotext:*)", "Read"]))
    );
    assert_eq!(entry(&found, "skill:git:commit")["unresolved"], json!(["!{…}"]));
    let native = entry(&found, "harness:claude.Bash");
    assert_eq!((&native["source"], &native["family"]), (&json!("harness"), &json!("custom")));
    assert!(!found.to_string().contains("not-ours"));
    let keys: Vec<&String> = context7.as_object().unwrap().keys().collect();
    for key in "id source family name description transport command cwd env_labels header_names url_host enabled timeout \
                tools_allowed tools_denied unresolved unknown_keys literal_secrets fingerprint registered_as origins"
        .split_whitespace()
    {
        assert!(keys.iter().any(|found| *found == key), "{key}");
    }
    assert_eq!(found["entry_count"], list(&found, "entries").len());
    assert_eq!(found["issue_count"], list(&found, "issues").len());
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
}

#[test]
fn filters_choose_what_is_read() {
    let site = everything();
    let cursor = discover(&site, "--harness cursor --harness zed --source mcp");
    let labels: Vec<&Value> = list(&cursor, "harnesses").iter().map(|row| &row["harness"]).collect();
    assert_eq!(labels, ["cursor", "zed"]);
    assert_eq!(
        ids(&cursor),
        [
            "mcp:figma",
            "mcp:github",
            "mcp:local-mcp-server",
            "mcp:older",
            "mcp:postgres",
            "mcp:remote-mcp-server",
            "mcp:zed-server"
        ]
    );
    assert_eq!(
        ids(&discover(&site, "--scope project --source mcp --harness claude")),
        ["mcp:local-db", "mcp:tickets"]
    );
    assert_eq!(
        ids(&discover(&site, "--scope user --source mcp --harness claude")),
        ["mcp:filesystem", "mcp:github"]
    );
    assert_eq!(ids(&discover(&site, "--source skill --harness factory")), [] as [&str; 0]);
    assert!(ids(&discover(&site, "--source harness")).iter().all(|id| id.starts_with("harness:")));
    // One of several levels must match.
    let both = ids(&discover(&site, "--scope project --scope user --source mcp --harness claude"));
    assert_eq!(both, ["mcp:filesystem", "mcp:github", "mcp:local-db", "mcp:tickets"]);
    let sources = ids(&discover(&site, "--source mcp --source harness --harness claude"));
    assert!(["mcp:github", "harness:claude.Bash"].iter().all(|id| sources.contains(&(*id).to_owned())));
    let unknown = site.tools(["discover", "--harness", "emacs", "--json"]);
    unknown.assert_code(2);
}

#[test]
fn an_unreadable_list_of_harnesses_is_not_all() {
    let site = everything();
    for wrong in ["harnesses = \"cursor\"", "harnesses = [\"cursor\", 5]"] {
        site.workspace.write(".brigade/tools.toml", format!("[registry]\n{wrong}\n"));
        for words in [&["sync"][..], &["discover"], &["register", "mcp:files"]] {
            let refused = site.json(words).expect(1);
            assert!(refused["error"].to_string().contains("registry.harnesses"), "{words:?} {refused:#}");
        }
        site.json(["discover", "--harness", "cursor"]).expect(0);
    }
    site.workspace.write(".brigade/tools.toml", "registry = 5\n");
    site.json(["discover"]).expect(1);
    // The user's list counts if the project has none.
    let user = site.workspace.home().join(".config/brigade/tools.toml");
    fs::create_dir_all(user.parent().unwrap()).unwrap();
    fs::write(&user, "[registry]\nharnesses = 7\n").unwrap();
    site.workspace.write(".brigade/tools.toml", "");
    let refused = site.json(["discover"]).expect(1);
    assert!(refused["error"].to_string().contains("brigade/tools.toml"), "{refused:#}");
    site.workspace.write(".brigade/tools.toml", "[registry]\nharnesses = [\"cursor\"]\n");
    site.json(["discover"]).expect(0);
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

#[test]
fn our_own_entry_is_listed_as_ours() {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write(".brigade/tools/gateway.toml", "[[agent]]\nname = 'local'\n");
    for client in ["cursor", "codex", "vscode", "opencode"] {
        site.json(["connect", client, "--write"]).expect(0);
    }
    let found = discover(&site, "--source mcp");
    for entry in list(&found, "entries") {
        assert_eq!((&entry["name"], &entry["registered_as"]), (&json!("brigade"), &json!("brigade")));
    }
    let origins: usize = list(&found, "entries").iter().map(|entry| list(entry, "origins").len()).sum();
    // Two of the programs name the directory of the workspace, which is not reported as a difference.
    assert_eq!((list(&found, "entries").len(), origins), (2, 4), "{found}");
    assert_eq!(found["issue_count"], 0, "{found}");
}

#[test]
fn sync_writes_what_changed_and_nothing_else() {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", "");
    let file = home(&site, ".cursor/mcp.json");
    write(&file, r#"{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}"#);
    let planned = sync(&site, "--dry-run");
    assert_eq!((&planned["written"], &planned["dry_run"]), (&json!(false), &json!(true)));
    assert_eq!(texts(&planned, "added"), ["mcp:a", "mcp:b"]);
    assert!(!site.workspace.exists(CACHE));
    let first = sync(&site, "");
    assert_eq!((&first["written"], &first["entry_count"]), (&json!(true), &json!(2)));
    let cache = site.workspace.join(CACHE);
    assert_eq!(first["cache_path"], cache.display().to_string());
    let metadata = fs::metadata(&cache).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    let second = sync(&site, "");
    assert_eq!((&second["written"], &second["unchanged_count"]), (&json!(false), &json!(2)));
    let again = fs::metadata(&cache).unwrap();
    assert_eq!((again.ino(), again.modified().unwrap()), (metadata.ino(), metadata.modified().unwrap()));
    write(&file, r#"{"mcpServers": {"a": {"command": "a", "args": ["x"]}, "c": {"command": "c"}}}"#);
    let third = sync(&site, "");
    assert_eq!(
        (texts(&third, "added"), texts(&third, "removed")),
        (vec!["mcp:c".to_owned()], vec!["mcp:b".to_owned()])
    );
    assert_eq!(third["changed"], json!([{"id": "mcp:a", "fields": ["command", "fingerprint"]}]));
    // `sync plan` still synchronizes projections.
    site.json(["sync", "plan"]).expect(0);
    let help = |words: &[&str]| site.tools(words.iter().copied()).stdout_text();
    assert!(help(&["sync", "--help"]).contains("plan"));
    assert!(help(&["sync", "plan", "--help"]).contains("brigade tools sync"));
}

#[test]
fn an_unknown_word_in_the_cache_drops_only_its_entry() {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", "");
    let servers = r#"{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}"#;
    write(&home(&site, ".cursor/mcp.json"), servers);
    sync(&site, "");
    let cache = site.workspace.read_text(CACHE);
    let changed = cache.replacen("\"source\": \"mcp\"", "\"source\": \"plugin\"", 1);
    assert_ne!(cache, changed);
    site.workspace.write(CACHE, &changed);
    let list = site.json(["list", "--level", "discovered"]).expect(0);
    let ids: Vec<&str> =
        list["discovered"].as_array().unwrap().iter().filter_map(|entry| entry["id"].as_str()).collect();
    assert_eq!(ids, ["mcp:b"], "{list:#}");
    assert!(list["notes"][0].as_str().unwrap().contains("1 of its records"), "{list:#}");
    let doctor = site.json(["doctor"]).expect(0);
    let is_it = |row: &&Value| row["issue_type"] == "discovered_cache_damaged";
    let row = doctor["issues"].as_array().unwrap().iter().find(is_it).unwrap();
    assert!(row["detail"].as_str().unwrap().contains("1 of its records"), "{row:#}");
    let synced = sync(&site, "");
    assert_eq!((&synced["written"], texts(&synced, "added")), (&json!(true), vec!["mcp:a".to_owned()]));
    assert_eq!(issues(&synced)[0].0, "discovered_cache_damaged");
    assert_eq!(issues(&sync(&site, "")), []);
}

#[test]
fn a_damaged_cache_is_replaced_but_a_newer_one_kept() {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", "");
    write(&home(&site, ".cursor/mcp.json"), r#"{"mcpServers": {"a": {"command": "a"}}}"#);
    for damaged in ["", "{", "[]", "{\"schema\": \"brigade.discovered.v1\"}"] {
        site.workspace.write(CACHE, damaged);
        let told = sync(&site, "--dry-run");
        assert_eq!(issues(&told)[0].0, "discovered_cache_damaged");
        assert_eq!(site.workspace.read_text(CACHE), damaged);
        // Every reader of the cache reports this.
        let doctor = site.json(["doctor"]).expect(0);
        let rows = doctor["issues"].as_array().unwrap();
        let row = rows.iter().find(|row| row["issue_type"] == "discovered_cache_damaged").unwrap();
        assert_eq!(row["fix"], "brigade tools sync", "{row:#}");
        let list = site.json(["list", "--level", "discovered"]).expect(0);
        assert!(list["notes"][0].as_str().unwrap().contains("it is damaged"), "{list:#}");
        let synced = sync(&site, "");
        assert_eq!(
            (&synced["written"], issues(&synced)[0].0.as_str()),
            (&json!(true), "discovered_cache_damaged")
        );
        assert_eq!(issues(&sync(&site, "")), []);
    }
    let newer = r#"{"schema": "brigade.discovered.v2"}"#;
    site.workspace.write(CACHE, newer);
    site.json(["sync"]).refused("newer version");
    assert_eq!(site.workspace.read_text(CACHE), newer);
    fs::remove_file(site.workspace.join(CACHE)).unwrap();
    assert_eq!(sync(&site, "")["written"], true);
}

/// Issue 15: a skill with broken front matter stays one entry, and a second sync changes nothing.
#[test]
fn a_skill_that_becomes_unreadable_stays_one_entry() {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", "");
    let broken = "---\nname: [\n---\nBody\n";
    write(&home(&site, ".claude/skills/never/SKILL.md"), broken);
    write(&home(&site, ".claude/skills/one/SKILL.md"), "---\nname: one\ndescription: First\n---\nBody\n");
    let first = sync(&site, "");
    assert!(texts(&first, "added").iter().any(|id| id == "skill:never"), "{first}");
    write(&home(&site, ".claude/skills/one/SKILL.md"), broken);
    let second = sync(&site, "");
    assert_eq!(
        (&second["added"], &second["changed"], &second["removed"]),
        (&json!([]), &json!([]), &json!([]))
    );
    let kept = |document: &Value| {
        let rows =
            list(document, "issues").iter().filter(|issue| issue["message"].to_string().contains("is kept"));
        rows.map(|issue| issue["path"].as_str().unwrap().contains("/one/")).collect::<Vec<_>>()
    };
    assert_eq!((kept(&first), kept(&second)), (vec![], vec![true]), "{second:#}");
    assert_eq!(sync(&site, "")["written"], false);
}

#[test]
fn doctor_reports_the_cache_and_reads_no_files() {
    let site = Site::empty();
    site.workspace.write(
        ".brigade/tools.toml",
        "[[tool]]\nid = 'files'\nname = 'Files'\nfamily = 'mcp'\ncommand = 'npx -y server-files /data'\n",
    );
    site.workspace.write(".brigade/tools/gateway.toml", "[[agent]]\nname = 'local'\n");
    let cursor = home(&site, ".cursor/mcp.json");
    write(
        &cursor,
        "{\"mcpServers\": {\n\"data\": {\"command\": \"/usr/bin/npx\", \"args\": [\"-y\", \"server-files\", \"/data\"]},\n\
         \"other\": {\"command\": \"other\", \"env\": {\"API_KEY\": \"hunter2EXAMPLE\"}}}}",
    );
    write(
        &home(&site, ".codeium/windsurf/mcp_config.json"),
        r#"{"mcpServers": {"other": {"command": "another"}}}"#,
    );
    let kinds = |site: &Site| -> Vec<String> {
        let doctor = site.json(["doctor"]).expect(0);
        let new = ["definitions_differ", "client_literal_secret", "client_bypasses_gateway"];
        let kinds =
            list(&doctor, "issues").iter().map(|issue| issue["issue_type"].as_str().unwrap().to_owned());
        assert!(!doctor.to_string().contains("hunter2EXAMPLE"));
        kinds.filter(|kind| new.contains(&kind.as_str())).collect()
    };
    assert_eq!(kinds(&site), [] as [&str; 0]);
    sync(&site, "");
    let found = kinds(&site);
    assert!(
        found.contains(&"definitions_differ".to_owned())
            && found.contains(&"client_literal_secret".to_owned())
    );
    // It bypasses the gateway only if the gateway is connected.
    assert_eq!(found.len(), 2);
    site.workspace.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"brigade": {"command": "brigade", "args": ["serve", "--stdio", "--as", "local"]}}}"#,
    );
    sync(&site, "");
    fs::remove_file(&cursor).unwrap();
    assert_eq!(kinds(&site).iter().filter(|kind| *kind == "client_bypasses_gateway").count(), 1);
    site.workspace.write(CACHE, "{");
    assert_eq!(kinds(&site), [] as [&str; 0]);
}

#[test]
fn the_catalog_selects_harnesses() {
    let site = everything();
    site.workspace.write(
        ".brigade/tools.toml",
        "[registry]\nharnesses = ['zed', 'cursor']\n[[tool]]\nid = 'pg'\nname = 'Postgres'\nfamily = 'mcp'\n\
         [tool.source]\nref = 'mcp:postgres@cursor/user'\n",
    );
    let found = discover(&site, "--source mcp");
    let labels: Vec<&Value> = list(&found, "harnesses").iter().map(|row| &row["harness"]).collect();
    assert_eq!(labels, ["cursor", "zed"]);
    assert_eq!(entry(&found, "mcp:postgres")["registered_as"], "pg");
    assert_eq!(entry(&found, "mcp:github")["registered_as"], Value::Null);
    assert_eq!(ids(&discover(&site, "--source mcp --harness factory")).len(), 3);
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
