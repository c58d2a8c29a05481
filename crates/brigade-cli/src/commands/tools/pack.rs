//! `brigade tools pack`

mod archive;
mod build;
mod import;
mod list;
mod show;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Pack {
    Build(build::BuildArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Archive(archive::ArchiveArgs),
    Import(import::ImportArgs),
}

pub(crate) fn run(command: &Pack, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Pack::Build(arguments) => output.finish(build::run(session, arguments)),
        Pack::List(arguments) => output.finish(list::run(session, arguments)),
        Pack::Show(arguments) => output.finish(show::run(session, arguments)),
        Pack::Archive(arguments) => output.finish(archive::run(session, arguments)),
        Pack::Import(arguments) => output.finish(import::run(session, arguments)),
    }
}
