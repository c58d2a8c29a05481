//! `brigade tools script`

mod promote;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Script {
    Promote(promote::PromoteArgs),
}

pub(crate) fn run(command: &Script, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Script::Promote(arguments) => output.finish(promote::run(session, arguments)),
    }
}
