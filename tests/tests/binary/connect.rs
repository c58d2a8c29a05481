//! Connects agent programs: one entry changes in their files, and every other byte stays.

#![allow(
    clippy::disallowed_methods,
    reason = "tests make files and links in a home directory, and look at modes"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use brigade_testkit::{Brigade, TempWorkspace};
use brigade_tests::Site;
use serde_json::{Value, json};

const CONNECTED: &str = ".brigade/tools/connected.json";

const GATEWAY: &str = ".brigade/tools/gateway.toml";

/// Client, scope, and the file on Linux and macOS. Files of the user begin with `~/`.
const FILES: &[(&str, &str, &str)] = &[
    ("claude", "project", ".mcp.json"),
    ("claude", "user", "~/.claude.json"),
    ("codex", "project", ".codex/config.toml"),
    ("codex", "user", "~/.codex/config.toml"),
    ("cursor", "project", ".cursor/mcp.json"),
    ("cursor", "user", "~/.cursor/mcp.json"),
    ("opencode", "project", "opencode.json"),
    ("opencode", "user", "~/.config/opencode/opencode.json"),
    ("gemini", "project", ".gemini/settings.json"),
    ("gemini", "user", "~/.gemini/settings.json"),
    ("vscode", "project", ".vscode/mcp.json"),
    ("windsurf", "project", ".windsurf/mcp_config.json"),
    ("windsurf", "user", "~/.codeium/windsurf/mcp_config.json"),
    ("zed", "user", "~/.config/zed/settings.json"),
];

/// Puts the binary on `PATH`, as an installation does.
fn installed(site: Site) -> Site {
    let programs = site.beside("programs");
    fs::create_dir_all(&programs).expect("the folder can be made");
    symlink(brigade_testkit::brigade_binary(), programs.join("brigade")).expect("the link can be made");
    site.env("PATH", format!("{}:{}", programs.display(), brigade_tests::PATH))
}

fn site() -> Site {
    let site = installed(Site::empty());
    site.workspace.write(".brigade/tools.toml", "");
    let agents =
        ["local", "ci-1", "my-agent", "me", "you"].map(|name| format!("[[agent]]\nname = '{name}'\n"));
    site.workspace.write(GATEWAY, agents.concat());
    site
}

fn path(site: &Site, file: &str) -> PathBuf {
    match file.strip_prefix("~/") {
        Some(rest) => site.workspace.home().join(rest),
        None => site.workspace.join(file),
    }
}

fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("the folder can be made");
    fs::write(path, bytes).expect("the file can be written");
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o7777
}

/// Connects a client, and returns the document of the successful command.
#[track_caller]
fn connect(site: &Site, words: &str) -> Value {
    site.json(["connect"].into_iter().chain(words.split(' '))).expect(0)
}

/// Connects a client, and returns the code and message of the refusal.
#[track_caller]
fn refused(site: &Site, words: &str, exit: i32) -> (String, String) {
    let run = site.tools(["connect"].into_iter().chain(words.split(' ')).chain(["--json"]));
    run.assert_code(exit);
    let document = run.json();
    let text = |key: &str| document[key].as_str().unwrap_or_default().to_owned();
    (text("code"), text("error"))
}

/// Returns the types and details of issues about clients.
fn issues(site: &Site) -> Vec<(String, String, String)> {
    let document = site.json(["doctor", "--only", "state"]).expect(0);
    let issues = document["issues"].as_array().expect("a list");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    issues
        .iter()
        .filter(|issue| text(&issue["issue_type"]).starts_with("client_"))
        .map(|issue| (text(&issue["issue_type"]), text(&issue["detail"]), text(&issue["fix"])))
        .collect()
}

