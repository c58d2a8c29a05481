//! `brigade tools call reject`

use brigade::core::IdPrefix;
use brigade::{Exit, Step};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::review;
use crate::output::Output;
use crate::session::Session;

/// Reject calls
///
/// Also ends a call that waits for a checkpoint or can be resumed. A running call cannot be rejected.
#[derive(Args, Debug)]
pub(crate) struct RejectArgs {
    /// Ids of the calls, or unique prefixes; a call that is named twice is decided once
    #[arg(required = true, value_name = "CALL")]
    calls: Vec<IdPrefix>,

    /// Reason for the decision
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    reason: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &RejectArgs, output: &mut Output<'_, '_>) -> Exit {
    review::decide_each(session, &arguments.calls, Step::Reject, output, |calls, call| {
        calls.reject(call, &arguments.reason)
    })
}
