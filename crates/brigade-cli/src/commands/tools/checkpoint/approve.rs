//! `brigade tools checkpoint approve`

use brigade::core::IdPrefix;
use brigade::{CheckpointReviewReport, Error};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::session::Session;

/// Answer a checkpoint, so that its call can be resumed; runs nothing
#[derive(Args, Debug)]
pub(crate) struct ApproveArgs {
    /// Id of the checkpoint, or any prefix of it that no other checkpoint has
    checkpoint: IdPrefix,

    /// One of the choices that the checkpoint offers
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    choice: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ApproveArgs) -> Result<CheckpointReviewReport, Error> {
    session.workspace()?.checkpoints().approve(&arguments.checkpoint, &arguments.choice)
}
