//! Tools in lists and descriptions.

use brigade_projection::ProjectionStatus;
use std::collections::BTreeMap;

use brigade_catalog::{ApprovalMode, Family, Level, OrBuiltin, Tool};
use brigade_core::json::{Mismatch, from_json, present, sorted, to_json};
use brigade_core::{Fingerprint, Json, Object};
use brigade_doctor::IssueReport;
use brigade_macros::part;
use brigade_policy::shown_label;
use brigade_schema::{Property, Requirement};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::tool::{SummaryFacts, ToolFacts};

/// One tool in a list.
#[part]
pub struct ToolSummary {
    /// The id.
    pub id: String,
    /// The display name.
    pub name: String,
    /// The family; absent if the entry is broken.
    pub family: Option<Family>,
    /// Whether the tool is enabled.
    pub enabled: bool,
    /// The description.
    pub description: String,
    /// The supported harnesses.
    pub supported_harnesses: Vec<String>,
    /// The projection status by harness.
    pub projection_coverage: BTreeMap<String, ProjectionStatus>,
    /// Whether the file of `schema_path` exists.
    pub schema_available: bool,
    /// Whether the file of `manifest_path` exists.
    pub manifest_available: bool,
    /// The label of the authentication method.
    pub auth_label: Option<String>,
    /// Number of tools of the entry.
    pub tool_count: usize,
    /// The contract.
    pub contract: Contract,
    /// The place of the entry.
    pub origin: Origin,
    /// Whether the entry is unusable because of an error.
    pub broken: bool,
    /// The source, if configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_path: Option<String>,
    /// The sha256 of the source, or the value in the catalog; `null` if the configured source is missing.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub source_fingerprint: Option<Option<String>>,
    /// The manifest, if configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest_path: Option<String>,
    /// The schema, if configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_path: Option<String>,
    /// The health file, if configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_path: Option<String>,
    /// The command, if configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The configured projection path by harness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projection_paths: Option<BTreeMap<String, String>>,
    /// The servers of the tool's MCP configuration, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp: Option<McpSummary>,
}

/// The servers of a local MCP configuration.
#[part]
pub struct McpSummary {
    /// Number of entries.
    pub server_count: usize,
    /// Their names, sorted.
    pub server_ids: Vec<String>,
}

/// The place of a catalog entry.
#[part]
pub struct Origin {
    /// The catalog layer: `project`, `project-registry`, `user`, `user-registry` or `discovered`.
    pub level: OrBuiltin<Level>,
    /// The file, relative to the workspace.
    pub file: String,
    /// The line, from 1.
    pub line: Option<usize>,
}

/// The contract of a tool.
#[part]
pub struct Contract {
    /// The tool.
    pub tool_id: String,
    /// The display name.
    pub name: String,
    /// The family; absent if the entry is broken.
    pub family: Option<Family>,
    /// The description.
    pub description: String,
    /// The command.
    pub command: Option<String>,
    /// The timeout of a call, in seconds.
    pub timeout: Option<f64>,
    /// Seconds that a call of an MCP tool may pass without progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<f64>,
    /// The label of the authentication method.
    pub auth_label: Option<String>,
    /// The configured working directory.
    pub cwd: Option<String>,
    /// The runtime of the tool.
    pub runtime_id: Option<String>,
    /// Whether the runtime must be running.
    pub requires_runtime: bool,
    /// The health file of the runtime.
    pub runtime_health_path: Option<String>,
    /// The MCP server.
    pub mcp_server_id: Option<String>,
    /// The name of the tool at that server.
    pub mcp_tool_name: Option<String>,
    /// The approval mode.
    pub approval_mode: ApprovalMode,
    /// The permission labels.
    pub permissions: Vec<String>,
    /// The effect labels.
    pub effects: Vec<String>,
    /// The labels of environment variables.
    pub env_labels: Vec<String>,
    /// The templates from arguments to words of the command line.
    pub argument_template: BTreeMap<String, String>,
    /// The input schema.
    pub input_schema_path: Option<String>,
    /// The output schema.
    pub output_schema_path: Option<String>,
    /// The examples.
    pub examples_path: Option<String>,
    /// Whether the entry has any contract field.
    pub has_contract: bool,
}

