//! `brigade tools profile`

mod explain;
mod list;
mod show;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Profile {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Explain(explain::ExplainArgs),
}

pub(crate) fn run(command: &Profile, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Profile::List(arguments) => output.finish(list::run(session, arguments)),
        Profile::Show(arguments) => output.finish(show::run(session, arguments)),
        Profile::Explain(arguments) => output.finish(explain::run(session, arguments)),
    }
}
