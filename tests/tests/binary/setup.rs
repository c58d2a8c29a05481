//! `brigade setup` and `brigade add`: from a machine with programs and servers to governed calls. Issue 45.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests make a home directory, and fail if they cannot"
)]

use std::fs;

use brigade_tests::Site;
use serde_json::{Value, json};

use super::serve_common::{Client, about, stands, text};

/// A server whose tools read, write, and say nothing about themselves.
const SERVER: &str = r#"import json, os, sys
NAME = sys.argv[1]
def tool(name, hints):
    return {"name": name, "description": "The " + name + " of " + NAME, "annotations": hints, "inputSchema":
        {"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": False}}
TOOLS = [tool("read", {"readOnlyHint": True}), tool("write", {"readOnlyHint": False}), tool("other", {})]
def answer(method, params):
    if method == "initialize":
        known = {"name": NAME, "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": known}
    if method == "tools/list": return {"tools": TOOLS}
    if method == "tools/call":
        if params["name"] == "write": open(NAME + ".txt", "w").write(params["arguments"].get("text", ""))
        return {"content": [{"type": "text", "text": NAME + " " + params["name"]}]}
    return {}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// Makes a home with five servers in three programs. The server `broken` does not start.
fn site() -> Site {
    let site = Site::empty();
    site.workspace.write("server.py", SERVER);
    let server = site.workspace.join("server.py").display().to_string();
    let entry = |name: &str| json!({"command": "python3", "args": ["-S", "-E", server, name]});
    let home = site.workspace.home();
    let write = |path: &str, text: String| {
        fs::create_dir_all(home.join(path).parent().unwrap()).unwrap();
        fs::write(home.join(path), text).unwrap();
    };
    let broken = json!({"command": "python3", "args": ["-S", "-E", site.workspace.join("none.py")]});
    let of_claude = json!({"mcpServers": {"notes": entry("notes"), "clock": entry("clock")}});
    write(".claude.json", format!("{of_claude:#}\n"));
    let of_codex =
        format!("[mcp_servers.memo]\ncommand = \"python3\"\nargs = [\"-S\", \"-E\", {server:?}, \"memo\"]\n");
    write(".codex/config.toml", of_codex);
    write(".cursor/mcp.json", json!({"mcpServers": {"echo": entry("echo"), "broken": broken}}).to_string());
    site
}

fn files(site: &Site) -> Vec<String> {
    let mut files: Vec<String> = site.workspace.files("").into_keys().collect();
    files.sort();
    files
}

#[test]
fn six_answers_lead_to_the_first_calls() {
    let site = site();
    let before = files(&site);
    let steps = json!([
        {"size": [160, 400]},
        {"see": "or the user for all projects? [project]:"}, {"type": "\n"},
        {"see": "Which agent programs? Names or numbers, all, or none [all]:"}, {"type": "claude, codx\n"},
        {"see": "`codx` is not an answer; type names or numbers of the table"}, {"type": "claude, codex\n"},
        {"see": "Which servers? Names or numbers, all, or none [all]:"}, {"type": "\n"},
        {"see": "list the tools? [yes]:"}, {"type": "\n"},
        {"see": "or none? [all]:"}, {"type": "\n"},
        {"see": "Write these changes? Type yes:"}, {"keep": "changes"}, {"type": "yes\n"},
        "end"
    ]);
    let seen = site.on_terminal(&steps, &["setup"]);
    // One server does not start, so the command says that not everything is set up.
    assert_eq!(seen.code, 1, "{}", seen.screen);
    let shown = seen.kept("changes");
    for expect in [
        "left out broken: ",
        "notes-read   local-read   run without asking",
        "notes-write  local-write  ask you first",
        "off: its server does not say what it does",
        "rule setup-reads: calls by claude and codex of 4 tools that only read here run without asking",
        "+tools = [\"clock-read\", \"echo-read\", \"memo-read\", \"notes-read\"]",
    ] {
        assert!(shown.contains(expect), "no `{expect}`\n{shown}");
    }
    let entry: Value = serde_json::from_str(&site.workspace.read_text(".mcp.json")).unwrap();
    let words = json!(["serve", "--stdio", "--as", "claude"]);
    assert_eq!(entry["mcpServers"]["brigade"]["command"], "brigade");
    assert_eq!(entry["mcpServers"]["brigade"]["args"], words, "no path and no name of this machine");
    assert!(site.workspace.read_text(".codex/config.toml").contains("codex"));
    assert!(!site.workspace.exists(".cursor/mcp.json"));
    assert!(before.iter().all(|path| files(&site).contains(path)));

    let mut client = Client::connect(&site, "claude");
    let read = client.call("notes-read", json!({}));
    assert_eq!(
        (text(&read).as_str(), &about(&read)["status"]),
        ("notes read", &json!("completed")),
        "{read:#}"
    );
    let write = client.call("notes-write", json!({"text": "x"}));
    assert_eq!(about(&write)["code"], "approval_pending", "{write:#}");
    let id = about(&write)["id"].as_str().unwrap().to_owned();
    site.tools(["call", "approve", &id]).assert_code(0);
    let write = client.call("notes-write", json!({"text": "x"}));
    assert_eq!(text(&write), "notes write", "{write:#}");
    assert_eq!(site.workspace.read_text("notes.txt"), "x");
}

