//! Invalid command lines and unusable targets.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use brigade_testkit::{Brigade, TempWorkspace};

/// Runs an invalid command line, as text and as JSON, and checks that both messages contain `expect`.
#[track_caller]
fn check(words: &[&str], expect: &str) {
    let workspace = TempWorkspace::fixture("repo-tools");
    let brigade = Brigade::new(&workspace);

    let run = brigade.run(words);
    run.assert_code(2);
    assert!(run.stdout.is_empty(), "unexpected output\n{run}");
    assert!(run.stderr_text().contains(expect), "no `{expect}`\n{run}");

    // `--json` works at any position, also after the mistake.
    for place in [0, words.len()] {
        let mut words = words.to_vec();
        words.insert(place, "--json");
        let run = brigade.run(&words);
        run.assert_code(2);
        let document = run.json();
        assert_eq!(document["schema"], "brigade.error.v1", "{run}");
        assert_eq!(document["exit_code"], 2, "{run}");
        assert_eq!(document["kind"], "usage", "{run}");
        assert!(
            document["error"].as_str().is_some_and(|error| error.contains(expect)),
            "no `{expect}`\n{run}"
        );
        assert!(document["hints"].is_array(), "{run}");
        assert!(run.stderr.is_empty(), "{run}");
    }
}

#[test]
fn words_that_mean_nothing_are_usage_errors() {
    check(&["nonsense"], "nonsense");
    check(&["tools", "lst"], "lst");
    check(&["tools", "list", "--frobnicate"], "--frobnicate");
    check(&["tools", "list", "extra"], "extra");
    check(&["tools", "show"], "<ID>");
    check(&["tools", "list", "--color", "sometimes"], "--color");
    check(&["tools", "list", "--lock-timeout", "-1"], "-1");
    check(&["tools", "list", "--lock-timeout", "soon"], "seconds");
    check(&["tools", "call", "list", "--limit", "many"], "--limit");
}

#[test]
fn flags_and_commands_are_not_guessed_from_prefixes() {
    check(&["tools", "list", "--js"], "--js");
    check(&["--targ", ".", "tools", "list"], "--targ");
    check(&["tools", "lis"], "lis");
}

#[test]
fn a_decision_against_a_call_needs_a_reason() {
    check(&["tools", "call", "reject", "call-1"], "--reason");
    check(&["tools", "call", "hold", "call-1"], "--reason");
    check(&["tools", "call", "reject", "call-1", "--reason", ""], "--reason");
    check(&["tools", "checkpoint", "reject", "x"], "--reason");
    check(&["tools", "checkpoint", "approve", "x"], "--choice");
}

#[test]
fn a_run_names_a_call_or_takes_the_next_one() {
    check(&["tools", "call", "run"], "required");
    check(&["tools", "call", "run", "call-1", "--next"], "cannot be used with");
}

#[test]
fn a_target_that_is_not_a_directory_is_a_usage_error() {
    check(&["tools", "list", "--target", "nowhere"], "target");
    check(&["tools", "list", "-t", "README.md"], "target");
    check(&["--target=", "tools", "list"], "--target");
    check(&["tools", "init", "--target", "nowhere"], "target");
    check(&["tools", "call", "plan", "git-log", "--target", "/dev/null"], "target");
}

#[test]
fn without_a_command_the_help_is_shown_as_an_error() {
    let run = Brigade::new(&TempWorkspace::empty()).run([""; 0]);
    run.assert_code(2);
    assert!(run.stdout.is_empty() && run.stderr_text().contains("Usage: brigade"), "{run}");
    let run = Brigade::new(&TempWorkspace::empty()).run(["--json", "tools"]);
    run.assert_code(2);
    assert_eq!(run.json()["error"], "a command is missing");
    let run = Brigade::new(&TempWorkspace::empty()).run(["tools", "--json"]);
    run.assert_code(2);
    assert!(run.json()["error"].as_str().unwrap().contains("requires a subcommand"));
}

#[test]
fn help_and_version_are_data() {
    let workspace = TempWorkspace::empty();
    let brigade = Brigade::new(&workspace);
    for words in
        [&["--help"][..], &["tools", "--help"], &["tools", "call", "plan", "--help"], &["demo", "-h"]]
    {
        let run = brigade.run(words);
        run.assert_code(0);
        assert!(run.stdout_text().contains("Usage: brigade"), "{run}");
        assert!(run.stderr.is_empty() && !run.stdout.contains(&0x1b), "{run}");
    }
    assert!(brigade.run(["--version"]).stdout_text().starts_with("brigade "));
    assert_eq!(brigade.run(["--version", "--json"]).json()["schema"], "brigade.version.v1");
}

#[test]
fn a_tilde_is_the_home_directory() {
    let workspace = TempWorkspace::empty();
    let brigade = Brigade::new(&workspace);
    let run = brigade.run(["tools", "list", "--json", "--target", "~"]);
    let home = workspace.home().to_str().unwrap();
    assert_eq!(run.json()["target"], home, "{run}");
    brigade.run(["tools", "init", "--target=~"]).assert_code(0);
    brigade.run(["tools", "list", "--target=~"]).assert_code(0);
}

#[test]
fn the_nearest_workspace_is_the_target() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let run = Brigade::new(&workspace).current_dir("docs").run(["tools", "list", "--json"]);
    run.assert_code(0);
    assert_eq!(run.json()["target"], workspace.path().to_str().unwrap());
}

#[test]
fn words_that_are_not_utf8_are_usage_errors() {
    let workspace = TempWorkspace::empty();
    let garbage = OsStr::from_bytes(b"\xff\xfe");
    let run = Brigade::new(&workspace).run([OsStr::new("tools"), OsStr::new("show"), garbage]);
    run.assert_code(2);
    let run = Brigade::new(&workspace).run([OsStr::new("--json"), OsStr::new("--target"), garbage]);
    run.assert_code(2);
    assert_eq!(run.json()["schema"], "brigade.error.v1");
}

#[test]
fn a_usage_error_cannot_act_on_the_terminal() {
    let run =
        Brigade::new(&TempWorkspace::empty()).run(["tools", "\x1b[2J\x1b]0;title\x07", "--color=always"]);
    run.assert_code(2);
    let said = run.stderr_text();
    assert!(!said.contains("\x1b[2J") && !said.contains("\x1b]") && !said.contains('\x07'), "{run}");
}