/// One tool in one line.
#[part]
pub struct ToolLine {
    /// The id.
    pub id: String,
    /// The display name.
    pub name: String,
    /// The family; absent if the entry is broken.
    pub family: Option<Family>,
    /// The description.
    pub description: String,
    /// The supported harnesses.
    pub supported_harnesses: Vec<String>,
    /// Whether the tool is enabled.
    pub enabled: bool,
    /// Where the entry is.
    pub origin: Origin,
    /// Whether the entry is unusable because of an error.
    pub broken: bool,
}

/// A tool with the members of its summary and of its contract.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DescribedTool {
    /// The summary.
    #[cfg_attr(feature = "schemas", schemars(flatten))]
    pub summary: ToolSummary,
    /// The contract.
    #[cfg_attr(feature = "schemas", schemars(flatten))]
    pub contract: Contract,
}

impl Serialize for DescribedTool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = |value: Result<Json, Mismatch>| match value {
            Ok(Json::Object(members)) => Ok(members),
            Ok(_) => Err(S::Error::custom("a tool is an object")),
            Err(error) => Err(S::Error::custom(error)),
        };
        // Members in both have equal values.
        let mut tool = members(to_json(&self.contract))?;
        tool.extend(members(to_json(&self.summary))?);
        tool.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DescribedTool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DescribedTool, D::Error> {
        let tool = Json::Object(Object::deserialize(deserializer)?);
        Ok(DescribedTool {
            summary: from_json(&tool).map_err(D::Error::custom)?,
            contract: from_json(&tool).map_err(D::Error::custom)?,
        })
    }
}

/// An argument of a tool.
#[part]
pub struct ArgumentDescription {
    /// The name.
    pub name: String,
    /// The type, in a few words.
    pub kind: String,
    /// Whether the argument is required.
    pub required: bool,
    /// The meaning.
    pub description: Option<String>,
}

/// A contract and its issues.
#[part]
pub struct ContractHealth {
    /// The contract.
    #[serde(flatten)]
    pub contract: Contract,
    /// Number of issues of the tool.
    pub issue_count: usize,
    /// These issues.
    #[serde(serialize_with = "sorted::serialize")]
    pub issues: Vec<IssueReport>,
}

impl ToolSummary {
    /// Summarizes a tool. `absolute` makes paths absolute.
    pub fn new(tool: &Tool, facts: &SummaryFacts, absolute: impl Fn(&str) -> String) -> ToolSummary {
        let tool = &*tool.shown();
        let named = |path: &Option<String>| document_path(tool, path, &absolute);
        let paths: BTreeMap<String, String> =
            tool.projections.iter().map(|(harness, path)| (harness.clone(), absolute(path))).collect();
        let read = || facts.source_fingerprint.map(Fingerprint::to_hex).or_else(|| tool.fingerprint.clone());
        ToolSummary {
            id: tool.id.as_str().to_owned(),
            name: tool.name.clone(),
            family: tool.family,
            enabled: tool.enabled,
            description: tool.description.clone().unwrap_or_default(),
            supported_harnesses: tool.supported_harnesses.clone(),
            projection_coverage: facts.coverage.iter().cloned().collect(),
            schema_available: facts.schema_available,
            manifest_available: facts.manifest_available,
            auth_label: tool.auth_label.as_deref().map(|label| shown_label(label).to_owned()),
            tool_count: facts.tool_count,
            contract: Contract::written(tool, &absolute),
            origin: Origin::from_tool(tool),
            broken: tool.is_broken,
            source_path: named(&tool.source_path),
            source_fingerprint: tool.source_path.as_ref().map(|_| read()),
            manifest_path: named(&tool.manifest_path),
            schema_path: named(&tool.schema_path),
            health_path: named(&tool.health_path),
            command: tool.command.clone(),
            projection_paths: Some(paths).filter(|paths| !paths.is_empty()),
            mcp: facts
                .mcp_server_ids
                .as_ref()
                .map(|ids| McpSummary { server_count: ids.len(), server_ids: ids.clone() }),
        }
    }
}

