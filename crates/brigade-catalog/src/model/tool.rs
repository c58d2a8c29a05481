//! A tool.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use brigade_core::json::insert_beside;
use brigade_core::{Json, Place};
use brigade_redact::{Redactor, SecretValue, shown_command};

use super::{
    ApprovalMode, Availability, Cost, Family, Install, InvalidToolId, Level, Origin, Reads, RemoteServer,
    RiskClass, Runtime, Seconds, SourceDetail, ToolId, ToolSource, VersionRequirement,
};
use crate::fields::{self, FieldPath};

/// A `[[tool]]` entry with a valid id.
///
/// Strings are trimmed; an optional string may be empty. If [`is_broken`](Tool::is_broken) is set, the fields contain
/// what was understood, and the tool can be listed but not called or projected.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// The id in commands and records.
    pub id: ToolId,
    /// The display name.
    pub name: String,
    /// The kind of tool. Absent only if the entry is broken.
    pub family: Option<Family>,
    /// Whether the tool may be used. Disabled tools are ignored everywhere.
    pub enabled: bool,
    /// What the tool does.
    pub description: Option<String>,
    /// The portable source file.
    pub source_path: Option<String>,
    /// A manifest file.
    pub manifest_path: Option<String>,
    /// A schema file of the whole tool.
    pub schema_path: Option<String>,
    /// The command to run, not split into words.
    pub command: Option<String>,
    /// A label of the authentication method, never a credential.
    pub auth_label: Option<String>,
    /// A local file with a health summary.
    pub health_path: Option<String>,
    /// The fingerprint of a source that is generated elsewhere.
    pub fingerprint: Option<String>,
    /// The JSON Schema of the arguments.
    pub input_schema_path: Option<String>,
    /// The JSON Schema of the output.
    pub output_schema_path: Option<String>,
    /// A file of examples.
    pub examples_path: Option<String>,
    /// The directory that the command runs in.
    pub cwd: Option<String>,
    /// The runtime that calls use.
    pub runtime_id: Option<String>,
    /// The health file of that runtime.
    pub runtime_health_path: Option<String>,
    /// The name of the MCP server in its configuration.
    pub mcp_server_id: Option<String>,
    /// The name of the MCP tool on that server.
    pub mcp_tool_name: Option<String>,
    /// The remote server that calls connect to. `None` in entries of files; [`Catalog::connect`] adds it.
    ///
    /// [`Catalog::connect`]: crate::Catalog::connect
    pub remote: Option<Arc<RemoteServer>>,
    /// What is read from that server instead. `None` in entries of files; Brigade makes entries with it.
    pub reads: Option<Reads>,
    /// The subject area of the tool.
    pub domain: Option<String>,
    /// How much the tool can do.
    pub risk_class: Option<RiskClass>,
    /// When a user must approve a call. Absent means never.
    pub approval_mode: Option<ApprovalMode>,
    /// Whether calls are refused unless the runtime is running and healthy.
    pub requires_runtime: bool,
    /// The timeout of a call.
    pub timeout: Option<Seconds>,
    /// How long a call of an MCP tool may pass without progress; each report of its server starts it again.
    pub idle_timeout: Option<Seconds>,
    /// Labels of the permissions that a call needs.
    pub permissions: Vec<String>,
    /// Labels of the effects of a call.
    pub effects: Vec<String>,
    /// Names of environment variables that the policy binds, never values.
    pub env_labels: Vec<String>,
    /// Labels of what an agent can do with the tool.
    pub capability: Vec<String>,
    /// The harnesses that get a projection.
    pub supported_harnesses: Vec<String>,
    /// For each argument name, the text that it adds to the command.
    pub argument_template: BTreeMap<String, String>,
    /// Arguments whose values may begin a word of the command with `-`.
    pub allow_option_values: Vec<String>,
    /// Patterns for files of the workspace that approvals bind as code.
    pub code: Vec<String>,
    /// Patterns for files of the workspace that runs may read as data, and that approvals do not bind.
    pub data: Vec<String>,
    /// For each harness, the file of the projection.
    pub projections: BTreeMap<String, String>,
    /// For each harness, the fingerprint of a projection that is made elsewhere.
    pub projection_fingerprints: BTreeMap<String, String>,
    /// Other names that commands accept for the tool.
    pub aliases: Vec<String>,
    /// Subjects of the tool.
    pub categories: Vec<String>,
    /// What the tool can do.
    pub capabilities: Vec<String>,
    /// Whether the tool is expected to be there.
    pub availability: Option<Availability>,
    /// The versions that are required.
    pub version: Option<VersionRequirement>,
    /// The command that prints the version, not split into words.
    pub version_command: Option<String>,
    /// Whether the tool belongs to one project.
    pub project_specific: bool,
    /// Links to icons, as its server lists them.
    pub icons: Vec<String>,
    /// The effects that the hints of its server propose. They grant nothing.
    pub proposed_effects: Vec<String>,
    /// Where the tool comes from, in detail.
    pub source: Option<Box<SourceDetail>>,
    /// How the tool is installed.
    pub install: Option<Box<Install>>,
    /// What a call costs.
    pub cost: Option<Box<Cost>>,
    /// The place of the entry.
    pub origin: Origin,
    /// Dotted names of keys, at any depth, that look secret. List indexes count from 1. Never contains values.
    pub unsafe_fields: Vec<String>,
    /// Whether an issue with severity error concerns this entry.
    pub is_broken: bool,
    /// The masks for [showing](Tool::shown) the entry.
    pub masks: Masks,
}

