//! `brigade tools call hold`

use brigade::core::IdPrefix;
use brigade::{Error, ReviewReport};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::session::Session;

/// Put a call aside until somebody has looked closer
#[derive(Args, Debug)]
pub(crate) struct HoldArgs {
    /// Id of the call, or any prefix of it that no other call has
    call: IdPrefix,

    /// Why
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    reason: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &HoldArgs) -> Result<ReviewReport, Error> {
    session.workspace()?.calls().hold(&arguments.call, &arguments.reason)
}
