//! Definitions in the files of agent programs.

use std::collections::BTreeSet;

use brigade_harness::EntrySource;

use super::*;
use crate::DISCOVERED;
use crate::discovery::{discover, sync};

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

/// Makes a workspace, and a home with two programs and a skill.
fn site() -> Bench {
    Bench::of_user(&[
        (CATALOG, "# mine\n"),
        ("home/.cursor/mcp.json", &CURSOR.replace("SECRET", SECRET)),
        ("home/.codex/config.toml", CODEX),
        ("home/.claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Fills forms\n---\n"),
        (".claude/skills/notes/SKILL.md", "---\nname: notes\ndescription: Notes\n---\n"),
    ])
}

/// Makes a workspace whose own file of Claude Code has these servers.
fn of_project(servers: &str) -> Bench {
    Bench::of_user(&[(CATALOG, "# mine\n"), (".mcp.json", &format!("{{\"mcpServers\":{servers}}}\n"))])
}

#[track_caller]
fn put(bench: &Bench, names: &[&str]) -> RegisterReport {
    done(bench, &request(refs(names)))
}

#[track_caller]
fn replace(bench: &Bench, names: &[&str]) -> RegisterReport {
    done(bench, &RegisterRequest { replace: true, ..request(refs(names)) })
}

#[track_caller]
fn check_refused(bench: &Bench, names: &[&str], expect: &[(&str, &str)]) -> RegisterReport {
    let report = refused(bench, &request(refs(names)));
    assert_eq!(errors(&report), expect, "{names:?}");
    report
}

/// Returns what the entry of a definition was registered as.
fn registered_as(bench: &Bench, id: &str) -> Option<String> {
    let look = DiscoverRequest { sources: vec![EntrySource::Mcp], ..DiscoverRequest::default() };
    let found = discover(&bench.context, &look).unwrap();
    found.entries.into_iter().find(|entry| entry.id == id).expect("an entry").registered_as
}

#[test]
fn a_server_becomes_a_disabled_runtime_and_an_entry() {
    let bench = site();
    let report = put(&bench, &["mcp:files"]);
    let row = &report.registered[0];
    assert_eq!(
        (row.tool_id.as_str(), row.enabled, row.runtime_id.as_deref()),
        ("files", false, Some("files"))
    );
    let next = row.next_command.as_ref().expect("a review").to_string();
    assert!(next.contains(".brigade/tools/runtimes.toml:4"), "{next}");
    assert_eq!(notes(&report), [("value_not_kept", "files.env.API_KEY")]);
    let expect = "[[runtime]]\nid = \"files\"\nname = \"files\"\nenabled = false\n\
        command = '''npx -y @x/files@1.2.3 'a b' '' 'it'\\''s''''\non_demand = true\nenv_labels = [\"API_KEY\"]\nhome = \"private\"\n\n[runtime.env]\nROOT = \"/srv\"\n";
    assert_eq!(bench.read(RUNTIMES).as_deref(), Some(expect));
    let files = tool(&bench, "files");
    assert_eq!((files.approval_mode, files.enabled), (Some(ApprovalMode::Always), false));
    assert!(files.effects.is_empty() && files.permissions.is_empty());
    let source = files.source.expect("its definition");
    assert_eq!(source.reference.as_deref(), Some("mcp:files@cursor/user"));
    bench.assert_nowhere(SECRET, &["home/.cursor/mcp.json"]);
}

#[test]
fn a_registered_server_is_recognized_by_its_entry_and_by_its_command() {
    let bench = site();
    assert_eq!(registered_as(&bench, "mcp:files"), None);
    put(&bench, &["mcp:files"]);
    assert_eq!(registered_as(&bench, "mcp:files").as_deref(), Some("files"));
    bench.write(CATALOG, "");
    assert_eq!(registered_as(&bench, "mcp:files").as_deref(), Some("files"), "its runtime has the command");
    bench.remove(RUNTIMES);
    assert_eq!(registered_as(&bench, "mcp:files"), None);
}

#[test]
fn a_remote_server_has_an_entry_without_its_url_and_no_runtime() {
    let bench = site();
    let far = put(&bench, &["mcp:far"]);
    let row = &far.registered[0];
    assert_eq!(
        (row.runtime_id.as_deref(), row.detail.as_str()),
        (None, "remote mcp server at mcp.example.com")
    );
    let notes = notes(&far);
    assert!(notes.contains(&("url_not_kept", "far.url")), "{notes:?}");
    assert!(notes.contains(&("value_not_kept", "far.headers.Authorization")), "{notes:?}");
    assert_eq!(bench.read(RUNTIMES), None);
    bench.assert_nowhere(SECRET, &["home/.cursor/mcp.json"]);
}

