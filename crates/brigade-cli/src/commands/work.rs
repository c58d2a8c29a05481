//! `brigade work`

pub(crate) mod inbox;
#[cfg(feature = "builtin")]
pub(crate) mod memory;
#[cfg(feature = "builtin")]
pub(crate) mod pr;
#[cfg(feature = "builtin")]
mod turn;

use brigade::core::IdPrefix;
use brigade::daily::WorkAnswer;
use brigade::{Error, Exit};
use clap::Subcommand;

use crate::lazy::Lazy;
use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Work {
    /// Show what needs a decision, and the next command to run
    Brief,
    /// Answer an approval, a checkpoint, a decision of the kitchen or a question of an agent
    ///
    /// Does the same as the specific command, such as `tools call approve` or `kitchen answer`.
    Answer {
        /// Id from the brief, or a unique prefix
        #[arg(value_name = "WAITING")]
        id: IdPrefix,

        /// One of its choices, such as approve; with several questions ID=CHOICE, once for each
        #[arg(long, value_name = "CHOICE")]
        choice: Vec<String>,

        /// A text: the answer, or the reason of a rejection
        #[arg(long)]
        text: Option<String>,

        /// Decline to answer, or reject
        #[arg(long, conflicts_with = "choice")]
        decline: bool,
    },
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

pub(crate) fn run(command: &Work, session: &Session<'_>, output: &mut Output<'_, '_>) -> Result<Exit, Error> {
    Ok(match command {
        Work::Brief => output.finish(session.workspace()?.doctor().brief()?),
        Work::Answer { id, choice, text, decline } => {
            let answer = WorkAnswer { choices: choice.clone(), text: text.clone(), is_declined: *decline };
            output.finish(session.workspace()?.work().answer(id, &answer)?)
        }
        #[cfg(feature = "builtin")]
        Work::Turn(arguments) => turn::run(session, arguments, output)?,
        #[cfg(feature = "builtin")]
        Work::Memory(command) => memory::run(&command.0, session, output)?,
        #[cfg(feature = "builtin")]
        Work::Pr(command) => pr::run(&command.0, session, output)?,
        Work::Inbox(command) => inbox::run(&command.0, session, output)?,
    })
}
