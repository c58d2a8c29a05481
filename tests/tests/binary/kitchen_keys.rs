//! Effects of keys in kitchen.toml that no other test sets.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails when it cannot continue")]

use std::fs;

use brigade_tests::kitchen::{PRD, Service, task};
use serde_json::{Value, json};

fn senior(id: &str) -> Value {
    let mut task = task(id, &[]);
    task["complexity"] = json!("senior");
    task
}

fn row(service: &Service, at: usize) -> Value {
    service.site.document(["status", PRD]).expect(0)["tasks"][at].clone()
}

/// Returns the steps of a worker that does its task.
fn does(more: Value) -> Value {
    let mut steps = more.as_array().unwrap().clone();
    steps.extend([json!({"write": "{task}.txt", "text": "x"}), json!({"tag": "COMPLETE"})]);
    Value::Array(steps)
}

#[test]
fn learnings_and_findings_have_files_and_limits() {
    let rules = json!([{"task": "US-001", "do": does(json!([{"learning": "one"}, {"learning": "two"}, {"backlog": "b"}]))}]);
    let tasks = [task("US-001", &[]), task("US-002", &["US-001"])];
    let settings = "learnings_file = \"notes.md\"\nbacklog_file = \"later.md\"\nlearnings_max = 1\nlearnings_archive = false";
    let service = Service::new(settings, &tasks, &rules);
    service.serve(0, &[]);
    let read = |name: &str| service.site.workspace.read_text(format!("brigade/tasks/{name}"));
    assert_eq!(read("notes.md"), "# Learnings\n\n- two\n");
    assert_eq!(read("later.md"), "# Backlog\n\n- b\n");
    assert!(!service.site.workspace.exists("brigade/tasks/archive"));
    assert!(service.prompt("work", "US-002", 1).contains("- two"));
    let service = Service::new("knowledge_sharing = false", &tasks, &rules);
    service.serve(0, &[]);
    assert!(!service.prompt("work", "US-002", 1).contains("- two"));
}

#[test]
fn retry_prompts_name_earlier_approaches_if_enabled() {
    let rules = json!([{"attempt": 1, "do": [{"approach": "first way"}]}, {"attempt": 2, "do": [{"approach": "second way"}]}]);
    for (settings, expect) in [
        ("", [true, true, true]),
        ("smart_retry_approach_history_max = 1", [true, false, true]),
        ("smart_retry_enabled = false", [false, false, false]),
    ] {
        let service = Service::new(settings, &[task("US-001", &[])], &rules);
        service.serve(0, &[]);
        let prompt = service.prompt("work", "US-001", 3);
        let found = ["kind of failure", "first way", "second way"].map(|text| prompt.contains(text));
        assert_eq!(found, expect, "{settings}: {prompt}");
    }
}

#[test]
fn prompts_name_related_prds_if_enabled() {
    for (settings, expect) in
        [("", true), ("cross_prd_context_enabled = false", false), ("cross_prd_max_related = 0", false)]
    {
        let service = Service::new(settings, &[task("US-001", &[])], &json!([]));
        service.write_prd("brigade/tasks/prd-auth-roles.json", "feature/roles", &[task("US-001", &[])]);
        service.serve(0, &[]);
        let prompt = service.prompt("work", "US-001", 1);
        assert_eq!(prompt.contains("auth-roles"), expect, "{settings}: {prompt}");
    }
}

#[test]
fn warnings_can_be_turned_off() {
    let mut own = task("US-001", &[]);
    own["title"] = json!("Check that users can log in");
    own["acceptanceCriteria"] = json!(["it works well"]);
    own["verification"] = json!([{"type": "pattern", "cmd": "grep -q x US-001.txt"}]);
    let codes = |settings: &str, tasks: &[Value]| -> Vec<String> {
        let service = Service::new(settings, tasks, &json!([]));
        let report = service.site.document(["validate", PRD]).expect(0);
        let rows = report["warnings"].as_array().unwrap();
        rows.iter().map(|row| row["code"].as_str().unwrap().to_owned()).collect()
    };
    let (patterns, units) = ([own], [task("US-001", &[]), task("US-002", &[])]);
    for (settings, code, tasks) in [
        ("criteria_lint_enabled = false", "vague_criterion", &patterns[..]),
        ("verification_warn_grep_only = false", "pattern_only", &patterns),
        ("e2e_detection_enabled = false", "no_e2e", &units),
    ] {
        let all = codes("", tasks);
        assert!(all.contains(&code.to_owned()), "{all:?}");
        let less: Vec<String> = all.iter().filter(|own| *own != code).cloned().collect();
        assert_eq!(codes(settings, tasks), less);
    }
}

#[test]
fn verification_has_a_time_limit_and_can_be_off() {
    let mut own = task("US-001", &[]);
    own["verification"] = json!([{"type": "unit", "cmd": "sleep 60"}]);
    let service = Service::new("verification_timeout = 1\nmax_iterations = 1", &[own.clone()], &json!([]));
    service.serve(30, &[]);
    let error = row(&service, 0)["last_error"].clone();
    assert!(error.as_str().unwrap().contains("1 attempt"), "{error}");
    let ended: Vec<Value> =
        service.journal().into_iter().filter(|record| record["kind"] == "verification").collect();
    assert_eq!(ended[0]["result"], "timed_out");
    let service = Service::new("verification_enabled = false", &[own], &json!([]));
    service.serve(0, &[]);
}

