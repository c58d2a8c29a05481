use brigade_core::Dialect;

use super::*;
use crate::RUNTIMES;
use crate::testing::Bench;

const TOOLS: &str = "[[tool]]\nid = \"notes-find\"\nname = \"Find\"\nfamily = \"mcp\"\nruntime_id = \"notes\"\n\
mcp_server_id = \"notebook\"\nmcp_tool_name = \"find\"\ndescription = \"Finds\"\nenabled = true\n\
input_schema_path = \".brigade/tools/schemas/notes-find.input.json\"\n\
[[tool]]\nid = \"clock\"\nname = \"Clock\"\nfamily = \"mcp\"\nruntime_id = \"clock\"\n";

fn site() -> Bench {
    let runtime = |id: &str| {
        format!("[[runtime]]\nid = \"{id}\"\nname = \"{id}\"\ncommand = \"server {id}\"\nenabled = false\n")
    };
    Bench::of_user(&[(CATALOG, TOOLS), (RUNTIMES, &(runtime("notes") + &runtime("clock")))])
}

fn json(text: &str) -> Json {
    Json::parse_bytes(text.as_bytes(), Dialect::Strict).unwrap()
}

fn listed(description: &str, properties: &str) -> ListedTool {
    let text = format!(
        r#"{{"name": "find", "description": "{description}", "inputSchema": {{"type": "object", "properties": {properties}}}}}"#
    );
    ListedTool::from_json(&json(&text)).unwrap()
}

fn request(server: Option<&str>) -> UpdateRequest {
    UpdateRequest { server: server.map(str::to_owned), dry_run: false }
}

#[track_caller]
fn tool(bench: &Bench, id: &str) -> Tool {
    load::catalog(&bench.context).unwrap().tool(id).expect("the entry").clone()
}

#[test]
fn servers_are_named_by_their_runtime_or_their_name() {
    let bench = site();
    let catalog = Catalog::parse(CATALOG, Level::Project, TOOLS.as_bytes());
    for name in [None, Some("notes"), Some(" notes "), Some("notebook")] {
        let found = runtimes_to_update(&bench.context, &catalog, name).unwrap();
        assert_eq!(
            found.iter().map(|runtime| runtime.id.as_str()).collect::<Vec<_>>(),
            ["notes"],
            "{name:?}"
        );
    }
}

