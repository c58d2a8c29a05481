//! `tools register REF` writes definitions of agent programs for a review.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests set up files and look at what the binary left")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use brigade_testkit::fixtures;
use brigade_tests::Site;
use serde_json::{Value, json};

use crate::discover::copy;

const SECRET: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

const CURSOR: &str = r#"{"mcpServers": {
  "files": {"command": "npx", "args": ["-y", "@x/files@1.2.3", "a b", "", "it's"], "env": {"ROOT": "/srv", "API_KEY": "SECRET"}},
  "both": {"command": "one"},
  "leak": {"command": "serve", "args": ["--token", "SECRET"]},
  "far": {"url": "https://mcp.example.com/sse?key=SECRET", "headers": {"Authorization": "Bearer SECRET"}},
  "var": {"command": "npx", "args": ["${PKG}"], "cwd": "/elsewhere", "colour": "red"},
  "we\u001bird": {"command": "x"},
  "日本": {"command": "x"},
  "brigade": {"command": "brigade", "args": ["serve", "--stdio", "--as", "a"]}
}}"#;

const CODEX: &str = "[mcp_servers.both]\ncommand = \"two\"\ncwd = \"sub\"\ntool_timeout_sec = 12.5\nenabled_tools = [\"read\"]\n";

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn site() -> Site {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", "# mine\n");
    let home = site.workspace.home();
    write(&home.join(".cursor/mcp.json"), &CURSOR.replace("SECRET", SECRET));
    write(&home.join(".codex/config.toml"), CODEX);
    write(&home.join(".claude/skills/pdf/SKILL.md"), "---\nname: pdf\ndescription: Fills forms\n---\n");
    site.workspace.write(".claude/skills/notes/SKILL.md", "---\nname: notes\ndescription: Notes\n---\n");
    site
}

#[track_caller]
fn register(site: &Site, words: &[&str], code: i32) -> Value {
    site.json(["register"].iter().chain(words)).expect(code)
}

/// Returns the codes and fields of rows.
fn codes(document: &Value, key: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    document[key].as_array().unwrap().iter().map(|row| (text(&row["code"]), text(&row["field"]))).collect()
}

fn code(document: &Value) -> (String, String) {
    let mut codes = codes(document, "errors");
    assert_eq!(codes.len(), 1, "{document}");
    codes.remove(0)
}

fn pair(code: &str, field: &str) -> (String, String) {
    (code.to_owned(), field.to_owned())
}

#[test]
fn a_server_becomes_a_disabled_runtime_and_an_entry() {
    let site = site();
    let document = register(&site, &["mcp:files"], 0);
    let row = &document["registered"][0];
    assert_eq!(
        (&row["tool_id"], &row["enabled"], &row["runtime_id"]),
        (&json!("files"), &json!(false), &json!("files"))
    );
    assert_eq!(row["next_command"], "${EDITOR:-vi} +4 .brigade/tools/runtimes.toml");
    assert_eq!(codes(&document, "notes"), [pair("value_not_kept", "files.env.API_KEY")]);
    let runtimes = site.workspace.read_text(".brigade/tools/runtimes.toml");
    let expect = "[[runtime]]\nid = \"files\"\nname = \"files\"\nenabled = false\n\
        command = '''npx -y @x/files@1.2.3 'a b' '' 'it'\\''s''''\non_demand = true\nenv_labels = [\"API_KEY\"]\nhome = \"private\"\n\n[runtime.env]\nROOT = \"/srv\"\n";
    assert_eq!(runtimes, expect);
    let shown = site.json(["show", "files"]).expect(0)["tool"].clone();
    assert_eq!((&shown["contract"]["approval_mode"], &shown["enabled"]), (&json!("always"), &json!(false)));
    assert_eq!((&shown["contract"]["effects"], &shown["contract"]["permissions"]), (&json!([]), &json!([])));
    assert_eq!(shown["source_detail"]["ref"], "mcp:files@cursor/user");
    let found = site.json(["discover", "--source", "mcp"]).expect(0);
    let entry = found["entries"].as_array().unwrap().iter().find(|entry| entry["id"] == "mcp:files").unwrap();
    assert_eq!(entry["registered_as"], "files");
    assert_eq!(shown["source_detail"]["fingerprint"], entry["fingerprint"]);
    site.assert_nowhere(SECRET.as_bytes(), &[]);
    // A call, a projection and an installation of it are refused.
    site.json(["call", "plan", "files"]).expect(1);
    site.json(["call", "queue", "files", "--args", "{}"]).expect(1);
    site.json(["install", "files"]).expect(1);
    // A runtime with the same command is recognized without the tool.
    site.workspace.write(".brigade/tools.toml", "");
    let found = site.json(["discover", "--source", "mcp"]).expect(0).to_string();
    assert!(found.contains("\"registered_as\":\"files\"") || found.contains("\"registered_as\": \"files\""));
}

