//! `brigade tools parity`

mod closeout;
mod status;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Parity {
    Status(status::StatusArgs),
    Closeout(closeout::CloseoutArgs),
}

pub(crate) fn run(command: &Parity, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Parity::Status(arguments) => output.finish(status::run(session, arguments)),
        Parity::Closeout(arguments) => output.finish(closeout::run(session, arguments)),
    }
}
