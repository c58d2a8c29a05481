//! Registers tools in the format of a tools registry: a list under `tools`, or one tool.

use std::collections::BTreeMap;

use brigade_core::{ErrorCode, Json, Object};

use super::{
    ADDRESS, Members, RegisterError, Registration, Registrations, URL_LEFT_OUT, is_server, remote_server,
};
use crate::fields;
use crate::model::{Family, Runtime, RuntimeHome, ServerTransport, Tool, ToolId, ToolSource};
use crate::read::tool_of;
use crate::read::value::{Data, Key, Table};

pub(super) fn read(value: &Json) -> Registrations {
    let mut found = Registrations::default();
    match value {
        Json::Object(object) if object.contains_key("tools") => whole(object, &mut found),
        Json::Object(object) => one(object, "", &mut found),
        Json::Array(items) => list(items, "", &mut found),
        _ => found
            .errors
            .push(RegisterError::new(ErrorCode::FileInvalid, "expected a tool, or a list under `tools`")),
    }
    found
}

fn whole(object: &Object, found: &mut Registrations) {
    let mut members = Members::new(object, "");
    if let Some(version) = members.get("version").or_else(|| object.get("schema")) {
        let text = version.as_str().map_or_else(|| version.to_compact(), str::to_owned);
        if text.split('.').next().map(str::trim) != Some("1") {
            let error = RegisterError::new(
                ErrorCode::SchemaNewer,
                "the file has a version that this version does not know",
            );
            return found.errors.push(error.field("version"));
        }
    }
    if let Some(settings) = members.object("settings") {
        for (name, value) in settings {
            if name == "fallback_harness" {
                match value.as_bool() {
                    Some(truth) => found.harness_tools = Some(truth),
                    None => {
                        let error = RegisterError::new(ErrorCode::FieldInvalid, "expected true or false");
                        found.errors.push(error.field("settings.fallback_harness"));
                    }
                }
                continue;
            }
            if let (Some(setting), Some(truth)) = (found.settings.named(name), value.as_bool()) {
                *setting = Some(truth);
            }
            let (code, message) = match name.as_str() {
                "auto_install" => (ErrorCode::AutoInstallIgnored, "nothing is installed without an approval"),
                "prefer_local" => (ErrorCode::PreferLocalIgnored, "entries of the project always come first"),
                name if name.starts_with("inherit_clawdbot") => (
                    ErrorCode::InheritIgnored,
                    "its folders are read by discovery; `harnesses` under [registry] limits that",
                ),
                _ => (ErrorCode::UnknownKey, "an entry has no place for this key"),
            };
            found.note(code, format!("settings.{name}"), message);
        }
    }
    match members.get("tools") {
        Some(Json::Array(items)) => list(items, "tools", found),
        _ => found
            .errors
            .push(RegisterError::new(ErrorCode::FileInvalid, "expected a list of tools").field("tools")),
    }
    members.rest(found);
}

fn list(items: &[Json], name: &str, found: &mut Registrations) {
    for (index, item) in items.iter().enumerate() {
        let prefix = format!("{name}[{}]", index + 1);
        match item {
            Json::Object(object) => one(object, &prefix, found),
            _ => {
                found.errors.push(RegisterError::new(ErrorCode::FileInvalid, "expected a tool").field(prefix))
            }
        }
    }
}

