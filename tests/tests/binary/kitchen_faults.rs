//! Problems around a kitchen, and their messages.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails when it cannot continue")]

use serde_json::{Value, json};

use crate::kitchen_common::{Crew, PRD, done, task};

#[test]
fn a_prd_broken_meanwhile_is_reported_and_set_later() {
    let steps = json!([{"write": "{workspace}/brigade/tasks/prd-crew.json", "text": "{"},
        {"write": "a.txt", "text": "x"}, {"tag": "COMPLETE"}]);
    let crew = Crew::new(&[task("a", &[])], "", steps);
    let before = crew.site.workspace.read(PRD);
    let report = crew.serve(0);
    assert_eq!(report["outcome"], "complete");
    let issue = report["issues"][0].as_str().unwrap_or_else(|| panic!("{report:#}"));
    assert!(issue.contains("`passes`") && issue.contains("has 1 error now"), "{issue}");
    // The journal has the state, and reports it when the file is back.
    crew.site.workspace.write(PRD, before);
    let status = crew.status();
    assert_eq!(status["completed_tasks"], 1);
    assert!(status["issues"].to_string().contains("crew/a: done, but `passes` is not set"), "{status:#}");
    let again = crew.site.document(["service", PRD]).expect(0);
    assert_eq!((&again["issues"], &again["attempts"]), (&json!([]), &json!(0)));
    assert!(crew.site.workspace.read_text(PRD).contains("\"passes\": true"));
    assert_eq!(crew.status()["issues"], json!([]));
}

#[test]
fn files_outside_of_the_workspace_are_off_and_said() {
    let config = "activity_log = \"/nowhere/x.log\"\nsupervisor_events_file = \"../events.jsonl\"\n";
    let crew = Crew::new(&[task("a", &[])], config, done());
    let validation = crew.site.document(["validate", PRD]).expect(0);
    let text = validation["config_issues"].to_string();
    assert!(text.contains("activity_log") && text.contains("supervisor_events_file"), "{validation:#}");
    assert!(text.contains("kitchen.toml"), "{text}");
    let report = crew.serve(0);
    assert_eq!(report["issues"].as_array().unwrap().len(), 2, "{report:#}");
    assert!(!crew.beside("events.jsonl").exists());
}

#[test]
fn a_workspace_with_a_kitchen_alone_needs_no_catalog() {
    let crew = Crew::new(&[task("a", &[])], "max_iterations = 1", json!([{"print": "nothing"}]));
    let brief = crew.site.document(["work", "brief"]).expect(0);
    assert_eq!(brief["next_command"], "brigade kitchen decisions", "{brief:#}");
    crew.serve(30);
    let brief = crew.site.document(["work", "brief"]).expect(0);
    let id = brief["kitchen_decisions"][0]["id"].as_str().unwrap();
    assert_eq!(brief["next_command"], format!("brigade kitchen answer {id} CHOICE"));
}

#[test]
fn findings_of_workers_reach_the_inbox_once() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let steps = json!([{"backlog": "the login page\nhas no test"}, {"backlog": format!("rotate {secret}")},
        {"write": "{task}.txt", "text": "x"}, {"tag": "COMPLETE"}]);
    let crew = Crew::new(&[task("a", &[]), task("b", &["a"])], "", steps);
    crew.serve(0);
    let inbox = crew.site.document(["work", "inbox", "list"]).expect(0);
    let rows = inbox["items"].as_array().unwrap_or_else(|| panic!("{inbox:#}"));
    let texts: Vec<&str> = rows.iter().map(|row| row["text"].as_str().unwrap()).collect();
    assert_eq!(rows.len(), 2, "{inbox:#}");
    assert_eq!(texts[0], "the login page\nhas no test");
    assert!(rows.iter().all(|row| row["source"] == "kitchen-backlog" && row["status"] == "pending"));
    crew.site.assert_nowhere(secret.as_bytes(), &[]);
}

