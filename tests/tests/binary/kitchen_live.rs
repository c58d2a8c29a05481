//! `brigade service` and `brigade status --watch`, with and without a terminal.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests make files that workers wait for, and start a second command"
)]

use std::fs;
use std::process::Stdio;

use brigade_tests::kitchen::{PRD, Service, task};
use brigade_tests::{processes_with, until};
use serde_json::{Value, json};

/// Returns a file outside of the workspace that workers wait for.
fn gate(service: &Service) -> String {
    service.site.workspace.home().join("go").display().to_string()
}

fn waits_for(path: &str) -> Value {
    json!({"sleep": 60, "until": path})
}

fn two_tasks(settings: &str) -> (Service, String) {
    let service = Service::new(settings, &[task("US-001", &[]), task("US-002", &[])], &json!([]));
    let gate = gate(&service);
    let finish = |text: &str| json!([{"print": text}, waits_for(&gate), {"write": "{task}.txt", "text": "x\n"}, {"tag": "COMPLETE"}]);
    service.scenario(&json!([
        {"task": "US-001", "do": finish("\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}[31mred")},
        {"task": "US-002", "do": finish("the second worker prints a line that is much longer than this terminal is wide")},
    ]));
    service.approve(PRD);
    (service, gate)
}

#[test]
fn on_a_terminal_running_tasks_are_redrawn_in_place() {
    let (service, gate) = two_tasks("");
    let steps = json!([
        {"size": [84, 24]}, {"see": "0 of 2 done"}, {"see": "line, attempt 1, "}, {"see": "the second worker"},
        {"see": "[31mred"}, {"keep": "wide"}, {"size": [30, 24]}, {"see": "line, att…"}, {"keep": "narrow"},
        {"size": [84, 24]}, {"touch": gate}, {"see": "outcome:"}, "end"]);
    let seen = service.on_terminal(&steps, &["service", PRD, "--color", "always"]);
    assert_eq!(seen.code, 0, "{}", seen.screen);
    let lines = |name: &str| -> Vec<String> { seen.kept(name).lines().map(str::to_owned).collect() };
    let wide = lines("wide");
    let at = wide.iter().rposition(|line| line.starts_with("add-auth  0 of 2 done, ")).unwrap();
    assert!(wide[at + 1].starts_with("→ add-auth/US-001  line, attempt 1, "), "{wide:#?}");
    assert!(wide[at + 2].starts_with("→ add-auth/US-002  line, attempt 1, "), "{wide:#?}");
    assert_eq!(wide.len(), at + 3, "nothing is below: {wide:#?}");
    // There is one progress line, however often it was drawn, even in a narrow terminal that wraps lines.
    for name in ["wide", "narrow"] {
        let drawn = lines(name).iter().filter(|line| line.contains("of 2 done")).count();
        assert_eq!(drawn, 1, "{name}: {}", seen.kept(name));
    }
    assert!(
        lines("narrow").iter().rev().take(3).all(|line| line.chars().count() < 30),
        "{}",
        seen.kept("narrow")
    );
    // Output of a worker is shown without terminal controls.
    assert!(
        seen.screen.contains("add-auth/US-001 | \\u{1b}[2J\\u{1b}]0;owned\\u{7}\\u{1b}[31mred"),
        "{}",
        seen.screen
    );
    assert!(!seen.raw.contains("\u{1b}[2J") && !seen.raw.contains("\u{1b}]0;"));
    // At the end, the progress lines are removed, and the report is shown.
    assert!(
        !seen.screen.contains("2 of 2 done, $") && seen.screen.contains("done:     2 of 2"),
        "{}",
        seen.screen
    );
    assert!(seen.screen.contains("✓ add-auth/US-002  done in"));
    assert!(seen.raw.contains("\u{1b}[1m"), "colours were asked for");
}