/// Values that are masked when an entry is shown, in addition to text that looks like a secret. They are not part of
/// the entry and do not affect equality.
#[derive(Clone, Debug, Default)]
pub struct Masks(Option<Arc<BoundValues>>);

/// Bound values, prepared for texts.
#[derive(Debug)]
struct BoundValues {
    /// Masks all values.
    all: Redactor,
    /// Masks the values that are long enough to be recognized.
    telling: Redactor,
    /// The recognizable values with their labels.
    labels: Vec<(String, SecretValue)>,
}

impl Masks {
    /// Masks these values.
    pub fn new(values: &[SecretValue]) -> Masks {
        Masks::labelled(values.iter().map(|value| (String::new(), value.clone())).collect())
    }

    /// Masks values that are bound to these labels.
    pub fn labelled(labels: Vec<(String, SecretValue)>) -> Masks {
        if labels.is_empty() {
            return Masks(None);
        }
        let values = |labels: &[(String, SecretValue)]| {
            let values: Vec<SecretValue> = labels.iter().map(|(_, value)| value.clone()).collect();
            Redactor::bound_only(&values)
        };
        let all = values(&labels);
        let labels: Vec<(String, SecretValue)> =
            labels.into_iter().filter(|(_, value)| value.is_telling()).collect();
        Masks(Some(Arc::new(BoundValues { all, telling: values(&labels), labels })))
    }

    /// Masks a text in place.
    pub fn hide(&self, text: &mut String) {
        if let Some(bound) = &self.0 {
            *text = bound.all.redact_str(text);
        }
    }

    /// Returns a text with masked values.
    pub fn shown(&self, text: &str) -> String {
        let mut text = text.to_owned();
        self.hide(&mut text);
        text
    }

    /// Returns whether a text contains no bound value that is [recognizable](SecretValue::is_telling).
    pub fn shows(&self, text: &str) -> bool {
        self.0.as_ref().is_none_or(|bound| bound.telling.redact_str(text) == text)
    }

    /// Lists the labels whose values a text contains, if [`shows`](Masks::shows) is false. Values without a label are
    /// left out.
    pub fn labels_in(&self, text: &str) -> Vec<&str> {
        let labels = self.0.iter().flat_map(|bound| &bound.labels);
        let held = labels.filter(|(label, value)| {
            !label.is_empty() && Redactor::bound_only(std::slice::from_ref(value)).redact_str(text) != text
        });
        held.map(|(label, _)| label.as_str()).collect()
    }

    /// Masks the texts and keys of a JSON value. Keys that become equal are numbered.
    pub fn hide_json(&self, json: &mut Json) {
        if self.is_empty() {
            return;
        }
        match json {
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
            Json::String(text) => self.hide(text),
            Json::Array(items) => items.iter_mut().for_each(|item| self.hide_json(item)),
            Json::Object(members) => {
                for (key, mut value) in std::mem::take(members) {
                    self.hide_json(&mut value);
                    insert_beside(members, self.shown(&key), value);
                }
            }
        }
    }

