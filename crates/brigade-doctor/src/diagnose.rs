//! Lists the issues of a workspace, always in the same order.

mod agents;
mod clients;
mod config;
mod contract;
mod files;
mod kitchen;
mod pins;
mod policy;
mod projections;
mod queue;
mod registry;
mod runtimes;
mod state;
mod switching;
mod uses;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use brigade_catalog::{Catalog, Tool};
use brigade_core::Timestamp;
use brigade_policy::{CallFacts, Reads, SandboxMode, decide};

pub(crate) use files::CommandRead;
pub use files::shell_words;

use crate::{ConfigFile, Issue, IssueType, Snapshot, ToolIssues, ToolState, source_item_key};

/// Lists every issue of a workspace.
///
/// The order: catalog, tools in the order of the catalog, runtimes, the runtimes of tools, pins, policy, agents, calls,
/// runs, files and effects of runs, checkpoints, the kitchen, the state as a whole, the files of clients. Disabled
/// tools have no issues, and broken ones only those of their entry. No two issues have the same [key](source_item_key)
/// or fingerprint.
pub fn diagnose(mut snapshot: Snapshot<'_>) -> Vec<Issue> {
    let mut of_tools = snapshot.tools.take().unwrap_or_else(|| of_entries(&snapshot));
    let snapshot = &snapshot;
    let mut found = Vec::new();
    config::catalog(snapshot, &mut found);
    contract::fold_misspelt(&mut found, &of_tools.own);
    if found.is_empty() {
        // Moves the list instead of copying thousands of issues.
        found = of_tools.own;
    } else {
        found.append(&mut of_tools.own);
    }
    let tools = usable_tools(snapshot);
    projections::orphans(snapshot, &mut found);
    runtimes::runtimes(snapshot, &tools, &mut found);
    pins::pins(snapshot, &mut found);
    policy::policy(snapshot, &tools, of_tools.policy, &mut found);
    agents::agents(snapshot, &tools, &mut found);
    queue::calls(snapshot, &mut found);
    queue::runs(snapshot, &mut found);
    uses::uses(snapshot, &tools, &mut found);
    queue::checkpoints(snapshot, &mut found);
    kitchen::kitchen(snapshot, &mut found);
    state::state(snapshot, &mut found);
    clients::clients(snapshot, &mut found);
    switching::switching(snapshot, &tools, of_tools.switching, &mut found);
    tell_apart(&mut found);
    found
}

/// Lists the issues of one tool.
///
/// A disabled entry has none. An entry whose id is already taken has none either, because that is reported with the
/// catalog.
pub fn diagnose_tool(state: &ToolState<'_>, now: Timestamp, found: &mut ToolIssues) {
    let tool = state.tool;
    if !is_usable(state.catalog, tool) {
        return;
    }
    contract::unsafe_fields(tool, state.catalog.issues(), &mut found.own);
    if tool.is_broken {
        return;
    }
    contract::contract(tool, state.catalog, state.files, &mut found.own);
    let refuses_inline_code = state.policy.as_ref().and_then(|facts| facts.state.refuses_inline_code());
    registry::registry(tool, refuses_inline_code.as_ref(), found);
    let before_files = found.own.len();
    if let Some(files) = state.files {
        files::files(tool, files, now, &mut found.own);
        let is_refused = refuses_inline_code.is_some();
        files::command(state, files, is_refused, &|| is_open(state), &mut found.command, &mut found.own);
        switching::arguments(tool, files, &mut found.switching);
        switching::secrets(tool, files, &mut found.switching);
    }
    if let Some(presence) = state.presence {
        let is_absence =
            |issue: &Issue| matches!(issue.kind, IssueType::MissingCommand | IssueType::MissingSource);
        let is_told = found.own[before_files..].iter().any(is_absence);
        registry::presence(tool, presence, is_told, &mut found.own);
    }
    projections::projections(tool, state.projections, &mut found.own);
    if let Some(files) = state.files {
        projections::unused_targets(tool, files, &mut found.own);
        files::mcp_servers(tool, files, &mut found.own);
    }
    if let Some(facts) = &state.policy {
        policy::refusals(facts, tool, &mut found.policy);
    }
}

/// Returns whether runs of a tool may read the workspace.
fn is_open(state: &ToolState<'_>) -> bool {
    let Some(facts) = &state.policy else { return true };
    let sandbox = decide(facts.state, &CallFacts::from_tool(state.tool), facts.environment).sandbox;
    sandbox.mode == SandboxMode::Off || sandbox.reads != Reads::Closed
}

/// Diagnoses tools by their entries alone.
fn of_entries(snapshot: &Snapshot<'_>) -> ToolIssues {
    let mut found = ToolIssues::default();
    if let Some(ConfigFile::Read(catalog)) = snapshot.catalog {
        for tool in catalog.tools() {
            let policy = snapshot.policy;
            let home = snapshot.home;
            let state =
                ToolState { catalog, tool, files: None, home, projections: &[], policy, presence: None };
            diagnose_tool(&state, snapshot.now, &mut found);
        }
    }
    found
}

/// Numbers issues that would share a key, such as those of two entries without an id.
fn tell_apart(issues: &mut [Issue]) {
    // A hash is enough: after a collision an issue only gets an unneeded number.
    let mut seen: HashMap<u64, usize> = HashMap::with_capacity(issues.len());
    for issue in issues {
        let mut hasher = DefaultHasher::new();
        source_item_key(issue).hash(&mut hasher);
        let count = seen.entry(hasher.finish()).or_insert(0);
        *count += 1;
        if 1 < *count {
            issue.subject = format!("{} #{count}", issue.subject).trim_start().to_owned();
        }
    }
}

/// The tools that are in use, in the order of the catalog.
fn usable_tools<'a>(snapshot: &Snapshot<'a>) -> Vec<&'a Tool> {
    let catalog: Option<&'a Catalog> = match &snapshot.catalog {
        Some(ConfigFile::Read(catalog)) => Some(catalog),
        Some(ConfigFile::Missing { .. } | ConfigFile::Unreadable { .. }) | None => None,
    };
    let tools = catalog
        .into_iter()
        .flat_map(|catalog| catalog.tools().iter().filter(|tool| is_usable(catalog, tool)));
    tools.collect()
}

fn is_usable(catalog: &Catalog, tool: &Tool) -> bool {
    // Of several entries with the same id, only the first one is the tool.
    tool.enabled && catalog.tool(tool.id.as_str()).is_some_and(|first| std::ptr::eq(first, tool))
}

#[cfg(test)]
mod tests;
