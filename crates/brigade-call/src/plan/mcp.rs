//! The fields that an MCP call needs in its entry.
//!
//! A missing input schema is refused for every family, so it is not checked here.

use brigade_catalog::{Family, Tool};
use brigade_core::{ErrorCode, Hint, NextStep};
use brigade_policy::Blocker;

/// Names the fields that a call of an MCP tool needs and its entry does not set; empty for every other family.
pub fn unset_for_mcp(tool: &Tool) -> Vec<String> {
    mcp_blockers(tool).into_iter().filter_map(|blocker| blocker.field).collect()
}

/// Lists the missing fields of an MCP tool; empty for every other family.
pub(super) fn mcp_blockers(tool: &Tool) -> Vec<Blocker> {
    if tool.family != Some(Family::Mcp) {
        return Vec::new();
    }
    if tool.is_whole_server() {
        let id = tool.id.as_str();
        let message = "the entry describes a whole server, whose tools are separate entries";
        let hint = match tool.origin.level.is_registry() {
            true => Hint::to("register it, and enable it", NextStep::Register(format!("registry:{id}"))),
            false => Hint::to("import them, or see them", NextStep::EnableTools(id.to_owned())),
        };
        let blocker = Blocker::new(ErrorCode::McpMissingToolName, message);
        return vec![blocker.at(tool.place_of("mcp_tool_name")).field("mcp_tool_name").hint(hint)];
    }
    let named = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let needed = [
        (
            named(&tool.runtime_id),
            ErrorCode::McpMissingRuntime,
            "runtime_id",
            "an MCP call needs a runtime, and the tool names none",
            Hint::from("name a runtime of .brigade/tools/runtimes.toml"),
        ),
        (
            named(&tool.mcp_tool_name),
            ErrorCode::McpMissingToolName,
            "mcp_tool_name",
            "`mcp_tool_name` is not set",
            Hint::to("list the names", NextStep::ImportMcp),
        ),
        (
            tool.timeout.is_some(),
            ErrorCode::McpMissingTimeout,
            "timeout",
            "an MCP call needs its own timeout",
            "set `timeout` to a number of seconds".into(),
        ),
        (
            !tool.effects.is_empty(),
            ErrorCode::McpMissingEffects,
            "effects",
            "an MCP call needs the effects that it has",
            Hint::from("list what the tool does, such as local-read, local-write or network, or run `")
                .then(NextStep::EnableTools(tool.id.to_string()))
                .then("`"),
        ),
        (
            tool.approval_mode.is_some(),
            ErrorCode::McpMissingApprovalMode,
            "approval_mode",
            "an MCP call needs an approval mode",
            "set `approval_mode` to on-request or always".into(),
        ),
    ];
    let missing = needed.into_iter().filter(|(is_there, ..)| !is_there);
    missing
        .map(|(_, code, field, message, hint)| {
            Blocker::new(code, message).at(tool.place_of(field)).field(field).hint(hint)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use brigade_catalog::{Catalog, Level};

    use super::*;

    /// Checks the blockers of a tool with these fields.
    #[track_caller]
    fn check(fields: &str, expect: &[&str]) {
        let entry = format!("[[tool]]\nid = 'say'\nname = 'Say'\n{fields}");
        let catalog = Catalog::parse("tools.toml", Level::Project, entry.as_bytes());
        let found = mcp_blockers(catalog.tool("say").unwrap());
        assert_eq!(found.iter().map(|blocker| &*blocker.code).collect::<Vec<_>>(), expect);
        assert!(found.iter().all(|blocker| blocker.place.is_some() && blocker.hint.is_some()));
    }

    const WHOLE: &str = "family = 'mcp'\nruntime_id = 'voice'\nmcp_tool_name = 'echo'\ntimeout = 5\n\
        effects = ['local-read']\napproval_mode = 'always'\n";

    #[test]
    fn missing_fields_of_an_entry_are_reported() {
        check(WHOLE, &[]);
        check("family = 'script'\ncommand = 'true'", &[]);
        check(
            "family = 'mcp'",
            &[
                "mcp_missing_runtime",
                "mcp_missing_tool_name",
                "mcp_missing_timeout",
                "mcp_missing_effects",
                "mcp_missing_approval_mode",
            ],
        );
    }

    #[test]
    fn a_whole_server_lacks_only_its_tools() {
        check("family = 'mcp'\nruntime_id = 'say'\nsource = { kind = 'mcp' }", &["mcp_missing_tool_name"]);
    }

    #[test]
    fn each_field_is_needed_on_its_own() {
        for (line, code) in [
            ("runtime_id = 'voice'\n", "mcp_missing_runtime"),
            ("mcp_tool_name = 'echo'\n", "mcp_missing_tool_name"),
            ("timeout = 5\n", "mcp_missing_timeout"),
            ("effects = ['local-read']\n", "mcp_missing_effects"),
            ("approval_mode = 'always'\n", "mcp_missing_approval_mode"),
        ] {
            check(&WHOLE.replace(line, ""), &[code]);
        }
        check(&WHOLE.replace("'voice'", "''"), &["mcp_missing_runtime"]);
    }
}
