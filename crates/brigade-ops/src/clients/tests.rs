use brigade_catalog::Catalog;
use brigade_doctor::{ClientProblem, ClientState};
use brigade_harness::Transport;
use brigade_workspace::{CATALOG, GATEWAY};

use super::*;
use crate::error::Error;
use crate::report::ConnectReport;
use crate::testing::Bench;

const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

/// Clients with a file in the workspace, and the key of its servers.
const OF_PROJECT: [(&str, &str, &str); 7] = [
    ("claude", ".mcp.json", "mcpServers"),
    ("codex", ".codex/config.toml", ""),
    ("cursor", ".cursor/mcp.json", "mcpServers"),
    ("opencode", "opencode.json", "mcp"),
    ("gemini", ".gemini/settings.json", "mcpServers"),
    ("vscode", ".vscode/mcp.json", "servers"),
    ("windsurf", ".windsurf/mcp_config.json", "mcpServers"),
];

fn site() -> Bench {
    let agents =
        ["local", "ci-1", "my-agent", "me", "you"].map(|name| format!("[[agent]]\nname = '{name}'\n"));
    let bench = Bench::of_user(&[(CATALOG, ""), (GATEWAY, &agents.concat())]);
    bench.program("bin/brigade", "#!/bin/sh\n");
    bench
}

fn request(client: &str, step: ConnectStep) -> ConnectRequest {
    ConnectRequest {
        client: client.to_owned(),
        scope: Some(Scope::Project),
        transport: Transport::Stdio,
        agent: "local".to_owned(),
        step,
    }
}

fn try_connect(bench: &Bench, request: &ConnectRequest) -> Result<ConnectReport, Error> {
    Clients::new(bench.shared()).connect(request)
}

#[track_caller]
fn connect(bench: &Bench, request: &ConnectRequest) -> ConnectReport {
    try_connect(bench, request).unwrap()
}

#[track_caller]
fn write(bench: &Bench, client: &str) -> ConnectReport {
    connect(bench, &request(client, ConnectStep::Write))
}

#[track_caller]
fn check_refused(bench: &Bench, request: &ConnectRequest, code: ErrorCode) -> Error {
    let before = bench.paths();
    let error = try_connect(bench, request).unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert_eq!(bench.paths().iter().filter(|path| !path.ends_with(".lock")).count(), before.len());
    error
}

fn states(bench: &Bench) -> Vec<ClientState> {
    client_states(&ClientFiles::new(&bench.context), &bench.config(), None)
}

#[track_caller]
fn problem(bench: &Bench) -> ClientProblem {
    let mut states = states(bench);
    assert_eq!(states.len(), 1, "{states:?}");
    states.remove(0).problem
}

/// Returns unusual files that programs and people write, for one key of servers.
fn traps(key: &str) -> Vec<String> {
    if key.is_empty() {
        let traps = [
            "",
            "model = \"x\" # mine",
            "\u{feff}# top\r\nmodel = \"x\"\r\n",
            "[mcp_servers.\"a b/c.d\"]\ncommand = \"npx -y x\"\nargs = [\n  \"y\", # z\n]\n\n[mcp_servers.e.env]\nA = 1\n",
            "[mcp_servers]\nx = { command = \"y\", url = 'z' }\n\n\n",
            "mcp_servers = { x = { command = \"y\" } }\n",
        ];
        return traps.map(str::to_owned).into();
    }
    [
        String::new(),
        "{}".to_owned(),
        "{\r\n\t\"other\": true\r\n}\r\n".to_owned(),
        format!("\u{feff}{{\n    \"{key}\": {{\n    }}\n}}"),
        format!("{{\"{key}\":{{\"a\":{{\"command\":\"npx -y x\"}},\"b\":null}}}}"),
        format!(
            "// top\n{{\n  \"{key}\": {{\n    \"a/b. c\\u0001\": {{\"command\": \"x\", \"args\": \"y\", \"env\": {{\"N\": 1, \"B\": true}}}}, \
             // one\n    /* two */ \"both\": {{\"type\": \"x\", \"command\": \"c\", \"url\": \"http://u//\"}},\n    \"empty\": \"\",\n  }},\n  \
             \"twice\": 1, \"twice\": 2, // outside of the servers\n}} // end"
        ),
    ]
    .into()
}

