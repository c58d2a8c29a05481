//! `brigade tools state compact`

use brigade::Error;
use brigade::report::CompactReport;
use clap::Args;

use crate::session::Session;

/// Move finished calls out of the journal and quarantine unreadable lines
#[derive(Args, Debug)]
pub(crate) struct CompactArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &CompactArgs) -> Result<CompactReport, Error> {
    session.workspace()?.state().compact()
}
