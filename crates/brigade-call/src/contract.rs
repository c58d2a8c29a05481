//! The contract of a tool: the catalog fields that define how it is called.
//!
//! | field | enters the contract's fingerprint |
//! | --- | --- |
//! | id, command, cwd, timeouts, auth label, env labels, permissions, effects, approval mode | yes |
//! | runtime id, whether a runtime is required, its health path, MCP server id and tool name | yes |
//! | the required version and the command that prints it | yes |
//! | level and file of an entry that is not from the project | yes |
//! | URL, transport and headers of a remote server | yes |
//! | argument templates, and the arguments that may look like options | yes |
//! | sha256 of the input schema, the output schema and the examples | yes |
//! | for an installation: the contract of the entry, and its check and commands | yes |
//! | name, family, description, source, projections | no: the source and the projections are bound separately |

use brigade_catalog::{ApprovalMode, Family, Level, Seconds, Tool};
use brigade_core::{Extra, Fingerprint, Number};
use brigade_macros::record;
use brigade_policy::shown_label;

/// The sha256 of the files that a contract names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContractFiles {
    /// The input schema.
    pub input_schema: Option<Fingerprint>,
    /// The output schema.
    pub output_schema: Option<Fingerprint>,
    /// The examples.
    pub examples: Option<Fingerprint>,
}

/// Returns the fingerprint of a tool's contract.
pub fn contract_fingerprint(tool: &Tool, files: &ContractFiles) -> Fingerprint {
    fingerprint_of(tool.id.as_str(), Some(tool), files)
}

/// Returns the fingerprint of the contract of an installation: of the script that installs, and of the entry.
pub(crate) fn installation_contract(installation: &Tool, entry: &Tool, files: &ContractFiles) -> Fingerprint {
    let install = entry.install.as_deref();
    let builder = Fingerprint::builder("brigade.install-contract.v1")
        .fingerprint("installation", contract_fingerprint(installation, files))
        .fingerprint("entry", contract_fingerprint(entry, &ContractFiles::default()))
        .text("name", entry.name.as_str())
        .text("family", entry.family.map(|family| family.as_str()))
        .text("source", entry.source().map(|source| source.as_str()))
        .text("check", install.and_then(|install| install.check.as_deref()))
        .list("commands", install.map_or(&[][..], |install| &install.command));
    // An entry that is disabled after the approval must not be installed.
    if entry.enabled { builder.finish() } else { builder.text("enabled", "false").finish() }
}

/// Returns the fingerprint of the contract of a tool that does not exist.
pub(crate) fn missing_contract(tool_id: &str) -> Fingerprint {
    fingerprint_of(tool_id, None, &ContractFiles::default())
}

fn fingerprint_of(tool_id: &str, tool: Option<&Tool>, files: &ContractFiles) -> Fingerprint {
    let text = |field: fn(&Tool) -> &Option<String>| tool.and_then(|tool| field(tool).as_deref());
    let list = |field: fn(&Tool) -> &Vec<String>| tool.map_or(&[][..], |tool| field(tool));
    let seconds = |stated: Option<Seconds>| stated.map(|seconds| format!("{:?}", seconds.get()));
    let timeout = seconds(tool.and_then(|tool| tool.timeout));
    let idle_timeout = seconds(tool.and_then(|tool| tool.idle_timeout));
    let mut fingerprint = Fingerprint::builder("brigade.contract.v1")
        .text("tool_id", tool_id)
        .text("command", text(|tool| &tool.command))
        .text("cwd", text(|tool| &tool.cwd))
        .text("timeout", timeout.as_deref())
        .text("auth_label", text(|tool| &tool.auth_label))
        .list("env_labels", list(|tool| &tool.env_labels))
        .list("permissions", list(|tool| &tool.permissions))
        .list("effects", list(|tool| &tool.effects))
        .text("approval_mode", tool.and_then(|tool| tool.approval_mode).map(ApprovalMode::as_str))
        .text("runtime_id", text(|tool| &tool.runtime_id))
        .truth("requires_runtime", tool.is_some_and(|tool| tool.requires_runtime))
        .text("runtime_health_path", text(|tool| &tool.runtime_health_path))
        .text("mcp_server_id", text(|tool| &tool.mcp_server_id))
        .text("mcp_tool_name", text(|tool| &tool.mcp_tool_name))
        .table("argument_template", tool.map(|tool| &tool.argument_template).into_iter().flatten())
        .fingerprint("input_schema", files.input_schema)
        .fingerprint("output_schema", files.output_schema)
        .fingerprint("examples", files.examples);
    // Fields that were added later leave the fingerprints of older contracts unchanged.
    let later = [
        ("allow_option_values", list(|tool| &tool.allow_option_values)),
        ("code", list(|tool| &tool.code)),
        ("data", list(|tool| &tool.data)),
    ];
    for (name, values) in later.into_iter().filter(|(_, values)| !values.is_empty()) {
        fingerprint = fingerprint.list(name, values);
    }
    if let Some(remote) = tool.and_then(|tool| tool.remote.as_ref()) {
        fingerprint = fingerprint
            .text("remote_url", remote.url.as_str())
            .text("remote_transport", remote.transport.as_str())
            .table(
                "remote_headers",
                remote.headers.iter().map(|(name, text)| (name.as_str(), text.as_str())),
            );
    }
    let version = tool.and_then(|tool| tool.version.as_ref()).map(|version| version.as_str());
    let later = [
        ("version", version),
        ("version_command", text(|tool| &tool.version_command)),
        ("idle_timeout", idle_timeout.as_deref()),
    ];
    for (name, value) in later.into_iter().filter(|(_, value)| value.is_some()) {
        fingerprint = fingerprint.text(name, value);
    }
    // An approval for an entry in one file does not count for an entry in another file.
    if let Some(tool) = tool.filter(|tool| tool.origin.level != Level::Project) {
        let file = tool.origin.place.file.as_str();
        fingerprint = fingerprint.text("level", tool.origin.level.as_str()).text("file", file);
    }
    fingerprint.finish()
}

