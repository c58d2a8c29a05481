//! `brigade kitchen receipts`, `log` and `clean`.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails when it cannot continue, and a service runs beside the test"
)]

use std::io::Read as _;
use std::process::{Child, Stdio};

use brigade_tests::until;
use serde_json::{Value, json};

use crate::kitchen_common::{Crew, JOURNAL, PRD, done, task};

#[test]
fn receipts_are_listed_shown_and_verified() {
    let crew = Crew::new(&[task("a", &[])], "", done());
    crew.serve(0);
    let listed = crew.site.document(["kitchen", "receipts", "--limit", "1"]).expect(0);
    assert_eq!((&listed["total"], &listed["receipts"][0]["kind"]), (&json!(2), &json!("verification")));
    let id = listed["receipts"][0]["id"].as_str().unwrap().to_owned();
    let text = crew.site.brigade.run(["kitchen", "receipts", "show", &id]);
    assert!(text.assert_code(0).stdout_text().contains("crew/a"), "{text}");
    let missing = crew.site.document(["kitchen", "receipts", "show", "nothing"]).expect(1);
    assert!(missing.to_string().contains(&id), "{missing:#}");
    assert_eq!(crew.site.document(["kitchen", "receipts", "verify"]).expect(0)["valid"], true);
    let receipt = format!(".brigade/kitchen/runs/{id}.json");
    crew.site.workspace.replace(receipt, "\"exit_code\": 0", "\"exit_code\": 1");
    let report = crew.site.document(["kitchen", "receipts", "verify"]).expect(1);
    let finding = &report["findings"][0];
    assert_eq!((&finding["run"], &finding["what"]), (&json!(id), &json!("the receipt was changed")));
}

#[test]
fn attempt_logs_are_shown_and_unknown_ones_refused() {
    let scenario = json!({"rules": [
        {"attempt": 1, "do": [{"print": "first \u{1b}[31mtry, token ghp_0123456789abcdefghijABCDEFGHIJ012345"},
            {"print": "oh no", "to": "stderr"}]},
        {"attempt": 2, "do": [{"print": "second try"}]}],
        "default": done()});
    let crew = Crew::new(&[task("a", &[]), task("b", &["a"])], "", scenario);
    crew.approve();
    let unbegun = crew.site.document(["kitchen", "log", PRD, "a"]).expect(1);
    assert!(unbegun.to_string().contains("no attempt of crew/a was made yet"), "{unbegun:#}");
    crew.ticket("a", &[], 0);
    let show = |words: &[&str]| crew.site.brigade.run([&["kitchen", "log", PRD], words].concat());
    let first = show(&["a", "--attempt", "1"]);
    let text = first.assert_code(0).stdout_text();
    assert!(text.contains("first ") && text.contains("==> stderr <==\noh no\n"), "{text}");
    assert!(!text.contains("0123456789abcdefghij"), "{text}");
    assert!(show(&["a", "--attempt", "2"]).stdout_text().contains("second try"));
    assert!(show(&["a", "--follow"]).assert_code(0).stdout_text().contains("COMPLETE"));
    let json = crew.site.document(["kitchen", "log", PRD, "a", "--attempt", "1"]).expect(0);
    assert_eq!(
        (&json["attempt"], &json["running"], &json["tier"]),
        (&json!(1), &json!(false), &json!("line"))
    );
    assert_eq!(json["stderr"]["text"], "oh no\n");
    // Issue 45: only the path of the PRD was understood.
    for words in [&["a"][..], &["crew/a"], &["crew", "a"]] {
        let named = crew.site.document([&["kitchen", "log"], words].concat()).expect(0);
        assert_eq!((&named["prd_path"], &named["task"]), (&json!(PRD), &json!("a")), "{words:?}");
    }
    assert_eq!(crew.site.document(["status", "crew"]).expect(0)["prd_path"], PRD);
    assert_eq!(crew.site.document(["kitchen", "log", "zz"]).expect(1)["code"], "task_missing");
    let refused = |words: &[&str]| crew.site.document([&["kitchen", "log", PRD], words].concat()).expect(1);
    let missing = refused(&["a", "--attempt", "9"]);
    assert!(missing.to_string().contains("there are 1, 2, 3"), "{missing:#}");
    assert_eq!(missing["code"], "run_missing");
    assert!(refused(&["c"]).to_string().contains("there are a, b"));
}

