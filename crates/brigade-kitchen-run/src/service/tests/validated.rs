//! What `validate`, `workers` and `init` find in PRDs, configurations and policies.

use brigade_core::ErrorCode;
use brigade_core::json::to_json;
use brigade_kitchen::Tier;
use brigade_kitchen::adapter::Permissions;
use brigade_kitchen::approval::{PrdOrigin, TierRow, ValidationReport};

use super::*;
use crate::{FailOn, InitRequest, PrdSearch, WriteOutcome};

const CONFIG: &str = ".brigade/kitchen.toml";
const POLICY: &str = ".brigade/tools/policy.toml";
const PRD: &str = "brigade/tasks/prd-a.json";

/// A workspace whose tiers are those of the defaults.
struct Bench(World);

impl Bench {
    fn new(prd: &str) -> Bench {
        let bench = Bench(World::new(prd, "", ""));
        bench.remove(CONFIG);
        bench
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.folder.join("work").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    fn validated(&self) -> ValidationReport {
        self.0.kitchen().validate(&PrdSearch::At(self.0.prd()), FailOn::Errors).unwrap()
    }

    fn line(&self) -> TierRow {
        let tiers = self.0.kitchen().workers().unwrap().tiers;
        tiers.into_iter().find(|row| row.tier == Tier::Line).unwrap()
    }
}

fn text<T: serde::Serialize>(report: &T) -> String {
    to_json(report).unwrap().to_compact()
}

fn prd(verification: &str) -> String {
    format!(
        r#"{{"featureName": "X", "tasks": [{{"id": "a", "title": "t", "verification": [{verification}]}}]}}"#
    )
}

#[test]
fn a_faulty_prd_has_no_fingerprint_and_quotes_no_command() {
    let bench = Bench::new(&prd("\"sudo hunter2-EXAMPLE\", \"\""));
    let report = bench.validated();
    let codes: Vec<&str> = report.errors.iter().map(|fault| fault.code.as_str()).collect();
    assert_eq!(codes, ["dangerous_command", "empty_command"]);
    assert!(!report.valid && report.fingerprint.is_none() && !text(&report.errors).contains("hunter2"));
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let report = Bench::new(&prd(&format!("\"test -n {secret}\""))).validated();
    assert_eq!(report.errors[0].code.as_str(), "dangerous_command");
    assert!(report.errors[0].message.contains("a secret") && !text(&report).contains("ghp_"), "{report:?}");
}

#[test]
fn warnings_can_be_turned_off() {
    let patterns = r#"{"featureName": "X", "tasks": [{"id": "a", "title": "Check that users can log in",
        "acceptanceCriteria": ["it works well"], "verification": [{"type": "pattern", "cmd": "grep -q x a.txt"}]}]}"#;
    let units = tasks(&[("a", "npm test", &[]), ("b", "npm test", &[])]);
    for (setting, code, prd) in [
        ("criteria_lint_enabled = false", "vague_criterion", patterns),
        ("verification_warn_grep_only = false", "pattern_only", patterns),
        ("e2e_detection_enabled = false", "no_e2e", &*units),
    ] {
        let bench = Bench::new(prd);
        let codes = || bench.validated().warnings.iter().map(|fault| fault.code.as_str()).collect::<Vec<_>>();
        let all = codes();
        assert!(all.contains(&code), "{all:?}");
        bench.write(CONFIG, setting);
        assert_eq!(codes(), all.into_iter().filter(|own| *own != code).collect::<Vec<_>>(), "{setting}");
    }
}

