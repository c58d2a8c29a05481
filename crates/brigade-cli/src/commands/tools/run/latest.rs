//! `brigade tools run latest`

use brigade::Error;
use brigade::report::RunShowReport;
use clap::Args;

use crate::session::Session;

/// Show the receipt of the latest run
#[derive(Args, Debug)]
pub(crate) struct LatestArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &LatestArgs) -> Result<RunShowReport, Error> {
    session.workspace()?.runs().latest()
}
