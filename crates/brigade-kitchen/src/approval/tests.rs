use brigade_policy::PolicyState;

use super::*;
use crate::adapter::TABLE;
use crate::config::{Config, ConfigFile};
use crate::prd::{CoverageKind, Lints, read};

/// All lints but that for tasks without verification, which most tests do without.
const LINTS: Lints = Lints { unverified: false, ..Lints::ALL };

const PRD: &str = r#"{"featureName":"x","branchName":"b","walkaway":false,"constraints":["c"],"tasks":[
    {"id":"a","title":"t","acceptanceCriteria":["1"],"verification":["npm test","grep x f | wc"],"passes":false,"x-y":1},
    {"id":"b","title":"u","verification":["npm test"],"dependsOn":["a"]}]}"#;

/// Returns the fingerprint, the items and the commands for these files.
fn approve_config(
    prd: &str,
    toml: &str,
    policy: &str,
    program: &str,
) -> (Fingerprint, BTreeMap<String, String>, Vec<CommandRow>) {
    let prd = read("prd.json", prd.as_bytes(), LINTS).valid().unwrap();
    let config = Config::read(None, Some(ConfigFile { name: "kitchen.toml", bytes: toml.as_bytes() }));
    assert_eq!(config.issues, []);
    let settings = config.for_prd(&prd);
    let grants = PolicyState::parse("policy.toml", Some(policy.as_bytes())).kitchen().unwrap();
    let workers = [WorkerPlan {
        tier: Tier::Line,
        argv: vec!["claude".to_owned(), "-p".to_owned()],
        adapter: &TABLE[0],
        program: Some(program.to_owned()),
        bytes: None,
        permissions: Permissions::Narrow,
        env_labels: vec!["ANTHROPIC_API_KEY".to_owned()],
    }];
    let (workers, role_texts): (&[WorkerPlan<'_>], _) = (&workers, &[][..]);
    let tiers = Tiers {
        settings: &settings,
        workers,
        grants: &grants,
        sandbox: "enforce",
        role_texts,
        files: &BTreeMap::new(),
    };
    let execution = Execution { prd: &prd, tiers };
    (execution.fingerprint(), execution.items(), commands(&execution, &<[String]>::to_vec))
}

#[track_caller]
fn check(prd: &str, toml: &str, policy: &str, program: &str, expect: &[&str]) {
    let before = approve_config(PRD, "", "", "/usr/bin/claude");
    let after = approve_config(prd, toml, policy, program);
    let found: Vec<String> = changes(&before.1, &after.1).into_iter().map(|change| change.field).collect();
    assert_eq!(found, expect);
    assert_eq!(before.0 == after.0, expect.is_empty());
}

const PROGRAM: &str = "/usr/bin/claude";

#[test]
fn executed_values_are_in_the_fingerprint() {
    check(
        &PRD.replace("npm test\",\"grep", "npm test -- x\",\"grep"),
        "",
        "",
        PROGRAM,
        &["task.a.verification"],
    );
    check(&PRD.replace("\"t\"", "\"T\""), "", "", PROGRAM, &["task.a.title"]);
    check(&PRD.replace("\"x-y\":1", "\"x-y\":2"), "", "", PROGRAM, &["task.a.x-y"]);
    check(
        &PRD.replace("\"walkaway\":false", "\"walkaway\":true"),
        "",
        "",
        PROGRAM,
        &["config.walkaway_mode", "prd.walkaway"],
    );
    check(&PRD.replace("\"dependsOn\":[\"a\"]", "\"dependsOn\":[]"), "", "", PROGRAM, &["task.b.dependsOn"]);
    check(PRD, "test_timeout = 5\n", "", PROGRAM, &["config.test_timeout"]);
    check(
        PRD,
        "merge = true\n[worktree]\nsetup = 'npm ci'\n",
        "",
        PROGRAM,
        &["config.merge", "config.worktree.setup"],
    );
    check(PRD, "", "[kitchen]\nskip_permissions = true\n", PROGRAM, &["policy.skip_permissions"]);
    check(PRD, "", "denied_effects = ['network']\n", PROGRAM, &["policy.worker_effects"]);
    check(PRD, "", "", "/opt/claude", &["worker.line.program"]);
}

#[test]
fn other_values_are_not_in_the_fingerprint() {
    check(
        &PRD.replace("\"featureName\":\"x\"", "\"description\":\"d\",\"featureName\":\"y\""),
        "",
        "",
        PROGRAM,
        &[],
    );
    check(&PRD.replace("\"passes\":false", "\"passes\" : true"), "", "", PROGRAM, &[]);
    check(
        PRD,
        "# a comment\nmax_parallel = 2\nquiet_workers = true\nactivity_log_interval = 5\n",
        "",
        PROGRAM,
        &[],
    );
    check(PRD, "", "# a comment\nallowed_families = ['script']\n", PROGRAM, &[]);
    check(PRD, "test_timeout = 120 # the default\n", "", PROGRAM, &[]);
}

#[test]
fn added_and_removed_tasks_are_named() {
    let more = PRD.replace("]}]}", "]},{\"id\":\"c\",\"title\":\"v\"}]}");
    check(&more, "", "", PROGRAM, &["prd.tasks", "task.c.title"]);
}

#[test]
fn every_command_is_listed_once_with_what_it_may_do() {
    let toml = "test_cmd = 'npm run all'\n[worktree]\nsetup = 'npm ci && npm run gen'\n[verification]\neffects = ['local-read']\n";
    let rows = approve_config(PRD, toml, "", PROGRAM).2;
    let shown: Vec<(CommandKind, bool, usize)> =
        rows.iter().map(|row| (row.kind, row.shell, row.effects.len())).collect();
    assert_eq!(
        shown,
        [
            (CommandKind::Worker, false, 3),
            (CommandKind::Setup, true, 1),
            (CommandKind::Verification, false, 1),
            (CommandKind::Verification, true, 1),
            (CommandKind::Test, false, 1),
        ]
    );
    assert_eq!(rows[3].argv, ["/bin/sh", "-c", "grep x f | wc"]);
}

#[test]
fn a_validation_lists_what_was_understood() {
    let reading =
        read("prd.json", PRD.replace("\"dependsOn\":[\"a\"]", "\"dependsOn\":[\"z\"]").as_bytes(), LINTS);
    let report = validation("prd.json", PrdOrigin::Named, &reading);
    assert_eq!((report.valid, report.errors.len(), report.waves.len()), (false, 1, 1));
    assert_eq!(report.tasks[0].kind, CoverageKind::Other);
    assert_eq!(
        (report.tasks[0].verification[1].shell, report.tasks[0].verification[1].inferred),
        (true, true)
    );
    let text = serde_json::to_string(&report.errors[0]).unwrap();
    assert!(text.starts_with(
        r#"{"code":"unknown_dependency","task":"b","field":"tasks[1].dependsOn[0]","message":"#
    ));
    assert!(text.ends_with(r#""file":"prd.json","line":3,"column":68}"#), "{text}");
}
