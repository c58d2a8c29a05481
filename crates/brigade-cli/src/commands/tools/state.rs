//! `brigade tools state`

mod adopt;
mod export;

use brigade::{Error, Exit};
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum State {
    Adopt(adopt::AdoptArgs),
    /// Check that every call and receipt can be read
    Check,
    /// Move finished calls out of the journal and quarantine unreadable lines
    Compact,
    Export(export::ExportArgs),
}

pub(crate) fn run(
    command: &State,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    Ok(match command {
        State::Adopt(arguments) => adopt::run(session, arguments, output)?,
        State::Check => output.finish(session.workspace()?.state().check()?),
        State::Compact => output.finish(session.workspace()?.state().compact()?),
        State::Export(arguments) => export::run(session, arguments, output)?,
    })
}
