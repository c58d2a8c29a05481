//! `brigade tools describe`

use brigade::{DescribeReport, Error};
use clap::Args;

use crate::session::Session;

/// Describe how a tool is called: arguments, examples, effects
#[derive(Args, Debug)]
pub(crate) struct DescribeArgs {
    /// Id of the tool
    id: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &DescribeArgs) -> Result<DescribeReport, Error> {
    session.workspace()?.describe(&arguments.id)
}
