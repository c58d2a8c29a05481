//! `brigade tools run verify`

use brigade::{Error, LedgerReport};
use clap::Args;

use crate::session::Session;

/// Check that no receipt was changed, removed, reordered, added or cut off
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// Begin at this place of the ledger
    #[arg(long, value_name = "SEQUENCE", default_value_t = 1)]
    from: u64,
}

pub(crate) fn run(session: &Session<'_>, arguments: &VerifyArgs) -> Result<LedgerReport, Error> {
    session.workspace()?.run_verify(arguments.from)
}
