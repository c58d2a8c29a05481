//! `brigade kitchen summary`

use std::path::PathBuf;

use brigade::Error;
use brigade::kitchen::SummaryReport;
use clap::Args;

use crate::session::Session;

/// Write a report of a PRD in Markdown
#[derive(Args, Debug)]
pub(crate) struct SummaryArgs {
    /// File of the PRD; by default the PRD in progress
    prd: Option<PathBuf>,

    /// File for the report, instead of standard output
    file: Option<PathBuf>,

    /// Replace a file that is not such a report
    #[arg(long)]
    force: bool,

    /// Print it, and write no file
    #[arg(long, hide = true)]
    dry_run: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &SummaryArgs) -> Result<SummaryReport, Error> {
    let SummaryArgs { prd, file, force, dry_run } = arguments;
    let file = file.as_deref().filter(|_| !dry_run);
    session.workspace()?.kitchen().summary(prd.as_deref(), file, *force)
}