#[test]
fn what_an_entry_cannot_keep_is_a_note() {
    let bench = site();
    let expect = [("cwd_not_kept", "var.cwd"), ("unresolved", "var.command"), ("unknown_key", "var.colour")];
    assert_eq!(notes(&put(&bench, &["mcp:var"])), expect);
    let both = put(&bench, &["mcp:both@codex/user"]);
    assert_eq!(notes(&both), [("tools_not_limited", "both.tools_allowed")]);
    let runtimes = bench.read(RUNTIMES).unwrap();
    assert!(runtimes.contains("cwd = \"sub\"\n") && runtimes.contains("timeout = 12.5\n"), "{runtimes}");
}

#[test]
fn a_skill_keeps_its_path_relative_to_the_workspace_if_it_is_there() {
    let bench = site();
    put(&bench, &["skill:pdf", "skill:notes"]);
    let source = |id: &str| tool(&bench, id).source_path.expect("a file");
    assert_eq!(source("notes"), ".claude/skills/notes/SKILL.md");
    assert!(source("pdf").ends_with(".claude/skills/pdf/SKILL.md"));
    assert!(!tool(&bench, "pdf").enabled);
}

#[test]
fn a_tool_of_a_harness_is_registered_where_the_harness_is_installed() {
    let bench = site();
    check_refused(&bench, &["skill:pdf", "harness:gemini.glob"], &[("ref_unknown", "harness:gemini.glob")]);
    bench.program("bin/gemini", "#!/bin/sh\n");
    let report = put(&bench, &["harness:gemini.glob@gemini/user"]);
    let row = &report.registered[0];
    assert_eq!((row.tool_id.as_str(), row.family.as_str()), ("gemini.glob", "custom"));
    assert_eq!(tool(&bench, "gemini.glob").source.unwrap().provider.as_deref(), Some("gemini"));
}

#[test]
fn a_name_with_several_definitions_is_refused_with_all_of_them() {
    let bench = site();
    let report = check_refused(&bench, &["mcp:both"], &[("ref_ambiguous", "mcp:both")]);
    let message = &report.errors[0].message;
    assert!(message.contains("mcp:both@codex/user, mcp:both@cursor/user"), "{message}");
    put(&bench, &["mcp:both@cursor/user"]);
}

#[test]
fn an_unknown_definition_is_refused_with_a_similar_one() {
    let report = check_refused(&site(), &["mcp:fles"], &[("ref_unknown", "mcp:fles")]);
    assert!(report.errors[0].message.contains("did you mean `mcp:files`?"), "{report:?}");
    check_refused(&site(), &["mcp:nothing-like-it"], &[("ref_unknown", "mcp:nothing-like-it")]);
}

#[test]
fn the_own_gateway_is_no_tool() {
    check_refused(&site(), &["mcp:brigade"], &[("own_gateway", "mcp:brigade")]);
}

#[test]
fn a_name_that_is_no_id_needs_another() {
    let bench = site();
    check_refused(&bench, &["mcp:日本"], &[("field_invalid", "id")]);
    let named = RegisterRequest { id: Some("nippon".to_owned()), ..request(refs(&["mcp:日本"])) };
    assert_eq!(done(&bench, &named).registered[0].tool_id, "nippon");
    // Characters that no id has are replaced if something is left.
    assert_eq!(put(&bench, &["mcp:we\u{1b}ird"]).registered[0].tool_id, "we-ird");
}

#[test]
fn the_place_of_a_secret_is_named_and_its_text_is_not() {
    let report = check_refused(&site(), &["mcp:leak"], &[("secret_in_entry", "leak.command[3]")]);
    let error = &report.errors[0];
    assert_eq!((error.line, error.reference.as_deref()), (Some(4), Some("mcp:leak")));
    assert!(error.file.as_deref().is_some_and(|file| file.ends_with(".cursor/mcp.json")), "{error:?}");
    assert!(!format!("{report:?}").contains("ghp_"), "{report:?}");
}

