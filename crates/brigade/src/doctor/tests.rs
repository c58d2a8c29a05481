use std::path::Path;

use brigade_call::{CALLS, RUNS};
use brigade_core::{CallId, Json, NeutralWords, NextStep};
use brigade_fs::RelPath;
use brigade_ops::{ArgsSource, Request};

use super::*;
use crate::env::Env;
use crate::report::{FixKind, IssueReport};
use crate::sample::NewFile;
use crate::workspace::Workspace;

const SCHEMA: &str = r#"{"type": "object", "properties": {"name": {"type": "string"}}}"#;

const TOOLS: &str = r#"
[[tool]]
id = "greet"
name = "Greet"
family = "script"
command = "sh bin/greet.sh"
input_schema_path = "greet.json"
effects = ["local-read"]
approval_mode = "always"
"#;

fn workspace(folder: &Path, tools: &str) -> Workspace {
    let files = [
        NewFile::new(".brigade/tools.toml", tools),
        NewFile::new("greet.json", SCHEMA),
        NewFile::new("bin/greet.sh", "echo hello\n"),
    ];
    Workspace::with_files(folder, &files, Env::of_process()).unwrap()
}

/// The issues, as tool and type.
fn marks(report: &CatalogReport) -> Vec<String> {
    let mark =
        |issue: IssueReport| format!("{} {}", issue.tool_id.as_deref().unwrap_or("-"), issue.issue_type);
    report.issues.iter().map(mark).collect()
}

#[track_caller]
fn check(workspace: &Workspace, expect: &[&str]) {
    assert_eq!(marks(&workspace.doctor().check(&DoctorRequest::default()).unwrap()), expect);
}

fn approved(workspace: &Workspace) -> CallId {
    let args = ArgsSource::from(Json::object([("name", Json::from("x"))]));
    let queued = workspace.calls().queue(Request::new("greet").args(args)).unwrap();
    workspace.calls().approve(&queued.call.id).unwrap();
    queued.call.id
}

#[test]
fn a_workspace_without_a_policy_misses_it_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    check(&workspace(folder.path(), TOOLS), &["policy policy_missing"]);
}

#[test]
fn a_missing_catalog_is_one_issue_with_the_command_that_makes_one() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path(), Env::of_process()).unwrap();
    let report = workspace.catalog().list().unwrap();
    assert_eq!(marks(&report), ["- config"]);
    assert_eq!(report.issues.get(0).unwrap().fix, "init");
    assert_eq!(report.exit(), Exit::Refused);
}

#[test]
fn an_approved_call_is_stale_when_what_it_binds_changes() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = workspace(folder.path(), TOOLS);
    approved(&workspace);
    check(&workspace, &["policy policy_missing"]);
    workspace.write_files(&[NewFile::new("bin/greet.sh", "echo other\n")]).unwrap();
    let report = workspace.doctor().check(&DoctorRequest::default()).unwrap();
    assert_eq!(marks(&report), ["policy policy_missing", "greet call_stale_approved"]);
    assert_eq!(
        report.issues.get(1).unwrap().detail,
        "no longer what was approved: the file bin/greet.sh changed"
    );
    assert_eq!(report.call_queue.issue_count, 1);
}

#[test]
fn a_request_narrows_what_is_listed_and_knows_its_words() {
    let folder = tempfile::tempdir().unwrap();
    let tools = format!("{TOOLS}manifest_path = \"gone.json\"\n");
    let workspace = workspace(folder.path(), &tools);
    let only = |words: &[&str]| {
        let only = words.iter().map(|word| (*word).to_owned()).collect();
        workspace.doctor().check(&DoctorRequest { only, strict: true, ..DoctorRequest::default() })
    };
    assert_eq!(marks(&only(&["tool"]).unwrap()), ["greet missing_manifest"]);
    assert_eq!(marks(&only(&["policy_missing"]).unwrap()), ["policy policy_missing"]);
    assert_eq!(only(&["run"]).unwrap().exit(), Exit::Done);
    assert_eq!(only(&["tool"]).unwrap().exit(), Exit::Refused);
    let error = only(&["polcy"]).unwrap_err();
    assert_eq!((error.kind(), error.hints()), (ErrorKind::Usage, &["did you mean `policy`?".into()][..]));
}

