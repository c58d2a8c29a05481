//! `brigade kitchen approve`, `status`, `decisions`, `answer`, `summary`, `cost` and `service --dry-run` through the
//! binary.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]

use brigade_tests::Site;
use serde_json::{Value, json};

const PRD: &str = "brigade/tasks/prd-add-auth.json";
const JOURNAL: &str = ".brigade/kitchen/prd-add-auth/journal.jsonl";

const TASKS: &str = r#"{
  "featureName": "Add auth", "branchName": "feature/auth",
  "tasks": [
    {"id": "US-001", "title": "Fix a", "acceptanceCriteria": ["a"], "verification": ["npm test"], "complexity": "junior", "passes": false},
    {"id": "US-002", "title": "Fix b", "dependsOn": ["US-001"], "complexity": "senior", "passes": false},
    {"id": "US-003", "title": "Fix c", "dependsOn": ["US-002"], "complexity": "auto"}
  ]
}
"#;

/// A kitchen whose worker is a program in the workspace.
fn kitchen() -> Site {
    let site = Site::empty();
    site.workspace.write(PRD, TASKS);
    site.workspace.write("agent.sh", "#!/bin/sh\n");
    site.workspace.write(".brigade/kitchen.toml", "");
    for tier in ["line", "sous", "executive"] {
        let before = site.workspace.read_text(".brigade/kitchen.toml");
        site.workspace.write(
            ".brigade/kitchen.toml",
            format!("{before}[tier.{tier}]\ncommand = \"sh agent.sh {tier}\"\n"),
        );
    }
    site
}

fn fingerprint(site: &Site) -> String {
    let report = site.document(["kitchen", "validate", PRD]).expect(0);
    report["fingerprint"].as_str().unwrap_or_else(|| panic!("{report:#}")).to_owned()
}

fn approve(site: &Site) {
    let fingerprint = fingerprint(site);
    let report = site.document(["kitchen", "approve", PRD, "--fingerprint", &fingerprint]).expect(0);
    assert_eq!(report["approved"], true);
}

#[test]
fn an_approval_needs_the_fingerprint_and_is_revocable() {
    let site = kitchen();
    let approve_as = |text: &str| site.document(["kitchen", "approve", PRD, "--fingerprint", text]);
    let own = fingerprint(&site);
    assert_eq!(approve_as(&"0".repeat(64)).expect(1)["code"], "changed_meanwhile");
    assert_eq!(approve_as("0123").expect(2)["code"], "usage");
    assert_eq!(approve_as("").expect(2)["code"], "usage");
    assert!(!site.workspace.exists(JOURNAL));
    approve_as(&own[..16]).expect(0);
    assert_eq!(site.workspace.read_text(".brigade/kitchen/.gitignore"), "*\n");
    // A repeated approval records nothing.
    let journal = site.workspace.read(JOURNAL);
    approve_as(&own).expect(0);
    assert_eq!(site.workspace.read(JOURNAL), journal);
    let revoked = site.document(["kitchen", "approve", PRD, "--revoke"]).expect(0);
    assert_eq!((&revoked["approved"], &revoked["revoked"]), (&json!(false), &json!(true)));
    assert_eq!(site.document(["status", PRD]).expect(0)["approved"], false);
    assert_eq!(site.document(["kitchen", "approve", PRD, "--revoke"]).expect(1)["code"], "wrong_state");
    // The tiers have a separate approval.
    let tiers = site.document(["kitchen", "workers"]).expect(0);
    let own = tiers["fingerprint"].as_str().unwrap();
    assert_eq!(tiers["approved"], false);
    site.document(["kitchen", "approve", "--workers", "--fingerprint", own]).expect(0);
    assert_eq!(site.document(["kitchen", "workers"]).expect(0)["approved"], true);
    site.workspace.replace(".brigade/kitchen.toml", "agent.sh sous", "agent.sh chef");
    let changed = site.document(["kitchen", "approve", "--workers"]).expect(1);
    assert!(changed["changes"].to_string().contains("worker.sous.argv"), "{changed:#}");
    site.document(["kitchen", "approve", "--workers", "--revoke"]).expect(0);
}

/// The state file of the shell program.
const STATE: &str = r#"{"sessionId": "1768824000-77", "startedAt": "2026-01-19T12:00:00+00:00",
  "lastStartTime": "2026-01-19T12:00:00+00:00", "currentTask": "US-002",
  "taskHistory": [
    {"taskId": "US-001", "worker": "line", "status": "started", "timestamp": "2026-01-19T12:00:01+00:00"},
    {"taskId": "US-001", "worker": "line", "status": "complete", "timestamp": "2026-01-19T12:05:01+00:00", "duration": 300},
    {"taskId": "US-002", "worker": "sous", "status": "started", "timestamp": "2026-01-19T12:05:02+00:00"},
    {"taskId": 5}],
  "escalations": [{"taskId": "US-002", "from": "line", "to": "sous", "reason": "3 failures", "timestamp": "2026-01-19T12:05:02+00:00"}],
  "reviews": [{"taskId": "US-001", "result": "PASS", "reason": "fine", "timestamp": "2026-01-19T12:05:00+00:00"}],
  "phaseReviews": [{"completedTasks": 1, "totalTasks": 3, "status": "on_track", "content": "ok", "timestamp": "2026-01-19T12:05:00+00:00"}],
  "absorptions": []}"#;

