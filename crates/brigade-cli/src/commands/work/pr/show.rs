//! `brigade work pr show`

use brigade::Error;
use brigade::report::PullRequestReport;
use clap::Args;

use crate::session::Session;

/// Show a pull request with the threads of its review
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id or number of the pull request
    pull_request: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ShowArgs) -> Result<PullRequestReport, Error> {
    session.workspace()?.pull_requests().show(&arguments.pull_request)
}
