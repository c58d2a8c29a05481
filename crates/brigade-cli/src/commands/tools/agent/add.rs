//! `brigade tools agent add`

use brigade::Error;
use brigade::core::AgentName;
use brigade::report::AgentReport;
use clap::Args;

use crate::session::Session;

/// Add an agent to gateway.toml, and print its token once
///
/// The file holds only the sha256 of the token. A new file keeps the agent `local`.
#[derive(Args, Debug)]
pub(crate) struct AddArgs {
    /// Name of the agent: letters, digits, `-` and `_`, at most 64
    name: AgentName,
}

pub(crate) fn run(session: &Session<'_>, arguments: &AddArgs) -> Result<AgentReport, Error> {
    session.workspace()?.agents().add(&arguments.name)
}
