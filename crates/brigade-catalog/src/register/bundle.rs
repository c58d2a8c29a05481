//! Registers the manifest of a bundle: `manifest.json` of an `.mcpb` or `.dxt` file, whose files are unpacked into the
//! workspace.

use std::collections::BTreeMap;

use brigade_core::{Dialect, ErrorCode, Json, Object};

use super::seed::server;
use super::server_json::is_plain_text;
use super::{RegisterError, Registration, Registrations, failed, id_of_name, quoted};
use crate::model::{Family, Level, ServerTransport, SourceDetail, Tool, ToolSource};

/// What a manifest writes for the directory of its bundle.
const FOLDER: &str = "${__dirname}";

/// Returns the directory that the bundle of a runtime is unpacked into, relative to the workspace.
pub fn bundle_folder(id: &str) -> String {
    format!(".brigade/tools/runtime/{id}/bundle")
}

impl Registrations {
    /// Returns the refusal of a whole file.
    pub fn refused(why: String) -> Registrations {
        failed(RegisterError::new(ErrorCode::FileInvalid, why))
    }

    /// Parses the manifest of a bundle. `id` replaces the id that its name gives.
    pub fn of_bundle(manifest: &[u8], id: Option<&str>, level: Level) -> Registrations {
        let invalid = |message: &str| failed(RegisterError::new(ErrorCode::FileInvalid, message));
        if level != Level::Project {
            return invalid("a bundle is unpacked into a workspace, so it is registered in the project");
        }
        let Ok(Json::Object(object)) = Json::parse_bytes(manifest, Dialect::Lenient) else {
            return invalid("manifest.json of the bundle is not a JSON object");
        };
        let text = |object: &Object, key: &str| object.get(key).and_then(Json::as_str).map(str::to_owned);
        let name = text(&object, "name").unwrap_or_default();
        let id = id.map_or_else(|| id_of_name(&name), str::to_owned);
        let Ok(tool) = Tool::new(&id, Family::Mcp) else {
            return invalid("manifest.json of the bundle has no `name` that is a usable id");
        };
        let config = object.get("server").and_then(|server| server.get("mcp_config")?.as_object());
        let command = config.and_then(|config| text(config, "command")).filter(|text| !text.is_empty());
        let (Some(config), Some(command)) = (config, command) else {
            return invalid("manifest.json of the bundle has no command in `server.mcp_config`");
        };
        let mut found = Registrations::default();
        let manifest = Manifest { object: &object, folder: bundle_folder(&id) };
        let mut line = quoted(&manifest.filled(&command));
        let arguments = config.get("args").and_then(Json::as_array).into_iter().flatten();
        for (index, argument) in arguments.filter_map(Json::as_str).enumerate() {
            match manifest.filled(argument) {
                word if word.contains("${") => {
                    let message = "its value has variables, which are not known; add it to the command";
                    let field = format!("server.mcp_config.args[{index}]");
                    found.note(ErrorCode::ArgumentMissing, field, message);
                }
                word => line.push_str(&format!(" {}", quoted(&word))),
            }
        }
        let (mut labels, mut plain) = (Vec::new(), BTreeMap::new());
        for (variable, value) in config.get("env").and_then(Json::as_object).into_iter().flatten() {
            match manifest.filled(value.as_str().unwrap_or_default()) {
                value if value.is_empty() => {}
                value if is_plain_text(variable, &value) => drop(plain.insert(variable.clone(), value)),
                _ => {
                    let field = format!("server.mcp_config.env.{variable}");
                    found.note(ErrorCode::ValueNotKept, field, "bind it under env_bindings of the policy");
                    labels.push(variable.clone());
                }
            }
        }
        let source = SourceDetail {
            kind: Some(ToolSource::Mcp),
            server: Some(name.clone()),
            transport: Some(ServerTransport::Stdio),
            ..SourceDetail::default()
        };
        let mut tool = Tool {
            name: text(&object, "display_name").unwrap_or(name),
            description: text(&object, "description"),
            source: Some(Box::new(source)),
            env_labels: labels,
            ..tool
        };
        let runtime = server(&mut tool, &line, plain);
        found.tools.push(Registration {
            tool: tool.with_chosen_code(),
            runtime,
            detail: format!("mcp server, unpacked into {}", manifest.folder),
        });
        found.name_tool(&id);
        found.tools.iter_mut().for_each(|registration| registration.tool.wait_for_review());
        found.refuse_secret_ids();
        found
    }
}

/// The manifest of a bundle.
struct Manifest<'o> {
    object: &'o Object,
    /// The directory of the bundle.
    folder: String,
}

impl Manifest<'_> {
    /// Replaces the directory of the bundle, and settings that have a default and are not secret. Others stay.
    fn filled(&self, text: &str) -> String {
        let mut text =
            text.replace(FOLDER, &self.folder).replace("${/}", "/").replace("${pathSeparator}", "/");
        let settings = self.object.get("user_config").and_then(Json::as_object).into_iter().flatten();
        for (name, setting) in settings {
            let is_secret = setting.get("sensitive").is_some_and(|secret| *secret != Json::Bool(false));
            let default = setting.get("default").and_then(|default| match default {
                Json::Bool(_) | Json::Number(_) => Some(default.to_compact()),
                other => other.as_str().map(str::to_owned),
            });
            if let Some(default) = default.filter(|text| !is_secret && !text.contains("${")) {
                text = text.replace(&format!("${{user_config.{name}}}"), &default);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"{"manifest_version": "0.3", "name": "Board Tools", "version": "1.0.0",
        "server": {"type": "node", "entry_point": "server/index.js", "mcp_config": {"command": "node",
            "args": ["${__dirname}/server/index.js", "--level=${user_config.level}", "${user_config.folder}"],
            "env": {"BOARD_API_KEY": "${user_config.key}", "ZONE": "eu"}}},
        "user_config": {"level": {"type": "number", "default": 3}, "folder": {"type": "directory"},
            "key": {"type": "string", "sensitive": true, "default": "x"}}}"#;

    #[test]
    fn a_bundle_starts_from_its_directory() {
        let found = Registrations::of_bundle(MANIFEST.as_bytes(), None, Level::Project);
        assert_eq!(found.errors, []);
        let runtime = found.tools[0].runtime.as_ref().unwrap();
        let script = ".brigade/tools/runtime/board-tools/bundle/server/index.js";
        assert_eq!(runtime.command, format!("node {script} --level=3"));
        assert_eq!(runtime.env_labels, ["BOARD_API_KEY"]);
        assert_eq!(runtime.env["ZONE"], "eu");
        assert!(!found.tools[0].tool.enabled && !runtime.enabled);
        let fields: Vec<&str> = found.notes.iter().map(|note| &*note.field).collect();
        let config = "board-tools.server.mcp_config";
        assert_eq!(fields, [format!("{config}.args[2]"), format!("{config}.env.BOARD_API_KEY")]);
        let named = Registrations::of_bundle(MANIFEST.as_bytes(), Some("mine"), Level::Project);
        assert!(named.tools[0].runtime.as_ref().unwrap().command.contains("/mine/bundle/"));
        for (manifest, level) in
            [("[]", Level::Project), ("{\"name\": \"a\"}", Level::Project), (MANIFEST, Level::User)]
        {
            let found = Registrations::of_bundle(manifest.as_bytes(), None, level);
            assert!(found.tools.is_empty() && found.errors.len() == 1, "{manifest}");
        }
    }
}
