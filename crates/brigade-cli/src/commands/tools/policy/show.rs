//! `brigade tools policy show`

use brigade::{Error, PolicyReport};
use clap::Args;

use crate::session::Session;

/// Show what the policy says
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &ShowArgs) -> Result<PolicyReport, Error> {
    session.workspace()?.policy().show()
}
