//! `brigade tools checkpoint show`

use brigade::Error;
use brigade::core::IdPrefix;
use brigade::report::CheckpointReport;
use clap::Args;

use crate::session::Session;

/// Show a checkpoint: what the program asks, and the choices
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id of the checkpoint, or a unique prefix
    checkpoint: IdPrefix,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ShowArgs) -> Result<CheckpointReport, Error> {
    session.workspace()?.checkpoints().show(&arguments.checkpoint)
}
