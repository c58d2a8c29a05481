//! `brigade kitchen clean`

use std::path::PathBuf;

use brigade::Error;
use brigade::kitchen::KitchenCleanReport;
use clap::Args;

use crate::session::Session;

/// Remove worktrees whose work is in the branch
///
/// Other work is never deleted: --abandon first keeps the work of one task under refs/brigade/abandoned/. Nothing is
/// removed while a service runs the PRD.
#[derive(Args, Debug)]
pub(crate) struct CleanArgs {
    /// File of the PRD; by default the PRD in progress
    prd: Option<PathBuf>,

    /// Give up the work of this task, and remove only its worktree
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    abandon: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &CleanArgs) -> Result<KitchenCleanReport, Error> {
    session.workspace()?.kitchen().clean(arguments.prd.as_deref(), arguments.abandon.as_deref())
}