/// Issue 45: the script of a server is often in a directory of the person.
#[test]
fn a_server_outside_of_the_workspace_is_listed() {
    let site = Site::empty();
    let script = site.beside("own.py");
    fs::write(&script, SERVER).unwrap();
    let own = json!({"command": "python3", "args": ["-S", "-E", script, "own"]});
    let broken = json!({"command": "python3", "args": [site.beside("none.py")]});
    let servers = json!({"mcpServers": {"own": own, "broken": broken}});
    fs::write(site.workspace.home().join(".claude.json"), servers.to_string()).unwrap();
    let done = site.brigade.run(["setup", "--agents", "none", "--yes"]);
    done.assert_code(1);
    let said = done.stdout_text();
    assert!(said.contains("own (2 of 3 tools)") && said.contains("left out broken: "), "{said}");
    assert!(!done.stderr_text().contains("starting"), "{}", done.stderr_text());
    // The entry of the server and its runtime are one thing.
    assert_eq!(site.document(["show", "own"]).expect(0)["schema"], "brigade.runtime.v1");
}

#[test]
fn nothing_is_left_after_a_no() {
    let site = site();
    let before = files(&site);
    // The last one is Ctrl-C.
    for answers in [["\n", "no\n"].as_slice(), &["\n", "\n", "\n", "no\n"], &["\n", "\n", "\n", "\u{3}"]] {
        let mut steps = vec![json!({"size": [160, 400]})];
        let questions = ["Which agent programs?", "Which servers?"];
        steps.extend(questions.iter().flat_map(|see| [json!({"see": see}), json!({"type": "\n"})]));
        let questions = ["list the tools?", "or none?", "Write these changes?"];
        for (see, answer) in questions.iter().zip(&answers[1..]) {
            steps.extend([json!({"see": see}), json!({"type": answer})]);
        }
        steps.push(json!("end"));
        let seen = site.on_terminal(&json!(steps), &["setup", "--project"]);
        assert_eq!(seen.code, 1, "{}", seen.screen);
        assert!(seen.screen.contains("nothing was written"), "{}", seen.screen);
        assert_eq!(files(&site), before, "{}", seen.screen);
        let folder = site.workspace.join(".brigade");
        assert!(!folder.exists(), "homes of started servers are removed");
    }
}

#[test]
fn scripts_choose_and_a_second_time_adds_what_is_new() {
    let site = site();
    let words = ["setup", "--agents", "claude", "--servers", "notes"];
    assert_eq!(
        site.document(words).expect(2)["help"],
        "pass `--yes` to agree, or `--dry-run` to only see what it would do"
    );
    let dry = site.document([&words[..], &["--dry-run"]].concat()).expect(0);
    assert_eq!((&dry["written"], &dry["servers"][0]["state"]), (&json!(false), &json!("new")));
    assert!(!site.workspace.exists(".brigade"));
    let done = site.document([&words[..], &["--yes"]].concat()).expect(0);
    assert_eq!((&done["written"], &done["rule"]["name"]), (&json!(true), &json!("setup-reads")));
    let paths: Vec<&str> =
        done["changes"].as_array().unwrap().iter().map(|change| change["path"].as_str().unwrap()).collect();
    assert!(paths.iter().any(|path| path.ends_with("/.mcp.json")), "{paths:?}");

    let again = site.document([&words[..], &["--yes"]].concat()).expect(0);
    assert_eq!(
        (&again["change_count"], &again["servers"][0]["state"]),
        (&json!(0), &json!("known")),
        "{again:#}"
    );
    let more =
        site.document(["setup", "--agents", "claude,codex", "--servers", "notes,memo", "--yes"]).expect(0);
    let states: Vec<&Value> = more["servers"].as_array().unwrap().iter().map(|row| &row["state"]).collect();
    assert_eq!(states, ["known", "new"], "{more:#}");
    let policy = site.workspace.read_text(".brigade/tools/policy.toml");
    assert!(policy.contains("tools = [\"notes-read\", \"memo-read\"]\n"), "{policy}");
    assert!(policy.contains("agents = [\"claude\", \"codex\"]\n"), "{policy}");
    let unknown = site.document(["setup", "--agents", "claud", "--yes"]).expect(2);
    assert_eq!(unknown["help"], "did you mean `claude`?");
}

