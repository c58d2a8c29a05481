//! `brigade tools runtime init`

use brigade::{Error, Existing, InitReport};
use clap::Args;

use crate::session::Session;

/// Begin a file of runtimes, with one example
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &InitArgs) -> Result<InitReport, Error> {
    let existing = if arguments.force { Existing::Overwrite } else { Existing::Keep };
    session.workspace()?.runtimes().init(existing)
}
