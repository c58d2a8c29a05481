//! `brigade service` with the fake worker: merge and push, a second service, and every fault of a worker.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests make files that workers wait for, and start a second command"
)]

use std::fs;
use std::process::Stdio;

use brigade_tests::kitchen::{PRD, Service, task};
use brigade_tests::until;
use serde_json::{Value, json};

fn policy(service: &Service, text: &str) {
    service.site.workspace.write(".brigade/tools/policy.toml", text);
}

fn status(service: &Service) -> Value {
    service.site.document(["status", PRD]).expect(0)
}

#[test]
fn policy_allows_merge_and_push_without_force() {
    let service = Service::new("", &[task("US-001", &[])], &json!([]));
    let workspace = &service.site.workspace;
    let remote = workspace.home().join("remote.git").display().to_string();
    workspace.git(["init", "--quiet", "--bare", &remote]);
    workspace.git(["remote", "add", "origin", &remote]);
    workspace.git(["checkout", "--quiet", "-b", "mine"]);
    policy(
        &service,
        "[kitchen]\nmerge = true\npush = true\nworker_effects = [\"local-read\", \"local-write\", \"remote-mutation\"]\n",
    );
    let report = service.serve(0, &["--merge", "--push"]);
    assert_eq!((&report["merged"], &report["pushed"]), (&json!(true), &json!(true)), "{report:#}");
    let tip = |name: &str| workspace.git(["rev-parse", name]).trim().to_owned();
    assert_eq!(tip("main"), report["commit"]);
    assert_eq!(
        workspace.git(["ls-remote", "origin", "feature/auth"]).split('\t').next().unwrap(),
        report["commit"]
    );
    assert_eq!(workspace.git(["branch", "--show-current"]).trim(), "mine");
    // A foreign push is not overwritten, and the report says so.
    let elsewhere = workspace.git(["commit-tree", "-m", "theirs", "main^{tree}"]).trim().to_owned();
    workspace.git(["push", "--quiet", "--force", "origin", &format!("{elsewhere}:refs/heads/feature/auth")]);
    let again = service.site.document(["service", PRD, "--push"]).expect(0);
    assert_eq!(again["pushed"], false, "{again:#}");
    assert!(again["reason"].as_str().unwrap().starts_with("it was not pushed"), "{again:#}");
    assert_eq!(workspace.git(["ls-remote", "origin", "feature/auth"]).split('\t').next().unwrap(), elsewhere);
}

