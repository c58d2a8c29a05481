//! `brigade tools parity status`

use brigade::Error;
use brigade::report::ParityReport;
use clap::Args;

use crate::session::Session;

/// Show projection issues, and which of them the last closeout accepted
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &StatusArgs) -> Result<ParityReport, Error> {
    session.workspace()?.parity().status()
}
