//! `brigade tools run replay`

use brigade::Error;
use brigade::core::IdPrefix;
use brigade::report::ReplayReport;
use clap::Args;

use crate::session::Session;

/// Queue a new call with the arguments of a previous run
#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// Id of the run, a unique prefix, or latest
    run: IdPrefix,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ReplayArgs) -> Result<ReplayReport, Error> {
    session.workspace()?.runs().replay(&arguments.run)
}
