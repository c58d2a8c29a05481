//! `brigade tools call approve`

use brigade::core::IdPrefix;
use brigade::{Error, ReviewReport};
use clap::Args;

use crate::session::Session;

/// Approve a pending or held call; runs nothing
#[derive(Args, Debug)]
pub(crate) struct ApproveArgs {
    /// Id of the call, or any prefix of it that no other call has
    call: IdPrefix,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ApproveArgs) -> Result<ReviewReport, Error> {
    session.workspace()?.calls().approve(&arguments.call)
}