#[test]
fn everything_that_discovery_finds_has_its_form() {
    let site = site();
    let far = register(&site, &["mcp:far"], 0);
    assert_eq!(
        (&far["registered"][0]["runtime_id"], &far["registered"][0]["detail"]),
        (&json!(null), &json!("remote mcp server at mcp.example.com"))
    );
    let notes = codes(&far, "notes");
    assert!(
        notes.contains(&pair("url_not_kept", "far.url"))
            && notes.contains(&pair("value_not_kept", "far.headers.Authorization"))
    );
    assert!(!site.workspace.path().join(".brigade/tools/runtimes.toml").exists());
    let var = register(&site, &["mcp:var"], 0);
    assert_eq!(
        codes(&var, "notes"),
        [
            pair("cwd_not_kept", "var.cwd"),
            pair("unresolved", "var.command"),
            pair("unknown_key", "var.colour")
        ]
    );
    let both =
        register(&site, &["mcp:both@codex/user", "skill:pdf", "skill:notes", "harness:gemini.glob"], 1);
    assert_eq!(code(&both), pair("ref_unknown", "harness:gemini.glob"));
    let both = register(&site, &["mcp:both@codex/user", "skill:pdf", "skill:notes"], 0);
    assert_eq!(codes(&both, "notes"), [pair("tools_not_limited", "both.tools_allowed")]);
    let runtimes = site.workspace.read_text(".brigade/tools/runtimes.toml");
    assert!(runtimes.contains("cwd = \"sub\"\n") && runtimes.contains("timeout = 12.5\n"), "{runtimes}");
    let tool = |id: &str| site.json(["show", id]).expect(0)["tool"].clone();
    let (pdf, notes) = (tool("pdf"), tool("notes"));
    assert_eq!(
        (&pdf["family"], &pdf["enabled"], &pdf["state"]),
        (&json!("skill"), &json!(false), &json!("available"))
    );
    assert!(pdf["source_detail"]["path"].as_str().unwrap().ends_with("/.claude/skills/pdf/SKILL.md"));
    assert_eq!(notes["state"], "available");
    assert!(
        site.workspace
            .read_text(".brigade/tools.toml")
            .contains("source_path = \".claude/skills/notes/SKILL.md\"")
    );
    // A tool of an installed harness.
    let program = site.workspace.home().join("bin/claude");
    write(&program, "#!/bin/sh\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let site = site.env("PATH", path);
    let read = register(&site, &["harness:claude.Read@claude/user"], 0);
    assert_eq!(
        (
            &read["registered"][0]["tool_id"],
            &read["registered"][0]["family"],
            &read["registered"][0]["source"]
        ),
        (&json!("claude.read"), &json!("custom"), &json!("harness"))
    );
    let shown = site.json(["show", "harness:claude.read"]).expect(0)["tool"].clone();
    assert_eq!(
        (&shown["source_detail"]["provider"], &shown["state"]),
        (&json!("claude"), &json!("available"))
    );
    site.assert_nowhere(SECRET.as_bytes(), &[]);
}

#[test]
fn ambiguous_and_secret_definitions_are_refused() {
    let site = site();
    let both = register(&site, &["mcp:both"], 1);
    assert_eq!(code(&both), pair("ref_ambiguous", "mcp:both"));
    assert!(
        both["errors"][0]["message"].as_str().unwrap().contains("mcp:both@codex/user, mcp:both@cursor/user")
    );
    let leak = register(&site, &["mcp:leak"], 1);
    assert_eq!(code(&leak), pair("secret_in_entry", "leak.command[3]"));
    assert_eq!(leak["errors"][0]["line"], 4);
    assert!(!leak.to_string().contains("ghp_"));
    assert_eq!(code(&register(&site, &["mcp:brigade"], 1)), pair("own_gateway", "mcp:brigade"));
    let near = register(&site, &["mcp:fles"], 1);
    assert!(near["errors"][0]["message"].as_str().unwrap().contains("did you mean `mcp:files`?"));
    assert_eq!(code(&register(&site, &["mcp:日本"], 1)), pair("field_invalid", "id"));
    assert_eq!(register(&site, &["mcp:日本", "--id", "nippon"], 0)["registered"][0]["tool_id"], "nippon");
    let weird = register(&site, &["mcp:we\u{1b}ird"], 0);
    assert_eq!(weird["registered"][0]["tool_id"], "we-ird");
    // All references and files are registered, or none.
    let before = site.workspace.read_text(".brigade/tools.toml");
    let file = site.beside("more.yaml");
    fs::write(&file, "id: jq\nsource: {type: cli, command: jq}\n").unwrap();
    let file = file.display().to_string();
    register(&site, &[&file, "mcp:files", "mcp:leak"], 1);
    register(&site, &["mcp:files", "mcp:files"], 1);
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), before);
    let dry = register(&site, &[&file, "mcp:files", "--dry-run"], 0);
    assert_eq!(
        (&dry["registered_count"], &dry["registered"][1]["action"], &dry["registered"][1]["next_command"]),
        (&json!(2), &json!("would-add"), &json!(null))
    );
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), before);
    assert_eq!(register(&site, &[&file, "mcp:files"], 0)["registered_count"], 2);
    // Its runtime belongs to no other entry.
    let taken = register(&site, &["mcp:files"], 1);
    assert_eq!(code(&taken), pair("id_taken", "files.id"));
    assert!(taken["errors"][0]["message"].as_str().unwrap().contains("replace it"), "{taken:#}");
    assert_eq!(
        register(&site, &["mcp:files", "--id", "files-2"], 0)["registered"][0]["runtime_id"],
        "files-2"
    );
}