    /// Returns a command line with masked values and secrets.
    pub fn shown_command(&self, command: &str) -> String {
        let mut text = Redactor::new(&[]).redact_str(&shown_command(command));
        self.hide(&mut text);
        text
    }

    /// Returns whether nothing is masked.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl PartialEq for Masks {
    fn eq(&self, _: &Masks) -> bool {
        true
    }
}

/// The template of a program that takes any words: each element of the argument `args` is one word.
pub const WORDS_TEMPLATE: &str = "{args...}";

/// The schema of the arguments of such a program.
pub const WORDS_SCHEMA: &str = r#"{"type":"object","properties":{"args":{"type":"array","items":{"type":"string"},"maxItems":1000,"description":"The words after the command, one element each."}},"additionalProperties":false}"#;

/// The effect of every connection.
const NETWORK: &str = "network";

/// The fields that calls may need.
pub const FIELDS_FOR_CALLS: &[&str] = &[
    "family",
    "command",
    "input_schema_path",
    "approval_mode",
    "runtime_id",
    "mcp_tool_name",
    "timeout",
    "effects",
];

impl Tool {
    /// Creates a tool with an id, which is also its name, and a family, for code that generates entries.
    pub fn new(id: &str, family: Family) -> Result<Tool, InvalidToolId> {
        let id: ToolId = id.parse()?;
        let name = id.as_str().to_owned();
        let origin = Origin::new(Level::Project, Place::file(".brigade/tools.toml"));
        Ok(Tool { name, family: Some(family), ..Tool::bare(id, origin) })
    }

    /// Creates a tool of which only the id is known.
    pub(crate) fn bare(id: ToolId, origin: Origin) -> Tool {
        Tool {
            id,
            name: String::new(),
            family: None,
            enabled: true,
            description: None,
            source_path: None,
            manifest_path: None,
            schema_path: None,
            command: None,
            auth_label: None,
            health_path: None,
            fingerprint: None,
            input_schema_path: None,
            output_schema_path: None,
            examples_path: None,
            cwd: None,
            runtime_id: None,
            runtime_health_path: None,
            mcp_server_id: None,
            mcp_tool_name: None,
            remote: None,
            reads: None,
            domain: None,
            risk_class: None,
            approval_mode: None,
            requires_runtime: false,
            timeout: None,
            idle_timeout: None,
            permissions: Vec::new(),
            effects: Vec::new(),
            env_labels: Vec::new(),
            capability: Vec::new(),
            supported_harnesses: Vec::new(),
            argument_template: BTreeMap::new(),
            allow_option_values: Vec::new(),
            code: Vec::new(),
            data: Vec::new(),
            projections: BTreeMap::new(),
            projection_fingerprints: BTreeMap::new(),
            aliases: Vec::new(),
            categories: Vec::new(),
            capabilities: Vec::new(),
            availability: None,
            version: None,
            version_command: None,
            project_specific: false,
            icons: Vec::new(),
            proposed_effects: Vec::new(),
            source: None,
            install: None,
            cost: None,
            origin,
            unsafe_fields: Vec::new(),
            is_broken: false,
            masks: Masks::default(),
        }
    }

    /// Returns whether the entry has no usable value for one of the [fields that calls may need](FIELDS_FOR_CALLS).
    pub fn lacks(&self, field: &str) -> bool {
        let unnamed = |text: &Option<String>| text.as_ref().is_none_or(String::is_empty);
        match field {
            "family" => self.family.is_none(),
            "command" => unnamed(&self.command),
            "input_schema_path" => unnamed(&self.input_schema_path),
            "approval_mode" => self.approval_mode.is_none(),
            "runtime_id" => unnamed(&self.runtime_id),
            "mcp_tool_name" => unnamed(&self.mcp_tool_name),
            "timeout" => self.timeout.is_none(),
            "effects" => self.effects.is_empty(),
            _ => false,
        }
    }

