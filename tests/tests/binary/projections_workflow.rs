//! Projections: plan, apply, prune, sync, parity, defaults and harnesses.

#![allow(clippy::disallowed_methods, reason = "tests set up files and links themselves")]

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::thread;

use brigade_testkit::{Brigade, Run, TempWorkspace};
use serde_json::Value;

const CATALOG: &str = r#"
[[tool]]
id = "greet"
name = "Greet"
family = "slash-command"
source_path = "tools/greet.md"
supported_harnesses = ["claude", "codex"]
projections = { claude = ".claude/commands/greet.md", codex = ".codex/skills/greet/SKILL.md" }
"#;

fn sample() -> TempWorkspace {
    let workspace = TempWorkspace::empty();
    workspace.write(".brigade/tools.toml", CATALOG);
    workspace.write("tools/greet.md", "Say hello.\n");
    workspace
}

fn tools(workspace: &TempWorkspace, args: &[&str]) -> Run {
    Brigade::new(workspace).run(["tools"].iter().chain(args))
}

/// Runs a command with `--json`. Checks its exit code and that the keys of v0.30 exist.
#[track_caller]
fn json(workspace: &TempWorkspace, args: &[&str], code: i32, keys: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    let run = tools(workspace, &args);
    run.assert_code(code);
    let document = run.json();
    for key in keys.iter().chain(&["schema"]) {
        assert!(document.get(key).is_some(), "no key `{key}`: {document:#}");
    }
    document
}

const PLAN: &[&str] =
    &["target", "config_path", "valid", "errors", "tool_id", "tools", "projections", "counts"];

const APPLY: &[&str] = &[
    "target",
    "config_path",
    "valid",
    "errors",
    "tool_id",
    "all",
    "dry_run",
    "force",
    "applied",
    "skipped",
    "conflicts",
    "applied_count",
    "skipped_count",
    "conflict_count",
];

/// Lists the files outside of the state.
fn projected(workspace: &TempWorkspace) -> BTreeMap<String, Vec<u8>> {
    let mut files = workspace.files("");
    files.retain(|path, _| !path.starts_with(".brigade/"));
    files
}

#[test]
fn from_missing_to_current_and_back() {
    let workspace = sample();
    let plan = json(&workspace, &["plan"], 0, PLAN);
    assert_eq!(plan["counts"]["missing"], 2);
    for key in ["source_fingerprint", "expected_fingerprint", "expected_projection_fingerprint"] {
        assert_eq!(plan["projections"][0][key].as_str().map(str::len), Some(64), "{key}");
    }
    let dry = json(&workspace, &["apply", "--all", "--dry-run"], 0, APPLY);
    assert_eq!((&dry["applied_count"], &dry["applied"][0]["dry_run"]), (&2.into(), &true.into()));
    assert!(dry["applied"][0]["diff"].as_str().unwrap().contains("+Say hello."));
    assert_eq!(projected(&workspace).len(), 1);

    assert_eq!(json(&workspace, &["apply", "greet"], 0, APPLY)["applied_count"], 2);
    let files = projected(&workspace);
    assert_eq!(json(&workspace, &["apply", "--all"], 0, APPLY)["skipped_count"], 2);
    assert_eq!(projected(&workspace), files);

    workspace.replace("tools/greet.md", "hello", "good morning");
    assert_eq!(json(&workspace, &["plan", "greet"], 0, PLAN)["counts"]["stale"], 2);
    let edited = workspace.read_text(".claude/commands/greet.md") + "mine\n";
    workspace.write(".claude/commands/greet.md", &edited);
    let report = json(&workspace, &["apply", "--all"], 1, APPLY);
    assert_eq!((&report["applied_count"], &report["conflict_count"]), (&1.into(), &1.into()));
    assert_eq!(workspace.read_text(".claude/commands/greet.md"), edited);
    json(&workspace, &["apply", "--all", "--force"], 0, APPLY);
    assert!(workspace.read_text(".claude/commands/greet.md").ends_with("\n---\nSay good morning.\n"));
}

#[test]
fn the_step_for_a_conflict_shows_what_would_be_lost() {
    let workspace = sample();
    workspace.write(".claude/commands/greet.md", "mine\n");
    let said = |args: &[&str], code| {
        let run = tools(&workspace, args);
        run.assert_code(code);
        format!("{}{}", run.stdout_text(), run.stderr_text())
    };
    assert!(said(&["plan", "greet"], 0).contains("brigade tools apply --dry-run --force greet"));
    let shown = said(&["apply", "--dry-run", "--force", "greet"], 0);
    assert!(shown.contains("-mine") && shown.contains("brigade tools apply --force greet"), "{shown}");
    // Everything else was written, and the reason for exit code 1 is reported.
    let applied = said(&["apply", "greet"], 1);
    assert!(applied.contains("exit code 1: 1 file was not written"), "{applied}");
    assert!(workspace.exists(".codex/skills/greet/SKILL.md"));
}

