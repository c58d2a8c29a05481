//! `brigade tools describe`

use brigade::Error;
use brigade::report::DescribeReport;
use clap::Args;

use crate::session::Session;

/// Describe a tool's arguments, examples and effects
#[derive(Args, Debug)]
pub(crate) struct DescribeArgs {
    /// Id of the tool
    id: String,
    /// Start the tool's MCP server and compare its tool list; calls no tool
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
