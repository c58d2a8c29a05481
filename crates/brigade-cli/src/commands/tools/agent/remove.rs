//! `brigade tools agent remove`

use brigade::Error;
use brigade::core::AgentName;
use brigade::report::AgentReport;
use clap::Args;

use crate::session::Session;

/// Remove an agent from gateway.toml
#[derive(Args, Debug)]
pub(crate) struct RemoveArgs {
    /// Name of the agent: letters, digits, `-` and `_`, at most 64
    name: AgentName,
}

pub(crate) fn run(session: &Session<'_>, arguments: &RemoveArgs) -> Result<AgentReport, Error> {
    session.workspace()?.agents().remove(&arguments.name)
}
