//! Plugins and extensions of agent programs: where they are installed, which are enabled, and what they bring.
//!
//! A [store](PluginStore) is a row of data for a program. The caller reads its files, and the directories of plugins.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use brigade_core::yaml::Position;
use brigade_core::{Dialect, IssueType, Json, Object};
use serde::{Deserialize, Deserializer};

use crate::client::{Files, Format};
use crate::edit::{EditRefusal, decode, is_blank};
use crate::found::DiscoveryIssue;
use crate::harness::{Config, Extent, FolderContent, Harness, KeyPaths, PathContent, SkillDirectory, Syntax};
use crate::read::{MAX_ENTRIES, Reading, Source};
use brigade_catalog::edit::json_of;

/// Where a program keeps installed plugins, and the form that they have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginStore {
    /// The directory of the plugins, or the file that lists them.
    pub files: Files,
    /// How plugins are found there.
    #[serde(default)]
    pub layout: PluginLayout,
    /// The files of which the first is the manifest of a plugin.
    #[serde(default)]
    pub manifests: Vec<&'static str>,
    /// A file that names the directory of a plugin that is only linked.
    #[serde(borrow)]
    pub link_file: Option<&'static str>,
    /// A file with servers in a plugin, in addition to those of the manifest.
    pub server_file: Option<&'static str>,
    /// The directories of skills and commands in a plugin.
    #[serde(deserialize_with = "folders")]
    pub folders: Vec<SkillDirectory>,
    /// The files that enable and disable plugins, the strongest last.
    #[serde(default)]
    pub switches: Vec<PluginSwitches>,
    /// Whether a plugin is enabled that neither a file nor its manifest mentions.
    #[serde(default = "yes")]
    pub is_enabled_by_default: bool,
    /// The keys of the servers in a manifest.
    #[serde(default)]
    pub(crate) servers: KeyPaths,
}

/// How the plugins of a store are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PluginLayout {
    /// A JSON file lists each plugin with its directories.
    Index,
    /// Directories of marketplaces hold those of plugins, which hold those of versions. One version is used.
    Versions,
    /// Each directory is a plugin.
    #[default]
    Directories,
}

/// Reads the directories of a plugin, which belong to the user.
fn folders<'de: 'static, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SkillDirectory>, D::Error> {
    let mut folders = Vec::<SkillDirectory>::deserialize(deserializer)?;
    folders.iter_mut().for_each(|folder| folder.extent = Extent::User);
    Ok(folders)
}

fn yes() -> bool {
    true
}

/// A file that enables and disables plugins.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "Files: Deserialize<'de>, SwitchForm: Deserialize<'de>"))]
pub struct PluginSwitches {
    /// Where it is.
    pub files: Files,
    /// What it contains.
    pub form: SwitchForm,
}

/// The contents of a file that enables and disables plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SwitchForm {
    /// JSON with an object of plugins and booleans at this key.
    Booleans(&'static str),
    /// TOML with a table of plugins, each with `enabled`, at this key.
    Tables(&'static str),
    /// JSON with rules for directories. The last one that fits the workspace counts.
    Rules,
    /// A directory with a JSON file for each plugin, which has a boolean at this key.
    Each(&'static str),
}

/// A plugin that a list names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledPlugin {
    /// Its name, with its marketplace if it has one.
    pub id: String,
    /// Its directory.
    pub path: String,
    /// Who it is installed for.
    pub extent: Extent,
}

/// What the manifest of a plugin says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginManifest {
    /// The name of the plugin.
    pub name: Option<String>,
    /// Whether the plugin is enabled where no file mentions it.
    pub is_enabled_by_default: Option<bool>,
    /// Whether the manifest itself has servers.
    pub has_servers: bool,
    /// Other files with servers.
    pub server_files: Vec<String>,
    /// Other directories of skills.
    pub skills: Vec<String>,
    /// Other directories of commands, and single commands.
    pub commands: Vec<String>,
    /// Problems of the manifest.
    pub issues: Vec<DiscoveryIssue>,
}

/// The largest file about plugins that is read, in bytes.
pub const PLUGIN_FILE_LIMIT: u64 = 4 << 20;

impl PluginStore {
    /// Returns how to read the servers of a manifest.
    pub fn manifest_config(&self, harness: &Harness, extent: Extent) -> Config {
        self.config(harness, extent, self.servers)
    }

