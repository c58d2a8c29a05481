//! `brigade tools call hold`

use brigade::core::IdPrefix;
use brigade::{Error, ReviewReport};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::session::Session;

/// Put a call on hold for later review
#[derive(Args, Debug)]
pub(crate) struct HoldArgs {
    /// Id of the call, or a unique prefix
    call: IdPrefix,

    /// Reason for the decision
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    reason: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &HoldArgs) -> Result<ReviewReport, Error> {
    session.workspace()?.calls().hold(&arguments.call, &arguments.reason)
}