/// Connects and disconnects a client whose file has this text, or is missing.
#[track_caller]
fn check_restored(bench: &Bench, file: &str, original: Option<&str>, request: &ConnectRequest) {
    let step = |step: ConnectStep| connect(bench, &ConnectRequest { step, ..request.clone() });
    if let Some(original) = original {
        bench.write(file, original);
        bench.context.fs.set_mode(&file.parse().unwrap(), 0o640).unwrap();
    }
    let shown = step(ConnectStep::Show);
    let what = format!("{request:?} {original:?}");
    assert_eq!(
        (shown.status, shown.path.as_deref()),
        (ConnectStatus::WouldWrite, Some(&*format!("/memory/{file}"))),
        "{what}"
    );
    assert_eq!(bench.read(file).as_deref(), original, "{what}");
    assert_eq!(step(ConnectStep::Write).status, ConnectStatus::Written, "{what}");
    let written = bench.read(file);
    assert_eq!(step(ConnectStep::Write).status, ConnectStatus::Unchanged, "{what}");
    assert_eq!(bench.read(file), written, "{what}");
    let mode = bench.context.fs.metadata(&file.parse().unwrap()).unwrap().mode & 0o777;
    let usual = if request.scope == Some(Scope::User) { 0o600 } else { 0o644 };
    assert_eq!(mode, if original.is_some() { 0o640 } else { usual }, "{what}");
    // This test is not a program of the workspace, so a diagnosis does not find it.
    let is_of_user = request.scope == Some(Scope::User);
    let stale = states(bench);
    assert!(
        stale.iter().all(|state| is_of_user && state.problem == ClientProblem::ProgramGone),
        "{what}: {stale:?}"
    );
    let removed = step(ConnectStep::Remove);
    assert_eq!((removed.status, removed.entry), (ConnectStatus::Removed, shown.entry), "{what}");
    assert_eq!(bench.read(file).as_deref(), original, "{what}");
    assert_eq!(step(ConnectStep::Remove).status, ConnectStatus::Absent, "{what}");
    assert_eq!(bench.read(CONNECTED), None, "{what}");
}

#[test]
fn disconnecting_restores_every_byte_of_a_file_of_the_workspace() {
    for (client, file, key) in OF_PROJECT {
        for transport in [Transport::Stdio, Transport::Http] {
            let bench = site();
            let request =
                ConnectRequest { transport, agent: "ci-1".to_owned(), ..request(client, ConnectStep::Show) };
            for original in traps(key) {
                check_restored(&bench, file, Some(&original), &request);
            }
            // A missing file is created with its directories, and removed with them again.
            let bench = site();
            let before = bench.context.fs.list_dir(&RelPath::root()).unwrap();
            check_restored(&bench, file, None, &request);
            assert_eq!(bench.context.fs.list_dir(&RelPath::root()).unwrap(), before, "{client}");
        }
    }
}

#[test]
fn disconnecting_restores_every_byte_of_a_file_of_the_user() {
    let host = tempfile::tempdir().unwrap();
    for (client, file, key) in [
        ("claude", "home/.claude.json", "mcpServers"),
        ("codex", "home/.codex/config.toml", ""),
        ("cursor", "home/.cursor/mcp.json", "mcpServers"),
        ("gemini", "home/.gemini/settings.json", "mcpServers"),
        ("windsurf", "home/.codeium/windsurf/mcp_config.json", "mcpServers"),
    ] {
        // The lock of this host is on the disk.
        let bench = site().variable("XDG_CONFIG_HOME", host.path().to_str().unwrap());
        let request = ConnectRequest { scope: Some(Scope::User), ..request(client, ConnectStep::Show) };
        for original in traps(key) {
            check_restored(&bench, file, Some(&original), &request);
        }
        bench.remove(file);
        check_restored(&bench, file, None, &request);
    }
}

