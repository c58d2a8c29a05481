//! The cached status of a long PRD, and when it is computed again.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]

use serde_json::{Value, json};

use crate::kitchen_common::{Crew, PRD, done, task};

/// Returns a status, after checking that it is the same without caches.
fn kept_status(crew: &Crew, what: &str) -> Value {
    let without_time = |mut status: Value| {
        for task in status["tasks"].as_array_mut().unwrap() {
            task["elapsed"].take();
        }
        status
    };
    let status = || without_time(crew.status());
    let any = || without_time(crew.site.document(["status"]).expect(0));
    let before = status();
    let (kept, kept_any) = (status(), any());
    for cache in ["status.cache", "journal.cache", "glance.cache"] {
        let cache = format!(".brigade/kitchen/prd-crew/{cache}");
        if crew.site.workspace.exists(&cache) {
            crew.site.workspace.remove(cache);
        }
    }
    let (fresh_any, fresh) = (any(), status());
    assert_eq!((&before, &kept), (&fresh, &fresh), "{what}");
    assert_eq!(kept_any, fresh_any, "{what}");
    fresh
}

#[test]
fn a_long_status_that_is_kept_is_that_of_now() {
    let mut tasks = [task("a", &[]), task("b", &["a"]), task("c", &["b"])];
    tasks[2]["description"] = json!("a long text ".repeat(30_000));
    let steps = json!({"rules": [{"task": "b", "do": [{"tag": "BLOCKED"}]}], "default": done()});
    let crew = Crew::new(&tasks, "escalation_to_exec_after = 1", steps);
    crew.serve(30);
    let cache = ".brigade/kitchen/prd-crew/status.cache";
    crew.status();
    assert!(crew.site.workspace.exists(cache));
    let workspace = &crew.site.workspace;
    let first = kept_status(&crew, "as it is");
    assert_eq!((&first["tasks"][0]["status"], &first["completed_tasks"]), (&json!("complete"), &json!(1)));
    crew.configure("escalation_to_exec_after = 1\ncost_rate_line = 7.5");
    let dearer = kept_status(&crew, "another price");
    assert_ne!(dearer["budget"], first["budget"]);
    crew.configure("escalation_to_exec_after = 1\nunknown_key = 1");
    assert_ne!(kept_status(&crew, "an unknown key")["config_issues"], first["config_issues"]);
    crew.configure("escalation_to_exec_after = 2");
    workspace.write(".brigade/tools/policy.toml", "[kitchen]\nshell = \"never\"\nmax_minutes = 5\n");
    assert_ne!(kept_status(&crew, "another policy")["fingerprint"], first["fingerprint"]);
    workspace.write(".brigade/tools/policy.toml", "no policy");
    assert_eq!(kept_status(&crew, "a broken policy")["fingerprint"], Value::Null);
    workspace.remove(".brigade/tools/policy.toml");
    crew.configure("escalation_to_exec_after = 1");
    assert_eq!(kept_status(&crew, "as it was"), first);
    let decision = first["decisions"][0]["id"].as_str().unwrap();
    crew.site.document(["kitchen", "answer", decision, "skip"]).expect(0);
    assert_eq!(kept_status(&crew, "an answer")["tasks"][1]["status"], "skipped");
    workspace.git(["branch", "-f", "brigade/crew", "main"]);
    let issues = kept_status(&crew, "another branch")["issues"].to_string();
    assert!(issues.contains("brigade/crew"), "{issues}");
    workspace.write(PRD, workspace.read_text(PRD).replace("Write c", "Write d"));
    assert_eq!(kept_status(&crew, "another title")["tasks"][2]["title"], "Write d");
    // The elapsed time of an unfinished task increases.
    let elapsed = |status: &Value| status["tasks"][1]["elapsed"].as_u64();
    assert!(elapsed(&crew.status()).is_some());
}

/// Issue 45: a task is shown with its state and what it needs, whether it was tried or not.
#[test]
fn a_task_is_shown_before_its_first_attempt() {
    let steps = json!({"rules": [{"task": "a", "do": [{"tag": "BLOCKED"}]}], "default": done()});
    let crew = Crew::new(&[task("a", &[]), task("b", &["a"])], "escalation_to_exec_after = 1", steps);
    let shown = |words: &[&str]| {
        let run = crew.site.brigade.run(words);
        run.assert_code(0);
        run.stdout_text()
    };
    for name in ["b", "crew/b"] {
        let said = shown(&["show", name]);
        for line in ["task:      crew/b  Write b", "state:     ○ pending", "needs:     crew/a"] {
            assert!(said.lines().any(|said| said.trim_end() == line), "no `{line}`\n{said}");
        }
    }
    let report = crew.site.document(["show", "b"]).expect(0);
    assert_eq!(
        (&report["schema"], &report["tasks"][0]["depends_on"]),
        (&json!("brigade.kitchen-status.v1"), &json!(["a"]))
    );
    crew.serve(30);
    let said = shown(&["show", "a"]);
    assert!(said.contains("attempts:  ") && said.contains("BLOCKED"), "{said}");
    // Issue 45: after an answer, the command that continues is named.
    let steps = json!([{"see": "Choice?"}, {"type": "skip\n"}, "end"]);
    let seen = crew.site.on_terminal(&steps, &["approve"]);
    assert!(
        seen.screen.contains("help: brigade resume ")
            || seen.screen.contains("help: brigade kitchen resume "),
        "{}",
        seen.screen
    );
}
