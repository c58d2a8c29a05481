//! `brigade tools stats`

use brigade::Error;
use brigade::report::StatsReport;
use clap::Args;

use crate::session::Session;

/// Count the runs of each tool, from the receipts
///
/// Shows how often a tool ran and failed, how long its runs took, and what they cost by the amount that its entry
/// declares.
#[derive(Args, Debug)]
pub(crate) struct StatsArgs {
    /// Id of the tool
    id: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &StatsArgs) -> Result<StatsReport, Error> {
    session.workspace()?.catalog().stats(arguments.id.as_deref())
}
