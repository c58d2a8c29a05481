//! `brigade work pr`

use brigade::report::NewThread;
use brigade::{Error, Exit};
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum PullRequest {
    /// List pull requests of lanes, the oldest first
    List,
    /// Show a pull request with the threads of its review
    Show {
        /// Id or number of the pull request
        pull_request: String,
    },
    /// Comment on a pull request, in a new thread
    Comment {
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
    },
    /// Reply to a thread of a review
    Reply {
        /// Id of the thread
        thread: String,

        /// Text of the reply
        text: String,
    },
    /// Mark a thread of a review as resolved
    Resolve {
        /// Id of the thread
        thread: String,

        /// Open it again
        #[arg(long)]
        off: bool,
    },
    /// Close a pull request, so that its lane may have another one
    Close {
        /// Id or number of the pull request
        pull_request: String,
    },
}

pub(crate) fn run(
    command: &PullRequest,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    Ok(match command {
        PullRequest::List => output.finish(session.workspace()?.pull_requests().list()?),
        PullRequest::Show { pull_request } => {
            output.finish(session.workspace()?.pull_requests().show(pull_request)?)
        }
        PullRequest::Comment { pull_request, text, path, line } => {
            let new = NewThread { text: text.clone(), path: path.clone(), line: *line };
            output.finish(session.workspace()?.pull_requests().comment(pull_request, &new)?)
        }
        PullRequest::Reply { thread, text } => {
            output.finish(session.workspace()?.pull_requests().reply(thread, text)?)
        }
        PullRequest::Resolve { thread, off } => {
            output.finish(session.workspace()?.pull_requests().resolve(thread, !off)?)
        }
        PullRequest::Close { pull_request } => {
            output.finish(session.workspace()?.pull_requests().close(pull_request)?)
        }
    })
}
