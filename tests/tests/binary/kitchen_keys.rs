//! Effects of keys in kitchen.toml that no other test sets.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails when it cannot continue")]

use std::fs;

use brigade_tests::kitchen::{PRD, Service, task};
use serde_json::{Value, json};

/// Returns the steps of a worker that does its task.
fn does(more: Value) -> Value {
    let mut steps = more.as_array().unwrap().clone();
    steps.extend([json!({"write": "{task}.txt", "text": "x"}), json!({"tag": "COMPLETE"})]);
    Value::Array(steps)
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
fn several_prds_are_served_in_turn() {
    let service = Service::new("auto_continue = true", &[task("US-001", &[])], &json!([]));
    let next = "brigade/tasks/prd-next.json";
    service.write_prd(next, "feature/next", &[task("US-002", &[])]);
    service.approve(PRD);
    service.approve(next);
    let report = service.site.document(["service", PRD, next]).expect(0);
    assert_eq!(report["prds"].as_array().unwrap().len(), 2, "{report:#}");
}
