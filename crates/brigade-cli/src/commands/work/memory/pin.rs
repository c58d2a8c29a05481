//! `brigade work memory pin`

use brigade::Error;
use brigade::report::MemoryReport;
use clap::Args;

use crate::session::Session;

/// Pin a memory, so that it is never evicted
#[derive(Args, Debug)]
pub(crate) struct PinArgs {
    /// Id of the memory, or a unique prefix
    memory: String,

    /// Unpin it instead
    #[arg(long)]
    off: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &PinArgs) -> Result<MemoryReport, Error> {
    session.workspace()?.memories().pin(&arguments.memory, !arguments.off)
}
