//! `brigade kitchen cost`

use std::path::PathBuf;

use brigade::Error;
use brigade::kitchen::KitchenCostReport;
use clap::Args;

use crate::session::Session;

/// Show attempts, minutes and money by tier and task
#[derive(Args, Debug)]
pub(crate) struct CostArgs {
    /// File of the PRD; by default the PRD in progress
    prd: Option<PathBuf>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &CostArgs) -> Result<KitchenCostReport, Error> {
    session.workspace()?.kitchen().cost(arguments.prd.as_deref())
}