#[test]
fn a_secret_in_a_title_is_not_shown() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let crew = Crew::new(&[task("a", &[])], "", done());
    let mut prd: Value = serde_json::from_slice(&crew.site.workspace.read(PRD)).unwrap();
    prd["featureName"] = json!(format!("Feature {secret}"));
    prd["tasks"][0]["title"] = json!(format!("Use {secret} now"));
    crew.site.workspace.write(PRD, prd.to_string());
    for words in [&["service", "--dry-run", PRD][..], &["status", PRD], &["summary", PRD]] {
        for more in [&[][..], &["--json"]] {
            let shown = crew.site.brigade.run([words, more].concat());
            let text = shown.stdout_text() + &shown.stderr_text();
            assert!(!text.contains(secret) && !text.is_empty(), "{words:?} {more:?}: {shown}");
        }
    }
    let report = crew.site.document(["status", PRD]).expect(0);
    assert_eq!(report["tasks"][0]["title"], "Use [redacted] now", "{report:#}");
}

#[test]
fn a_finished_prd_is_shown_without_an_argument() {
    let crew = Crew::new(&[task("a", &[])], "", done());
    crew.serve(0);
    for verb in ["status", "summary"] {
        let report = crew.site.document([verb]).expect(0);
        assert_eq!((&report["prd_path"], &report["taken"]), (&json!(PRD), &json!("done")), "{report:#}");
    }
    assert_eq!(crew.site.document(["kitchen", "cost"]).expect(0)["taken"], "done");
    let text = crew.site.brigade.run(["status"]);
    assert!(text.stderr_text().contains("no PRD has pending tasks"), "{text}");
    // Commands that start work do not pick a finished PRD.
    assert_eq!(crew.site.document(["service"]).expect(1)["code"], "prd_missing");
}

#[test]
fn names_of_folders_of_the_kitchen_name_no_prd() {
    let crew = Crew::new(&[task("a", &[])], "", done());
    for name in ["runs", "worktrees"] {
        let path = format!("brigade/tasks/{name}.json");
        crew.site.workspace.write(&path, crew.site.workspace.read(PRD));
        let refused = crew.site.document(["validate", &path]).expect(1);
        assert!(refused["error"].as_str().unwrap().contains(&format!("`{name}`")), "{refused:#}");
    }
}

#[test]
fn obstacles_at_written_paths_stop_nothing() {
    let config = "supervisor_status_file = \"brigade/status.json\"\nsupervisor_events_file = \"brigade/events.jsonl\"\n\
        activity_log = \"brigade/activity.log\"\nworker_log_dir = \"brigade/logs\"\nsupervisor_cmd_file = \".brigade/kitchen/command.json\"";
    let steps = json!([{"learning": "new"}, {"backlog": "later"}, {"write": "{task}.txt", "text": "x"}, {"tag": "COMPLETE"}]);
    let crew = Crew::new(&[task("a", &[]), task("b", &["a"])], config, steps);
    let workspace = &crew.site.workspace;
    for folder in [
        "status.json",
        "events.jsonl",
        "activity.log",
        "tasks/prd-crew.state.json",
        "tasks/brigade-backlog.md",
    ] {
        workspace.write(format!("brigade/{folder}/inside"), "x");
    }
    std::fs::write(workspace.path().join("brigade/tasks/brigade-learnings.md"), b"- old\n\xff\xfe\0- \n")
        .unwrap();
    // A file is in place of the log directory.
    workspace.write("brigade/logs", "mine");
    let report = crew.serve(0);
    assert_eq!(report["done"], 2, "{report:#}");
    let issues = report["issues"].to_string();
    for name in ["status.json", "events.jsonl", "activity.log", "prd-crew.state.json", "brigade-backlog.md"] {
        assert!(issues.contains(name), "{name}: {report:#}");
        let inside = workspace
            .files("brigade")
            .into_iter()
            .any(|(path, _)| path.contains(name) && path.ends_with("inside"));
        assert!(inside, "{name} was removed");
    }
    assert_eq!(workspace.read_text("brigade/logs"), "mine");
    assert_eq!(crew.status()["completed_tasks"], 2);
}