    /// Returns whether the arguments of calls are a list of words, [`WORDS_SCHEMA`]: the entry names no schema, and has
    /// the template [`WORDS_TEMPLATE`].
    pub fn takes_words(&self) -> bool {
        self.family == Some(Family::Script)
            && self.lacks("input_schema_path")
            && self.argument_template.values().any(|template| template == WORDS_TEMPLATE)
    }

    /// Lets calls pass a list of words, if the entry says nothing about arguments.
    pub(crate) fn settle_arguments(&mut self) {
        let is_silent = self.lacks("input_schema_path") && self.argument_template.is_empty();
        if self.family == Some(Family::Script) && is_silent {
            self.argument_template.insert("args".to_owned(), WORDS_TEMPLATE.to_owned());
            if !self.allow_option_values.iter().any(|name| name == "args") {
                self.allow_option_values.push("args".to_owned());
            }
        }
    }

    /// Returns the place of a field, such as `timeout`, `projections.claude` or `effects[2]` (from 1).
    ///
    /// Falls back to the whole field, and to the entry's header if the field is absent.
    pub fn place_of(&self, field: &str) -> Place {
        let path = FieldPath::parse(field);
        let Some(index) = fields::TOOL.position(path.name) else {
            return self.origin.place.clone();
        };
        let element = match path.rest {
            None => 0,
            Some(rest) => match self.position_of_key(path.name, rest) {
                0 => rest.parse().unwrap_or(0),
                position => position,
            },
        };
        self.origin.find(index, element)
    }

    /// Returns the index of a table's key in sorted order, from 1, or 0 if it is absent.
    fn position_of_key(&self, field: &str, key: &str) -> u16 {
        let table = match field {
            "argument_template" => &self.argument_template,
            "projections" => &self.projections,
            "projection_fingerprints" => &self.projection_fingerprints,
            _ => {
                // The keys of these tables are known, and have the order of the table of fields.
                let key = FieldPath::parse(key).name;
                return fields::group(field)
                    .and_then(|keys| keys.position(key))
                    .map_or(0, |at| u16::from(at) + 1);
            }
        };
        table.keys().position(|name| name == key).and_then(|at| u16::try_from(at + 1).ok()).unwrap_or(0)
    }

    /// Returns the base directory for paths of documents (sources, schemas, examples). `None` means the workspace;
    /// entries of the user use the directory of their file. Commands and `cwd` are always relative to the workspace.
    pub fn directory_of_documents(&self) -> Option<&Path> {
        match self.origin.level {
            Level::Project | Level::ProjectRegistry => None,
            Level::User | Level::UserRegistry | Level::Discovered => {
                Path::new(&self.origin.place.file).parent()
            }
        }
    }

    /// Returns whether any field about calls is set.
    pub fn has_contract(&self) -> bool {
        let texts = [
            &self.input_schema_path,
            &self.output_schema_path,
            &self.examples_path,
            &self.runtime_id,
            &self.runtime_health_path,
            &self.mcp_server_id,
            &self.mcp_tool_name,
        ];
        texts.into_iter().any(|text| text.as_ref().is_some_and(|text| !text.is_empty()))
            || !self.permissions.is_empty()
            || !self.effects.is_empty()
            || !self.env_labels.is_empty()
            || !self.argument_template.is_empty()
            || self.approval_mode.is_some()
            || self.requires_runtime
    }

    /// Returns the name of the tool's MCP server: `mcp_server_id`, else `runtime_id`. `None` for other families.
    pub fn mcp_server(&self) -> Option<&str> {
        let named = |text: &'_ Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
        let name = if named(&self.mcp_server_id) { &self.mcp_server_id } else { &self.runtime_id };
        name.as_deref().filter(|name| self.family == Some(Family::Mcp) && !name.is_empty())
    }

    /// Returns whether the entry describes a whole MCP server. The tools of the server are separate entries.
    pub fn is_whole_server(&self) -> bool {
        let kind = self.source.as_ref().and_then(|source| source.kind);
        self.family == Some(Family::Mcp)
            && kind == Some(ToolSource::Mcp)
            && self.lacks("mcp_tool_name")
            && !self.lacks("runtime_id")
    }