#[test]
fn wrong_requests_are_distinguished() {
    let workspace = sample();
    tools(&workspace, &["apply"]).assert_code(2);
    tools(&workspace, &["apply", "greet", "--all"]).assert_code(2);
    let plan = json(&workspace, &["plan", "gret"], 1, PLAN);
    assert_eq!((&plan["valid"], &plan["projections"]), (&false.into(), &Value::Array(Vec::new())));
    assert!(plan["errors"][0].as_str().unwrap().contains("did you mean `greet`?"));
    json(&workspace, &["apply", "gret"], 1, APPLY);
    tools(&workspace, &["sync", "apply", "--write", "--force"]).assert_code(2);
    let run = tools(&workspace, &["apply", "gret"]);
    run.assert_code(1);
    assert!(format!("{}{}", run.stdout_text(), run.stderr_text()).contains("gret"), "{run}");
}

#[test]
fn projections_never_write_outside_git_or_state() {
    let workspace = sample();
    let paths = [".git/hooks/post-commit", ".brigade/tools.toml", "../escaped.md", "out/greet.md"];
    symlink("/tmp", workspace.join("out")).unwrap();
    workspace.git_init();
    let hooks = workspace.files(".git");
    for path in paths {
        workspace.write(".brigade/tools.toml", CATALOG.replace(".claude/commands/greet.md", path));
        let report = json(&workspace, &["apply", "--all", "--force"], 1, APPLY);
        assert_eq!(report["skipped"][0]["status"], "invalid", "{path}");
    }
    // A refused projection is reported, with the exit code.
    let text = tools(&workspace, &["apply", "greet"]);
    text.assert_code(1);
    assert!(text.stderr_text().contains("not written: out/greet.md"), "{text}");
    assert_eq!(workspace.files(".git"), hooks);
    assert!(!workspace.join("../escaped.md").exists() && !workspace.join("out/greet.md").exists());
}

