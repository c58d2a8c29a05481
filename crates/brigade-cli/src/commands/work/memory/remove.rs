//! `brigade work memory remove`

use brigade::Error;
use brigade::report::MemoryReport;
use clap::Args;

use crate::session::Session;

/// Remove a memory
#[derive(Args, Debug)]
pub(crate) struct RemoveArgs {
    /// Id of the memory, or a unique prefix
    memory: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &RemoveArgs) -> Result<MemoryReport, Error> {
    session.workspace()?.memories().remove(&arguments.memory)
}
