//! `brigade tools agent`

mod add;
mod list;
mod remove;
mod rotate;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    List(list::ListArgs),
    Add(add::AddArgs),
    Rotate(rotate::RotateArgs),
    Remove(remove::RemoveArgs),
}

pub(crate) fn run(command: &Agent, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Agent::List(arguments) => output.finish(list::run(session, arguments)),
        Agent::Add(arguments) => output.finish(add::run(session, arguments)),
        Agent::Rotate(arguments) => output.finish(rotate::run(session, arguments)),
        Agent::Remove(arguments) => output.finish(remove::run(session, arguments)),
    }
}
