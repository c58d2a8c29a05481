//! `brigade tools contracts`

use brigade::Error;
use brigade::report::ContractsReport;
use clap::Args;

use crate::session::Session;

/// List the contracts of tools and whether they can be called
#[derive(Args, Debug)]
pub(crate) struct ContractsArgs {
    /// Start the MCP servers of enabled tools and compare their tool lists; calls no tool
    #[arg(long)]
    live: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ContractsArgs) -> Result<ContractsReport, Error> {
    if arguments.live {
        session.workspace_to_run()?.catalog().contracts_live()
    } else {
        session.workspace()?.catalog().contracts()
    }
}