#[test]
fn the_brief_says_what_changed_since_the_setup() {
    let site = site();
    site.document(["setup", "--agents", "claude", "--servers", "notes", "--yes"]).expect(0);
    let changes = || site.document(["work", "brief"]).expect(0)["machine_changes"].clone();
    assert_eq!(changes(), json!([]));
    let path = site.workspace.home().join(".cursor/mcp.json");
    fs::write(path, json!({"mcpServers": {"later": {"command": "true"}}}).to_string()).unwrap();
    assert_eq!(changes(), json!(["new mcp:later", "gone mcp:broken", "gone mcp:echo"]));
}

#[test]
fn an_undo_takes_back_what_is_as_it_was_written() {
    let site = site();
    let before = files(&site);
    let words = ["setup", "--agents", "claude", "--servers", "notes", "--yes"];
    site.document(words).expect(0);
    let undone = site.document(["setup", "--undo", "--yes"]).expect(0);
    assert_eq!((&undone["undo"], &undone["written"]), (&json!(true), &json!(true)), "{undone:#}");
    let left: Vec<String> = files(&site).into_iter().filter(|path| !before.contains(path)).collect();
    // Locks, and what a person reviewed.
    let stays = |path: &String| path.ends_with(".lock") || path.ends_with("/trusted.json");
    assert!(left.iter().all(stays), "{left:?}");
    assert!(!site.workspace.exists(".brigade/tools/runtime/notes"), "an empty home is removed");
    for gone in
        [".mcp.json", ".brigade/tools.toml", ".brigade/tools/policy.toml", ".brigade/tools/gateway.toml"]
    {
        assert!(!site.workspace.exists(gone), "{gone} {undone:#}");
    }
    assert_eq!(site.document(["setup", "--undo", "--yes"]).expect(0)["change_count"], 0);

    site.document(words).expect(0);
    site.add_to_policy("# mine\n");
    site.workspace.write(".brigade/tools/runtime/notes/home/kept", "x");
    let undone = site.document(["setup", "--undo", "--yes"]).expect(0);
    let kept = undone["changes"].as_array().unwrap().iter().filter(|change| change["action"] == "keep");
    let mut kept = kept.map(|change| change["path"].as_str().unwrap());
    assert!(kept.next().unwrap().ends_with("/policy.toml"), "{undone:#}");
    assert!(
        kept.next().unwrap().ends_with("/runtime/notes/home"),
        "what the server stored stays: {undone:#}"
    );
    assert!(site.workspace.exists(".brigade/tools/policy.toml"));
}

