//! `brigade tools run verify`

use std::path::PathBuf;

use brigade::Exit;
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// Check that no receipt was changed, removed, reordered, added or cut off
///
/// Raw logs that are still there are compared with their receipts, too. Runs that their calls have forgotten, because
/// an older calls.jsonl was put back, are named as well. With --envelope, check a receipt that was exported instead.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// Begin at this place of the ledger
    #[arg(long, value_name = "SEQUENCE", default_value_t = 1)]
    from: u64,

    /// Check this exported receipt
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    envelope: Option<PathBuf>,

    /// The public key that should have signed it; without one, this host's own
    #[arg(long, value_name = "FILE", requires = "envelope")]
    key: Option<PathBuf>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &VerifyArgs, output: &mut Output<'_, '_>) -> Exit {
    let workspace = session.workspace();
    match &arguments.envelope {
        Some(envelope) => {
            let key = arguments.key.as_deref();
            output.finish(workspace.and_then(|workspace| workspace.runs().verify_envelope(envelope, key)))
        }
        None => output.finish(workspace.and_then(|workspace| workspace.runs().verify(arguments.from))),
    }
}
