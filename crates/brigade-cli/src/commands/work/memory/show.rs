//! `brigade work memory show`

use brigade::Error;
use brigade::report::MemoryReport;
use clap::Args;

use crate::session::Session;

/// Show a memory
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id of the memory, or a unique prefix
    memory: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ShowArgs) -> Result<MemoryReport, Error> {
    session.workspace()?.memories().show(&arguments.memory)
}
