//! `brigade tools policy explain`

use brigade::{Error, ExplainReport};
use clap::Args;

use crate::session::Session;

/// Explain what the policy decides about a tool
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// Id of the tool
    id: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ExplainArgs) -> Result<ExplainReport, Error> {
    session.workspace()?.policy().explain(&arguments.id)
}