    /// Returns how to read another file with servers.
    pub fn server_config(&self, harness: &Harness, extent: Extent) -> Config {
        self.config(harness, extent, KeyPaths::KeyOrRoot("mcpServers"))
    }

    fn config(&self, harness: &Harness, extent: Extent, ways: KeyPaths) -> Config {
        let syntax = Syntax::Json(Format::Json);
        let spelling = harness.spelling;
        Config { extent, files: self.files, place: PathContent::File, syntax, ways, nested: None, spelling }
    }

    /// Returns a directory that the manifest of a plugin names, as one of the store.
    pub fn named_folder(&self, holds: FolderContent) -> Option<SkillDirectory> {
        self.folders.iter().find(|folder| folder.holds == holds).copied()
    }
}

/// Reads the list of installed plugins. Those of other workspaces are left out.
pub fn installed_plugins(source: &Source<'_>, bytes: &[u8]) -> Result<Vec<InstalledPlugin>, Reading> {
    let list = json(source, bytes)?;
    let mut found = Vec::new();
    let plugins = list.get("plugins").and_then(Json::as_object).into_iter().flatten();
    for (id, records) in plugins.take(MAX_ENTRIES) {
        // The first version of the list has one record instead of a list.
        let records = records.as_array().unwrap_or(std::slice::from_ref(records));
        for record in records {
            let text = |key: &str| record.get(key).and_then(Json::as_str);
            let extent = match text("scope") {
                Some("project") => Extent::Project,
                Some("local") => Extent::Local,
                _ => Extent::User,
            };
            let is_elsewhere = extent != Extent::User
                && text("projectPath").is_some_and(|path| Path::new(path) != Path::new(source.workspace));
            if let Some(path) = text("installPath").filter(|_| !is_elsewhere) {
                found.push(InstalledPlugin { id: id.clone(), path: path.to_owned(), extent });
            }
        }
    }
    Ok(found)
}

/// Reads which plugins a file enables and disables. Of a file for one plugin, the name is empty.
pub fn read_plugin_switches(
    source: &Source<'_>,
    form: SwitchForm,
    bytes: &[u8],
) -> Result<BTreeMap<String, bool>, Reading> {
    let members = |value: Option<&Json>, state: &dyn Fn(&Json) -> Option<bool>| {
        let members = value.and_then(Json::as_object).into_iter().flatten().take(MAX_ENTRIES);
        members.filter_map(|(id, value)| Some((id.clone(), state(value)?))).collect()
    };
    Ok(match form {
        SwitchForm::Booleans(key) => members(json(source, bytes)?.get(key), &Json::as_bool),
        SwitchForm::Tables(key) => {
            let text = decode(bytes).map_err(|refused| broken(source, &refused))?;
            let document = crate::toml::read(text).map_err(|refused| broken(source, &refused))?;
            let tables = document.as_table().get(key).map(json_of);
            members(tables.as_ref(), &|table| {
                Some(table.get("enabled").and_then(Json::as_bool) != Some(false))
            })
        }
        SwitchForm::Rules => {
            let last = |rules: &Json| {
                let mut rules = rules.get("overrides")?.as_array()?.iter().filter_map(Json::as_str);
                rules.rfind(|rule| fits(rule, source.workspace)).map(|rule| !rule.starts_with('!'))
            };
            members(Some(&json(source, bytes)?), &last)
        }
        SwitchForm::Each(key) => {
            let state = json(source, bytes)?.get(key).and_then(Json::as_bool);
            state.into_iter().map(|state| (String::new(), state)).collect()
        }
    })
}

/// Returns whether a rule such as `!/home/me/*` is about a directory. A `*` at its end includes those below.
fn fits(rule: &str, directory: &str) -> bool {
    let rule = rule.strip_prefix('!').unwrap_or(rule);
    let directory = format!("{}/", directory.trim_end_matches('/'));
    match rule.strip_suffix('*') {
        Some(start) => directory.starts_with(start),
        None => rule.trim_end_matches('/') == directory.trim_end_matches('/'),
    }
}

/// Reads the directory to which a plugin is linked; `None` if it is a copy.
pub fn linked_plugin(bytes: &[u8]) -> Option<String> {
    let record = Json::parse_bytes(bytes, Dialect::Strict).ok()?;
    let is_link = record.get("type").and_then(Json::as_str) == Some("link");
    record.get("source").and_then(Json::as_str).filter(|_| is_link).map(str::to_owned)
}