/// Issue 45: servers that are in the catalog already are governed as those that are new.
#[test]
fn a_setup_completes_what_is_missing() {
    let other: &[&str] = &["enable", "notes-other", "--effects", "local-read", "--yes"];
    let undo: &[&str] = &["setup", "--undo", "--yes"];
    let all: &[&str] = &["setup", "--yes"];
    let lost: &[&str] = &[".brigade/tools/policy.toml", ".gitignore"];
    let rows: [(&[&[&str]], &[&str]); 4] = [
        (&[&["add", "notes", "--yes"]], &[]),
        (&[&["setup", "--agents", "none", "--yes"]], &[]),
        (&[all, other, undo], &[]),
        (&[all, other], lost),
    ];
    for (before, lost) in rows {
        let site = site();
        fs::write(site.workspace.home().join(".cursor/mcp.json"), "{}").unwrap();
        for words in before {
            site.document(*words).expect(0);
        }
        for path in lost {
            fs::remove_file(site.workspace.join(path)).unwrap();
        }
        let done = site.document(all).expect(0);
        let policy = site.workspace.read_text(".brigade/tools/policy.toml");
        let rule = policy.lines().find(|line| line.starts_with("tools = [")).unwrap_or_default();
        let has_other = before.contains(&other).then_some(&"notes-other");
        for id in ["clock-read", "memo-read", "notes-read"].iter().chain(has_other) {
            assert!(rule.contains(&format!("\"{id}\"")), "{before:?} {id} {policy}\n{done:#}");
        }
        assert!(!rule.contains("write"), "{rule}");
        assert!(policy.contains("allowed_families = [\"script\", \"mcp\"]\n"), "{before:?} {policy}");
        assert!(site.workspace.read_text(".gitignore").contains(".brigade/tools/"), "{before:?}");
        let read = Client::connect(&site, "codex").call("notes-read", json!({}));
        assert_eq!(about(&read)["status"], "completed", "{before:?} {read:#}");
        let again = site.document(all).expect(0);
        assert_eq!((&again["change_count"], &again["rule"]), (&json!(0), &Value::Null), "{again:#}");
    }
}

/// Issue 45: calls of tools that stay are still confined, and no receipt gets into a commit.
#[test]
fn an_undo_keeps_what_the_rest_needs() {
    let disable: &[&str] = &["disable", "notes-write", "--yes"];
    for disable in [None, Some(disable)] {
        let site = site();
        site.document(["setup", "--agents", "claude", "--servers", "notes", "--yes"]).expect(0);
        match disable {
            Some(words) => drop(site.document(words).expect(0)),
            None => drop(Client::connect(&site, "claude").call("notes-read", json!({}))),
        }
        let undone = site.brigade.run(["setup", "--undo", "--yes"]);
        undone.assert_code(0);
        let said = undone.to_string();
        let lines: Vec<&str> = said.lines().filter(|line| line.contains("kept .")).collect();
        assert!(
            matches!(*lines, [line] if line.contains("/.brigade and the lines of Brigade in /")),
            "{said}"
        );
        for path in [".brigade/tools/policy.toml", ".gitignore"] {
            assert!(site.workspace.exists(path), "{path} {said}");
        }
        assert!(!site.workspace.exists(".mcp.json"), "{said}");
        assert_eq!(site.workspace.exists(".brigade/tools.toml"), disable.is_some(), "{said}");
        assert_eq!(site.document(["setup", "--undo", "--yes"]).expect(0)["change_count"], 0);
    }
}

