//! `brigade tools init`

use brigade::{Error, Existing, Ignore, InitReport};
use clap::Args;

use crate::session::Session;

/// Create a catalog in the current directory
///
/// Writes .brigade/tools.toml with four example tools, their sources in tools/, and entries in .gitignore.
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Overwrite an existing catalog
    #[arg(long)]
    force: bool,

    /// Do not change .gitignore
    #[arg(long)]
    no_gitignore: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &InitArgs) -> Result<InitReport, Error> {
    let existing = if arguments.force { Existing::Overwrite } else { Existing::Keep };
    let ignore = if arguments.no_gitignore { Ignore::Skip } else { Ignore::Write };
    session.workspace_to_make()?.catalog().init(existing, ignore)
}
