//! `brigade tools checkpoint show`

use brigade::core::IdPrefix;
use brigade::{CheckpointReport, Error};
use clap::Args;

use crate::session::Session;

/// Show what a program asks before it goes on
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id of the checkpoint, or any prefix of it that no other checkpoint has
    checkpoint: IdPrefix,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ShowArgs) -> Result<CheckpointReport, Error> {
    session.workspace()?.checkpoints().show(&arguments.checkpoint)
}
