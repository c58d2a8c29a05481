//! Creates catalog entries for the tools that a server lists.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use brigade_catalog::{ApprovalMode, Catalog, Family, Runtime, Seconds, Tool};
use brigade_core::text::{escape_terminal, escape_terminal_lines, short};
use brigade_core::{ErrorCode, ErrorKind, Json, closest};
use brigade_policy::{Failure, NETWORK_EFFECTS};

use crate::exchange::Exchange;
use crate::pin::ListedTool;
use crate::pins::McpTool;

/// The timeout of an imported tool without one in its runtime, in seconds.
const TIMEOUT: f64 = 30.0;

/// The maximum length of an imported description, in bytes.
const DESCRIPTION: usize = 16 << 10;

/// The mark after a description that is cut.
const CUT: &str = "\n[cut]";

/// The maximum length of an imported name, in characters.
const NAME: usize = 200;

/// Creates a tool for listing the server, with only the file access of every run.
///
/// Its timeout is that of the runtime, by default 30 s, limited by `most`, the maximum of the policy.
pub fn import_tool(runtime: &Runtime, most: Option<Seconds>) -> Tool {
    let own = runtime.timeout.or(Seconds::new(TIMEOUT).ok());
    let timeout = match (own, most) {
        (Some(own), Some(most)) if most.get() < own.get() => Some(most),
        (own, _) => own,
    };
    let tool = Tool::new(runtime.id.as_str(), Family::Mcp).expect("a runtime's id is one of a tool");
    let remote = runtime.remote().map(Arc::new);
    Tool {
        effects: remote.iter().map(|_| NETWORK_EFFECTS[0].to_owned()).collect(),
        remote,
        command: Some(runtime.command.clone()),
        cwd: runtime.cwd.clone(),
        runtime_id: Some(runtime.id.as_str().to_owned()),
        requires_runtime: true,
        env_labels: runtime.env_labels.clone(),
        timeout,
        // A person starts it, so it has the strictest mode, which each policy may require.
        approval_mode: Some(ApprovalMode::Always),
        ..tool
    }
}

/// Chooses an id for every listed tool: its existing id, or an unused one from its name. Equal ids are numbered in list
/// order, independent of which tools were requested.
pub fn import_ids<'e>(
    runtime: &Runtime,
    tools: &'e [ListedTool],
    catalog: &Catalog,
) -> BTreeMap<&'e str, String> {
    let mut used_ids: BTreeSet<String> =
        catalog.tools().iter().map(|tool| tool.id.as_str().to_owned()).collect();
    let known = |name: &str| {
        let selected =
            McpTool { server: runtime.id.as_str().to_owned(), tool: name.to_owned(), variant: None };
        let known = catalog.tools().iter().find(|tool| McpTool::of_tool(tool).as_ref() == Some(&selected));
        known.map(|tool| tool.id.as_str().to_owned())
    };
    let mut ids = BTreeMap::new();
    for listed in tools {
        if ids.contains_key(listed.name.as_str()) {
            continue;
        }
        let id = known(&listed.name).unwrap_or_else(|| {
            let plain = format!("{}-{}", slug(runtime.id.as_str()), slug(&listed.name));
            let numbered = (2..).map(|number| format!("{plain}-{number}"));
            let mut candidates = std::iter::once(plain.clone()).chain(numbered);
            candidates.find(|id| !used_ids.contains(id)).expect("there are more numbers than tools")
        });
        used_ids.insert(id.clone());
        ids.insert(listed.name.as_str(), id);
    }
    ids
}

/// The files with the schemas of an imported tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaPaths {
    /// The file of the input schema.
    pub input: String,
    /// The file of the output schema, if the server lists one.
    pub output: Option<String>,
}

impl SchemaPaths {
    /// Returns the files of the tool with an id, in a directory.
    pub fn new(folder: &str, id: &str, listed: &ListedTool) -> SchemaPaths {
        let file = |kind: &str| format!("{folder}/{id}.{kind}.json");
        let has_output = listed.output_schema.as_ref().is_some_and(|schema| schema.as_object().is_some());
        SchemaPaths { input: file("input"), output: has_output.then(|| file("output")) }
    }
}

