//! `brigade tools profile explain`

use brigade::Error;
use brigade::report::ProfileExplainReport;
use clap::Args;

use crate::session::Session;

/// Explain whether an agent sees a tool, and what each of its profiles says
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// Id of the tool
    id: String,

    /// The agent
    #[arg(long = "as", value_name = "AGENT")]
    agent: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ExplainArgs) -> Result<ProfileExplainReport, Error> {
    session.workspace()?.agents().explain(&arguments.id, &arguments.agent)
}
