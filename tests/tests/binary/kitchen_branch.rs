//! A branch that the user deletes or moves: finished work stays in it, or the service stops.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails when it cannot continue")]

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::kitchen_common::{Crew, PRD, done, task};
use brigade_tests::until;

fn three(scenario: Value) -> Crew {
    Crew::new(&[task("a", &[]), task("b", &["a"]), task("c", &[])], "max_parallel = 1", scenario)
}

/// Finishes the first task.
fn with_a_done() -> (Crew, String) {
    let crew = three(done());
    crew.approve();
    let report = crew.site.document(["service", PRD, "--only", "a"]).expect(0);
    let commit = report["commit"].as_str().unwrap().to_owned();
    (crew, commit)
}

fn files(crew: &Crew) -> String {
    crew.site.workspace.git(["ls-tree", "--name-only", "brigade/crew"])
}

fn doctor(crew: &Crew) -> String {
    crew.site.brigade.run(["tools", "doctor", "--only", "kitchen", "--json"]).stdout_text()
}

/// Serves, and runs `act` while the task `b` is in progress.
fn meanwhile(crew: &Crew, act: impl FnOnce()) -> Value {
    let go = crew.beside("go");
    crew.scenario(json!({"rules": [{"task": "b", "do": [{"sleep": 60, "until": go}]}],
        "default": done()}));
    let mut command = crew.site.brigade.command(["service", PRD, "--json"]);
    let child: Child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    until("the second task", || (0 < crew.starts("work", "b")).then_some(()));
    act();
    crew.scenario(done());
    std::fs::write(go, "").unwrap();
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    assert_eq!(output.status.code(), Some(30), "{report:#}\n{}", crew.story());
    report
}

#[test]
fn a_deleted_branch_is_recreated_with_finished_work() {
    let (crew, commit) = with_a_done();
    crew.site.workspace.git(["branch", "-D", "brigade/crew"]);
    assert!(crew.status()["issues"].to_string().contains("was deleted"));
    assert!(doctor(&crew).contains("kitchen_branch_lost_work"));
    let report = crew.site.document(["service", PRD]).expect(0);
    assert!(report["issues"].to_string().contains(&commit), "{report:#}");
    assert_eq!((report["done"].as_u64(), crew.starts("work", "a")), (Some(3), 1));
    for id in ["a", "b", "c"] {
        assert_eq!(crew.in_branch(&format!("{id}.txt")).trim(), format!("by {id}"));
    }
    assert_eq!(crew.status()["issues"], json!([]));
    // After the last task, a deleted branch is not a problem, but a service recreates it anyway.
    crew.site.workspace.git(["branch", "-D", "brigade/crew"]);
    assert_eq!(crew.status()["issues"], json!([]));
    crew.site.document(["service", PRD]).expect(0);
    assert!(files(&crew).contains("c.txt"));
}

#[test]
fn branch_without_done_work_is_refused() {
    let (crew, commit) = with_a_done();
    crew.site.workspace.git(["branch", "-f", "brigade/crew", "main"]);
    let refused = crew.site.document(["service", PRD]).expect(1);
    assert_eq!(refused["code"], "branch_lost_work");
    let way = format!("git branch -f brigade/crew {commit}");
    assert!(refused["error"].to_string().contains(&way), "{refused:#}");
    assert!(crew.status()["issues"].to_string().contains(&way));
    assert!(doctor(&crew).contains(&way));
    assert_eq!(crew.starts("work", "b") + crew.starts("work", "c"), 0);
    crew.site.workspace.git(["branch", "-f", "brigade/crew", &commit]);
    crew.site.document(["service", PRD]).expect(0);
    assert!(files(&crew).contains("a.txt"));
}

#[test]
fn a_branch_reset_meanwhile_pauses_the_service() {
    let (crew, commit) = with_a_done();
    let report = meanwhile(&crew, || {
        crew.site.workspace.git(["branch", "-f", "brigade/crew", "main"]);
    });
    let reason = report["reason"].as_str().unwrap();
    assert!(reason.contains("does not contain the work of a") && reason.contains(&commit), "{report:#}");
    assert!(!files(&crew).contains("b.txt"));
    crew.site.workspace.git(["branch", "-f", "brigade/crew", &commit]);
    let report = crew.site.document(["service", PRD]).expect(0);
    assert_eq!((report["done"].as_u64(), crew.starts("work", "a")), (Some(3), 1));
    assert!(files(&crew).contains("a.txt") && files(&crew).contains("b.txt"));
}

#[test]
fn a_branch_deleted_meanwhile_is_recreated() {
    let (crew, _) = with_a_done();
    meanwhile(&crew, || {
        crew.site.workspace.git(["branch", "-D", "brigade/crew"]);
    });
    crew.site.document(["service", PRD]).expect(0);
    let files = files(&crew);
    assert!(["a.txt", "b.txt", "c.txt"].iter().all(|file| files.contains(file)), "{files}");
}
