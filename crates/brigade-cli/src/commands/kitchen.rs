//! `brigade kitchen`, whose verbs of the shell program also stand at the top level

mod init;
pub(crate) mod validate;
mod workers;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Kitchen {
    Init(init::InitArgs),
    Validate(validate::ValidateArgs),
    Workers(workers::WorkersArgs),
}

pub(crate) fn run(command: &Kitchen, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Kitchen::Init(arguments) => output.finish(init::run(session, arguments)),
        Kitchen::Validate(arguments) => output.finish(validate::run(session, arguments)),
        Kitchen::Workers(arguments) => output.finish(workers::run(session, arguments)),
    }
}
