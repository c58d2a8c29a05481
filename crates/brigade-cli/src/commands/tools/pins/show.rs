//! `brigade tools pins show`

use brigade::{Error, PinReport};
use clap::Args;

use crate::session::Session;

/// Show a pinned tool, or a server's list of tools, and what the server says differently now
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id of the pin, its beginning, the id of a tool in the catalog, or that of a server's list (`servers/NAME`)
    #[arg(value_name = "PIN")]
    id: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ShowArgs) -> Result<PinReport, Error> {
    session.workspace()?.pins().show(&arguments.id)
}
