//! `brigade tools sync`

mod apply;
mod plan;

use brigade::report::RegistrySyncReport;
use brigade::{Error, Exit};
use clap::{Args, Subcommand};

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct SyncArgs {
    /// Show what changed, and write nothing
    #[arg(long)]
    dry_run: bool,

    #[command(subcommand)]
    pub(crate) command: Option<Sync>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Sync {
    Plan(plan::PlanArgs),
    Apply(apply::ApplyArgs),
}

const EXAMPLES: &str = "\
Examples:
  brigade tools sync             Remember the tools of all agent programs, and show what changed
  brigade tools sync --dry-run   Only show what changed
  brigade tools sync plan        Show which projections would be written";

pub(crate) fn run(arguments: &SyncArgs, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match &arguments.command {
        None => output.finish(remember(session, arguments.dry_run)),
        Some(Sync::Plan(arguments)) => output.finish(plan::run(session, arguments)),
        Some(Sync::Apply(arguments)) => output.finish(apply::run(session, arguments, output)),
    }
}

fn remember(session: &Session<'_>, dry_run: bool) -> Result<RegistrySyncReport, Error> {
    session.workspace()?.registry().sync(dry_run)
}
