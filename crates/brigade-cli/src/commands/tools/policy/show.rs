//! `brigade tools policy show`

use brigade::Error;
use brigade::report::PolicyReport;
use clap::Args;

use crate::session::Session;

/// Show the policy
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &ShowArgs) -> Result<PolicyReport, Error> {
    session.workspace()?.policy().show()
}