/// Serves in another process while `meanwhile` runs, then opens the gate for workers.
fn serve_and(service: &Service, code: i32, meanwhile: impl FnOnce()) -> Value {
    let mut command = service.site.brigade.command(["service", PRD, "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    until("running attempt", || (0 < service.starts("work", "US-001")).then_some(()));
    meanwhile();
    fs::write(service.site.workspace.home().join("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    let report = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(code), "{report:#}");
    report
}

fn waiting_tasks(settings: &str) -> Service {
    let service = Service::new(settings, &[task("US-001", &[]), task("US-002", &["US-001"])], &json!([]));
    let gate = service.site.workspace.home().join("go");
    service.scenario(&json!([{"task": "US-001", "do":
        [{"sleep": 60, "until": gate}, {"write": "{task}.txt", "text": "x\n"}, {"tag": "COMPLETE"}]}]));
    service.approve(PRD);
    service
}

#[test]
fn another_service_is_refused_with_the_holder() {
    let service = waiting_tasks("");
    serve_and(&service, 0, || {
        let refused = service.site.document(["service", PRD]).expect(31);
        assert_eq!(refused["code"], "service_busy", "{refused:#}");
        assert!(refused["error"].to_string().contains("process "), "{refused:#}");
    });
}

#[test]
fn a_worker_fault_fails_at_most_one_attempt() {
    let write = json!({"write": "{task}.txt", "text": "x\n"});
    let done = json!({"tag": "COMPLETE"});
    let with = |steps: Value| -> Value {
        let mut all = vec![write.clone()];
        all.extend(steps.as_array().unwrap().iter().cloned());
        Value::Array(all)
    };
    let form = |form: &str| with(json!([{"tag": "COMPLETE", "form": form}]));
    let result = |fault: &str| with(json!([{"bad_result": fault}, done]));
    // The steps of the first attempt, and the number of attempts that the task then needs.
    let faults: Vec<(Value, u64)> = vec![
        (with(json!([done])), 1),
        (json!(["nothing", done]), 2),
        (form("quoted"), 2),
        (form("fenced"), 1),
        (form("inline"), 1),
        (form("lines"), 2),
        (form("unended"), 1),
        (with(json!([{"tags": ["COMPLETE", "BLOCKED"]}])), 2),
        (with(json!(["echo_prompt"])), 2),
        (result("broken"), 2),
        (result("huge"), 2),
        (result("link"), 2),
        (result("folder"), 2),
        (result("binary"), 2),
        (with(json!([{"result": {"signal": "complete"}, "nonce": "other"}, done])), 2),
        (with(json!([{"result": {"signal": "complete"}}])), 1),
        (with(json!([done, {"exit": 5}])), 2),
        (with(json!([done, {"die": "KILL"}])), 2),
        (with(json!([{"todo": "{task}.txt"}, done])), 2),
        (with(json!([done, {"daemon": 600, "quiet": true}])), 1),
        (with(json!([done, {"child": 600}])), 1),
        (json!([done, "close_output", write]), 1),
        (with(json!([{"print_mb": 3}, done])), 1),
        (with(json!(["print_binary", {"print": ""}, done])), 1),
        (with(json!([{"commit": "mine"}, done])), 1),
        (with(json!(["stage", done])), 1),
        (with(json!([{"setting": "core.pager", "value": "sh"}, done])), 2),
        (with(json!([{"hook": "post-commit", "text": "#!/bin/sh\n"}, done])), 2),
        (with(json!([{"nested": "inner"}, done])), 2),
        (with(json!([done, "delete_worktree"])), 2),
        (with(json!([done, {"replace_git": "file"}])), 2),
        (with(json!([done, {"replace_git": "link"}])), 2),
        (with(json!([done, {"replace_git": "nothing"}])), 2),
        (with(json!([{"cost": 0.25}, {"result": {"signal": "complete"}}])), 1),
    ];
    let ids: Vec<String> = (0..faults.len()).map(|n| format!("F-{n:02}")).collect();
    let tasks: Vec<Value> = ids.iter().map(|id| task(id, &[])).collect();
    let rules: Vec<Value> = ids
        .iter()
        .zip(&faults)
        .map(|(id, (steps, _))| json!({"task": id, "attempt": 1, "do": steps}))
        // A nested repository stays until a worker removes it.
        .chain([json!({"attempt": 2, "do": with(json!([{"delete": "inner"}, done]))})])
        .collect();
    let service = Service::new("max_parallel = 8", &tasks, &json!(rules));
    let report = service.serve(0, &[]);
    assert_eq!(report["done"], faults.len());
    let told = status(&service);
    for (row, (steps, attempts)) in told["tasks"].as_array().unwrap().iter().zip(&faults) {
        assert_eq!(
            (&row["status"], &row["attempts"]),
            (&json!("complete"), &json!(attempts)),
            "{steps}: {row:#}"
        );
    }
    // Each task is one commit of the branch, and no process of Brigade or the workers is left.
    let log = service.site.workspace.git([
        "log",
        "--format=%(trailers:key=Brigade-Task,valueonly,separator=%x2C)",
        "main..feature/auth",
    ]);
    let mut integrated: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
    integrated.sort_unstable();
    let ids: Vec<String> = ids.iter().map(|id| format!("add-auth/{id}")).collect();
    assert_eq!(integrated, ids);
    let scenario = service.site.workspace.home().join("scenario.json").display().to_string();
    assert_eq!(brigade_tests::processes_with(&scenario), [0; 0]);
}
