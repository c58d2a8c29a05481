//! `brigade work`

mod answer;
mod brief;
pub(crate) mod inbox;
#[cfg(feature = "builtin")]
pub(crate) mod memory;
#[cfg(feature = "builtin")]
pub(crate) mod pr;
#[cfg(feature = "builtin")]
mod turn;

use brigade::Exit;
use clap::Subcommand;

use crate::lazy::Lazy;
use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Work {
    Brief(brief::BriefArgs),
    Answer(answer::AnswerArgs),
    #[cfg(feature = "builtin")]
    Turn(turn::TurnArgs),
    /// Review findings
    Inbox(Lazy<inbox::InboxArgs>),
    /// See and tidy what agents remember
    #[cfg(feature = "builtin")]
    #[command(subcommand)]
    Memory(Lazy<memory::Memory>),
    /// Review pull requests of lanes
    #[cfg(feature = "builtin")]
    #[command(subcommand)]
    Pr(Lazy<pr::PullRequest>),
}

pub(crate) fn run(command: &Work, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Work::Brief(arguments) => output.finish(brief::run(session, arguments)),
        Work::Answer(arguments) => output.finish(answer::run(session, arguments)),
        #[cfg(feature = "builtin")]
        Work::Turn(arguments) => turn::run(session, arguments, output),
        #[cfg(feature = "builtin")]
        Work::Memory(command) => memory::run(&command.0, session, output),
        #[cfg(feature = "builtin")]
        Work::Pr(command) => pr::run(&command.0, session, output),
        Work::Inbox(command) => inbox::run(&command.0, session, output),
    }
}