#[test]
fn orphans_are_shown_and_pruned() {
    let workspace = sample();
    json(&workspace, &["apply", "--all"], 0, APPLY);
    workspace.replace(".brigade/tools.toml", r#"["claude", "codex"]"#, r#"["codex"]"#);
    workspace.replace(".brigade/tools.toml", r#"claude = ".claude/commands/greet.md", "#, "");
    let plan = json(&workspace, &["plan"], 0, PLAN);
    assert_eq!(plan["orphans"][0]["status"], "orphaned", "{plan:#}");
    assert_eq!(plan["orphans"][0]["reason"], "harness-dropped");
    let shown = tools(&workspace, &["plan"]);
    assert!(shown.stdout_text().contains(".claude/commands/greet.md"), "{shown}");
    assert!(shown.stderr_text().contains("help: brigade tools apply --all --prune --dry-run"), "{shown}");
    assert!(shown.stdout_text().contains("codex    current  skip    adapted  .codex/skills"), "{shown}");
    let dry = json(&workspace, &["apply", "--all", "--prune", "--dry-run"], 0, APPLY);
    assert_eq!(dry["pruned_count"], 1);
    assert!(workspace.exists(".claude/commands/greet.md"));
    assert_eq!(json(&workspace, &["apply", "--all", "--prune"], 0, APPLY)["pruned_count"], 1);
    assert!(
        !workspace.exists(".claude/commands/greet.md") && workspace.exists(".codex/skills/greet/SKILL.md")
    );
}

#[test]
fn every_family_is_written_for_every_harness() {
    let workspace = sample();
    let families = ["skill", "slash-command", "superpower", "mcp", "openapi", "graphql", "script", "custom"];
    let mut catalog = String::new();
    let list = json(&workspace, &["harness", "list"], 0, &[]);
    let harnesses: Vec<&str> = list["harnesses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|harness| harness["name"].as_str().unwrap())
        .collect();
    for wanted in [
        "claude",
        "codex",
        "opencode",
        "antigravity",
        "pi",
        "cursor",
        "hermes",
        "openclaw",
        "gemini",
        "copilot",
        "qwen",
        "goose",
        "continue",
        "amp",
        "crush",
        "mcp",
        "scripts",
    ] {
        assert!(harnesses.contains(&wanted), "{wanted}");
    }
    for harness in &harnesses {
        let shown = json(&workspace, &["harness", "show", harness], 0, &[]);
        for family in families {
            let places = shown["places"].as_array().unwrap();
            let holds = |place: &&Value| place["families"].as_array().unwrap().contains(&family.into());
            let place = places.iter().find(holds).unwrap_or_else(|| panic!("{harness} {family}"));
            let id = format!("{harness}-{family}");
            let path = place["path"].as_str().unwrap().replace("{id}", &id);
            catalog.push_str(&format!(
                "[[tool]]\nid = {id:?}\nname = {id:?}\nfamily = {family:?}\nsource_path = \"tools/greet.md\"\n\
                 supported_harnesses = [{harness:?}]\nprojections = {{ {harness} = {path:?} }}\n\n"
            ));
        }
    }
    workspace.write(".brigade/tools.toml", catalog);
    let count = harnesses.len() * families.len();
    let applied = json(&workspace, &["apply", "--all"], 0, APPLY);
    assert_eq!(applied["applied_count"], count);
    let plan = json(&workspace, &["plan"], 0, PLAN);
    assert_eq!((&plan["counts"]["current"], &plan["orphan_count"]), (&count.into(), &0.into()));
    for item in plan["projections"].as_array().unwrap() {
        assert!(
            matches!(item["lossiness"].as_str(), Some("native" | "adapted" | "reference-only")),
            "{item:#}"
        );
        let text = std::fs::read_to_string(item["projection_path"].as_str().unwrap()).unwrap();
        let line = text.lines().position(|line| line.contains("brigade-tool-projection: {")).unwrap();
        assert_eq!(line, usize::from(text.starts_with("---\n")), "{item:#}\n{text}");
    }
    let files = projected(&workspace);
    assert_eq!(json(&workspace, &["apply", "--all"], 0, APPLY)["applied_count"], 0);
    assert_eq!(projected(&workspace), files);
}

#[test]
fn programs_that_apply_at_once_write_each_file_once() {
    let workspace = sample();
    let applied: u64 = thread::scope(|scope| {
        let runs: Vec<_> =
            (0..6).map(|_| scope.spawn(|| json(&workspace, &["apply", "--all"], 0, APPLY))).collect();
        let count = |report: Value| report["applied_count"].as_u64().unwrap();
        runs.into_iter().map(|run| count(run.join().unwrap())).sum()
    });
    assert_eq!(applied, 2);
}

#[test]
fn sync_is_a_dry_run_unless_confirmed_twice() {
    let workspace = sample();
    let plan = json(&workspace, &["sync", "plan"], 0, PLAN);
    assert_eq!(
        [&plan["mode"], &plan["dry_run_default"], &plan["delete_supported"], &plan["add_only"]],
        [&Value::from("sync-plan"), &true.into(), &false.into(), &true.into()]
    );
    for flags in [&["--all"][..], &["--all", "--write"], &["--all", "--force"]] {
        let args: Vec<&str> = ["sync", "apply"].iter().chain(flags).copied().collect();
        assert_eq!(json(&workspace, &args, 0, APPLY)["dry_run"], true);
    }
    assert_eq!(projected(&workspace).len(), 1);
    json(&workspace, &["sync", "apply", "--all", "--write", "--force"], 0, APPLY);
    assert_eq!(projected(&workspace).len(), 3);
}

#[test]
fn a_closeout_quiets_issues_in_doctor_too() {
    let workspace = sample();
    let keys = [
        "target",
        "closeouts_path",
        "latest_closeout",
        "projection_issue_count",
        "quieted_issue_count",
        "changed_issue_count",
        "issues",
        "quieted_issues",
        "changed_issues",
    ];
    assert_eq!(json(&workspace, &["parity", "status"], 0, &keys)["projection_issue_count"], 2);
    let closeout = json(
        &workspace,
        &["parity", "closeout", "--reason", "later", "--defer"],
        0,
        &[
            "closeout_id",
            "created_at",
            "status",
            "reason",
            "issue_count",
            "source_fingerprints",
            "safe_summary",
        ],
    );
    assert_eq!((&closeout["status"], &closeout["issue_count"]), (&"deferred".into(), &2.into()));
    let status = json(&workspace, &["parity", "status"], 0, &keys);
    assert_eq!((&status["projection_issue_count"], &status["quieted_issue_count"]), (&0.into(), &2.into()));
    assert_eq!(status["latest_closeout"]["closeout_id"], closeout["closeout_id"]);
    let doctor = json(&workspace, &["doctor"], 0, &["parity"]);
    assert_eq!(doctor["parity"]["quieted_issue_count"], 2, "{:#}", doctor["parity"]);
}
