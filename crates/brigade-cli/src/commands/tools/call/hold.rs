//! `brigade tools call hold`

use brigade::core::IdPrefix;
use brigade::{Exit, Step};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::review;
use crate::output::Output;
use crate::session::Session;

/// Put calls on hold for later review
#[derive(Args, Debug)]
pub(crate) struct HoldArgs {
    /// Ids of the calls, or unique prefixes; a call that is named twice is decided once
    #[arg(required = true, value_name = "CALL")]
    calls: Vec<IdPrefix>,

    /// Reason for the decision
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    reason: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &HoldArgs, output: &mut Output<'_, '_>) -> Exit {
    review::decide_each(session, &arguments.calls, Step::Hold, output, |calls, call| {
        calls.hold(call, &arguments.reason)
    })
}
