mod plugins;

use std::collections::BTreeMap;

use brigade_core::Json;
use brigade_fs::FileMode;
use brigade_harness::{FileStatus, Scope};
use brigade_workspace::CATALOG;

use super::*;
use crate::testing::Bench;

const CURSOR: &str = "home/.cursor/mcp.json";

/// Values of the fixtures that must not appear anywhere.
const SECRETS: [&str; 6] = [
    "hunter2EXAMPLE",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "0123456789abcdefEXAMPLE",
    "YOUR-API-KEY",
    "/path/to/key",
    "team=1",
];

/// Makes a workspace and a home with the files of all harnesses.
fn everything() -> Bench {
    let bench = Bench::of_user(&[(CATALOG, "")]);
    let files = brigade_testkit::fixtures().join("harnesses");
    bench.copy(&files.join("home"), "home");
    bench.copy(&files.join("workspace"), "");
    bench.replace("home/.claude.json", "WORKSPACE", "/memory");
    bench
}

fn site(servers: &str) -> Bench {
    Bench::of_user(&[(CATALOG, ""), (CURSOR, &format!("{{\"mcpServers\": {servers}}}"))])
}

#[track_caller]
fn look_for(bench: &Bench, request: &DiscoverRequest) -> DiscoveryReport {
    let report = discover(&bench.context, request).unwrap();
    assert_eq!((report.entries.len(), report.issues.len()), (report.entry_count, report.issue_count));
    report
}

#[track_caller]
fn found(bench: &Bench) -> DiscoveryReport {
    look_for(bench, &DiscoverRequest::default())
}

fn of_mcp(harnesses: &[&str], scopes: &[Scope]) -> DiscoverRequest {
    DiscoverRequest {
        harnesses: (!harnesses.is_empty())
            .then(|| harnesses.iter().map(|label| (*label).to_owned()).collect()),
        sources: vec![EntrySource::Mcp],
        scopes: scopes.to_vec(),
    }
}

fn ids(report: &DiscoveryReport) -> Vec<&str> {
    report.entries.iter().map(|entry| entry.id.as_str()).collect()
}

#[track_caller]
fn entry<'r>(report: &'r DiscoveryReport, id: &str) -> &'r DiscoveredEntry {
    report
        .entries
        .iter()
        .find(|entry| entry.id == id)
        .unwrap_or_else(|| panic!("no `{id}` in {:?}", ids(report)))
}

#[track_caller]
fn synced(bench: &Bench) -> RegistrySyncReport {
    sync(&bench.context, false).unwrap()
}

fn codes(issues: &[DiscoveryIssue]) -> Vec<IssueType> {
    issues.iter().map(|issue| issue.code).collect()
}

#[test]
fn every_harness_is_read_in_its_own_format() {
    let report = found(&everything());
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for harness in &report.harnesses {
        assert!(harness.found, "{harness:?}");
        for file in &harness.files {
            assert!(file.path.starts_with('/'), "{file:?}");
            let expected = [FileStatus::Read, FileStatus::Absent, FileStatus::NotEvaluated];
            assert!(expected.contains(&file.status), "{file:?}");
            if file.source == EntrySource::Mcp {
                *counts.entry((&harness.harness, file.scope.as_str())).or_default() += file.entry_count;
            }
        }
    }
    counts.retain(|_, count| *count != 0);
    let expect = [
        (("amp", "project"), 1),
        (("amp", "user"), 2),
        (("antigravity", "user"), 1),
        (("claude", "local"), 1),
        (("claude", "project"), 1),
        (("claude", "user"), 2),
        (("claude-desktop", "user"), 2),
        (("cline", "user"), 2),
        (("codex", "project"), 1),
        (("codex", "user"), 2),
        (("continue", "project"), 2),
        (("continue", "user"), 2),
        (("copilot", "project"), 1),
        (("copilot", "user"), 2),
        (("crush", "project"), 1),
        (("crush", "user"), 2),
        (("cursor", "project"), 1),
        (("cursor", "user"), 2),
        (("factory", "project"), 1),
        (("factory", "user"), 2),
        (("gemini", "project"), 1),
        (("gemini", "user"), 3),
        (("goose", "user"), 2),
        (("kiro", "user"), 2),
        (("opencode", "project"), 2),
        (("opencode", "user"), 2),
        (("qwen", "project"), 2),
        (("qwen", "user"), 1),
        (("roo", "project"), 1),
        (("vscode", "project"), 1),
        (("vscode", "user"), 2),
        (("windsurf", "project"), 1),
        (("windsurf", "user"), 2),
        (("zed", "project"), 1),
        (("zed", "user"), 3),
    ];
    assert_eq!(counts, BTreeMap::from(expect));
    let crush = report.harnesses.iter().find(|row| row.harness == "crush").unwrap();
    let script = crush.files.iter().find(|file| file.path.ends_with("/crushrc")).unwrap();
    assert_eq!(script.status, FileStatus::NotEvaluated, "a program is not run");
}

