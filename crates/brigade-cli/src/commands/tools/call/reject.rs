//! `brigade tools call reject`

use brigade::core::IdPrefix;
use brigade::{Error, ReviewReport};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::session::Session;

/// Reject a call
///
/// Also ends a call that waits for a checkpoint or can be resumed. A running call cannot be rejected.
#[derive(Args, Debug)]
pub(crate) struct RejectArgs {
    /// Id of the call, or a unique prefix
    call: IdPrefix,

    /// Reason for the decision
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    reason: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &RejectArgs) -> Result<ReviewReport, Error> {
    session.workspace()?.calls().reject(&arguments.call, &arguments.reason)
}
