//! `brigade work memory`

mod export;
mod list;
mod pin;
mod remove;
mod show;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Memory {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Remove(remove::RemoveArgs),
    Pin(pin::PinArgs),
    Export(export::ExportArgs),
}

pub(crate) fn run(command: &Memory, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Memory::List(arguments) => output.finish(list::run(session, arguments)),
        Memory::Show(arguments) => output.finish(show::run(session, arguments)),
        Memory::Remove(arguments) => output.finish(remove::run(session, arguments)),
        Memory::Pin(arguments) => output.finish(pin::run(session, arguments)),
        Memory::Export(arguments) => export::run(session, arguments, output),
    }
}
