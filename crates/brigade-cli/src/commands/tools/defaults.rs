//! `brigade tools defaults`

use brigade::{DefaultsReport, DefaultsRequest, Error, Existing, Ignore};
use clap::Args;

use crate::session::Session;

/// Add the built-in tools to the catalog; keeps what a person wrote
#[derive(Args, Debug)]
pub(crate) struct DefaultsArgs {
    /// Say what would be added, and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Bring entries of built-in tools that are there up to date
    #[arg(long)]
    force: bool,

    /// Leave .gitignore alone
    #[arg(long)]
    no_gitignore: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &DefaultsArgs) -> Result<DefaultsReport, Error> {
    session.workspace()?.catalog().defaults(DefaultsRequest {
        dry_run: arguments.dry_run,
        existing: if arguments.force { Existing::Overwrite } else { Existing::Keep },
        ignore: if arguments.no_gitignore { Ignore::Skip } else { Ignore::Write },
    })
}
