//! `brigade work`

mod brief;
mod inbox;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

/// See and decide on what waits for a person
#[derive(Debug, Subcommand)]
pub(crate) enum Work {
    Brief(brief::BriefArgs),
    #[command(subcommand)]
    Inbox(inbox::Inbox),
}

pub(crate) fn run(command: &Work, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Work::Brief(arguments) => output.finish(brief::run(session, arguments)),
        Work::Inbox(command) => inbox::run(command, session, output),
    }
}
