//! `brigade tools show`

use brigade::Error;
use brigade::report::ShowReport;
use clap::Args;

use crate::session::Session;

/// Show a tool and its projections
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id of the tool
    id: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ShowArgs) -> Result<ShowReport, Error> {
    session.workspace()?.catalog().show(&arguments.id)
}
