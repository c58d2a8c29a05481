//! `brigade work inbox done`

use brigade::Error;
use brigade::core::IdPrefix;
use brigade::health::InboxStep;
use brigade::report::InboxItemReport;
use clap::Args;

use crate::session::Session;

/// Mark a row as done
#[derive(Args, Debug)]
pub(crate) struct DoneArgs {
    /// Id of the row, or a unique prefix
    row: IdPrefix,

    /// Reason for the decision
    #[arg(long)]
    reason: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &DoneArgs) -> Result<InboxItemReport, Error> {
    let reason = arguments.reason.as_deref();
    session.workspace()?.inbox().decide(&arguments.row, InboxStep::Done, reason)
}