fn one(object: &Object, prefix: &str, found: &mut Registrations) {
    let mut members = Members::new(object, prefix);
    let wrong =
        |field: String, message: &str| RegisterError::new(ErrorCode::FieldInvalid, message).field(field);
    let Some(id) = members.text("id") else {
        return found.errors.push(wrong(members.field("id"), "a tool needs an id"));
    };
    if id.parse::<ToolId>().is_ok() {
        members.prefix.clone_from(&id);
    }
    let empty = Object::new();
    let source = members.object("source").unwrap_or(&empty);
    let mut source = Members::new(source, members.field("source"));
    let kind = source.text("type").or_else(|| source.text("kind"));
    let Some(kind) = kind.and_then(|kind| kind.parse::<ToolSource>().ok()) else {
        let message = format!("expected one of {}", ToolSource::EXPECTED);
        return found.errors.push(wrong(source.field("type"), &message));
    };
    let entry = (kind == ToolSource::Skill).then(|| source.text("entry")).flatten();
    let family = match kind {
        ToolSource::Script | ToolSource::Cli => Family::Script,
        ToolSource::Mcp => Family::Mcp,
        // A skill with a program runs it.
        ToolSource::Skill if entry.is_some() => Family::Script,
        ToolSource::Skill => Family::Skill,
        ToolSource::Harness => Family::Custom,
    };
    let Ok(bare) = Tool::new(&id, family) else {
        return found.errors.push(wrong(members.field("id"), "not a usable id"));
    };
    if members.text("family").is_some_and(|word| word != family.as_str()) {
        let message = "the family follows from the type of the source";
        found.note(ErrorCode::FamilyIgnored, members.field("family"), message);
    }
    for name in ["ref", "fingerprint"] {
        if source.get(name).is_some() {
            let message = "it is written when a definition of an agent program is registered";
            found.note(ErrorCode::OriginIgnored, source.field(name), message);
        }
    }
    let url = (kind == ToolSource::Mcp).then(|| source.text("url")).flatten();
    let (command, outer) = (source.text("command"), members.text("command"));
    // These fields have another meaning or none in an entry.
    let mut detail = Table::from_members(source.object, fields::SOURCE);
    let is_read = |known: &[&str], key: &Key<'_>| known.contains(&&*key.name);
    detail.0.retain(|(key, _)| !is_read(&source.known, key));
    if matches!(
        source.object.get("transport").and_then(Json::as_str),
        Some("streamable-http" | "streamable_http")
    ) {
        detail.set("transport", Data::Text("http".into()));
    }
    detail.set("kind", Data::Text(kind.as_str().into()));
    if let Some(entry) = &entry {
        detail.set("entry", Data::Text((&**entry).into()));
    }
    let mut table = Table::from_members(object, fields::TOOL);
    table.0.retain(|(key, _)| !is_read(&members.known, key));
    table.set("id", Data::Text((&*id).into()));
    table.set("family", Data::Text(family.as_str().into()));
    if table.get("name").is_none() {
        table.set("name", Data::Text((&*id).into()));
    }
    table.set("source", Data::Table(detail));
    let (tool, issues) = tool_of(&table);
    issues.iter().for_each(|issue| found.take_issue(issue, |error| error));
    let origin = bare.origin.clone();
    let mut tool = Tool { origin, ..tool.unwrap_or(bare) };
    let transport = tool.source.as_ref().and_then(|source| source.transport);
    members.pass_faults(found);
    source.pass_faults(found);
    // A command that is not text was already reported.
    let is_unsaid = [source.object, members.object].iter().all(|object| {
        object.get("command").is_none_or(|value| matches!(value, Json::Null | Json::String(_)))
    });
    if command.is_some() && outer.is_some() && command != outer {
        let message = "`source` has a different command";
        found
            .errors
            .push(RegisterError::new(ErrorCode::DefinitionUnclear, message).field(members.field("command")));
    }
    let command = command.or(outer);
    let unclear_url = match (&command, &url, transport) {
        (Some(_), Some(_), _) => Some("the server has both a command and a URL"),
        (_, Some(url), _) => (!is_server(url)).then_some(ADDRESS),
        (_, None, Some(ServerTransport::Http | ServerTransport::Sse))
            if kind == ToolSource::Mcp && tool.runtime_id.is_none() =>
        {
            Some(ADDRESS)
        }
        (_, None, _) => None,
    };
    if let Some(why) = unclear_url {
        found.errors.push(RegisterError::new(ErrorCode::DefinitionUnclear, why).field(source.field("url")));
    }
    let is_remote = url.is_some();
    let transport = transport.or(is_remote.then_some(ServerTransport::Http));
    let path = tool.source.as_ref().and_then(|source| source.path.clone());
    let mut runtime = None;
    if let Some((url, transport)) = url
        .zip(transport)
        .filter(|(_, transport)| unclear_url.is_none() && *transport != ServerTransport::Stdio)
    {
        runtime = remote_server(&mut tool, &url, transport, []);
        if runtime.is_none() {
            found.note(ErrorCode::UrlNotKept, source.field("url"), URL_LEFT_OUT);
        }
    }
    match (kind, command) {
        (ToolSource::Cli, command) => tool.command = command,
        (ToolSource::Script, command) => tool.command = command.or(path),
        (ToolSource::Skill, command) if entry.is_some() => tool.command = command.or(entry),
        (ToolSource::Mcp, Some(command)) => {
            if tool.runtime_id.as_deref().is_some_and(|stated| stated != id) {
                let message = "the command becomes a runtime with the id of the tool";
                found.note(ErrorCode::RuntimeIdIgnored, members.field("runtime_id"), message);
            }
            runtime = server(&mut tool, &command, BTreeMap::new());
        }
        (ToolSource::Mcp, None) if unclear_url.is_none() => {
            if !matches!(transport, Some(ServerTransport::Http | ServerTransport::Sse))
                && tool.runtime_id.is_none()
                && is_unsaid
            {
                let message = "a server that is started needs a command";
                found.errors.push(wrong(members.field("source.command"), message));
            }
        }
        (ToolSource::Mcp, None) => {}
        (ToolSource::Skill | ToolSource::Harness, command) => {
            if kind == ToolSource::Skill && tool.source_path.is_none() {
                tool.source_path = path;
            }
            if command.is_some() {
                let message = "nothing is started for a tool of this kind";
                found.note(ErrorCode::CommandIgnored, members.field("command"), message);
            }
        }
    }
    if matches!(kind, ToolSource::Cli | ToolSource::Script) && tool.command.is_none() && is_unsaid {
        found.errors.push(wrong(members.field("source.command"), "a program needs a command"));
    }
    if let Some(source) = &mut tool.source {
        source.transport = transport;
    }
    tool.settle_arguments();
    let is_stated = tool.enabled && object.contains_key("enabled");
    found.note_review(&tool, is_stated, |name| members.field(name));
    let what = if is_remote { "remote mcp server" } else { kind.as_str() };
    found.tools.push(Registration { tool: tool.with_chosen_code(), runtime, detail: what.to_owned() });
}

/// Makes the runtime of an MCP server, disabled until a review, and lets the entry depend on it. The runtime takes
/// directory, variables and timeout from the entry, and has a private home directory. `env` has plain values.
pub(super) fn server(tool: &mut Tool, command: &str, env: BTreeMap<String, String>) -> Option<Runtime> {
    tool.runtime_id = Some(tool.id.to_string());
    let runtime = Runtime::new(tool.id.as_str(), command).ok()?;
    Some(Runtime {
        name: tool.name.clone(),
        enabled: false,
        on_demand: true,
        cwd: tool.cwd.clone(),
        env_labels: tool.env_labels.clone(),
        timeout: tool.timeout,
        home: Some(RuntimeHome::Private),
        env,
        ..runtime
    })
}
