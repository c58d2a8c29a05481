//! `brigade tools apply`

use brigade::{ApplyReport, ApplyRequest, Error, Selection};
use clap::{ArgGroup, Args};

use crate::session::Session;

/// Write missing and stale projections
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("which").args(["id", "all"]).required(true))]
pub(crate) struct ApplyArgs {
    /// Id of the tool
    id: Option<String>,

    /// All tools
    #[arg(long)]
    all: bool,

    /// Show a diff of what would change, without writing
    #[arg(long)]
    dry_run: bool,

    /// Overwrite files that have local edits or were not written by Brigade
    #[arg(long)]
    force: bool,

    /// Remove orphaned projections that have no local edits
    #[arg(long)]
    prune: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ApplyArgs) -> Result<ApplyReport, Error> {
    let which = match &arguments.id {
        Some(id) => Selection::One(id.clone()),
        None => Selection::All,
    };
    session.workspace()?.projections().apply(&ApplyRequest {
        which,
        dry_run: arguments.dry_run,
        force: arguments.force,
        prune: arguments.prune,
    })
}
