//! `brigade tools import`

mod mcp;

use brigade::{Error, Exit};
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Import {
    Mcp(mcp::McpArgs),
}

pub(crate) fn run(
    command: &Import,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    match command {
        Import::Mcp(arguments) => mcp::run(session, arguments, output),
    }
}
