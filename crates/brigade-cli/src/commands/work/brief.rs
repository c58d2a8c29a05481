//! `brigade work brief`

use brigade::Error;
use brigade::report::BriefReport;
use clap::Args;

use crate::session::Session;

/// Show what needs a decision, and the next command to run
#[derive(Args, Debug)]
pub(crate) struct BriefArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &BriefArgs) -> Result<BriefReport, Error> {
    session.workspace()?.doctor().brief()
}
