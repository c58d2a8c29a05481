//! `brigade tools pins list`

use brigade::{Error, PinListReport};
use clap::Args;

use crate::session::Session;

/// List the tools of MCP servers as they were first used, and which of them changed since
#[derive(Args, Debug)]
pub(crate) struct ListArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &ListArgs) -> Result<PinListReport, Error> {
    session.workspace()?.pin_list()
}
