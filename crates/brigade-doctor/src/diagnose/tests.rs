//! One `check` of the kinds, tools and subjects of issues.

mod commands;
mod keys;

use std::path::Path;
use std::sync::Arc;

use brigade_call::{
    Approval, ApprovedBy, Binding, Call, CallStatus, Caller, Checkpoint, DirectoryFact, FileFact,
    ProgramFact, Receipt, SchemaFact,
};
use brigade_catalog::{Level, Masks, Runtimes};
use brigade_core::{Dialect, Fingerprint, Json, NextStep, Place, Severity, Timestamp};
use brigade_policy::PolicyState;
use brigade_projection::{
    Advice, AdviceCode, AdviceWeight, PathRefusal, ProjectionAction, ProjectionItem, ProjectionStatus,
};
use brigade_schema::Schema;
use proptest::prelude::*;

use super::*;
use crate::{
    BrokenFile, CallState, CheckpointState, FoundRuntimes, Health, IssueType, PolicyFacts, Quarantine,
    RunState, RunnerState, RuntimeFacts, RuntimeIssue, RuntimeState, ToolFiles, inspect_mcp, quiet,
    top_issue,
};
mod registry;
mod switching;

const HOUR: i64 = 3_600_000_000;

fn now() -> Timestamp {
    hours_ago(0)
}

fn hours_ago(hours: i64) -> Timestamp {
    Timestamp::from_unix_micros(1_700_000_000_000_000 - hours * HOUR)
}

fn parse(entries: &str) -> Catalog {
    Catalog::parse("tools.toml", Level::Project, entries.as_bytes())
}

/// A script without issues.
const GREET: &str = "[[tool]]
id = \"greet\"
name = \"Greet\"
family = \"script\"
command = \"python3 bin/greet.py\"
input_schema_path = \"greet.schema.json\"
effects = [\"local-read\"]
approval_mode = \"on-request\"
timeout = 30
";

/// Returns the issues, as `type tool subject`.
fn marks(issues: &[Issue]) -> Vec<String> {
    let mark = |issue: &Issue| {
        assert!(!issue.detail.ends_with('.') && !issue.detail.is_empty(), "{issue:?}");
        let tool = issue.tool_id.as_deref().unwrap_or("-");
        format!("{} {tool} {}", issue.kind.code(), issue.subject).trim_end().to_owned()
    };
    issues.iter().map(mark).collect()
}

#[track_caller]
fn check(snapshot: &Snapshot<'_>, expect: &[&str]) {
    assert_eq!(marks(&diagnose(snapshot.clone())), expect);
}

/// Checks a catalog and the files of its tool `greet`.
#[track_caller]
fn check_tool(entries: &str, files: ToolFiles, expect: &[&str]) {
    check(&of_tools(&parse(entries), Some(&files), &[]), expect);
}

/// Creates a snapshot of a catalog, the files of its tool `greet`, and its projections.
fn of_tools<'c>(catalog: &'c Catalog, files: Option<&ToolFiles>, items: &[ProjectionItem]) -> Snapshot<'c> {
    let mut found = ToolIssues::default();
    for tool in catalog.tools() {
        let (files, projections) = if tool.id == "greet" { (files, items) } else { (None, &[][..]) };
        let home = Some(Path::new("/home/ann"));
        let state = ToolState { catalog, tool, files, home, projections, policy: None, presence: None };
        diagnose_tool(&state, now(), &mut found);
    }
    Snapshot { tools: Some(found), ..of_catalog(catalog) }
}

fn of_catalog(catalog: &Catalog) -> Snapshot<'_> {
    Snapshot { catalog: Some(ConfigFile::Read(catalog)), ..Snapshot::new(now()) }
}

fn sound(schema: &str) -> Arc<SchemaFact> {
    let schema = Schema::compile_root(&Json::parse(schema).unwrap().to_serde()).unwrap();
    Arc::new(SchemaFact::Sound { schema: Arc::new(schema), fingerprint: Fingerprint::of_bytes(b"") })
}