#[test]
fn an_unattended_service_needs_more_than_patterns() {
    let bench = Bench::new(&prd(r#"{"type": "pattern", "cmd": "grep -q x a.txt"}"#));
    assert!(bench.validated().valid);
    bench.write(CONFIG, "walkaway_mode = true\n");
    let report = bench.validated();
    assert_eq!((report.valid, report.errors[0].code.as_str()), (false, "walkaway_pattern_only"));
}

#[test]
fn the_prd_that_is_meant_is_found() {
    let bench = Bench::new("");
    bench.remove(PRD);
    let prd = |passes: bool| prd("").replace("\"title\"", &format!("\"passes\": {passes}, \"title\""));
    let find = || {
        bench
            .0
            .kitchen()
            .validate(&PrdSearch::Any, FailOn::Errors)
            .map(|report| (report.prd_path, report.taken))
    };
    let found = |path: &str, taken| (path.to_owned(), taken);
    assert_eq!(find().unwrap_err().code(), ErrorCode::PrdMissing);
    bench.write("prd-here.json", &prd(false));
    assert_eq!(find().unwrap(), found("prd-here.json", PrdOrigin::Newest));
    // Finished PRDs and state files are not selected.
    bench.write("brigade/tasks/prd-done.json", &prd(true));
    bench.write("brigade/tasks/prd-done.state.json", "{}");
    assert_eq!(find().unwrap(), found("prd-here.json", PrdOrigin::Newest));
    // The state file of the shell program names the running task.
    bench.write("tasks/prd-later.json", &prd(false));
    bench.write("tasks/prd-later.state.json", "{\"currentTask\": \"a\"}");
    assert_eq!(find().unwrap(), found("tasks/prd-later.json", PrdOrigin::Interrupted));
    // A damaged state file is ignored.
    bench.write("tasks/prd-later.state.json", "{\"currentTask\": ");
    bench.remove("tasks/prd-later.json");
    assert_eq!(find().unwrap(), found("prd-here.json", PrdOrigin::Newest));
    let latest = bench.path("brigade/tasks/latest.json");
    std::os::unix::fs::symlink("prd-done.json", &latest).unwrap();
    assert_eq!(find().unwrap(), found("brigade/tasks/prd-done.json", PrdOrigin::Latest));
    // A broken link, or a link out of the workspace or to an invalid PRD, is skipped.
    bench.write("brigade/tasks/broken.json", "{}");
    for broken in ["gone.json", "/etc/passwd", "broken.json"] {
        fs::remove_file(&latest).unwrap();
        std::os::unix::fs::symlink(broken, &latest).unwrap();
        assert_eq!(find().unwrap(), found("prd-here.json", PrdOrigin::Newest), "{broken}");
    }
}

#[test]
fn a_path_that_cannot_be_a_prd_is_refused() {
    let bench = Bench::new(&prd(""));
    bench.write("my prd.json", &prd(""));
    bench.write("prd-dir.json/x", "");
    let refused = |path: &str| {
        let kitchen = bench.0.kitchen();
        let search = kitchen.search(Some(Path::new(path)), Some(&bench.path("")))?;
        kitchen.validate(&search, FailOn::Errors)
    };
    let code = |path: &str| refused(path).unwrap_err().code();
    assert_eq!(code("my prd.json"), ErrorCode::PrdInvalid);
    assert_eq!(code("/etc/passwd"), ErrorCode::PathOutside);
    assert_eq!(code("prd-dir.json"), ErrorCode::NotAFile);
    let missing = refused("brigade/tasks/prd-b.json").unwrap_err();
    assert_eq!(missing.code(), ErrorCode::PrdMissing);
    let hints: Vec<String> = missing.hints().iter().map(|hint| format!("{hint:?}")).collect();
    assert!(hints.join(" ").contains("did you mean `brigade/tasks/prd-a.json`?"), "{hints:?}");
}

#[test]
fn tasks_with_odd_names_have_routes_and_waves() {
    let bench = Bench::new(
        r#"{"featureName": "X", "tasks": [{"id": "--help", "title": "日本語 \u202e", "complexity": "senior"},
            {"id": "...", "title": "t", "dependsOn": ["--help"]}]}"#,
    );
    let report = bench.validated();
    let waves: Vec<Vec<&str>> = report.waves.iter().map(|wave| ids(wave)).collect();
    assert_eq!((report.valid, waves), (true, vec![vec!["--help"], vec!["..."]]));
    assert_eq!((report.tasks[0].tier, report.tasks[1].id.as_str()), (Tier::Sous, "..."));
}

#[test]
fn a_configuration_is_never_executed() {
    let bench = Bench::new(&prd(""));
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
    bench.write("brigade.config", &lines.join("\n"));
    let report = bench.validated();
    assert_eq!((report.fingerprint, report.refusals.len()), (None, 4), "{report:?}");
    let issues = text(&report.config_issues);
    for line in 1..=lines.len() {
        assert!(issues.contains(&format!("brigade.config:{line}:")), "line {line}: {issues}");
    }
    assert!(issues.contains("did you mean `QUIET_WORKERS`"), "{issues}");
    assert!(!bench.path("owned").exists());
    // A directory in place of a file is an issue, not a crash.
    bench.remove("brigade.config");
    bench.write(&format!("{CONFIG}/x"), "");
    let report = bench.validated();
    assert!(text(&report.config_issues).contains("kitchen.toml") && report.fingerprint.is_none());
}

#[test]
fn the_policy_says_which_workers_and_whether_a_shell() {
    let bench = Bench::new(&prd("\"a | b\""));
    for (policy, refusals) in [
        ("", 0),
        ("[kitchen]\nworkers = ['other']\n", 3),
        ("[kitchen]\nworkers = ['claude']\n", 0),
        ("[kitchen]\nshell = 'never'\n", 1),
        ("[kitchen]\nshel = 'never'\n", 1),
    ] {
        bench.write(POLICY, policy);
        let report = bench.validated();
        assert_eq!(
            (report.refusals.len(), report.fingerprint.is_none()),
            (refusals, refusals != 0),
            "{policy}"
        );
    }
}