#[test]
fn no_value_in_a_command_is_written_or_cached() {
    let config = r#"{"mcpServers": {
        "box": {"command": "docker", "args": ["run", "-e", "DB=CANARY", "img"]},
        "env": {"command": "env", "args": ["DB=CANARY", "npx", "x"]},
        "url": {"command": "npx", "args": ["mcp-remote", "https://h/CANARY/mcp?x=CANARY"]},
        "header": {"command": "npx", "args": ["mcp-remote", "--header", "X-Org: CANARY"]}}}"#;
    let bench = Bench::of_user(&[(CATALOG, ""), ("home/.cursor/mcp.json", config)]);
    assert_eq!(notes(&put(&bench, &["mcp:box"])), [("value_not_kept", "box.env.DB")]);
    let runtimes = bench.read(RUNTIMES).unwrap();
    assert!(runtimes.contains("command = \"docker run -e DB img\"\n"), "{runtimes}");
    assert!(runtimes.contains("env_labels = [\"DB\"]\n"), "{runtimes}");
    for (name, at) in [("env", 2), ("url", 3), ("header", 4)] {
        let field = format!("{name}.command[{at}]");
        let report = check_refused(&bench, &[&format!("mcp:{name}")], &[("secret_in_entry", &field)]);
        assert!(!format!("{report:?}").contains("CANARY"), "{report:?}");
    }
    sync(&bench.context, false).unwrap();
    bench.assert_nowhere("CANARY", &["home/.cursor/mcp.json"]);
}

#[test]
fn references_and_files_are_registered_together_or_not_at_all() {
    let bench = site();
    let jq = text("more.yaml", "id: jq\nsource: {type: cli, command: jq}\n");
    let with = |names: &[&str]| {
        let mut all = vec![jq.clone()];
        all.extend(refs(names));
        request(all)
    };
    assert_eq!(errors(&refused(&bench, &with(&["mcp:files", "mcp:leak"])))[0].1, "leak.command[3]");
    check_refused(&bench, &["mcp:files", "mcp:files"], &[("id_taken", "files.id")]);
    assert_eq!(done(&bench, &with(&["mcp:files"])).registered_count, 2);
    let report = check_refused(&bench, &["mcp:files"], &[("id_taken", "files.id")]);
    assert!(report.errors[0].message.contains("replace it"), "{report:?}");
    let other = RegisterRequest { id: Some("files-2".to_owned()), ..request(refs(&["mcp:files"])) };
    assert_eq!(done(&bench, &other).registered[0].runtime_id.as_deref(), Some("files-2"));
}

#[test]
fn a_replaced_server_is_disabled_and_keeps_what_a_person_added() {
    let bench = site();
    put(&bench, &["mcp:files"]);
    bench.replace(RUNTIMES, "enabled = false", "enabled = true # reviewed");
    bench.replace(RUNTIMES, "[runtime.env]", "port = 8080\n[runtime.env]");
    bench.replace("home/.cursor/mcp.json", "1.2.3", "2.0.0");
    let env = format!(", \"env\": {{\"ROOT\": \"/srv\", \"API_KEY\": \"{SECRET}\"}}");
    bench.replace("home/.cursor/mcp.json", &env, "");
    assert_eq!(replace(&bench, &["mcp:files"]).registered[0].action, RegisterAction::Replace);
    let runtimes = bench.read(RUNTIMES).unwrap();
    assert!(
        runtimes.contains("enabled = false # reviewed\n") && runtimes.contains("port = 8080\n"),
        "{runtimes}"
    );
    assert!(runtimes.contains("@x/files@2.0.0") && !runtimes.contains("env_labels"), "{runtimes}");
}

#[test]
fn the_runtime_of_something_else_is_not_replaced() {
    let mine = "[[runtime]]\nid = \"files\"\nname = \"mine\"\nenabled = true\ncommand = \"handwritten\"\ntimeout = 9\n";
    let user = |id: &str| {
        format!(
            "[[tool]]\nid = \"{id}\"\nname = \"x\"\nfamily = \"mcp\"\nruntime_id = \"files\"\nmcp_tool_name = \"y\"\n"
        )
    };
    let bench = site();
    bench.write(RUNTIMES, mine);
    bench.write(CATALOG, &user("x"));
    let replacing = RegisterRequest { replace: true, ..request(refs(&["mcp:files"])) };
    assert_eq!(errors(&refused(&bench, &replacing)), [("id_taken", "files.runtime_id")]);
    // The own one is replaced, and other users of it are named.
    bench.write(CATALOG, &(user("x") + &user("files")));
    let report = done(&bench, &replacing);
    assert!(notes(&report).contains(&("runtime_shared", "files.runtime_id")), "{:?}", report.notes);
}

#[test]
fn a_runtime_that_nothing_uses_any_more_is_named() {
    let bench = site();
    put(&bench, &["mcp:files"]);
    let cli = text("files.yaml", "id: files\nsource: {type: cli, command: files --list}\n");
    let report = done(&bench, &RegisterRequest { replace: true, ..request(vec![cli]) });
    assert_eq!(notes(&report), [("runtime_left", "files.runtime_id")]);
    assert!(report.notes[0].message.contains("`files`"), "{:?}", report.notes);
    // An entry that keeps its runtime leaves nothing.
    let again = replace(&bench, &["mcp:files"]);
    assert!(notes(&again).iter().all(|note| note.0 != "runtime_left"), "{:?}", again.notes);
}

