use brigade_core::{Dialect, Json};

use super::*;
use crate::RUNTIMES;
use crate::testing::Bench;
use brigade_catalog::Runtimes;
use brigade_mcp::import_tool;

const ROW: &str =
    "[[runtime]]\nid = \"notes\"\nname = \"Notes\"\nenabled = true\ncommand = \"server\"\non_demand = true\n";

fn runtime() -> Runtime {
    Runtimes::parse(RUNTIMES, Level::Project, ROW.as_bytes()).runtime("notes").unwrap().clone()
}

fn listed(json: &str) -> ListedTool {
    ListedTool::from_json(&Json::parse_bytes(json.as_bytes(), Dialect::Strict).unwrap()).unwrap()
}

fn find() -> ListedTool {
    listed(
        r#"{"name": "find", "title": "Find notes", "description": "Finds notes.", "annotations": {"readOnlyHint": true, "openWorldHint": false},
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}}, "outputSchema": {"type": "object"},
        "icons": [{"src": "https://notes.example/find.png"}]}"#,
    )
}

fn plain(name: &str) -> ListedTool {
    listed(&format!(r#"{{"name": "{name}", "inputSchema": {{"type": "object"}}}}"#))
}

/// Plans to import all listed tools.
#[track_caller]
fn plan(bench: &Bench, tools: &[ListedTool]) -> ImportPlan {
    let runtime = runtime();
    let asking = import_tool(&runtime, None);
    let listing = ServerListing { runtime: &runtime, asking: &asking, tools };
    let setup = Setup::new(&bench.context);
    let text = setup.editable_catalog().unwrap();
    let wanted: Vec<&ListedTool> = tools.iter().collect();
    setup
        .plan_import(&text, &listing, &wanted, ImportAction::Add, |path| bench.context.absolute(path))
        .unwrap()
}

/// Writes a plan.
fn write(bench: &Bench, plan: ImportPlan) {
    Setup::new(&bench.context).write_catalog_with(plan.files, plan.text).unwrap();
}

fn site() -> Bench {
    Bench::new(&[(CATALOG, "# mine\n"), (RUNTIMES, ROW)])
}

#[test]
fn an_imported_tool_keeps_what_its_server_says_and_grants_nothing() {
    let bench = site();
    let drop = listed(
        r#"{"name": "drop", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": true}}"#,
    );
    let plan = plan(&bench, &[find(), drop]);
    assert_eq!(plan.added(), 2);
    assert_eq!(plan.tools[0].proposed_effects, ["local-read"]);
    assert_eq!(plan.tools[1].proposed_effects, ["local-write", "local-delete"]);
    write(&bench, plan);
    let text = bench.read(CATALOG).unwrap();
    assert!(text.starts_with("# mine\n"), "{text}");
    let catalog = Catalog::parse(CATALOG, Level::Project, text.as_bytes());
    let tool = catalog.tool("notes-find").expect("its entry");
    assert_eq!((tool.name.as_str(), tool.description.as_deref()), ("Find notes", Some("Finds notes.")));
    assert!(!tool.enabled && tool.effects.is_empty());
    assert!(text.contains("icons = [\"https://notes.example/find.png\"]\n"), "{text}");
    let output = bench.read(".brigade/tools/schemas/notes-find.output.json").expect("the schema of results");
    assert_eq!(Json::parse_bytes(output.as_bytes(), Dialect::Strict).unwrap(), find().output_schema.unwrap());
    assert!(bench.read(".brigade/tools/schemas/notes-drop.input.json").is_some());
}

#[test]
fn what_is_there_is_skipped_with_the_reason() {
    let bench = site();
    let first = plan(&bench, &[find()]);
    write(&bench, first);
    let again = plan(&bench, &[find()]);
    assert_eq!((again.added(), again.tools[0].action), (0, ImportAction::Skip));
    assert_eq!(again.tools[0].detail.as_deref(), Some("the catalog has it as `notes-find`"));
    // A file of another content is not replaced.
    bench.write(CATALOG, "");
    bench.write(".brigade/tools/schemas/notes-find.input.json", "{}");
    let detail = plan(&bench, &[find()]).tools.remove(0).detail.unwrap();
    assert_eq!(detail, "`.brigade/tools/schemas/notes-find.input.json` already exists with another content");
}

#[test]
fn a_tool_that_could_not_be_called_is_skipped() {
    let bench = site();
    let plan = plan(&bench, &[plain("twice"), plain("twice"), plain(" x"), plain("good")]);
    let actions: Vec<ImportAction> = plan.tools.iter().map(|row| row.action).collect();
    assert_eq!(actions, [ImportAction::Skip, ImportAction::Skip, ImportAction::Skip, ImportAction::Add]);
    assert_eq!(plan.tools[0].detail.as_deref(), Some("the server lists it 2 times, so it is never called"));
    assert!(plan.tools[2].detail.as_deref().is_some_and(|why| why.contains("white space")));
}

#[test]
fn an_entry_of_the_same_id_keeps_its_place() {
    let bench = site();
    let own = "[[tool]]\nid = \"notes-find\"\nname = \"Own\"\nfamily = \"script\"\ncommand = \"sh\"\n";
    bench.write(CATALOG, own);
    let plan = plan(&bench, &[find()]);
    assert_ne!(plan.tools[0].tool_id, "notes-find");
    assert!(plan.text.starts_with(own), "{}", plan.text);
}

#[test]
fn an_unsupported_part_of_a_schema_is_reported() {
    for (schema, is_sound) in
        [(r#"{"type": "object"}"#, true), (r#"{"type": "nonsense"}"#, false), ("not JSON", false)]
    {
        assert_eq!(schema_problems(schema).is_empty(), is_sound, "{schema}");
    }
}

#[test]
fn a_catalog_that_is_broken_is_not_edited() {
    let bench = Bench::new(&[(CATALOG, "[[tool]]\nid = \"a\"\n[[tool\n")]);
    let error = Setup::new(&bench.context).editable_catalog().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    assert!(error.to_string().contains("line 3"), "{error}");
}
