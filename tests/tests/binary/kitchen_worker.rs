//! The fake worker, `fixtures/kitchen/worker.py`: the behavior that other tests rely on.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests start the worker themselves, and look at what it leaves"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory in which a worker runs.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tree")).unwrap();
        Bench { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs the worker with a scenario, as the attempt with this number.
    fn run_as(&self, role: &str, attempt: u32, scenario: &str) -> Output {
        fs::write(self.path("scenario.json"), scenario).unwrap();
        fs::write(self.path("prompt.md"), "the prompt\n<promise>COMPLETE</promise>\n").unwrap();
        let worker = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kitchen/worker.py");
        Command::new("python3")
            .arg("-B")
            .arg(worker)
            .arg(self.path("scenario.json"))
            .current_dir(self.path("tree"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("BRIGADE_ROLE", role)
            .env("BRIGADE_PRD", "prd-x")
            .env("BRIGADE_TASK", "US-001")
            .env("BRIGADE_TIER", "line")
            .env("BRIGADE_ATTEMPT", attempt.to_string())
            .env("BRIGADE_RUN_ID", "run-1")
            .env("BRIGADE_NONCE", "0123456789abcdef0123456789abcdef")
            .env("BRIGADE_PROMPT_FILE", self.path("prompt.md"))
            .env("BRIGADE_RESULT_FILE", self.path("result.json"))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn run(&self, steps: &str) -> Output {
        self.run_as("work", 1, &format!(r#"{{"default": [{steps}]}}"#))
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_first_rule_that_fits_says_what_is_done() {
    let bench = Bench::new();
    let record = bench.path("calls");
    let scenario = format!(
        r#"{{"record": {record:?}, "rules": [
            {{"role": "review", "do": [{{"review": "pass"}}]}},
            {{"task": "US-002", "do": [{{"print": "another task"}}]}},
            {{"attempt": 1, "do": [{{"print": "first of {{task}}, call {{call}}"}}]}},
            {{"attempt": "2-3", "call": [2, 3], "do": [{{"print": "later"}}]}}], "default": [{{"exit": 7}}]}}"#
    );
    assert_eq!(out(&bench.run_as("work", 1, &scenario)), "first of US-001, call 1\n");
    assert_eq!(out(&bench.run_as("work", 2, &scenario)), "later\n");
    assert_eq!(out(&bench.run_as("review", 1, &scenario)), "<review>PASS</review>\n");
    assert_eq!(bench.run_as("work", 4, &scenario).status.code(), Some(7));
    let first: serde_json::Value = serde_json::from_str(&bench.read("calls/work-US-001.1")).unwrap();
    assert_eq!(first["tier"], "line");
    assert!(first["prompt"].as_str().unwrap().starts_with("the prompt"));
    assert_eq!(fs::read_dir(&record).unwrap().count(), 4);
}

#[test]
fn signals_are_said_in_every_form() {
    let bench = Bench::new();
    let said = |steps: &str| out(&bench.run(steps));
    assert_eq!(said(r#"{"tag": "COMPLETE"}"#), "<promise>COMPLETE</promise>\n");
    assert_eq!(said(r#"{"tag": "COMPLETE", "form": "unended"}"#), "<promise>COMPLETE</promise>");
    assert_eq!(said(r#"{"tag": "COMPLETE", "form": "quoted"}"#), "> <promise>COMPLETE</promise>\n");
    assert_eq!(said(r#"{"tags": ["COMPLETE", "BLOCKED"]}"#).lines().count(), 2);
    assert_eq!(said(r#""echo_prompt""#), "the prompt\n<promise>COMPLETE</promise>\n\n");
    assert_eq!(said(r#"{"learning": "a\nb"}"#), "<learning>a\nb</learning>\n");
    assert_eq!(said(r#"{"limit": "3pm"}"#), "You've hit your limit · resets 3pm\n");
    assert_eq!(bench.run(r#"{"exit": 32}"#).status.code(), Some(32));
    assert_eq!(bench.run(r#"{"die": "KILL"}"#).status.code(), None);
    assert_eq!(bench.run(r#"{"unheard": 1}"#).status.code(), Some(64));
}

#[test]
fn a_result_file_has_the_nonce_of_the_run_or_a_fault() {
    let bench = Bench::new();
    let result = || serde_json::from_str::<serde_json::Value>(&bench.read("result.json"));
    bench.run(r#"{"cost": 0.5, "input": 3}, {"result": {"signal": "complete"}}"#);
    let found = result().unwrap();
    assert_eq!(found["nonce"], "0123456789abcdef0123456789abcdef");
    assert_eq!((&found["signal"], &found["cost_usd"]), (&"complete".into(), &0.5.into()));
    bench.run(r#"{"result": {"signal": "complete"}, "nonce": "other"}"#);
    assert_eq!(result().unwrap()["nonce"], "other");
    bench.run(r#"{"bad_result": "broken"}"#);
    assert!(result().is_err());
    bench.run(r#"{"bad_result": "huge"}"#);
    assert!(1 << 20 < bench.read("result.json").len());
    fs::remove_file(bench.path("result.json")).unwrap();
    bench.run(r#"{"bad_result": "link"}"#);
    assert!(bench.path("result.json").is_symlink());
    fs::remove_file(bench.path("result.json")).unwrap();
    bench.run_as("plan", 1, r#"{"default": [{"plan": "cyclic"}]}"#);
    assert_eq!(result().unwrap()["prd"]["tasks"][0]["dependsOn"][0], "US-002");
}

#[test]
fn the_scenario_changes_files_git_and_processes() {
    let bench = Bench::new();
    let done = bench.run(
        r##"{"git": ["init", "-q", "."]}, {"setting": "user.name", "value": "x"},
        {"setting": "user.email", "value": "x"}, {"write": "a/{task}.txt", "text": "1\n"},
        {"append": "a/US-001.txt", "text": "2\n"}, {"todo": "a/US-001.txt", "word": "FIXME"}, {"commit": "c"},
        {"rename": "a/US-001.txt", "to": "b.txt"}, {"hook": "pre-commit", "text": "#!/bin/sh\n"},
        {"delete": ["missing", "b.txt"]}, {"nested": "inner"},
        {"daemon": 0.01, "quiet": true, "pid": "daemon.pid"}, "close_output", {"print": "not seen"}"##,
    );
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!((out(&done).as_str(), done.status.code()), ("", Some(0)), "{told}");
    assert!(told.starts_with("worker.py: refused: delete: "), "{told}");
    let committed = Command::new("git")
        .args(["show", "HEAD:a/US-001.txt"])
        .current_dir(bench.path("tree"))
        .output()
        .unwrap();
    assert_eq!(out(&committed), "1\n2\n# FIXME: finish this\n");
    for name in ["tree/.git/hooks/pre-commit", "tree/inner/.git/HEAD", "tree/daemon.pid", "tree/b.txt"] {
        assert!(bench.path(name).exists(), "{name}");
    }
}
