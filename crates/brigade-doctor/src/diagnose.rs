//! Goes through the facts and lists what is wrong, always in the same order.

mod config;
mod contract;
mod files;
mod many;
mod pins;
mod policy;
mod projections;
mod queue;
mod runtimes;
mod state;

use std::collections::HashMap;

use brigade_catalog::{Catalog, Tool};
use brigade_core::Timestamp;
use brigade_projection::ProjectionItem;

use crate::{ConfigFile, Issue, Snapshot, ToolFiles, source_item_key};

/// Lists every issue of a workspace.
///
/// The order: catalog, tools in the order of the catalog, runtimes, the runtimes of tools, pins, policy, calls, runs, checkpoints, the
/// state as a whole. Disabled tools have no issues, and broken ones only those of their entry. No two issues have the same
/// [key](source_item_key) or fingerprint.
pub fn diagnose(snapshot: &Snapshot<'_>) -> Vec<Issue> {
    // Room for what there is most of in a workspace that was never projected.
    let mut found = Vec::with_capacity(snapshot.projections.len());
    config::catalog(snapshot, &mut found);
    let tools = usable_tools(snapshot);
    let projections = by_tool(&snapshot.projections);
    let unknown = match &snapshot.catalog {
        Some(ConfigFile::Read(catalog)) => catalog.issues(),
        Some(ConfigFile::Missing { .. } | ConfigFile::Unreadable { .. }) | None => &[],
    };
    let (files, now) = (&snapshot.files, snapshot.now);
    let of_tool = |tool: &Tool, found: &mut Vec<Issue>| {
        let items = projections.get(tool.id.as_str()).map_or(&[][..], Vec::as_slice);
        contract::unsafe_fields(tool, unknown, found);
        if !tool.is_broken {
            tool_issues(files.get(tool.id.as_str()).copied(), now, tool, items, found);
        }
    };
    many::for_all(&tools, of_tool, &mut found);
    projections::orphans(snapshot, &mut found);
    runtimes::runtimes(snapshot, &tools, &mut found);
    pins::pins(snapshot, &mut found);
    policy::policy(snapshot, &tools, &mut found);
    queue::calls(snapshot, &mut found);
    queue::runs(snapshot, &mut found);
    queue::checkpoints(snapshot, &mut found);
    state::state(snapshot, &mut found);
    tell_apart(&mut found);
    found
}

/// Numbers issues that would share a key, such as those of two entries without an id.
fn tell_apart(issues: &mut [Issue]) {
    let mut seen: HashMap<String, usize> = HashMap::with_capacity(issues.len());
    for issue in issues {
        let count = seen.entry(source_item_key(issue)).or_insert(0);
        *count += 1;
        if 1 < *count {
            issue.subject = format!("{} #{count}", issue.subject).trim_start().to_owned();
        }
    }
}

fn tool_issues(
    files: Option<&ToolFiles>,
    now: Timestamp,
    tool: &Tool,
    items: &[&ProjectionItem],
    found: &mut Vec<Issue>,
) {
    contract::contract(tool, files, found);
    if let Some(files) = files {
        files::files(tool, files, now, found);
        files::command(tool, files, found);
    }
    projections::projections(tool, items, found);
    if let Some(files) = files {
        files::mcp_servers(tool, files, found);
    }
}

/// The tools that are in use, in the order of the catalog.
fn usable_tools<'a>(snapshot: &Snapshot<'a>) -> Vec<&'a Tool> {
    let catalog: Option<&'a Catalog> = match &snapshot.catalog {
        Some(ConfigFile::Read(catalog)) => Some(catalog),
        Some(ConfigFile::Missing { .. } | ConfigFile::Unreadable { .. }) | None => None,
    };
    // A further entry with an id that is taken is no tool, and is reported as that.
    let is_tool = |catalog: &Catalog, tool: &Tool| {
        catalog.tool(tool.id.as_str()).is_some_and(|first| std::ptr::eq(first, tool))
    };
    let tools = catalog.into_iter().flat_map(|catalog| {
        catalog.tools().iter().filter(move |tool| tool.enabled && is_tool(catalog, tool))
    });
    tools.collect()
}

fn by_tool<'a>(items: &[&'a ProjectionItem]) -> HashMap<&'a str, Vec<&'a ProjectionItem>> {
    let mut by_tool: HashMap<&str, Vec<&ProjectionItem>> = HashMap::new();
    for item in items {
        by_tool.entry(item.tool_id.as_str()).or_default().push(item);
    }
    by_tool
}

#[cfg(test)]
mod tests;
