use brigade_core::ErrorKind;
use brigade_workspace::POLICY;

use super::*;
use crate::testing::Bench;

/// The cache of check results.
const CHECKS: &str = ".brigade/tools/checks.json";

const VERSION: &str = "version = \">=4.30, <5\"\nversion_command = \"myq --version\"";

/// Makes a workspace with the tool `yq` and these programs on `PATH`.
fn site(programs: &[&str], lines: &str) -> Bench {
    let entry = format!(
        "[[tool]]\nid = \"yq\"\nname = \"yq\"\nfamily = \"script\"\ncommand = \"myq -P\"\n\
         source = {{ kind = \"cli\" }}\n{lines}\n"
    );
    let bench = Bench::of_user(&[(CATALOG, &entry)]);
    programs.iter().for_each(|name| bench.program(&format!("bin/{name}"), "#!/bin/sh\n"));
    bench
}

fn named(id: &str) -> CheckSelection {
    CheckSelection::Named(vec![id.to_owned()])
}

#[track_caller]
fn check_yq(bench: &Bench, checks: RunChecks) -> CheckedTool {
    let report = check(&bench.context, &named("yq"), checks).unwrap();
    assert_eq!(report.ran_checks, checks == RunChecks::Yes);
    report.tools[0].clone()
}

fn codes(row: &CheckedTool) -> Vec<&str> {
    row.reasons.iter().map(|reason| reason.code.as_str()).collect()
}

#[test]
fn what_only_a_start_shows_is_unknown_until_then() {
    for (programs, lines, state, expect) in [
        (&["myq"][..], "", ToolState::Available, &[][..]),
        (&[], "", ToolState::Missing, &["program_missing"]),
        (&["myq"], VERSION, ToolState::Unknown, &["version_unobserved"]),
        (&["myq"], "install = { check = \"myq eval\" }", ToolState::Unknown, &["check_not_run"]),
        (&["myq"], "install = { check = \"which myq\" }", ToolState::Available, &[]),
        (&["myq"], "install = { check = \"which other\" }", ToolState::Missing, &["program_missing"]),
        (&["myq"], "install = { check = \"test -f there\" }", ToolState::Missing, &["check_failed"]),
    ] {
        let bench = site(programs, lines);
        let row = check_yq(&bench, RunChecks::No);
        assert_eq!((row.state, codes(&row)), (state, expect.to_vec()), "{lines}");
        assert_eq!(bench.read(CHECKS), None, "nothing was run");
    }
}

#[test]
fn the_required_version_is_shown_beside_the_observed_one() {
    let row = check_yq(&site(&["myq"], VERSION), RunChecks::No);
    assert_eq!(row.version.required.as_deref(), Some(">=4.30, <5"));
    assert_eq!((row.version.observed, row.version.satisfied), (None, None));
}

#[test]
fn risky_and_refused_checks_are_not_started() {
    for (lines, policy, why) in [
        ("version = \"1\"\nversion_command = \"sh -c 'echo 1'\"", "", "its commands as text"),
        ("version = \"1\"\nversion_command = \"sudo myq --version\"", "", "sudo"),
        (VERSION, "denied_effects = [\"local-read\"]\n", "local-read"),
        (VERSION, "allowed_levels = [\"user\"]\n", "level `project`"),
        (VERSION, "max_timeout = \"soon\"\n", "max_timeout"),
    ] {
        let bench = site(&["myq", "sh", "sudo"], lines);
        bench.write(POLICY, policy);
        let row = check_yq(&bench, RunChecks::Yes);
        let reason = &row.reasons[0].message;
        assert!(reason.contains("not started") && reason.contains(why), "{why}: {reason}");
        assert_eq!(row.state, ToolState::Unknown);
    }
}

