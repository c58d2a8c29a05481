//! `brigade tools sync apply`

use brigade::Error;
use brigade::report::ApplyReport;
use brigade::tools::{Selection, SyncRequest};
use clap::Args;

use crate::commands::tools::apply::without_diffs;
use crate::output::Output;
use crate::session::Session;

/// Write projections; needs both --write and --force
///
/// Concerns projections only; `brigade tools sync` without more remembers the tools of agent programs.
#[derive(Args, Debug)]
pub(crate) struct ApplyArgs {
    /// Id of the tool
    #[arg(conflicts_with = "all")]
    id: Option<String>,

    /// All tools
    #[arg(long)]
    all: bool,

    /// Show what would be written, even with --write and --force
    #[arg(long)]
    dry_run: bool,

    /// Show the content of every change; without this, only of up to 3 files
    #[arg(long)]
    diff: bool,

    /// Write the files; also needs --force
    #[arg(long)]
    write: bool,

    /// Overwrite files that have local edits or were not written by Brigade
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &ApplyArgs,
    output: &Output<'_, '_>,
) -> Result<ApplyReport, Error> {
    let which = match &arguments.id {
        Some(id) => Some(Selection::One(id.clone())),
        None => arguments.all.then_some(Selection::All),
    };
    let report = session.workspace()?.projections().sync_apply(&SyncRequest {
        which,
        dry_run: arguments.dry_run,
        write: arguments.write,
        force: arguments.force,
    })?;
    Ok(without_diffs(report, arguments.diff, output))
}