#[test]
fn a_tool_without_fault_has_no_issues() {
    let input_schema = sound(r#"{"type": "object", "properties": {"path": {"type": "string"}}}"#);
    check_tool(GREET, ToolFiles { input_schema, ..ToolFiles::default() }, &[]);
}

#[test]
fn nothing_gathered_is_nothing_found() {
    check(&Snapshot::new(now()), &[]);
}

#[test]
fn the_catalog_comes_first() {
    check(
        &Snapshot { catalog: Some(ConfigFile::Missing { file: "tools.toml" }), ..Snapshot::new(now()) },
        &["config -"],
    );
    let why = "not a file".to_owned();
    let catalog = Some(ConfigFile::Unreadable { file: "tools.toml", why });
    check(&Snapshot { catalog, ..Snapshot::new(now()) }, &["config -"]);
    let broken = format!("{GREET}timout = 3\n[[tool]]\nid = \"bad\"\nname = \"Bad\"\nfamily = \"scripts\"\n");
    check_tool(&broken, ToolFiles::default(), &["unknown_key greet timout", "config bad family"]);
}

#[test]
fn disabled_tools_have_no_issues() {
    check_tool(
        "[[tool]]\nid = \"greet\"\nname = \"x\"\nfamily = \"script\"\nenabled = false\n",
        ToolFiles::default(),
        &[],
    );
}

#[test]
fn callable_tools_need_a_contract() {
    let entry = |family: &str, more: &str| {
        format!("[[tool]]\nid = \"greet\"\nname = \"x\"\nfamily = \"{family}\"\n{more}")
    };
    let check =
        |family, more, expect: &[&str]| check_tool(&entry(family, more), ToolFiles::default(), expect);
    check("skill", "", &[]);
    check("skill", "effects = [\"local-read\"]", &[]);
    check("skill", "command = \"x\"", &["missing_contract greet"]);
    check("graphql", "", &["missing_contract greet"]);
    check("script", "", &["missing_command greet", "missing_contract greet"]);
    let unset = ["missing_runtime greet", "missing_mcp_tool_name greet", "missing_command greet"];
    // Issue 15: four missing fields were reported for an entry of a remote server, which needs none of them.
    let remote =
        "[[tool]]\nid = \"far\"\nname = \"Far\"\nfamily = \"mcp\"\n[tool.source]\ntransport = \"http\"\n";
    let found = diagnose(of_catalog(&parse(remote)));
    let kinds: Vec<&str> = found.iter().map(|issue| issue.kind.code()).collect();
    assert_eq!(kinds, ["missing_runtime"], "{found:?}");
    check("mcp", "", &[&unset[..], &["missing_contract greet"]].concat());
    check("mcp", "effects = [\"network\"]", &[&unset[..], &["missing_input_schema greet"]].concat());
    check(
        "mcp",
        "command = \"server\"",
        &["missing_runtime greet", "missing_mcp_tool_name greet", "missing_contract greet"],
    );
}

#[test]
fn the_configuration_of_an_mcp_tool_is_json() {
    let entry = format!("{GREET}source_path = \"a.md\"\n");
    let mcp_error = Json::parse_bytes(b"# A", Dialect::Strict).err();
    check_tool(&entry, ToolFiles { mcp_error, ..ToolFiles::default() }, &["invalid_schema greet"]);
}

#[test]
fn fields_like_secrets_are_named_without_their_value() {
    let catalog =
        parse(&format!("{GREET}api_key = \"hunter2\"\nauth_label = \"ghp_{}\"\n", "a1B2".repeat(9)));
    let issues = diagnose(of_catalog(&catalog));
    let kinds = [
        "unknown_key greet api_key",
        "unsafe_auth_fields greet api_key",
        "unsafe_auth_fields greet auth_label",
    ];
    assert_eq!(marks(&issues), kinds);
    // Each issue is at the line of its field.
    let lines: Vec<_> =
        issues.iter().map(|issue| issue.place.as_ref().and_then(|place| place.line)).collect();
    assert_eq!(lines, [Some(10), Some(10), Some(11)]);
    let text = format!("{issues:?}");
    assert!(!text.contains("hunter2") && !text.contains("ghp_"));
}

#[test]
fn every_file_of_a_tool_is_checked() {
    let entry = format!("{GREET}schema_path = \"x.json\"\n");
    let json_error = Json::parse_bytes(b"{\n  x", Dialect::Strict).unwrap_err();
    let missing = || FileFact::Missing;
    check_tool(
        &entry,
        ToolFiles {
            source: missing(),
            manifest: FileFact::Unreadable("permission denied".to_owned()),
            schema: FileFact::Present(Fingerprint::of_bytes(b"")),
            schema_error: Some(json_error.clone()),
            input_schema: SchemaFact::NotJson(json_error).into(),
            output_schema: SchemaFact::Unsound(
                Schema::compile(&Json::parse("3").unwrap().to_serde()).unwrap_err(),
            )
            .into(),
            examples: missing(),
            health: FileFact::Present(Fingerprint::of_bytes(b"")),
            health_modified: Some(hours_ago(49)),
            directory: DirectoryFact::Missing,
            program: ProgramFact::NotFound,
            missing_script: Some("gone.py".to_owned()),
            outside: vec!["runtime_health_path"],
            refused_targets: vec![("codex".to_owned(), PathRefusal::InGit)],
            ..ToolFiles::default()
        },
        &[
            "invalid_input_schema greet",
            "unsupported_output_schema greet",
            "missing_examples greet",
            "path_outside greet runtime_health_path",
            "missing_cwd greet",
            "missing_source greet",
            "missing_manifest greet",
            "invalid_schema greet",
            "stale_health greet",
            "missing_command greet",
            "missing_command greet script",
            "projection_refused greet codex",
        ],
    );
    let files = ToolFiles { health: missing(), health_modified: Some(hours_ago(47)), ..ToolFiles::default() };
    check_tool(&entry, files, &["missing_health greet"]);
}

#[test]
fn templates_name_arguments_that_the_schema_describes() {
    let entry = format!(
        "{GREET}argument_template = {{ mode = \"--{{max-tokens}}\", path = \"{{path}}{{other}}\" }}\n"
    );
    let schema = r#"{"type": "object", "properties": {"path": {"type": "string"}}}"#;
    check_tool(
        &entry,
        ToolFiles { input_schema: sound(schema), ..ToolFiles::default() },
        &["bad_argument_template greet mode:max-tokens", "bad_argument_template greet path:other"],
    );
}

#[test]
fn remarks_on_both_schemas_are_one_issue_of_each_kind() {
    let remote =
        r#"{"type": "object", "not": {"$ref": "a.json"}, "nullable": true, "items": {"example": 1}}"#;
    let files = |input: &str, output: &str| ToolFiles {
        input_schema: sound(input),
        output_schema: sound(output),
        ..ToolFiles::default()
    };
    let plain = r#"{"type": "object"}"#;
    check_tool(
        GREET,
        files(remote, plain),
        &["unchecked_input_schema greet", "ignored_schema_keywords greet"],
    );
    check_tool(
        GREET,
        files(plain, remote),
        &["unsupported_output_schema greet", "ignored_schema_keywords greet"],
    );
    let unknown = r#"{"type": "object", "nullable": true}"#;
    check_tool(GREET, files(unknown, unknown), &["ignored_schema_keywords greet"]);
}

#[test]
fn unsafe_labels_are_one_issue_each() {
    let entry = format!("{GREET}env_labels = [\"GITHUB_TOKEN\", \"PATH\", \"a=b\"]\n");
    let expect = ["unsafe_env_labels greet PATH", "unsafe_env_labels greet number 3"];
    check_tool(&entry, ToolFiles::default(), &expect);
}

#[test]
fn risky_commands_and_servers_are_found() {
    let entry = GREET.replace("python3 bin/greet.py", "bash -lc 'make'");
    let document =
        Json::parse(r#"{"mcpServers": {"a": {"timeout": 1}, "b": {"command": "x"}, "c": 1}}"#).unwrap();
    let mcp_servers = inspect_mcp(&document).unwrap();
    check_tool(
        &entry,
        ToolFiles { mcp_servers, ..ToolFiles::default() },
        &[
            "high_risk_command greet",
            "missing_command greet server a",
            "missing_timeout greet server b",
            "invalid_mcp_server greet server c",
        ],
    );
}

#[test]
fn code_in_a_command_is_information() {
    let entry = GREET.replace("python3 bin/greet.py", "python3 -c 1");
    check_tool(&entry, ToolFiles::default(), &["inline_code greet"]);
    // The argument would be executed as code.
    let entry = GREET.replace("python3 bin/greet.py", "python3 -c");
    check_tool(&entry, ToolFiles::default(), &["high_risk_command greet"]);
}

fn item(catalog: &Catalog, status: ProjectionStatus, path: Option<&str>) -> ProjectionItem {
    let tool = &catalog.tools()[0];
    ProjectionItem {
        tool_id: tool.id.clone(),
        name: tool.name.clone(),
        family: tool.family,
        harness: "claude".to_owned(),
        source_path: None,
        projection_path: path.map(str::to_owned),
        header: None,
        status,
        action: ProjectionAction::Skip,
        reason: None,
        detail: "a sentence".into(),
        source_fingerprint: None,
        expected_fingerprint: None,
        actual_fingerprint: None,
        lossiness: None,
        advice: Vec::new(),
    }
}

#[test]
fn each_status_of_a_projection_has_its_type() {
    let catalog = parse(GREET);
    let check = |status, path, expect: &[&str]| {
        let items = [item(&catalog, status, path)];
        check(&of_tools(&catalog, None, &items), expect);
    };
    let path = Some("x.md");
    check(ProjectionStatus::Missing, None, &["parity_gap greet"]);
    check(ProjectionStatus::Missing, path, &["missing_projection greet"]);
    check(ProjectionStatus::Stale, path, &["stale_projection greet"]);
    check(ProjectionStatus::Conflicted, path, &["conflicted_projection greet"]);
    check(ProjectionStatus::Unmanaged, path, &["unmanaged_projection greet"]);
    check(ProjectionStatus::Invalid, Some(".git/hooks/x"), &["projection_refused greet"]);
    check(ProjectionStatus::Current, path, &[]);
    check(ProjectionStatus::MissingSource, path, &["missing_source greet"]);
}

#[test]
fn refused_skills_are_reported_but_not_odd_ones() {
    let catalog = parse(GREET);
    let advice = |code, weight| Advice { code, message: "a sentence".to_owned(), weight };
    let advice = vec![
        advice(AdviceCode::SkillName, AdviceWeight::Unreadable),
        advice(AdviceCode::SkillField, AdviceWeight::Remark),
        advice(AdviceCode::SkillFolder, AdviceWeight::Unreadable),
    ];
    let source_path = Some("a.md".to_owned());
    let items =
        [ProjectionItem { advice, source_path, ..item(&catalog, ProjectionStatus::Current, Some("x")) }];
    let snapshot = of_tools(&catalog, None, &items);
    check(&snapshot, &["skill_unreadable greet skill-name", "skill_unreadable greet skill-folder"]);
    let steps: Vec<NextStep> = diagnose(snapshot).iter().map(Issue::next_step).collect();
    assert_eq!(steps, [Place::file("a.md"), Place::at("tools.toml", 1, 1)].map(NextStep::Edit));
}

#[test]
fn a_missing_source_is_reported_once() {
    let catalog = parse(GREET);
    let items = [
        item(&catalog, ProjectionStatus::MissingSource, Some("x")),
        item(&catalog, ProjectionStatus::MissingSource, None),
    ];
    let files = ToolFiles { source: FileFact::Missing, ..ToolFiles::default() };
    for files in [None, Some(&files)] {
        check(&of_tools(&catalog, files, &items), &["missing_source greet"]);
    }
}

#[test]
fn an_unusable_key_is_an_issue() {
    let key_problem = Some("other accounts have access".to_owned());
    let issues = diagnose(Snapshot { key_problem, ..Snapshot::new(now()) });
    let details: Vec<&str> = issues.iter().map(|issue| issue.detail.as_str()).collect();
    assert_eq!(details, ["no approval counts: other accounts have access"]);
}

#[test]
fn a_closeout_quiets_only_unchanged_projections() {
    let catalog = parse(GREET);
    let items =
        [item(&catalog, ProjectionStatus::Missing, None), item(&catalog, ProjectionStatus::Stale, Some("x"))];
    let wide_modes = vec!["a".to_owned()];
    let issues = diagnose(Snapshot { wide_modes, ..of_tools(&catalog, None, &items) });
    let listed = [issues[0].fingerprint().to_hex(), issues[2].fingerprint().to_hex()].into();
    let divided = quiet(issues.clone(), Some(&listed), "/w");
    assert_eq!(divided.quieted, issues[..1]);
    assert_eq!(divided.changed, issues[1..2]);
    assert_eq!(divided.issues, issues[1..]);
    assert_eq!(quiet(issues.clone(), None, "/w").issues, issues);
}

#[test]
fn runtimes_and_their_users_are_checked() {
    let catalog = parse(&format!("{GREET}runtime_id = \"helper\"\nrequires_runtime = true\n"));
    let file = b"[[runtime]]\nid = \"helper\"\nname = \"H\"\ncommand = \"sleep 9\"\nport = 80\n";
    let runtimes = Runtimes::parse("runtimes.toml", Level::Project, file);
    let helper = &runtimes.runtimes()[0];
    let with = |config: ConfigFile<'_, Runtimes>, facts: RuntimeFacts, expect: &[&str]| {
        let found = FoundRuntimes { config, facts: &[facts], left: &[] };
        check(&Snapshot { runtimes: Some(found), ..of_catalog(&catalog) }, expect);
    };
    let read = || ConfigFile::Read(&runtimes);
    let of_helper = RuntimeFacts::new(helper, &Masks::default());
    let running = || RuntimeFacts { state: RuntimeState::Running, managed: true, ..of_helper.clone() };
    let of_field =
        |kind: IssueType, field: &'static str| RuntimeIssue::of_field(helper, kind, field, "it is so");
    let known = |issues: &[RuntimeIssue]| RuntimeFacts { issues: issues.to_vec(), ..running() };
    with(read(), running(), &[]);
    let missing = ConfigFile::Missing { file: "runtimes.toml" };
    with(missing, running(), &["runtime_config -", "runtime_missing greet"]);
    let taken = vec![of_field(IssueType::RuntimePortConflict, "port")];
    let stopped = RuntimeFacts { state: RuntimeState::Stopped, issues: taken, ..running() };
    with(read(), stopped, &["runtime_port_conflict helper", "runtime_stopped greet"]);
    let started_by_calls = [&file[..], b"on_demand = true\n"].concat();
    let on_demand = Runtimes::parse("runtimes.toml", Level::Project, &started_by_calls);
    let stopped = RuntimeFacts { state: RuntimeState::Stopped, ..running() };
    with(read(), stopped.clone(), &["runtime_stopped greet"]);
    with(ConfigFile::Read(&on_demand), stopped, &[]);
    let outside = ["log_path", "pid_path"].map(|field| of_field(IssueType::RuntimeOutsidePath, field));
    with(read(), known(&outside), &["path_outside helper log_path", "path_outside helper pid_path"]);
    let of_process = |kind: IssueType| of_field(kind, "pid_path");
    let issues = vec![of_process(IssueType::RuntimeStalePid)];
    let stale = RuntimeFacts { state: RuntimeState::Stale, issues, ..running() };
    with(read(), stale, &["runtime_stale_pid helper", "runtime_unhealthy greet"]);
    for (kind, expect) in [
        (IssueType::RuntimeLogTooLong, "runtime_log_too_long helper"),
        (IssueType::RuntimeLogWriterGone, "runtime_log_writer_gone helper"),
        (IssueType::RuntimeOutdated, "runtime_outdated helper"),
    ] {
        with(read(), known(&[of_process(kind)]), &[expect]);
    }
    let issues = vec![of_process(IssueType::RuntimeUnmanaged)];
    with(read(), RuntimeFacts { managed: false, issues, ..running() }, &["runtime_unhealthy greet"]);
    let health = Some(Health { ok: false, detail: "exit code 1".to_owned(), checked_at: now() });
    let issues = vec![
        of_field(IssueType::RuntimeBadCommand, "command"),
        of_field(IssueType::RuntimeMissingCwd, "cwd"),
        of_process(IssueType::RuntimeHealthFailed),
    ];
    let broken = RuntimeFacts { health, issues, ..running() };
    with(
        read(),
        broken,
        &[
            "runtime_bad_command helper",
            "runtime_missing_cwd helper",
            "runtime_health_failed helper",
            "runtime_unhealthy greet",
        ],
    );
}

#[track_caller]
fn check_policy(entries: &str, policy: Option<&str>, gaps: Option<&[&str]>, expect: &[&str]) {
    let catalog = parse(entries);
    let state = PolicyState::parse("policy.toml", policy.map(str::as_bytes));
    let facts = PolicyFacts { state: &state, environment: &|_: &str| false };
    let sandbox_gaps = gaps.map(|gaps| gaps.iter().map(|gap| (*gap).to_owned()).collect());
    check(&Snapshot { policy: Some(facts), sandbox_gaps, ..of_catalog(&catalog) }, expect);
}

#[test]
fn policies_matter_only_for_tools_that_can_run() {
    let skill = "[[tool]]\nid = \"s\"\nname = \"s\"\nfamily = \"skill\"\neffects = [\"network\"]\ncommand = \"x\"\n\
        input_schema_path = \"x\"\n";
    check_policy(GREET, None, None, &["policy_missing policy"]);
    check_policy(skill, None, None, &[]);
    let denied =
        "denied_effects = [\"network\", \"local-read\"]\nmax_timeout = 1\nallowed_families = [\"mcp\"]";
    check_policy(skill, Some(denied), None, &[]);
    check_policy(
        GREET,
        Some(denied),
        None,
        &[
            "policy_blocker greet family script",
            "policy_denied_effect greet effect local-read",
            "policy_timeout greet timeout 30 s",
        ],
    );
    check_policy(GREET, Some("max_timeout = \"x\""), None, &["policy_config policy max_timeout"]);
    check_policy(GREET, Some("max_timout = 3"), None, &["unknown_key policy max_timout"]);
    check_policy(
        GREET,
        Some("sandbox.tool.gret.mode = \"off\""),
        None,
        &["config_warning policy sandbox.tool.gret"],
    );
    let label = format!("{GREET}env_labels = [\"SAFE_ENV\"]\n");
    check_policy(&label, Some(""), None, &["policy_missing_env greet env_label SAFE_ENV"]);
}

#[test]
fn issues_of_a_file_have_its_area() {
    let catalog = parse(&format!("{GREET}timout = 3\n"));
    let state = PolicyState::parse("policy.toml", Some(b"max_timout = 3\nmax_timeout = 1"));
    let policy = Some(PolicyFacts { state: &state, environment: &|_: &str| false });
    let file = b"[[runtime]]\nid = \"h\"\nname = \"h\"\ncommand = \"x\"\nprt = 80\n";
    let read = Runtimes::parse("runtimes.toml", Level::Project, file);
    let runtimes = Some(FoundRuntimes { config: ConfigFile::Read(&read), facts: &[], left: &[] });
    let issues = diagnose(Snapshot { policy, runtimes, ..of_catalog(&catalog) });
    let areas: Vec<&str> = issues.iter().map(|issue| issue.area().as_str()).collect();
    assert_eq!(areas, ["catalog", "runtime", "policy", "policy"]);
    assert_eq!(top_issue(&issues), issues.first());
    let worst = Issue { severity: Severity::Error, ..issues[1].clone() };
    assert_eq!(top_issue([&issues[0], &worst]), Some(&worst));
}

#[test]
fn an_unenforceable_sandbox_is_reported() {
    let gaps = Some(&["no Landlock"][..]);
    check_policy(GREET, Some("sandbox.mode = \"enforce\""), gaps, &["sandbox_unavailable policy"]);
    check_policy(GREET, Some("sandbox.mode = \"enforce\""), Some(&[]), &[]);
    check_policy(GREET, Some("sandbox.mode = \"off\""), gaps, &[]);
    let state = PolicyState::parse("policy.toml", Some(b"sandbox.mode = \"best-effort\""));
    let policy = Some(PolicyFacts { state: &state, environment: &|_: &str| false });
    let sandbox_gaps = Some(vec!["no Landlock".to_owned()]);
    let issues = diagnose(Snapshot { policy, sandbox_gaps, ..Snapshot::new(now()) });
    assert_eq!(issues[0].severity, Severity::Warning);
}

fn call(id: &str, status: CallStatus) -> Call {
    let record = format!(r#"{{"id": "{id}", "status": "pending", "tool_id": "greet", "family": "script"}}"#);
    let (call, _) = Call::from_record(Json::parse(&record).unwrap()).unwrap();
    Call { status, created_at: Some(hours_ago(1)), args: Json::from(id), ..call }
}

#[track_caller]
fn check_calls(calls: &[Call], runner: RunnerState, changes: &[&str], expect: &[&str]) {
    let state = |call| CallState {
        call,
        changes: changes.iter().map(|change| (*change).to_owned()).collect(),
        is_only_moved: false,
        runner,
    };
    let calls = calls.iter().map(state).collect();
    check(&Snapshot { calls, ..Snapshot::new(now()) }, expect);
}

#[test]
fn calls_that_need_someone_are_found() {
    let check = |call: Call, runner, expect: &[&str]| check_calls(&[call], runner, &[], expect);
    let unknown = RunnerState::NotChecked;
    check(call("a", CallStatus::Pending), unknown, &[]);
    let old = Call { created_at: Some(hours_ago(73)), ..call("a", CallStatus::Pending) };
    check(old, unknown, &["call_stale_pending greet"]);
    check(call("a", CallStatus::Approved), unknown, &["call_stale_approved greet"]);
    check(call("a", CallStatus::Held), unknown, &["call_held greet"]);
    check(call("a", CallStatus::Rejected), unknown, &["call_rejected greet"]);
    check(call("a", CallStatus::Failed), unknown, &["call_failed greet"]);
    check(call("a", CallStatus::TimedOut), unknown, &["call_failed greet"]);
    check(call("a", CallStatus::Interrupted), unknown, &["call_interrupted greet"]);
    let ended = Call { exit_code: Some(-15), ..call("a", CallStatus::Interrupted) };
    check(ended, unknown, &["call_interrupted greet"]);
    check(call("a", CallStatus::Completed), unknown, &[]);
    let running = |hours| Call { started_at: Some(hours_ago(hours)), ..call("a", CallStatus::Running) };
    check(running(3), RunnerState::Alive, &["call_running_stale greet"]);
    check(running(3), RunnerState::Gone, &["call_interrupted greet"]);
    check(running(1), RunnerState::Alive, &[]);
}

#[test]
fn changes_of_an_approved_call_are_reported() {
    let print = Fingerprint::of_bytes(b"");
    let binding = Binding::new(print, print, print, print, Caller::from_record(None));
    let approval =
        Approval { fingerprint: print, binding, by: ApprovedBy::command_line(), hosts: Vec::new() };
    let approved = [Call { approval: Some(approval), ..call("a", CallStatus::Approved) }];
    check_calls(&approved, RunnerState::NotChecked, &[], &[]);
    check_calls(
        &approved,
        RunnerState::NotChecked,
        &["the contract changed"],
        &["call_stale_approved greet"],
    );
}

#[test]
fn only_a_later_success_settles_a_failure() {
    let failed = |hours| Call {
        completed_at: Some(hours_ago(hours)),
        args: Json::Null,
        ..call("f", CallStatus::Failed)
    };
    let done =
        Call { completed_at: Some(hours_ago(5)), args: Json::Null, ..call("d", CallStatus::Completed) };
    check_calls(&[failed(6), done.clone()], RunnerState::NotChecked, &[], &[]);
    check_calls(&[done.clone(), failed(4)], RunnerState::NotChecked, &[], &["call_failed greet"]);
    let other = Call { args: Json::from(true), ..done };
    check_calls(&[failed(6), other], RunnerState::NotChecked, &[], &["call_failed greet"]);
}

fn run(status: &str, family: &str, started_at: &str) -> RunState {
    let text = format!(
        r#"{{"id": "run-1", "call_id": "call-1", "tool_id": "greet", "family": "{family}", "status": "{status}",
            "args": {{"path": "x"}}, "started_at": "{started_at}"}}"#
    );
    RunState::from_receipt(&Receipt::from_json(Json::parse(&text).unwrap()).unwrap())
}

