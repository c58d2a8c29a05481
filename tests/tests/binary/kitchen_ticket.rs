//! `brigade ticket`: one task, and its exit codes.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]

use serde_json::json;

use crate::kitchen_common::{Crew, PRD, done, task};

#[test]
fn a_ticket_ends_with_the_code_of_its_task() {
    let tasks: Vec<_> = ["done", "there", "other", "stuck", "again", "asks"].map(|id| task(id, &[])).into();
    let scenario = json!({"rules": [
        {"task": "there", "do": [{"tag": "ALREADY_DONE"}]},
        {"task": "other", "do": [{"tag": "ABSORBED_BY:done"}]},
        {"task": "stuck", "do": [{"result": {"signal": "blocked", "reason": "no key"}}]},
        {"task": "again", "do": [{"print": "more to do"}]},
        {"task": "asks", "do": [{"result": {"signal": "question", "question": "which one?"}}]}],
        "default": done()});
    let crew = Crew::new(&tasks, "verify_claims = false", scenario);
    // Nothing is started without an approval.
    let refused = crew.ticket("done", &[], 1);
    assert_eq!(refused["code"], "approval_needed", "{refused:#}");
    crew.approve();
    let report = crew.ticket("done", &[], 0);
    assert_eq!(report["ticket"], json!({"task": "done", "outcome": "complete"}), "{report:#}");
    assert_eq!((&report["outcome"], &report["total"]), (&json!("complete"), &json!(1)));
    assert_eq!(crew.in_branch("done.txt"), "by done\n");
    assert_eq!(crew.ticket("there", &[], 33)["ticket"]["outcome"], "already_done");
    assert_eq!(crew.ticket("other", &[], 34)["ticket"]["outcome"], "absorbed");
    let blocked = crew.ticket("stuck", &[], 32);
    assert_eq!((&blocked["ticket"]["outcome"], &blocked["blocked"]), (&json!("blocked"), &json!(["stuck"])));
    let failed = crew.ticket("again", &["--max-iterations", "2"], 1);
    assert_eq!((&failed["ticket"]["outcome"], &failed["attempts"]), (&json!("failed"), &json!(2)));
    let asks = crew.ticket("asks", &[], 30);
    assert_eq!(asks["ticket"], json!({"task": "asks", "outcome": null}));
    assert!(asks["decisions"].to_string().contains("which one?"), "{asks:#}");
    // Only an answer restarts an ended task. Its exit code stays the same.
    crew.ticket("again", &[], 1);
    crew.ticket("there", &[], 33);
    assert_eq!((crew.starts("work", "again"), crew.starts("work", "there")), (2, 1));
    // Only the requested tasks were worked on. `ticket` and `kitchen ticket` are the same.
    assert_eq!(crew.status()["completed_tasks"], 3);
    let report = crew.site.document(["kitchen", "ticket", PRD, "done"]).expect(0);
    assert_eq!(report["attempts"], 0);
}

#[test]
fn a_task_may_be_named_like_an_option() {
    let crew = Crew::new(&[task("--help", &[]), task("-x", &["--help"])], "", done());
    crew.approve();
    let words = ["kitchen", "ticket", "--json", "--", PRD, "--help"];
    let run = crew.site.brigade.run(words);
    assert_eq!(run.assert_code(0).json()["ticket"]["task"], "--help");
    assert_eq!(crew.in_branch("--help.txt"), "by --help\n");
    let report = crew.site.document(["service", PRD, "--only=-x"]).expect(0);
    assert_eq!(report["completed"], json!(["-x"]));
    let log = crew.site.brigade.run(["kitchen", "log", "--", PRD, "--help"]);
    assert!(log.assert_code(0).stdout_text().contains("COMPLETE"), "{log}");
}

#[test]
fn a_worker_decides_nothing_about_its_kitchen() {
    let commands: [&[&str]; 6] = [
        &["kitchen", "approve", "{workspace}/brigade/tasks/prd-crew.json", "--fingerprint", "0123456789ab"],
        &["kitchen", "answer", "d-0", "skip", "--json"],
        &["kitchen", "service", "{workspace}/brigade/tasks/prd-crew.json", "--json", "--walkaway"],
        &["kitchen", "ticket", "{workspace}/brigade/tasks/prd-crew.json", "a", "--json"],
        &["kitchen", "resume", "retry", "--json", "--all"],
        &["kitchen", "clean", "--abandon", "a", "--json"],
    ];
    let mut steps: Vec<_> = commands
        .iter()
        .map(|words| {
            let words = [&["--target", "{workspace}"][..], words].concat();
            json!({"brigade": words})
        })
        .collect();
    steps.push(json!({"brigade": ["--target", "{workspace}", "status", "--brief"]}));
    steps.extend(done().as_array().unwrap().clone());
    let crew = Crew::new(&[task("a", &[])], "", json!(steps));
    crew.serve(0);
    let log = crew.site.document(["kitchen", "log", PRD, "a"]).expect(0);
    let text = log["stdout"]["text"].as_str().unwrap().to_owned() + log["stderr"]["text"].as_str().unwrap();
    assert_eq!(text.matches("brigade: 1").count(), commands.len(), "{text}");
    assert_eq!(text.matches("inside_a_run").count(), commands.len(), "{text}");
    // Read-only commands exit with 0.
    assert_eq!(text.matches("brigade: 0").count(), 1, "{text}");
}
