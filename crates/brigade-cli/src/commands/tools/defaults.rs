//! `brigade tools defaults`

use brigade::Error;
use brigade::daily::{Ignore, OnExisting};
use brigade::report::DefaultsReport;
use brigade::tools::DefaultsRequest;
use clap::Args;

use crate::session::Session;

/// Add the built-in tools to the catalog
#[derive(Args, Debug)]
pub(crate) struct DefaultsArgs {
    /// Show what would be added, without writing
    #[arg(long)]
    dry_run: bool,

    /// Update existing entries of built-in tools
    #[arg(long)]
    force: bool,

    /// Do not change .gitignore
    #[arg(long)]
    no_gitignore: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &DefaultsArgs) -> Result<DefaultsReport, Error> {
    session.workspace()?.catalog().defaults(DefaultsRequest {
        dry_run: arguments.dry_run,
        existing: if arguments.force { OnExisting::Overwrite } else { OnExisting::Keep },
        ignore: if arguments.no_gitignore { Ignore::Skip } else { Ignore::Write },
    })
}
