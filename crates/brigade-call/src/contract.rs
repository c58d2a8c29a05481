//! The contract of a tool: the catalog fields that say how it is called.
//!
//! | field | enters the contract's fingerprint |
//! | --- | --- |
//! | id, command, cwd, timeout, auth label, env labels, permissions, effects, approval mode | yes |
//! | runtime id, whether a runtime is required, its health path, MCP server id and tool name | yes |
//! | argument templates | yes |
//! | sha256 of the input schema, the output schema and the examples | yes |
//! | name, family, description, source, projections | no: the source and the projections are bound of their own |

use brigade_catalog::{ApprovalMode, Family, Tool};
use brigade_core::{Fingerprint, Json};
use brigade_policy::{LabelProblem, check_label};
use brigade_redact::MARK;

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
    let timeout = tool.timeout.map(|timeout| format!("{:?}", timeout.get()));
    Fingerprint::builder("brigade.contract.v1")
        .text("tool_id", tool.id.as_str())
        .text("command", tool.command.as_deref())
        .text("cwd", tool.cwd.as_deref())
        .text("timeout", timeout.as_deref())
        .text("auth_label", tool.auth_label.as_deref())
        .list("env_labels", &tool.env_labels)
        .list("permissions", &tool.permissions)
        .list("effects", &tool.effects)
        .text("approval_mode", tool.approval_mode.map(ApprovalMode::as_str))
        .text("runtime_id", tool.runtime_id.as_deref())
        .truth("requires_runtime", tool.requires_runtime)
        .text("runtime_health_path", tool.runtime_health_path.as_deref())
        .text("mcp_server_id", tool.mcp_server_id.as_deref())
        .text("mcp_tool_name", tool.mcp_tool_name.as_deref())
        .table("argument_template", &tool.argument_template)
        .fingerprint("input_schema", files.input_schema)
        .fingerprint("output_schema", files.output_schema)
        .fingerprint("examples", files.examples)
        .finish()
}

/// Tells whether a person is asked in any case. Every call needs an approval before it runs; this is what the tool says of
/// itself.
pub fn approval_required(tool: &Tool) -> bool {
    tool.approval_mode != Some(ApprovalMode::Never)
}

/// Returns a label as it is shown and stored: one that looks like a value is taken out, because it may be the secret itself.
pub fn shown_label(label: &str) -> &str {
    match check_label(label) {
        Err(LabelProblem::LooksLikeValue) => MARK,
        Ok(_) | Err(LabelProblem::NotAName | LabelProblem::Dangerous) => label,
    }
}

/// Returns the labels of a contract as a call's record holds them.
pub(crate) fn contract_labels(tool: &Tool) -> Json {
    Json::object([
        ("approval_mode", Json::from(tool.approval_mode.unwrap_or(ApprovalMode::Never).as_str())),
        ("approval_required", Json::from(approval_required(tool))),
        ("permissions", Json::from(tool.permissions.clone())),
        ("effects", Json::from(tool.effects.clone())),
        ("auth_label", Json::from(tool.auth_label.as_deref().map(shown_label))),
        (
            "env_labels",
            Json::from(tool.env_labels.iter().map(|label| shown_label(label)).collect::<Vec<_>>()),
        ),
        ("cwd", Json::from(tool.cwd.clone())),
        ("timeout", Json::from(tool.timeout.map(|timeout| timeout.get()))),
        ("runtime_id", Json::from(tool.runtime_id.clone())),
        // No MCP tool is called without its runtime, whatever its entry says.
        ("requires_runtime", Json::from(tool.requires_runtime || tool.family == Some(Family::Mcp))),
        ("runtime_health_path", Json::from(tool.runtime_health_path.clone())),
        ("mcp_server_id", Json::from(tool.mcp_server_id.clone())),
        ("mcp_tool_name", Json::from(tool.mcp_tool_name.clone())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn every_field_that_says_how_a_tool_is_called_is_in_the_fingerprint() {
        for (field, value) in [
            ("command", "'sh bin/greet.sh --more'"),
            ("cwd", "'.'"),
            ("timeout", "29.5"),
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
        ] {
            check(|case| case.set(field, value), false);
        }
        check(|case| case.source = FileFact::Present(mark("other")), false);
    }

    #[test]
    fn a_label_that_looks_like_a_value_is_not_shown() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        assert_eq!(
            ["GITHUB_TOKEN", "local-user", "PATH", "A=secret", &token].map(shown_label),
            ["GITHUB_TOKEN", "local-user", "PATH", MARK, MARK]
        );
    }
}
