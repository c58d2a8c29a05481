//! Tests approved MCP calls through `execute`: the receipt, the logs, the sandbox.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test looks at processes and files itself, and fails when it cannot continue"
)]

#[path = "../../brigade-mcp/tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use brigade_call::{
    ApprovedBy, Caller, CodeFacts, DirectoryFact, FileFact, Objection, PinFact, PlanFacts, ProgramBinding,
    ProgramFact, ProjectionFacts, Purpose, RunStatus, RuntimeFact, SchemaFact, StartFacts, StartProgram,
    StartPurpose, VerifiedStart, plan, plan_start, verify,
};
use brigade_catalog::{Catalog, Level};
use brigade_core::json::to_json;
use brigade_core::{Fingerprint, Json, NeutralWords, SystemClock, Timestamp};
use brigade_exec::{
    Conversation, Execution, Executor, HostEnvironment, Logs, OpenedProgram, RunPaths, RunResult, Watch,
    execute,
};
use brigade_fs::{DiskFs, Fs};
use brigade_mcp::{ListedTool, McpErrorKind, Pin, PinRule};
use brigade_ops::upstreams::{ToolCall, list_live};
use brigade_policy::{CallFacts, Decision, PolicyState, decide};
use brigade_process::Discard;
use brigade_projection::ProjectionSummary;
use brigade_sandbox::installation_of;
use brigade_schema::Schema;
use common::python;

/// The results of a run.
struct RunOutcome {
    finished: RunResult,
    listed_tool: Option<ListedTool>,
    stdout: String,
    stderr: String,
}

impl RunOutcome {
    fn key(&self, key: &str) -> Json {
        self.finished.receipt.to_members().remove(key).unwrap_or_default()
    }
}

