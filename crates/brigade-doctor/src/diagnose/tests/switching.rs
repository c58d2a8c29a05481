//! Tests what is reported as different in a workspace of v0.30.

use brigade_call::ADOPTED_STATUS;
use brigade_catalog::Runtimes;

use super::*;

/// Returns the issues about the switch, as type and detail.
fn switches(snapshot: Snapshot<'_>) -> Vec<(&'static str, String)> {
    let issues = diagnose(Snapshot { is_of_v030: true, ..snapshot });
    let switches = issues.into_iter().filter(|issue| issue.kind.code().starts_with("switch_"));
    switches.map(|issue| (issue.kind.code(), issue.detail)).collect()
}

#[test]
fn a_blocked_mcp_tool_is_named_with_missing_fields() {
    let entry = "[[tool]]\nid = \"say\"\nname = \"Say\"\nfamily = \"mcp\"\ncommand = \"server\"\n\
        runtime_id = \"voice\"\nmcp_tool_name = \"say\"\ninput_schema_path = \"say.json\"\neffects = [\"network\"]\n";
    let catalog = parse(entry);
    let detail = "v0.30 runs it without these; here its calls are blocked until the entry has them: `timeout = 60`, \
        `approval_mode = \"on-request\"`";
    assert_eq!(switches(of_catalog(&catalog))[0], ("switch_mcp", detail.to_owned()));
    let whole = format!("{entry}timeout = 5\napproval_mode = \"always\"\n");
    let details = switches(of_catalog(&parse(&whole)));
    assert!(
        !details.iter().any(|(_, detail)| detail.starts_with("v0.30 runs it without these")),
        "{details:?}"
    );
}

#[test]
fn an_argument_with_the_name_of_a_secret_is_named() {
    let entry = format!("{GREET}argument_template = {{ key = \"{{api_key}}\" }}\n");
    let schema = r#"{"type":"object","properties":{"api_key":{"type":"string","enum":["a"]},"max_tokens":{"type":"integer"}}}"#;
    let files = ToolFiles { input_schema: sound(schema), ..ToolFiles::default() };
    let catalog = parse(&entry);
    let found = switches(of_tools(&catalog, Some(&files), &[]));
    let secrets: Vec<&str> =
        found.iter().map(|(_, detail)| detail.as_str()).filter(|it| it.contains("a secret")).collect();
    assert!(matches!(secrets.as_slice(), [one] if one.ends_with(": `api_key`")), "{found:?}");
}

#[test]
fn calls_that_cannot_be_approved_are_counted_apart() {
    let catalog = parse(GREET);
    let adopted = |id: &str, was_approved: bool| {
        let mut call = call(id, CallStatus::Pending);
        if was_approved {
            call.extra.insert(ADOPTED_STATUS.to_owned(), Json::from("approved"));
        }
        call
    };
    let calls = [adopted("a", true), adopted("b", true), adopted("c", false), adopted("d", false)];
    let changes = [vec![], vec!["the program is gone".to_owned()], vec!["`all`".to_owned()], vec![]];
    let runner = RunnerState::NotChecked;
    let state = |(call, changes)| CallState { call, changes, is_only_moved: false, runner };
    let found =
        switches(Snapshot { calls: calls.iter().zip(changes).map(state).collect(), ..of_catalog(&catalog) });
    let details: Vec<&str> = found
        .iter()
        .filter(|(kind, _)| *kind == "switch_approvals")
        .map(|(_, detail)| detail.as_str())
        .collect();
    let [again, lost] = &details[..] else { panic!("{details:?}") };
    let id = |index: usize| calls[index].id.to_string();
    assert_eq!(*again, format!("1 call must be approved again: {}", id(0)));
    let expected = format!("2 calls of v0.30 cannot be approved, so queue them again: {}, {}", id(1), id(2));
    assert_eq!(*lost, expected);
}

#[test]
fn lost_environments_count_tools_and_runtimes() {
    let catalog = parse(GREET);
    let runtimes = "[[runtime]]\nid = \"web\"\nname = \"Web\"\ncommand = \"serve\"\n";
    let runtimes = Runtimes::parse("runtimes.toml", Level::Project, runtimes.as_bytes());
    let runtimes = FoundRuntimes { config: ConfigFile::Read(&runtimes), facts: &[], left: &[] };
    let state = PolicyState::parse("policy.toml", Some(b""));
    let policy = Some(PolicyFacts { state: &state, environment: &|_: &str| false });
    let found = switches(Snapshot { policy, runtimes: Some(runtimes), ..of_catalog(&catalog) });
    let detail = "1 tool and 1 runtime get only the usual variables and the labels of their entries";
    assert!(found.contains(&("switch_environment", detail.to_owned())), "{found:?}");
}

/// Issue 13: doctor names everything that behaves differently.
#[test]
fn differences_of_runs_are_reported_once() {
    let mcp = "\n[[tool]]\nid = \"say\"\nname = \"Say\"\nfamily = \"mcp\"\ncommand = \"server\"\ntimeout = 5\n\
        effects = [\"network\"]\npermissions = [\"speak\"]\napproval_mode = \"always\"\nruntime_id = \"voice\"\n\
        mcp_tool_name = \"say\"\ninput_schema_path = \"say.json\"\n";
    let text = format!("{GREET}{mcp}");
    let found = switches(of_catalog(&parse(&text)));
    let details = |kind: &str| -> Vec<&str> {
        found.iter().filter(|(code, _)| *code == kind).map(|(_, detail)| detail.as_str()).collect()
    };
    assert_eq!(
        details("switch_mcp"),
        ["a run whose answer has `isError` has failed, and v0.30 completes it: 1 MCP tool"]
    );
    assert_eq!(
        details("switch_environment"),
        [
            "standard input is empty, what a run leaves in the background is ended, and 16 MiB of each output are kept: \
          1 tool"
        ]
    );
}
