//! `brigade tools policy doctor`

use brigade::Error;
use brigade::report::PolicyHealthReport;
use clap::Args;

use crate::session::Session;

/// Check the policy, and the tools against it
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &DoctorArgs) -> Result<PolicyHealthReport, Error> {
    session.workspace()?.policy().doctor()
}