#[test]
fn all_tiers_are_reviewed_if_enabled() {
    let rules = json!([{"role": "review", "do": [{"review": "pass"}]}]);
    for (settings, reviews) in [
        ("review_enabled = true", [1, 0]),
        ("review_enabled = true\nreview_junior_only = false", [1, 1]),
        ("review_enabled = false\nreview_junior_only = false", [0, 0]),
    ] {
        let service = Service::new(settings, &[task("US-001", &[]), senior("US-002")], &rules);
        service.serve(0, &[]);
        let starts = ["US-001", "US-002"].map(|task| service.starts("review", task));
        assert_eq!(starts, reviews, "{settings}");
    }
}

#[test]
fn a_task_is_stuck_after_equal_failures_or_never() {
    let rules = json!([{"do": [{"print": "no"}]}]);
    for (settings, attempts) in [("stuck_after = 2", 2), ("stuck_after = 0", 4)] {
        let settings = format!("{settings}\nmax_iterations = 4\nescalation_enabled = false");
        let service = Service::new(&settings, &[task("US-001", &[])], &rules);
        service.serve(30, &[]);
        assert_eq!(row(&service, 0)["attempts"], attempts, "{settings}");
    }
}

#[test]
fn time_limits_hold_in_every_tier() {
    let rules = json!([{"do": [{"sleep": 60}]}]);
    let settings = "task_timeout_senior = 1\ntask_timeout_executive = 1";
    let service = Service::new(settings, &[senior("US-001")], &rules);
    service.serve(30, &[]);
    let row = row(&service, 0);
    assert_eq!(
        (&row["status"], &row["tier"], &row["attempts"]),
        (&json!("blocked"), &json!("executive"), &json!(2)),
        "{row:#}"
    );
    let settings = "task_timeout_senior = 1\nescalation_to_exec = false";
    let service = Service::new(settings, &[senior("US-001")], &rules);
    service.serve(30, &[]);
    assert_eq!(self::row(&service, 0)["attempts"], 1);
}

