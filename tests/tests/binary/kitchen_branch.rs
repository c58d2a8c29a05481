//! A branch that the user deletes or moves: finished work stays in it, or the service stops.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails when it cannot continue")]

use crate::kitchen_common::{Crew, PRD, done, task};

/// Finishes the first task.
fn with_a_done() -> (Crew, String) {
    let crew = Crew::new(&[task("a", &[]), task("b", &["a"]), task("c", &[])], "max_parallel = 1", done());
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