/// Starts a command that the test ends.
fn start(crew: &Crew, words: &[&str]) -> Child {
    let mut command = crew.site.brigade.command(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Starts a service whose worker prints and waits for a file.
fn running(crew: &Crew) -> Child {
    crew.approve();
    let service = start(crew, &["service", PRD]);
    let is_running = || crew.status()["current_task"].is_object().then_some(());
    until("running task", is_running);
    service
}

fn waiting() -> (Value, &'static str) {
    // The end of the output may be the start of a secret, so a line is shown only when it is complete.
    let filler = "-\n".repeat(2048);
    let steps = json!([{"print": "begun"}, {"print": filler}, {"sleep": 60, "until": "{workspace}/go"}, {"print": "ended"},
        {"write": "{task}.txt", "text": "x"}, {"tag": "COMPLETE"}]);
    (steps, "go")
}

#[test]
fn a_running_attempt_is_followed_until_it_ends() {
    let (steps, go) = waiting();
    let crew = Crew::new(&[task("a", &[])], "", steps);
    let mut service = running(&crew);
    let mut log = start(&crew, &["kitchen", "log", PRD, "a", "--follow"]);
    let mut out = log.stdout.take().unwrap();
    let mut seen = Vec::new();
    let mut piece = [0; 64];
    while !String::from_utf8_lossy(&seen).contains("begun") {
        let length = out.read(&mut piece).unwrap();
        assert_ne!(length, 0, "it ended before the attempt: {}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&piece[..length]);
    }
    let json = crew.site.document(["kitchen", "log", PRD, "a"]).expect(0);
    assert_eq!(json["running"], true);
    let text = json["stdout"]["text"].as_str().unwrap();
    assert!(text.starts_with("begun\n-") && !text.contains("ended"), "{text}");
    crew.site.workspace.write(go, "");
    out.read_to_end(&mut seen).unwrap();
    let text = String::from_utf8(seen).unwrap();
    let filler = "-\n".repeat(2048);
    assert_eq!(text, format!("begun\n{filler}\nended\n<promise>COMPLETE</promise>\n"));
    assert!(log.wait().unwrap().success() && service.wait().unwrap().success());
}

fn worktree(task: &str) -> String {
    format!(".brigade/kitchen/worktrees/prd-crew/{task}")
}

#[test]
fn clean_removes_only_merged_worktrees() {
    let half = json!([{"write": "half.txt", "text": "half of it\n"}, {"print": "not yet"}]);
    let scenario = json!({"rules": [{"task": "b", "do": half}], "default": done()});
    let tasks = [task("a", &[]), task("b", &[]), task("c", &["b"])];
    let crew = Crew::new(&tasks, "worktree.keep = \"always\"\nmax_iterations = 1", scenario);
    // Before any work, there is nothing to remove, and nothing is created.
    let report = crew.site.document(["kitchen", "clean", PRD]).expect(0);
    assert_eq!((&report["removed"], &report["kept"]), (&json!([]), &json!([])));
    assert!(!crew.site.workspace.exists(".brigade/kitchen"));
    crew.serve(30);
    let workspace = &crew.site.workspace;
    assert!(workspace.exists(worktree("a")) && workspace.exists(worktree("b")));
    let unknown = crew.site.document(["kitchen", "clean", PRD, "--abandon", "c"]).expect(1);
    assert!(unknown.to_string().contains("there are a, b"), "{unknown:#}");
    let report = crew.site.document(["kitchen", "clean", PRD]).expect(0);
    assert_eq!(report["removed"], json!(["a"]), "{report:#}");
    assert_eq!(report["kept"], json!([{"task": "b", "reason": "its work is not in `brigade/crew`"}]));
    assert!(report["next_command"].as_str().unwrap().contains("--abandon=b"), "{report:#}");
    assert!(!workspace.exists(worktree("a")) && workspace.exists(worktree("b")));
    // The same if the branch was deleted.
    let tip = workspace.git(["rev-parse", "brigade/crew"]);
    workspace.git(["branch", "-D", "brigade/crew"]);
    let report = crew.site.document(["kitchen", "clean", PRD]);
    assert!(workspace.exists(worktree("b")), "{}", report.run);
    assert_eq!(workspace.git(["branch", "--list", "brigade/crew"]), "");
    workspace.git(["branch", "brigade/crew", tip.trim()]);
    let report = crew.site.document(["kitchen", "clean", PRD, "--abandon", "b"]).expect(0);
    let reference = report["abandoned"]["reference"].as_str().unwrap();
    assert!(reference.starts_with("refs/brigade/abandoned/prd-crew/b/"), "{report:#}");
    assert_eq!(workspace.git(["show", &format!("{reference}:half.txt")]), "half of it\n");
    assert!(!workspace.exists(worktree("b")));
    // After an answer, the task starts again from the branch.
    crew.scenario(done());
    crew.site.document(["resume", PRD, "retry"]).expect(0);
    assert!(workspace.git(["ls-tree", "--name-only", "brigade/crew"]).lines().all(|name| name != "half.txt"));
}

#[test]
fn worktrees_of_a_running_service_stay() {
    let (steps, go) = waiting();
    let crew = Crew::new(&[task("a", &[])], "", steps);
    let mut service = running(&crew);
    let report = crew.site.document(["kitchen", "clean", PRD]).expect(0);
    assert_eq!(report["removed"], json!([]));
    assert!(report["kept"][0]["reason"].as_str().unwrap().contains("serves the PRD"), "{report:#}");
    let refused = crew.site.document(["kitchen", "clean", PRD, "--abandon", "a"]).expect(31);
    assert_eq!(refused["code"], "service_busy");
    // A ticket cannot start either.
    assert_eq!(crew.ticket("a", &[], 31)["code"], "service_busy");
    assert!(crew.site.workspace.exists(worktree("a")));
    crew.site.workspace.write(go, "");
    assert!(service.wait().unwrap().success());
    assert_eq!(crew.in_branch("a.txt"), "x");
}

#[test]
fn abandoned_work_is_never_called_done() {
    let crew = Crew::new(&[task("a", &[])], "worktree.keep = \"always\"", done());
    crew.serve(0);
    // Simulates a service that was killed between the verification and the commit.
    let journal = crew.site.workspace.read_text(JOURNAL);
    let verified = journal.lines().position(|line| line.contains("\"kind\":\"verification\"")).unwrap();
    let kept: Vec<&str> = journal.lines().take(verified + 1).collect();
    crew.site.workspace.write(JOURNAL, kept.join("\n") + "\n");
    crew.site.workspace.git(["branch", "-D", "brigade/crew"]);
    crew.site.workspace.git(["branch", "brigade/crew", "main"]);
    crew.site.document(["kitchen", "clean", PRD, "--abandon", "a"]).expect(0);
    crew.site.document(["service", PRD]).expect(0);
    assert_eq!(crew.in_branch("a.txt"), "by a\n", "the branch has what was verified");
    assert_eq!(crew.starts("work", "a"), 2, "the work was done again");
}
