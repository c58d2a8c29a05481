//! `brigade tools pins list`

use brigade::{Error, PinListReport};
use clap::Args;

use crate::session::Session;

/// List the tools of MCP servers as they were first used, and which of them changed, appeared or vanished since
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Start the MCP servers of enabled tools and compare what is listed now; calls nothing
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
