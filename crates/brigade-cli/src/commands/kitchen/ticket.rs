//! `brigade kitchen ticket`

use std::path::PathBuf;

use brigade::kitchen::{Flags, ServiceOptions};
use brigade::{Error, Exit};
use clap::Args;

use super::service::BeginFlags;
use crate::output::Output;
use crate::session::Session;

/// Work on one task until it ends or cannot continue
///
/// Needs the approval of the PRD, and everything that the task depends on must be done. Exits with 0 if the task is
/// done, 1 if it failed or needs another attempt, 32 if it is blocked, 33 if it was already done and 34 if another task
/// did it; with 30 if a decision is needed first, and 31 if a service runs the PRD.
#[derive(Args, Debug)]
#[command(allow_missing_positional = true)]
pub(crate) struct TicketArgs {
    /// PRD, by its file or name; by default the PRD in progress, or the one that has the task
    prd: Option<PathBuf>,

    /// Task, such as T3 or calc/T3
    #[arg(value_name = "ID", allow_hyphen_values = true)]
    task: String,

    #[command(flatten)]
    begin: BeginFlags,

    /// Let the executive decide about a failure without asking
    #[arg(long)]
    walkaway: bool,

    /// Maximum number of attempts
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1000))]
    max_iterations: Option<u64>,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &TicketArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let (prd, task) = (arguments.prd.as_deref(), &arguments.task);
    let flags =
        Flags { walkaway: arguments.walkaway, max_iterations: arguments.max_iterations, ..Flags::default() };
    let local_offset_minutes = session.surroundings.local_offset_minutes;
    let options = ServiceOptions { flags, local_offset_minutes, ..ServiceOptions::default() };
    if arguments.begin.dry_run {
        return Ok(output.finish(session.workspace()?.kitchen().rehearse_ticket(prd, task, &options)?));
    }
    let kitchen = session.workspace_to_run()?.kitchen();
    arguments.begin.approve(&kitchen, prd.as_slice())?;
    let served = kitchen.ticket(prd, task, &options, &output.live(session.surroundings))?;
    Ok(output.finish(served))
}
