//! Issues of a kitchen in `tools doctor`.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails when it cannot continue")]

use serde_json::{Value, json};

use crate::kitchen_common::{Crew, JOURNAL, PRD, done, task};

/// Returns the issues of the kitchen: type and next command.
#[track_caller]
fn issues(crew: &Crew) -> Vec<(String, String)> {
    let report = crew.site.brigade.run(["tools", "doctor", "--only", "kitchen", "--json"]).json();
    let rows = report["issues"].as_array().unwrap_or_else(|| panic!("{report:#}"));
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_else(|| panic!("{row:#}")).to_owned();
    rows.iter().map(|row| (text(row, "issue_type"), text(row, "fix"))).collect()
}

#[track_caller]
fn check(crew: &Crew, expect: &[(&str, &str)]) {
    let found = issues(crew);
    let found: Vec<(&str, &str)> = found.iter().map(|(kind, next)| (kind.as_str(), next.as_str())).collect();
    assert_eq!(found, expect);
}

#[test]
fn sound_or_missing_kitchen_has_no_issues() {
    let crew = Crew::new(&[task("a", &[])], "", done());
    check(&crew, &[]);
    crew.serve(0);
    check(&crew, &[]);
    let site = brigade_tests::Site::empty();
    let report = site.brigade.run(["tools", "doctor", "--only", "kitchen", "--json"]).json();
    assert_eq!(report["issues"], json!([]), "{report:#}");
}

#[test]
fn a_kitchen_needs_no_catalog() {
    let site = brigade_tests::Site::empty();
    site.workspace.write(".brigade/kitchen.toml", "max_parallel = 2\n");
    let doctor = |words: &[&str]| site.brigade.run([&["tools", "doctor"], words].concat());
    doctor(&["--only", "kitchen"]).assert_code(0);
    doctor(&["--only", "kitchen_config,kitchen_refused"]).assert_code(0);
    let report = doctor(&["--only", "kitchen", "--json"]).json();
    assert_eq!((&report["valid"], &report["errors"]), (&json!(true), &json!([])));
    doctor(&[]).assert_code(0);
    // Without a kitchen, the missing catalog is an error.
    site.workspace.remove(".brigade/kitchen.toml");
    doctor(&[]).assert_code(1);
}

#[test]
fn file_faults_are_reported_with_a_useful_command() {
    let crew = Crew::new(&[task("a", &[]), task("b", &["a"])], "max_parallel = 1000", done());
    crew.site.document(["service", PRD, "--only", "a"]).expect(1);
    crew.approve();
    crew.site.document(["service", PRD, "--only", "a"]).expect(0);
    check(&crew, &[("kitchen_config_warning", "${EDITOR:-vi} +2 .brigade/kitchen.toml")]);
    // The approved PRD differs from the current one.
    crew.site.workspace.write(PRD, crew.site.workspace.read_text(PRD).replace("Write b", "Write all of b"));
    let approve = format!("brigade kitchen approve {PRD}");
    crew.configure("");
    check(&crew, &[("kitchen_approval_stale", &approve)]);
    // A task is marked as done by hand, and a line of the journal is removed.
    let prd = crew.site.workspace.read_text(PRD).replace("\"passes\": false", "\"passes\": true");
    crew.site.workspace.write(PRD, prd.replace("Write all of b", "Write b"));
    let journal = crew.site.workspace.read_text(JOURNAL);
    let lines: Vec<&str> = journal.lines().collect();
    let less = [&lines[..2], &lines[3..]].concat().join("\n") + "\nno record\n";
    crew.site.workspace.write(JOURNAL, less);
    let read = format!("cat {JOURNAL}");
    check(
        &crew,
        &[("kitchen_marked", &approve), ("kitchen_journal_damaged", &read), ("kitchen_journal_lost", &read)],
    );
    // The next writer sets the line aside. The missing record stays reported.
    crew.approve();
    let aside = ".brigade/kitchen/prd-crew/journal.quarantine-1.jsonl";
    let look = format!("cat {aside}");
    check(&crew, &[("kitchen_journal_lost", &read), ("kitchen_lines_set_aside", &look)]);
    let report = crew.site.brigade.run(["tools", "doctor", "--json"]).json();
    let rows = report["issues"].as_array().unwrap();
    let is_of_aside = |row: &&Value| row.to_string().contains(aside);
    assert_eq!(rows.iter().filter(is_of_aside).count(), 1, "{report:#}");
    crew.site.workspace.remove(aside);
    check(&crew, &[("kitchen_journal_lost", &read)]);
}

#[test]
fn doctor_names_kitchen_damage() {
    let crew = Crew::new(&[task("a", &[])], "max_iterations = 1", json!([{"print": "nothing"}]));
    crew.serve(30);
    // The decision is pending, so its task is not a separate issue.
    check(&crew, &[]);
    let id = crew.site.document(["kitchen", "decisions"]).expect(0)["decisions"][0]["id"].clone();
    crew.site.document(["kitchen", "answer", id.as_str().unwrap(), "abort"]).expect(0);
    let retry = format!("brigade kitchen resume {PRD} retry --all");
    check(&crew, &[("kitchen_task_failed", &retry)]);
    // The journal after a service was killed.
    let journal = crew.site.workspace.read_text(JOURNAL);
    let lines: Vec<&str> = journal.lines().collect();
    let ended = lines.iter().position(|line| line.contains("\"service_ended\"")).unwrap();
    crew.site.workspace.write(JOURNAL, lines[..ended].join("\n") + "\n");
    let receipt = crew
        .site
        .workspace
        .files(".brigade/kitchen/runs")
        .into_iter()
        .find(|(path, _)| path.ends_with(".json"))
        .unwrap();
    crew.site.workspace.write(&receipt.0, String::from_utf8(receipt.1).unwrap() + " ");
    let resume = format!("brigade kitchen resume {PRD}");
    check(
        &crew,
        &[("kitchen_interrupted", &resume), ("kitchen_receipts_broken", "brigade kitchen receipts verify")],
    );
    let brief = crew.site.document(["work", "brief"]).expect(0);
    assert_eq!(brief["top_kitchen_issue"]["issue_type"], "kitchen_receipts_broken", "{brief:#}");
}

#[test]
fn programs_and_prds_that_cannot_be_used_are_named() {
    let crew = Crew::new(&[task("a", &[])], "", done());
    crew.site.workspace.write(
        ".brigade/kitchen.toml",
        "[tier.line]\ncommand = \"no-such-program-of-ours x\"\n[tier.sous]\ncommand = \"sh a\"\n\
         [tier.executive]\ncommand = \"sh a\"\n",
    );
    crew.site.workspace.write("brigade/tasks/prd-broken.json", "{\"featureName\": \"x\"");
    check(
        &crew,
        &[
            ("kitchen_worker_missing", "brigade kitchen workers"),
            ("kitchen_prd_invalid", "brigade kitchen validate brigade/tasks/prd-broken.json"),
        ],
    );
    crew.site.workspace.write(".brigade/kitchen.toml", "[tier.line]\ncommand = 5\n");
    let found = issues(&crew);
    assert_eq!(found[0].0, "kitchen_config", "{found:?}");
}
