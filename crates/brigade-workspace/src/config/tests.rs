#![allow(clippy::disallowed_methods, reason = "a link is made on a real disk")]

use brigade_core::{AgentFiles, NextStep};

use super::*;
use crate::TARGETS;
use crate::testing::{Bench, entry};

/// Reads a policy. Expects this validity, and the start of the message of the first issue.
#[track_caller]
fn check_policy(prepare: impl FnOnce(&Bench), validity: PolicyValidity, message: &str) {
    let bench = Bench::on_disk(&[]);
    prepare(&bench);
    let policy = read_policy(&*bench.context.fs, &bench.context.trust);
    let first = policy.issues().first().map(|issue| issue.message.clone()).unwrap_or_default();
    assert_eq!((policy.validity(), policy.file()), (validity, POLICY), "{first}");
    assert!(first.starts_with(message), "{first}");
}

#[test]
fn only_a_missing_policy_leaves_everything_open() {
    check_policy(|_| (), PolicyValidity::Missing, "");
    check_policy(|bench| bench.write(POLICY, ""), PolicyValidity::Valid, "");
    check_policy(
        |bench| bench.write(POLICY, "max_timeout = 'x'\n"),
        PolicyValidity::Invalid,
        "expected a number",
    );
    check_policy(|bench| bench.folder(POLICY), PolicyValidity::Invalid, "cannot be read: it is not a file");
    check_policy(
        |bench| {
            bench.folder(".brigade/tools");
            std::os::unix::fs::symlink("gone", bench.path(POLICY)).unwrap();
        },
        PolicyValidity::Invalid,
        "cannot be read: it is a link to a missing file",
    );
}

#[test]
fn a_policy_that_git_tracks_blocks_until_a_person_accepts_its_bytes() {
    let bench = Bench::new(&[(POLICY, "max_timeout = 9\n")]);
    let validity = || read_policy(&*bench.context.fs, &bench.context.trust).validity();
    assert_eq!(validity(), PolicyValidity::Valid);
    bench.track_all();
    assert_eq!(validity(), PolicyValidity::Invalid);
    // What it only restricts counts anyway.
    assert_eq!(policy_on_disk(&*bench.context.fs).validity(), PolicyValidity::Valid);
    let shown = bench.context.trust.tracked_config(&*bench.context.fs);
    assert_eq!(shown.iter().map(|config| config.file).collect::<Vec<_>>(), [POLICY]);
    bench.context.accept_config(&shown[0]).unwrap();
    assert_eq!(validity(), PolicyValidity::Valid);
    assert_eq!(bench.context.trust.tracked_config(&*bench.context.fs), []);
    bench.write(POLICY, "max_timeout = 10\n");
    assert_eq!(validity(), PolicyValidity::Invalid);
}

#[test]
fn the_policy_sets_the_size_of_bound_files() {
    let bench = Bench::on_disk(&[(POLICY, "max_bound_file = '7KiB'\n")]);
    let read = || read_policy(&*bench.context.fs, &bench.context.trust);
    let limit = || bench.context.fs.bound_file_limit().get();
    let usual = limit();
    read();
    assert_eq!(limit(), 7 << 10);
    bench.write(POLICY, "");
    read();
    assert_eq!(limit(), usual);
}

#[test]
fn the_policy_of_a_project_names_its_file_by_its_absolute_path() {
    let bench = Bench::new(&[]);
    let read = || read_project_policy(&*bench.context.fs, &bench.context.trust);
    assert_eq!(read(), None);
    bench.write(POLICY, "max_timeout = 'x'\n");
    assert_eq!(read().map(|policy| policy.file().to_owned()), Some(format!("/memory/{POLICY}")));
}

#[test]
fn a_project_can_only_narrow_decisions() {
    let bench = Bench::new(&[
        (CATALOG, &entry("read", "command = 'cat'\neffects = ['local-read']")),
        (POLICY, "allowed_effects = ['local-read']\n"),
    ]);
    let decide = |project: Option<&str>| {
        let project = project.map(|text| PolicyState::parse("p", Some(text.as_bytes())));
        let config = crate::gather::own_config(&bench.context).unwrap().narrowed_by(project);
        let tool = config.catalog.tool("read").unwrap();
        let asked = CallFacts::from_tool(tool);
        let mut decision = config.decision_on(&bench.host(), tool);
        config.narrow(&bench.host(), &mut decision, &asked);
        (decision.is_allowed(), config.rules_of_project().is_some(), config.policies().count())
    };
    assert_eq!(decide(None), (true, false, 1));
    assert_eq!(decide(Some("allowed_effects = ['local-read', 'network']\n")), (true, true, 2));
    assert_eq!(decide(Some("denied_effects = ['local-read']\n")), (false, true, 2));
    assert_eq!(decide(Some("max_timeout = 'x'\n")), (false, true, 2));
}

