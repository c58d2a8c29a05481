//! `brigade tools call approve`

use brigade::core::IdPrefix;
use brigade::{Error, ReviewReport};
use clap::Args;

use crate::session::Session;

/// Approve a pending or held call, without running it
#[derive(Args, Debug)]
pub(crate) struct ApproveArgs {
    /// Id of the call, or a unique prefix
    call: IdPrefix,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ApproveArgs) -> Result<ReviewReport, Error> {
    session.workspace()?.calls().approve(&arguments.call)
}
