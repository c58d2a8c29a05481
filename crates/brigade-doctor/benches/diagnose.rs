//! Measures a diagnosis of 1,000 tools, 10,000 calls and 10,000 runs, all gathered before.

use std::fmt::Write as _;

use brigade_call::{Call, Receipt};
use brigade_catalog::{Catalog, Level};
use brigade_core::{Json, NeutralWords, Timestamp};
use brigade_doctor::{
    CallState, ConfigFile, PolicyFacts, RunState, RunnerState, Snapshot, ToolFiles, ToolIssues, ToolState,
    diagnose, diagnose_tool, import,
};
use brigade_policy::PolicyState;

fn main() {
    divan::main();
}

const POLICY: &[u8] = b"allowed_families = [\"script\"]\ndenied_effects = [\"network\"]\nmax_timeout = 60\n\
    env_bindings = { SAFE_ENV = \"SAFE_ENV\" }\n";

fn catalog() -> Catalog {
    let mut text = String::new();
    for number in 0..1_000 {
        let effect = if number % 10 == 0 { "network" } else { "local-read" };
        write!(
            text,
            "[[tool]]\nid = \"tool-{number}\"\nname = \"Tool\"\nfamily = \"script\"\ncommand = \"python3 bin/x.py\"\n\
             source_path = \"x.md\"\ninput_schema_path = \"x.json\"\neffects = [\"{effect}\"]\ntimeout = 30\n\
             approval_mode = \"on-request\"\nenv_labels = [\"SAFE_ENV\"]\nargument_template = {{ path = \"{{path}}\" }}\n"
        )
        .expect("writing to a string cannot fail");
    }
    Catalog::parse("tools.toml", Level::Project, text.as_bytes())
}

fn status(number: usize) -> &'static str {
    ["pending", "completed", "completed", "completed", "failed"][number % 5]
}

fn call(number: usize) -> Call {
    let text = format!(
        r#"{{"id": "call-{number}", "status": "{}", "tool_id": "tool-{}", "family": "script",
            "created_at": "2026-01-01T00:00:00Z", "args": {{"path": "file-{number}", "depth": 3}}}}"#,
        status(number),
        number % 1_000
    );
    Call::from_record(Json::parse(&text).expect("it is JSON")).expect("it is a call").0
}

fn run(number: usize) -> RunState {
    let text = format!(
        r#"{{"id": "run-{number}", "status": "{}", "tool_id": "tool-{}", "family": "script", "call_id": "call-{number}",
            "started_at": "2026-01-01T00:00:00Z", "args": {{"path": "file-{number}", "depth": 3}}}}"#,
        status(number).replace("pending", "completed"),
        number % 1_000
    );
    RunState::from_receipt(
        &Receipt::from_json(Json::parse(&text).expect("it is JSON")).expect("it is a receipt"),
    )
}

#[divan::bench(args = ["diagnose", "import"])]
fn workspace(bencher: divan::Bencher<'_, '_>, what: &str) {
    let catalog = catalog();
    let state = PolicyState::parse("policy.toml", Some(POLICY));
    let calls: Vec<Call> = (0..10_000).map(call).collect();
    let runs: Vec<RunState> = (0..10_000).map(run).collect();
    let state_of =
        |call| CallState { call, changes: Vec::new(), is_only_moved: false, runner: RunnerState::NotChecked };
    let files = ToolFiles::default();
    let now = "2026-02-01".parse::<Timestamp>().expect("it is a date");
    let policy = Some(PolicyFacts { state: &state, environment: &|_: &str| true });
    let of_tools = || {
        let mut found = ToolIssues::default();
        for tool in catalog.tools() {
            let state = ToolState {
                catalog: &catalog,
                tool,
                files: Some(&files),
                home: None,
                projections: &[],
                policy,
                presence: None,
            };
            diagnose_tool(&state, now, &mut found);
        }
        found
    };
    let snapshot = || Snapshot {
        catalog: Some(ConfigFile::Read(&catalog)),
        tools: Some(of_tools()),
        policy,
        calls: calls.iter().map(state_of).collect(),
        runs: &runs,
        ..Snapshot::new(now)
    };
    let issues = diagnose(snapshot());
    match what {
        "diagnose" => bencher.bench_local(|| diagnose(snapshot())),
        _ => bencher.bench_local(|| import(&issues, &[], &NeutralWords, now)),
    }
}