#[test]
fn permissions_are_narrow_unless_the_policy_lets_them_be_skipped() {
    let bench = Bench::new(&prd(""));
    for (policy, permissions, flag) in [
        ("", Permissions::Narrow, "acceptEdits"),
        ("[kitchen]\nskip_permissions = true\n", Permissions::Skipped, "--dangerously-skip-permissions"),
    ] {
        bench.write(POLICY, policy);
        let line = bench.line();
        assert_eq!(line.permissions, Some(permissions));
        assert!(line.argv.unwrap().iter().any(|word| word == flag), "{policy}");
    }
}

#[test]
fn a_refusal_names_the_flag_that_skips_permissions() {
    let bench = Bench::new(&prd(""));
    let set = |command: &str| bench.write(CONFIG, &format!("[tier.line]\ncommand = {command:?}\n"));
    for (command, flag) in [
        ("claude --permission-mode bypassPermissions", "--permission-mode bypassPermissions"),
        ("codex -s danger-full-access", "-s danger-full-access"),
        ("codex --yolo", "--yolo"),
        ("gemini -y", "-y"),
        ("cursor-agent -f", "-f"),
    ] {
        set(command);
        let refusals = text(&bench.validated().refusals);
        assert!(refusals.contains(&format!("the command has `{flag}`")), "{command}: {refusals}");
        assert!(refusals.contains("kitchen.toml:2:"), "{refusals}");
    }
    // Flags of the command are neither reported as narrow nor replaced.
    set("claude --permission-mode plan");
    assert_eq!(bench.line().permissions, Some(Permissions::OwnChoice));
}

#[test]
fn opencode_is_one_key() {
    let bench = Bench::new(&prd(""));
    let server = "opencode_server = \"http://localhost:4096\"\n";
    bench.write(CONFIG, &format!("use_opencode = true\nopencode_model = \"a/b\"\n{server}"));
    let line = bench.line();
    assert_eq!((line.adapter.as_deref(), &*line.command), (Some("opencode"), "opencode --model a/b"));
}

const SHELL_CONFIG: &str = r#"# a comment
export MAX_PARALLEL=5
LINE_CMD="my-agent --model 'a b'"   # trailing
QUIET_WORKERS='true'
TEST_CMD=npm\ test
MODULES="a b"
ESCALATION_AFTER=4
"#;

const INIT: InitRequest =
    InitRequest { import: false, full: false, force: false, keep_ignore: false, skills: false };

#[test]
fn a_configuration_is_translated_and_means_the_same() {
    let bench = Bench::new(&prd(""));
    bench.write("brigade/brigade.config", SHELL_CONFIG);
    let kitchen = bench.0.kitchen();
    let before = kitchen.workers().unwrap();
    let report = kitchen.init(InitRequest { import: true, ..INIT }).unwrap();
    assert_eq!((report.imported.as_deref(), report.imported_keys), (Some("brigade/brigade.config"), 5));
    assert!(text(&report.issues).contains("MODULES"), "{report:?}");
    let toml = fs::read_to_string(bench.path(CONFIG)).unwrap();
    for line in
        ["max_parallel = 5", "quiet_workers = true", "test_cmd = \"npm test\"", "escalation_after = 4"]
    {
        assert!(toml.lines().any(|own| own == line), "{line}\n{toml}");
    }
    bench.remove("brigade/brigade.config");
    let after = kitchen.workers().unwrap();
    assert_eq!((after.fingerprint, after.tiers), (before.fingerprint, before.tiers));
}

#[test]
fn an_existing_configuration_is_replaced_only_by_force() {
    let bench = Bench::new(&prd(""));
    let kitchen = bench.0.kitchen();
    assert_eq!(kitchen.init(INIT).unwrap().config, WriteOutcome::Added);
    let code = |request: InitRequest| kitchen.init(request).unwrap_err().code();
    assert_eq!(code(INIT), ErrorCode::FileExists);
    assert_eq!(code(InitRequest { force: true, import: true, ..INIT }), ErrorCode::FileMissing);
    kitchen.init(InitRequest { force: true, full: true, ..INIT }).unwrap();
    assert!(300 < fs::read_to_string(bench.path(CONFIG)).unwrap().lines().count());
    let ignored = fs::read_to_string(bench.path(".gitignore")).unwrap();
    assert_eq!(ignored.matches("/.brigade/kitchen/").count(), 1, "{ignored}");
}
