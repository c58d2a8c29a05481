//! `brigade work inbox`

mod dismiss;
mod done;
mod list;
mod promote;
mod show;

use brigade::Exit;
use clap::{Args, Subcommand};

use crate::output::Output;
use crate::session::Session;

/// Review findings
///
/// Without a subcommand, lists the rows.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct InboxArgs {
    #[command(subcommand)]
    pub(crate) command: Option<Inbox>,
    #[command(flatten)]
    list: list::ListArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Inbox {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Promote(promote::PromoteArgs),
    Dismiss(dismiss::DismissArgs),
    Done(done::DoneArgs),
}

pub(crate) fn run(arguments: &InboxArgs, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    let Some(command) = &arguments.command else {
        return output.finish(list::run(session, &arguments.list));
    };
    match command {
        Inbox::List(arguments) => output.finish(list::run(session, arguments)),
        Inbox::Show(arguments) => output.finish(show::run(session, arguments)),
        Inbox::Promote(arguments) => output.finish(promote::run(session, arguments)),
        Inbox::Dismiss(arguments) => output.finish(dismiss::run(session, arguments)),
        Inbox::Done(arguments) => output.finish(done::run(session, arguments)),
    }
}
