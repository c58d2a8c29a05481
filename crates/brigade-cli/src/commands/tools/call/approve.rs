//! `brigade tools call approve`

use brigade::core::IdPrefix;
use brigade::{Calls, Exit, Step};
use clap::Args;

use super::review;
use crate::output::Output;
use crate::session::Session;

/// Approve pending or held calls, without running them
///
/// Shows what was approved: the command line, what it may access, what the approval binds, and how the call differs
/// from the last approved call of the tool.
#[derive(Args, Debug)]
pub(crate) struct ApproveArgs {
    /// Ids of the calls, or unique prefixes; a call that is named twice is decided once
    #[arg(required = true, value_name = "CALL")]
    calls: Vec<IdPrefix>,

    /// Show every detail of what was approved
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ApproveArgs, output: &mut Output<'_, '_>) -> Exit {
    output.set_full(arguments.full);
    review::decide_each(session, &arguments.calls, Step::Approve, output, Calls::approve)
}