#[test]
fn no_value_of_a_command_is_written() {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", "");
    let config = r#"{"mcpServers": {
        "box": {"command": "docker", "args": ["run", "-e", "DB=CANARY", "img"]},
        "env": {"command": "env", "args": ["DB=CANARY", "npx", "x"]},
        "url": {"command": "npx", "args": ["mcp-remote", "https://h/CANARY/mcp?x=CANARY"]},
        "header": {"command": "npx", "args": ["mcp-remote", "--header", "X-Org: CANARY"]}}}"#;
    write(&site.workspace.home().join(".cursor/mcp.json"), config);
    let document = register(&site, &["mcp:box"], 0);
    assert_eq!(codes(&document, "notes"), [pair("value_not_kept", "box.env.DB")]);
    let runtimes = site.workspace.read_text(".brigade/tools/runtimes.toml");
    assert!(runtimes.contains("command = \"docker run -e DB img\"\n"), "{runtimes}");
    assert!(runtimes.contains("env_labels = [\"DB\"]\n"), "{runtimes}");
    for (name, at) in [("env", 2), ("url", 3), ("header", 4)] {
        let refused = register(&site, &[&format!("mcp:{name}")], 1);
        assert_eq!(code(&refused), pair("secret_in_entry", &format!("{name}.command[{at}]")));
        assert!(!refused.to_string().contains("CANARY"));
    }
    // It is not cached either.
    site.json(["sync"]).expect(0);
    site.assert_nowhere(b"CANARY", &[]);
}

#[test]
fn a_replaced_tool_is_always_disabled_again() {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", "");
    let file = site.beside("web.yaml");
    fs::write(&file, "id: web\nsource: {type: harness, provider: claude}\n").unwrap();
    let file = file.display().to_string();
    assert_eq!(register(&site, &[&file], 0)["registered"][0]["enabled"], true);
    let text = site.workspace.read_text(".brigade/tools.toml");
    site.workspace.write(".brigade/tools.toml", text + "enabled = false\n");
    assert_eq!(register(&site, &[&file, "--replace"], 0)["registered"][0]["enabled"], false);
    assert_eq!(site.json(["show", "web"]).expect(0)["tool"]["enabled"], false);
}

