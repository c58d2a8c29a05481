//! `brigade tools cost`

use brigade::Error;
use brigade::report::CostReport;
use clap::Args;

use crate::session::Session;

/// Show what listing the tools costs an agent, in bytes and estimated tokens
///
/// Compares the three ways of listing: full, compact, and search. A client reads a listing once. With a compact one it
/// asks for the description of each tool that it calls, and with search it searches before that.
#[derive(Args, Debug)]
pub(crate) struct CostArgs {
    /// The agent
    #[arg(long = "as", value_name = "AGENT", default_value = "local")]
    agent: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &CostArgs) -> Result<CostReport, Error> {
    session.workspace()?.agents().cost(&arguments.agent)
}