/// Files of the user in the directory of settings, which `XDG_CONFIG_HOME` moves. Others are restored as these are.
#[test]
fn disconnecting_restores_the_files_of_every_client() {
    for (client, file, key) in [
        ("opencode", "~/.config/opencode/opencode.json", "mcp"),
        ("zed", "~/.config/zed/settings.json", "context_servers"),
    ] {
        let site = site();
        let path = path(&site, file);
        let words = format!("{client} --scope user --as ci-1");
        let original = format!("// top\n{{\n  \"{key}\": {{\n    \"empty\": \"\",\n  }},\n}} // end");
        for original in ["{}".to_owned(), original] {
            write(&path, &original);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("the mode can be set");
            let shown = connect(&site, &words);
            assert_eq!((&shown["status"], &shown["scope"]), (&json!("would-write"), &json!("user")));
            assert_eq!(shown["path"], json!(path.display().to_string()));
            assert_eq!(connect(&site, &format!("{words} --write"))["status"], "written");
            assert_eq!(connect(&site, &format!("{words} --write"))["status"], "unchanged");
            assert_eq!(mode(&path), 0o640);
            assert_eq!(issues(&site), []);
            let removed = connect(&site, &format!("{words} --remove"));
            assert_eq!((&removed["status"], &removed["entry"]), (&json!("removed"), &shown["entry"]));
            assert_eq!(String::from_utf8_lossy(&read(&path)), original);
            assert_eq!(connect(&site, &format!("{words} --remove"))["status"], "absent");
        }
        // A missing file is created with its directories, and removed with them again.
        let folder = path.parent().expect("a folder");
        fs::remove_dir_all(folder).expect("it is there");
        connect(&site, &format!("{words} --write"));
        assert_eq!((mode(&path), mode(&site.workspace.join(CONNECTED))), (0o600, 0o600));
        connect(&site, &format!("{words} --remove"));
        assert!(!folder.exists(), "{words}");
    }
}

#[test]
fn the_generic_entry_is_written_to_standard_output_alone() {
    let site = site();
    let target = fs::canonicalize(site.workspace.path()).expect("it is there").display().to_string();
    let args = json!(["serve", "--stdio", "--as", "local", "--target", target]);
    assert_eq!(connect(&site, "cursor --scope user")["entry"], json!({"command": "brigade", "args": args}));
    let generic = connect(&site, "json");
    let text: Value = serde_json::from_str(generic["text"].as_str().expect("a text")).expect("JSON");
    assert_eq!(text, json!({"mcpServers": {"brigade": {"command": "brigade", "args": args}}}));
    let shown = site.tools(["connect", "json"]);
    assert_eq!(serde_json::from_slice::<Value>(&shown.stdout).expect("only JSON"), text);
    assert_eq!(refused(&site, "json --write", 2).0, "client_unsupported");
}

#[test]
fn the_program_is_named_only_where_path_leads_to_it() {
    let site = site();
    let folder = site.workspace.join("bin");
    fs::create_dir_all(&folder).expect("the folder can be made");
    let command = |site: &Site| connect(site, "cursor --scope user")["entry"]["command"].clone();
    let with_path = |site: Site| {
        let path = format!("{}:{}", folder.display(), brigade_tests::PATH);
        site.env("PATH", path)
    };
    symlink(brigade_testkit::brigade_binary(), folder.join("brigade")).expect("the link can be made");
    let site = with_path(site);
    assert_eq!(command(&site), "brigade");
    connect(&site, "cursor --write");
    assert_eq!(issues(&site), []);
    fs::remove_file(folder.join("brigade")).expect("it is there");
    site.write_program("bin/brigade", "#!/bin/sh\n");
    assert_eq!(command(&site), json!(brigade_testkit::brigade_binary().display().to_string()));
    fs::remove_file(folder.join("brigade")).expect("it is there");
    let shared = connect(&site, "claude");
    assert_eq!(shared["entry"]["command"], "brigade");
    assert!(shared["notes"][0].as_str().is_some_and(|note| note.contains("not on PATH")), "{shared:#}");
    let found = issues(&site);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].1, "the entry in .cursor/mcp.json starts a program that does not exist");
}

