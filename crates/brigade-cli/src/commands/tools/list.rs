//! `brigade tools list`

use brigade::tools::{Level, ToolSource};
use brigade::{Error, Exit, Family, ListFilter};
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// List the tools
///
/// Text output reads only the catalog, and leaves disabled tools out. JSON output has all, and the health of the
/// workspace. With `--as`, lists the tools that this agent is shown and may call. If an option is repeated, one of its
/// values must match.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// List what this agent is shown
    #[arg(long = "as", value_name = "AGENT")]
    #[arg(conflicts_with_all = ["category", "capability", "source", "family", "level", "available"])]
    agent: Option<String>,
    /// List tools of this category
    #[arg(long, value_name = "CATEGORY")]
    category: Vec<String>,
    /// List tools with this capability
    #[arg(long, value_name = "CAPABILITY")]
    capability: Vec<String>,
    /// List tools of this source: script, cli, mcp, skill or harness
    #[arg(long, value_name = "SOURCE")]
    source: Vec<ToolSource>,
    /// List tools of this family
    #[arg(long, value_name = "FAMILY")]
    family: Vec<Family>,
    /// List tools of this level: project, project-registry, user, user-registry or discovered
    #[arg(long, value_name = "LEVEL")]
    level: Vec<Level>,
    /// List only available tools
    #[arg(long)]
    available: bool,
    /// List disabled tools, too
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &ListArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    output.set_full(arguments.all);
    let workspace = session.workspace()?;
    let filter = ListFilter {
        categories: arguments.category.clone(),
        capabilities: arguments.capability.clone(),
        sources: arguments.source.clone(),
        families: arguments.family.clone(),
        levels: arguments.level.clone(),
        available: arguments.available,
    };
    Ok(if let Some(agent) = &arguments.agent {
        output.finish(workspace.agents().shown(agent)?)
    } else if output.is_json() {
        output.finish(workspace.catalog().list_of(&filter)?)
    } else {
        output.finish(workspace.catalog().lines_of(&filter)?)
    })
}