#[track_caller]
fn check_runs(runs: &[RunState], expect: &[&str]) {
    check(&Snapshot { runs, ..Snapshot::new(now()) }, expect);
}

#[test]
fn runs_that_went_wrong_are_found() {
    let early = "2023-01-01";
    check_runs(&[run("completed", "script", early)], &[]);
    check_runs(&[run("failed", "script", early)], &["run_failed greet"]);
    check_runs(&[run("failed", "mcp", early)], &["mcp_execution_failed greet"]);
    check_runs(&[run("timed-out", "script", early)], &["run_timed_out greet"]);
    check_runs(&[RunState { timed_out: true, ..run("failed", "script", early) }], &["run_timed_out greet"]);
    check_runs(&[run("failed", "script", early), run("completed", "script", "2023-01-02")], &[]);
    let blocked = vec!["the contract changed".to_owned()];
    let run = RunState {
        missing_logs: vec!["stdout"],
        replay_blockers: blocked,
        ..run("completed", "script", early)
    };
    check_runs(&[run], &["run_missing_log greet", "run_replay_blocked greet"]);
}

#[test]
fn checkpoints_that_need_someone_are_found() {
    let checkpoint = |status: &str, created: i64, expires: i64| {
        let text = format!(
            r#"{{"id": "c", "status": "{status}", "call_id": "call-1", "tool_id": "greet", "run_id": "run-1",
                "created_at": "{}", "expires_at": "{}"}}"#,
            hours_ago(created),
            hours_ago(expires)
        );
        Checkpoint::from_document(Json::parse(&text).unwrap()).unwrap()
    };
    let check = |checkpoint: Checkpoint, blockers: &[&str], expect: &[&str]| {
        let blockers = blockers.iter().map(|blocker| (*blocker).to_owned()).collect();
        let checkpoints = vec![CheckpointState { checkpoint: &checkpoint, blockers }];
        check(&Snapshot { checkpoints, ..Snapshot::new(now()) }, expect);
    };
    check(checkpoint("pending", 1, -1), &[], &[]);
    check(
        checkpoint("pending", 73, 1),
        &["x"],
        &["checkpoint_expired greet", "checkpoint_stale greet", "checkpoint_blocked greet"],
    );
    check(checkpoint("rejected", 73, 1), &[], &["checkpoint_rejected greet"]);
    check(checkpoint("failed", 73, 1), &[], &["checkpoint_failed greet"]);
    check(checkpoint("resumed", 73, 1), &["x"], &[]);
}

#[test]
fn the_state_as_a_whole_is_checked() {
    let broken = |file: &str| BrokenFile {
        file: file.to_owned(),
        id: None,
        problem: "not JSON".to_owned(),
        is_restorable: false,
    };
    check(
        &Snapshot {
            unreadable: vec![broken("calls.jsonl")],
            quarantines: vec![Quarantine { file: "q.jsonl".to_owned(), lines: 2 }],
            broken_receipts: vec![broken("r.json")],
            ledger: vec![broken("ledger.jsonl")],
            broken_checkpoints: vec![broken("c.json")],
            wide_modes: vec!["a".to_owned(), "b".to_owned()],
            left_locks: vec!["c".to_owned()],
            ..Snapshot::new(now())
        },
        &[
            "unreadable_lines - calls.jsonl",
            "quarantined_lines - q.jsonl",
            "run_receipt_invalid - r.json",
            "run_ledger_broken - ledger.jsonl",
            "checkpoint_invalid - c.json",
            "left_lock - c",
            "wide_modes -",
        ],
    );
}
