//! `brigade tools keys`

mod init;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Keys {
    Init(init::InitArgs),
}

pub(crate) fn run(command: &Keys, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Keys::Init(arguments) => output.finish(init::run(session, arguments)),
    }
}
