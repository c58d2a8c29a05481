//! Every issue type: a workspace with the fault reports it with all members and a working fix.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests break files by hand")]

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use brigade_testkit::brigade_binary;
use brigade_tests::{Site, until};
use serde_json::Value;

const TOOLS: &str = ".brigade/tools.toml";
const POLICY: &str = ".brigade/tools/policy.toml";
const RUNTIMES: &str = ".brigade/tools/runtimes.toml";
const CALLS: &str = ".brigade/tools/calls.jsonl";

/// The issue that doctor must report.
struct ExpectedIssue {
    kind: &'static str,
    severity: &'static str,
    tool: Option<&'static str>,
    /// The file of the issue; empty if it has none.
    file: &'static str,
}

fn expected(
    kind: &'static str,
    severity: &'static str,
    tool: &'static str,
    file: &'static str,
) -> ExpectedIssue {
    ExpectedIssue { kind, severity, tool: Some(tool).filter(|tool| !tool.is_empty()), file }
}

/// Returns a workspace without issues.
pub fn healthy() -> Site {
    Site::script("echo hello\n")
}

/// Inserts lines into the entry of the only tool.
fn with_lines(site: &Site, lines: &str) {
    site.workspace.write(TOOLS, Site::entry("tool", "sh bin/tool.sh", lines));
}

pub fn doctor(site: &Site) -> Value {
    let run = site.tools(["doctor", "--json"]);
    assert!(matches!(run.code(), Some(0 | 1)), "{run}");
    run.json()
}

fn issues_of(report: &Value, kind: &str) -> Vec<Value> {
    let issues = report["issues"].as_array().expect("a report has issues").iter();
    issues.filter(|issue| issue["issue_type"] == kind).cloned().collect()
}

/// Checks that doctor repeatedly reports the fault with all its members. Then runs the fix.
#[track_caller]
fn check(site: &Site, expect: &ExpectedIssue) -> Value {
    let report = doctor(site);
    let found = issues_of(&report, expect.kind);
    let [issue] = found.as_slice() else {
        let all: Vec<&Value> =
            report["issues"].as_array().unwrap().iter().map(|issue| &issue["issue_type"]).collect();
        panic!("{} issues {} of {all:?}\n{report:#}", found.len(), expect.kind);
    };
    let kind = expect.kind;
    assert_eq!(issue["severity"], expect.severity, "{kind}");
    assert_eq!(issue["tool_id"].as_str(), expect.tool, "{kind}");
    assert_eq!(issue["file"].as_str().unwrap_or_default(), expect.file, "{kind}");
    let detail = issue["detail"].as_str().unwrap();
    assert!(!detail.is_empty() && !detail.ends_with('.') && !detail.contains('\n'), "{kind}: {detail}");
    let root = site.workspace.path().to_str().unwrap();
    assert!(!detail.contains(root), "{kind} names an absolute path: {detail}");
    assert_eq!(issue["fingerprint"].as_str().map(str::len), Some(64), "{kind}");
    assert_eq!(issues_of(&doctor(site), kind)[0]["fingerprint"], issue["fingerprint"], "{kind}");
    type_fix(site, kind, issue["fix"].as_str().unwrap());
    issue.clone()
}

/// Runs a fix in a shell in the workspace directory. Its fake editor only checks that the file exists.
#[track_caller]
fn type_fix(site: &Site, kind: &str, fix: &str) {
    let folder = site.workspace.home().join("programs");
    fs::create_dir_all(&folder).unwrap();
    let look = folder.join("look");
    fs::write(&look, "#!/bin/sh\nfor last; do :; done\ntest -f \"$last\" || exit 99\n").unwrap();
    fs::set_permissions(&look, PermissionsExt::from_mode(0o755)).unwrap();
    let link = folder.join("brigade");
    if !link.exists() {
        std::os::unix::fs::symlink(brigade_binary(), &link).unwrap();
    }
    let typed = Command::new("sh")
        .args(["-c", fix])
        .current_dir(site.workspace.path())
        .env_clear()
        .env("PATH", format!("{}:{}", folder.display(), brigade_tests::PATH))
        .env("HOME", site.workspace.home())
        .env("EDITOR", "look")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&typed.stderr).into_owned();
    // A command that shows the problem may exit with 1. An invalid command line exits with 2 or more.
    assert!(
        matches!(typed.status.code(), Some(0 | 1)),
        "{kind}: `{fix}` ended with {}\n{said}",
        typed.status
    );
}

