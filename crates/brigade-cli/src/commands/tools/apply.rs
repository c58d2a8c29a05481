//! `brigade tools apply`

use brigade::{ApplyReport, ApplyRequest, Error, Selection};
use clap::{ArgGroup, Args};

use crate::session::Session;

/// Write the projections that are missing or stale
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("which").args(["id", "all"]).required(true))]
pub(crate) struct ApplyArgs {
    /// Only this tool
    id: Option<String>,

    /// All tools
    #[arg(long)]
    all: bool,

    /// Show what would be written, as a diff, and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Replace files that hold somebody's own words
    #[arg(long)]
    force: bool,

    /// Remove projections that no tool wants any more, unless somebody edited them
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
