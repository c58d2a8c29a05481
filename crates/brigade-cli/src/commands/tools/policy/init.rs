//! `brigade tools policy init`

use brigade::{Error, Existing, InitReport};
use clap::Args;

use crate::session::Session;

/// Begin a policy for this host
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Replace a policy that is there
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &InitArgs) -> Result<InitReport, Error> {
    let existing = if arguments.force { Existing::Overwrite } else { Existing::Keep };
    session.workspace()?.policy().init(existing)
}
