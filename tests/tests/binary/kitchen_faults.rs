//! Problems around a kitchen, and their messages.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails when it cannot continue")]

use serde_json::json;

use crate::kitchen_common::{Crew, PRD, done, task};

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