#[test]
fn an_unreadable_file_is_an_issue_and_only_a_missing_one_has_a_next_step() {
    let check = |kind: FsErrorKind, expect: Option<(&str, bool)>| {
        let issue = unreadable("a.toml", FsError::new("read", "a.toml", kind), NextStep::Init.into());
        let told = issue.as_ref().ok().map(|issue| (&*issue.message, issue.hint.is_some()));
        assert_eq!(told, expect);
    };
    check(FsErrorKind::NotFound, Some(("the file does not exist", true)));
    check(FsErrorKind::NotAFile, Some(("it is not a file", false)));
    check(FsErrorKind::TooLarge { limit: 7 }, Some(("it is larger than 7 bytes", false)));
    check(
        FsErrorKind::Outside,
        Some((
            "it leads out of the workspace, perhaps through a link; replace the link with a directory or a file",
            false,
        )),
    );
    check(FsErrorKind::Permission, None);
    check(FsErrorKind::NoSpace, None);
}

#[test]
fn guards_come_from_the_policy_and_the_gateway() {
    let bench = Bench::new(&[(CATALOG, "")]);
    let guards = bench.config().guards(&bench.host());
    assert_eq!((guards.readable.len(), guards.agent_files), (0, AgentFiles::Closed));
    bench.write(POLICY, "[paths]\nreadable_secrets = ['.env.example']\nagent_files = 'open'\n");
    bench.write(crate::GATEWAY, "[builtin]\nprotected = ['private/**']\n");
    let guards = bench.config().guards(&bench.host());
    assert_eq!((guards.readable, guards.agent_files), (vec![".env.example".to_owned()], AgentFiles::Open));
    assert_eq!(guards.protected.len(), 1);
    // What an invalid policy opens does not count.
    bench.write(POLICY, "max_timeout = 'x'\n[paths]\nagent_files = 'open'\n");
    assert_eq!(bench.config().guards(&bench.host()).agent_files, AgentFiles::Closed);
}

#[test]
fn a_test_suite_is_an_enabled_script_with_the_category_test() {
    let catalog = [
        entry("suite", "command = 'make'\ncategories = ['slow', 'test']"),
        entry("off", "command = 'make'\ncategories = ['test']\nenabled = false"),
        entry("tests", "command = 'make'\ncategories = ['tests']"),
        entry("broken", "command = 7\ncategories = ['test']"),
        "[[tool]]\nid = 'skill'\nname = 'S'\nfamily = 'skill'\ncategories = ['test']\n".to_owned(),
    ];
    let registry = "tools:\n  - id: far\n    source: {type: cli, command: jq}\n    categories: [test]\n";
    let bench = Bench::new(&[(CATALOG, &catalog.concat()), (".brigade/tools-registry.yaml", registry)]);
    let config = bench.config();
    let ids: Vec<&str> = config.suites().map(|tool| tool.id.as_str()).collect();
    assert_eq!(ids, ["suite"]);
}

/// Returns whether a fact holds in a workspace with these files. A path that ends in `/` is a directory.
#[track_caller]
fn check_fact(fact: Fact, files: &[(&str, &str)]) {
    let row = builtin::definitions().iter().find(|row| row.id.starts_with("git.")).unwrap();
    let holds = |bench: &Bench| bench.config().holds(&bench.host(), row, fact, &Caller::CommandLine);
    let bench = Bench::new(&[(CATALOG, "")]).with_variables(&[("PATH", "/memory/bin")]);
    assert!(!holds(&bench), "{fact:?}");
    for (path, text) in files {
        match (path.strip_suffix('/'), path.starts_with("bin/")) {
            (Some(folder), _) => bench.folder(folder),
            (None, true) => bench.program(path, "#!/bin/sh\n"),
            (None, false) => bench.write(path, text),
        }
    }
    assert!(holds(&bench), "{fact:?}");
}

