//! `brigade tools checkpoint`

mod approve;
mod list;
mod reject;
mod resume;
mod show;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Checkpoint {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Approve(approve::ApproveArgs),
    Reject(reject::RejectArgs),
    Resume(resume::ResumeArgs),
}

pub(crate) fn run(command: &Checkpoint, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Checkpoint::List(arguments) => output.finish(list::run(session, arguments)),
        Checkpoint::Show(arguments) => output.finish(show::run(session, arguments)),
        Checkpoint::Approve(arguments) => output.finish(approve::run(session, arguments)),
        Checkpoint::Reject(arguments) => output.finish(reject::run(session, arguments)),
        Checkpoint::Resume(arguments) => output.finish(resume::run(session, arguments)),
    }
}
