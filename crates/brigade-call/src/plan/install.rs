//! Parts of plans that concern installations.

use brigade_catalog::Tool;
use brigade_core::{ErrorCode, Hint, NextStep};
use brigade_policy::Blocker;
use brigade_redact::shows;

use crate::contract::{ContractFiles, installation_contract};
use crate::facts::PlanFacts;

/// Returns the entry's install command that a record shows. Bound values may be masked in the record.
///
/// Prefers the same command, then the one with the record's contract, then the first with the same masked form. Without
/// any, returns the command in the record.
pub fn install_command<'a>(entry: &'a Tool, shown: &'a str, contract: Option<&str>) -> &'a str {
    let stated = entry.install.iter().flat_map(|install| &install.command).map(String::as_str);
    let candidates: Vec<&str> = stated.filter(|line| shows(shown, line)).collect();
    let is_of_record = |line: &&&str| {
        let found = installation_contract(&entry.installation(line), entry, &ContractFiles::default());
        contract.is_some_and(|contract| found.to_hex() == contract)
    };
    let same = candidates.iter().find(|line| **line == shown);
    same.or_else(|| candidates.iter().find(is_of_record)).or(candidates.first()).copied().unwrap_or(shown)
}

/// Completes the reasons against an installation with the fields of the entry that it was created from.
pub(super) fn blockers(installation: &Tool, entry: &Tool, blockers: Vec<Blocker>) -> Vec<Blocker> {
    let stated = entry.install.iter().flat_map(|install| &install.command);
    let is_stated = stated.into_iter().any(|line| Some(line) == installation.command.as_ref());
    let gone = (!is_stated).then(|| {
        Blocker::new(ErrorCode::InstallCommandGone, "the entry does not name this install command any more")
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

/// Adds how to install a missing program, if the entry has an installation.
pub(super) fn hinted(facts: &PlanFacts<'_>, blocker: Blocker) -> Blocker {
    match facts.installs {
        None if facts.tool.installable().is_some() => {
            let step = NextStep::InstallTool(facts.tool.id.to_string());
            blocker.hint(Hint::to("queue its installation", step))
        }
        _ => blocker,
    }
}

#[cfg(test)]
mod tests {
    use brigade_catalog::{Catalog, Level};

    use super::*;

    #[test]
    fn a_masked_command_is_found_by_its_contract() {
        let text = "[[tool]]\nid = 'yq'\nname = 'yq'\nfamily = 'script'\n[tool.install]\n\
                    command = ['get --key one yq', 'get --key two yq', 'fetch yq']\n";
        let catalog = Catalog::parse("tools.toml", Level::Project, text.as_bytes());
        let entry = &catalog.tools()[0];
        let contract = |line: &str| {
            installation_contract(&entry.installation(line), entry, &ContractFiles::default()).to_hex()
        };
        let second = contract("get --key two yq");
        for (shown, contract, expect) in [
            ("fetch yq", None, "fetch yq"),
            ("get --key [redacted] yq", Some(&*second), "get --key two yq"),
            ("get --key [redacted] yq", None, "get --key one yq"),
            ("get [redacted] jq", Some(&*second), "get [redacted] jq"),
        ] {
            assert_eq!(install_command(entry, shown, contract), expect, "{shown}");
        }
    }
}