#[test]
fn shell_state_is_adopted_with_approval() {
    let site = kitchen();
    site.workspace.write(PRD, TASKS.replacen("\"passes\": false", "\"passes\": true", 1));
    site.workspace.write("brigade/tasks/prd-add-auth.state.json", STATE);
    let check = || {
        let status = site.document(["status", PRD]).expect(0);
        assert_eq!(
            (&status["completed_tasks"], &status["escalations"]),
            (&json!(1), &json!(1)),
            "{status:#}"
        );
        assert_eq!(status["phase_reviews"]["count"], 1);
        assert_eq!(status["escalation_history"][0]["reason"], "3 failures");
        let task = |at: usize| status["tasks"][at].clone();
        assert_eq!((&task(0)["marker"], &task(0)["completed"]), (&json!("✓"), &json!(true)));
        assert_eq!((&task(1)["status"], &task(1)["marker"]), (&json!("interrupted"), &json!("◐")));
        assert_eq!((&task(1)["tier"], &task(1)["escalated"]), (&json!("sous"), &json!(true)));
        assert_eq!((&task(2)["status"], &task(2)["marker"]), (&json!("pending"), &json!("○")));
    };
    check();
    assert!(!site.workspace.exists(".brigade/kitchen"), "looking writes nothing");
    approve(&site);
    check();
    // Now the journal has the state.
    site.workspace.write("brigade/tasks/prd-add-auth.state.json", "{");
    check();
    let text = site.brigade.run(["kitchen", "status", PRD, "--all"]);
    text.assert_code(0);
    assert!(text.stdout_text().contains("◐⬆  add-auth/US-002"), "{text}");
    assert!(text.stdout_text().contains("add-auth/US-002: line to sous: 3 failures"), "{text}");
}

/// Appends a record to the journal.
fn append(site: &Site, record: &Value) {
    let journal = site.workspace.read_text(JOURNAL);
    let seq = journal.lines().count() + 1;
    let mut line = json!({"v": 1, "seq": seq, "at": "2026-01-19T12:00:00+00:00"});
    line.as_object_mut().unwrap().extend(record.as_object().unwrap().clone());
    site.workspace.write(JOURNAL, format!("{journal}{line}\n"));
    // A record that this host has not signed has no effect.
    site.json(["state", "adopt", "--yes"]).expect(0);
}

const DECISION: &str = "d-0123456789abcdef";

/// A PRD with a task that failed after two attempts, and a pending decision.
fn failed() -> Site {
    let site = kitchen();
    approve(&site);
    append(&site, &json!({"kind": "service_started", "service": "s1", "total": 3, "branch": "feature/auth"}));
    append(&site, &json!({"kind": "task_started", "task": "US-001", "tier": "line"}));
    for attempt in 1..=2 {
        let run = format!("run-{attempt}");
        append(
            &site,
            &json!({"kind": "attempt_started", "task": "US-001", "run": run, "tier": "line", "attempt": attempt}),
        );
        append(
            &site,
            &json!({"kind": "attempt_ended", "task": "US-001", "run": run, "how": "iteration",
                "reason": "it \u{1b}[31mbroke", "seconds": 60.0, "cost_usd": 0.25, "changed": false}),
        );
    }
    append(&site, &json!({"kind": "task_ended", "task": "US-001", "outcome": "failed", "reason": "no luck"}));
    append(
        &site,
        &json!({"kind": "decision_asked", "id": DECISION, "about": "failure", "task": "US-001",
            "context": "no luck", "created_at": "2026-01-19T12:00:00+00:00"}),
    );
    append(&site, &json!({"kind": "service_ended", "service": "s1", "outcome": "paused"}));
    site
}

/// Issue 45: what waits has a short id of every kind.
#[test]
fn a_decision_has_a_short_id_that_every_command_takes() {
    let site = failed();
    let row = site.document(["pending"]).expect(0)["rows"][0].clone();
    assert_eq!((&row["short_id"], &row["kind"]), (&json!("d-0123"), &json!("decision")), "{row:#}");
    let number = row["number"].to_string();
    for word in ["d-0123", &number] {
        let shown = site.document(["show", word]).expect(0);
        assert_eq!((&shown["id"], &shown["text"]), (&json!(DECISION), &json!("no luck")), "{shown:#}");
        let approved = site.document(["approve", word]).expect(2);
        assert!(approved["help"].to_string().contains("brigade work answer"), "{approved:#}");
        let why = site.document(["why", word]).expect(2);
        assert_eq!(why["help"], format!("brigade show {word}"), "{why:#}");
    }
    let text = site.brigade.run(["show", "d-0123"]).assert_code(0).stdout_text();
    assert!(text.contains("no luck") && text.contains("choices:") && text.contains("abort"), "{text}");
    let task = site.document(["show", "US-001"]).expect(0);
    assert_eq!(task, site.document(["kitchen", "log", "US-001"]).expect(0));
}

