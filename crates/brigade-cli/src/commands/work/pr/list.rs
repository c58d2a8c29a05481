//! `brigade work pr list`

use brigade::Error;
use brigade::report::PullRequestListReport;
use clap::Args;

use crate::session::Session;

/// List pull requests of lanes, the oldest first
#[derive(Args, Debug)]
pub(crate) struct ListArgs {}

pub(crate) fn run(session: &Session<'_>, _: &ListArgs) -> Result<PullRequestListReport, Error> {
    session.workspace()?.pull_requests().list()
}
