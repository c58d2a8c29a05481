//! `brigade tools checkpoint approve`

use brigade::core::IdPrefix;
use brigade::report::CheckpointReviewReport;
use brigade::{CheckpointStep, Error};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::session::Session;

/// Answer a checkpoint, so that its call can be resumed
#[derive(Args, Debug)]
pub(crate) struct ApproveArgs {
    /// Id of the checkpoint, or a unique prefix
    checkpoint: IdPrefix,

    /// The answer, one of the checkpoint's choices
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    choice: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ApproveArgs) -> Result<CheckpointReviewReport, Error> {
    let checkpoints = session.workspace()?.checkpoints();
    checkpoints.approve(&checkpoints.find(&arguments.checkpoint, CheckpointStep::Answer)?, &arguments.choice)
}
