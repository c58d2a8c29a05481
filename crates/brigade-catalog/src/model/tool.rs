//! One tool.

use std::collections::BTreeMap;

use brigade_core::Place;

use super::{ApprovalMode, Family, InvalidToolId, Level, Origin, RiskClass, Seconds, ToolId};
use crate::fields::{self, FieldPath};

/// One `[[tool]]` entry that has a usable id.
///
/// Texts are trimmed; an optional text may be empty. When [`is_broken`](Tool::is_broken) is set, the fields hold what
/// was understood, and the tool may be listed but never called or projected.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// The name in commands and records.
    pub id: ToolId,
    /// The name for people.
    pub name: String,
    /// The kind of tool; absent only when the entry is broken.
    pub family: Option<Family>,
    /// Whether the tool is in use; disabled ones are left out everywhere.
    pub enabled: bool,
    /// What it does, for people and wrappers.
    pub description: Option<String>,
    /// The portable source file.
    pub source_path: Option<String>,
    /// A manifest file.
    pub manifest_path: Option<String>,
    /// A schema file of the tool as a whole.
    pub schema_path: Option<String>,
    /// The command to run, before it is split.
    pub command: Option<String>,
    /// A label for how the tool authenticates; never a credential.
    pub auth_label: Option<String>,
    /// A local health summary.
    pub health_path: Option<String>,
    /// The fingerprint of a source that is generated elsewhere.
    pub fingerprint: Option<String>,
    /// The JSON Schema of call arguments.
    pub input_schema_path: Option<String>,
    /// The JSON Schema of the output.
    pub output_schema_path: Option<String>,
    /// A file of examples.
    pub examples_path: Option<String>,
    /// The folder that the command runs in.
    pub cwd: Option<String>,
    /// The runtime that a call needs or uses.
    pub runtime_id: Option<String>,
    /// A health file of that runtime.
    pub runtime_health_path: Option<String>,
    /// The MCP server's name in its configuration.
    pub mcp_server_id: Option<String>,
    /// The MCP tool's name on that server.
    pub mcp_tool_name: Option<String>,
    /// A word for what the tool is about.
    pub domain: Option<String>,
    /// How much it can do.
    pub risk_class: Option<RiskClass>,
    /// When a person is asked; absent means never.
    pub approval_mode: Option<ApprovalMode>,
    /// Whether a call is refused unless the runtime runs and is healthy.
    pub requires_runtime: bool,
    /// How long a call may take.
    pub timeout: Option<Seconds>,
    /// Labels of the capabilities that a call needs.
    pub permissions: Vec<String>,
    /// Labels of what a call does.
    pub effects: Vec<String>,
    /// Names of environment variables that are bound by policy; never values.
    pub env_labels: Vec<String>,
    /// Labels of what the tool can do for an agent.
    pub capability: Vec<String>,
    /// The harnesses that should have a projection.
    pub supported_harnesses: Vec<String>,
    /// Argument names and the text that each adds to the command.
    pub argument_template: BTreeMap<String, String>,
    /// Harness names and the file that each projection is written to.
    pub projections: BTreeMap<String, String>,
    /// Harness names and fingerprints of projections made elsewhere.
    pub projection_fingerprints: BTreeMap<String, String>,
    /// Where the entry is written.
    pub origin: Origin,
    /// Dotted names of keys, at any depth, that look like they hold a secret; list positions count from 1. Never
    /// values.
    pub unsafe_fields: Vec<String>,
    /// Whether an issue of error severity concerns this entry.
    pub is_broken: bool,
}

impl Tool {
    /// A tool with nothing but an id, which is also its name, and a family; for code that makes entries by itself.
    pub fn new(id: &str, family: Family) -> Result<Tool, InvalidToolId> {
        let id: ToolId = id.parse()?;
        let name = id.as_str().to_owned();
        let origin = Origin::new(Level::Project, Place::file(".brigade/tools.toml"));
        Ok(Tool { name, family: Some(family), ..Tool::bare(id, origin) })
    }

    /// A tool of which only the id is known.
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
            domain: None,
            risk_class: None,
            approval_mode: None,
            requires_runtime: false,
            timeout: None,
            permissions: Vec::new(),
            effects: Vec::new(),
            env_labels: Vec::new(),
            capability: Vec::new(),
            supported_harnesses: Vec::new(),
            argument_template: BTreeMap::new(),
            projections: BTreeMap::new(),
            projection_fingerprints: BTreeMap::new(),
            origin,
            unsafe_fields: Vec::new(),
            is_broken: false,
        }
    }

    /// Returns the place of a field, such as `timeout`, `projections.claude` or `effects[2]` (from 1).
    ///
    /// Falls back to the whole field, and to the entry's header when the field is not written.
    pub fn place_of(&self, field: &str) -> Place {
        let path = FieldPath::of(field);
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

    /// The position of a table's key in sorted order, from 1; 0 when it is not there.
    fn position_of_key(&self, field: &str, key: &str) -> u16 {
        let table = match field {
            "argument_template" => &self.argument_template,
            "projections" => &self.projections,
            "projection_fingerprints" => &self.projection_fingerprints,
            _ => return 0,
        };
        table.keys().position(|name| name == key).and_then(|at| u16::try_from(at + 1).ok()).unwrap_or(0)
    }

    /// Returns whether the entry says anything about how it is called.
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

    /// Returns whether calls of this family can run: a script or an MCP tool.
    pub fn is_executable(&self) -> bool {
        matches!(self.family, Some(Family::Script | Family::Mcp))
    }
}