#[test]
fn an_entry_says_what_its_file_says() {
    let report = found(&everything());
    let context7 = entry(&report, "mcp:context7@codex/user");
    assert_eq!(context7.command, ["npx", "-y", "@upstash/context7-mcp"]);
    assert_eq!(context7.env_labels, ["MY_ENV_VAR", "LOCAL_TOKEN", "REMOTE_TOKEN"]);
    assert_eq!(context7.tools_denied, ["slow"]);
    let origin = &context7.origins[0];
    assert_eq!((origin.reference.as_str(), origin.line), ("mcp:context7@codex/user", Some(8)));
    let figma = entry(&report, "mcp:figma@codex/user");
    assert_eq!((figma.url_host.as_deref(), figma.enabled), (Some("mcp.figma.com"), false));
    assert_eq!(figma.header_names, ["X-Figma-Region", "X-Trace", "Authorization"]);
    assert_eq!(figma.env_labels, ["FIGMA_OAUTH_TOKEN", "TRACE_ID"]);
    let python = entry(&report, "mcp:pythonTools@gemini/user");
    assert_eq!(python.cwd.as_deref(), Some("./mcp-servers/python"));
    assert_eq!(python.unresolved, ["${EXTERNAL_API_KEY}", "$DB_CONNECTION_STRING"]);
    assert_eq!(entry(&report, "mcp:local-db").literal_secrets, ["env.DB_PASSWORD"]);
    assert_eq!(entry(&report, "skill:pdf-tools").tools_allowed, ["Bash(pdftotext:*)", "Read"]);
    assert_eq!(entry(&report, "skill:git:commit").unresolved, ["!{…}"]);
    assert_eq!(entry(&report, "harness:claude.Bash").source, EntrySource::Harness);
    assert!(!ids(&report).iter().any(|id| id.contains("not-ours")));
}

#[test]
fn one_definition_in_two_programs_is_one_entry() {
    let report = found(&everything());
    // Each program writes the variable differently.
    let github = entry(&report, "mcp:github@claude/user");
    let refs: Vec<&str> = github.origins.iter().map(|origin| origin.reference.as_str()).collect();
    assert_eq!(refs, ["mcp:github@claude/user", "mcp:github@cursor/user"]);
    assert_eq!(github.unresolved, ["${GITHUB_TOKEN}", "${env:GITHUB_TOKEN}"]);
    assert!(codes(&report.issues).contains(&IssueType::DefinitionsDiffer));
}

#[test]
fn servers_that_a_program_turned_off_elsewhere_are_off() {
    let report = found(&everything());
    let of_copilot = entry(&report, "mcp:context7@copilot/user");
    assert!(!of_copilot.enabled && !of_copilot.origins[0].enabled, "{of_copilot:?}");
    let copilot = report.harnesses.iter().find(|row| row.harness == "copilot").unwrap();
    let switches = copilot.files.iter().find(|file| file.path.ends_with(".copilot/settings.json")).unwrap();
    assert_eq!(switches.status, FileStatus::Read);
    assert!(!entry(&report, "mcp:streaming@gemini/user").enabled);
}

#[test]
fn no_value_of_a_file_is_reported_or_stored() {
    let bench = everything();
    let report = found(&bench);
    let written = synced(&bench);
    assert!(written.written);
    let cache = bench.read(DISCOVERED).unwrap();
    for text in [format!("{report:?}"), format!("{written:?}"), cache] {
        for secret in SECRETS {
            assert!(!text.contains(secret), "{secret}");
        }
    }
}

