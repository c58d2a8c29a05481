//! `brigade tools import mcp`

use brigade::{Error, ImportMcpReport, ImportMcpRequest};
use clap::Args;

use crate::session::Session;

/// Add the tools of a runtime's MCP server to the catalog, disabled until they are reviewed
///
/// Starts the runtime's command as a server, under the policy and its sandbox, asks for its tools, and ends it. An
/// entry gets neither permissions nor effects: say what the tool may do before you enable it. Entries that are there
/// stay as they are.
#[derive(Args, Debug)]
pub(crate) struct McpArgs {
    /// Id of the runtime
    #[arg(value_name = "RUNTIME")]
    runtime: String,
    /// Name of a tool at the server; all tools without this
    #[arg(long = "tool", value_name = "NAME")]
    tools: Vec<String>,
    /// Show what would be added, and write nothing
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
