//! `brigade kitchen validate`, `init` and `workers` through the binary.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests set up files and look at what the binary left")]

use std::collections::BTreeSet;
use std::time::Instant;

use brigade::kitchen::FaultCode;
use brigade_tests::Site;
use serde_json::{Value, json};

const PRD: &str = "brigade/tasks/prd-x.json";

/// Writes a PRD with these tasks, and validates it.
fn validate(prd: &str) -> Value {
    let site = Site::empty();
    site.workspace.write(PRD, prd);
    site.document(["kitchen", "validate", PRD]).json
}

fn with_tasks(tasks: &str) -> String {
    format!("{{\"featureName\": \"X\", \"tasks\": [\n{tasks}\n]}}")
}

/// A code, a PRD with this fault, and its place.
type Case = (FaultCode, String, Option<(u64, u64)>);

/// Returns one PRD for each code, with the line and column of its fault.
fn faults() -> Vec<Case> {
    use FaultCode as F;
    let good = r#""title": "Fix x", "acceptanceCriteria": ["x answers 3"], "complexity": "junior""#;
    let one = |text: &str| with_tasks(&format!("{{\"id\": \"a\", {text}}}"));
    vec![
        (F::Syntax, "{\"featureName\": \n nope}".to_owned(), Some((2, 2))),
        (F::DuplicateKey, one(&format!("{good}, \"title\": \"y\"")), Some((2, 94))),
        (F::FeatureName, "{\"featureName\": \" \", \"tasks\": []}".to_owned(), Some((1, 17))),
        (F::Tasks, "{\"featureName\": \"X\",\n \"tasks\": {}}".to_owned(), Some((2, 11))),
        (F::TaskId, with_tasks(&format!("{{\"id\": \"задача\", {good}}}")), Some((2, 8))),
        (F::Title, with_tasks("{\"id\": \"a\", \"title\": \" \"}"), Some((2, 22))),
        (
            F::DuplicateId,
            with_tasks(&format!("{{\"id\": \"a\", {good}}},\n{{\"id\": \"a\", {good}}}")),
            Some((3, 1)),
        ),
        (F::UnknownDependency, one(&format!("\"dependsOn\": [\"b\"], {good}")), Some((2, 27))),
        (F::SelfDependency, one(&format!("\"dependsOn\": [\"a\"], {good}")), Some((2, 27))),
        (
            F::Cycle,
            with_tasks(&format!(
                "{{\"id\": \"a\", \"dependsOn\": [\"c\", \"b\"], {good}}},\n{{\"id\": \"c\", {good}}},\n\
                 {{\"id\": \"b\", \"dependsOn\": [\"a\"], {good}}}"
            )),
            None,
        ),
        (F::Complexity, one("\"complexity\": \"hard\", \"title\": \"t\""), Some((2, 27))),
        (F::EmptyCommand, one(&format!("\"verification\": [\" \"], {good}")), Some((2, 30))),
        (F::UnreadableCommand, one(&format!("\"verification\": [\"npm 'test\"], {good}")), Some((2, 30))),
        (
            F::BranchName,
            format!(
                "{{\"branchName\": \"a b\", \"featureName\": \"X\", \"tasks\": [\n{{\"id\": \"a\", {good}}}]}}"
            ),
            Some((1, 16)),
        ),
        (
            F::DangerousCommand,
            one(&format!("\"verification\": [{{\"type\": \"unit\", \"cmd\": \"sudo make\"}}], {good}")),
            None,
        ),
        (
            F::WalkawayPatternOnly,
            format!(
                "{{\"featureName\": \"X\", \"walkaway\": true, \"tasks\": [\n{{\"id\": \"a\", \
                 \"verification\": [{{\"type\": \"pattern\", \"cmd\": \"grep -q x y\"}}], {good}}}]}}"
            ),
            None,
        ),
        (F::Type, one(&format!("\"dependsOn\": 5, {good}")), Some((2, 26))),
        (F::UnknownKey, one(&format!("\"dependOn\": [], {good}")), Some((2, 13))),
        (F::NoVerification, one(good), None),
        (F::NoCriteria, one("\"title\": \"t\", \"complexity\": \"junior\""), None),
        (F::NoComplexity, one("\"title\": \"t\", \"acceptanceCriteria\": [\"x\"]"), None),
        (F::Coverage, one("\"title\": \"Add a button\", \"verification\": [\"grep -q x y\"]"), None),
        (F::VagueCriterion, one("\"title\": \"t\", \"acceptanceCriteria\": [\"it works properly\"]"), None),
        (
            F::UnknownType,
            one(&format!("\"verification\": [{{\"type\": \"e2e\", \"cmd\": \"npm test\"}}], {good}")),
            None,
        ),
        (F::ShellCommand, one(&format!("\"verification\": [\"npm test | tail\"], {good}")), None),
        (F::PatternOnly, one(&format!("\"verification\": [\"grep -q x y\"], {good}")), None),
        (
            F::NoEndToEnd,
            with_tasks(&format!(
                "{{\"id\": \"a\", \"verification\": [\"npm test\"], {good}}},\n{{\"id\": \"b\", {good}}}"
            )),
            None,
        ),
    ]
}