#[test]
fn each_error_names_its_definition_and_each_note_its_tool() {
    let bench = site();
    let cursor = r#"{"mcpServers": {"a": {"command": "x", "url": "https://h/mcp", "env": {"KEY": "v"}}}}"#;
    bench.write("home/.cursor/mcp.json", cursor);
    let codex = format!("[mcp_servers.a]\ncommand = \"y\"\nargs = [\"--token\", \"{SECRET}\"]\n");
    bench.write("home/.codex/config.toml", &codex);
    let names = ["mcp:a@cursor/user", "mcp:a@codex/user", "mcp:no"];
    let report = refused(&bench, &request(refs(&names)));
    let named: Vec<_> = report.errors.iter().filter_map(|row| row.reference.as_deref()).collect();
    assert_eq!(named, names);
    assert!(!report.notes.is_empty());
    assert!(report.notes.iter().all(|note| note.field.split('.').next() == Some("a")), "{:?}", report.notes);
}

#[test]
fn values_that_the_policy_binds_are_refused_wherever_they_are() {
    let bench = of_project(
        r#"{"bad1":{"command":"serve","args":["--token","hunter2"]},"good":{"command":"npx"},"fs.read":{"command":"npx"},
            "z":{"command":"npx","args":["Zq7tail0"],"env":{"ghp_abcdefghijklmnopqrstuvwxyz0123456789":""}},
            "v":{"command":"npx","env":{"A_Zq7tail0":""}}}"#,
    )
    .variable("V", "Zq7tail0");
    bench.write(".brigade/tools/policy.toml", "env_bindings = { L = \"V\" }\n");
    let names = ["mcp:bad1", "mcp:good", "mcp:fs.read", "mcp:z", "mcp:v"];
    let report = refused(&bench, &request(refs(&names)));
    let found = errors(&report);
    for expect in [
        ("secret_in_entry", "bad1.command[3]"),
        ("reserved_tool_id", "fs.read.id"),
        ("secret_in_entry", "z.command"),
        ("secret_in_entry", "v.env_labels[1]"),
    ] {
        assert!(found.contains(&expect), "{expect:?} {found:?}");
    }
    assert!(report.errors.iter().all(|row| row.reference.as_deref().is_some_and(|of| of != "mcp:good")));
    assert!(report.notes.is_empty(), "a refused definition has no additional note: {:?}", report.notes);
    assert!(!format!("{report:?}").contains("Zq7tail0"), "{report:?}");
}

#[test]
fn a_directory_outside_of_the_workspace_is_not_kept() {
    let bench = of_project(
        r#"{"a":{"command":"npx","cwd":"../x"},"b":{"command":"npx","cwd":"./tools/../../y"},
            "c":{"command":"npx","cwd":"./tools/../z"},"d":{"command":"npx","args":["-p",8080]}}"#,
    );
    let report = put(&bench, &["mcp:a", "mcp:b", "mcp:c"]);
    assert_eq!(notes(&report), [("cwd_not_kept", "a.cwd"), ("cwd_not_kept", "b.cwd")]);
    assert_eq!(bench.read(RUNTIMES).unwrap().matches("cwd = ").count(), 1);
    // A number may be an invalid word for the program.
    check_refused(&bench, &["mcp:d"], &[("definition_unclear", "d.command")]);
}

#[test]
fn a_definition_that_cannot_be_registered_completely_is_refused() {
    let servers = r#"{"args": {"command": "npx", "args": [null, "ok"]},
      "label": {"command": "x", "env": {"A=CANARYk": ""}},
      "proxy": {"command": "uvx", "args": ["mcp-proxy", "--headers", "X-Key", "CANARYh"]},
      "none": {"url": "not a url"}, "file": {"url": "ftp://h.example/mcp"}}"#;
    let bench = of_project(servers);
    for (name, code, field) in [
        ("mcp:args", "definition_unclear", "args.command"),
        ("mcp:label", "field_invalid", "label.env_labels[1]"),
        ("mcp:proxy", "secret_in_entry", "proxy.command[5]"),
        ("mcp:none", "definition_unclear", "none.url"),
        ("mcp:file", "definition_unclear", "file.url"),
    ] {
        let report = check_refused(&bench, &[name], &[(code, field)]);
        assert!(!format!("{report:?}").contains("CANARY"), "{report:?}");
    }
}