impl Origin {
    fn from_tool(tool: &Tool) -> Origin {
        Origin {
            level: tool.reported_level(),
            file: tool.origin.place.file.clone(),
            line: tool.origin.place.line,
        }
    }
}

impl Contract {
    /// Builds the contract of a tool. `absolute` makes paths absolute.
    pub fn new(tool: &Tool, absolute: impl Fn(&str) -> String) -> Contract {
        Contract::written(&tool.shown(), absolute)
    }

    /// Builds the contract of a tool whose secrets are masked already.
    fn written(tool: &Tool, absolute: impl Fn(&str) -> String) -> Contract {
        let named = |path: &Option<String>| document_path(tool, path, &absolute);
        Contract {
            tool_id: tool.id.as_str().to_owned(),
            name: tool.name.clone(),
            family: tool.family,
            description: tool.description.clone().unwrap_or_default(),
            command: tool.command.clone(),
            timeout: tool.timeout.map(|timeout| timeout.get()),
            idle_timeout: tool.idle_timeout.map(|timeout| timeout.get()),
            auth_label: tool.auth_label.as_deref().map(|label| shown_label(label).to_owned()),
            cwd: tool.cwd.clone(),
            runtime_id: tool.runtime_id.clone(),
            requires_runtime: tool.requires_runtime,
            runtime_health_path: tool.runtime_health_path.clone(),
            mcp_server_id: tool.mcp_server_id.clone(),
            mcp_tool_name: tool.mcp_tool_name.clone(),
            approval_mode: tool.approval_mode.unwrap_or(ApprovalMode::Never),
            permissions: tool.permissions.clone(),
            effects: tool.effects.clone(),
            env_labels: tool.env_labels.iter().map(|label| shown_label(label).to_owned()).collect(),
            argument_template: tool.argument_template.clone(),
            input_schema_path: named(&tool.input_schema_path),
            output_schema_path: named(&tool.output_schema_path),
            examples_path: named(&tool.examples_path),
            has_contract: tool.has_contract(),
        }
    }
}

impl ToolLine {
    /// Summarizes a tool from its catalog entry only.
    pub fn new(tool: &Tool) -> ToolLine {
        let tool = &*tool.shown();
        ToolLine {
            id: tool.id.as_str().to_owned(),
            name: tool.name.clone(),
            family: tool.family,
            description: tool.description.clone().unwrap_or_default(),
            supported_harnesses: tool.supported_harnesses.clone(),
            enabled: tool.enabled,
            origin: Origin::from_tool(tool),
            broken: tool.is_broken,
        }
    }
}

impl DescribedTool {
    /// Describes a tool. `absolute` makes paths absolute.
    pub fn new(read: &ToolFacts<'_>, absolute: impl Fn(&str) -> String) -> DescribedTool {
        DescribedTool {
            contract: Contract::new(read.tool, &absolute),
            summary: ToolSummary::new(read.tool, &read.summary(), absolute),
        }
    }
}

impl ArgumentDescription {
    /// Describes the arguments of a tool, without bound values; empty without a usable input schema.
    pub fn all(read: &ToolFacts<'_>) -> Vec<ArgumentDescription> {
        let Some(schema) = read.input_schema() else {
            return Vec::new();
        };
        let masks = &read.tool.masks;
        let describe = |property: Property<'_>| ArgumentDescription {
            name: masks.shown(property.name),
            kind: masks.shown(&property.describe_type()),
            required: property.requirement == Requirement::Required,
            description: property.description.map(|text| masks.shown(text)),
        };
        schema.properties().map(describe).collect()
    }
}

impl ContractHealth {
    /// Combines a contract with the issues of its tool.
    pub fn new(contract: Contract, issues: Vec<IssueReport>) -> ContractHealth {
        ContractHealth { contract, issue_count: issues.len(), issues }
    }
}

/// Makes the path of a document absolute: below the workspace, or for an entry of the user below its file.
fn document_path(tool: &Tool, path: &Option<String>, absolute: impl Fn(&str) -> String) -> Option<String> {
    let path = path.as_deref().filter(|path| !path.is_empty())?;
    Some(match tool.directory_of_documents() {
        Some(directory) => directory.join(path).display().to_string(),
        None => absolute(path),
    })
}

#[cfg(test)]
mod tests;