#[test]
fn replaced_server_is_disabled_and_keeps_additions() {
    let site = site();
    register(&site, &["mcp:files"], 0);
    let runtimes = site.workspace.read_text(".brigade/tools/runtimes.toml");
    let reviewed = runtimes
        .replace("enabled = false", "enabled = true # reviewed")
        .replace("[runtime.env]", "port = 8080\n[runtime.env]");
    site.workspace.write(".brigade/tools/runtimes.toml", reviewed);
    let config = site.workspace.home().join(".cursor/mcp.json");
    write(
        &config,
        &CURSOR
            .replace("1.2.3", "2.0.0")
            .replace(", \"env\": {\"ROOT\": \"/srv\", \"API_KEY\": \"SECRET\"}", ""),
    );
    assert_eq!(register(&site, &["mcp:files", "--replace"], 0)["registered"][0]["action"], "replace");
    let runtimes = site.workspace.read_text(".brigade/tools/runtimes.toml");
    assert!(
        runtimes.contains("enabled = false # reviewed\n") && runtimes.contains("port = 8080\n"),
        "{runtimes}"
    );
    assert!(runtimes.contains("@x/files@2.0.0") && !runtimes.contains("env_labels"), "{runtimes}");
}

#[test]
fn no_runtime_of_something_else_is_replaced() {
    let site = site();
    let mine = "[[runtime]]\nid = \"files\"\nname = \"mine\"\nenabled = true\ncommand = \"handwritten\"\ntimeout = 9\n";
    site.workspace.write(".brigade/tools/runtimes.toml", mine);
    site.workspace.write(
        ".brigade/tools.toml",
        "[[tool]]\nid = \"x\"\nname = \"x\"\nfamily = \"mcp\"\nruntime_id = \"files\"\nmcp_tool_name = \"y\"\n",
    );
    let refused = register(&site, &["mcp:files", "--replace"], 1);
    assert_eq!(code(&refused), pair("id_taken", "files.runtime_id"));
    assert_eq!(site.workspace.read_text(".brigade/tools/runtimes.toml"), mine);
    // If other tools use its runtime, a note says so.
    let catalog = site.workspace.read_text(".brigade/tools.toml");
    let own = "[[tool]]\nid = \"files\"\nname = \"f\"\nfamily = \"mcp\"\nruntime_id = \"files\"\nmcp_tool_name = \"z\"\n";
    site.workspace.write(".brigade/tools.toml", catalog + own);
    let replaced = register(&site, &["mcp:files", "--replace"], 0);
    assert!(codes(&replaced, "notes").contains(&pair("runtime_shared", "files.runtime_id")), "{replaced:#}");
}

/// Issue 15: the runtime of a replaced entry stayed without a note.
#[test]
fn the_runtime_of_a_replaced_entry_is_noted() {
    let site = site();
    register(&site, &["mcp:files"], 0);
    let file = site.beside("files.yaml");
    fs::write(&file, "id: files\nsource: {type: cli, command: files --list}\n").unwrap();
    let file = file.display().to_string();
    let document = register(&site, &[&file, "--replace"], 0);
    let notes = document["notes"].as_array().unwrap();
    let left = notes.iter().find(|note| note["code"] == "runtime_left").expect("a note");
    assert_eq!(left["field"], "files.runtime_id", "{left:#}");
    assert!(left["message"].as_str().unwrap().contains("`files`"), "{left:#}");
    // An entry that keeps its runtime leaves nothing.
    let again = register(&site, &["mcp:files", "--id", "again"], 0);
    assert!(!again["notes"].to_string().contains("runtime_left"), "{again:#}");
}

#[test]
fn the_level_of_the_user_has_runtimes_too() {
    let site = site();
    let folder = site.workspace.home().join(".config/brigade");
    let dry = register(&site, &["mcp:files", "skill:notes", "--level", "user", "--dry-run"], 0);
    assert_eq!(dry["registered_count"], 2);
    assert!(!folder.exists(), "a dry run makes nothing");
    register(&site, &["mcp:leak", "--level", "user"], 1);
    assert!(!folder.exists(), "what is refused makes nothing");
    let document = register(&site, &["mcp:files", "skill:notes", "--level", "user"], 0);
    let runtimes = folder.join("tools/runtimes.toml");
    assert_eq!(
        document["registered"][0]["next_command"],
        format!("${{EDITOR:-vi}} +4 {}", runtimes.display())
    );
    let listed = site.json(["runtime", "list"]).expect(0);
    assert_eq!(listed["runtimes"][0]["id"], "files");
    assert_eq!(site.json(["show", "files"]).expect(0)["tool"]["level"], "user");
    // Paths in the user's documents are relative to that directory, so the skill of this workspace has an absolute
    // path.
    let notes = site.json(["show", "notes"]).expect(0)["tool"].clone();
    assert!(Path::new(notes["source_detail"]["path"].as_str().unwrap()).is_absolute());
}

