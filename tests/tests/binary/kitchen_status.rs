//! The status of one task.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]

use serde_json::json;

use crate::kitchen_common::{Crew, done, task};

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
