//! `brigade tools parity closeout`

use brigade::Error;
use brigade::health::Verdict;
use brigade::report::CloseoutReport;
use clap::Args;

use crate::session::Session;

/// Accept the current projection issues, so that only new ones are reported
#[derive(Args, Debug)]
pub(crate) struct CloseoutArgs {
    /// Reason for the decision
    #[arg(long)]
    reason: Option<String>,

    /// Record that the review is deferred
    #[arg(long)]
    defer: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &CloseoutArgs) -> Result<CloseoutReport, Error> {
    let verdict = if arguments.defer { Verdict::Deferred } else { Verdict::Reviewed };
    session.workspace()?.parity().closeout(arguments.reason.as_deref(), verdict)
}
