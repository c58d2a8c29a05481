use std::collections::BTreeSet;

use brigade_catalog::Level;
use brigade_core::{Exit, Report as _};
use brigade_fs::StagedChange;
use brigade_redact::Redactor;
use brigade_workspace::{CATALOG, GATEWAY};

use super::rows::{notes, row as change_row, sentence};
use super::*;
use crate::report::{SetupAction, SetupChange, SetupRule};
use crate::testing::Bench;

const SERVERS: &str = r#"{"mcpServers": {
  "notes": {"command": "npx", "args": ["-y", "notes-server"]},
  "far": {"url": "https://mcp.example.com/mcp"},
  "off": {"command": "off", "disabled": true}
}}"#;

/// Makes a home with two programs and three servers.
fn site() -> Bench {
    let bench = Bench::of_user(&[("home/.claude.json", "{}"), ("home/.cursor/mcp.json", SERVERS)]);
    bench.program("bin/brigade", "#!/bin/sh\n");
    bench
}

fn onboarding(bench: &Bench) -> Onboarding {
    Onboarding::new(bench.shared(), SetupLevel::Project)
}

fn choice(programs: &[&str], servers: &[&str]) -> SetupChoice {
    let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
    SetupChoice { programs: texts(programs), servers: texts(servers), ..SetupChoice::default() }
}

#[track_caller]
fn begin(bench: &Bench, choice: &SetupChoice) -> StagedSetup {
    onboarding(bench).begin(choice, &mut |_| {}).unwrap()
}

/// Connects Claude Code without any server.
#[track_caller]
fn set_up(bench: &Bench) -> SetupReport {
    let mut setup = begin(bench, &choice(&["claude"], &[]));
    setup.grant(SetupGrant::All).unwrap();
    setup.write().unwrap()
}

fn server(name: &str, state: SetupState) -> SetupServer {
    SetupServer { state, ..new_server(name) }
}

#[test]
fn programs_and_servers_of_a_machine_are_offered() {
    let bench = site();
    let report = onboarding(&bench).look().unwrap();
    let programs: Vec<(&str, SetupState)> =
        report.programs.iter().map(|row| (row.program.as_str(), row.state)).collect();
    assert_eq!(programs, [("claude", SetupState::Offered), ("cursor", SetupState::Offered)]);
    let row = |name: &str| report.servers.iter().find(|row| row.name == name).expect("a server");
    let notes = row("notes");
    assert_eq!(
        (notes.source.as_str(), notes.runs.as_str(), notes.downloads),
        ("mcp:notes", "npx -y notes-server", true)
    );
    assert_eq!((notes.programs.join(" ").as_str(), notes.paths.len()), ("cursor", 1));
    assert_eq!((row("far").runs.as_str(), row("far").downloads), ("mcp.example.com", false));
    assert_eq!(row("off").detail.as_deref(), Some("its program has turned it off"));
    assert!(bench.paths().iter().all(|path| !path.starts_with(".brigade")), "nothing is written");
}