#[test]
fn each_fault_has_place_and_exit_code() {
    let mut seen = BTreeSet::new();
    for (code, prd, place) in faults() {
        let site = Site::empty();
        site.workspace.write(PRD, &prd);
        let answer = site.document(["kitchen", "validate", PRD]);
        let list = if code.is_error() { "errors" } else { "warnings" };
        let rows = answer.json[list].as_array().unwrap();
        let row = rows.iter().find(|row| row["code"] == code.as_str());
        let row = row.unwrap_or_else(|| panic!("{code} is not in {list}: {:#}", answer.json));
        assert_eq!(row["file"], PRD, "{code}");
        if let Some((line, column)) = place {
            assert_eq!((&row["line"], &row["column"]), (&json!(line), &json!(column)), "{code}: {row}");
        }
        assert_eq!(answer.run.code(), Some(i32::from(code.is_error())), "{code}\n{}", answer.run);
        if !code.is_error() {
            site.document(["kitchen", "validate", PRD, "--strict"]).expect(1);
        }
        // The text output names the code, and the line if there is one.
        let text = site.brigade.run(["validate", PRD]);
        assert!(text.stderr_text().contains(&format!("[{code}]")), "{code}\n{text}");
        seen.insert(code);
    }
    assert_eq!(seen.len(), FaultCode::ALL.len());
}

#[test]
fn all_faults_are_reported_without_commands() {
    let report = validate(&with_tasks(
        "{\"id\": \"a\", \"title\": \"\", \"dependsOn\": [\"z\"], \"complexity\": \"x\",\n\
         \"verification\": [\"sudo hunter2-EXAMPLE\", \"\"]}",
    ));
    let codes: BTreeSet<&str> =
        report["errors"].as_array().unwrap().iter().map(|row| row["code"].as_str().unwrap()).collect();
    let expect = ["title", "unknown_dependency", "complexity", "dangerous_command", "empty_command"];
    assert_eq!(codes, BTreeSet::from(expect));
    assert!(!report["errors"].to_string().contains("hunter2"));
    assert_eq!(report["fingerprint"], Value::Null);
}

#[test]
fn tasks_with_odd_names_have_routes_and_waves() {
    let report = validate(&with_tasks(
        "{\"id\": \"--help\", \"title\": \"日本語 \\u202e\", \"complexity\": \"senior\"},\n\
         {\"id\": \"...\", \"title\": \"t\", \"dependsOn\": [\"--help\"]}",
    ));
    assert_eq!(report["valid"], true, "{report:#}");
    assert_eq!(report["waves"], json!([["--help"], ["..."]]));
    assert_eq!((&report["tasks"][0]["tier"], &report["tasks"][1]["id"]), (&json!("sous"), &json!("...")));
}