#[test]
fn requests_that_mean_nothing_are_refused() {
    let site = site();
    assert_eq!(refused(&site, "curser", 1).0, "client_missing");
    site.workspace.remove(GATEWAY);
    assert_eq!(refused(&site, "cursor --as me", 1).0, "agent_missing");
    assert_eq!(connect(&site, "cursor")["as"], "local");
    site.tools(["connect", "cursor", "--write", "--remove"]).assert_code(2);
    let nowhere = Site::empty();
    assert_eq!(refused(&nowhere, "cursor", 1).0, "workspace_missing");
}

#[test]
fn user_links_are_followed_workspace_links_are_not() {
    let site = site();
    let (dotfile, linked) =
        (site.workspace.home().join("dotfiles/cursor.json"), path(&site, "~/.cursor/mcp.json"));
    write(&dotfile, "{}\n");
    fs::create_dir_all(linked.parent().expect("a folder")).expect("the folder can be made");
    symlink("../dotfiles/cursor.json", &linked).expect("the link can be made");
    connect(&site, "cursor --scope user --write");
    assert!(fs::symlink_metadata(&linked).expect("it is there").is_symlink());
    assert!(String::from_utf8_lossy(&read(&dotfile)).contains("\"brigade\""));
    connect(&site, "cursor --scope user --remove");
    assert_eq!(read(&dotfile), b"{}\n");

    symlink(linked.parent().expect("a folder"), site.workspace.join(".cursor"))
        .expect("the link can be made");
    let (code, error) = refused(&site, "cursor --write", 3);
    assert_eq!(code, "path_outside", "{error}");
    assert_eq!(read(&dotfile), b"{}\n");
    fs::remove_file(site.workspace.join(".cursor")).expect("it is there");
    site.workspace.write("shared/mcp.json", "{}");
    symlink("shared", site.workspace.join(".cursor")).expect("the link can be made");
    connect(&site, "cursor --write");
    assert!(site.workspace.read_text("shared/mcp.json").contains("\"brigade\""));
}

#[test]
fn a_disk_that_takes_nothing_loses_nothing() {
    let site = site();
    let file = path(&site, "~/.claude.json");
    write(&file, "{\"numStartups\": 1}\n");
    connect(&site, "cursor --write");
    let before = site.workspace.read(CONNECTED);
    let program = brigade_testkit::brigade_binary().display();
    let line = format!("ulimit -f 0; exec '{program}' tools connect claude --scope user --write --json");
    let run = Brigade::for_program("sh", &site.workspace).run(["-c", &line]);
    run.assert_code(3);
    assert_eq!(run.json()["code"], "file_too_large", "{run}");
    assert_eq!((read(&file), site.workspace.read(CONNECTED)), (b"{\"numStartups\": 1}\n".to_vec(), before));
    site.workspace.write(".codex", "in the way");
    assert_eq!(refused(&site, "codex --write", 3).0, "not_a_file");
    assert_eq!(site.workspace.read(".codex"), b"in the way");
}

#[test]
fn writers_at_once_lose_nothing() {
    let (one, two) = (site(), site());
    let home = one.workspace.home().to_owned();
    let command = |workspace: &TempWorkspace, words: &str| {
        let brigade = Brigade::new(workspace).env("HOME", &home);
        let mut command = brigade.command(["tools", "connect"].into_iter().chain(words.split(' ')));
        command.stdout(std::process::Stdio::null()).spawn().expect("it starts")
    };
    write(&home.join(".claude.json"), "{\"mcpServers\": {\"x\": {}}}");
    let mut running = Vec::new();
    for (client, scope, _) in FILES {
        for workspace in [&one.workspace, &two.workspace] {
            running.push(command(workspace, &format!("{client} --scope {scope} --write")));
        }
    }
    for child in &mut running {
        assert!(child.wait().expect("it ends").success());
    }
    for site in [&one, &two] {
        let connected: Value = serde_json::from_slice(&site.workspace.read(CONNECTED)).expect("JSON");
        assert_eq!(connected["entries"].as_array().map(Vec::len), Some(FILES.len()));
    }
    let claude: Value = serde_json::from_slice(&read(&home.join(".claude.json"))).expect("JSON");
    assert_eq!(claude["mcpServers"].as_object().map(serde_json::Map::len), Some(2));
}

