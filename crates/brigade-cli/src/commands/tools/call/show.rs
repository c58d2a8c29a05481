//! `brigade tools call show`

use brigade::core::IdPrefix;
use brigade::{CallReport, Error};
use clap::Args;

use crate::session::Session;

/// Show one call, its arguments and every reason against it
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id of the call, or any prefix of it that no other call has
    call: IdPrefix,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ShowArgs) -> Result<CallReport, Error> {
    session.workspace()?.calls().show(&arguments.call)
}
