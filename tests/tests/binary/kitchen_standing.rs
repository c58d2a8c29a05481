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

/// Returns the fields that changed since the last approval.
fn changes(site: &Site) -> Vec<String> {
    let answer = site.document(["kitchen", "approve", PRD]);
    let rows = answer.json["changes"].as_array().unwrap_or_else(|| panic!("{:#}", answer.json));
    assert_eq!(answer.run.code(), Some(i32::from(answer.json["approved"] == false)), "{}", answer.run);
    rows.iter().map(|row| row["field"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn changes_after_an_approval_are_named() {
    let site = kitchen();
    // Without an approval nothing is approved, and the commands are shown.
    let shown = site.document(["kitchen", "approve", PRD]).expect(1);
    assert_eq!((&shown["approved"], &shown["changes"]), (&json!(false), &json!([])));
    let commands = shown["commands"].as_array().unwrap();
    assert_eq!(commands.len(), 4, "{shown:#}");
    assert_eq!(commands[3]["argv"], json!(["npm", "test"]));
    approve(&site);
    assert_eq!(site.document(["validate", PRD]).expect(0)["approved"], true);
    assert_eq!(changes(&site), [""; 0]);
    let config = site.workspace.read_text(".brigade/kitchen.toml");
    // For each bound value: one change, and the name of the changed field.
    let bound: [(&str, &str, &str, &str); 9] = [
        (PRD, "\"npm test\"", "\"npm run test\"", "task.US-001.verification"),
        (PRD, "\"Fix a\"", "\"Fix a well\"", "task.US-001.title"),
        (PRD, "[\"US-001\"]", "[]", "task.US-002.dependsOn"),
        (PRD, "feature/auth", "feature/other", "prd.branchName"),
        (
            PRD,
            "\"passes\": false},\n    {\"id\": \"US-002\"",
            "\"passes\": false, \"x-y\": 1},\n    {\"id\": \"US-002\"",
            "task.US-001.x-y",
        ),
        (".brigade/kitchen.toml", "agent.sh line", "agent.sh fast", "worker.line.argv"),
        (".brigade/kitchen.toml", "[tier.line]", "test_timeout = 5\n[tier.line]", "config.test_timeout"),
        (".brigade/kitchen.toml", "[tier.line]", "worktrees = \"off\"\n[tier.line]", "config.worktrees"),
        (
            ".brigade/kitchen.toml",
            "[tier.line]\n",
            "[tier.line]\nenv_labels = [\"KEY\"]\n",
            "worker.line.env_labels",
        ),
    ];
    for (file, old, new, field) in bound {
        site.workspace.replace(file, old, new);
        let found = changes(&site);
        assert!(found.iter().any(|own| own == field), "{field}: {found:?}");
        assert_eq!(site.document(["status", PRD]).expect(0)["approved"], false, "{field}");
        site.workspace.write(PRD, TASKS);
        site.workspace.write(".brigade/kitchen.toml", &config);
        assert_eq!(changes(&site), [""; 0], "{field}");
    }
    for (file, text, field) in [
        ("brigade/chef/line.md", "Cook.", "chef.line.md"),
        (".brigade/tools/policy.toml", "[kitchen]\nmax_minutes = 5\n", "policy.max_minutes"),
        (".brigade/tools/policy.toml", "[sandbox]\nmode = \"enforce\"\n", "policy.sandbox"),
    ] {
        site.workspace.write(file, text);
        assert!(changes(&site).iter().any(|own| own == field), "{field}");
        site.workspace.remove(file);
    }
    assert_eq!(changes(&site), [""; 0]);
    // Values that are not executed are not bound.
    for (file, old, new) in [
        (PRD, "Add auth", "Add login"),
        (PRD, "\"passes\": false}", "\"passes\": true}"),
        (".brigade/kitchen.toml", "[tier.line]", "quiet_workers = true # a comment\n[tier.line]"),
    ] {
        let before = fingerprint(&site);
        if file == PRD && old.contains("passes") {
            site.workspace.write(PRD, TASKS.replace(old, new));
        } else {
            site.workspace.replace(file, old, new);
        }
        assert_eq!(fingerprint(&site), before, "{new}");
    }
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

#[test]
fn invalid_prd_or_configuration_blocks_approval() {
    let site = kitchen();
    site.workspace.write(PRD, TASKS.replace("US-001\"]", "US-009\"]"));
    let refused = site.document(["kitchen", "approve", PRD]).expect(1);
    assert_eq!(refused["code"], "unknown_dependency", "{refused:#}");
    site.workspace.write(PRD, TASKS);
    site.workspace.write(".brigade/tools/policy.toml", "[kitchen]\nworkers = []\n");
    let refused = site.document(["kitchen", "approve", PRD]).expect(1);
    assert_eq!(refused["code"], "kitchen_refused");
    assert!(refused.to_string().contains("policy.toml"), "{refused:#}");
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

#[test]
fn damaged_files_are_said_and_nothing_is_lost() {
    let site = kitchen();
    site.workspace.write("brigade/tasks/prd-add-auth.state.json", "{\"currentTask\": ");
    let status = site.document(["status", PRD]).expect(0);
    assert!(status["issues"].to_string().contains("prd-add-auth.state.json"), "{status:#}");
    approve(&site);
    let journal = site.workspace.read_text(JOURNAL);
    site.workspace.write(JOURNAL, format!("not a record\n{journal}{{\"v\": 1, \"seq\": 2, \"ki"));
    let status = site.document(["status", PRD]).expect(0);
    assert_eq!((status["approved"].as_bool(), status["issues"].as_array().unwrap().len()), (Some(true), 2));
    assert!(status["issues"].to_string().contains("line 1"), "{status:#}");
    // A record of a newer version is kept unchanged.
    site.workspace.write(JOURNAL, format!("{journal}{{\"v\":9,\"seq\":2,\"kind\":\"blessed\"}}\n"));
    let before = site.workspace.read(JOURNAL);
    assert_eq!(site.document(["kitchen", "approve", PRD, "--revoke"]).expect(1)["code"], "newer_version");
    assert_eq!(site.workspace.read(JOURNAL), before);
    assert_eq!(site.document(["status", PRD]).expect(0)["approved"], true);
    // A directory in place of the journal is reported.
    site.workspace.remove(JOURNAL);
    site.workspace.write(format!("{JOURNAL}/x"), "");
    let status = site.document(["status", PRD]);
    assert!(status.json.to_string().contains("not a file"), "{}", status.run);
}

#[test]
fn later_passes_count_after_next_approval() {
    let site = kitchen();
    approve(&site);
    site.workspace.write(PRD, TASKS.replacen("\"passes\": false", "\"passes\": true", 1));
    let status = site.document(["status", PRD]).expect(0);
    assert_eq!((&status["completed_tasks"], &status["approved"]), (&json!(0), &json!(true)));
    assert!(status["issues"].to_string().contains("US-001"), "{status:#}");
    approve(&site);
    assert_eq!(site.document(["status", PRD]).expect(0)["completed_tasks"], 1);
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
fn dependents_of_a_skipped_task_are_unreachable() {
    let site = failed();
    site.document(["kitchen", "answer", DECISION, "skip", "--reason", "later"]).expect(0);
    let status = site.document(["status", PRD]).expect(0);
    let states: Vec<&str> =
        status["tasks"].as_array().unwrap().iter().map(|task| task["status"].as_str().unwrap()).collect();
    assert_eq!(states, ["skipped", "unreachable", "unreachable"]);
    assert_eq!(status["outcome"], "incomplete");
    let summary = site.document(["summary", PRD]).expect(0);
    let text = summary["text"].as_str().unwrap();
    assert!(
        text.contains("skip by a person: later") && text.contains("US\\-002") || text.contains("US-002"),
        "{text}"
    );
    assert!(text.contains(&format!("`brigade kitchen resume {PRD} retry`")), "{text}");
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
fn a_rehearsal_shows_waves_and_needs_no_approval() {
    let site = kitchen();
    let report = site.document(["--dry-run", "service", PRD]).expect(0);
    assert_eq!(
        (&report["outcome"], &report["waves"]),
        (&json!("dry-run"), &json!([["US-001"], ["US-002"], ["US-003"]]))
    );
    assert_eq!(report["tasks"][1]["tier"], "sous");
    let some = |words: &[&str]| site.document([&["kitchen", "service", PRD, "--dry-run"], words].concat());
    assert_eq!(some(&["--only", "US-002,US-003"]).expect(0)["waves"], json!([["US-002"], ["US-003"]]));
    assert_eq!(some(&["--skip=US-001", "--until", "US-002"]).expect(0)["waves"], json!([["US-002"]]));
    assert_eq!(some(&["--from", "US-003"]).expect(0)["total"], 1);
    let unknown = some(&["--only", "US-02"]).expect(1);
    assert!(unknown.to_string().contains("did you mean `US-002`"), "{unknown:#}");
    let walkaway = some(&["--walkaway"]).expect(0);
    assert_eq!(walkaway["outcome"], "dry-run");
    // For an unattended service, checks of texts do not count as verification.
    site.workspace.write(PRD, TASKS.replace("npm test", "grep -q x y"));
    assert_eq!(some(&["--walkaway"]).expect(1)["code"], "walkaway_pattern_only");
    some(&[]).expect(0);
    // Two PRDs, in order.
    site.workspace.write("brigade/tasks/prd-b.json", TASKS);
    let both = site.document(["service", "--dry-run", PRD, "brigade/tasks/prd-b.json"]).expect(0);
    assert_eq!(both["prds"].as_array().unwrap().len(), 2);
    assert!(!site.workspace.exists(".brigade/kitchen"), "a rehearsal writes nothing");
    // Without `--dry-run`, an approval is needed.
    assert_eq!(site.document(["service", PRD]).expect(1)["code"], "approval_needed");
    assert!(!site.workspace.exists(".brigade/kitchen"));
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