#[test]
fn filters_choose_what_is_read() {
    let bench = everything();
    let report = look_for(&bench, &of_mcp(&["cursor", "zed"], &[]));
    let labels: Vec<&str> = report.harnesses.iter().map(|row| row.harness.as_str()).collect();
    assert_eq!(labels, ["cursor", "zed"]);
    let expect = [
        "mcp:figma",
        "mcp:github",
        "mcp:local-mcp-server",
        "mcp:older",
        "mcp:postgres",
        "mcp:remote-mcp-server",
        "mcp:zed-server",
    ];
    assert_eq!(ids(&report), expect);
    let (of_project, of_user) = (["mcp:local-db", "mcp:tickets"], ["mcp:filesystem", "mcp:github"]);
    let claude = |scopes: &[Scope]| look_for(&bench, &of_mcp(&["claude"], scopes));
    assert_eq!(ids(&claude(&[Scope::Project])), of_project);
    assert_eq!(ids(&claude(&[Scope::User])), of_user);
    // One of several must match.
    assert_eq!(ids(&claude(&[Scope::Project, Scope::User])), [of_user, of_project].concat());
    let skills = DiscoverRequest { sources: vec![EntrySource::Skill], ..of_mcp(&["factory"], &[]) };
    assert_eq!(ids(&look_for(&bench, &skills)), [""; 0]);
    let both =
        DiscoverRequest { sources: vec![EntrySource::Mcp, EntrySource::Harness], ..of_mcp(&["claude"], &[]) };
    let report = look_for(&bench, &both);
    assert!(entry(&report, "harness:claude.Bash").registered_as.is_none());
    assert!(entry(&report, "mcp:github").registered_as.is_none());
}

#[test]
fn an_unknown_program_is_an_error_with_a_similar_one() {
    for (name, hint) in [("cursr", "did you mean `cursor`?"), ("emacs", "known are ")] {
        let error = discover(&Bench::new(&[]).context, &of_mcp(&[name], &[])).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Usage, ErrorCode::HarnessMissing));
        assert!(error.hints()[0].to_string().starts_with(hint), "{:?}", error.hints());
    }
}

#[test]
fn the_catalog_chooses_the_programs_unless_the_request_does() {
    let catalog = "[registry]\nharnesses = ['zed', 'cursor']\n[[tool]]\nid = 'pg'\nname = 'Postgres'\nfamily = 'mcp'\n\
                   [tool.source]\nref = 'mcp:postgres@cursor/user'\n";
    let bench = everything();
    bench.write(CATALOG, catalog);
    let report = look_for(&bench, &of_mcp(&[], &[]));
    let labels: Vec<&str> = report.harnesses.iter().map(|row| row.harness.as_str()).collect();
    assert_eq!(labels, ["cursor", "zed"]);
    assert_eq!(entry(&report, "mcp:postgres").registered_as.as_deref(), Some("pg"));
    assert_eq!(entry(&report, "mcp:github").registered_as, None);
    assert_eq!(look_for(&bench, &of_mcp(&["factory"], &[])).entry_count, 3);
}

#[test]
fn a_list_of_programs_that_cannot_be_read_is_not_all() {
    let bench = everything();
    for wrong in [
        "[registry]\nharnesses = \"cursor\"\n",
        "[registry]\nharnesses = [\"cursor\", 5]\n",
        "registry = 5\n",
    ] {
        bench.write(CATALOG, wrong);
        let errors = [
            discover(&bench.context, &DiscoverRequest::default()).map(drop).unwrap_err(),
            sync(&bench.context, false).map(drop).unwrap_err(),
        ];
        for error in errors {
            assert!(error.to_string().contains("registry"), "{error}");
        }
        look_for(&bench, &of_mcp(&["cursor"], &[]));
    }
    // The list of the user counts if the project has none.
    bench.write("home/.config/brigade/tools.toml", "[registry]\nharnesses = 7\n");
    bench.write(CATALOG, "");
    let error = discover(&bench.context, &DiscoverRequest::default()).unwrap_err();
    assert!(error.to_string().contains("brigade/tools.toml"), "{error}");
    bench.write(CATALOG, "[registry]\nharnesses = [\"cursor\"]\n");
    found(&bench);
}

