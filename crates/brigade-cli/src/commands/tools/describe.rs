//! `brigade tools describe`

use brigade::{DescribeReport, Error};
use clap::Args;

use crate::session::Session;

/// Describe how a tool is called: arguments, examples, effects
#[derive(Args, Debug)]
pub(crate) struct DescribeArgs {
    /// Id of the tool
    id: String,
    /// Start the MCP server of the tool and compare what is listed now; calls nothing
    #[arg(long)]
    live: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &DescribeArgs) -> Result<DescribeReport, Error> {
    if arguments.live {
        session.workspace_to_run()?.catalog().describe_live(&arguments.id)
    } else {
        session.workspace()?.catalog().describe(&arguments.id)
    }
}
