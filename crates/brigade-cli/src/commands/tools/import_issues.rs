//! `brigade tools import-issues`

use brigade::Error;
use brigade::report::ImportReport;
use clap::Args;

use crate::session::Session;

/// Add all issues to the work inbox
#[derive(Args, Debug)]
pub(crate) struct ImportIssuesArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &ImportIssuesArgs) -> Result<ImportReport, Error> {
    session.workspace()?.inbox().import()
}
