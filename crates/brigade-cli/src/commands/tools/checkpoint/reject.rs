//! `brigade tools checkpoint reject`

use brigade::core::IdPrefix;
use brigade::report::CheckpointReviewReport;
use brigade::{CheckpointStep, Error};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::session::Session;

/// Reject a checkpoint, so that its call cannot continue
#[derive(Args, Debug)]
pub(crate) struct RejectArgs {
    /// Id of the checkpoint, or a unique prefix
    checkpoint: IdPrefix,

    /// Reason for the decision
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    reason: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &RejectArgs) -> Result<CheckpointReviewReport, Error> {
    let checkpoints = session.workspace()?.checkpoints();
    checkpoints.reject(&checkpoints.find(&arguments.checkpoint, CheckpointStep::Answer)?, &arguments.reason)
}
