//! `brigade tools run`

mod export;
mod list;
mod show;
mod verify;

use brigade::core::IdPrefix;
use brigade::{Error, Exit};
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Run {
    List(list::ListArgs),
    Show(show::ShowArgs),
    /// Show the receipt of the latest run
    Latest,
    /// Queue a new call with the arguments of a previous run
    Replay {
        /// Id of the run, a unique prefix, or latest
        run: IdPrefix,
    },
    Export(export::ExportArgs),
    Verify(verify::VerifyArgs),
}

pub(crate) fn run(command: &Run, session: &Session<'_>, output: &mut Output<'_, '_>) -> Result<Exit, Error> {
    Ok(match command {
        Run::List(arguments) => list::run(session, arguments, output)?,
        Run::Show(arguments) => show::run(session, arguments, output)?,
        Run::Latest => output.finish(session.workspace()?.runs().latest()?),
        Run::Replay { run } => output.finish(session.workspace()?.runs().replay(run)?),
        Run::Export(arguments) => export::run(session, arguments, output)?,
        Run::Verify(arguments) => verify::run(session, arguments, output)?,
    })
}
