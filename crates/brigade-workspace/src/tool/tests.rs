use super::*;
use crate::CATALOG;
use crate::testing::{Bench, entry};

/// Reads the facts of the tool `go`, and calls a function with them.
fn with_facts<T>(bench: &Bench, depth: Depth, get: impl FnOnce(&ToolFacts<'_>) -> T) -> T {
    let config = bench.config();
    let reader = FactReader::new(bench.host(), &config);
    get(&reader.read(config.catalog.tool("go").unwrap(), depth))
}

/// Returns an entry of an MCP tool with these lines.
fn mcp(lines: &str) -> String {
    format!("[[tool]]\nid = 'go'\nname = 'Go'\nfamily = 'mcp'\n{lines}\n")
}

#[test]
fn servers_are_read_from_manifest_then_schema_then_source() {
    let servers = |names: &str| format!("{{\"mcpServers\": {{{names}}}}}");
    let (one, two) = (servers("\"a\": {\"command\": \"x\"}"), servers("\"b\": {}, \"c\": {}"));
    let read = |lines: &str| {
        let bench =
            Bench::new(&[(CATALOG, &mcp(lines)), ("one.json", &one), ("two.json", &two), ("bad.json", "{")]);
        with_facts(&bench, Depth::Summary, |facts| {
            let summary = facts.summary();
            (
                summary.mcp_server_ids.unwrap_or_default().concat(),
                summary.tool_count,
                facts.files.mcp_error.is_some(),
            )
        })
    };
    let is = |ids: &str, count, error| (ids.to_owned(), count, error);
    assert_eq!(read("manifest_path = 'one.json'\nsource_path = 'two.json'"), is("a", 1, false));
    assert_eq!(read("schema_path = 'two.json'\nsource_path = 'one.json'"), is("bc", 2, false));
    assert_eq!(read("source_path = 'two.json'"), is("bc", 2, false));
    assert_eq!(read(""), is("", 1, false));
    // A missing manifest is reported elsewhere, and nothing else is read instead.
    assert_eq!(read("manifest_path = 'gone.json'\nsource_path = 'two.json'"), is("", 1, false));
    assert_eq!(read("manifest_path = 'bad.json'"), is("", 1, true));
    assert_eq!(read("source_path = 'bad.json'"), is("", 1, true));
    assert_eq!(read("schema_path = 'bad.json'"), is("", 1, false));
    assert_eq!(read("source_path = 'bad.json'\nruntime_id = 'r'\nmcp_tool_name = 't'"), is("", 1, false));
}

#[test]
fn only_tools_of_mcp_have_servers() {
    let bench = Bench::new(&[
        (CATALOG, &entry("go", "command = 'x'\nmanifest_path = 'one.json'")),
        ("one.json", "{\"mcpServers\": {\"a\": {}}}"),
    ]);
    assert!(with_facts(&bench, Depth::Summary, |facts| facts.summary().mcp_server_ids).is_none());
}

#[test]
fn a_plan_reads_no_manifest_and_no_program() {
    let lines =
        "command = './go'\nmanifest_path = 'm.json'\nsource_path = 's.md'\noutput_schema_path = 'o.json'";
    let bench =
        Bench::new(&[(CATALOG, &entry("go", lines)), ("m.json", "{}"), ("s.md", "text"), ("o.json", "{")]);
    let summary = with_facts(&bench, Depth::Summary, |facts| facts.files.clone());
    let plan = with_facts(&bench, Depth::Plan, |facts| facts.files.clone());
    assert!(matches!(summary.manifest, FileFact::Present(_)) && plan.manifest == FileFact::NotNamed);
    assert_eq!(summary.source, plan.source);
    // A plan binds the bytes of the output schema, whatever they are.
    assert!(matches!(&*plan.output_schema, SchemaFact::File(FileFact::Present(_))));
    assert!(matches!(&*summary.output_schema, SchemaFact::NotJson(_)));
}

#[test]
fn a_missing_schema_has_the_nearest_name() {
    let bench = Bench::on_disk(&[
        (CATALOG, &entry("go", "command = 'x'\ninput_schema_path = 'schemas/ni.json'")),
        ("schemas/in.json", "{}"),
    ]);
    let near = with_facts(&bench, Depth::Plan, |facts| facts.files.near_schema.clone());
    assert_eq!(near.as_deref(), Some("schemas/in.json"));
}

#[test]
fn fields_that_no_plan_reads_may_not_lead_out_either() {
    let lines =
        "command = 'x'\nmanifest_path = '../m.json'\nschema_path = 'gone.json'\nhealth_path = '/srv/h.json'";
    let bench = Bench::new(&[(CATALOG, &entry("go", lines))]);
    let outside = with_facts(&bench, Depth::Plan, |facts| facts.files.outside.clone());
    assert_eq!(outside, ["manifest_path", "health_path"]);
    bench.write(crate::POLICY, "[paths]\noutside = ['/srv']\n");
    let outside = with_facts(&bench, Depth::Plan, |facts| facts.files.outside.clone());
    assert_eq!(outside, ["manifest_path"]);
}

#[test]
fn a_target_of_an_unsupported_harness_is_still_refused() {
    let lines = "command = 'x'\nsupported_harnesses = ['claude']\n\
                 projections = { claude = '../a.md', codex = '.git/b.md', cursor = 'ok.mdc', qwen = '' }";
    let bench = Bench::new(&[(CATALOG, &entry("go", lines))]);
    let refused = with_facts(&bench, Depth::Summary, |facts| facts.files.refused_targets.clone());
    assert_eq!(refused, [("codex".to_owned(), PathRefusal::InGit)]);
}

#[test]
fn the_scripts_of_a_command_are_searched_once() {
    let bench = Bench::on_disk(&[(CATALOG, &entry("go", "command = 'sh bin/a.sh'")), ("bin/a.sh", "")])
        .with_variables(&[("PATH", "/bin:/usr/bin")]);
    let config = bench.config();
    let facts = FactReader::new(bench.host(), &config);
    let reader = facts.reader(config.catalog.tool("go").unwrap());
    let look = || facts.scripts(&reader, bench.context.fs.root());
    let first = look();
    assert_eq!((first.missing, first.paths.last()), (None, Some(&bench.path("bin/a.sh"))));
    bench.context.fs.remove(&"bin/a.sh".parse().unwrap()).unwrap();
    assert_eq!(look().missing, None, "it is shared while the facts are read");
    let again = FactReader::new(bench.host(), &config);
    assert_eq!(again.scripts(&reader, bench.context.fs.root()).missing.as_deref(), Some("bin/a.sh"));
}

#[test]
fn facts_of_many_tools_keep_their_order() {
    let catalog: String = (0..50).map(|index| entry(&format!("t{index:02}"), "command = 'x'")).collect();
    let bench = Bench::new(&[(CATALOG, &catalog)]);
    let config = bench.config();
    let tools: Vec<&Tool> = config.catalog.tools().iter().rev().collect();
    let all = FactReader::new(bench.host(), &config).read_all(&tools);
    assert!(all.iter().map(|facts| facts.tool.id.as_str()).eq(tools.iter().map(|tool| tool.id.as_str())));
}
