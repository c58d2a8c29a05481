//! `brigade work pr comment`

use brigade::Error;
use brigade::report::{NewThread, PullRequestReport};
use clap::Args;

use crate::session::Session;

/// Comment on a pull request, in a new thread
#[derive(Args, Debug)]
pub(crate) struct CommentArgs {
    /// Id or number of the pull request
    pull_request: String,

    /// Text of the comment
    text: String,

    /// File that it is about
    #[arg(long)]
    path: Option<String>,

    /// Line of the file
    #[arg(long, requires = "path")]
    line: Option<u64>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &CommentArgs) -> Result<PullRequestReport, Error> {
    let CommentArgs { pull_request, text, path, line } = arguments;
    let new = NewThread { text: text.clone(), path: path.clone(), line: *line };
    session.workspace()?.pull_requests().comment(pull_request, &new)
}