#[test]
fn quiet_workers_and_no_color_are_respected() {
    let (service, gate) = two_tasks("quiet_workers = true");
    service.site.workspace.write("go.txt", "");
    fs::write(&gate, "").unwrap();
    let seen = service.on_terminal(&json!(["end"]), &["service", PRD, "--color", "never"]);
    assert_eq!(seen.code, 0);
    assert!(
        !seen.screen.contains("US-002 | ") && seen.screen.contains("✓ add-auth/US-002"),
        "{}",
        seen.screen
    );
    assert!(!seen.raw.contains("m") || !seen.raw.contains("\u{1b}[3"), "{}", seen.raw);
}

#[test]
fn without_terminal_stdout_holds_only_the_report() {
    let (service, gate) = two_tasks("");
    fs::write(gate, "").unwrap();
    let run = service.site.brigade.run(["service", PRD, "--json"]);
    let report: Value = serde_json::from_slice(&run.assert_code(0).stdout).unwrap();
    assert_eq!((&report["outcome"], &report["done"]), (&json!("complete"), &json!(2)));
    assert_eq!(report["next"], json!(["to take the work into your branch: git merge feature/auth"]));
    let told = run.stderr_text();
    assert!(!told.contains('\u{1b}'), "{told}");
    for line in [
        "→ add-auth/US-001  Line Cook, attempt 1",
        "add-auth/US-002 | the second",
        "✓ add-auth/US-001  done in",
    ] {
        assert!(told.lines().any(|own| own.starts_with(line)), "{line}\n{told}");
    }
    // Each event is printed once, and `--quiet` prints nothing.
    assert_eq!(told.matches("✓ add-auth/US-001").count(), 1);
    let quiet = service.site.brigade.run(["service", PRD, "--json", "--quiet"]);
    assert_eq!(quiet.assert_code(0).stderr_text(), "");
}

#[test]
fn a_failed_task_is_asked_about_and_the_answer_counts() {
    let service = Service::new(
        "max_iterations = 1",
        &[task("US-001", &[])],
        &json!([
        {"attempt": 1, "do": [{"print": "no idea"}, {"exit": 3}]}]),
    );
    service.approve(PRD);
    let steps = json!([
        {"see": "add-auth/US-001 did not succeed. What now?"}, {"see": "retry, skip, abort, or later?"},
        {"type": "\n"}, {"type": "perhaps\n"}, {"see": "expected one of retry, skip, abort"}, {"type": "RE\n"},
        {"see": "What should the next attempt know?"}, {"type": "write the file\n"}, "end"]);
    let seen = service.on_terminal(&steps, &["service", PRD]);
    assert_eq!(seen.code, 0, "{}", seen.screen);
    assert!(service.prompt("work", "US-001", 2).contains("write the file"));
    let answered: Vec<Value> =
        service.journal().into_iter().filter(|record| record["kind"] == "decision_answered").collect();
    assert_eq!((&answered[0]["by"], &answered[0]["choice"]), (&json!("person"), &json!("retry")));
}

#[test]
fn a_question_can_stay_open_or_be_answered_elsewhere() {
    let service = Service::new(
        "max_iterations = 1",
        &[task("US-001", &[])],
        &json!([
        {"attempt": 1, "do": [{"exit": 3}]}]),
    );
    service.approve(PRD);
    let seen = service.on_terminal(
        &json!([{"see": "or later?"}, {"type": "later\n"}, {"see": "stays open"}, "end"]),
        &["service", PRD],
    );
    assert_eq!(seen.code, 30, "{}", seen.screen);
    assert!(seen.screen.contains("to answer: brigade kitchen answer d-"), "{}", seen.screen);
    // The service asks again, and another command answers meanwhile.
    let id = service.site.document(["kitchen", "decisions"]).expect(0)["decisions"][0]["id"].clone();
    let id = id.as_str().unwrap().to_owned();
    let site = &service.site;
    let gate = site.workspace.home().join("asked");
    let steps = json!([{"see": "or later?"}, {"touch": gate}, {"see": "this is no longer asked"}, "end"]);
    std::thread::scope(|scope| {
        let seen = scope.spawn(|| service.on_terminal(&steps, &["service", PRD]));
        until("question", || gate.exists().then_some(()));
        site.document(["kitchen", "answer", &id, "retry"]).expect(0);
        let seen = seen.join().unwrap();
        assert_eq!(seen.code, 0, "{}", seen.screen);
    });
    assert_eq!(service.starts("work", "US-001"), 2);
}