#[test]
fn the_file_that_is_meant_is_found_and_said() {
    let site = Site::empty();
    let nothing = site.document(["kitchen", "validate"]);
    assert_eq!(nothing.expect(1)["code"], "prd_missing");
    let prd =
        |passes: bool| with_tasks(&format!("{{\"id\": \"a\", \"title\": \"t\", \"passes\": {passes}}}"));
    let taken = || {
        let report = site.document(["validate"]).expect(0);
        (report["prd_path"].as_str().unwrap().to_owned(), report["taken"].as_str().unwrap().to_owned())
    };
    let found = |path: &str, taken: &str| (path.to_owned(), taken.to_owned());
    site.workspace.write("prd-here.json", prd(false));
    assert_eq!(taken(), found("prd-here.json", "newest"));
    // Finished PRDs and state files are not selected.
    site.workspace.write("brigade/tasks/prd-done.json", prd(true));
    site.workspace.write("brigade/tasks/prd-done.state.json", "{}");
    assert_eq!(taken(), found("prd-here.json", "newest"));
    site.workspace.write("tasks/prd-later.json", prd(false));
    // The state file of the shell program names the running task.
    site.workspace.write("tasks/prd-later.state.json", "{\"currentTask\": \"a\"}");
    assert_eq!(taken(), found("tasks/prd-later.json", "interrupted"));
    // A damaged state file is ignored.
    site.workspace.write("tasks/prd-later.state.json", "{\"currentTask\": ");
    site.workspace.remove("tasks/prd-later.json");
    assert_eq!(taken(), found("prd-here.json", "newest"));
    std::os::unix::fs::symlink("prd-done.json", site.workspace.join("brigade/tasks/latest.json")).unwrap();
    assert_eq!(taken(), found("brigade/tasks/prd-done.json", "latest"));
    let said = site.brigade.run(["validate"]);
    assert!(said.stderr_text().contains("took brigade/tasks/prd-done.json"), "{said}");
    // A broken link, or a link out of the workspace or to an invalid PRD, is skipped.
    for broken in ["gone.json", "/etc/passwd", "broken.json"] {
        site.workspace.remove("brigade/tasks/latest.json");
        site.workspace.write("brigade/tasks/broken.json", "{}");
        std::os::unix::fs::symlink(broken, site.workspace.join("brigade/tasks/latest.json")).unwrap();
        assert_eq!(taken(), found("prd-here.json", "newest"), "{broken}");
    }
}

#[test]
fn a_path_that_cannot_be_a_prd_is_refused() {
    let site = Site::empty();
    site.workspace.write("my prd.json", with_tasks(""));
    assert_eq!(site.document(["validate", "my prd.json"]).expect(1)["code"], "prd_invalid");
    assert_eq!(site.document(["validate", "../prd.json"]).expect(1)["code"], "path_outside");
    assert_eq!(site.document(["validate", "/etc/passwd"]).expect(1)["code"], "path_outside");
    site.workspace.write("prd-a.json/x", "");
    assert_eq!(site.document(["validate", "prd-a.json"]).expect(3)["code"], "not_a_file");
    site.workspace.write("brigade/tasks/prd-near.json", with_tasks(""));
    let missing = site.brigade.run(["validate", "brigade/tasks/prd-naer.json"]);
    assert!(missing.assert_code(1).stderr_text().contains("did you mean `brigade/tasks/prd-near.json`"));
}

