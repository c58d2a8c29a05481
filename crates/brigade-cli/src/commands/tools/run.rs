//! `brigade tools run`

mod export;
mod latest;
mod list;
mod replay;
mod show;
mod verify;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Run {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Latest(latest::LatestArgs),
    Replay(replay::ReplayArgs),
    Export(export::ExportArgs),
    Verify(verify::VerifyArgs),
}

pub(crate) fn run(command: &Run, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Run::List(arguments) => list::run(session, arguments, output),
        Run::Show(arguments) => show::run(session, arguments, output),
        Run::Latest(arguments) => output.finish(latest::run(session, arguments)),
        Run::Replay(arguments) => output.finish(replay::run(session, arguments)),
        Run::Export(arguments) => export::run(session, arguments, output),
        Run::Verify(arguments) => verify::run(session, arguments, output),
    }
}