/// A fault: the expected issue, and the function that creates it.
type Fault = (ExpectedIssue, fn(&Site));

/// Creates each fault in a workspace; the first one also in another, at a different path, which must report the same.
#[track_caller]
fn check_all(faults: &[Fault]) {
    for (at, (expect, make)) in faults.iter().enumerate() {
        let fingerprints: BTreeSet<String> = (0..if at == 0 { 2 } else { 1 })
            .map(|_| {
                let site = healthy();
                make(&site);
                check(&site, expect)["fingerprint"].as_str().unwrap().to_owned()
            })
            .collect();
        assert_eq!(fingerprints.len(), 1, "{}: the fingerprint depends on the place", expect.kind);
    }
}

#[test]
fn faults_of_the_catalog_are_found() {
    check_all(&[
        (expected("config", "error", "tool", TOOLS), |site| with_lines(site, "family = \"nonsense\"")),
        (expected("unknown_key", "warning", "tool", TOOLS), |site| with_lines(site, "descripton = \"x\"")),
        (expected("config_warning", "warning", "tool", TOOLS), |site| {
            with_lines(site, "supported_harnesses = [\"cluade\"]");
        }),
    ]);
    let site = healthy();
    site.workspace.remove(TOOLS);
    let issue = issues_of(&doctor(&site), "config").remove(0);
    assert_eq!(issue["fix"], "brigade tools init");
    assert_eq!(issue["help"], "brigade tools init");
    assert_eq!(issue["labels"][0]["file"], issue["file"]);
    type_fix(&site, "config", "brigade tools init");
}

#[test]
fn the_fix_of_an_orphan_keeps_edited_files() {
    let site = healthy();
    let lines = "supported_harnesses = [\"claude\", \"codex\"]\nprojections = { claude = \".claude/commands/tool.md\", \
                 codex = \".codex/skills/tool/SKILL.md\" }";
    with_lines(&site, lines);
    site.json(["apply", "--all"]).expect(0);
    let edited = site.workspace.read_text(".codex/skills/tool/SKILL.md") + "mine\n";
    site.workspace.write(".codex/skills/tool/SKILL.md", &edited);
    // The catalog no longer names harnesses, so all targets are obsolete.
    with_lines(&site, "");
    let orphans = issues_of(&doctor(&site), "orphaned_projection");
    let fixes: Vec<&str> = orphans.iter().map(|issue| issue["fix"].as_str().unwrap()).collect();
    assert_eq!(fixes, ["brigade tools apply --all --prune", "brigade tools plan tool"]);
    fixes.iter().for_each(|fix| type_fix(&site, "orphaned_projection", fix));
    assert!(!site.workspace.exists(".claude/commands/tool.md"));
    assert_eq!(site.workspace.read_text(".codex/skills/tool/SKILL.md"), edited);
}

const HELPER: &str = "[[runtime]]\nid = \"helper\"\nname = \"Helper\"\ncommand = \"sleep 600\"\n";

/// Makes the tool need a runtime, configured with additional lines.
fn with_runtime(site: &Site, lines: &str) {
    with_lines(site, "runtime_id = \"helper\"\nrequires_runtime = true");
    site.workspace.write(RUNTIMES, format!("{HELPER}{lines}"));
}

#[test]
fn a_port_that_another_program_has_is_found() {
    let helper = |kind, severity| expected(kind, severity, "helper", RUNTIMES);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let site = healthy();
    site.workspace.write(RUNTIMES, format!("{HELPER}port = {port}\n"));
    check(&site, &helper("runtime_port_conflict", "warning"));
}

/// A started runtime that is healthy while a file exists. It is stopped at the end of the test.
struct StartedRuntime<'s>(&'s Site);

impl<'s> StartedRuntime<'s> {
    fn new(site: &'s Site) -> StartedRuntime<'s> {
        with_runtime(site, "health_command = \"test -f healthy\"\n");
        site.workspace.write("healthy", "");
        site.json(["runtime", "start", "helper"]).expect(0);
        StartedRuntime(site)
    }
}

impl Drop for StartedRuntime<'_> {
    fn drop(&mut self) {
        let _ = self.0.tools(["runtime", "stop", "helper"]);
    }
}