#[test]
fn a_decision_is_answered_once_and_then_applied() {
    let site = failed();
    let listed = site.document(["kitchen", "decisions"]).expect(0);
    assert_eq!((&listed["waiting"], &listed["decisions"][0]["id"]), (&json!(1), &json!(DECISION)));
    assert_eq!(listed["decisions"][0]["choices"], json!(["retry", "skip", "abort"]));
    let brief = site.brigade.run(["status", PRD, "--alert-only"]);
    let line: Value = serde_json::from_str(&brief.assert_code(0).stdout_text()).unwrap();
    assert_eq!((&line["attention"], &line["reason"]), (&json!(true), &json!("US-001: no luck")));
    let answer = |words: &[&str]| site.document([&["kitchen", "answer"], words].concat());
    assert_eq!(answer(&["d-ffff", "retry"]).expect(1)["code"], "decision_missing");
    assert!(answer(&[DECISION, "maybe"]).expect(2).to_string().contains("retry, skip, abort"));
    let answered =
        answer(&["d-0123", "retry", "--guidance", "token ghp_0123456789abcdefghijABCDEFGHIJ012345"]);
    let answered = answered.expect(0);
    assert_eq!(
        (&answered["decision"]["choice"], &answered["decision"]["by"]),
        (&json!("retry"), &json!("person"))
    );
    assert!(!answered.to_string().contains("0123456789abcdefghij"), "{answered:#}");
    assert_eq!(answered["next_command"], "brigade kitchen resume prd-add-auth");
    assert!(!site.workspace.read_text(JOURNAL).contains("0123456789abcdefghij"));
    assert_eq!(answer(&[DECISION, "skip"]).expect(1)["code"], "wrong_state");
    assert_eq!(site.document(["kitchen", "decisions"]).expect(0)["decisions"], json!([]));
    assert_eq!(
        site.document(["kitchen", "decisions", PRD, "--all"]).expect(0)["decisions"][0]["choice"],
        "retry"
    );
    let status = site.document(["status", PRD]).expect(0);
    assert_eq!(
        (&status["needs_attention"], &status["tasks"][0]["status"]),
        (&json!(false), &json!("waiting"))
    );
    assert_eq!(site.brigade.run(["status", PRD, "--alert-only"]).assert_code(0).stdout_text(), "");
}

#[test]
fn costs_and_summaries_count_what_was_recorded() {
    let site = failed();
    let cost = site.document(["kitchen", "cost", PRD]).expect(0);
    assert_eq!(
        (&cost["attempts"], &cost["minutes"], &cost["cost_usd"]),
        (&json!(2), &json!(2.0), &json!(0.5))
    );
    assert_eq!(cost["tiers"][0], json!({"tier": "line", "attempts": 2, "minutes": 2.0, "cost_usd": 0.5}));
    assert_eq!(cost["tasks"].as_array().unwrap().len(), 1);
    let printed = site.brigade.run(["summary", PRD]);
    let text = printed.assert_code(0).stdout_text();
    assert!(text.starts_with("# Summary of Add auth\n") && !text.contains('\u{1b}'), "{text}");
    // A summary is written and replaced by a later one. Other files are not replaced.
    for _ in 0..2 {
        let report = site.document(["summary", PRD, "report.md"]).expect(0);
        assert_eq!(report["path"], "report.md");
    }
    assert!(site.workspace.read_text("report.md").contains("| US"));
    site.workspace.write("README.md", "# Mine\n");
    assert_eq!(site.document(["summary", PRD, "README.md"]).expect(2)["code"], "file_exists");
    assert_eq!(site.workspace.read_text("README.md"), "# Mine\n");
    assert_eq!(site.document(["summary", PRD, "../out.md"]).expect(1)["code"], "path_outside");
}

#[test]
fn watching_ends_when_no_service_runs() {
    let site = failed();
    let run = site.brigade.run(["status", PRD, "--watch", "--json"]);
    let text = run.assert_code(0).stdout_text();
    assert_eq!(text.lines().count(), 1, "{run}");
    let line: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(line["schema"], "brigade.kitchen-status.v1");
    let plain = site.brigade.run(["status", PRD, "--watch"]);
    assert!(!plain.assert_code(0).stdout_text().contains('\u{1b}'), "{plain}");
    let brief = site.brigade.run(["status", PRD, "--brief"]);
    assert!(
        brief.assert_code(0).stdout_text().starts_with("{\"done\":0,\"total\":3,\"current\":null,"),
        "{brief}"
    );
}
