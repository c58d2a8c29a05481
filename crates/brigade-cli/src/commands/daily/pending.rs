//! `brigade pending`

use brigade::Error;
use brigade::report::PendingReport;
use clap::Args;

use crate::session::Session;

/// List what waits for a person, with numbers for approve, reject and hold
///
/// One row for each decision: calls that are pending or held, checkpoints, decisions of the kitchen, questions of
/// agents. Equal requests are one row. A number keeps its meaning while anything waits.
#[derive(Args, Debug)]
pub(crate) struct PendingArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &PendingArgs) -> Result<PendingReport, Error> {
    session.workspace()?.daily().pending()
}
