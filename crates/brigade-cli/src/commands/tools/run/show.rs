//! `brigade tools run show`

use brigade::core::IdPrefix;
use brigade::{Error, RunShowReport};
use clap::Args;

use crate::session::Session;

/// Show the receipt of a run
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id of the run, or any prefix of it that no other run has
    run: IdPrefix,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ShowArgs) -> Result<RunShowReport, Error> {
    session.workspace()?.run_show(&arguments.run)
}
