//! Removes reasons that follow from another one, so that one cause is one reason.

use brigade_catalog::Tool;
use brigade_core::{ErrorCode, Hint};
use brigade_policy::Blocker;

use crate::facts::PlanFacts;

/// Removes reasons that follow from an error of the entry or from its family, and adds the place of a misspelt key to
/// the others.
///
/// The values of an entry that cannot be read are unknown, so a value that seems to be missing may exist. A family that
/// is not executed needs no values.
pub(super) fn settle(facts: &PlanFacts<'_>, blockers: &mut Vec<Blocker>) {
    if blockers.iter().any(|blocker| blocker.is(ErrorCode::FamilyNotExecutable)) {
        blockers.retain(|blocker| needed(blocker).is_none());
    }
    if !facts.entry_errors.is_empty() {
        blockers.retain(|blocker| needed(blocker).is_none_or(|field| !is_unreadable(facts, field)));
    }
    for blocker in blockers {
        let Some(field) = needed(blocker).filter(|field| facts.tool.lacks(field)) else { continue };
        let Some(key) = facts.misspelt.get(field) else { continue };
        blocker.place = Some(key.place.clone());
        blocker.hint = key.field.as_deref().map(|key| {
            let key = brigade_core::text::escape_terminal(key);
            Hint::from(format!("`{key}` is not known; ")).then(Hint::did_you_mean(field))
        });
    }
}

/// Returns whether an error hides the value of a field. A syntax error has no field, and may hide any value.
fn is_unreadable(facts: &PlanFacts<'_>, field: &str) -> bool {
    let tool: &Tool = facts.tool;
    tool.lacks(field)
        && facts.entry_errors.iter().any(|issue| {
            issue.field.as_deref().is_none_or(|broken| broken == field)
                || issue.hint == Some(Hint::did_you_mean(field))
        })
}

/// Returns the missing field of the entry, if that is the reason.
fn needed(blocker: &Blocker) -> Option<&'static str> {
    Some(match &*blocker.code {
        "policy_family" => "family",
        "policy_approval_mode" | "mcp_missing_approval_mode" => "approval_mode",
        "missing_command" => "command",
        "missing_input_schema" => "input_schema_path",
        "mcp_missing_runtime" => "runtime_id",
        "mcp_missing_tool_name" => "mcp_tool_name",
        "mcp_missing_timeout" => "timeout",
        "mcp_missing_effects" => "effects",
        _ => return None,
    })
}
