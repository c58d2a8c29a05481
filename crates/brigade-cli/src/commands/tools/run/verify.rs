//! `brigade tools run verify`

use std::path::PathBuf;

use brigade::{Error, Exit};
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// Verify that no receipt was changed, removed, reordered, added or cut off
///
/// Also compares the raw logs that still exist with their receipts, and reports runs that are missing in calls.jsonl
/// because an older copy was restored. With --envelope, verifies an exported receipt instead.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// Start at this entry of the ledger
    #[arg(long, value_name = "SEQUENCE", default_value_t = 1)]
    from: u64,

    /// Verify this exported receipt
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    envelope: Option<PathBuf>,

    /// Public key of the signature [default: the key of this host]
    #[arg(long, value_name = "FILE", requires = "envelope")]
    key: Option<PathBuf>,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &VerifyArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let runs = session.workspace()?.runs();
    Ok(match &arguments.envelope {
        Some(envelope) => output.finish(runs.verify_envelope(envelope, arguments.key.as_deref())?),
        None => output.finish(runs.verify(arguments.from)?),
    })
}
