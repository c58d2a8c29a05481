//! `brigade tools call reject`

use brigade::core::IdPrefix;
use brigade::{Error, ReviewReport};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::session::Session;

/// Reject a call
///
/// Ends also a call that waits for its checkpoint or could be resumed, whatever became of the checkpoint. One that runs
/// ends with its run.
#[derive(Args, Debug)]
pub(crate) struct RejectArgs {
    /// Id of the call, or any prefix of it that no other call has
    call: IdPrefix,

    /// Why
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    reason: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &RejectArgs) -> Result<ReviewReport, Error> {
    session.workspace()?.calls().reject(&arguments.call, &arguments.reason)
}