/// Returns whether the tool requires approval. Every call needs an approval before it runs; this is the tool's own
/// setting.
pub fn approval_required(tool: &Tool) -> bool {
    tool.approval_mode != Some(ApprovalMode::Never)
}

/// The labels of a contract, as records keep them and reports show them.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct ContractLabels {
    /// The approval mode.
    pub approval_mode: Option<String>,
    /// Whether the tool requires approval.
    pub approval_required: bool,
    /// The label of the tool's authentication.
    pub auth_label: Option<String>,
    /// The directory that it starts in, as configured.
    pub cwd: Option<String>,
    /// Labels of what it does.
    pub effects: Vec<String>,
    /// Labels of the variables that it needs.
    pub env_labels: Vec<String>,
    /// The MCP server.
    pub mcp_server_id: Option<String>,
    /// The tool's name at that server.
    pub mcp_tool_name: Option<String>,
    /// Scheme, host and port of a remote server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_origin: Option<String>,
    /// How a remote server is reached: `http` or `sse`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_transport: Option<String>,
    /// Labels of what it needs.
    pub permissions: Vec<String>,
    /// Whether its runtime must run.
    pub requires_runtime: bool,
    /// Where that runtime's health is written.
    pub runtime_health_path: Option<String>,
    /// The runtime that it depends on.
    pub runtime_id: Option<String>,
    /// Seconds that a call may take.
    pub timeout: Option<Number>,
    /// Seconds that a call may pass without progress of its server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Number>,
}

impl ContractLabels {
    /// Returns the labels of a tool that does not exist.
    pub(crate) fn missing() -> ContractLabels {
        let approval_mode = Some(ApprovalMode::Never.as_str().to_owned());
        ContractLabels { approval_mode, approval_required: true, ..ContractLabels::default() }
    }

    /// Returns whether stored labels can be these; `is_shown` compares a stored text with an exact one. It is used only
    /// for texts that are masked in records.
    pub(crate) fn is_shown_by(&self, stored: &ContractLabels, is_shown: impl Fn(&str, &str) -> bool) -> bool {
        let is_text = |stored: &Option<String>, exact: &Option<String>| match (stored, exact) {
            (Some(stored), Some(exact)) => is_shown(stored, exact),
            (stored, exact) => stored == exact,
        };
        let is_list = |stored: &Vec<String>, exact: &Vec<String>| {
            stored.len() == exact.len()
                && stored.iter().zip(exact).all(|(stored, exact)| is_shown(stored, exact))
        };
        let is_masked_text = is_text(&stored.cwd, &self.cwd)
            && is_text(&stored.auth_label, &self.auth_label)
            && is_text(&stored.runtime_health_path, &self.runtime_health_path)
            && is_list(&stored.effects, &self.effects)
            && is_list(&stored.permissions, &self.permissions)
            && is_list(&stored.env_labels, &self.env_labels);
        let others = ContractLabels {
            cwd: self.cwd.clone(),
            auth_label: self.auth_label.clone(),
            runtime_health_path: self.runtime_health_path.clone(),
            effects: self.effects.clone(),
            permissions: self.permissions.clone(),
            env_labels: self.env_labels.clone(),
            ..stored.clone()
        };
        is_masked_text && others == *self
    }