#[test]
fn an_entry_is_spelt_as_its_client_reads_it() {
    let bench = site();
    let entry = |client: &str, transport: Transport, agent: &str| {
        let request =
            ConnectRequest { transport, agent: agent.to_owned(), ..request(client, ConnectStep::Show) };
        Json::Object(connect(&bench, &request).entry.unwrap())
    };
    let url = "http://127.0.0.1:8766/mcp";
    // Files of the workspace are shared, so they name no directory of this machine.
    for (client, transport, agent, expect) in [
        ("claude", Transport::Stdio, "local", r#"{"type":"stdio","command":"brigade","args":["serve","--stdio","--as","local"]}"#.to_owned()),
        (
            "cursor",
            Transport::Stdio,
            "local",
            r#"{"command":"brigade","args":["serve","--stdio","--as","local","--target","${workspaceFolder}"]}"#.to_owned(),
        ),
        ("opencode", Transport::Stdio, "me", r#"{"type":"local","command":["brigade","serve","--stdio","--as","me"]}"#.to_owned()),
        ("codex", Transport::Http, "my-agent", format!(r#"{{"url":"{url}","bearer_token_env_var":"BRIGADE_TOKEN_MY_AGENT"}}"#)),
        (
            "vscode",
            Transport::Http,
            "local",
            format!(r#"{{"type":"http","url":"{url}","headers":{{"Authorization":"Bearer ${{env:BRIGADE_TOKEN_LOCAL}}"}}}}"#),
        ),
    ] {
        assert_eq!(entry(client, transport, agent), Json::parse(&expect).unwrap(), "{client}");
    }
}

#[test]
fn an_entry_of_the_user_names_this_program_and_the_workspace() {
    let bench = site();
    let request = ConnectRequest { scope: Some(Scope::User), ..request("cursor", ConnectStep::Show) };
    let entry = connect(&bench, &request).entry.unwrap();
    // The program on PATH is another one.
    let own = brigade_process::current_program().unwrap();
    assert_eq!(entry.get("command").and_then(Json::as_str), own.to_str());
    let args = entry.get("args").unwrap().to_compact();
    assert_eq!(args, r#"["serve","--stdio","--as","local","--target","/memory"]"#);
}

#[test]
fn a_shared_entry_whose_program_is_not_on_path_has_a_note() {
    let bench = site();
    let note = |request: &ConnectRequest| connect(&bench, request).notes;
    let shown = request("claude", ConnectStep::Show);
    assert!(note(&shown)[0].contains("which is not on PATH"));
    assert!(note(&ConnectRequest { scope: Some(Scope::User), ..shown.clone() }).is_empty());
    let http = ConnectRequest { transport: Transport::Http, ..shown };
    let [token] = &note(&http)[..] else { panic!("one note") };
    assert!(token.contains("BRIGADE_TOKEN_LOCAL"), "{token}");
}

#[test]
fn the_generic_client_has_a_text_and_no_file() {
    let bench = site();
    let shown = connect(&bench, &ConnectRequest { scope: None, ..request("json", ConnectStep::Show) });
    assert_eq!((shown.path, shown.scope), (None, None));
    assert!(shown.text.is_some_and(|text| text.contains("\"mcpServers\"") && text.contains("/memory")));
    for step in [ConnectStep::Write, ConnectStep::Remove] {
        let error = check_refused(&bench, &request("json", step), ErrorCode::ClientUnsupported);
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
}

#[test]
fn a_file_that_cannot_be_edited_stays_unchanged() {
    let foreign = "Brigade did not write the existing entry `brigade`";
    for (client, file, text, code, message) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "{\n  \"a\" 1}",
            ErrorCode::ClientFileInvalid,
            ":2:7: expected `:`".to_owned(),
        ),
        (
            "claude",
            ".mcp.json",
            "{\"mcpServers\": []}",
            ErrorCode::ClientFileInvalid,
            ":1:16: `mcpServers` is not an object".to_owned(),
        ),
        (
            "gemini",
            ".gemini/settings.json",
            "{\"mcpServers\": {\"a\": {},\n\"a\": {}}}",
            ErrorCode::ClientFileInvalid,
            ":2:1: the key appears twice in its object".to_owned(),
        ),
        (
            "codex",
            ".codex/config.toml",
            "a = 1\n[b\n",
            ErrorCode::ClientFileInvalid,
            ":2:3: not valid TOML: `]` is missing".to_owned(),
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\": {\n  \"brigade\": {\"command\": \"fire\"}}}",
            ErrorCode::ClientEntryForeign,
            format!(":2:3: {foreign}"),
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.brigade]\ncommand = 'fire'\n",
            ErrorCode::ClientEntryForeign,
            format!(":1:14: {foreign}"),
        ),
    ] {
        let bench = site();
        bench.write(file, text);
        for step in [ConnectStep::Show, ConnectStep::Write, ConnectStep::Remove] {
            let error = check_refused(&bench, &request(client, step), code);
            assert_eq!(error.to_string(), format!("{file}{message}"));
            assert_eq!(bench.read(file).as_deref(), Some(text));
        }
        assert_eq!(bench.read(CONNECTED), None);
    }
}

#[test]
fn an_unknown_client_or_agent_is_refused_with_a_similar_one() {
    let bench = site();
    for (name, hint) in [("curser", "did you mean `cursor`?"), ("emacs-lisp", "known are ")] {
        let error = check_refused(&bench, &request(name, ConnectStep::Write), ErrorCode::ClientMissing);
        assert!(error.hints()[0].to_string().starts_with(hint), "{error:?}");
    }
    for agent in ["a.b", "", "mee"] {
        let request = ConnectRequest { agent: agent.to_owned(), ..request("cursor", ConnectStep::Write) };
        check_refused(&bench, &request, ErrorCode::AgentMissing);
    }
}

#[test]
fn a_broken_gateway_stops_writing_and_not_removing() {
    let bench = site();
    write(&bench, "cursor");
    bench.write(GATEWAY, "[[agent]\n");
    check_refused(&bench, &request("cursor", ConnectStep::Write), ErrorCode::GatewayConfigInvalid);
    let gone = ConnectRequest { agent: "gone".to_owned(), ..request("cursor", ConnectStep::Remove) };
    assert_eq!(connect(&bench, &gone).status, ConnectStatus::Removed);
}

#[test]
fn a_file_that_a_client_may_not_read_is_shown_and_never_written() {
    let bench = site();
    check_refused(&bench, &request("zed", ConnectStep::Write), ErrorCode::ClientUnsupported);
    let shown = connect(&bench, &request("zed", ConnectStep::Show));
    assert_eq!((shown.status, shown.next_command), (ConnectStatus::WouldWrite, None));
    assert!(shown.notes.iter().any(|note| note.contains("never written")), "{:?}", shown.notes);
    let http = ConnectRequest { transport: Transport::Http, ..request("zed", ConnectStep::Show) };
    check_refused(&bench, &http, ErrorCode::ClientUnsupported);
}

#[test]
fn without_a_scope_the_usual_file_of_the_client_is_meant() {
    let bench = site();
    for (client, scope) in [("zed", Scope::User), ("cursor", Scope::Project)] {
        let request = ConnectRequest { scope: None, ..request(client, ConnectStep::Show) };
        assert_eq!(connect(&bench, &request).scope, Some(scope), "{client}");
    }
}

#[test]
fn the_file_that_exists_is_chosen() {
    let bench = site();
    bench.write(".opencode/opencode.jsonc", "{} // mine\n");
    let report = write(&bench, "opencode");
    assert_eq!(report.path.as_deref(), Some("/memory/.opencode/opencode.jsonc"));
    assert_eq!(bench.read("opencode.json"), None);
    // The file with our entry is preferred to others.
    bench.write("opencode.json", "{}");
    assert_eq!(write(&bench, "opencode").status, ConnectStatus::Unchanged);
}

#[test]
fn an_entry_of_another_agent_replaces_ours_and_keeps_additions() {
    let bench = site();
    write(&bench, "cursor");
    bench.replace(".cursor/mcp.json", "\"command\"", "\"env\": {\"A\": \"b\"}, \"command\"");
    let other = ConnectRequest { agent: "you".to_owned(), ..request("cursor", ConnectStep::Write) };
    connect(&bench, &other);
    let text = bench.read(".cursor/mcp.json").unwrap();
    assert!(
        text.contains("\"A\": \"b\"") && text.contains("\"you\"") && !text.contains("\"local\""),
        "{text}"
    );
    assert_eq!(states(&bench), []);
}

#[test]
fn secrets_of_a_file_are_not_shown() {
    let bench = site();
    let text = format!(
        "{{\n  \"mcpServers\": {{\n    \"gh\": {{\"env\": {{\"GITHUB_TOKEN\": \"{TOKEN}\"}}}}\n  }}\n}}\n"
    );
    bench.write(".mcp.json", &text);
    for step in [ConnectStep::Show, ConnectStep::Write, ConnectStep::Remove] {
        let report =
            connect(&bench, &ConnectRequest { transport: Transport::Http, ..request("claude", step) });
        assert!(!format!("{report:?}").contains(TOKEN), "{report:?}");
        assert!(report.diff.contains("Bearer ${BRIGADE_TOKEN_LOCAL}"), "our entry is shown: {}", report.diff);
    }
    assert_eq!(bench.read(".mcp.json"), Some(text));
    bench.assert_nowhere(TOKEN, &[".mcp.json"]);
}

#[test]
fn one_change_in_a_large_file_is_one_hunk() {
    let bench = site();
    let projects: Vec<String> = (0..2_000).map(|number| format!("    \"/p/{number}\": {{}}")).collect();
    bench.write(".mcp.json", &format!("{{\n  \"projects\": {{\n{}\n  }}\n}}\n", projects.join(",\n")));
    let diff = connect(&bench, &request("claude", ConnectStep::Show)).diff;
    assert_eq!(diff.matches("@@ ").count(), 1);
    assert!(diff.contains("@@ -2000,5 +2000,") && diff.contains("\n+    \"brigade\": {\n"), "{diff}");
}

#[test]
fn a_list_of_a_newer_version_is_not_rewritten() {
    let bench = site();
    write(&bench, "cursor");
    bench.replace(CONNECTED, "brigade.connected.v1", "brigade.connected.v2");
    let before = bench.read(CONNECTED);
    check_refused(&bench, &request("claude", ConnectStep::Write), ErrorCode::NewerVersion);
    assert_eq!(connect(&bench, &request("claude", ConnectStep::Show)).status, ConnectStatus::WouldWrite);
    assert_eq!(bench.read(CONNECTED), before);
    assert!(matches!(problem(&bench), ClientProblem::Unreadable(_)));
    bench.write(CONNECTED, "nonsense");
    check_refused(&bench, &request("claude", ConnectStep::Write), ErrorCode::RecordInvalid);
}

#[test]
fn a_file_in_the_way_of_a_directory_stays() {
    let bench = site();
    bench.write(".codex", "in the way");
    assert!(try_connect(&bench, &request("codex", ConnectStep::Write)).is_err());
    assert_eq!(bench.read(".codex").as_deref(), Some("in the way"));
    assert_eq!(bench.read(CONNECTED), None);
}

#[test]
fn a_written_entry_that_is_not_as_it_was_written_is_stale() {
    let bench = site();
    let file = ".cursor/mcp.json";
    write(&bench, "cursor");
    let written = bench.read(file).unwrap();
    let found = |text: Option<&str>| {
        match text {
            Some(text) => bench.write(file, text),
            None => bench.remove(file),
        }
        problem(&bench)
    };
    assert_eq!(found(Some("{}")), ClientProblem::EntryGone);
    assert_eq!(found(Some(&written.replace("\"local\"", "\"you\""))), ClientProblem::Changed);
    assert!(matches!(found(Some("{")), ClientProblem::Unreadable(_)));
    assert_eq!(found(None), ClientProblem::FileGone);
    // Additions of a person do not count.
    bench.write(file, &written.replace("\"command\"", "\"env\": {\"A\": \"b\"}, \"command\""));
    assert_eq!(states(&bench), []);
    bench.replace(GATEWAY, "'local'", "'they'");
    assert_eq!(problem(&bench), ClientProblem::AgentGone);
    bench.replace(GATEWAY, "'they'", "'local'");
    bench.remove("bin/brigade");
    assert_eq!(problem(&bench), ClientProblem::ProgramGone);
}

#[test]
fn an_entry_that_names_another_workspace_is_stale() {
    let bench = site();
    write(&bench, "cursor");
    // A person wrote the directory into both.
    for file in [".cursor/mcp.json", CONNECTED] {
        bench.replace(file, "${workspaceFolder}", "/elsewhere");
    }
    assert_eq!(problem(&bench), ClientProblem::OtherTarget);
    for file in [".cursor/mcp.json", CONNECTED] {
        bench.replace(file, "/elsewhere", "/memory");
    }
    assert_eq!(states(&bench), []);
}

#[test]
fn a_client_that_starts_a_server_of_the_catalog_goes_past_the_gateway() {
    let bench = site();
    let tool = "[[tool]]\nid = \"read\"\nname = \"R\"\nfamily = \"mcp\"\nmcp_tool_name = \"read\"\ncommand = \"/opt/files-server --root .\"\n";
    bench.write(CATALOG, tool);
    let servers = r#"{"mcpServers": {
  "files": {"command": "files-server", "args": ["--root", "."]},
  "other": {"command": "files-server"}
}}"#;
    bench.write(".cursor/mcp.json", servers);
    assert_eq!(states(&bench), [], "only files with an entry of ours are read");
    write(&bench, "cursor");
    let [state] = &states(&bench)[..] else { panic!("one state") };
    let expect =
        ClientProblem::Bypass { server: "files".to_owned(), tool_id: "read".to_owned(), found_at: None };
    assert_eq!((&state.problem, state.file.as_str(), state.line), (&expect, ".cursor/mcp.json", Some(2)));
    // A disabled tool has no calls that the gateway would see.
    bench.write(CATALOG, &format!("{tool}enabled = false\n"));
    assert_eq!(states(&bench), []);
}

#[test]
fn remembered_files_tell_of_differences_and_secrets() {
    let bench = site();
    bench.write(
        "home/.cursor/mcp.json",
        "{\"mcpServers\": {\n\"other\": {\"command\": \"other\", \"env\": {\"API_KEY\": \"hunter2EXAMPLE\"}}}}",
    );
    bench.write(
        "home/.codeium/windsurf/mcp_config.json",
        r#"{"mcpServers": {"other": {"command": "another"}}}"#,
    );
    assert_eq!(states(&bench), [], "nothing but the cache is read");
    crate::discovery::sync(&bench.context, false).unwrap();
    let found = states(&bench);
    assert!(found.iter().any(|state| matches!(state.problem, ClientProblem::Differs { .. })), "{found:?}");
    assert!(
        found.iter().any(|state| matches!(state.problem, ClientProblem::LiteralSecrets { .. })),
        "{found:?}"
    );
    assert!(!format!("{found:?}").contains("hunter2"));
    bench.write(crate::DISCOVERED, "{");
    assert!(matches!(problem(&bench), ClientProblem::CacheUnfit(_)));
}

#[test]
fn a_remembered_client_goes_past_the_gateway_only_if_it_is_connected() {
    let bench = site();
    let tool =
        "[[tool]]\nid = 'files'\nname = 'Files'\nfamily = 'mcp'\ncommand = 'npx -y server-files /data'\n";
    bench.write(CATALOG, tool);
    let server = r#"{"command": "/usr/bin/npx", "args": ["-y", "server-files", "/data"]}"#;
    bench.write("home/.cursor/mcp.json", &format!("{{\"mcpServers\": {{\"data\": {server}}}}}"));
    crate::discovery::sync(&bench.context, false).unwrap();
    assert_eq!(states(&bench), []);
    let own = r#"{"command": "brigade", "args": ["serve", "--stdio", "--as", "local"]}"#;
    bench.write(".cursor/mcp.json", &format!("{{\"mcpServers\": {{\"brigade\": {own}}}}}"));
    crate::discovery::sync(&bench.context, false).unwrap();
    // Nothing but the cache is read.
    bench.remove("home/.cursor/mcp.json");
    let ClientProblem::Bypass { server, tool_id, found_at } = problem(&bench) else { panic!("a bypass") };
    assert_eq!((server.as_str(), tool_id.as_str(), found_at.is_some()), ("data", "files", true));
}

#[test]
fn hooks_of_v030_are_reported() {
    let bench = site();
    let hooks = r#"{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "brigade work presence-hook"}]}]}}"#;
    bench.write(".claude/settings.json", hooks);
    let found = states(&bench);
    for state in &found {
        assert!(matches!(state.problem, ClientProblem::OldHooks { .. }), "{state:?}");
    }
    bench.write(".claude/settings.json", "{\"hooks\": {}}");
    assert_eq!(states(&bench), []);
}

#[test]
fn commands_are_compared_by_their_words() {
    let catalog = |command: &str| {
        let text = format!("[[tool]]\nid = \"t\"\nname = \"t\"\nfamily = \"mcp\"\ncommand = \"{command}\"\n");
        Catalog::parse(CATALOG, brigade_catalog::Level::Project, text.as_bytes())
    };
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for (command, started, is_same) in [
        ("npx -y server", "/usr/bin/npx -y server", true),
        ("npx -y server", "npx -y other", false),
        ("npx -y server", "npx -y", false),
        // A masked word may be any.
        ("npx -y server", "npx -y [redacted]", true),
    ] {
        let found = states::started_with(&catalog(command), Path::new("/memory"), &words(started));
        assert_eq!(found.is_some(), is_same, "{command} {started}");
    }
}

#[test]
fn our_own_entries_are_discovered_as_ours() {
    let bench = site();
    for client in ["cursor", "codex", "vscode", "opencode"] {
        write(&bench, client);
    }
    let look = crate::DiscoverRequest {
        sources: vec![brigade_harness::EntrySource::Mcp],
        ..crate::DiscoverRequest::default()
    };
    let report = crate::discovery::discover(&bench.context, &look).unwrap();
    for entry in &report.entries {
        assert_eq!((entry.name.as_str(), entry.registered_as.as_deref()), (NAME, Some(NAME)));
    }
    let origins: usize = report.entries.iter().map(|entry| entry.origins.len()).sum();
    // Two of the programs name the directory of the workspace, which is not reported as a difference.
    assert_eq!((report.entry_count, origins, report.issue_count), (2, 4, 0), "{report:?}");
}
