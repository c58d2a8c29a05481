//! `brigade tools checkpoint reject`

use brigade::core::IdPrefix;
use brigade::{CheckpointReviewReport, Error};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::session::Session;

/// Reject a checkpoint, so that its call goes no further
#[derive(Args, Debug)]
pub(crate) struct RejectArgs {
    /// Id of the checkpoint, or any prefix of it that no other checkpoint has
    checkpoint: IdPrefix,

    /// Why
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    reason: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &RejectArgs) -> Result<CheckpointReviewReport, Error> {
    session.workspace()?.checkpoints().reject(&arguments.checkpoint, &arguments.reason)
}
