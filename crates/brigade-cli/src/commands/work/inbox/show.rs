//! `brigade work inbox show`

use brigade::Error;
use brigade::core::IdPrefix;
use brigade::report::InboxItemReport;
use clap::Args;

use crate::session::Session;

/// Show a row of the inbox
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id of the row, or a unique prefix
    row: IdPrefix,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ShowArgs) -> Result<InboxItemReport, Error> {
    session.workspace()?.inbox().show(&arguments.row)
}
