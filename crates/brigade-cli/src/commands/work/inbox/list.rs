//! `brigade work inbox list`

use brigade::health::InboxStatus;
use brigade::report::InboxReport;
use brigade::{Error, InboxFilter};
use clap::Args;

use crate::session::Session;

/// List the rows of the inbox
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Only list rows with this status, such as pending
    #[arg(long)]
    status: Option<String>,

    /// Only list rows from this source, such as tool-catalog
    #[arg(long)]
    source: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ListArgs) -> Result<InboxReport, Error> {
    let filter = InboxFilter {
        status: arguments.status.as_deref().map(InboxStatus::from_word),
        source: arguments.source.clone(),
    };
    session.workspace()?.inbox().list(&filter)
}