#[test]
fn sarif_has_a_rule_for_each_result_and_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = workspace(folder.path(), &format!("{TOOLS}manifest_path = \"gone.json\"\n"));
    let log = workspace.catalog().list().unwrap().sarif();
    let log = log.to_serde();
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for result in results {
        let rule = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(run["tool"]["driver"]["rules"][rule]["id"], result["ruleId"]);
        let place = &result["locations"][0]["physicalLocation"];
        assert!(!place["artifactLocation"]["uri"].as_str().unwrap().is_empty());
    }
}

#[test]
fn wide_modes_and_lines_that_cannot_be_read_are_mended() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = workspace(folder.path(), TOOLS);
    approved(&workspace);
    let (tools, calls) = (RelPath::from_static(".brigade/tools"), RelPath::from_static(CALLS));
    workspace.inner.fs.append_durable(&calls, b"not a call\n").unwrap();
    for (path, mode) in [(&RelPath::from_static(".brigade"), 0o755), (&tools, 0o755), (&calls, 0o644)] {
        workspace.inner.fs.set_mode(path, mode).unwrap();
    }
    let mode = |path| workspace.inner.fs.metadata(path).unwrap().mode;
    check(&workspace, &["policy policy_missing", "- unreadable_lines", "- wide_modes"]);

    let kinds = |report: &FixReport| report.fixed.iter().map(|fix| fix.kind).collect::<Vec<_>>();
    let planned = workspace.doctor().fix(true).unwrap();
    assert_eq!(kinds(&planned), [FixKind::Mode, FixKind::Queue]);
    assert_eq!(mode(&calls), 0o644);
    assert_eq!(kinds(&workspace.doctor().fix(false).unwrap()), [FixKind::Mode, FixKind::Queue]);
    assert_eq!(mode(&calls), 0o600);
    check(&workspace, &["policy policy_missing", "- quarantined_lines"]);
    assert_eq!(workspace.doctor().fix(false).unwrap().fixed_count, 0);
}

#[test]
fn the_policys_doctor_speaks_of_the_policy_alone() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = workspace(folder.path(), &format!("{TOOLS}manifest_path = \"gone.json\"\n"));
    let policy = NewFile::new(".brigade/tools/policy.toml", "allowed_families = [\"mcp\"]\n");
    workspace.write_files(&[policy]).unwrap();
    let report = workspace.policy().doctor().unwrap();
    assert!(report.enabled && report.valid);
    let types: Vec<_> = report.issues.iter().map(|issue| issue.issue_type.clone()).collect();
    assert_eq!(types, ["policy_blocker"]);
}

#[test]
fn a_brief_names_the_next_command_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = workspace(folder.path(), TOOLS);
    let fresh = workspace.doctor().brief().unwrap();
    assert_eq!(fresh.next_command.step(), Some(&NextStep::InitPolicy));
    let args = ArgsSource::from(Json::object([("name", Json::from("x"))]));
    let queued = workspace.calls().queue(Request::new("greet").args(args)).unwrap();
    let id = queued.call.id;
    let brief = workspace.doctor().brief().unwrap();
    assert_eq!(brief.pending_approval_count, 1);
    assert_eq!(brief.next_command.to_string(), format!("show-call:{id}"));
    assert_eq!(brief.oldest_pending_call.unwrap().id, id);
    approved(&workspace);
    assert_eq!(workspace.doctor().brief().unwrap().next_command.step(), Some(&NextStep::RunNext));
    assert!(!workspace.inner.fs.exists(&RelPath::from_static(".brigade/work")).unwrap());
}

