//! `brigade tools parity closeout`

use brigade::{CloseoutReport, Error, Verdict};
use clap::Args;

use crate::session::Session;

/// Accept the issues of projections as they are, so that only new ones count
#[derive(Args, Debug)]
pub(crate) struct CloseoutArgs {
    /// Why
    #[arg(long)]
    reason: Option<String>,

    /// Put the decision off instead of making it
    #[arg(long)]
    defer: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &CloseoutArgs) -> Result<CloseoutReport, Error> {
    let verdict = if arguments.defer { Verdict::Deferred } else { Verdict::Reviewed };
    session.workspace()?.parity().closeout(arguments.reason.as_deref(), verdict)
}
