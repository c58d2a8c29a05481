//! `brigade tools parity`

use brigade::health::Verdict;
use brigade::{Error, Exit};
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Parity {
    /// Show projection issues, and which of them the last closeout accepted
    Status,
    /// Accept the current projection issues, so that only new ones are reported
    Closeout {
        /// Reason for the decision
        #[arg(long)]
        reason: Option<String>,

        /// Record that the review is deferred
        #[arg(long)]
        defer: bool,
    },
}

pub(crate) fn run(
    command: &Parity,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    Ok(match command {
        Parity::Status => output.finish(session.workspace()?.parity().status()?),
        Parity::Closeout { reason, defer } => {
            let verdict = if *defer { Verdict::Deferred } else { Verdict::Reviewed };
            output.finish(session.workspace()?.parity().closeout(reason.as_deref(), verdict)?)
        }
    })
}
