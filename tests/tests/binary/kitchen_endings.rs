//! Services that are interrupted, exceed a budget, or wait for a person.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails when it cannot continue")]

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use brigade_tests::kitchen::{PRD, Service, task};
use brigade_tests::{processes_with, until};
use serde_json::{Value, json};

/// An adapter whose answer reports the provider's limit.
const LIMITED: &str = "[[adapter]]\nid = \"limited\"\nprogram = \"python3\"\nprompt = \"stdin\"\nanswer = \"text\"\n\
    limit = ['limit reached( until (?P<reset>[0-9]+))?']\n";

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

fn events(service: &Service) -> Vec<Value> {
    let text = service.site.workspace.read_text("brigade/events.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn words(service: &Service) -> Vec<String> {
    events(service).iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect()
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

#[test]
fn money_and_time_of_workers_end_what_would_begin() {
    let tasks: Vec<Value> = (1..=4).map(|n| task(&format!("US-00{n}"), &[])).collect();
    let settings = "supervisor_events_file = \"brigade/events.jsonl\"\nmax_parallel = 1";
    let steps = json!([{"do": [{"write": "{task}.txt", "text": "x"}, {"cost": 0.25},
        {"result": {"signal": "complete"}}]}]);
    let service = Service::new(settings, &tasks, &steps);
    let report = service.serve(30, &["--max-cost", "0.5"]);
    assert_eq!((&report["outcome"], &report["done"]), (&json!("paused"), &json!(2)), "{report:#}");
    assert!(report["reason"].as_str().unwrap().contains("`cost_usd`"), "{report:#}");
    let found = events(&service);
    let budget: Vec<&Value> =
        found.iter().filter(|event| event["event"].as_str().unwrap().starts_with("budget_")).collect();
    assert!(!budget.is_empty() && words(&service).contains(&"service_paused".to_owned()), "{found:#?}");
    // Spent money counts, so continuing needs a larger budget.
    let report = service.site.document(["service", PRD, "--max-cost", "0.5"]).expect(30);
    assert_eq!(report["attempts"], 0, "{report:#}");
    service.site.document(["service", PRD, "--max-cost", "100"]).expect(0);
    let usage = service.site.brigade.run(["service", PRD, "--max-cost", "much"]);
    usage.assert_code(2);

    let steps = json!([{"do": [{"sleep": 1}, {"write": "{task}.txt", "text": "x"}, {"tag": "COMPLETE"}]}]);
    let service = Service::new(settings, &tasks, &steps);
    let report = service.serve(30, &["--max-time", "1s"]);
    assert_eq!((&report["done"], &report["attempts"]), (&json!(1), &json!(1)), "{report:#}");
    assert!(report["reason"].as_str().unwrap().contains("`minutes`"), "{report:#}");
}

#[test]
fn a_supervisor_answers_by_its_file() {
    let settings = "max_iterations = 1\nsupervisor_events_file = \"brigade/events.jsonl\"\n\
        supervisor_cmd_file = \".brigade/kitchen/command.json\"\nsupervisor_cmd_poll_interval = 1\nsupervisor_cmd_timeout = 0";
    let rules = json!([{"attempt": 1, "do": [{"print": "no"}]}]);
    let service = Service::new(settings, &[task("US-001", &[])], &rules);
    service.approve(PRD);
    let child = start(&service, &[]);
    let path = |name: &str| service.site.workspace.path().join(".brigade/kitchen").join(name);
    let asked = until("a decision", || {
        let text = fs::read_to_string(service.site.workspace.path().join("brigade/events.jsonl")).ok()?;
        let found = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        found.into_iter().find(|event| event["event"] == "decision_needed")
    });
    assert_eq!((&asked["task"], &asked["type"]), (&json!("US-001"), &json!("failure")), "{asked:#}");
    assert_eq!(asked["choices"], json!(["retry", "skip", "abort"]));
    // An invalid command is set aside without an effect.
    for (text, number) in [
        ("{\"decision\":\"d-000000000000\",\"action\":\"skip\"}".to_owned(), 1),
        (format!("{{\"decision\":{},\"action\":\"pass\"}}", asked["id"]), 2),
        ("skip".to_owned(), 3),
    ] {
        fs::write(path("command.new"), &text).unwrap();
        fs::rename(path("command.new"), path("command.json")).unwrap();
        until("the refusal", || {
            let refused = words(&service).iter().filter(|word| *word == "command_refused").count();
            (refused == number && fs::read_to_string(path("command.json.refused")).ok()? == text)
                .then_some(())
        });
    }
    let answer =
        json!({"decision": asked["id"], "action": "retry", "reason": "try", "guidance": "write the file"});
    fs::write(path("command.new"), answer.to_string()).unwrap();
    fs::rename(path("command.new"), path("command.json")).unwrap();
    let report = finish(child, 0);
    assert_eq!((&report["done"], &report["attempts"]), (&json!(1), &json!(2)), "{report:#}");
    assert!(path("command.json.done").exists() && !path("command.json").exists());
    assert!(service.prompt("work", "US-001", 2).contains("write the file"));
    let found = events(&service);
    let received = found.iter().find(|event| event["event"] == "decision_received").unwrap();
    assert_eq!((&received["action"], &received["by"]), (&json!("retry"), &json!("supervisor")));
    assert_eq!(service.starts("work", "US-001"), 2);
}

#[test]
fn a_provider_limit_delays_only_its_tier() {
    let settings =
        "supervisor_events_file = \"brigade/events.jsonl\"\nsupervisor_status_file = \"brigade/status.json\"";
    let reset = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() + 4;
    let mut senior = task("US-002", &[]);
    senior["complexity"] = json!("senior");
    let service = Service::new(settings, &[task("US-001", &[]), senior, task("US-003", &[])], &json!([]));
    let config = service.site.workspace.read_text(".brigade/kitchen.toml");
    service.site.workspace.write(".brigade/kitchen.toml", config + LIMITED);
    service.scenario(&json!([{"task": "US-001", "call": 1, "do":
        [{"print": format!("limit reached until {}", reset())}, {"exit": 1}]}]));
    let report = service.serve(0, &[]);
    assert_eq!(report["done"], 3, "{report:#}");
    let found = events(&service);
    let waits: Vec<&Value> = found.iter().filter(|event| event["event"] == "limit_wait").collect();
    assert_eq!(waits.len(), 1, "{found:#?}");
    let status = service.site.document(["status", PRD]).expect(0);
    assert_eq!(status["tasks"][0]["attempts"], 2, "{status:#}");
    let kinds: Vec<Value> = service.journal();
    let ended = kinds.iter().filter(|record| record["kind"] == "attempt_ended" && record["how"] == "limit");
    assert_eq!(ended.count(), 1);
    // The other tier did not wait.
    let at = |word: &str, task: &str| {
        found.iter().position(|event| event["event"] == word && event["task"] == task).unwrap()
    };
    let again = found.iter().rposition(|event| event["event"] == "task_start" && event["task"] == "US-001");
    assert!(at("task_complete", "US-002") < again.unwrap(), "{found:#?}");
}
