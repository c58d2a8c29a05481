//! `brigade tools run list`

use brigade::{Error, RunFilter, RunListReport};
use clap::Args;

use crate::session::Session;

/// List the runs, newest first
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Only runs of this status, such as completed or failed
    #[arg(long)]
    status: Option<String>,

    /// Only runs of this tool
    #[arg(long, value_name = "ID")]
    tool: Option<String>,

    /// Only the newest so many
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ListArgs) -> Result<RunListReport, Error> {
    let filter =
        RunFilter { status: arguments.status.clone(), tool: arguments.tool.clone(), limit: arguments.limit };
    session.workspace()?.runs(&filter)
}
