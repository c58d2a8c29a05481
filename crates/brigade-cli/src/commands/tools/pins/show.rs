//! `brigade tools pins show`

use brigade::Error;
use brigade::report::PinReport;
use clap::Args;

use crate::session::Session;

/// Show a pinned tool or a server's tool list, with its changes
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id of a pin, a unique prefix, a tool id, or a server's list (`servers/NAME`)
    #[arg(value_name = "PIN")]
    id: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ShowArgs) -> Result<PinReport, Error> {
    session.workspace()?.pins().show(&arguments.id)
}
