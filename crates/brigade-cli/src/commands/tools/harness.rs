//! `brigade tools harness`

mod list;
mod show;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Harness {
    List(list::ListArgs),
    Show(show::ShowArgs),
}

pub(crate) fn run(command: &Harness, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Harness::List(arguments) => output.finish(list::run(session, arguments)),
        Harness::Show(arguments) => output.finish(show::run(session, arguments)),
    }
}
