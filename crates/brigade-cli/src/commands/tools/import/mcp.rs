//! `brigade tools import mcp`

use brigade::{Error, ImportMcpReport, ImportMcpRequest};
use clap::Args;

use crate::session::Session;

/// Add the tools of an MCP server to the catalog, disabled
///
/// Starts the runtime's command as an MCP server under the policy and its sandbox, lists its tools, and stops it. New
/// entries have no permissions or effects: add them before you enable a tool. Existing entries are not changed.
#[derive(Args, Debug)]
pub(crate) struct McpArgs {
    /// Id of the runtime
    #[arg(value_name = "RUNTIME")]
    runtime: String,
    /// Only add the tool with this name at the server; can be repeated
    #[arg(long = "tool", value_name = "NAME")]
    tools: Vec<String>,
    /// Show what would be added, without writing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &McpArgs) -> Result<ImportMcpReport, Error> {
    session.workspace_to_run()?.catalog().import_mcp(&ImportMcpRequest {
        runtime_id: arguments.runtime.clone(),
        tools: arguments.tools.clone(),
        dry_run: arguments.dry_run,
    })
}
