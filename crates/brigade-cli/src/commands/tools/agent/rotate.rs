//! `brigade tools agent rotate`

use brigade::Error;
use brigade::core::AgentName;
use brigade::report::AgentReport;
use clap::Args;

use crate::session::Session;

/// Give an agent a new token, and print it once
#[derive(Args, Debug)]
pub(crate) struct RotateArgs {
    /// Name of the agent: letters, digits, `-` and `_`, at most 64
    name: AgentName,
}

pub(crate) fn run(session: &Session<'_>, arguments: &RotateArgs) -> Result<AgentReport, Error> {
    session.workspace()?.agents().rotate(&arguments.name)
}