#[test]
fn settings_of_the_user_choose_programs_where_the_project_has_none() {
    let bench = Bench::of_user(&[
        (CATALOG, ""),
        ("home/.config/brigade/tools.toml", "[registry]\nharnesses = [\"gemini\"]\n"),
        (".cursor/mcp.json", r#"{"mcpServers": {"voice": {"command": "a"}}}"#),
        (".gemini/settings.json", r#"{"mcpServers": {"voice": {"command": "b"}}}"#),
    ]);
    let command = |bench: &Bench| found(bench).entries[0].command.clone();
    assert_eq!(command(&bench), ["b"]);
    bench.write(CATALOG, "[registry]\nharnesses = [\"cursor\"]\n");
    assert_eq!(command(&bench), ["a"]);
}

#[test]
fn a_program_is_found_by_its_folder_or_on_path() {
    let bench = Bench::of_user(&[(CATALOG, "")]);
    let empty = found(&bench);
    assert_eq!((empty.harnesses.len(), empty.entry_count), (20, 0));
    assert!(empty.harnesses.iter().all(|row| !row.found));
    bench.program("bin/crush", "#!/bin/sh\nexit 1\n");
    bench.write("home/.codex/history.json", "");
    let report = found(&bench);
    let there: Vec<&str> =
        report.harnesses.iter().filter(|row| row.found).map(|row| row.harness.as_str()).collect();
    assert_eq!(there, ["codex", "crush"]);
}

#[test]
fn an_installed_program_that_is_not_read_is_named() {
    let report = found(&Bench::of_user(&[(CATALOG, ""), ("home/.junie/x", "")]));
    let [issue] = report.issues.as_slice() else { panic!("{report:?}") };
    assert_eq!((issue.code, issue.harness.as_deref()), (IssueType::ProgramNotRead, Some("junie")));
    assert_eq!(issue.message, "Junie is installed, but its files are not read");
    let row = report.harnesses.iter().find(|row| row.harness == "junie").unwrap();
    assert!(row.found && row.files.is_empty());
}

#[test]
fn a_broken_file_hides_no_other() {
    let bench = site(r#"{"good": {"command": "good"}}"#);
    bench.write("home/.gemini/settings.json", "{\n  // x\n  \"mcpServers\": {\n    \"g\": hunter2EXAMPLE\n");
    bench.write("home/.codeium/windsurf/mcp_config.json", "{\"mcpServers\": {\"none\": {}}}");
    bench.write("home/.factory/mcp.json/x", "a directory");
    let report = found(&bench);
    let servers: Vec<&str> = ids(&report).into_iter().filter(|id| id.starts_with("mcp:")).collect();
    assert_eq!(servers, ["mcp:good"]);
    let mut reported: Vec<(IssueType, Option<usize>)> =
        report.issues.iter().map(|issue| (issue.code, issue.line)).collect();
    reported.sort_by_key(|(code, _)| code.code());
    assert!(reported.contains(&(IssueType::ClientFileInvalid, Some(4))), "{reported:?}");
    assert!(reported.contains(&(IssueType::ServerWithoutCommand, Some(1))), "{reported:?}");
    assert!(codes(&report.issues).contains(&IssueType::ClientFileUnreadable));
    assert!(!format!("{report:?}").contains("hunter2"));
}

#[test]
fn settings_of_a_registry_may_leave_out_what_clawdbot_has() {
    let servers = r#"{"mcp": {"servers": {"files": {"command": "uvx", "args": ["mcp-server-files"]}}}}"#;
    let bench = Bench::of_user(&[
        (CATALOG, ""),
        ("home/.clawdbot/clawdbot.json", servers),
        ("home/.openclaw/openclaw.json", servers),
    ]);
    let report = look_for(&bench, &of_mcp(&[], &[]));
    let origins = &entry(&report, "mcp:files").origins;
    let programs: Vec<&str> = origins.iter().map(|origin| origin.harness.as_str()).collect();
    assert_eq!(programs, ["clawdbot", "openclaw"]);
    bench.write(CURSOR, r#"{"mcpServers": {"files": {"command": "uvx", "args": ["mcp-server-files"]}}}"#);
    bench.write(".cub/tools-registry.yaml", "settings: {inherit_clawdbot_mcp: false}\ntools: []\n");
    let report = look_for(&bench, &of_mcp(&[], &[]));
    let origins = &entry(&report, "mcp:files").origins;
    assert_eq!((origins.len(), origins[0].harness.as_str()), (1, "cursor"), "other programs have it too");
}

#[test]
fn without_a_home_nothing_of_the_user_is_forgotten() {
    let mut bench = everything();
    let before = synced(&bench);
    bench.remove(".mcp.json");
    for (home, message) in [("", "HOME is not set"), ("rel/x", "HOME is not an absolute path")] {
        bench = bench.variable("HOME", home);
        let report = sync(&bench.context, true).unwrap();
        assert!(report.issues.iter().any(|issue| issue.message.starts_with(message)), "{report:?}");
        assert!(!report.removed.is_empty(), "the file of the workspace is gone");
        assert!(before.entry_count <= report.entry_count + 5, "{report:?}");
    }
}

#[test]
fn sync_writes_what_changed_and_nothing_else() {
    let bench = site(r#"{"a": {"command": "a"}, "b": {"command": "b"}}"#);
    let planned = sync(&bench.context, true).unwrap();
    assert_eq!((planned.written, planned.dry_run, planned.made_at), (false, true, None));
    assert_eq!((planned.added.join(" ").as_str(), bench.read(DISCOVERED)), ("mcp:a mcp:b", None));
    let first = synced(&bench);
    assert_eq!((first.written, first.entry_count), (true, 2));
    assert_eq!(first.cache_path, "/memory/.brigade/tools/discovered.json");
    let text = bench.read(DISCOVERED);
    let second = synced(&bench);
    assert_eq!((second.written, second.unchanged_count, second.made_at), (false, 2, first.made_at));
    assert_eq!(bench.read(DISCOVERED), text);
    bench.write(CURSOR, r#"{"mcpServers": {"a": {"command": "a", "args": ["x"]}, "c": {"command": "c"}}}"#);
    let third = synced(&bench);
    assert_eq!((third.added.join(" ").as_str(), third.removed.join(" ").as_str()), ("mcp:c", "mcp:b"));
    let [changed] = third.changed.as_slice() else { panic!("{third:?}") };
    assert_eq!((changed.id.as_str(), changed.fields.join(" ").as_str()), ("mcp:a", "command fingerprint"));
}

#[test]
fn a_word_that_is_not_known_drops_only_its_record() {
    let bench = site(r#"{"a": {"command": "a"}, "b": {"command": "b"}}"#);
    synced(&bench);
    let text = bench.read(DISCOVERED).unwrap();
    bench.write(DISCOVERED, &text.replacen("\"source\": \"mcp\"", "\"source\": \"plugin\"", 1));
    let Memory::Found(kept) = read_remembered(&*bench.context.fs, &Masks::default()).unwrap() else {
        panic!("the rest is kept");
    };
    assert_eq!(kept.entries.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["mcp:b"]);
    assert!(kept.says_left_out().is_some_and(|what| what.contains("1 of its records")));
    let report = synced(&bench);
    assert_eq!((report.written, report.added.join(" ").as_str()), (true, "mcp:a"));
    assert_eq!(codes(&report.issues), [IssueType::DiscoveredCacheDamaged]);
    assert_eq!(codes(&synced(&bench).issues), []);
}

#[test]
fn a_damaged_cache_is_replaced_and_a_newer_one_stays() {
    let bench = site(r#"{"a": {"command": "a"}}"#);
    for damaged in ["", "{", "[]", "{\"schema\": \"brigade.discovered.v1\"}"] {
        bench.write(DISCOVERED, damaged);
        let reported = sync(&bench.context, true).unwrap();
        assert_eq!(reported.issues[0].message, "the cache is damaged");
        assert_eq!(bench.read(DISCOVERED).as_deref(), Some(damaged));
        let report = synced(&bench);
        assert_eq!((report.written, report.issues[0].code), (true, IssueType::DiscoveredCacheDamaged));
        assert_eq!(report.issues[0].message, "the cache was damaged, and is replaced");
        assert_eq!(codes(&synced(&bench).issues), []);
    }
    let newer = r#"{"schema": "brigade.discovered.v2"}"#;
    bench.write(DISCOVERED, newer);
    let error = sync(&bench.context, false).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Refused, ErrorCode::NewerVersion));
    assert_eq!(bench.read(DISCOVERED).as_deref(), Some(newer));
}

#[test]
fn what_an_unreadable_file_said_before_is_kept() {
    let bench = site(r#"{"one": {"command": "one"}, "none": {"url": "not a url"}}"#);
    bench.write("home/.claude/skills/one/SKILL.md", "---\nname: one\ndescription: First\n---\nBody\n");
    let first = synced(&bench);
    bench.write(CURSOR, "{");
    bench.write("home/.claude/skills/one/SKILL.md", "---\nname: [\n---\nBody\n");
    let second = synced(&bench);
    assert_eq!((second.added.len(), second.changed.len(), second.removed.len()), (0, 0, 0), "{second:?}");
    assert_eq!(second.entry_count, first.entry_count);
    let kept = second.issues.iter().filter(|issue| issue.message.ends_with("; what it said before is kept"));
    let mut kept: Vec<&str> = kept.filter_map(|issue| issue.path.as_deref()).collect();
    kept.sort_unstable();
    assert_eq!(kept, ["/memory/home/.claude/skills/one/SKILL.md", "/memory/home/.cursor/mcp.json"]);
    assert!(!synced(&bench).written);
}

#[test]
fn a_skill_that_was_never_readable_keeps_nothing() {
    let bench =
        Bench::of_user(&[(CATALOG, ""), ("home/.claude/skills/never/SKILL.md", "---\nname: [\n---\nBody\n")]);
    let report = synced(&bench);
    assert!(report.added.contains(&"skill:never".to_owned()), "{report:?}");
    assert!(report.issues.iter().all(|issue| !issue.message.contains("is kept")), "{report:?}");
}

#[test]
fn lines_that_move_change_nothing() {
    let bench = site(r#"{"a": {"command": "a"}}"#);
    synced(&bench);
    bench.write(CURSOR, "\n{\"mcpServers\":\n {\"a\": {\"command\": \"a\"}}}");
    assert_eq!(synced(&bench).changed.len(), 0);
}

#[test]
fn the_cache_is_private() {
    let bench = site(r#"{"a": {"command": "a"}}"#);
    synced(&bench);
    let metadata = bench.context.fs.metadata(&DISCOVERED.parse().unwrap()).unwrap();
    assert_eq!(metadata.mode & 0o777, 0o600);
    // It stays so if another program opened it up.
    let path = DISCOVERED.parse().unwrap();
    bench.context.fs.write_atomic(&path, b"", FileMode::Exactly(0o644)).unwrap();
    synced(&bench);
    assert_eq!(bench.context.fs.metadata(&path).unwrap().mode & 0o777, 0o600);
}

#[test]
fn a_value_that_is_bound_later_is_masked_in_the_cache() {
    let bench = site(r#"{"a": {"command": "run", "args": ["Zq7tail0"]}}"#).variable("V", "Zq7tail0");
    synced(&bench);
    bench.assert_nowhere("Zq7tail0", &[CURSOR, DISCOVERED]);
    bench.write(".brigade/tools/policy.toml", "env_bindings = { L = \"V\" }\n");
    assert!(synced(&bench).written, "the text is rewritten");
    bench.assert_nowhere("Zq7tail0", &[CURSOR]);
}

#[test]
fn a_registered_source_that_changed_is_reported_and_not_followed() {
    let bench = site(r#"{"voice": {"command": "sing", "args": ["-q"], "env": {"VOICE": "${SOUND}"}}}"#);
    let register = |replace: bool| {
        let request = crate::RegisterRequest {
            sources: vec![crate::RegisterSource::Reference("mcp:voice".to_owned())],
            level: brigade_catalog::Level::Project,
            id: None,
            replace,
            dry_run: false,
        };
        crate::register(&bench.context, &request).map(drop).map_err(|error| error.failure).unwrap();
    };
    register(false);
    let catalog = bench.read(CATALOG);
    let reported = |code: IssueType| -> Vec<DiscoveryIssue> {
        synced(&bench).issues.into_iter().filter(|issue| issue.code == code).collect()
    };
    assert_eq!(reported(IssueType::RegisteredSourceChanged), []);
    bench.write(
        CURSOR,
        "{\"mcpServers\": {\n\"voice\": {\"command\": \"sing\", \"args\": [\"--loud\"], \"env\": {\"VOICE\": \"${SOUND}\", \"PITCH\": \"a\"}, \"description\": \"Sings\"}}}",
    );
    // It is reported again until a person registers it again.
    for _ in 0..2 {
        let [issue] = &reported(IssueType::RegisteredSourceChanged)[..] else { panic!("one issue") };
        assert_eq!((issue.line, issue.entry_id.as_deref()), (Some(2), Some("mcp:voice")));
        assert_eq!(issue.refs, ["mcp:voice@cursor/user"]);
        for part in [
            "description is `Sings` and not nothing",
            "env_labels is `PITCH, VOICE` and not `VOICE`",
            "command is `sing --loud` and not `sing -q`",
        ] {
            assert!(issue.message.contains(part), "{}", issue.message);
        }
    }
    assert_eq!(bench.read(CATALOG), catalog, "nothing follows by itself");
    // A broken file gives no information about its entries.
    bench.write(CURSOR, "{");
    assert_eq!(reported(IssueType::RegisteredSourceGone), []);
    bench.write(CURSOR, "{}");
    assert_eq!(reported(IssueType::RegisteredSourceGone).len(), 1);
    bench.write(CURSOR, "{\"mcpServers\": {\"voice\": {\"command\": \"sing\", \"args\": [\"--loud\"]}}}");
    register(true);
    assert_eq!(reported(IssueType::RegisteredSourceChanged), []);
}

#[test]
fn changes_are_named_without_a_copy_in_the_entry() {
    let bench =
        site(r#"{"voice": {"url": "https://far.example/mcp?key=canary0", "headers": {"X-One": "a"}}}"#);
    let skill = "home/.claude/skills/sing/SKILL.md";
    bench.write(skill, "---\nname: sing\ndescription: Sings\n---\nOne.\n");
    let sources = ["mcp:voice", "skill:sing"].map(|name| crate::RegisterSource::Reference(name.to_owned()));
    let request = crate::RegisterRequest {
        sources: sources.to_vec(),
        level: brigade_catalog::Level::Project,
        id: None,
        replace: false,
        dry_run: false,
    };
    crate::register(&bench.context, &request).map(drop).map_err(|error| error.failure).unwrap();
    let kept = ".brigade/tools/registered.json";
    let text = bench.read(kept).unwrap();
    assert!(text.contains("far.example") && !text.contains("canary0"), "{text}");
    // A person may edit the entry during the review. Only changes of the source file are reported.
    bench.replace(CATALOG, "description = \"Sings\"", "description = \"Reviewed\"");
    let reported = || -> Vec<String> {
        let issues = synced(&bench).issues.into_iter();
        issues
            .filter(|issue| issue.code == IssueType::RegisteredSourceChanged)
            .map(|issue| issue.message)
            .collect()
    };
    assert_eq!(reported(), [""; 0]);
    bench.write(
        CURSOR,
        r#"{"mcpServers": {"voice": {"url": "https://far.example/mcp?key=canary0", "headers": {"X-One": "b", "X-Two": "c"}}}}"#,
    );
    bench.write(skill, "---\nname: sing\ndescription: Sings\n---\nTwo.\n");
    let messages = reported();
    assert_eq!(messages.len(), 2, "{messages:?}");
    let server = "header_names is `X-One, X-Two` and not `X-One`";
    assert!(messages.iter().any(|message| message.contains(server)), "{messages:?}");
    assert!(messages.iter().any(|message| message.contains("its text changed")), "{messages:?}");
    assert!(!messages.iter().any(|message| message.contains("Reviewed")), "{messages:?}");
    // Without the definitions, or with damaged ones, the change is still reported.
    bench.write(kept, "{");
    assert_eq!(reported().len(), 2);
    bench.remove(kept);
    assert_eq!(reported().len(), 2);
}

#[test]
fn all_entries_are_json_objects_with_a_fingerprint() {
    let report = found(&everything());
    for entry in &report.entries {
        let json = brigade_core::json::to_json(entry).unwrap();
        assert!(json.get("fingerprint").and_then(Json::as_str).is_some(), "{json:?}");
    }
}
