//! `brigade tools init`

use brigade::{Error, Existing, Ignore, InitReport};
use clap::Args;

use crate::session::Session;

/// Begin a catalog in this folder
///
/// Writes .brigade/tools.toml with four examples, their sources in tools/, and lines for .gitignore.
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Replace a catalog that is there
    #[arg(long)]
    force: bool,

    /// Leave .gitignore alone
    #[arg(long)]
    no_gitignore: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &InitArgs) -> Result<InitReport, Error> {
    let existing = if arguments.force { Existing::Overwrite } else { Existing::Keep };
    let ignore = if arguments.no_gitignore { Ignore::Skip } else { Ignore::Write };
    session.workspace_to_make()?.catalog().init(existing, ignore)
}