#[test]
fn runtimes_that_do_not_run_as_they_should_are_found() {
    let helper = |kind| expected(kind, "warning", "helper", RUNTIMES);
    let needed = |kind| expected(kind, "warning", "tool", TOOLS);
    let site = healthy();
    let started = StartedRuntime::new(&site);
    site.json(["runtime", "stop", "helper"]).expect(0);
    check(&site, &needed("runtime_stopped"));
    assert_eq!(issues_of(&doctor(&site), "runtime_stopped").len(), 0, "its fix mends it");
    for expect in [needed("runtime_unhealthy"), helper("runtime_health_failed")] {
        site.workspace.remove("healthy");
        // The fix stops an unhealthy runtime, and does not start it again until it is healthy.
        check(&site, &expect);
        site.workspace.write("healthy", "");
        site.json(["runtime", "start", "helper"]).expect(0);
    }
    let pid = site.workspace.read_text(".brigade/tools/runtime/helper.pid").trim().to_owned();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    until("end of the process", || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
        (state.is_empty() || state.starts_with('Z')).then_some(())
    });
    check(&site, &helper("runtime_stale_pid"));
    assert_eq!(issues_of(&doctor(&site), "runtime_stale_pid").len(), 0, "its fix mends it");
    drop(started);
}

/// Makes a stored call older.
fn older(site: &Site, file: &str) {
    let text = site.workspace.read_text(file);
    let year =
        text.find("\"created_at\"").and_then(|at| text[at..].find("20").map(|more| at + more)).unwrap();
    let aged = text.replace(&text[year..year + 4], "2021");
    site.workspace.write(file, aged);
}

#[test]
fn a_failed_call_without_its_receipt_is_found() {
    let site = healthy();
    site.workspace.write("bin/tool.sh", "exit 3\n");
    // Issue 45: with its receipt, the run is the only issue.
    let receipt = site.receipt_of("tool", "{}");
    site.workspace.remove(format!(".brigade/tools/runs/{}.json", receipt["id"].as_str().unwrap()));
    let issue = check(&site, &expected("call_failed", "warning", "tool", ""));
    assert!(issue["call_id"].as_str().is_some_and(|id| id.starts_with("call-")), "{issue:#}");
}

#[test]
fn a_call_whose_runner_was_killed_is_found() {
    let site = healthy();
    site.workspace.write("bin/tool.sh", "echo $PPID > started\nexec sleep 600\n");
    let id = site.approved("tool", "{}");
    let mut runner = site.brigade.command(["tools", "call", "run", &id]).spawn().unwrap();
    until("start of the tool", || site.workspace.exists("started").then_some(()));
    runner.kill().unwrap();
    runner.wait().unwrap();
    let issue = check(&site, &expected("call_interrupted", "warning", "tool", ""));
    assert_eq!(issue["call_id"], *id);
}

