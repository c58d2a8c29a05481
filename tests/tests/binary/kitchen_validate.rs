//! `brigade kitchen validate` through the binary.

use brigade_tests::Site;
use serde_json::{Value, json};

const PRD: &str = "brigade/tasks/prd-x.json";

fn with_tasks(tasks: &str) -> String {
    format!("{{\"featureName\": \"X\", \"tasks\": [\n{tasks}\n]}}")
}

#[test]
fn faults_have_places_codes_and_exit_codes() {
    let site = Site::empty();
    let good = r#""title": "Fix x", "acceptanceCriteria": ["x answers 3"], "complexity": "junior""#;
    let with = |text: &str| with_tasks(&format!("{{\"id\": \"a\", {text}, {good}}}"));
    for (list, code, prd, exit) in [
        ("errors", "unknown_key", with("\"dependOn\": []"), [1, 1]),
        ("warnings", "shell_command", with("\"verification\": [\"npm test | tail\"]"), [0, 1]),
    ] {
        site.workspace.write(PRD, &prd);
        for (flags, exit) in [&[][..], &["--strict"]].into_iter().zip(exit) {
            let words = [&["kitchen", "validate", PRD], flags].concat();
            let report = site.document(words.clone()).expect(exit);
            let rows = report[list].as_array().into_iter().flatten();
            let row = rows.into_iter().find(|row| row["code"] == code).unwrap_or(&Value::Null);
            assert_eq!((&row["code"], &row["file"], &row["line"]), (&json!(code), &json!(PRD), &json!(2)));
            assert_eq!(report["fingerprint"] == Value::Null, list == "errors", "{report:#}");
            let text = site.brigade.run(words);
            assert!(text.assert_code(exit).stderr_text().contains(&format!("[{code}]")), "{text}");
        }
    }
}

#[test]
fn the_prd_that_is_taken_is_said() {
    let site = Site::empty();
    assert_eq!(site.document(["kitchen", "validate"]).expect(1)["code"], "prd_missing");
    site.workspace.write(PRD, with_tasks("{\"id\": \"a\", \"title\": \"t\"}"));
    let report = site.document(["validate"]).expect(0);
    assert_eq!((&report["prd_path"], &report["taken"]), (&json!(PRD), &json!("newest")));
    let said = site.brigade.run(["validate"]);
    assert!(said.stderr_text().contains(&format!("took {PRD}")), "{said}");
    let missing = site.brigade.run(["validate", "brigade/tasks/prd-y.json"]);
    assert!(missing.assert_code(1).stderr_text().contains(&format!("did you mean `{PRD}`")), "{missing}");
}

#[test]
fn an_imported_configuration_is_that_of_the_shell_program() {
    let site = Site::empty();
    site.workspace.write("brigade/brigade.config", "export MAX_PARALLEL=5\nMODULES=\"a b\"\n");
    let report = site.document(["kitchen", "init", "--import"]).expect(0);
    assert_eq!(
        (&report["imported"], &report["imported_keys"]),
        (&json!("brigade/brigade.config"), &json!(1))
    );
    assert!(site.workspace.read_text(".brigade/kitchen.toml").contains("max_parallel = 5"));
    assert_eq!(site.document(["kitchen", "init"]).expect(2)["code"], "file_exists");
    site.document(["kitchen", "init", "--force", "--full"]).expect(0);
    assert!(300 < site.workspace.read_text(".brigade/kitchen.toml").lines().count());
}

#[test]
fn shell_flags_without_effect_are_accepted() {
    let site = Site::empty();
    site.workspace.write(PRD, with_tasks("{\"id\": \"a\", \"title\": \"t\"}"));
    for line in [
        "--dry-run validate PRD",
        "validate --sequential --walkaway --auto-continue PRD",
        "--dry-run status PRD",
        "--walkaway kitchen status PRD",
        "--dry-run summary PRD report.md",
        "--auto-continue --sequential map",
    ] {
        site.brigade.run(line.replace("PRD", PRD).split(' ')).assert_code(0);
    }
    assert!(!site.workspace.exists("report.md"), "nothing is written by a rehearsal");
    for line in ["--sequential ticket PRD a", "--auto-continue ticket PRD a", "--walkaway plan x"] {
        let refused = site.brigade.run(line.replace("PRD", PRD).split(' '));
        refused.assert_code(1);
    }
}