#[test]
fn a_changed_receipt_breaks_the_chain_and_a_lost_log_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = workspace(folder.path(), TOOLS);
    let run = workspace.calls().run(approved(&workspace)).unwrap();
    let id = run.receipt.id.clone();
    assert_eq!(run.receipt.status.as_str(), "completed", "{run:?}");
    check(&workspace, &["policy policy_missing"]);
    let receipt = RelPath::composed(&format!("{RUNS}/{}.json", id));
    workspace.inner.fs.append_durable(&receipt, b"\n").unwrap();
    workspace.inner.fs.remove(&RelPath::composed(&format!("{RUNS}/{}.stdout.log", id))).unwrap();
    check(&workspace, &["policy policy_missing", "- run_ledger_broken", "greet run_missing_log"]);
    let list = workspace.catalog().list().unwrap();
    assert_eq!(marks(&list), ["policy policy_missing", "greet run_missing_log"]);
    assert_eq!(list.run_history.latest.unwrap().id, id);
}

#[test]
fn of_a_long_history_only_the_newest_part_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = workspace(folder.path(), TOOLS);
    for _ in 0..3 {
        let run = workspace.calls().run(approved(&workspace)).unwrap();
        let log = RelPath::composed(&format!("{RUNS}/{}.stdout.log", run.receipt.id));
        workspace.inner.fs.remove(&log).unwrap();
    }
    for (limit, expect) in [(3, (3, 0)), (2, (2, 1)), (1, (1, 1))] {
        let report = workspace.doctor().check_recent(&DoctorRequest::default(), limit).unwrap();
        let lost = marks(&report).iter().filter(|mark| mark.ends_with("run_missing_log")).count();
        assert_eq!((lost, report.notes.len()), expect, "{limit}");
        assert_eq!(report.run_history.run_count, 3);
    }
}

#[test]
fn a_failed_run_that_cannot_be_asked_for_again_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = workspace(folder.path(), TOOLS);
    workspace.write_files(&[NewFile::new("bin/greet.sh", "exit 3\n")]).unwrap();
    workspace.calls().run(approved(&workspace)).unwrap();
    check(&workspace, &["policy policy_missing", "greet run_failed"]);
    let schema = r#"{"type": "object", "properties": {"name": {"type": "integer"}}}"#;
    workspace.write_files(&[NewFile::new("greet.json", schema)]).unwrap();
    let report = workspace.doctor().check(&DoctorRequest::default()).unwrap();
    assert_eq!(marks(&report).last().map(String::as_str), Some("greet run_replay_blocked"));
}

#[test]
fn a_closeout_quiets_issues_and_the_raw_ones_stay() {
    let folder = tempfile::tempdir().unwrap();
    let projected = "source_path = \"greet.json\"\nsupported_harnesses = [\"claude\"]\nprojections = { claude = \".claude/commands/greet.md\" }\n";
    let workspace = workspace(folder.path(), &format!("{TOOLS}{projected}"));
    check(&workspace, &["greet missing_projection", "policy policy_missing"]);
    workspace.parity().closeout(Some("known"), crate::health::Verdict::Reviewed).unwrap();
    let report = workspace.catalog().list().unwrap();
    assert_eq!(marks(&report), ["policy policy_missing"]);
    assert_eq!((report.raw_issue_count, report.issue_count), (2, 1));
    assert_eq!(report.parity.quieted_issue_count, 1);
    assert_eq!(workspace.inbox().import().unwrap().created, 1);
}

#[test]
fn a_name_that_nothing_has_is_refused_with_the_nearest_one() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = workspace(folder.path(), TOOLS);
    let check = |tool: &str| {
        workspace.doctor().check(&DoctorRequest { tool: Some(tool.to_owned()), ..DoctorRequest::default() })
    };
    assert!(check("greet").is_ok());
    // Some issues have no tool.
    assert!(check("policy").is_ok());
    let error = check("gret").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    let reported = error.failure().with_hints(&NeutralWords);
    assert!(reported.contains("did you mean `greet`?"), "{reported}");
}

#[test]
fn the_worst_failure_of_several_ends_the_command() {
    assert_eq!(worst_of([]), Exit::Done);
    assert_eq!(worst_of([Exit::Refused]), Exit::Refused);
    assert_eq!(worst_of([Exit::Environment, Exit::Refused]), Exit::Environment);
}