/// Every server in the fixtures of all harnesses is registered, or refused for a value in its command. The written
/// entries are valid.
#[test]
fn servers_of_every_harness_become_valid_entries() {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", "");
    copy(&fixtures().join("harnesses/home"), site.workspace.home());
    copy(&fixtures().join("harnesses/workspace"), site.workspace.path());
    let found = site.json(["discover", "--source", "mcp"]).expect(0);
    let mut harnesses = std::collections::BTreeSet::new();
    let mut count = 0;
    for entry in found["entries"].as_array().unwrap() {
        for origin in entry["origins"].as_array().unwrap() {
            let reference = origin["ref"].as_str().unwrap();
            count += 1;
            let id = format!("server-{count}");
            let answer = site.json(["register", reference, "--id", &id]);
            let words = entry["command"].as_array().unwrap();
            if words.iter().any(|word| word.as_str().unwrap().contains("[redacted]")) {
                // A value of `docker run -e` is omitted. Other values are refused.
                if answer.json["registered"].as_array().is_none_or(Vec::is_empty) {
                    assert_eq!(code(&answer.expect(1)).0, "secret_in_entry", "{reference}");
                    continue;
                }
                assert_eq!(answer.json["notes"][0]["code"], "value_not_kept", "{reference}");
            }
            let row = answer.expect(0)["registered"][0].clone();
            harnesses.insert(origin["harness"].as_str().unwrap().to_owned());
            let shown = site.json(["show", &id]).expect(0)["tool"].clone();
            assert_eq!(shown["source_detail"]["ref"], reference);
            assert_eq!(shown["source_detail"]["fingerprint"], entry["fingerprint"]);
            assert_eq!(shown["source_detail"]["transport"], entry["transport"]);
            assert_eq!((&shown["broken"], &shown["enabled"]), (&json!(false), &json!(false)), "{shown}");
            // The URL of a remote server may hold a secret, and is then left out.
            assert!(entry["transport"] != "stdio" || !row["runtime_id"].is_null(), "{reference}");
            if !row["runtime_id"].is_null() {
                let runtime = site.json(["runtime", "show", &id]).expect(0)["runtime"].clone();
                assert_eq!(runtime["enabled"], false);
                // The only problems are programs, directories and variables that are missing on this machine.
                let expected = ["runtime_bad_command", "runtime_missing_cwd", "runtime_env_missing"];
                let issues = runtime["issues"].as_array().unwrap().iter();
                for kind in issues.map(|issue| issue["issue_type"].as_str().unwrap()) {
                    assert!(expected.contains(&kind), "{runtime}");
                }
            }
        }
    }
    assert_eq!(harnesses.len(), 20, "{harnesses:?}");
    let summary = site.json(["runtime", "list"]).expect(0);
    assert_eq!(summary["errors"], json!([]));
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

/// Issue 17: other entries cannot have the name of a built-in tool.
#[test]
fn names_of_built_in_tools_are_refused() {
    let site = site();
    let file = site.beside("tools.yaml");
    write(
        &file,
        "tools:\n- {id: fs.read, source: {type: cli, command: jq}}\n- {id: TodoWrite, source: {type: cli, command: jq}}\n- {id: b, aliases: [ok, readFile, tools.call], source: {type: cli, command: jq}}\n",
    );
    let refused = register(&site, &[file.to_str().unwrap(), "--dry-run"], 1);
    let expect = [
        pair("reserved_tool_id", "fs.read.id"),
        pair("alias_taken", "TodoWrite.id"),
        pair("alias_taken", "b.aliases[2]"),
        pair("alias_taken", "b.aliases[3]"),
    ];
    assert_eq!(codes(&refused, "errors"), expect);
}

/// Issue 15: if several definitions are refused, each error names its definition, and notes name the tool.
#[test]
fn errors_of_several_definitions_name_them() {
    let site = site();
    let file = site.workspace.home().join(".cursor/mcp.json");
    write(&file, r#"{"mcpServers": {"a": {"command": "x", "url": "https://h/mcp", "env": {"KEY": "v"}}}}"#);
    let codex = site.workspace.home().join(".codex/config.toml");
    write(&codex, &format!("[mcp_servers.a]\ncommand = \"y\"\nargs = [\"--token\", \"{SECRET}\"]\n"));
    let refs = ["mcp:a@cursor/user", "mcp:a@codex/user", "mcp:no"];
    let refused = register(&site, &refs, 1);
    let named: Vec<_> = refused["errors"].as_array().unwrap().iter().map(|row| &row["ref"]).collect();
    assert_eq!(named, refs);
    let notes = refused["notes"].as_array().unwrap();
    let is_of_tool = |row: &Value| row["field"].as_str().unwrap().split('.').next() == Some("a");
    assert!(!notes.is_empty() && notes.iter().all(is_of_tool), "{notes:#?}");
    let text = site.tools(["register"].iter().chain(&refs)).stderr_text();
    assert!(refs.iter().all(|one| text.contains(one)), "{text}");
}

/// Issue 15: a definition that cannot be registered completely is refused. A broken file is named and its entries are
/// kept.
#[test]
fn unclear_definitions_and_broken_files_are_named() {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", "# mine\n");
    let file = site.workspace.home().join(".cursor/mcp.json");
    let servers = r#"{"mcpServers": {"args": {"command": "npx", "args": [null, "ok"]},
      "label": {"command": "x", "env": {"A=CANARYk": ""}},
      "proxy": {"command": "uvx", "args": ["mcp-proxy", "--headers", "X-Key", "CANARYh"]},
      "host": {"url": "https://me:CANARYp#x@h.example/mcp"}, "one": {"command": "one"},
      "none": {"url": "not a url"}, "file": {"url": "ftp://h.example/mcp"}}}"#;
    write(&file, servers);
    assert_eq!(code(&register(&site, &["mcp:args"], 1)), pair("definition_unclear", "args.command"));
    assert_eq!(code(&register(&site, &["mcp:label"], 1)), pair("field_invalid", "label.env_labels[1]"));
    assert_eq!(code(&register(&site, &["mcp:proxy"], 1)), pair("secret_in_entry", "proxy.command[5]"));
    let synced = site.json(["sync"]).expect(0);
    assert_eq!(synced["entry_count"], 7);
    for name in ["none", "file"] {
        let refused = register(&site, &[&format!("mcp:{name}")], 1);
        assert_eq!(code(&refused), pair("definition_unclear", &format!("{name}.url")));
        let is_told = |issue: &Value| {
            issue["code"] == "field_invalid" && issue["entry_id"] == format!("mcp:{name}").as_str()
        };
        assert!(synced["issues"].as_array().unwrap().iter().any(is_told), "{synced:#}");
    }
    let cache = site.workspace.read_text(".brigade/tools/discovered.json");
    assert!(!cache.to_lowercase().contains("canary"), "{cache}");
    assert!(!site.json(["discover"]).expect(0).to_string().to_lowercase().contains("canary"));
    for (filter, count) in
        [("--source=mcp", 7), ("--source=skill", 0), ("--family=mcp", 7), ("--available", 0)]
    {
        let listed = site.json(["list", "--level", "discovered", filter]).expect(0);
        assert_eq!(listed["discovered"].as_array().unwrap().len(), count, "{filter}");
    }
    write(&file, &servers.replace("{\"mcpServers\"", "\n{\"mcpServers\""));
    assert_eq!(site.json(["sync"]).expect(0)["changed"], json!([]));
    write(&file, "{");
    let synced = site.json(["sync"]).expect(0);
    assert_eq!((&synced["removed"], &synced["entry_count"]), (&json!([]), &json!(7)));
    assert!(synced["issues"].to_string().contains("what it said before is kept"), "{synced}");
    let refused = codes(&register(&site, &["mcp:one"], 1), "errors");
    assert_eq!(refused, [pair("ref_unknown", "mcp:one"), pair("client_file_invalid", "mcp:one")]);
    site.workspace.write(".brigade/tools/discovered.json", "{");
    let found = site.json(["search", "one"]).expect(0);
    assert!(found["notes"].to_string().contains("damaged"), "{found}");
}

#[test]
fn a_label_that_is_a_secret_is_refused() {
    let site = site();
    let entry =
        format!("[[tool]]\nid = \"x\"\nname = \"X\"\nfamily = \"skill\"\nenv_labels = [\"{SECRET}\"]\n");
    site.workspace.write("x.toml", &entry);
    let refused = register(&site, &["x.toml"], 1);
    assert_eq!(code(&refused), pair("secret_in_entry", "x.env_labels[1]"));
    assert!(!refused.to_string().contains(SECRET));
}
