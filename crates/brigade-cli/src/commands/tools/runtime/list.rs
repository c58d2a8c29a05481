//! `brigade tools runtime list`

use brigade::Error;
use brigade::report::RuntimeListReport;
use clap::Args;

use crate::session::Session;

/// List the runtimes and their state
#[derive(Args, Debug)]
pub(crate) struct ListArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &ListArgs) -> Result<RuntimeListReport, Error> {
    session.workspace()?.runtimes().list()
}