#[test]
fn a_name_with_two_definitions_says_so() {
    let bench = site();
    bench.write("home/.claude.json", r#"{"mcpServers": {"notes": {"command": "other"}}}"#);
    let report = onboarding(&bench).look().unwrap();
    let named: Vec<&SetupServer> = report.servers.iter().filter(|row| row.name == "notes").collect();
    let [first, second] = named.as_slice() else { panic!("{named:?}") };
    assert_eq!(first.detail, None);
    let detail = second.detail.as_deref().unwrap();
    assert!(detail.contains(&first.source) && detail.contains("add one of them by itself"), "{detail}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let bench = site();
    bench.write("home/.cursor/mcp.json", "{\"mcpServers\": {\"a\": }\n");
    let report = onboarding(&bench).look().unwrap();
    let [note] = report.notes.as_slice() else { panic!("{:?}", report.notes) };
    assert!(note.contains(".cursor/mcp.json:1:") && note.ends_with("its servers are missing here"), "{note}");
}

#[test]
fn a_policy_without_a_complete_sandbox_is_reported() {
    for (policy, is_confined) in [
        (None, true),
        (Some("[sandbox]\nmode = \"enforce\"\n"), true),
        (Some(""), false),
        (Some("[sandbox]\nmode = \"off\"\n"), false),
    ] {
        let bench = site();
        if let Some(policy) = policy {
            bench.write(POLICY, policy);
        }
        let setup = onboarding(&bench);
        assert_eq!(setup.is_confined(), is_confined, "{policy:?}");
        let is_told = setup.look().unwrap().notes.iter().any(|note| note.contains("sandbox mode"));
        assert_eq!(is_told, !is_confined, "{policy:?}");
    }
}

#[test]
fn a_choice_that_is_not_there_is_an_error_of_the_request() {
    let bench = site();
    for (choice, hint) in [
        (choice(&["claud"], &[]), "did you mean `claude`?"),
        (choice(&["codex"], &[]), "there are claude, cursor"),
        (choice(&[], &["note"]), "did you mean `notes`?"),
    ] {
        let error = onboarding(&bench).begin(&choice, &mut |_| {}).map(drop).unwrap_err();
        assert_eq!(
            (error.kind(), error.hints()[0].to_string().as_str()),
            (ErrorKind::Usage, hint),
            "{error}"
        );
    }
    let empty = Bench::of_user(&[]);
    let error = onboarding(&empty).begin(&choice(&[], &["x"]), &mut |_| {}).map(drop).unwrap_err();
    assert_eq!(error.hints()[0].to_string(), "no server was found");
}

#[test]
fn nothing_is_written_before_the_yes() {
    let bench = site();
    let before = bench.paths();
    let mut setup = begin(&bench, &choice(&["claude"], &[]));
    setup.grant(SetupGrant::All).unwrap();
    let report = setup.propose();
    assert_eq!((report.dry_run, report.written, report.exit()), (true, false, Exit::Done));
    let paths: Vec<&str> = report.changes.iter().map(|change| change.path.as_str()).collect();
    for file in [CATALOG, POLICY, GATEWAY, ".mcp.json", ".gitignore"] {
        assert!(paths.contains(&format!("/memory/{file}").as_str()), "{file} {paths:?}");
    }
    assert_eq!((report.change_count, report.rule.as_ref()), (report.changes.len(), None));
    assert_eq!(bench.paths(), before);
}

#[test]
fn a_yes_writes_what_was_shown_and_a_second_setup_nothing() {
    let bench = site();
    let report = set_up(&bench);
    assert!(report.written && report.programs[0].state == SetupState::New, "{report:?}");
    assert!(bench.read(".mcp.json").unwrap().contains("\"claude\""));
    assert!(bench.read(GATEWAY).unwrap().contains("name = \"claude\"\n"));
    assert!(bench.read(POLICY).is_some());
    let policy = bench.read(POLICY);
    let again = set_up(&bench);
    assert_eq!((again.change_count, again.programs[0].state), (0, SetupState::Known), "{:?}", again.changes);
    assert_eq!(bench.read(POLICY), policy);
}

#[test]
fn a_file_that_changed_after_it_was_shown_stops_the_setup() {
    let bench = site();
    let mut setup = begin(&bench, &choice(&["claude"], &[]));
    setup.grant(SetupGrant::None).unwrap();
    bench.write(POLICY, "# of a person\n");
    let error = setup.write().unwrap_err();
    assert_eq!(error.code(), brigade_core::ErrorCode::ChangedMeanwhile);
    assert_eq!((bench.read(POLICY).as_deref(), bench.read(".mcp.json")), (Some("# of a person\n"), None));
    assert_eq!(bench.read(".brigade/tools/setup.json"), None, "nothing is to be taken back");
}

#[test]
fn a_server_that_cannot_be_started_is_reported_and_left_out() {
    let bench = site();
    let mut heard = Vec::new();
    let setup = onboarding(&bench).begin(&choice(&[], &["off"]), &mut |name| heard.push(name.to_owned()));
    let report = setup.unwrap().propose();
    let [row] = report.servers.as_slice() else { panic!("{report:?}") };
    assert_eq!(row.state, SetupState::Failed);
    assert!(row.detail.is_some() && heard.iter().any(|name| name.contains("off")), "{row:?} {heard:?}");
    assert_eq!(report.exit(), Exit::Refused);
}

#[test]
fn an_undo_takes_back_what_is_as_it_was_written() {
    let bench = site();
    let before = bench.paths();
    set_up(&bench);
    let undo = onboarding(&bench).undo().unwrap();
    assert!(undo.report().undo && !undo.report().written);
    assert!(onboarding(&bench).undo().unwrap().propose().dry_run);
    let report = undo.write().unwrap();
    assert!(report.written, "{report:?}");
    let is_left = |path: &String| !before.contains(path) && !path.ends_with(".lock");
    let left: Vec<String> = bench.paths().into_iter().filter(is_left).collect();
    assert!(left.iter().all(|path| path.ends_with("/trusted.json")), "{left:?}");
    assert_eq!(onboarding(&bench).undo().unwrap().report().change_count, 0);
}

#[test]
fn an_undo_keeps_what_a_person_changed_since() {
    let bench = site();
    set_up(&bench);
    let policy = bench.read(POLICY).unwrap() + "# mine\n";
    bench.write(POLICY, &policy);
    let report = onboarding(&bench).undo().unwrap().write().unwrap();
    let kept: Vec<&SetupChange> =
        report.changes.iter().filter(|change| change.action == SetupAction::Keep).collect();
    assert!(kept.iter().any(|change| change.path == format!("/memory/{POLICY}")), "{kept:?}");
    assert_eq!((bench.read(POLICY), bench.read(".mcp.json")), (Some(policy), None));
    assert!(report.notes[0].starts_with("kept "), "{:?}", report.notes);
}

#[test]
fn a_record_that_another_host_or_a_clone_brought_counts_for_nothing() {
    let bench = site();
    set_up(&bench);
    // Another key, as on another host.
    let other = Onboarding::new(Arc::new(bench.context.over(bench.context.fs.clone())), SetupLevel::Project);
    assert_eq!(other.undo().unwrap().report().change_count, 0);
    bench.replace(".brigade/tools/setup.json", ".mcp.json", ".other.json");
    assert_eq!(onboarding(&bench).undo().unwrap().report().change_count, 0);
}

#[test]
fn the_sentence_of_a_rule_names_agents_and_counts_tools() {
    let set = |names: &[&str]| -> BTreeSet<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    for (tools, agents, expect) in [
        (&["a"][..], &["claude"][..], "calls by claude of 1 tool that only reads here run without asking"),
        (
            &["a", "b"],
            &["claude", "codex"],
            "calls by claude and codex of 2 tools that only read here run without asking",
        ),
        (
            &["a", "b"],
            &["a", "b", "c"],
            "calls by a, b and c of 2 tools that only read here run without asking",
        ),
        (&[], &[], "calls of the tools of this rule run without asking"),
    ] {
        assert_eq!(sentence(&set(tools), &set(agents)), expect);
    }
}

#[test]
fn notes_say_what_is_left_open() {
    let empty = onboarding(&Bench::new(&[])).report();
    let program = |detail: Option<&str>| SetupProgram {
        program: "claude".to_owned(),
        title: "Claude Code".to_owned(),
        agent: None,
        state: SetupState::New,
        path: None,
        detail: detail.map(str::to_owned),
    };
    let new = SetupServer {
        programs: vec!["claude".to_owned(), "cursor".to_owned()],
        paths: vec!["/a".to_owned(), "/b".to_owned()],
        ..server("notes", SetupState::New)
    };
    let failed = || server("gone", SetupState::Failed);
    for (programs, servers, expect) in [
        (
            vec![],
            vec![],
            "no agent program and no MCP server was found or chosen, so agents get no new tools",
        ),
        (vec![program(None)], vec![], "no MCP server was found or chosen, so agents get no new tools"),
        (vec![], vec![failed()], "none of the servers works, so agents get no new tools"),
        (
            vec![program(None)],
            vec![new],
            "claude can also start `notes` without the gateway, until you remove it from /a and /b",
        ),
        (vec![program(Some("why"))], vec![server("a", SetupState::Known)], "why"),
    ] {
        let report = SetupReport { programs, servers, ..empty.clone() };
        assert_eq!(notes(&report), [expect]);
    }
}

#[test]
fn only_configuration_is_shown_with_its_lines() {
    let row = |path: &str, before: Option<&str>, after: Option<&str>| {
        let bytes = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
        let path = path.parse().unwrap();
        let change = StagedChange { path, before: bytes(before), after: bytes(after), mode: 0o600 };
        change_row(&change, &Redactor::new(&[]), "/memory")
    };
    for (path, has_diff) in
        [(POLICY, true), (".gitignore", true), (".brigade/tools/schemas/a.input.json", false)]
    {
        let shown = row(path, None, Some("a = 1\n"));
        assert_eq!((shown.diff.is_empty(), shown.path), (!has_diff, format!("/memory/{path}")));
    }
    let action = |before: Option<&str>, after: Option<&str>| row(POLICY, before, after).action;
    assert_eq!(action(None, Some("a")), SetupAction::Create);
    assert_eq!(action(Some("a"), Some("b")), SetupAction::Change);
    assert_eq!(action(Some("a"), None), SetupAction::Remove);
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    assert!(!row(POLICY, None, Some(&format!("x = \"{secret}\"\n"))).diff.contains(secret));
}

#[test]
fn a_report_is_refused_if_something_failed_or_was_not_written() {
    let empty = onboarding(&Bench::new(&[])).report();
    let rule = Some(SetupRule { name: "r".to_owned(), sentence: String::new() });
    for (report, expect) in [
        (empty.clone(), Exit::Done),
        (SetupReport { change_count: 1, ..empty.clone() }, Exit::Refused),
        (SetupReport { change_count: 1, written: true, rule, ..empty.clone() }, Exit::Done),
        (SetupReport { change_count: 1, dry_run: true, ..empty.clone() }, Exit::Done),
        (
            SetupReport { written: true, servers: vec![server("x", SetupState::Failed)], ..empty.clone() },
            Exit::Refused,
        ),
    ] {
        assert_eq!(report.exit(), expect, "{report:?}");
    }
}

#[test]
fn servers_in_the_catalog_are_known() {
    let bench = site();
    let tools = "[[tool]]\nid = \"notes\"\nname = \"N\"\nfamily = \"mcp\"\nruntime_id = \"notes\"\n[tool.source]\nref = \"mcp:notes@cursor/user\"\n\
        [[tool]]\nid = \"notes-find\"\nname = \"F\"\nfamily = \"mcp\"\nruntime_id = \"notes\"\nmcp_tool_name = \"find\"\n";
    bench.write(CATALOG, tools);
    assert!(
        load::catalog(&bench.context).unwrap().tools().iter().all(|tool| tool.origin.level == Level::Project)
    );
    let report = onboarding(&bench).look().unwrap();
    let row = report.servers.iter().find(|row| row.name == "notes").unwrap();
    assert_eq!((row.state, row.runtime_id.as_deref()), (SetupState::Known, Some("notes")));
}