#[test]
fn a_file_that_may_hold_the_definition_and_is_broken_is_named() {
    let bench = site();
    bench.write("home/.cursor/mcp.json", "{");
    let expect = [("ref_unknown", "mcp:one"), ("client_file_invalid", "mcp:one")];
    let report = check_refused(&bench, &["mcp:one"], &expect);
    assert!(report.errors[1].file.as_deref().is_some_and(|file| file.ends_with(".cursor/mcp.json")));
    // A file of another program cannot hold it.
    check_refused(&bench, &["mcp:one@codex/user"], &[("ref_unknown", "mcp:one@codex/user")]);
}

#[test]
fn a_reference_reads_its_program_though_the_catalog_chooses_others() {
    let bench = site();
    bench.write(CATALOG, "[registry]\nharnesses = [\"codex\"]\n");
    check_refused(&bench, &["mcp:files"], &[("ref_unknown", "mcp:files")]);
    put(&bench, &["mcp:files@cursor/user"]);
}

#[test]
fn definitions_are_remembered_while_their_tools_are_there() {
    let bench = site();
    put(&bench, &["mcp:files", "skill:notes"]);
    let kept = ".brigade/tools/registered.json";
    let text = bench.read(kept).expect("the definitions");
    assert!(text.contains("files") && text.contains("notes"), "{text}");
    bench.assert_nowhere(SECRET, &["home/.cursor/mcp.json"]);
    let catalog = bench.read(CATALOG).unwrap();
    let (before, _) = catalog.split_once("[[tool]]").unwrap();
    bench.write(CATALOG, before);
    bench.write(RUNTIMES, "");
    put(&bench, &["skill:notes"]);
    let text = bench.read(kept).unwrap();
    assert!(!text.contains("files@1.2.3") && text.contains("notes"), "{text}");
}

/// Every server in the fixtures of all harnesses is registered, or refused for a value in its command.
#[test]
fn servers_of_every_harness_become_valid_entries() {
    let bench = Bench::of_user(&[(CATALOG, "")]);
    let fixtures = brigade_testkit::fixtures().join("harnesses");
    bench.copy(&fixtures.join("home"), "home");
    bench.copy(&fixtures.join("workspace"), "");
    let look = DiscoverRequest { sources: vec![EntrySource::Mcp], ..DiscoverRequest::default() };
    let found = discover(&bench.context, &look).unwrap();
    let mut harnesses = BTreeSet::new();
    let mut count = 0;
    for entry in &found.entries {
        let is_masked = entry.command.iter().any(|word| word.contains(MARK));
        for origin in &entry.origins {
            count += 1;
            let id = format!("server-{count}");
            let named = RegisterRequest { id: Some(id.clone()), ..request(refs(&[&origin.reference])) };
            let report = match register(&bench.context, &named) {
                Ok(report) => report,
                Err(refused) => {
                    // A value of `docker run -e` is omitted. Other values are refused.
                    let report = refused.report.expect("reasons");
                    assert!(is_masked && errors(&report)[0].0 == "secret_in_entry", "{report:#?}");
                    continue;
                }
            };
            assert!(!is_masked || report.notes[0].code == "value_not_kept", "{report:#?}");
            harnesses.insert(origin.harness.as_str());
            let tool = tool(&bench, &id);
            let source = tool.source.as_ref().expect("its definition");
            assert_eq!(source.reference.as_deref(), Some(&*origin.reference));
            assert_eq!(source.fingerprint, Some(entry.fingerprint.to_hex()));
            assert!(!tool.is_broken && !tool.enabled, "{tool:?}");
            // The URL of a remote server may hold a secret, and is then left out.
            let is_local = entry.transport == Some(brigade_catalog::ServerTransport::Stdio);
            let row = &report.registered[0];
            assert!(!is_local || row.runtime_id.is_some(), "{row:?}");
            if let Some(runtime) = &row.runtime_id {
                let runtimes = load::runtimes(&bench.context).unwrap();
                let runtime = runtimes.runtime(runtime).expect("a runtime");
                assert!(!runtime.enabled && !runtime.is_broken, "{runtime:?}");
            }
        }
    }
    assert_eq!(harnesses.len(), 20, "{harnesses:?}");
}

#[test]
fn the_cache_of_discovered_entries_is_not_needed_and_not_written() {
    let bench = site();
    bench.write(DISCOVERED, "{");
    put(&bench, &["mcp:files"]);
    assert_eq!(bench.read(DISCOVERED).as_deref(), Some("{"));
}
