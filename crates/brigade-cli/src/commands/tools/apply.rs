//! `brigade tools apply`

use brigade::Error;
use brigade::report::ApplyReport;
use brigade::tools::{ApplyRequest, Selection};
use clap::{ArgGroup, Args};

use crate::output::Output;
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

    /// Show what would change, without writing
    #[arg(long)]
    dry_run: bool,

    /// Show the content of every change; without this, only of up to 3 files
    #[arg(long, requires = "dry_run")]
    diff: bool,

    /// Overwrite files that have local edits or were not written by Brigade
    #[arg(long)]
    force: bool,

    /// Remove orphaned projections that have no local edits
    #[arg(long)]
    prune: bool,
}

/// The maximum number of files whose changes are shown without --diff.
const MAX_SHOWN_FILES: usize = 3;

/// Leaves out the contents if there are many files, unless they are requested.
pub(crate) fn without_diffs(
    mut report: ApplyReport,
    are_wanted: bool,
    output: &Output<'_, '_>,
) -> ApplyReport {
    if !are_wanted && !output.is_json() && MAX_SHOWN_FILES < report.applied.len() {
        report.applied.iter_mut().for_each(|item| item.diff = None);
    }
    report
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &ApplyArgs,
    output: &Output<'_, '_>,
) -> Result<ApplyReport, Error> {
    let which = match &arguments.id {
        Some(id) => Selection::One(id.clone()),
        None => Selection::All,
    };
    let report = session.workspace()?.projections().apply(&ApplyRequest {
        which,
        dry_run: arguments.dry_run,
        force: arguments.force,
        prune: arguments.prune,
    })?;
    Ok(without_diffs(report, arguments.diff, output))
}
