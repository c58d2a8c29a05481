//! Services that are killed or interrupted while a worker runs.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails when it cannot continue")]

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use brigade_tests::kitchen::{PRD, Service, task};
use brigade_tests::{processes_with, until};
use serde_json::{Value, json};

fn start(service: &Service, flags: &[&str]) -> Child {
    let mut command = service.site.brigade.command([&["service", PRD, "--json"], flags].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
}

fn finish(child: Child, code: i32) -> Value {
    let output = child.wait_with_output().unwrap();
    let report = serde_json::from_slice(&output.stdout).unwrap_or_default();
    assert_eq!(output.status.code(), Some(code), "{report:#}");
    report
}

fn scenario(service: &Service) -> String {
    service.site.workspace.home().join("scenario.json").display().to_string()
}

/// Starts a service whose worker must be killed, with a helper process in another session.
fn stubborn() -> (Service, Child) {
    let service = Service::new("", &[task("US-001", &[])], &json!([]));
    let pid = service.site.workspace.home().join("daemon.pid").display().to_string();
    service.scenario(&json!([{"attempt": 1, "do":
        ["ignore_term", {"daemon": 600, "pid": pid}, {"print": "begun"}, {"sleep": 600}]}]));
    service.approve(PRD);
    let child = start(&service, &[]);
    until("the worker and its helper", || {
        fs::read_to_string(&pid).ok().filter(|text| !text.trim().is_empty())
    });
    (service, child)
}

fn assert_nothing_runs(service: &Service) {
    let pid = fs::read_to_string(service.site.workspace.home().join("daemon.pid")).unwrap();
    let daemon = format!("/proc/{}", pid.trim());
    until("the end of the workers", || {
        (processes_with(&scenario(service)).is_empty() && !std::path::Path::new(&daemon).exists())
            .then_some(())
    });
}

#[test]
fn workers_and_helpers_end_with_a_killed_service() {
    let (service, mut child) = stubborn();
    signal(&child, "-KILL");
    child.wait().unwrap();
    assert_nothing_runs(&service);
    let status = service.site.document(["status", PRD]).expect(0);
    assert_eq!((&status["tasks"][0]["status"], &status["running"]), (&json!("interrupted"), &json!(false)));
    assert_eq!(status["attention_reason"], "the service was interrupted");
    // The lock is released at once, and the worktree was kept.
    let report = service.site.document(["service", PRD]).expect(0);
    assert_eq!(report["outcome"], "complete", "{report:#}");
}

#[test]
fn next_attempt_waits_for_orphaned_worker() {
    let service = Service::new("", &[task("US-001", &[])], &json!([]));
    let home = service.site.workspace.home();
    let (begun, second) = (home.join("begun"), home.join("second"));
    service.scenario(&json!([
        {"attempt": 1, "do": ["ignore_term", {"write": begun}, {"sleep": 60, "until": second}, {"write": "late.txt"}]},
        {"attempt": 2, "do": [{"write": second}, {"sleep": 0.5}, {"write": "{task}.txt"}, {"tag": "COMPLETE"}]}]));
    service.approve(PRD);
    let mut child = start(&service, &[]);
    until("the first worker", || begun.exists().then_some(()));
    signal(&child, "-KILL");
    child.wait().unwrap();
    let report = service.site.document(["resume", PRD]).expect(0);
    assert_eq!(report["outcome"], "complete", "{report:#}");
    let files = service.site.workspace.git(["ls-tree", "--name-only", "feature/auth"]);
    assert!(files.contains("US-001.txt") && !files.contains("late.txt"), "{files}");
}

#[test]
fn a_second_request_to_end_kills_at_once() {
    // A worker that ignores the first signal has two seconds. The second request kills it at once.
    let mut times = Vec::new();
    for _ in 0..3 {
        let (service, child) = stubborn();
        let begun = Instant::now();
        // Two pending signals of the same kind might be merged.
        signal(&child, "-INT");
        signal(&child, "-TERM");
        let report = finish(child, 130);
        times.push(begun.elapsed());
        assert_eq!(report["outcome"], "interrupted", "{report:#}");
        assert_nothing_runs(&service);
        let kinds = service.journal();
        assert_eq!(kinds.last().unwrap()["kind"], "service_ended");
        if times.iter().any(|time| *time < Duration::from_millis(1_900)) {
            return;
        }
    }
    panic!("{times:?}: the second request changed nothing");
}