#[test]
fn each_fact_is_read_from_its_place() {
    check_fact(Fact::Repository, &[(".git/", "")]);
    check_fact(Fact::Repository, &[(".brigade/tools/git/clone/", "")]);
    check_fact(Fact::Git, &[("bin/git", "")]);
    check_fact(Fact::TestSuites, &[(CATALOG, &entry("t", "command = 'make'\ncategories = ['test']"))]);
    check_fact(Fact::WebDomains, &[(POLICY, "[web]\ndomains = ['example.com']\n")]);
    check_fact(Fact::Worker, &[(crate::GATEWAY, "[[worker]]\nid = 'w'\ncommand = 'claude'\n")]);
    check_fact(Fact::SearchProvider, &[(crate::GATEWAY, "[web]\nsearch = { folder = 'docs' }\n")]);
    check_fact(Fact::Issues, &[(crate::GATEWAY, "[issues]\ncommand = 'tracker'\n")]);
    check_fact(Fact::Screenshot, &[(POLICY, "[programs]\ncapture = 'grim'\n"), ("bin/grim", "")]);
    check_fact(Fact::WebFramework, &[(PACKAGE, r#"{"dependencies": {"react": "1"}}"#)]);
    for targets in TARGETS {
        check_fact(Fact::Fleet, &[(&format!("{targets}/one/"), "")]);
    }
}

#[test]
fn an_identity_and_a_session_belong_to_agents() {
    let bench = Bench::new(&[
        (CATALOG, ""),
        (crate::GATEWAY, "[[agent]]\nname = 'ada'\nidentity = true\n[[agent]]\nname = 'bob'\n"),
    ]);
    let config = bench.config();
    let row = &builtin::definitions()[0];
    let holds = |fact, caller: &Caller| config.holds(&bench.host(), row, fact, caller);
    let agent = |name: &str| Caller::Agent(name.to_owned());
    for (caller, identity, session) in [
        (Caller::CommandLine, false, false),
        (agent("ada"), true, true),
        (agent("bob"), false, true),
        (agent("eve"), false, true),
    ] {
        let found = (holds(Fact::Identity, &caller), holds(Fact::Session, &caller));
        assert_eq!(found, (identity, session), "{caller:?}");
    }
}

#[test]
fn a_package_that_is_not_json_names_no_web_framework() {
    for (text, expect) in [
        ("{", false),
        ("[]", false),
        (r#"{"dependencies": {"left-pad": "1"}}"#, false),
        (r#"{"devDependencies": {"react": "1"}}"#, true),
    ] {
        let bench = Bench::new(&[(PACKAGE, text)]);
        assert_eq!(names_web_framework(&*bench.context.fs), expect, "{text}");
    }
}

#[test]
fn facts_are_looked_up_once() {
    let known = KnownFacts::default();
    assert!(known.holds(Fact::Git, || true));
    assert!(known.holds(Fact::Git, || unreachable!("it is known")));
    assert!(!known.holds(Fact::Forge, || false));
}

const OFFERS: &str = "[[upstream]]\nid = 'files'\nresources = ['file:///srv/**']\neffects = ['local-read']\n\
                      [[upstream]]\nid = 'more'\nresources = ['file:///etc/**']\neffects = ['network', 'local-read']\n";

/// Returns the entry of an MCP tool of a server.
fn served(id: &str, server: &str) -> String {
    format!(
        "[[tool]]\nid = '{id}'\nname = 'N'\nfamily = 'mcp'\ncommand = 'serve {server}'\nmcp_server_id = '{server}'\n\
         mcp_tool_name = 'x'\neffects = ['local-read']\n"
    )
}

#[test]
fn an_entry_is_found_by_its_id_and_offers_by_their_arguments() {
    let catalog =
        [served("one", "files"), served("two", "more"), entry("off", "command = 'x'\nenabled = false")];
    let bench = Bench::new(&[(CATALOG, &catalog.concat()), (crate::GATEWAY, OFFERS)]);
    let config = bench.config();
    let find = |id: &str, args: &str| {
        let found = config.entry(&bench.host(), id, &crate::testing::json(args));
        found.map(|tool| (tool.id.to_string(), tool.mcp_server().map(str::to_owned))).map_err(drop)
    };
    let of = |id: &str, server: Option<&str>| Ok((id.to_owned(), server.map(str::to_owned)));
    assert_eq!(find(" one ", "{}"), of("one", Some("files")));
    assert_eq!(find("fs.read", "{}"), of("fs.read", None));
    assert_eq!(find("off", "{}"), Err(()));
    assert_eq!(find("gone", "{}"), Err(()));
    let read = |server: &str, uri: &str| {
        find("resource.read", &format!(r#"{{"server": "{server}", "uri": "{uri}"}}"#))
    };
    assert_eq!(read("files", "file:///srv/a"), of("resource.read", Some("files")));
    assert_eq!(read("more", "file:///etc/a"), of("resource.read", Some("more")));
    assert_eq!(read("files", "file:///etc/a"), Err(()));
    assert_eq!(find("prompt.get", r#"{"server": "files", "name": "a"}"#), Err(()));
}

#[test]
fn the_reader_of_all_offers_has_the_effects_of_each() {
    let catalog = [served("one", "files"), served("two", "more")].concat();
    let bench = Bench::new(&[(CATALOG, &catalog), (crate::GATEWAY, OFFERS)]);
    let reader = bench.config().reader(&bench.host(), Reads::Resource).unwrap();
    assert_eq!(reader.effects, ["local-read", "network"]);
    assert!(bench.config().reader(&bench.host(), Reads::Prompt).is_err());
    // A gateway file with an error offers nothing.
    bench.write(crate::GATEWAY, &format!("list = 'ful'\n{OFFERS}"));
    assert!(bench.config().reader(&bench.host(), Reads::Resource).is_err());
}

#[test]
fn a_person_has_no_limits_and_an_unknown_agent_has_no_call() {
    let bench = Bench::new(&[(CATALOG, ""), (crate::GATEWAY, "[[agent]]\nname = 'ada'\n")]);
    let config = bench.config();
    let limits = |agent: Option<&str>, profiles: &[String]| {
        config.call_limits(&bench.host(), "fs.read", agent, &SessionProfiles::default(), profiles).is_some()
    };
    assert!(limits(None, &["mode.gone".to_owned()]));
    assert!(limits(Some("ada"), &[]));
    assert!(!limits(Some("eve"), &[]));
    assert!(!limits(Some("ada"), &["mode.gone".to_owned()]));
}

#[test]
fn tools_of_the_forge_have_the_effects_of_the_program_that_reaches_it() {
    let id = builtin::definitions().iter().find(|row| is_of_forge(row.id)).unwrap().id;
    let bench = Bench::new(&[(CATALOG, &entry("mine", "command = 'x'"))]);
    let effects = || {
        let config = bench.config();
        let tool = config.own_tool(id).unwrap();
        assert_eq!(config.under_policy(tool).effects, tool.effects);
        let mine = config.catalog.tool("mine").unwrap();
        assert!(std::ptr::eq(config.under_policy(mine), mine));
        tool.effects.clone()
    };
    let rows = effects();
    bench.write(POLICY, "[programs]\nforge = 'gh'\n");
    assert_ne!(effects(), rows);
}

#[test]
fn lists_of_an_invalid_policy_are_empty() {
    let lists = "[git]\nurls = ['https://example.com/**']\n[web]\ndomains = ['example.com']\n[paths]\noutside = ['/srv']\n";
    for (text, count) in
        [(lists.to_owned(), 1), (format!("max_timeout = 'x'\n{lists}"), 0), (String::new(), 0)]
    {
        let bench = Bench::new(&[(CATALOG, ""), (POLICY, &text)]);
        let config = bench.config();
        let found = [config.git_urls().len(), config.web_domains().len(), config.outside().len()];
        assert_eq!(found, [count; 3], "{text}");
    }
}

#[test]
fn only_errors_of_a_catalog_are_its_errors() {
    let text = entry("a", "command = 'x'\nunknown_key = 1") + &entry("b", "command = 7");
    let catalog = Catalog::parse(CATALOG, Level::Project, text.as_bytes());
    assert_eq!((catalog.issues().len(), errors_of(&catalog).len()), (2, 1));
}
