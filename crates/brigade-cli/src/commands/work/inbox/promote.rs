//! `brigade work inbox promote`

use brigade::Error;
use brigade::core::IdPrefix;
use brigade::health::InboxStep;
use brigade::report::InboxItemReport;
use clap::Args;

use crate::session::Session;

/// Promote a row to a work item
#[derive(Args, Debug)]
pub(crate) struct PromoteArgs {
    /// Id of the row, or a unique prefix
    row: IdPrefix,

    /// Reason for the decision
    #[arg(long)]
    reason: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &PromoteArgs) -> Result<InboxItemReport, Error> {
    let reason = arguments.reason.as_deref();
    session.workspace()?.inbox().decide(&arguments.row, InboxStep::Promote, reason)
}
