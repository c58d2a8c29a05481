//! Continuing after a service: skipped tasks, tasks that cannot start, dry runs and approvals.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails when it cannot continue")]

use serde_json::{Value, json};

use crate::kitchen_common::{Crew, PRD, done, task};

fn failing(id: &str) -> Value {
    json!({"rules": [{"task": id, "do": [{"write": "{task}.txt"}, {"exit": 3}]}], "default": done()})
}

fn first_decision(crew: &Crew) -> String {
    let listed = crew.site.document(["kitchen", "decisions", PRD]).expect(0);
    listed["decisions"][0]["id"].as_str().unwrap_or_else(|| panic!("{listed:#}")).to_owned()
}

#[test]
fn a_skipped_task_can_be_taken_up_again() {
    let crew = Crew::new(&[task("a", &[]), task("b", &["a"])], "max_iterations = 1", failing("a"));
    crew.serve(30);
    crew.site.document(["kitchen", "answer", &first_decision(&crew), "skip"]).expect(0);
    let report = crew.site.document(["resume", PRD]).expect(1);
    assert_eq!((&report["skipped"], &report["unreachable"]), (&json!(["a"]), &json!(["b"])), "{report:#}");
    assert!(report["next"].to_string().contains(&format!("kitchen resume {PRD} retry")), "{report:#}");
    crew.site.document(["resume", PRD, "skip"]).expect(1);
    crew.scenario(done());
    assert_eq!(crew.site.document(["resume", PRD, "retry"]).expect(0)["done"], 2);
    assert_eq!(crew.site.document(["resume", PRD, "retry"]).expect(1)["code"], "decision_missing");
}

#[test]
fn tasks_that_cannot_start_are_named() {
    let crew = Crew::new(&[task("a", &[]), task("b", &["a"]), task("c", &[])], "", done());
    crew.approve();
    let report = crew.site.document(["service", PRD, "--only", "b"]).expect(1);
    assert_eq!(report["outcome"], "incomplete");
    assert_eq!(report["reason"], "b depends on a, which is not done and was not to be served");
    let shown = crew.site.brigade.run(["service", PRD, "--skip", "a,c"]);
    assert!(shown.assert_code(1).stderr_text().contains("b depends on a, which is not done"), "{shown}");
    for flags in [["--only", "a", "--skip", "a"], ["--from", "c", "--until", "a"]] {
        let refused = crew.site.document([&["service", PRD][..], &flags].concat()).expect(2);
        assert!(refused["error"].as_str().unwrap().contains("no task is left"), "{refused:#}");
        crew.site.document([&["service", PRD, "--dry-run"][..], &flags].concat()).expect(2);
    }
    assert_eq!(crew.starts("work", "a"), 0);
}

#[test]
fn a_resume_can_be_a_dry_run_or_include_an_approval() {
    let crew = Crew::new(&[task("a", &[])], "", done());
    let rehearsed = crew.site.document(["resume", PRD, "--dry-run"]).expect(0);
    assert_eq!((&rehearsed["outcome"], &rehearsed["waves"]), (&json!("dry-run"), &json!([["a"]])));
    crew.site.document(["resume", PRD, "retry", "--dry-run"]).expect(2);
    let fingerprint = crew.site.document(["validate", PRD]).expect(0)["fingerprint"].clone();
    crew.site.document(["resume", PRD, "--fingerprint", &"0".repeat(64)]).expect(1);
    let report =
        crew.site.document(["resume", PRD, "--fingerprint", fingerprint.as_str().unwrap()]).expect(0);
    assert_eq!(report["done"], 1);
}
