//! `brigade work inbox done`

use brigade::core::IdPrefix;
use brigade::{Error, InboxItemReport, InboxStep};
use clap::Args;

use crate::session::Session;

/// Say that the work of a row is done
#[derive(Args, Debug)]
pub(crate) struct DoneArgs {
    /// Id of the row, or any prefix of it that no other row has
    row: IdPrefix,

    /// Why
    #[arg(long)]
    reason: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &DoneArgs) -> Result<InboxItemReport, Error> {
    let reason = arguments.reason.as_deref();
    session.workspace()?.inbox().decide(&arguments.row, InboxStep::Done, reason)
}