/// Reads the manifest of a plugin. Its servers are read as those of a configuration file.
pub fn read_manifest(
    source: &Source<'_>,
    store: &PluginStore,
    bytes: &[u8],
) -> Result<PluginManifest, Reading> {
    let json = json(source, bytes)?;
    // Servers are an object, or a list of definitions with names and of paths.
    let is_definition = |value: &&Json| value.as_object().is_some() && value.get("source").is_none();
    let mut issues = Vec::new();
    let mut paths = |key: &str| {
        let values: Vec<&Json> = match json.get(key) {
            None | Some(Json::Null) => Vec::new(),
            Some(Json::Array(values)) => {
                let is_path = |value: &&Json| key != "mcpServers" || !is_definition(value);
                values.iter().filter(is_path).take(MAX_ENTRIES).collect()
            }
            Some(Json::Object(values)) => values.values().take(MAX_ENTRIES).collect(),
            Some(value) => vec![value],
        };
        let path =
            |value: &&Json| value.as_str().or_else(|| value.get("source")?.as_str()).map(str::to_owned);
        let found: Vec<String> = values.iter().filter_map(path).filter(|path| is_inside(path)).collect();
        if found.len() < values.len() {
            let message = format!("`{key}` has a value that is not a path in the plugin");
            issues.push(source.issue(IssueType::FieldInvalid, message, None));
        }
        found
    };
    let listed = json.get("mcpServers").and_then(Json::as_array);
    let definitions = listed.into_iter().flatten().filter(is_definition).count();
    let is_object = json.get("mcpServers").is_some_and(|servers| servers.as_object().is_some());
    let has_servers = is_object || 0 < definitions;
    let server_files = if is_object { Vec::new() } else { paths("mcpServers") };
    let (skills, commands) = (paths("skills"), paths("commands"));
    Ok(PluginManifest {
        name: json.get("name").and_then(Json::as_str).map(str::to_owned),
        is_enabled_by_default: json.get("defaultEnabled").and_then(Json::as_bool),
        has_servers: has_servers || store.servers != KeyPaths::Key("mcpServers"),
        server_files,
        skills,
        commands,
        issues,
    })
}

/// Returns whether a path of a manifest stays in the plugin.
fn is_inside(path: &str) -> bool {
    let is_plain = |part: Component<'_>| matches!(part, Component::CurDir | Component::Normal(_));
    !path.is_empty() && !path.contains('\\') && Path::new(path).components().all(is_plain)
}

/// Returns the version that a program uses of several: `local`, or else the newest one.
pub fn newest_version(names: &[String]) -> Option<&String> {
    names.iter().max_by(|left, right| {
        let rank = |name: &str| (name == "local", numbers(name), !name.contains('-'));
        rank(left).cmp(&rank(right)).then_with(|| left.cmp(right))
    })
}

/// Returns the leading numbers of a version.
fn numbers(version: &str) -> Vec<u64> {
    let release = version.split(['-', '+']).next().unwrap_or_default();
    release.split('.').map_while(|part| part.parse().ok()).collect()
}

/// Parses the JSON of a file about plugins. An empty file is an empty object.
fn json(source: &Source<'_>, bytes: &[u8]) -> Result<Json, Reading> {
    let text = decode(bytes).map_err(|refused| broken(source, &refused))?;
    if is_blank(text) {
        return Ok(Json::Object(Object::new()));
    }
    Json::parse_bytes(text.as_bytes(), Dialect::WithComments).map_err(|error| {
        source.broken(Position { line: error.line, column: error.column }, &error.kind.to_string())
    })
}

fn broken(source: &Source<'_>, refused: &EditRefusal) -> Reading {
    source.broken(refused.at().unwrap_or(Position { line: 1, column: 1 }), &refused.to_string())
}

impl Reading {
    /// Notes the plugin that brings the entries, and disables them if it is disabled.
    pub fn of_plugin(&mut self, id: &str, is_enabled: bool) {
        for entry in &mut self.entries {
            entry.enabled &= is_enabled;
            for origin in &mut entry.origins {
                origin.enabled &= is_enabled;
                origin.plugin = Some(id.to_owned());
            }
        }
    }
}
