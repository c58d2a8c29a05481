//! `brigade work inbox promote`

use brigade::core::IdPrefix;
use brigade::{Error, InboxItemReport, InboxStep};
use clap::Args;

use crate::session::Session;

/// Turn a row into work
#[derive(Args, Debug)]
pub(crate) struct PromoteArgs {
    /// Id of the row, or any prefix of it that no other row has
    row: IdPrefix,

    /// Why
    #[arg(long)]
    reason: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &PromoteArgs) -> Result<InboxItemReport, Error> {
    let reason = arguments.reason.as_deref();
    session.workspace()?.inbox().decide(&arguments.row, InboxStep::Promote, reason)
}
