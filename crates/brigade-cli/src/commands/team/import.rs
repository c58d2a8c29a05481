//! `brigade team import`

use brigade::Error;
use brigade::report::TeamImportReport;
use brigade::team::ImportStep;
use clap::Args;

use crate::session::Session;

/// Bring the calls, checkpoints and receipts of this workspace's files into the team
///
/// What the team has already is left as it is, so it can be repeated. What was approved and has not run waits for a new
/// approval. The files stay. Needs the roles queuer and reviewer, and a key, which signs what was brought.
#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// Only show what would be brought
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ImportArgs) -> Result<TeamImportReport, Error> {
    let step = if arguments.dry_run { ImportStep::DryRun } else { ImportStep::Write };
    super::team(session)?.import(step)
}
