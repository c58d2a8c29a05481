//! `brigade work pr reply`

use brigade::Error;
use brigade::report::PullRequestReport;
use clap::Args;

use crate::session::Session;

/// Reply to a thread of a review
#[derive(Args, Debug)]
pub(crate) struct ReplyArgs {
    /// Id of the thread
    thread: String,

    /// Text of the reply
    text: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ReplyArgs) -> Result<PullRequestReport, Error> {
    session.workspace()?.pull_requests().reply(&arguments.thread, &arguments.text)
}
