//! `brigade tools pins list`

use brigade::Error;
use brigade::report::PinListReport;
use clap::Args;

use crate::session::Session;

/// List pinned MCP tools, and which changed, appeared or vanished
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Start the MCP servers of enabled tools and compare their tool lists; calls no tool
    #[arg(long)]
    live: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ListArgs) -> Result<PinListReport, Error> {
    if arguments.live {
        session.workspace_to_run()?.pins().list_live()
    } else {
        session.workspace()?.pins().list()
    }
}