#[test]
fn worktrees_get_files_and_setup_has_a_limit() {
    let settings = "worktree.copy = [\"local.env\"]\nworktree.link = [\"cache\"]\nworktree.path = \".brigade/kitchen/trees\"\n\
        worktree.setup = \"cp local.env seen.txt\"\nworktree.keep = \"always\"";
    let rules = json!([{"do": does(json!([{"copy": "cache/x", "to": "cached.txt"}]))}]);
    let service = Service::new(settings, &[task("US-001", &[])], &rules);
    let workspace = &service.site.workspace;
    workspace.write(".gitignore", "local.env\ncache\n.brigade/kitchen/\nbrigade/\n");
    workspace.git(["add", "-A"]);
    workspace.git(["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "ignore"]);
    workspace.write("local.env", "A=1\n");
    workspace.write("cache/x", "cached\n");
    service.serve(0, &[]);
    let tree = ".brigade/kitchen/trees/prd-add-auth/US-001";
    assert!(workspace.exists(format!("{tree}/local.env")));
    assert!(fs::symlink_metadata(workspace.path().join(tree).join("cache")).unwrap().is_symlink());
    let of_branch = |name: &str| workspace.git(["show", &format!("feature/auth:{name}")]);
    assert_eq!(of_branch("cached.txt"), "cached\n");
    // The worker sees files of the setup, but they do not count as its work.
    assert_eq!(workspace.read_text(format!("{tree}/seen.txt")), "A=1\n");
    let committed = workspace.git(["ls-tree", "--name-only", "feature/auth"]);
    assert!(!committed.contains("local.env") && !committed.contains("seen.txt"), "{committed}");

    let settings = "worktree.setup = \"sleep 60\"\nworktree.setup_timeout = 1\nmax_iterations = 1";
    let service = Service::new(settings, &[task("US-001", &[])], &json!([]));
    service.serve(30, &[]);
    let told = service.journal().iter().map(Value::to_string).collect::<String>();
    assert!(told.contains("the setup command of the worktree was ended at its time limit"), "{told}");
    assert_eq!(service.starts("work", "US-001"), 0);
}

#[test]
fn walkaway_has_its_limits() {
    let tasks = [task("US-001", &[]), task("US-002", &[]), task("US-003", &[])];
    let base = "walkaway_mode = true\nmax_iterations = 1\nmax_parallel = 1\n";
    let fails = json!({"role": "work", "do": [{"print": "no"}]});
    // The executive decides while other tasks are in progress. Several decisions may run at the same time.
    let skips = json!([fails, {"role": "decide", "do": [{"sleep": 1}, {"decide": "skip"}]}]);
    let service = Service::new(&format!("{base}walkaway_max_skips = 1"), &tasks, &skips);
    let report = service.serve(30, &[]);
    assert_eq!(report["skipped"].as_array().unwrap().len(), 1, "{report:#}");
    assert!(report["reason"].as_str().unwrap().contains("1 task "), "{report:#}");
    // An executive that times out gives no decision. That counts as retry once, then as skip.
    let slow = json!([fails, {"role": "decide", "do": [{"sleep": 60}, {"decide": "abort"}]}]);
    let service = Service::new(&format!("{base}walkaway_decision_timeout = 1"), &tasks[..1], &slow);
    service.serve(1, &[]);
    assert_eq!((service.starts("work", "US-001"), service.starts("decide", "US-001")), (2, 2));
    // With this setting, a person answers questions about scope.
    let asks = json!([{"role": "work", "attempt": 1, "do": [{"question": "Tests, too?"}]},
        {"role": "scope", "do": [{"scope": "Yes, tests, too", "reason": "usual"}]}]);
    for (settings, code, starts) in [("", 0, 1), ("walkaway_scope_decisions = false", 30, 0)] {
        let service = Service::new(
            &format!("{base}max_iterations = 3\n{settings}").replacen("max_iterations = 1\n", "", 1),
            &tasks[..1],
            &asks,
        );
        service.serve(code, &[]);
        assert_eq!(service.starts("scope", "US-001"), starts, "{settings}");
    }
}

#[test]
fn minutes_cost_what_the_rates_say() {
    let rules = json!([{"role": "work", "do": does(json!([{"sleep": 1}]))}]);
    let settings = "cost_rate_line = 600\ncost_rate_sous = 6000\ncost_rate_executive = 0\nmax_parallel = 2";
    let service = Service::new(settings, &[task("US-001", &[]), senior("US-002")], &rules);
    service.serve(0, &[]);
    let cost = |at: usize| row(&service, at)["cost_usd"].as_f64().unwrap();
    assert!((10.0..100.0).contains(&cost(0)), "{}", cost(0));
    assert!((100.0..1_000.0).contains(&cost(1)), "{}", cost(1));
}

#[test]
fn a_review_of_the_prd_may_take_so_long() {
    let rules = json!([{"role": "phase", "do": [{"sleep": 60}, {"phase": "needs_attention"}]}]);
    let settings = "phase_review_enabled = true\nphase_review_after = 1\nphase_review_timeout = 1";
    let service = Service::new(settings, &[task("US-001", &[])], &rules);
    service.serve(0, &[]);
    assert_eq!(service.starts("phase", "none"), 1);
}

#[test]
fn several_prds_are_served_in_turn() {
    let service = Service::new("auto_continue = true", &[task("US-001", &[])], &json!([]));
    let next = "brigade/tasks/prd-next.json";
    service.write_prd(next, "feature/next", &[task("US-002", &[])]);
    service.approve(PRD);
    service.approve(next);
    let report = service.site.document(["service", PRD, next]).expect(0);
    assert_eq!(report["prds"].as_array().unwrap().len(), 2, "{report:#}");
}

#[test]
fn a_tier_has_its_adapter_and_its_variables() {
    let rules = json!([{"role": "work", "do": [{"write": "{task}.txt", "text": "x"}, "print_environment"]}]);
    let service = Service::new("max_iterations = 1", &[task("US-001", &[])], &rules);
    let config = service.site.workspace.read_text(".brigade/kitchen.toml");
    let with = "[tier.line]\nenv_labels = [\"OWN_TOKEN\"]\n";
    service.site.workspace.write(".brigade/kitchen.toml", config.replacen("[tier.line]\n", with, 1));
    let site = brigade_tests::Site {
        brigade: service.site.brigade.clone().env("OWN_TOKEN", "hush-hush-1"),
        workspace: service.site.workspace,
    };
    let service = Service { site };
    service.serve(30, &[]);
    let log = service.site.document(["kitchen", "log", PRD, "US-001"]).expect(0);
    assert!(log.to_string().contains("OWN_TOKEN"), "{log:#}");

    let rules = json!([{"role": "work", "do": [{"write": "{task}.txt", "text": "x"},
        {"claude": "<promise>COMPLETE</promise>", "cost": 1.5}]}]);
    let service = Service::new("", &[task("US-001", &[])], &rules);
    let config = service.site.workspace.read_text(".brigade/kitchen.toml");
    let with = "[tier.line]\nadapter = \"claude\"\n";
    service.site.workspace.write(".brigade/kitchen.toml", config.replacen("[tier.line]\n", with, 1));
    service.serve(0, &[]);
    assert_eq!(row(&service, 0)["cost_usd"], 1.5);
}

#[test]
fn opencode_is_one_key() {
    let site = brigade_tests::Site::empty();
    let config =
        "use_opencode = true\nopencode_model = \"a/b\"\nopencode_server = \"http://localhost:4096\"\n";
    site.workspace.write(".brigade/kitchen.toml", config);
    let report = site.document(["kitchen", "workers"]).expect(0);
    let line = report["tiers"].as_array().unwrap().iter().find(|tier| tier["tier"] == "line").unwrap();
    assert_eq!(line["adapter"], "opencode", "{report:#}");
    assert_eq!(line["command"], "opencode --model a/b", "{report:#}");
}
