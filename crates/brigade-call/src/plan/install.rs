//! What plans say of installations.

use brigade_catalog::Tool;
use brigade_core::{Hint, NextStep, reasons};
use brigade_policy::Blocker;

use crate::facts::PlanFacts;

/// Completes the reasons against an installation, and names the fields of the entry that it was made from.
pub(super) fn blockers(installation: &Tool, entry: &Tool, blockers: Vec<Blocker>) -> Vec<Blocker> {
    let stated = entry.install.iter().flat_map(|install| &install.command);
    let is_stated = stated.into_iter().any(|line| Some(line) == installation.command.as_ref());
    let gone = (!is_stated).then(|| {
        Blocker::new(reasons::INSTALL_COMMAND_GONE, "the entry does not name this install command any more")
            .at(entry.place_of("install.command"))
            .field("install.command")
            .hint(Hint::to("queue the one that it names", NextStep::InstallTool(entry.id.to_string())))
    });
    let renamed = blockers.into_iter().map(|mut blocker| {
        if blocker.field.as_deref() == Some("command") {
            blocker.field = Some("install.command".to_owned());
        }
        blocker
    });
    gone.into_iter().chain(renamed).collect()
}

/// Adds how a missing program is installed, if the entry says it.
pub(super) fn hinted(facts: &PlanFacts<'_>, blocker: Blocker) -> Blocker {
    match facts.installs {
        None if facts.tool.installable().is_some() => {
            let step = NextStep::InstallTool(facts.tool.id.to_string());
            blocker.hint(Hint::to("queue its installation", step))
        }
        _ => blocker,
    }
}