#[test]
fn of_all_tools_only_enabled_ones_are_counted() {
    let bench = site(&[], "");
    let more =
        "[[tool]]\nid = \"off\"\nname = \"off\"\nfamily = \"script\"\nenabled = false\ncommand = \"gone\"\n";
    bench.write(CATALOG, &(bench.read(CATALOG).unwrap() + more));
    let all = check(&bench.context, &CheckSelection::All, RunChecks::No).unwrap();
    assert_eq!((all.tools.len(), all.counts.missing), (2, 1));
    // One that a person names counts.
    let report = check(&bench.context, &named("off"), RunChecks::No).unwrap();
    assert_eq!((report.tools[0].enabled, report.counts.missing), (false, 1));
}

#[test]
fn a_disabled_tool_is_not_started_among_all() {
    let bench = site(&["myq"], &format!("enabled = false\n{VERSION}"));
    let all = check(&bench.context, &CheckSelection::All, RunChecks::Yes).unwrap();
    assert_eq!((all.tools[0].enabled, all.tools[0].version.observed.clone()), (false, None));
    assert_eq!(bench.read(CHECKS), None);
}

#[test]
fn commands_of_a_registry_that_is_read_in_place_are_not_run() {
    let bench = site(&["jq"], "");
    let registry = "tools:\n  - id: jq\n    source: {type: cli, command: jq}\n    install: {check: jq --version, command: get jq}\n";
    bench.write(".cub/tools-registry.yaml", registry);
    let report = check(&bench.context, &named("jq"), RunChecks::Yes).unwrap();
    let expect = "jq: its commands are not run before it is registered";
    assert!(report.notes.iter().any(|note| note == expect), "{:?}", report.notes);
    assert_eq!(bench.read(CHECKS), None);
}

#[test]
fn a_name_is_checked_once_and_an_unknown_one_is_an_error() {
    let bench = site(&[], "aliases = [\"yaml\"]");
    let twice = CheckSelection::Named(vec!["yq".to_owned(), "yaml".to_owned(), "yq".to_owned()]);
    assert_eq!(check(&bench.context, &twice, RunChecks::No).unwrap().tools.len(), 1);
    let unknown = CheckSelection::Named(vec!["yq".to_owned(), "NOPE".to_owned()]);
    for checks in [RunChecks::No, RunChecks::Yes] {
        assert_eq!(check(&bench.context, &unknown, checks).unwrap_err().kind(), ErrorKind::NotFound);
    }
    assert_eq!(bench.read(CHECKS), None);
}

#[test]
fn an_unreadable_catalog_is_not_an_empty_one() {
    let bench = Bench::new(&[(CATALOG, "[[tool]\nid = \"a\"\n")]);
    let error = check(&bench.context, &CheckSelection::All, RunChecks::No).unwrap_err();
    assert_eq!((error.kind(), error.code_word()), (ErrorKind::InvalidConfig, "config_invalid"));
}

#[test]
fn a_skill_is_there_if_its_file_is_a_plain_file() {
    let skill = |id: &str, path: &str| {
        format!("[[tool]]\nid = \"{id}\"\nname = \"x\"\nfamily = \"skill\"\nsource_path = \"{path}\"\n")
    };
    let bench = site(&[], "");
    bench.write(
        CATALOG,
        &[skill("gone", "gone.md"), skill("folder", "bin-of-skill"), skill("file", "file.md")].concat(),
    );
    bench.write("bin-of-skill/x", "");
    bench.write("file.md", "");
    let report = check(&bench.context, &CheckSelection::All, RunChecks::No).unwrap();
    let states: Vec<ToolState> = report.tools.iter().map(|tool| tool.state).collect();
    assert_eq!(states, [ToolState::Missing, ToolState::Missing, ToolState::Available]);
}

#[test]
fn a_broken_entry_is_the_reason() {
    let bench = site(&["myq"], "timeout = 0");
    assert_eq!(codes(&check_yq(&bench, RunChecks::No)), ["invalid_entry"]);
}

#[test]
fn a_file_of_the_user_that_has_errors_is_a_note() {
    let bench = site(&["myq"], "");
    bench.write("home/.config/brigade/tools.toml", "[[tool]]\nid = \"mine\nname = 3\n");
    let notes = check(&bench.context, &named("yq"), RunChecks::No).unwrap().notes;
    assert!(notes.iter().any(|note| note.contains("tools.toml:2:")), "{notes:?}");
}
