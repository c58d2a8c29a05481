use super::*;
use crate::testing::{Bench, entry};
use crate::{CATALOG, Depth, FactReader};

const LINES: &str = "command = 'sh go.sh hunter2-hunter2'\ndescription = 'Goes.'\nsource_path = 'docs/go.md'\n\
    schema_path = 'tools.json'\nmanifest_path = 'gone.json'\ninput_schema_path = 'in.json'\ncwd = 'sub'\n\
    projections = { claude = '.claude/commands/go.md' }\nsupported_harnesses = ['claude']\nauth_label = 'local-user'";

fn bench() -> Bench {
    let schema = r#"{"type": "object", "required": ["path"], "properties": {
        "path": {"type": "string", "description": "Where to, hunter2-hunter2."}, "deep": {"type": ["integer", "null"]}}}"#;
    Bench::new(&[
        (CATALOG, &entry("go", LINES)),
        (".brigade/tools/policy.toml", "env_bindings = { TOKEN = 'V' }\n"),
        ("docs/go.md", "text"),
        ("tools.json", r#"{"tools": [{}, {}, {}]}"#),
        ("in.json", schema),
    ])
    .with_variables(&[("V", "hunter2-hunter2")])
}

/// Calls a function with the facts of the tool.
fn with_facts<T>(bench: &Bench, get: impl FnOnce(&ToolFacts<'_>) -> T) -> T {
    let config = bench.config();
    let reader = FactReader::new(bench.host(), &config);
    get(&reader.read(config.catalog.tool("go").unwrap(), Depth::Summary))
}

#[test]
fn a_tool_in_a_list_has_absolute_paths_and_no_bound_value() {
    let bench = bench();
    let tool = with_facts(&bench, |facts| {
        ToolSummary::new(facts.tool, &facts.summary(), |path| bench.context.absolute(path))
    });
    assert_eq!(tool.source_path.as_deref(), Some("/memory/docs/go.md"));
    assert_eq!(tool.source_fingerprint, Some(Some(Fingerprint::of_bytes(b"text").to_hex())));
    assert_eq!((tool.schema_available, tool.manifest_available, tool.tool_count), (true, false, 3));
    assert_eq!(tool.projection_paths.unwrap()["claude"], "/memory/.claude/commands/go.md");
    assert_eq!(tool.projection_coverage.keys().collect::<Vec<_>>(), ["claude"]);
    assert_eq!((tool.origin.file.as_str(), tool.origin.line), (CATALOG, Some(1)));
    assert_eq!(tool.auth_label.as_deref(), Some("local-user"));
    assert!(!tool.command.unwrap().contains("hunter2"));
    assert!(tool.mcp.is_none() && tool.health_path.is_none());
}

#[test]
fn the_source_of_a_tool_without_one_is_left_out_and_a_missing_one_is_null() {
    for (lines, expect) in [
        ("command = 'x'", None),
        ("command = 'x'\nsource_path = 'gone.md'", Some(None)),
        ("command = 'x'\nsource_path = 'gone.md'\nfingerprint = 'abc'", Some(Some("abc".to_owned()))),
    ] {
        let bench = Bench::new(&[(CATALOG, &entry("go", lines))]);
        let found = with_facts(&bench, |facts| ToolSummary::new(facts.tool, &facts.summary(), str::to_owned));
        assert_eq!(found.source_fingerprint, expect, "{lines}");
    }
}

#[test]
fn a_described_tool_reads_back_with_both_parts() {
    let bench = bench();
    let tool = with_facts(&bench, |facts| DescribedTool::new(facts, str::to_owned));
    let json = to_json(&tool).unwrap();
    assert_eq!(json.get("tool_id").and_then(Json::as_str), Some("go"));
    assert_eq!(json.get("id").and_then(Json::as_str), Some("go"));
    let read: DescribedTool = from_json(&json).unwrap();
    assert_eq!(to_json(&read).unwrap(), json);
    assert!(from_json::<DescribedTool>(&Json::object::<&str>([])).is_err());
}

#[test]
fn arguments_are_described_in_words_and_without_bound_values() {
    let bench = bench();
    let all = with_facts(&bench, ArgumentDescription::all);
    let rows: Vec<(&str, bool)> = all.iter().map(|one| (one.name.as_str(), one.required)).collect();
    assert_eq!(rows, [("deep", false), ("path", true)]);
    assert!(all[1].kind.contains("string"), "{}", all[1].kind);
    assert!(
        all[1]
            .description
            .as_deref()
            .is_some_and(|text| text.starts_with("Where to") && !text.contains("hunter2"))
    );
    bench.write("in.json", "{");
    assert!(with_facts(&bench, ArgumentDescription::all).is_empty());
}

#[test]
fn a_contract_of_a_bare_entry_never_asks_and_has_none() {
    let bench = Bench::new(&[(CATALOG, &entry("go", "command = 'x'"))]);
    let contract = with_facts(&bench, |facts| Contract::new(facts.tool, str::to_owned));
    assert_eq!((contract.approval_mode, contract.has_contract), (ApprovalMode::Never, false));
    let with = with_facts(&self::bench(), |facts| Contract::new(facts.tool, str::to_owned));
    assert_eq!((with.cwd.as_deref(), with.has_contract), (Some("sub"), true));
    let health = ContractHealth::new(contract, Vec::new());
    assert_eq!(health.issue_count, 0);
}

#[test]
fn documents_of_an_entry_of_the_user_are_beside_its_file() {
    let lines = "command = 'x'\ninput_schema_path = 'in.json'";
    let bench = Bench::new(&[("home/.config/brigade/tools.toml", &entry("go", lines))]).with_home();
    let contract = with_facts(&bench, |facts| Contract::new(facts.tool, |path| bench.context.absolute(path)));
    assert_eq!(contract.input_schema_path.as_deref(), Some("/memory/home/.config/brigade/in.json"));
}

#[test]
fn a_line_of_a_list_needs_no_file() {
    let bench =
        Bench::new(&[(CATALOG, &(entry("go", LINES) + &entry("bad", "command = 7\nenabled = false")))]);
    let config = bench.config();
    let lines: Vec<ToolLine> = config.catalog.tools().iter().map(ToolLine::new).collect();
    let told: Vec<(&str, &str, bool, bool)> =
        lines.iter().map(|line| (&*line.id, &*line.description, line.enabled, line.broken)).collect();
    assert_eq!(told, [("go", "Goes.", true, false), ("bad", "", false, true)]);
}
