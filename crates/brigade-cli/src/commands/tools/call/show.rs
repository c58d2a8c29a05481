//! `brigade tools call show`

use brigade::core::IdPrefix;
use brigade::{CallReport, Error};
use clap::Args;

use crate::session::Session;

/// Show a call, its arguments and its blockers
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id of the call, or a unique prefix
    call: IdPrefix,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ShowArgs) -> Result<CallReport, Error> {
    session.workspace()?.calls().show(&arguments.call)
}
