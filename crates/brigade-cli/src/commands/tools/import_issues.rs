//! `brigade tools import-issues`

use brigade::{Error, ImportReport};
use clap::Args;

use crate::session::Session;

/// Put every issue into the work inbox, once
#[derive(Args, Debug)]
pub(crate) struct ImportIssuesArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &ImportIssuesArgs) -> Result<ImportReport, Error> {
    session.workspace()?.inbox().import()
}