/// Issue 45: what a setup cannot read or does not find is said.
#[test]
fn a_setup_says_what_is_missing() {
    let broken = json!({"mcpServers": {"none": {"command": "python3", "args": ["none.py"]}}}).to_string();
    for (file, code, expect) in [
        (None, 0, "no agent program and no MCP server was found or chosen"),
        (Some("{\"mcpServers\": {\"a\": }\n"), 0, "/.claude.json:1:"),
        (Some("{}"), 0, "no MCP server was found or chosen"),
        (Some(&*broken), 1, "none of the servers works"),
    ] {
        let site = Site::empty();
        if let Some(text) = file {
            fs::write(site.workspace.home().join(".claude.json"), text).unwrap();
        }
        let dry = site.document(["setup", "--dry-run"]).expect(code);
        let notes: Vec<&str> = dry["notes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(notes.iter().any(|note| note.contains(expect)), "{expect} {dry:#}");
        let run = site.brigade.run(["setup", "--yes"]);
        run.assert_code(code);
        assert!(run.to_string().contains(expect), "{expect} {run}");
    }
}

/// Issue 45: the entry of a server is not one of its tools.
#[test]
fn patterns_enable_tools_and_no_entries_of_servers() {
    let site = site();
    site.document(["setup", "--agents", "claude", "--servers", "notes", "--yes"]).expect(0);
    let ids = |words: &[&str]| -> Vec<String> {
        let rows = site.document(words).expect(0)["tools"].clone();
        rows.as_array().unwrap().iter().map(|row| row["tool_id"].as_str().unwrap().to_owned()).collect()
    };
    let mut picked = ids(&["enable", "notes*", "--dry-run"]);
    picked.sort();
    assert_eq!(picked, ["notes-other", "notes-read", "notes-write"]);
    assert_eq!(ids(&["enable", "notes", "--dry-run"]), ["notes"]);
    site.document(["enable", "note?", "--yes"]).expect(1);
}

/// Issue 45: a setup that was killed wrote some of its files.
#[test]
fn an_undo_takes_back_half_a_setup() {
    let site = site();
    let before = files(&site);
    site.document(["setup", "--agents", "claude", "--servers", "notes", "--yes"]).expect(0);
    fs::remove_file(site.workspace.join(".brigade/tools/runtimes.toml")).unwrap();
    let undone = site.document(["setup", "--undo", "--yes"]).expect(0);
    let kept = undone["changes"].as_array().unwrap().iter().any(|change| change["action"] == "keep");
    assert!(!kept, "{undone:#}");
    let left: Vec<String> = files(&site).into_iter().filter(|path| !before.contains(path)).collect();
    assert!(left.iter().all(|path| path.ends_with(".lock") || path.ends_with("/trusted.json")), "{left:?}");
}

/// Issue 45: of two setups at once, each that succeeds is there afterwards.
#[test]
fn setups_at_once_lose_nothing() {
    let site = site();
    let servers = ["notes", "clock", "memo"];
    let setup =
        |server: &str| site.document(["setup", "--agents", "claude", "--servers", server, "--yes"]).code;
    let codes: Vec<i32> = std::thread::scope(|scope| {
        let all: Vec<_> = servers.iter().map(|server| scope.spawn(move || setup(server))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let catalog = site.workspace.read_text(".brigade/tools.toml");
    for (server, code) in servers.iter().zip(&codes) {
        let is_there = catalog.contains(&format!("id = \"{server}-read\""));
        assert_eq!(is_there, *code == 0, "{server} {code}\n{catalog}");
    }
    assert!(codes.contains(&0), "{codes:?}");
}

/// Issue 45: programs of agents and shells of people have different values of PATH.
#[test]
fn a_call_may_be_approved_with_another_path() {
    let site = site();
    site.document(["setup", "--agents", "claude", "--servers", "notes", "--yes"]).expect(0);
    let command = site.json(["runtime", "show", "notes"]).expect(0)["runtime"]["command"].clone();
    assert!(command.as_str().is_some_and(|command| command.starts_with('/')), "{command}");
    let doctor = site.json(["doctor"]).run.stdout_text();
    assert!(!doctor.contains("definition_changed") && doctor.contains("client_bypasses_gateway"), "{doctor}");
    let mut client = Client::connect(&site, "claude");
    let asked = client.call("notes-write", json!({"text": "x"}));
    let said = text(&asked);
    assert!(said.contains("`brigade approve call-") && !said.contains("tools call"), "{said}");
    let folder = site.beside("bin");
    fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink("/bin/false", folder.join("python3")).unwrap();
    let path = std::env::join_paths([folder, "/usr/bin".into(), "/bin".into()]).unwrap();
    let brigade = site.brigade.clone().env("PATH", path.to_str().unwrap());
    brigade.run(["pending"]).assert_code(0);
    brigade.run(["approve", "1"]).assert_code(0);
    assert_eq!(text(&client.call("notes-write", json!({"text": "x"}))), "notes write");
}

/// Issue 45: what repeats a call has a short id, too.
#[test]
fn people_see_no_long_ids_of_repeated_calls() {
    let site = site();
    site.document(["setup", "--agents", "claude,codex", "--servers", "notes", "--yes"]).expect(0);
    for agent in ["claude", "codex"] {
        let said = text(&Client::connect(&site, agent).call("notes-write", json!({"text": "x"})));
        assert!(said.contains("`brigade approve call-"), "{said}");
    }
    let rows = site.document(["pending"]).expect(0)["rows"].clone();
    let short = |at: usize| rows[at]["short_id"].as_str().unwrap().to_owned();
    assert!(short(0).len() == 10 && short(1).starts_with(&short(0)), "{rows:#}");
    let shown = site.document(["show", &short(0)]).expect(0);
    assert_eq!(shown["call"]["id"], rows[0]["ids"][0], "{shown:#}");
    for words in
        [&["pending"][..], &["show", &short(1)], &["why", &short(1)], &["approve", "--all"], &["log"]]
    {
        let run = site.brigade.run(words);
        assert!(!run.to_string().contains("-queued-"), "{run}");
    }
}

#[test]
fn one_gateway_serves_all_projects_of_the_user() {
    let site = site();
    let before = files(&site);
    let reads = site.workspace.path().to_str().unwrap();
    let words = ["setup", "--user", "--agents", "claude", "--servers", "clock", "--reads", reads, "--yes"];
    let done = site.document(words).expect(0);
    let root = site.workspace.home().join(".config/brigade/gateway");
    assert_eq!((&done["level"], &done["target"]), (&json!("user"), &json!(root)), "{done:#}");
    assert_eq!(files(&site), before, "the project stays as it was");
    let written: Value =
        serde_json::from_str(&fs::read_to_string(site.workspace.home().join(".claude.json")).unwrap())
            .unwrap();
    let args = written["mcpServers"]["brigade"]["args"].as_array().unwrap();
    assert!(args.contains(&json!(root)), "{written:#}");
    assert!(written["mcpServers"]["notes"].is_object(), "other entries stay");
}

/// Issue 45: the policy of the project that a client works in narrows the gateway of the user, and never widens it.
#[test]
fn projects_narrow_the_gateway_of_the_user() {
    const POLICY: &str = ".brigade/tools/policy.toml";
    let site = site();
    let reads = site.workspace.path().to_str().unwrap();
    let words = ["setup", "--user", "--agents", "claude", "--servers", "clock", "--reads", reads, "--yes"];
    site.document(words).expect(0);
    let root = site.workspace.home().join(".config/brigade/gateway");
    let mut client = Client::start(&site, &["--as", "claude", "--target", root.to_str().unwrap()]);
    client.hello("2025-11-25", json!({}));
    let rule = |effect: &str| {
        format!("[[auto_approve]]\nname = \"r\"\ntools = [\"clock-*\"]\neffects = [\"{effect}\"]\n")
    };
    let (reads, writes) = (rule("local-read"), rule("local-write"));
    // Also what a policy of the project allows is decided by that of the user: `write` asks.
    let rows = [
        (None, "clock-read", "completed", ""),
        (Some(""), "clock-read", "pending", "approval_pending"),
        (Some(&*writes), "clock-read", "pending", "approval_pending"),
        (Some(&*reads), "clock-read", "completed", ""),
        (Some(&*writes), "clock-write", "pending", "approval_pending"),
        (Some("denied_effects = 1\n"), "clock-read", "refused", "policy_invalid"),
    ];
    for (policy, tool, status, code) in rows {
        if let Some(policy) = policy {
            site.workspace.write(POLICY, policy);
        }
        let answer = client.call(tool, json!({"text": policy.unwrap_or_default()}));
        assert_eq!(stands(&answer), (status.to_owned(), code.to_owned()), "{policy:?} {answer:#}");
        let file = site.workspace.join(POLICY).display().to_string();
        assert!(status != "refused" || text(&answer).contains(&file), "{answer:#}");
    }
    // What a policy denies is not listed.
    site.workspace.write(POLICY, "denied_effects = [\"local-read\"]\n");
    let listed = client.names();
    assert!(listed.iter().any(|name| name == "clock-write"), "{listed:?}");
    assert!(!listed.iter().any(|name| name == "clock-read"), "{listed:?}");
}

#[test]
fn one_server_is_added_by_its_name() {
    let site = site();
    let added = site.document(["add", "notes", "--enable", "reads", "--yes"]).expect(0);
    let enabled: Vec<&Value> =
        added["servers"][0]["tools"].as_array().unwrap().iter().map(|tool| &tool["enabled"]).collect();
    assert_eq!(enabled, [true, false, false], "{added:#}");
    let listed = site.json(["list"]).expect(0);
    let listed = listed["tools"].as_array().unwrap().iter().filter(|tool| tool["enabled"] == true);
    assert_eq!(listed.map(|tool| tool["id"].as_str()).collect::<Vec<_>>(), [Some("notes-read")]);
    // People see what is enabled, and all on request.
    let listed = |words: &[&str]| site.tools(words.iter().copied()).stdout_text();
    let (some, all) = (listed(&["list"]), listed(&["list", "--all"]));
    assert!(some.contains("notes-read") && !some.contains("notes-write"), "{some}");
    assert!(all.contains("notes-write (disabled)"), "{all}");
    // Both spellings of the command are the same.
    site.document(["disable", "notes-*", "--yes"]).expect(0);
    site.document(["enable", "notes-read", "--yes"]).expect(0);
    let found = site.json(["find", "read", "notes"]).expect(0);
    assert_eq!(found["matches"][0]["id"], "notes-read", "{found:#}");
    let unknown = site.document(["add", "note", "--yes"]).expect(2);
    assert_eq!(unknown["help"], "did you mean `notes`?");
}

#[test]
fn discovery_leads_to_the_setup() {
    let site = site();
    let run = site.brigade.run(["discover"]);
    run.assert_code(0);
    assert_eq!(run.stderr_text().lines().last(), Some("help: brigade setup"), "{run}");
}

#[test]
fn connecting_offers_to_add_the_agent() {
    let site = site();
    site.tools(["init"]).assert_code(0);
    let words = ["tools", "connect", "codex", "--as", "codex", "--write"];
    let missing = site.document(words).expect(1);
    assert_eq!(
        (&missing["code"], &missing["help"]),
        (&json!("agent_missing"), &json!("brigade tools agent add codex"))
    );
    let steps = json!([{"see": "There is no agent `codex`. Add it? Type yes:"}, {"type": "yes\n"}, "end"]);
    let seen = site.on_terminal(&steps, &words);
    assert_eq!(seen.code, 0, "{}", seen.screen);
    let gateway = site.workspace.read_text(".brigade/tools/gateway.toml");
    assert!(gateway.contains("name = \"codex\"\n") && !gateway.contains("token"), "{gateway}");
}

/// Issue 45: what was shown is what is written, also in the files of programs.
#[test]
fn a_program_file_that_changed_since_it_was_shown_is_kept() {
    let site = site();
    let file = site.workspace.home().join(".codex/config.toml");
    let before = files(&site);
    let steps = json!([
        {"see": "Write these changes? Type yes:"}, {"touch": file}, {"type": "yes\n"},
        "end"
    ]);
    let words = ["setup", "--user", "--agents", "codex", "--servers", "none"];
    let seen = site.on_terminal(&steps, &words);
    assert_eq!(seen.code, 1, "{}", seen.screen);
    assert!(seen.screen.contains("error[changed_meanwhile]: `"), "{}", seen.screen);
    assert!(seen.screen.contains("changed after it was shown, so nothing was written"), "{}", seen.screen);
    assert_eq!(fs::read_to_string(&file).unwrap(), "");
    let catalog = site.workspace.home().join(".config/brigade/gateway/.brigade/tools.toml");
    assert!(!catalog.exists());
    assert_eq!(files(&site), before);
    let again = site.document([&words[..], &["--yes"]].concat()).expect(0);
    assert_eq!(again["written"], true, "{again:#}");
}

/// Issue 45: what the catalog alone has is listed, too, and its tools with it.
#[test]
fn a_governed_server_without_a_program_is_listed() {
    let site = site();
    site.document(["add", "notes", "--yes"]).expect(0);
    let tools = site.document(["show", "notes"]).expect(0)["tools"].clone();
    let ids: Vec<&Value> = tools.as_array().unwrap().iter().map(|tool| &tool["tool_id"]).collect();
    assert_eq!(ids, ["notes-other", "notes-read", "notes-write"], "{tools:#}");
    let shown = site.brigade.run(["show", "notes"]).stdout_text();
    assert!(shown.contains("notes-read   yes  local-read"), "{shown}");
    fs::write(site.workspace.home().join(".claude.json"), "{}").unwrap();
    let steps = json!([
        {"see": "Which agent programs?"}, {"keep": "found"}, {"type": "none\n"},
        {"see": "Which servers?"}, {"type": "none\n"},
        "end"
    ]);
    let seen = site.on_terminal(&steps, &["setup", "--project"]);
    let found = seen.kept("found");
    let row = found.lines().find(|line| line.contains("  notes ")).unwrap_or_default();
    assert!(row.starts_with("   ") && row.contains("already governed"), "{found}");
    let all = site.document(["setup", "--agents", "none", "--servers", "all", "--dry-run"]).expect(1);
    let names = all["servers"].as_array().unwrap().iter().map(|server| server["name"].as_str().unwrap());
    assert!(!names.clone().any(|name| name == "notes"), "{all:#}");
}
