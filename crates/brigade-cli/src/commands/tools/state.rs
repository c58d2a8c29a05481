//! `brigade tools state`

mod adopt;
mod check;
mod compact;
mod export;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum State {
    Adopt(adopt::AdoptArgs),
    Check(check::CheckArgs),
    Compact(compact::CompactArgs),
    Export(export::ExportArgs),
}

pub(crate) fn run(command: &State, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        State::Adopt(arguments) => adopt::run(session, arguments, output),
        State::Check(arguments) => output.finish(check::run(session, arguments)),
        State::Compact(arguments) => output.finish(compact::run(session, arguments)),
        State::Export(arguments) => export::run(session, arguments, output),
    }
}
