//! `brigade kitchen workers`

use brigade::Error;
use brigade::kitchen::WorkersReport;
use clap::Args;

use crate::session::Session;

/// Show the tiers, their worker programs, and what these may do
#[derive(Args, Debug)]
pub(crate) struct WorkersArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &WorkersArgs) -> Result<WorkersReport, Error> {
    session.workspace()?.kitchen().workers()
}
