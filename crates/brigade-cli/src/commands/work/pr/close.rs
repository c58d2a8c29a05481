//! `brigade work pr close`

use brigade::Error;
use brigade::report::PullRequestReport;
use clap::Args;

use crate::session::Session;

/// Close a pull request, so that its lane may have another one
#[derive(Args, Debug)]
pub(crate) struct CloseArgs {
    /// Id or number of the pull request
    pull_request: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &CloseArgs) -> Result<PullRequestReport, Error> {
    session.workspace()?.pull_requests().close(&arguments.pull_request)
}
