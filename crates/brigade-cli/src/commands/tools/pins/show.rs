//! `brigade tools pins show`

use brigade::{Error, PinReport};
use clap::Args;

use crate::session::Session;

/// Show a pinned tool, and what its server says differently now
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id of the pin, its beginning, or the id of a tool in the catalog
    #[arg(value_name = "PIN")]
    id: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ShowArgs) -> Result<PinReport, Error> {
    session.workspace()?.pin_show(&arguments.id)
}