/// Returns the effects that the hints of a local server propose. They are a proposal for a person, and grant nothing.
///
/// | hints | effects |
/// | --- | --- |
/// | `readOnlyHint` | `local-read`, or `remote-read` with `openWorldHint` |
/// | not read-only | `local-write`, or `remote-mutation` with `openWorldHint` |
/// | `destructiveHint`, not read-only or remote | also `local-delete` |
/// | none of these | none |
pub fn proposed_effects(listed: &ListedTool) -> Vec<String> {
    let hint = |name: &str| listed.annotations.as_ref().and_then(|hints| hints.get(name)?.as_bool());
    let hints = ["readOnlyHint", "destructiveHint", "openWorldHint"].map(hint);
    let effects: &[&str] = match hints {
        [None, None, None] => &[],
        [Some(true), _, Some(true)] => &["remote-read"],
        [Some(true), _, _] => &["local-read"],
        [_, _, Some(true)] => &["remote-mutation"],
        [_, Some(true), _] => &["local-write", "local-delete"],
        [_, _, _] => &["local-write"],
    };
    effects.iter().map(|effect| (*effect).to_owned()).collect()
}

/// Returns the description of an entry: the server's, with its lines, at most 16 KiB.
pub fn entry_description(listed: Option<&str>) -> Option<String> {
    let text = listed?.replace("\r\n", "\n");
    let mut text = escape_terminal_lines(text.trim()).into_owned();
    if DESCRIPTION < text.len() {
        text.truncate(text.floor_char_boundary(DESCRIPTION - CUT.len()));
        text.truncate(text.trim_end().len());
        text.push_str(CUT);
    }
    (!text.is_empty()).then_some(text)
}

/// Creates the entry of a tool that a server lists: disabled, with the command and the approval of `asking`. Its
/// effects are only proposed.
pub fn imported_tool(asking: &Tool, listed: &ListedTool, id: &str, schemas: &SchemaPaths) -> Tool {
    let text = |text: &Option<String>, limit: usize| {
        let text =
            text.as_deref().map(|text| short(text, limit)).map(|text| escape_terminal(&text).into_owned());
        text.filter(|text| !text.is_empty())
    };
    let bare = Tool::new(id, Family::Mcp).expect("letters, digits and dashes are an id");
    // What a connection needs follows from the runtime.
    let (asking, proposed_effects) = match &asking.remote {
        Some(_) => {
            let bare = Tool { command: None, env_labels: Vec::new(), remote: None, ..asking.clone() };
            (bare, remote_effects(listed))
        }
        None => (asking.clone(), proposed_effects(listed)),
    };
    Tool {
        name: text(&listed.title, NAME)
            .or_else(|| text(&Some(listed.name.clone()), NAME))
            .unwrap_or(id.to_owned()),
        enabled: false,
        approval_mode: Some(ApprovalMode::OnRequest),
        description: entry_description(listed.description.as_deref()),
        mcp_tool_name: Some(listed.name.clone()),
        input_schema_path: Some(schemas.input.clone()),
        output_schema_path: schemas.output.clone(),
        icons: listed.icons.clone(),
        proposed_effects,
        effects: Vec::new(),
        id: bare.id,
        ..asking
    }
    .with_chosen_code()
}

/// Returns the effects that the hint of a remote server proposes. Each of its tools needs the network.
fn remote_effects(listed: &ListedTool) -> Vec<String> {
    let hint = listed.annotations.as_ref().and_then(|annotations| annotations.get("readOnlyHint"));
    let reads = hint.and_then(Json::as_bool).unwrap_or(false);
    let effect = if reads { "remote-read" } else { "remote-mutation" };
    [effect, NETWORK_EFFECTS[0]].map(str::to_owned).into()
}

/// Returns the schema to store. Without a schema, any object is accepted.
pub fn stored_schema(listed: &ListedTool) -> String {
    match &listed.input_schema {
        Json::Null => Json::object([("type", Json::from("object"))]).to_pretty(),
        schema => schema.to_pretty(),
    }
}

