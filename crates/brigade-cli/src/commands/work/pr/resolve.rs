//! `brigade work pr resolve`

use brigade::Error;
use brigade::report::PullRequestReport;
use clap::Args;

use crate::session::Session;

/// Mark a thread of a review as resolved
#[derive(Args, Debug)]
pub(crate) struct ResolveArgs {
    /// Id of the thread
    thread: String,

    /// Open it again
    #[arg(long)]
    off: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ResolveArgs) -> Result<PullRequestReport, Error> {
    session.workspace()?.pull_requests().resolve(&arguments.thread, !arguments.off)
}