    /// Returns the labels of a tool.
    pub(crate) fn from_tool(tool: &Tool) -> ContractLabels {
        ContractLabels {
            approval_mode: Some(tool.approval_mode.unwrap_or(ApprovalMode::Never).as_str().to_owned()),
            approval_required: approval_required(tool),
            auth_label: tool.auth_label.as_deref().map(|label| shown_label(label).to_owned()),
            cwd: tool.cwd.clone(),
            effects: tool.effects.clone(),
            env_labels: tool.env_labels.iter().map(|label| shown_label(label).to_owned()).collect(),
            mcp_server_id: tool.mcp_server_id.clone(),
            mcp_tool_name: tool.mcp_tool_name.clone(),
            mcp_origin: tool.remote.as_ref().map(|remote| remote.origin()),
            mcp_transport: tool.remote.as_ref().map(|remote| remote.transport.as_str().to_owned()),
            permissions: tool.permissions.clone(),
            // MCP tools always need their runtime, whatever the entry says.
            requires_runtime: tool.requires_runtime || tool.family == Some(Family::Mcp),
            runtime_health_path: tool.runtime_health_path.clone(),
            runtime_id: tool.runtime_id.clone(),
            timeout: tool.timeout.map(|timeout| Number::from(timeout.get())),
            idle_timeout: tool.idle_timeout.map(|timeout| Number::from(timeout.get())),
            extra: Extra::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ContractLabels;
    use crate::cases::{Case, mark};
    use crate::facts::FileFact;

    /// Checks whether a change of the entry or its files changes the fingerprint of the contract.
    #[track_caller]
    fn check(change: impl FnOnce(&mut Case), expect: bool) {
        let mut case = Case::new();
        change(&mut case);
        let changed = case.plan().binding().contract != Case::new().plan().binding().contract;
        assert_eq!(changed, expect, "{}", case.entry);
    }

    #[test]
    fn every_field_of_the_contract_is_in_the_fingerprint() {
        for (field, value) in [
            ("command", "'sh bin/greet.sh --more'"),
            ("cwd", "'.'"),
            ("timeout", "29.5"),
            ("idle_timeout", "5"),
            ("auth_label", "'other-user'"),
            ("env_labels", "[]"),
            ("permissions", "['read-files']"),
            ("effects", "['local-read', 'local-write']"),
            ("approval_mode", "'on-request'"),
            ("runtime_id", "'voice'"),
            ("requires_runtime", "true"),
            ("runtime_health_path", "'health.json'"),
            ("mcp_server_id", "'x'"),
            ("mcp_tool_name", "'x'"),
            ("argument_template", "{ name = '--name={name}' }"),
            ("allow_option_values", "['name']"),
            ("code", "['lib/**']"),
            ("data", "['fixtures/**']"),
            ("version", "'>=1.2, <2'"),
            ("version_command", "'sh --version'"),
        ] {
            check(|case| case.set(field, value), true);
        }
        check(|case| case.input_schema = crate::cases::schema(r#"{"type":"object","title":"x"}"#), true);
        check(|case| case.output_schema = FileFact::Present(mark("output")), true);
        check(|case| case.examples = FileFact::Present(mark("examples")), true);
    }

    #[test]
    fn other_fields_are_not() {
        for (field, value) in [
            ("name", "'A greeting'"),
            ("description", "'Greets'"),
            ("source_path", "'docs/other.md'"),
            ("domain", "'words'"),
            ("supported_harnesses", "['claude']"),
            ("projections", "{ claude = 'x.md' }"),
            ("aliases", "['hello']"),
            ("capabilities", "['greet people']"),
            ("availability", "'always'"),
        ] {
            check(|case| case.set(field, value), false);
        }
        check(|case| case.source = FileFact::Present(mark("other")), false);
    }

    #[test]
    fn stored_labels_may_have_a_masked_directory() {
        let exact = ContractLabels { cwd: Some("a/Zq7tail".to_owned()), ..ContractLabels::default() };
        let masked = ContractLabels { cwd: Some("a/[redacted]".to_owned()), ..exact.clone() };
        let other = ContractLabels { cwd: Some("b/[redacted]".to_owned()), ..exact.clone() };
        let more = ContractLabels { runtime_id: Some("r".to_owned()), ..exact.clone() };
        let is_shown = |stored: &ContractLabels| exact.is_shown_by(stored, brigade_redact::shows);
        assert_eq!([&exact, &masked, &other, &more].map(is_shown), [true, true, false, false]);
    }
}