/// Converts a name to a part of an id: lower-case letters, digits and single dashes.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for character in name.chars() {
        let character = character.to_ascii_lowercase();
        if character.is_ascii_lowercase() || character.is_ascii_digit() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug: String = slug.trim_end_matches('-').chars().take(60).collect();
    if slug.is_empty() { "tool".to_owned() } else { slug }
}

/// Selects the requested tools in list order, each name once; all tools if no name is given.
///
/// # Errors
/// Fails if the server does not list a requested tool.
pub fn selected<'e>(exchange: &'e Exchange, names: &[String]) -> Result<Vec<&'e ListedTool>, Failure> {
    let listed: Vec<&str> = exchange.tools.iter().map(|tool| tool.name.as_str()).collect();
    if let Some(name) = names.iter().find(|name| !listed.contains(&name.as_str())) {
        let message = format!("the server lists no tool `{}`", escape_terminal(name));
        let failure = Failure::new(ErrorKind::NotFound, message).coded(ErrorCode::ServerToolMissing);
        return Err(match closest(name, listed.iter().copied()) {
            Some(near) => failure.hint(format!("did you mean `{}`?", escape_terminal(near))),
            None => failure.hint("a dry run without a name shows every tool"),
        });
    }
    let mut seen = BTreeSet::new();
    let selected = exchange.tools.iter().filter(|tool| names.is_empty() || names.contains(&tool.name));
    Ok(selected.filter(|tool| seen.insert(tool.name.clone())).collect())
}

#[cfg(test)]
mod tests {
    use brigade_catalog::{Level, RemoteServer, ServerTransport, edit};

    use super::*;

    #[test]
    fn the_policy_limits_the_timeout_of_a_runtime() {
        let check = |own: Option<f64>, most: Option<f64>, expect: f64| {
            let timeout = own.map(|own| Seconds::new(own).unwrap());
            let runtime = Runtime { timeout, ..Runtime::new("voice", "python3 server.py").unwrap() };
            let most = most.map(|most| Seconds::new(most).unwrap());
            assert_eq!(import_tool(&runtime, most).timeout.unwrap().get(), expect);
        };
        check(None, None, 30.0);
        check(Some(2.0), None, 2.0);
        check(Some(40.0), Some(60.0), 40.0);
        check(None, Some(1.0), 1.0);
        check(Some(5.0), Some(3.0), 3.0);
    }

    #[test]
    fn names_become_parts_of_ids() {
        for (name, expect) in [
            ("read_file", "read-file"),
            ("getHTTP", "gethttp"),
            ("../x  y/", "x-y"),
            ("é", "tool"),
            ("", "tool"),
        ] {
            assert_eq!(slug(name), expect);
        }
    }

    #[test]
    fn equal_ids_are_numbered_and_keep_their_number() {
        let runtime = Runtime::new("voice", "python3 server.py").unwrap();
        let listed = |name: &str| ListedTool::from_json(&Json::object([("name", Json::from(name))])).unwrap();
        let names = ["a/b", "a.b", "a-b", "日本", "", "a.b"];
        let tools = names.map(listed).to_vec();
        let catalog = |text: &str| Catalog::parse("tools.toml", Level::Project, text.as_bytes());
        let found = import_ids(&runtime, &tools, &catalog(""));
        let found: Vec<&str> = names.iter().map(|name| found[name].as_str()).collect();
        assert_eq!(
            found,
            ["voice-a-b", "voice-a-b-2", "voice-a-b-3", "voice-tool", "voice-tool-2", "voice-a-b-2"]
        );
        let schemas = SchemaPaths::new("a", "voice-a-b-2", &tools[1]);
        let tool = imported_tool(&import_tool(&runtime, None), &tools[1], "voice-a-b-2", &schemas);
        let kept = edit::add_tool("", &tool).unwrap();
        let tools = vec![listed("a.b"), listed("a-b")];
        let found = import_ids(&runtime, &tools, &catalog(&kept));
        assert_eq!((found["a.b"].as_str(), found["a-b"].as_str()), ("voice-a-b-2", "voice-a-b"));
    }