/// Plans, approves and runs a call of the fixture server.
fn run(faults: &str, tool_name: &str, args: &str, policy: &str, pin: Option<&Pin>) -> RunOutcome {
    let workspace = tempfile::tempdir().unwrap();
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/mcp/server.py");
    std::fs::copy(server, workspace.path().join("server.py")).unwrap();
    std::fs::create_dir(workspace.path().join("dropped")).unwrap();
    let fs = DiskFs::open(workspace.path()).unwrap();
    let entry = format!(
        r#"
        [[tool]]
        id = "say"
        name = "Say"
        family = "mcp"
        enabled = true
        command = "{} -S -E server.py {faults}"
        runtime_id = "voice"
        mcp_tool_name = "{tool_name}"
        input_schema_path = "schema.json"
        timeout = 20
        effects = ["local-read"]
        permissions = ["local-read"]
        approval_mode = "always"
        env_labels = ["VOICE"]
        argument_template = {{ text = "{{text}}" }}
        "#,
        python().display()
    );
    let catalog = Catalog::parse("tools.toml", Level::Project, entry.as_bytes());
    let tool = catalog.tool("say").unwrap();
    let policy = PolicyState::parse("policy.toml", Some(policy.as_bytes()));
    let decision = opened(decide(&policy, &CallFacts::from_tool(tool), &|_: &str| true));
    let program = OpenedProgram::open(python()).unwrap();
    let schema = Json::parse(r#"{"type": "object"}"#).unwrap();
    let plan = plan(PlanFacts {
        root: "/work".into(),
        tool,
        installs: None,
        near_schema: None,
        entry_errors: Vec::new(),
        misspelt: BTreeMap::new(),
        args: Ok(Json::parse(args).unwrap()),
        input_schema: SchemaFact::Sound {
            schema: std::sync::Arc::new(Schema::compile(&schema.to_serde()).unwrap()),
            fingerprint: Fingerprint::of_bytes(b"schema"),
        },
        output_schema: FileFact::NotNamed,
        examples: FileFact::NotNamed,
        source: FileFact::NotNamed,
        directory: DirectoryFact::Present,
        real_directory: None,
        outside: Vec::new(),
        program: ProgramFact::Found(ProgramBinding {
            path: python().display().to_string(),
            sha256: program.fingerprint(),
        }),
        home: None,
        files: BTreeMap::new(),
        code: CodeFacts::default(),
        health: Default::default(),
        pin: PinFact::None,
        server: None,
        projections: ProjectionFacts {
            summary: ProjectionSummary::default(),
            blockers: Vec::new(),
            fingerprint: Fingerprint::of_bytes(b""),
        },
        policy: decision.to_document(&policy, &tool.env_labels),
        decision,
        bound_values: Vec::new(),
        ways: Default::default(),
        absent: Default::default(),
        behind_links: Vec::new(),
        modules: Default::default(),
        builtin: None,
        caller: Caller::CommandLine,
        session: None,
    });
    let now = Timestamp::from_unix_micros(0);
    let queued = plan.to_call(now, None, |_| false);
    let binding = plan.approvable(&queued).unwrap();
    let call = queued.approve(binding, ApprovedBy::command_line(), now).unwrap();
    let call = verify(call, plan, RuntimeFact::NotNeeded, Purpose::Run, now).unwrap();
    let variables = [("VOICE_OF_THE_HOST", "voice-EXAMPLE-secret"), ("HOME", "/root"), ("STRANGER", "x")];
    let environment = HostEnvironment::new(variables.map(|(name, value)| (name.into(), value.into())));
    let rel = |path: &str| path.parse::<brigade_fs::RelPath>().unwrap();
    let logs = Logs {
        stdout: fs.create(&rel("stdout.log"), 0o600).unwrap(),
        stderr: fs.create(&rel("stderr.log"), 0o600).unwrap(),
    };
    let execution = Execution {
        call: &call,
        run_id: &"run-1".parse().unwrap(),
        started_at: now,
        program: Some(&program),
        fs: &fs,
        directory: workspace.path(),
        input: brigade_process::Input::Null,
        environment: &environment,
        secrets: &[],
        paths: RunPaths {
            receipt: "run-1.json".to_owned(),
            stdout_log: "stdout.log".to_owned(),
            stderr_log: "stderr.log".to_owned(),
        },
        watch: &Watch::Nothing,
        progress: None,
        checkpoint_dir: &rel("dropped"),
        cancel: None,
        clock: &SystemClock,
        speller: &NeutralWords,
        postcondition: None,
    };
    let mut peer = ToolCall::new(&call, pin.map_or(PinRule::None, PinRule::Holds), None).unwrap();
    let finished = execute(&execution, logs, Executor::Converse(&mut peer));
    let listed_tool = peer.exchange().tool.clone();
    let log = |name: &str| std::fs::read_to_string(workspace.path().join(name)).unwrap();
    RunOutcome { finished, listed_tool, stdout: log("stdout.log"), stderr: log("stderr.log") }
}

/// Grants the installation of Python, as the reader of facts does.
fn opened(mut decision: Decision) -> Decision {
    let paths = installation_of(python()).into_iter();
    decision.sandbox.grants.program_paths = paths.map(|path| path.display().to_string()).collect();
    decision
}

const POLICY: &str = "env_bindings = { VOICE = \"VOICE_OF_THE_HOST\" }\n";

#[test]
fn an_approved_call_is_answered_and_receipted() {
    let ran = run("trace", "echo", r#"{"text": "good morning"}"#, POLICY, None);
    assert_eq!(ran.finished.failure, None);
    assert_eq!(ran.finished.status, RunStatus::Completed);
    assert_eq!(ran.key("mcp_response_text"), Json::from("good morning"));
    assert_eq!(ran.key("mcp_server_id"), Json::from("voice"));
    assert_eq!(ran.key("mcp_request_id"), Json::from(3));
    assert_eq!(ran.key("mcp_error_type"), Json::Null);
    assert_eq!(ran.key("status"), Json::from("completed"));
    assert_eq!(ran.key("exit_code"), Json::from(0));
    assert!(!ran.key("argv").to_compact().contains("good morning"), "arguments are sent, not appended");
    assert_eq!(ran.stdout.lines().count(), 3);
    assert!(ran.stderr.ends_with("tools/call 3\n"));
    assert_eq!(ran.listed_tool.unwrap().name, "echo");
}

#[test]
fn bound_values_reach_the_server_and_nothing_else() {
    let ran = run("", "env", r#"{"text": "x"}"#, POLICY, None);
    assert_eq!(ran.finished.status, RunStatus::Completed);
    assert!(ran.stdout.contains("VOICE=[redacted]"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("STRANGER"));
    let kept = format!("{}{}{:?}", ran.stdout, ran.stderr, ran.finished);
    assert!(!kept.contains("voice-EXAMPLE-secret"));
}

#[test]
fn a_bound_value_in_a_listing_is_not_kept() {
    let ran = run("leaks-in-listing", "echo", r#"{"text": "x"}"#, POLICY, None);
    assert_eq!(ran.finished.status, RunStatus::Completed);
    let tool = ran.listed_tool.as_ref().unwrap();
    assert_eq!(tool.description.as_deref(), Some("Says it again. The voice is [redacted]."));
    let pin = Pin::new(tool, Timestamp::from_unix_micros(0));
    assert!(!format!("{:?}{}", ran.finished, to_json(&pin).unwrap().to_compact()).contains("voice-EXAMPLE"));
    let ran = run("leaks-in-listing", "echo", r#"{"text": "x"}"#, POLICY, Some(&pin));
    assert_eq!(ran.finished.status, RunStatus::Completed);
}

#[test]
fn a_server_may_not_write_in_its_sandbox() {
    let policy = format!("{POLICY}[sandbox]\nmode = \"enforce\"\n");
    let ran = run("mark=written", "echo", r#"{"text": "x"}"#, &policy, None);
    assert_eq!(ran.finished.status, RunStatus::Failed);
    assert_eq!(ran.key("mcp_error_kind"), Json::from("server_ended"));
    assert_eq!(ran.key("mcp_error_type"), Json::from("mcp_execution_failed"));
    assert!(ran.stderr.contains("OSError") || ran.stderr.contains("PermissionError"), "{}", ran.stderr);
    assert_eq!(ran.key("sandbox").get("mode"), Some(&Json::from("enforce")));
    let ran = run("", "echo", r#"{"text": "x"}"#, &policy, None);
    assert_eq!(ran.finished.status, RunStatus::Completed, "{:?} {}", ran.finished.failure, ran.stderr);
}

#[test]
fn a_failure_is_one_sentence_everywhere() {
    let ran = run("rpc-error", "echo", r#"{"text": "x"}"#, POLICY, None);
    assert_eq!(ran.finished.status, RunStatus::Failed);
    let sentence = "the call was answered with error -32602: the argument is bad";
    assert_eq!(ran.finished.failure.as_deref(), Some(sentence));
    assert_eq!(ran.key("failure"), Json::from(sentence));
    assert_eq!(ran.key("mcp_response_text"), Json::from(sentence));
    assert_eq!(ran.key("mcp_error_kind"), Json::from("json_rpc_error"));
}

#[test]
fn a_changed_tool_is_not_called_until_pinned_again() {
    let listed = run("", "echo", r#"{"text": "x"}"#, POLICY, None).listed_tool.unwrap();
    let pin = Pin::new(&listed, Timestamp::from_unix_micros(0));
    let ran = run("", "echo", r#"{"text": "x"}"#, POLICY, Some(&pin));
    assert_eq!(ran.finished.status, RunStatus::Completed);
    let ran = run("added-parameter", "echo", r#"{"text": "x"}"#, POLICY, Some(&pin));
    assert_eq!(ran.finished.status, RunStatus::Failed);
    assert_eq!(ran.key("mcp_error_kind"), Json::from("pin_changed"));
    assert_eq!(ran.key("mcp_request_id"), Json::Null);
    let pin = Pin::new(&ran.listed_tool.unwrap(), Timestamp::from_unix_micros(0));
    let ran = run("added-parameter", "echo", r#"{"text": "x"}"#, POLICY, Some(&pin));
    assert_eq!(ran.finished.status, RunStatus::Completed);
}

#[test]
fn ending_a_lingering_server_does_not_fail_the_call() {
    let ran = run("stays", "echo", r#"{"text": "x"}"#, POLICY, None);
    assert_eq!(ran.finished.status, RunStatus::Completed);
    assert_eq!(ran.key("mcp_server_exit"), Json::from("ended: did not exit when its input was closed"));
}

#[test]
fn a_live_listing_is_under_the_same_policy() {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/mcp/server.py");
    let workspace = tempfile::tempdir().unwrap();
    std::fs::copy(server, workspace.path().join("server.py")).unwrap();
    let environment = HostEnvironment::new([("VOICE_OF_THE_HOST".into(), "voice-EXAMPLE-secret".into())]);
    let program = OpenedProgram::open(python()).unwrap();
    let entry = format!(
        "[[tool]]\nid = \"say\"\nname = \"Say\"\nfamily = \"mcp\"\nenabled = true\ntimeout = 20\n\
         effects = [\"local-read\"]\nenv_labels = [\"VOICE\"]\n\
         command = \"{} -S -E server.py leaks-in-listing trace\"\n",
        python().display()
    );
    let catalog = Catalog::parse("tools.toml", Level::Project, entry.as_bytes());
    let tool = catalog.tool("say").unwrap();
    let verified = |policy: &str, sha256: Fingerprint| {
        let policy = PolicyState::parse("policy.toml", Some(policy.as_bytes()));
        plan_start(StartFacts {
            purpose: StartPurpose::List,
            is_broken: false,
            command: tool.command.as_deref(),
            directory: workspace.path().to_owned(),
            directory_fact: DirectoryFact::Present,
            program: StartProgram::Found { path: python().to_owned(), sha256: Some(sha256) },
            home: None,
            decision: Some(opened(decide(&policy, &CallFacts::from_tool(tool), &|_: &str| true))),
            refuses_inline_code: None,
            unbound: Vec::new(),
            files: BTreeMap::new(),
            data: Vec::new(),
            bindings: BTreeMap::new(),
        })
    };
    let list = |start: &VerifiedStart| {
        let live = Conversation {
            start,
            program: &program,
            workspace: workspace.path(),
            environment: &environment,
            secrets: &[],
            timeout: Duration::from_secs(20),
            cancel: None,
        };
        list_live(&live, &mut Discard)
    };
    let enforced = format!("{POLICY}[sandbox]\nmode = \"enforce\"\n");
    let listing = list(&verified(&enforced, program.fingerprint()).unwrap());
    assert_eq!(listing.fault, None);
    assert_eq!(listing.tools.len(), 12);
    assert!(listing.request.is_none(), "nothing is called");
    assert!(!format!("{listing:?}").contains("voice-EXAMPLE"));
    let denied = format!("{POLICY}denied_effects = [\"local-read\"]\n");
    let objections = verified(&denied, program.fingerprint()).unwrap_err();
    assert!(matches!(&objections[..], [Objection::Policy(_)]), "{objections:?}");
    let other = list(&verified(&enforced, Fingerprint::of_bytes(b"another program")).unwrap());
    assert_eq!(other.fault.unwrap().kind, McpErrorKind::NotStarted);
    assert!(other.outcome.is_none());
}
