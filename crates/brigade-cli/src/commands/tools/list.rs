//! `brigade tools list`

use brigade::{Error, ToolLinesReport};
use clap::Args;

use crate::session::Session;

/// List the tools
#[derive(Args, Debug)]
pub(crate) struct ListArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &ListArgs) -> Result<ToolLinesReport, Error> {
    session.workspace()?.tool_lines()
}
