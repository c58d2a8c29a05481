//! `brigade tools keys init`

use brigade::Error;
use brigade::daily::OnExisting;
use brigade::report::KeyReport;
use clap::Args;

use crate::session::Session;

/// Create the key that this host signs receipts with
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Replace an existing key; receipts signed with it need the old public key
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &InitArgs) -> Result<KeyReport, Error> {
    let existing = if arguments.force { OnExisting::Overwrite } else { OnExisting::Keep };
    session.workspace()?.runs().init_keys(existing)
}
