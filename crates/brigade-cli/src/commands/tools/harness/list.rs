//! `brigade tools harness list`

use brigade::Error;
use brigade::report::HarnessListReport;
use clap::Args;

use crate::session::Session;

/// List the supported harnesses
#[derive(Args, Debug)]
pub(crate) struct ListArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &ListArgs) -> Result<HarnessListReport, Error> {
    session.workspace()?.projections().harnesses()
}