#[test]
fn a_server_without_imported_tools_is_refused_with_what_to_do() {
    let bench = site();
    for (name, hint) in [
        ("nots", "did you mean `notes`?".to_owned()),
        ("clock", NextStep::TryImportMcp("clock".to_owned()).to_string()),
        ("zzzzzzzzzz", NextStep::ListRuntimes.to_string()),
    ] {
        let error = update_tools(&bench.context, &request(Some(name)), &mut |_| Ok(true)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(error.hints()[0].to_string(), hint, "{name}");
    }
}

#[test]
fn a_server_that_cannot_be_asked_is_reported_and_changes_nothing() {
    let bench = site();
    let report = update_tools(&bench.context, &request(None), &mut |_| panic!("nothing to ask")).unwrap();
    let [server] = report.servers.as_slice() else { panic!("{report:?}") };
    assert_eq!(server.error.as_deref(), Some("the runtime `notes` is disabled"));
    assert_eq!((report.changed_count, report.written), (0, false));
    assert_eq!(bench.read(CATALOG).as_deref(), Some(TOOLS));
}

#[test]
fn schemas_go_where_the_entry_has_them_if_that_is_a_file_of_imports() {
    let bench = site();
    let entry = |path: Option<&str>, id: &str| {
        let own = tool(&bench, "notes-find");
        Tool { input_schema_path: path.map(str::to_owned), id: id.parse().unwrap(), ..own }
    };
    let imports = |name: &str| format!("{SCHEMAS}/{name}.input.json");
    for (path, id, expect) in [
        (Some(imports("notes-find")), "notes-find", imports("notes-find")),
        (Some(imports("renamed")), "notes-find", imports("renamed")),
        (Some("schemas/mine.json".to_owned()), "notes-find", imports("notes-find")),
        (Some(imports("../up")), "notes-find", imports("notes-find")),
        (Some(imports(".hidden")), "notes-find", imports("notes-find")),
        (None, "a.b", imports("a-b")),
    ] {
        let paths = schema_paths(&entry(path.as_deref(), id), &listed("x", "{}"));
        assert_eq!(paths.input, expect, "{path:?}");
    }
}

#[test]
fn changes_of_a_listing_are_sentences_about_texts_and_parameters() {
    let bench = site();
    let before = listed("Finds", r#"{"q": {"type": "string"}}"#);
    bench.write(&format!("{SCHEMAS}/notes-find.input.json"), &stored_schema(&before));
    let entry = tool(&bench, "notes-find");
    let changes = |now: &ListedTool| {
        changes_of_entry(&bench.context, &entry, (&entry.description, &now.description), now)
    };
    assert_eq!(changes(&before), [""; 0]);
    let now = listed("Finds more", r#"{"q": {"type": "string"}, "limit": {"type": "integer"}}"#);
    let all = changes(&now).join("; ");
    assert!(all.contains("Finds more") && all.contains("`limit`") && !all.contains("`q`"), "{all}");
    // Without a readable schema the listing differs.
    bench.write(&format!("{SCHEMAS}/notes-find.input.json"), "{");
    assert!(!changes(&before).is_empty());
}

#[test]
fn only_fields_that_differ_are_set() {
    let bench = site();
    let entry = tool(&bench, "notes-find");
    assert_eq!(follow(TOOLS, &entry, &entry).unwrap(), TOOLS);
    let new = Tool { description: Some("Finds more".to_owned()), name: "Other".to_owned(), ..entry.clone() };
    let text = follow(TOOLS, &entry, &new).unwrap();
    assert_eq!(text, TOOLS.replace("\"Finds\"", "\"Finds more\""), "the name is of the person");
    let none = Tool { description: None, ..entry.clone() };
    assert!(!follow(TOOLS, &entry, &none).unwrap().contains("\"Finds\""));
}

#[test]
fn an_entry_follows_its_pin_in_what_a_person_left_alone() {
    let bench = site();
    let (old, new) = (
        listed("Finds", r#"{"q": {"type": "string"}}"#),
        listed("Finds more", r#"{"p": {"type": "string"}}"#),
    );
    let schema = format!("{SCHEMAS}/notes-find.input.json");
    bench.write(&schema, &stored_schema(&old));
    follow_pin(&bench.context, &tool(&bench, "notes-find"), &old, &new).unwrap();
    let entry = tool(&bench, "notes-find");
    assert_eq!((entry.description.as_deref(), entry.enabled), (Some("Finds more"), true));
    assert_eq!(bench.read(&schema).unwrap(), stored_schema(&new));
    // What a person wrote stays.
    bench.replace(CATALOG, "\"Finds more\"", "\"Mine\"");
    bench.write(&schema, "{\"type\": \"object\", \"properties\": {\"own\": {}}}");
    let newer = listed("Finds most", r#"{"r": {"type": "string"}}"#);
    follow_pin(&bench.context, &tool(&bench, "notes-find"), &new, &newer).unwrap();
    assert_eq!(tool(&bench, "notes-find").description.as_deref(), Some("Mine"));
    assert!(bench.read(&schema).unwrap().contains("own"));
}

#[test]
fn an_entry_of_the_user_is_not_followed_in_the_project() {
    let bench = site();
    let of_user = Tool { id: "elsewhere".parse().unwrap(), ..tool(&bench, "notes-find") };
    follow_pin(&bench.context, &of_user, &listed("a", "{}"), &listed("b", "{}")).unwrap();
    assert_eq!(bench.read(CATALOG).as_deref(), Some(TOOLS));
}
