//! `brigade tools policy explain`

use brigade::Error;
use brigade::report::ExplainReport;
use clap::Args;

use crate::session::Session;

/// Explain what the policy decides about a tool
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// Id of the tool
    id: String,

    /// Also say which rule approves calls of this agent, or what is missing for it
    #[arg(long = "as", value_name = "AGENT")]
    agent: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ExplainArgs) -> Result<ExplainReport, Error> {
    session.workspace()?.policy().explain(&arguments.id, arguments.agent.as_deref())
}
