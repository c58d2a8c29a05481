//! `brigade kitchen summary`

use std::path::PathBuf;

use brigade::{Error, SummaryReport};
use clap::Args;

use super::service::{HarmlessFlag, SilentFlags};
use crate::session::Session;

/// Write a report of a PRD in Markdown
#[derive(Args, Debug)]
pub(crate) struct SummaryArgs {
    /// File of the PRD; by default the one that somebody works on
    prd: Option<PathBuf>,

    /// File for the report, instead of standard output
    file: Option<PathBuf>,

    /// Replace a file that is no such report
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    #[allow(dead_code, reason = "it is taken, and nothing is asked of it")]
    silent: SilentFlags,

    #[command(flatten)]
    harmless: HarmlessFlag,
}

pub(crate) fn run(session: &Session<'_>, arguments: &SummaryArgs) -> Result<SummaryReport, Error> {
    let SummaryArgs { prd, file, force, .. } = arguments;
    // Without running anything, it is printed.
    let file = file.as_deref().filter(|_| !arguments.harmless.dry_run);
    session.workspace()?.kitchen().summary(prd.as_deref(), file, *force)
}
