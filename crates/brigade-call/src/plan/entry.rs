//! Turns errors of an entry into reasons against its calls.

use brigade_catalog::{Tool, ToolSource};
use brigade_core::text::escape_terminal;
use brigade_core::{ConfigIssue, ErrorCode, Hint, NextStep};
use brigade_policy::Blocker;

use crate::facts::PlanFacts;
use crate::start::Objection;

/// Returns an error of an entry as a reason against its calls.
pub fn entry_blocker(issue: &ConfigIssue) -> Blocker {
    let names = [issue.entry.as_deref(), issue.field.as_deref()].into_iter().flatten();
    let names: String = names.map(|name| format!("{}: ", escape_terminal(name))).collect();
    let message = format!("{names}{}", issue.message);
    let mut blocker = Blocker::new(ErrorCode::InvalidEntry, message).at(issue.place.clone());
    blocker.field.clone_from(&issue.field);
    blocker.hint.clone_from(&issue.hint);
    blocker
}

pub(super) fn entry_blockers(facts: &PlanFacts<'_>, blockers: &mut Vec<Blocker>) {
    for issue in &facts.entry_errors {
        blockers.push(entry_blocker(issue));
    }
    // The cause that makes an entry unusable may be elsewhere in its file.
    if facts.tool.is_broken && facts.entry_errors.is_empty() {
        blockers.push(Objection::BrokenEntry.blocker(|_| facts.tool.origin.place.clone()));
    }
    let auth_label = facts.tool.auth_label.as_deref();
    if auth_label.is_some_and(|label| brigade_policy::shown_label(label) != label) {
        blockers.push(
            Blocker::new(ErrorCode::UnsafeAuthLabel, "auth_label looks like a value, not like a name")
                .at(facts.tool.place_of("auth_label"))
                .field("auth_label")
                .hint("give it a name, and bind the value through `env_labels`"),
        );
    }
}

/// Refuses families that are only projected, or run by a harness. An entry without a family already has an error.
pub(super) fn family_blocker(tool: &Tool) -> Option<Blocker> {
    let family = tool.family.filter(|_| !tool.is_executable())?;
    let id = tool.id.as_str().to_owned();
    let (message, hint) = if tool.source() == Some(ToolSource::Harness) {
        let provider = tool.source.as_deref().and_then(|source| source.provider.as_deref());
        let message = match provider.filter(|provider| !provider.is_empty()) {
            Some(provider) => format!("only the harness `{}` runs this tool", escape_terminal(provider)),
            None => "only its harness runs this tool".to_owned(),
        };
        (message, Hint::to("see whether it is there", NextStep::ShowTool(id)))
    } else {
        let message = format!("tools of the family `{}` are not executed", family.as_str());
        let see = Hint::to("see where harnesses read it", NextStep::PlanProjections(id));
        (message, see.or_else("to call it, write `family = \"script\"` and a `command` in its entry"))
    };
    let blocker =
        Blocker::new(ErrorCode::FamilyNotExecutable, message).at(tool.place_of("family")).field("family");
    Some(blocker.hint(hint))
}
