//! Checks whether tools are present.

use brigade_catalog::{Presence, Tool, ToolState};
use brigade_core::Report as _;
use brigade_policy::Failure;
use brigade_workspace::{CATALOG, Config, FactReader, PresenceReader, WorkspaceContext, gather, load};

use crate::report::{CheckCounts, CheckReport, CheckedTool, spell_hints};
use crate::runs::observing::ToolObserver;
use crate::tools::finding::{notes, presences, runtimes_for};

/// The tools to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckSelection {
    /// The tools with these ids, aliases or qualified ids. They may be disabled.
    Named(Vec<String>),
    /// All tools. Nothing is run for disabled ones, and they are not counted.
    All,
}

/// Whether to run commands that show more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunChecks {
    /// Start nothing. Uses the cached result of the last check while its files are unchanged.
    No,
    /// Run version commands, and install checks that nothing else answers. They run without a shell, in the sandbox of
    /// a read-only call, with only `PATH` and `HOME`, for at most 10 s each.
    Yes,
}

/// Checks whether tools are present.
///
/// # Errors
/// Returns [`ErrorKind::NotFound`](brigade_core::ErrorKind::NotFound) if no tool has one of the ids, and file errors.
pub fn check(
    context: &WorkspaceContext,
    what: &CheckSelection,
    checks: RunChecks,
) -> Result<CheckReport, Failure> {
    let config = gather::config(context)?;
    let tools: Vec<&Tool> = match what {
        CheckSelection::All => {
            config.catalog.readable()?;
            config.catalog.tools().iter().collect()
        }
        CheckSelection::Named(ids) => load::any_tools(&config.catalog, ids)?,
    };
    let mut notes = notes(&config.catalog);
    let presences = match checks {
        RunChecks::No => presences(context, &config, &tools)?,
        RunChecks::Yes => observed_presences(context, &config, &tools, what, &mut notes)?,
    };
    let row = |(tool, presence): (&&Tool, &Presence)| {
        let mut row = CheckedTool::new(tool, presence);
        spell_hints(&mut row.reasons, |hint| context.spelled(hint));
        row
    };
    let counted = || {
        let all = tools.iter().zip(&presences);
        all.filter(|(tool, _)| tool.enabled || *what != CheckSelection::All)
    };
    let count = |state: ToolState| counted().filter(|(_, presence)| presence.state == state).count();
    Ok(CheckReport {
        schema: CheckReport::SCHEMA,
        target: context.target(),
        config_path: context.absolute(CATALOG),
        counts: CheckCounts {
            available: count(ToolState::Available),
            missing: count(ToolState::Missing),
            outdated: count(ToolState::Outdated),
            unknown: count(ToolState::Unknown),
        },
        tools: tools.iter().zip(&presences).map(row).collect(),
        ran_checks: checks == RunChecks::Yes,
        notes,
    })
}

/// Checks whether tools are present, and runs their check and version commands.
pub(crate) fn observed_presences(
    context: &WorkspaceContext,
    config: &Config,
    tools: &[&Tool],
    what: &CheckSelection,
    notes: &mut Vec<String>,
) -> Result<Vec<Presence>, Failure> {
    let runtimes = runtimes_for(context, tools)?;
    let facts = FactReader::new(context.host(), config);
    let reader = PresenceReader::new(&facts, &runtimes);
    let mut observing = ToolObserver::new(context, config);
    let mut found = Vec::new();
    for tool in tools {
        if !tool.enabled && *what == CheckSelection::All {
            found.push(reader.presence(tool));
            continue;
        }
        // The file may be part of a clone.
        if tool.origin.level.is_registry()
            && (tool.check_to_run().is_some() || tool.version_to_run().is_some())
        {
            notes.push(format!("{}: its commands are not run before it is registered", tool.id));
            found.push(reader.presence(tool));
            continue;
        }
        let observed = observing.observe(tool)?;
        // Without a required version, the state does not report an unknown version.
        if let (None, Some(why)) = (&tool.version, &observed.version_problem) {
            notes.push(format!("{}: its version is not known: {why}", tool.id));
        }
        found.push(reader.with(tool, &observed));
    }
    notes.extend(observing.problem());
    // The results are valid even if they cannot be stored.
    if let Err(error) = observing.keep() {
        notes.push(format!("the results of the checks were not stored: {error}"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
