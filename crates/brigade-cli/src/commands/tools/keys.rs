//! `brigade tools keys`

use brigade::daily::OnExisting;
use brigade::{Error, Exit};
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Keys {
    /// Create the key that this host signs receipts with
    Init {
        /// Replace an existing key; receipts signed with it need the old public key
        #[arg(long)]
        force: bool,
    },
}

pub(crate) fn run(command: &Keys, session: &Session<'_>, output: &mut Output<'_, '_>) -> Result<Exit, Error> {
    Ok(match command {
        Keys::Init { force } => {
            let existing = if *force { OnExisting::Overwrite } else { OnExisting::Keep };
            output.finish(session.workspace()?.runs().init_keys(existing)?)
        }
    })
}
