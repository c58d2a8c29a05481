//! `brigade tools import mcp`

use brigade::tools::ImportMcpRequest;
use brigade::{Error, Exit};
use clap::Args;

use super::super::enable::trimmed;
use crate::output::Output;
use crate::session::Session;

/// Add the tools of an MCP server to the catalog, disabled
///
/// Starts the runtime's command as an MCP server under the policy and its sandbox, lists its tools, and stops it. New
/// entries have no effects; those that the server's hints propose are shown. With --enable, tools are enabled after a
/// table and a question. Existing entries are kept: `brigade tools update` renews them.
#[derive(Args, Debug)]
pub(crate) struct McpArgs {
    /// Id of the runtime
    #[arg(value_name = "RUNTIME")]
    runtime: String,
    /// Only add the tool with this name at the server; can be repeated
    #[arg(long = "tool", value_name = "NAME")]
    tools: Vec<String>,
    /// Enable the tools whose id, or name at the server, matches; without a pattern all
    #[arg(long, value_name = "GLOB", num_args = 0..)]
    enable: Option<Vec<String>>,
    /// Give enabled tools without effects those that the server's hints propose
    #[arg(long, requires = "enable")]
    accept_hints: bool,
    /// The effects that enabled tools get, separated by commas; with --accept-hints, those without hints
    #[arg(long, value_name = "EFFECTS", value_delimiter = ',', requires = "enable")]
    effects: Option<Vec<String>>,
    /// Do not ask before enabling
    #[arg(long)]
    yes: bool,
    /// Show what would be added, without writing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &McpArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let needs_yes = arguments.enable.is_some() && !arguments.yes && !arguments.dry_run;
    if needs_yes && !output.may_ask(session.surroundings) {
        return Err(Output::no_person_error());
    }
    let request = ImportMcpRequest {
        runtime_id: arguments.runtime.clone(),
        tools: arguments.tools.clone(),
        enable: arguments.enable.clone(),
        accept_hints: arguments.accept_hints,
        effects: arguments.effects.as_deref().map(trimmed),
        dry_run: arguments.dry_run,
    };
    let report = session.workspace_to_run()?.catalog().import_mcp(&request, &mut |report| {
        output.confirm_or(session.surroundings, arguments.yes, report, "Enable these tools?")
    })?;
    Ok(output.finish(report))
}
