//! `brigade work pr`

mod close;
mod comment;
mod list;
mod reply;
mod resolve;
mod show;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum PullRequest {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Comment(comment::CommentArgs),
    Reply(reply::ReplyArgs),
    Resolve(resolve::ResolveArgs),
    Close(close::CloseArgs),
}

pub(crate) fn run(command: &PullRequest, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        PullRequest::List(arguments) => output.finish(list::run(session, arguments)),
        PullRequest::Show(arguments) => output.finish(show::run(session, arguments)),
        PullRequest::Comment(arguments) => output.finish(comment::run(session, arguments)),
        PullRequest::Reply(arguments) => output.finish(reply::run(session, arguments)),
        PullRequest::Resolve(arguments) => output.finish(resolve::run(session, arguments)),
        PullRequest::Close(arguments) => output.finish(close::run(session, arguments)),
    }
}
