//! `brigade tools harness show`

use brigade::Error;
use brigade::report::HarnessReport;
use clap::Args;

use crate::session::Session;

/// Show which files a harness reads, and their format
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Name of the harness
    name: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ShowArgs) -> Result<HarnessReport, Error> {
    session.workspace()?.projections().harness(&arguments.name)
}
