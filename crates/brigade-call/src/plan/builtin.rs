//! What can be judged about a call of a built-in tool without acting.

use brigade_core::Json;
use brigade_policy::Blocker;
use brigade_profile::builtin::{Fact, PathUse, definition};

use crate::facts::PlanFacts;

/// The code of a tool that needs what is not here.
pub const NOT_AVAILABLE: &str = "not_available_here";

/// Refuses a tool that needs what is not here, and paths that stay closed. The tool looks at them again when it acts.
pub(super) fn blockers(facts: &PlanFacts<'_>, args: Option<&Json>, blockers: &mut Vec<Blocker>) {
    let row = if facts.tool.is_built_in() { definition(facts.tool.id.as_str()) } else { None };
    let Some((row, known)) = row.zip(facts.builtin.as_ref()) else { return };
    if args.is_some() && !row.is_queued() {
        let message = format!("`{}` is answered by the gateway, so it is no call", row.id);
        blockers.push(Blocker::new(NOT_AVAILABLE, message).hint(Fact::Session.remedy()));
    }
    for fact in &known.missing {
        let message = format!("`{}` needs the fact `{}`, which does not hold here", row.id, fact.as_str());
        blockers.push(Blocker::new(NOT_AVAILABLE, message).hint(fact.remedy()));
    }
    let root = facts.root.display().to_string();
    for name in row.arguments.paths {
        let Some(path) = args.and_then(|args| args.get(name)).and_then(Json::as_str) else { continue };
        if let Err(problem) = known.guards.check(path, &root, PathUse::of(row)) {
            blockers.push(problem.blocker(name));
        }
    }
}