    #[test]
    fn an_imported_entry_is_disabled_and_has_no_rights() {
        let runtime = Runtime::new("voice", "python3 server.py").unwrap();
        let listed = r#"{"name": "say it", "description": "a\u001b[31mb\r\n- c", "inputSchema": {"type": "object"},
            "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true},
            "icons": [{"src": "https://a.example/i.png"}, {"src": "data:image/png;base64,AA"}]}"#;
        let listed = ListedTool::from_json(&Json::parse(listed).unwrap()).unwrap();
        let schemas = SchemaPaths::new("a", "voice-say-it", &listed);
        let tool = imported_tool(&import_tool(&runtime, None), &listed, "voice-say-it", &schemas);
        assert_eq!((tool.id.as_str(), tool.enabled, tool.requires_runtime), ("voice-say-it", false, true));
        assert_eq!(tool.approval_mode, Some(ApprovalMode::OnRequest));
        assert!(tool.effects.is_empty() && tool.permissions.is_empty());
        assert_eq!(tool.description.as_deref(), Some("a\\u{1b}[31mb\n- c"));
        assert_eq!(
            (tool.icons, tool.proposed_effects),
            (vec!["https://a.example/i.png".into()], vec!["local-read".into()])
        );
        assert_eq!(tool.output_schema_path.as_deref(), Some("a/voice-say-it.output.json"));
        let text = edit::add_tool("", &Tool { description: None, ..import_tool(&runtime, None) }).unwrap();
        assert!(Catalog::parse("tools.toml", Level::Project, text.as_bytes()).is_valid());
    }

    #[test]
    fn a_tool_of_a_remote_server_is_proposed_the_network() {
        let url = "https://mcp.example.com/mcp".to_owned();
        let server = RemoteServer { url, transport: ServerTransport::Http, headers: BTreeMap::new() };
        let asking = import_tool(&Runtime::connecting("far", server).unwrap(), None);
        assert_eq!(asking.effects, ["network"]);
        for (hints, expect) in [("{}", "remote-mutation"), (r#"{"readOnlyHint": true}"#, "remote-read")] {
            let listed = format!(r#"{{"name": "x", "annotations": {hints}}}"#);
            let listed = ListedTool::from_json(&Json::parse(&listed).unwrap()).unwrap();
            let tool = imported_tool(&asking, &listed, "far-x", &SchemaPaths::new("a", "far-x", &listed));
            assert_eq!((tool.command, tool.effects), (None, Vec::new()));
            assert_eq!(tool.proposed_effects, [expect, "network"]);
        }
    }

    #[test]
    fn hints_propose_effects() {
        for (hints, expect) in [
            ("{}", &[][..]),
            (r#"{"title": "x"}"#, &[]),
            (r#"{"readOnlyHint": true}"#, &["local-read"]),
            (r#"{"readOnlyHint": true, "openWorldHint": false, "destructiveHint": true}"#, &["local-read"]),
            (r#"{"readOnlyHint": true, "openWorldHint": true}"#, &["remote-read"]),
            (r#"{"readOnlyHint": false, "openWorldHint": true}"#, &["remote-mutation"]),
            (r#"{"destructiveHint": true}"#, &["local-write", "local-delete"]),
            (r#"{"destructiveHint": false}"#, &["local-write"]),
            (r#"{"readOnlyHint": "yes"}"#, &[]),
        ] {
            let tool = format!(r#"{{"name": "x", "annotations": {hints}}}"#);
            let tool = ListedTool::from_json(&Json::parse(&tool).unwrap()).unwrap();
            assert_eq!(proposed_effects(&tool), expect, "{hints}");
        }
    }

    #[test]
    fn long_descriptions_are_cut_at_16_kib() {
        let text = format!("first\n\n{}", "é".repeat(9000));
        let cut = entry_description(Some(&text)).unwrap();
        assert!(cut.len() <= DESCRIPTION && cut.starts_with("first\n\né") && cut.ends_with("é\n[cut]"));
        assert_eq!(entry_description(Some(&text[..15_999])).unwrap(), &text[..15_999]);
        assert_eq!(entry_description(Some(" \n")), None);
    }
}