#[test]
fn doctor_tells_when_an_entry_is_stale() {
    let site = site();
    connect(&site, "cursor --as me --write");
    let file = site.workspace.join(".cursor/mcp.json");
    let written = String::from_utf8(read(&file)).expect("text");
    let check = |text: Option<&str>, expect: &str| {
        match text {
            Some(text) => write(&file, text),
            None => fs::remove_file(&file).expect("it is there"),
        }
        let fix = "brigade tools connect cursor --scope project --transport stdio --as me --write";
        let found = issues(&site);
        let expect = ("client_entry_stale".to_owned(), expect.to_owned(), fix.to_owned());
        assert_eq!(found, [expect]);
    };
    check(Some("{}"), ".cursor/mcp.json has no entry `brigade`");
    check(Some(&written.replace("\"me\"", "\"you\"")), "the entry in .cursor/mcp.json was changed");
    check(Some("{"), ".cursor/mcp.json: unexpected end of text");
    check(None, ".cursor/mcp.json does not exist");
    // Additions of a person to the entry do not count as changes.
    write(&file, written.replace("\"command\"", "\"env\": {\"A\": \"b\"}, \"command\""));
    assert_eq!(issues(&site), []);
    connect(&site, "cursor --as you --write");
    assert!(String::from_utf8_lossy(&read(&file)).contains("\"A\": \"b\""));

    site.workspace.replace(GATEWAY, "'you'", "'they'");
    let found = issues(&site);
    assert_eq!(found.len(), 1, "{found:?}");
    let gone = "the entry in .cursor/mcp.json is for the agent `you`, which gateway.toml does not name";
    assert_eq!(found[0].1, gone);
    site.workspace.replace(GATEWAY, "'they'", "'you'");

    // A workspace was moved. Its own files name no directory, and those of the user name the missing one.
    connect(&site, "gemini --scope user --as you --write");
    let moved = installed(Site::empty());
    let of_user = "~/.gemini/settings.json";
    write(&path(&moved, of_user), read(&path(&site, of_user)));
    for (name, bytes) in site.workspace.files("") {
        moved.workspace.write(name, bytes);
    }
    let found = issues(&moved);
    assert_eq!(found.len(), 1, "{found:?}");
    let why = "/.gemini/settings.json starts the gateway of another workspace";
    assert!(found[0].1.ends_with(why), "{found:?}");
}

#[test]
fn client_files_follow_variables_and_other_names() {
    let site = site();
    let folder = site.workspace.home().join("elsewhere");
    let site = site.env("CODEX_HOME", folder.display().to_string());
    connect(&site, "codex --scope user --write");
    assert!(folder.join("config.toml").exists());
    let connected: Value = serde_json::from_slice(&site.workspace.read(CONNECTED)).expect("JSON");
    assert_eq!(connected["entries"][0]["path"], "~/elsewhere/config.toml");
    assert_eq!(issues(&site), []);
    site.workspace.write(".opencode/opencode.jsonc", "{} // mine\n");
    let shown = connect(&site, "opencode --write");
    assert!(
        shown["path"].as_str().is_some_and(|path| path.ends_with("/.opencode/opencode.jsonc")),
        "{shown}"
    );
    assert!(!site.workspace.exists("opencode.json"));
}

#[test]
fn a_program_of_a_run_connects_nothing() {
    let program = brigade_testkit::brigade_binary().display();
    let site = Site::script(&format!("exec '{program}' tools connect cursor --write --json"));
    let receipt = site.receipt_of("tool", "{}");
    let answer: Value = serde_json::from_slice(&site.log(&receipt, "stdout")).expect("one document");
    assert_eq!(answer["code"], "inside_a_run", "{answer}");
    assert!(!site.workspace.exists(".cursor"));
}
