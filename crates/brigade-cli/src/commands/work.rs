//! `brigade work`

mod brief;
pub(crate) mod inbox;

use brigade::Exit;
use clap::Subcommand;

use crate::lazy::Lazy;
use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Work {
    Brief(brief::BriefArgs),
    /// Review findings
    #[command(subcommand)]
    Inbox(Lazy<inbox::Inbox>),
}

pub(crate) fn run(command: &Work, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Work::Brief(arguments) => output.finish(brief::run(session, arguments)),
        Work::Inbox(command) => inbox::run(&command.0, session, output),
    }
}