#[test]
fn ten_thousand_tasks_are_validated() {
    let task = |at: usize| {
        let needs: Vec<String> = [1, 7, 100]
            .iter()
            .filter(|back| **back < at)
            .map(|back| format!("\"T-{}\"", at - back))
            .collect();
        format!("{{\"id\": \"T-{at}\", \"title\": \"Fix {at}\", \"dependsOn\": [{}]}}", needs.join(","))
    };
    let prd = with_tasks(&(0..10_000).map(task).collect::<Vec<_>>().join(",\n"));
    let start = Instant::now();
    let report = validate(&prd);
    assert_eq!((report["valid"].as_bool(), report["tasks"].as_array().unwrap().len()), (Some(true), 10_000));
    // The limit is for a debug build on a busy machine. The benchmark has the real one.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

const CONFIG: &str = r#"# a comment
export MAX_PARALLEL=5
LINE_CMD="my-agent --model 'a b'"   # trailing
QUIET_WORKERS='true'
TEST_CMD=npm\ test
MODULES="a b"
ESCALATION_AFTER=4
"#;

#[test]
fn a_configuration_is_translated_and_means_the_same() {
    let site = Site::empty();
    site.workspace.write("brigade/brigade.config", CONFIG);
    let before = site.document(["kitchen", "workers"]).expect(0);
    let report = site.document(["kitchen", "init", "--import"]).expect(0);
    assert_eq!(
        (&report["imported"], &report["imported_keys"]),
        (&json!("brigade/brigade.config"), &json!(5))
    );
    assert!(report["issues"].to_string().contains("MODULES"), "{report:#}");
    let toml = site.workspace.read_text(".brigade/kitchen.toml");
    for line in
        ["max_parallel = 5", "quiet_workers = true", "test_cmd = \"npm test\"", "escalation_after = 4"]
    {
        assert!(toml.lines().any(|own| own == line), "{line}\n{toml}");
    }
    site.workspace.remove("brigade/brigade.config");
    let after = site.document(["kitchen", "workers"]).expect(0);
    assert_eq!(after["fingerprint"], before["fingerprint"]);
    assert_eq!(after["tiers"], before["tiers"]);
    // An existing file is not replaced without `--force`, and nothing is left to import.
    assert_eq!(site.document(["kitchen", "init"]).expect(2)["code"], "file_exists");
    assert_eq!(site.document(["kitchen", "init", "--force", "--import"]).expect(2)["code"], "file_missing");
    site.document(["kitchen", "init", "--force"]).expect(0);
    let lines = || site.workspace.read_text(".brigade/kitchen.toml").lines().count();
    assert!(lines() < 40);
    site.document(["kitchen", "init", "--force", "--full"]).expect(0);
    assert!(300 < lines());
    let ignored = site.workspace.read_text(".gitignore");
    assert!(ignored.contains("/.brigade/kitchen/"), "{ignored}");
    assert_eq!(ignored.matches("/.brigade/kitchen/").count(), 1);
}

#[test]
fn a_configuration_is_never_executed() {
    let site = Site::empty();
    site.workspace.write(PRD, with_tasks("{\"id\": \"a\", \"title\": \"t\"}"));
    let lines = [
        "TEST_CMD=$(touch owned)",
        "LINE_CMD=`touch owned`",
        "SOUS_CMD=\"$HOME/agent\"",
        "EXECUTIVE_CMD=(a b)",
        "f() { touch owned; }",
        "touch owned",
        "QUIET_WORKRS=true",
        "MAX_PARALLEL=1000",
    ];
    site.workspace.write("brigade.config", lines.join("\n"));
    let report = site.document(["validate", PRD]).expect(0);
    assert_eq!(report["fingerprint"], Value::Null);
    let issues = report["config_issues"].to_string();
    for line in 1..=lines.len() {
        assert!(issues.contains(&format!("brigade.config:{line}:")), "line {line}: {issues}");
    }
    assert!(issues.contains("did you mean `QUIET_WORKERS`"), "{issues}");
    assert_eq!(report["refusals"].as_array().unwrap().len(), 4, "{report:#}");
    assert!(!site.workspace.exists("owned"));
    // A directory in place of a file is an issue, not a crash.
    site.workspace.remove("brigade.config");
    site.workspace.write(".brigade/kitchen.toml/x", "");
    let report = site.document(["validate", PRD]).expect(0);
    assert!(report["config_issues"].to_string().contains("kitchen.toml"), "{report:#}");
    assert_eq!(report["fingerprint"], Value::Null);
}

#[test]
fn the_policy_says_which_workers_and_whether_a_shell() {
    let site = Site::empty();
    site.workspace.write(PRD, with_tasks("{\"id\": \"a\", \"title\": \"t\", \"verification\": [\"a | b\"]}"));
    let refusals = |policy: &str| {
        site.workspace.write(".brigade/tools/policy.toml", policy);
        let report = site.document(["validate", PRD]).expect(0);
        assert_eq!(report["fingerprint"].is_null(), !report["refusals"].as_array().unwrap().is_empty());
        report["refusals"].as_array().unwrap().len()
    };
    assert_eq!(refusals(""), 0);
    assert_eq!(refusals("[kitchen]\nworkers = ['other']\n"), 3);
    assert_eq!(refusals("[kitchen]\nworkers = ['claude']\n"), 0);
    assert_eq!(refusals("[kitchen]\nshell = 'never'\n"), 1);
    assert_eq!(refusals("[kitchen]\nshel = 'never'\n"), 1);
    // The narrow flag is used unless the policy lets a worker skip permission checks.
    let started = |policy: &str| {
        site.workspace.write(".brigade/tools/policy.toml", policy);
        site.document(["kitchen", "workers"]).expect(0)["tiers"][0].clone()
    };
    assert_eq!(started("")["permissions"], "narrow");
    assert!(started("")["argv"].to_string().contains("acceptEdits"));
    let skipping = started("[kitchen]\nskip_permissions = true\n");
    assert_eq!(skipping["permissions"], "skipped");
    assert!(skipping["argv"].to_string().contains("--dangerously-skip-permissions"));
    let shown = site.document(["tools", "policy", "show"]).expect(0);
    assert_eq!(shown["policy"]["kitchen"]["skip_permissions"], true, "{shown:#}");
}

#[test]
fn a_refusal_names_the_flag_that_skips_permissions() {
    let site = Site::empty();
    site.workspace.write(PRD, with_tasks("{\"id\": \"a\", \"title\": \"t\"}"));
    let set = |command: &str| {
        site.workspace.write(".brigade/kitchen.toml", format!("[tier.line]\ncommand = {command:?}\n"));
    };
    for (command, flag) in [
        ("claude --permission-mode bypassPermissions", "--permission-mode bypassPermissions"),
        ("codex -s danger-full-access", "-s danger-full-access"),
        ("codex --yolo", "--yolo"),
        ("gemini -y", "-y"),
        ("cursor-agent -f", "-f"),
    ] {
        set(command);
        let report = site.document(["validate", PRD]).expect(0);
        let refusals = report["refusals"].to_string();
        assert!(refusals.contains(&format!("the command has `{flag}`")), "{command}: {report:#}");
        assert!(refusals.contains("kitchen.toml:2:"), "{report:#}");
        site.document(["kitchen", "approve", PRD]).expect(1);
    }
    // Flags of the command are neither reported as narrow nor replaced.
    set("claude --permission-mode plan");
    let tiers = site.document(["kitchen", "workers"]).expect(0)["tiers"].clone();
    let line = tiers.as_array().unwrap().iter().find(|row| row["tier"] == "line").unwrap();
    assert_eq!(line["permissions"], "own_choice", "{line:#}");
    let shown = site.document(["kitchen", "approve", PRD]).json;
    assert!(!shown["notes"].to_string().contains("the line tier asks"), "{shown:#}");
}

#[test]
fn secret_in_verification_is_an_unquoted_error() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let text = format!("{{\"id\": \"a\", \"title\": \"t\", \"verification\": [\"test -n {secret}\"]}}");
    let report = validate(&with_tasks(&text));
    assert_eq!(
        (&report["valid"], &report["errors"][0]["code"]),
        (&json!(false), &json!("dangerous_command"))
    );
    assert!(report["errors"][0]["message"].as_str().unwrap().contains("a secret"), "{report:#}");
    assert!(!report.to_string().contains("ghp_"), "{report:#}");
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
