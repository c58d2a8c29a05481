//! `brigade tools import`

mod mcp;

use brigade::Exit;
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Import {
    Mcp(mcp::McpArgs),
}

pub(crate) fn run(command: &Import, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    match command {
        Import::Mcp(arguments) => mcp::run(session, arguments, output),
    }
}