#[test]
fn walkaway_asks_no_person() {
    let service = Service::new(
        "max_iterations = 1",
        &[task("US-001", &[])],
        &json!([
        {"role": "decide", "do": [{"decide": "skip", "reason": "useless"}]}, {"role": "work", "do": [{"exit": 3}]}]),
    );
    service.approve(PRD);
    let seen = service.on_terminal(&json!(["end"]), &["service", PRD, "--walkaway"]);
    assert_eq!(seen.code, 1, "{}", seen.screen);
    assert!(
        !seen.screen.contains("What now?") && seen.screen.contains("the executive says skip"),
        "{}",
        seen.screen
    );
}

#[test]
fn interrupt_ends_processes_and_work_resumes_later() {
    let service = Service::new("", &[task("US-001", &[])], &json!([]));
    let scenario = service.site.workspace.home().join("scenario.json").display().to_string();
    let pid = service.site.workspace.home().join("daemon.pid").display().to_string();
    service.scenario(&json!([{"attempt": 1, "do":
        ["ignore_term", {"daemon": 600, "pid": pid}, {"print": "works for long"}, {"sleep": 600}]}]));
    service.approve(PRD);
    let steps = json!([{"see": "works for long"}, {"type": "\u{3}"}, "end"]);
    let seen = service.on_terminal(&steps, &["service", PRD]);
    assert_eq!(seen.code, 130, "{}", seen.screen);
    assert!(seen.screen.contains(&format!("to continue: brigade kitchen resume {PRD}")), "{}", seen.screen);
    assert_eq!(processes_with(&scenario), [0; 0]);
    let daemon = fs::read_to_string(pid).unwrap();
    assert!(
        !std::path::Path::new(&format!("/proc/{}", daemon.trim())).exists(),
        "a helper outlived the service"
    );
    let kinds: Vec<String> =
        service.journal().iter().map(|record| record["kind"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds.last().map(String::as_str), Some("service_ended"), "{kinds:?}");
    assert_eq!(service.site.document(["status", PRD]).expect(0)["tasks"][0]["status"], "interrupted");
    // The task continues automatically, and an interrupted attempt does not count.
    service.site.document(["resume", PRD]).expect(0);
    let report = service.site.document(["status", PRD]).expect(0);
    assert_eq!(
        (&report["tasks"][0]["status"], &report["tasks"][0]["attempts"]),
        (&json!("complete"), &json!(2))
    );
}

#[test]
fn a_service_is_watched_from_another_terminal() {
    let (service, gate) = two_tasks("");
    let mut serving = service.site.brigade.command(["service", PRD, "--quiet"]);
    let mut child = serving.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("running attempt", || {
        (1 < service.starts("work", "US-002") + service.starts("work", "US-001")).then_some(())
    });
    let steps = json!([
        {"size": [90, 20]}, {"see": "add-auth  0 of 2 done, "}, {"see": "attempt 1, "}, {"see": "u{1b}[2J"},
        {"keep": "running"}, {"touch": gate}, {"see": "complete"}, "end"]);
    let seen = service.on_terminal(&steps, &["status", PRD, "--watch"]);
    assert_eq!(seen.code, 0, "{}", seen.screen);
    let running = seen.kept("running");
    assert!(running.contains("→ add-auth/US-001  running, line: Write US-001"), "{running}");
    assert!(running.contains("→ add-auth/US-001  line, attempt 1, "), "{running}");
    // At the end, the full status is shown.
    assert!(seen.screen.contains("state:") && seen.screen.contains("2 of 2"), "{}", seen.screen);
    assert!(child.wait().unwrap().success());
}
