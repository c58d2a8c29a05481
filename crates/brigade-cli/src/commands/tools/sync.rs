//! `brigade tools sync`

mod apply;

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
    /// Show which projections a sync would write
    ///
    /// Concerns projections only; `brigade tools sync` without more remembers the tools of agent programs.
    Plan {
        /// Id of the tool [default: all tools]
        id: Option<String>,
    },
    Apply(apply::ApplyArgs),
}

const EXAMPLES: &str = "\
Examples:
  brigade tools sync             Remember the tools of all agent programs, and show what changed
  brigade tools sync --dry-run   Only show what changed
  brigade tools sync plan        Show which projections would be written";

pub(crate) fn run(
    arguments: &SyncArgs,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    Ok(match &arguments.command {
        None => output.finish(session.workspace()?.registry().sync(arguments.dry_run)?),
        Some(Sync::Plan { id }) => {
            output.finish(session.workspace()?.projections().sync_plan(id.as_deref())?)
        }
        Some(Sync::Apply(arguments)) => {
            let report = apply::run(session, arguments, output)?;
            output.finish(report)
        }
    })
}
