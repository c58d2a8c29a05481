//! `brigade work inbox`

mod dismiss;
mod done;
mod list;
mod promote;
mod show;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Inbox {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Promote(promote::PromoteArgs),
    Dismiss(dismiss::DismissArgs),
    Done(done::DoneArgs),
}

pub(crate) fn run(command: &Inbox, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Inbox::List(arguments) => output.finish(list::run(session, arguments)),
        Inbox::Show(arguments) => output.finish(show::run(session, arguments)),
        Inbox::Promote(arguments) => output.finish(promote::run(session, arguments)),
        Inbox::Dismiss(arguments) => output.finish(dismiss::run(session, arguments)),
        Inbox::Done(arguments) => output.finish(done::run(session, arguments)),
    }
}
