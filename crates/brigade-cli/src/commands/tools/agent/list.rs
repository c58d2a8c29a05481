//! `brigade tools agent list`

use brigade::Error;
use brigade::report::AgentListReport;
use clap::Args;

use crate::session::Session;

/// List the agents that the gateway serves, with their profiles
#[derive(Args, Debug)]
pub(crate) struct ListArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &ListArgs) -> Result<AgentListReport, Error> {
    session.workspace()?.agents().list()
}