    /// Returns whether the entry is an imported tool of the server of this runtime.
    pub fn is_imported_from(&self, runtime: &str) -> bool {
        self.family == Some(Family::Mcp)
            && !self.lacks("mcp_tool_name")
            && self.runtime_id.as_deref() == Some(runtime)
    }

    /// Returns whether the entry may be a tool of a remote server or of a container: it names a runtime and a tool, and
    /// no command, or one that starts a container.
    pub(crate) fn may_be_remote(&self) -> bool {
        let command = self.command.as_deref().unwrap_or_default();
        self.family == Some(Family::Mcp)
            && (command.is_empty() || Runtime::opened_container(command, &[]).is_some())
            && !self.lacks("runtime_id")
            && !self.lacks("mcp_tool_name")
    }

    /// Adds what a connection to the remote server of a runtime needs, and opens a container as the effects allow. Does
    /// nothing for another runtime.
    pub fn connect(&mut self, runtime: &Runtime) {
        let container = self.command.as_deref().filter(|_| runtime.container);
        if let Some(opened) = container.and_then(|text| Runtime::opened_container(text, &self.effects)) {
            self.command = Some(opened);
        }
        let Some(remote) = runtime.remote().filter(|_| self.lacks("command")) else { return };
        self.command = Some(runtime.command.clone());
        for label in &runtime.env_labels {
            if !self.env_labels.contains(label) {
                self.env_labels.push(label.clone());
            }
        }
        // A tool without effects is refused until a person adds them.
        if !self.effects.is_empty() && !self.effects.iter().any(|effect| effect == NETWORK) {
            self.effects.push(NETWORK.to_owned());
        }
        self.remote = Some(Arc::new(remote));
    }

    /// Returns an entry that reads resources or prompts of this entry's server. It starts the server in the same way
    /// and has the given effects.
    #[must_use]
    pub fn reading(&self, reads: Reads, effects: Vec<String>) -> Tool {
        Tool {
            id: reads.tool_id().parse().expect("ids in the program are valid"),
            name: reads.title().to_owned(),
            description: Some(reads.description().to_owned()),
            family: Some(Family::Mcp),
            enabled: true,
            command: self.command.clone(),
            auth_label: self.auth_label.clone(),
            cwd: self.cwd.clone(),
            runtime_id: self.runtime_id.clone(),
            runtime_health_path: self.runtime_health_path.clone(),
            mcp_server_id: self.mcp_server_id.clone(),
            mcp_tool_name: Some(reads.method().to_owned()),
            remote: self.remote.clone(),
            reads: Some(reads),
            approval_mode: Some(ApprovalMode::OnRequest),
            requires_runtime: self.requires_runtime,
            timeout: self.timeout,
            permissions: self.permissions.clone(),
            effects,
            env_labels: self.env_labels.clone(),
            code: self.code.clone(),
            data: self.data.clone(),
            is_broken: self.is_broken,
            ..Tool::bare(self.id.clone(), self.origin.clone())
        }
    }

    /// Returns the entry of a built-in tool.
    pub fn built_in(
        id: &str,
        name: &str,
        description: &str,
        effects: &[&str],
        approval: ApprovalMode,
    ) -> Tool {
        let origin = Origin::new(Level::Project, Place::file("built-in tools"));
        Tool {
            name: name.to_owned(),
            family: Some(Family::Builtin),
            description: Some(description.to_owned()),
            effects: effects.iter().map(|effect| (*effect).to_owned()).collect(),
            approval_mode: Some(approval),
            domain: id.split('.').next().map(str::to_owned),
            ..Tool::bare(id.parse().expect("ids in the program are valid"), origin)
        }
    }

    /// Returns whether calls of this family can run: scripts, MCP tools and tools of Brigade.
    pub fn is_executable(&self) -> bool {
        self.family.is_some_and(Family::is_executable)
    }

    /// Returns whether the tool is built into Brigade.
    pub fn is_built_in(&self) -> bool {
        self.family == Some(Family::Builtin)
    }

    /// Returns whether Brigade itself executes calls, without starting a program.
    pub fn acts_inside(&self) -> bool {
        self.is_built_in() && self.command.is_none()
    }
}