#[test]
fn runs_that_need_someone_are_found() {
    let tool = |kind, severity| expected(kind, severity, "tool", "");
    let run = |body: &str, lines: &str| {
        let site = healthy();
        site.workspace.write("bin/tool.sh", body);
        with_lines(&site, lines);
        let receipt = site.receipt_of("tool", "{}");
        (site, receipt["id"].as_str().unwrap().to_owned())
    };
    let (site, id) = run("exit 3\n", "");
    let issue = check(&site, &tool("run_failed", "warning"));
    assert_eq!(issue["run_id"], *id);
    site.workspace.write("schemas/tool.json", r#"{"type":"object","required":["a"]}"#);
    check(&site, &tool("run_replay_blocked", "info"));
    fs::remove_file(site.workspace.join(format!(".brigade/tools/runs/{id}.stdout.log"))).unwrap();
    check(&site, &tool("run_missing_log", "warning"));

    let (site, _) = run("exec sleep 600\n", "timeout = 1");
    check(&site, &tool("run_timed_out", "warning"));

    let (site, id) = run("echo hello\n", "");
    let path = format!(".brigade/tools/runs/{id}.json");
    site.workspace.replace(&path, "\"exit_code\": 0", "\"exit_code\": 1");
    let issue =
        check(&site, &ExpectedIssue { file: "", ..expected("run_ledger_broken", "error", "", "") }.at(&path));
    assert_eq!(issue["run_id"], *id);
    site.workspace.write(&path, "{");
    check(&site, &expected("run_receipt_invalid", "warning", "", "").at(&path));
}

impl ExpectedIssue {
    /// Sets a file name that is known only during the test.
    fn at(self, file: &str) -> ExpectedIssue {
        ExpectedIssue { file: String::leak(file.to_owned()), ..self }
    }
}

#[test]
fn a_failed_run_of_an_mcp_tool_is_found() {
    let site = healthy();
    let receipt = r#"{"id":"run-1","call_id":"call-1","tool_id":"tool","family":"mcp","status":"failed","args":{},"started_at":"2026-11-21T20:00:00+00:00","timed_out":false}"#;
    site.workspace.write(".brigade/tools/runs/run-1.json", receipt);
    let issue = check(&site, &expected("mcp_execution_failed", "warning", "tool", ""));
    assert_eq!(issue["name"], "tool_mcp_execution_failed");
}

/// Returns a workspace with a call that waits for a checkpoint.
fn waiting(ask: &str) -> Site {
    let body = format!(
        "cd \"$BRIGADE_TOOL_CHECKPOINT_DIR\"\n\
         echo '{ask}' > one.json\n"
    );
    let site = Site::script(&body);
    let id = site.approved("tool", "{}");
    site.run_call(&id).expect(0);
    site
}

#[test]
fn checkpoints_that_need_someone_are_found() {
    const ASK: &str = r#"{"id":"gate","reason":"look","choices":["yes"]}"#;
    let tool = |kind, severity| expected(kind, severity, "tool", "");
    let site = waiting(r#"{"id":"gate","reason":"look","expires_at":"2021-01-01T00:00:00Z"}"#);
    check(&site, &tool("checkpoint_expired", "warning"));

    let site = waiting(ASK);
    // The journal counts, not the file next to it.
    older(&site, CALLS);
    check(&site, &tool("checkpoint_stale", "warning"));

    let site = waiting(ASK);
    site.workspace.write("bin/tool.sh", "echo something else\n");
    check(&site, &tool("checkpoint_blocked", "warning"));

    let site = waiting(ASK);
    site.json(["checkpoint", "reject", "gate", "--reason", "no"]).expect(0);
    check(&site, &tool("checkpoint_rejected", "info"));

    // Only v0.30 left such locks.
    let site = healthy();
    let failed = r#"{"id":"gate","status":"failed","tool_id":"tool","call_id":"call-1","run_id":"run-1","reason":"look",
        "requested_action":"review","prompt":"","context":{},"choices":[],"selected_choice":null,
        "created_at":"2026-11-21T20:00:00+00:00","expires_at":null,"reviewed_at":null,"review_reason":null,
        "resume_run_id":null}"#;
    site.workspace.write(".brigade/tools/checkpoints/gate.json", failed);
    check(&site, &tool("checkpoint_failed", "warning"));

    let site = healthy();
    site.workspace.write(".brigade/tools/checkpoints/odd name.json", "{");
    check(&site, &expected("checkpoint_invalid", "warning", "", ".brigade/tools/checkpoints/odd name.json"));
}

#[test]
fn a_fix_can_be_typed_in_any_directory() {
    let site = healthy();
    with_lines(&site, "source_path = \"gone.md\"");
    site.workspace.remove(POLICY);
    let root = site.workspace.path().to_str().unwrap().to_owned();
    let fixes = |brigade: &brigade_testkit::Brigade, words: &[&str]| -> Vec<String> {
        let report = brigade.run(["tools", "doctor", "--json"].iter().chain(words)).json();
        let issues = report["issues"].as_array().unwrap().iter();
        issues.map(|issue| issue["fix"].as_str().unwrap().to_owned()).collect()
    };
    let here = fixes(&site.brigade, &[]);
    assert_eq!(here[1], "brigade tools policy init");
    assert!(here[0].ends_with(" .brigade/tools.toml"), "{here:?}");
    let below = fixes(&site.brigade.clone().current_dir(site.workspace.join("bin")), &[]);
    assert_eq!(below[1], "brigade tools policy init");
    assert!(below[0].ends_with(&format!(" {root}/.brigade/tools.toml")), "{below:?}");
    let elsewhere = fixes(&site.brigade.clone().current_dir("/"), &["--target", &root]);
    assert_eq!(elsewhere[1], format!("brigade --target {root} tools policy init"));
    assert!(elsewhere[0].ends_with(&format!(" {root}/.brigade/tools.toml")), "{elsewhere:?}");
}
