//! `brigade kitchen demo`.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "a test interrupts the demo, and looks at what it leaves")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use brigade_testkit::{Brigade, TempWorkspace};

#[test]
fn the_demo_serves_a_prd_to_its_end() {
    let workspace = TempWorkspace::empty();
    let brigade = Brigade::new(&workspace);
    let run = brigade.run(["kitchen", "demo", "--in", "demo"]);
    run.assert_code(0);
    let text = run.stdout_text();
    for expect in [
        "the PRD is not approved",
        "outcome:  paused",
        "Whose name signs the greeting?",
        "answer:    Ada by a person",
        "outcome:  complete",
        "done:     3 of 3",
        "⬆",
    ] {
        assert!(text.contains(expect), "no `{expect}`\n{run}");
    }
    assert!(!text.contains("Expected exit code"), "{run}");
    assert!(run.stderr_text().contains("\nhelp: cd "), "{run}");
    let git = |words: &[&str]| {
        let output =
            Command::new("git").args(words).current_dir(workspace.path().join("demo")).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let subjects = git(&["log", "--format=%s", "feature/greeting"]);
    let expect = [
        "US-003: Sign both greetings",
        "US-002: Translate the greeting to French",
        "US-001: Write the greeting",
        "Begin the greeting",
    ];
    assert_eq!(subjects.lines().collect::<Vec<_>>(), expect);
    assert_eq!(git(&["show", "feature/greeting:signature.txt"]), "Ada\n");
    assert_eq!(git(&["branch", "--show-current"]), "main\n");
    assert_eq!(git(&["status", "--porcelain"]), " M brigade/tasks/prd-greeting.json\n", "only `passes`");
}

#[test]
fn json_demo_needs_an_empty_directory() {
    let workspace = TempWorkspace::empty();
    let brigade = Brigade::new(&workspace).env("TMPDIR", workspace.home());
    let run = brigade.run(["kitchen", "demo", "--json"]);
    run.assert_code(0);
    let document = run.json();
    assert_eq!(document["schema"], "brigade.demo.v1");
    let codes: Vec<_> = document["steps"].as_array().unwrap().iter().map(|step| &step["exit_code"]).collect();
    assert_eq!(codes, [0, 1, 0, 30, 0, 0, 0, 0, 0, 0]);
    workspace.write("mine/file", "");
    brigade.run(["kitchen", "demo", "--in", "mine"]).assert_code(2);
    assert_eq!(workspace.files("mine").len(), 1);
    let run = brigade.env("PATH", "/nonexistent").run(["kitchen", "demo", "--in", "other"]);
    run.assert_code(3);
    assert!(run.stderr_text().contains("the demo needs `git`"), "{run}");
    assert!(!workspace.exists("other"));
}

#[test]
fn an_interrupted_demo_leaves_nothing() {
    let workspace = TempWorkspace::empty();
    let brigade = Brigade::new(&workspace).env("TMPDIR", workspace.home());
    let mut command = brigade.command(["kitchen", "demo"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let began = lines.by_ref().map(Result::unwrap).any(|line| line.contains("too hard for the line"));
    assert!(began);
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    lines.for_each(drop);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("the directory of the demo was removed"), "{said}");
    let left: Vec<_> =
        fs::read_dir(workspace.home()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let is_demo = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("brigade-kitchen-demo");
    assert!(!left.iter().any(is_demo), "{left:?}");
}
