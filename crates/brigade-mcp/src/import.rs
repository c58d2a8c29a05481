//! Creates catalog entries for the tools that a server lists.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use brigade_catalog::{ApprovalMode, Catalog, Family, Runtime, Seconds, Tool};
use brigade_core::text::{escape_terminal, short};
use brigade_core::{ErrorKind, Json, closest, codes};
use brigade_policy::{Failure, NETWORK_EFFECTS};

use crate::exchange::Exchange;
use crate::pin::ListedTool;
use crate::pins::McpTool;

/// The timeout of an imported tool without one in its runtime, in seconds.
const TIMEOUT: f64 = 30.0;

/// The maximum length of an imported description, in characters.
const DESCRIPTION: usize = 300;

/// The maximum length of an imported name, in characters.
const NAME: usize = 80;

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
    let mut taken: BTreeSet<String> =
        catalog.tools().iter().map(|tool| tool.id.as_str().to_owned()).collect();
    let known = |name: &str| {
        let wanted = McpTool { server: runtime.id.as_str().to_owned(), tool: name.to_owned(), variant: None };
        let known = catalog.tools().iter().find(|tool| McpTool::of_tool(tool).as_ref() == Some(&wanted));
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
            candidates.find(|id| !taken.contains(id)).expect("there are more numbers than tools")
        });
        taken.insert(id.clone());
        ids.insert(listed.name.as_str(), id);
    }
    ids
}

/// Creates the entry of a tool that a server lists: disabled, with the command and the approval of `asking`.
pub fn imported_tool(asking: &Tool, listed: &ListedTool, id: &str, schema_path: &str) -> Tool {
    let text = |text: &Option<String>, limit: usize| {
        let text =
            text.as_deref().map(|text| short(text, limit)).map(|text| escape_terminal(&text).into_owned());
        text.filter(|text| !text.is_empty())
    };
    let bare = Tool::new(id, Family::Mcp).expect("letters, digits and dashes are an id");
    // What a connection needs follows from the runtime.
    let asking = match &asking.remote {
        Some(_) => {
            let effects = remote_effects(listed).map(str::to_owned).into();
            Tool { command: None, env_labels: Vec::new(), effects, remote: None, ..asking.clone() }
        }
        None => asking.clone(),
    };
    Tool {
        name: text(&listed.title, NAME)
            .or_else(|| text(&Some(listed.name.clone()), NAME))
            .unwrap_or(id.to_owned()),
        enabled: false,
        description: text(&listed.description, DESCRIPTION),
        mcp_tool_name: Some(listed.name.clone()),
        input_schema_path: Some(schema_path.to_owned()),
        id: bare.id,
        ..asking
    }
    .with_chosen_code()
}

/// Returns the effects that a tool of a remote server has, by its own hint.
fn remote_effects(listed: &ListedTool) -> [&'static str; 2] {
    let hint = listed.annotations.as_ref().and_then(|annotations| annotations.get("readOnlyHint"));
    let reads = hint.and_then(Json::as_bool).unwrap_or(false);
    [if reads { "remote-read" } else { "remote-mutation" }, NETWORK_EFFECTS[0]]
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
pub fn wanted<'e>(exchange: &'e Exchange, names: &[String]) -> Result<Vec<&'e ListedTool>, Failure> {
    let listed: Vec<&str> = exchange.tools.iter().map(|tool| tool.name.as_str()).collect();
    if let Some(name) = names.iter().find(|name| !listed.contains(&name.as_str())) {
        let message = format!("the server lists no tool `{}`", escape_terminal(name));
        let failure = Failure::new(ErrorKind::NotFound, message).coded(codes::SERVER_TOOL_MISSING);
        return Err(match closest(name, listed.iter().copied()) {
            Some(near) => failure.hint(format!("did you mean `{}`?", escape_terminal(near))),
            None => failure.hint("a dry run without a name shows every tool"),
        });
    }
    let mut seen = BTreeSet::new();
    let wanted = exchange.tools.iter().filter(|tool| names.is_empty() || names.contains(&tool.name));
    Ok(wanted.filter(|tool| seen.insert(tool.name.clone())).collect())
}

#[cfg(test)]
mod tests {
    use brigade_catalog::{Level, edit};

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
        let tool = imported_tool(&import_tool(&runtime, None), &tools[1], "voice-a-b-2", "a.json");
        let kept = edit::add_tool("", &tool).unwrap();
        let tools = vec![listed("a.b"), listed("a-b")];
        let found = import_ids(&runtime, &tools, &catalog(&kept));
        assert_eq!((found["a.b"].as_str(), found["a-b"].as_str()), ("voice-a-b-2", "voice-a-b"));
    }

    #[test]
    fn an_imported_entry_is_disabled_and_has_no_rights() {
        let runtime = Runtime::new("voice", "python3 server.py").unwrap();
        let listed = Json::parse(
            r#"{"name": "say it", "description": "a\u001b[31mb", "inputSchema": {"type": "object"}}"#,
        );
        let tool = imported_tool(
            &import_tool(&runtime, None),
            &ListedTool::from_json(&listed.unwrap()).unwrap(),
            "voice-say-it",
            "a.json",
        );
        assert_eq!((tool.id.as_str(), tool.enabled, tool.requires_runtime), ("voice-say-it", false, true));
        assert_eq!(tool.approval_mode, Some(ApprovalMode::Always));
        assert!(tool.effects.is_empty() && tool.permissions.is_empty());
        assert!(!tool.description.unwrap().contains('\u{1b}'));
        let text = edit::add_tool("", &Tool { description: None, ..import_tool(&runtime, None) }).unwrap();
        assert!(Catalog::parse("tools.toml", Level::Project, text.as_bytes()).is_valid());
    }
}