#[test]
fn unstartable_worker_is_named_before_any_start() {
    let crew = Crew::new(&[task("a", &[])], "", done());
    let workspace = &crew.site.workspace;
    workspace.write("plain.txt", "no program");
    let config = "review_enabled = true\n[tier.line]\ncommand = \"./plain.txt\"\n[tier.sous]\ncommand = \"no-such-program-1\"\n\
        [tier.executive]\ncommand = \"no-such-program-2\"\n";
    workspace.write(".brigade/kitchen.toml", config);
    crew.approve();
    let refused = crew.site.document(["service", PRD]).expect(1);
    let error = refused["error"].as_str().unwrap();
    for name in ["plain.txt", "no-such-program-1", "no-such-program-2"] {
        assert!(error.contains(name), "{error}");
    }
    assert_eq!(crew.starts("work", "a"), 0);
    assert_eq!(crew.status()["tasks"][0]["attempts"], 0);
}

#[test]
fn an_echoed_or_failed_review_does_not_count() {
    // An echoed prompt gives neither a verdict nor a reason, and no such review passes.
    for steps in [json!(["echo_prompt"]), json!([{"exit": 3}]), json!([{"review": "unclear"}])] {
        let scenario = json!({"rules": [{"role": "review", "do": steps}, {"role": "work", "do": done()}], "default": []});
        let crew = Crew::new(&[task("a", &[])], "review_enabled = true\nmax_iterations = 1", scenario);
        let report = crew.serve(30);
        assert_eq!(report["done"], 0, "{steps}: {report:#}");
        assert!(
            crew.site.workspace.git(["branch", "--list", "brigade/crew"]).is_empty()
                || !crew.site.workspace.git(["ls-tree", "--name-only", "brigade/crew"]).contains("a.txt")
        );
    }
}

#[test]
fn missing_verification_fails_with_a_decision() {
    let mut missing = task("a", &[]);
    missing["verification"] = json!([{"type": "smoke", "cmd": "./bin/tool --help"}]);
    let crew =
        Crew::new(&[missing, task("b", &[])], "max_iterations = 2\nescalation_enabled = false", done());
    let report = crew.serve(30);
    assert_eq!(
        (&report["reason"], &report["completed"]),
        (&json!("a decision waits"), &json!(["b"])),
        "{report:#}"
    );
    assert_eq!((crew.starts("work", "a"), crew.starts("work", "b")), (2, 1));
    let prompt = crew.call("work", "a", 2)["prompt"].as_str().unwrap().to_owned();
    assert!(prompt.contains("a verification command could not be started"), "{prompt}");
    assert!(prompt.contains("`./bin/tool` is not an executable file"), "{prompt}");
    let decisions = crew.site.document(["kitchen", "decisions", PRD]).expect(0);
    assert_eq!(decisions["decisions"][0]["choices"], json!(["retry", "skip", "abort"]), "{decisions:#}");
    // After the program is installed, the answer is sufficient.
    crew.site.document(["resume", PRD, "skip"]).expect(1);
}

#[test]
fn failed_task_marked_done_counts_after_approval() {
    let mut failing = task("a", &[]);
    failing["verification"] = json!([{"type": "smoke", "cmd": "false"}]);
    let crew = Crew::new(&[failing], "max_iterations = 1", done());
    crew.serve(30);
    let prd = crew.site.workspace.read_text(PRD).replace("\"passes\": false", "\"passes\": true");
    crew.site.workspace.write(PRD, prd);
    assert!(crew.status()["issues"].to_string().contains("counts after the PRD is approved again"));
    crew.approve();
    let status = crew.status();
    assert_eq!(
        (&status["tasks"][0]["status"], &status["issues"]),
        (&json!("already_done"), &json!([])),
        "{status:#}"
    );
    assert_eq!(crew.site.document(["service", PRD]).expect(0)["outcome"], "complete");
    assert_eq!(crew.starts("work", "a"), 1);
}

#[test]
fn service_and_rehearsal_report_unused_values() {
    let crew = Crew::new(&[task("a", &[])], "max_parallel = 500", done());
    let is_said = |text: &str| text.contains(".brigade/kitchen.toml:2:") && text.contains("max_parallel");
    let rehearsed = crew.site.document(["service", PRD, "--dry-run"]).expect(0);
    assert!(is_said(&rehearsed["issues"].to_string()), "{rehearsed:#}");
    crew.approve();
    let run = crew.site.brigade.run(["service", PRD]);
    run.assert_code(0);
    assert!(is_said(&run.stderr_text()), "{run}");
}
