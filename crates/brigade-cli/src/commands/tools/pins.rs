//! `brigade tools pins`

mod accept;
mod list;
mod show;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Pins {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Accept(accept::AcceptArgs),
}

pub(crate) fn run(command: &Pins, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Pins::List(arguments) => output.finish(list::run(session, arguments)),
        Pins::Show(arguments) => output.finish(show::run(session, arguments)),
        Pins::Accept(arguments) => output.finish(accept::run(session, arguments)),
    }
}
