//! `brigade tools contracts`

use brigade::{ContractsReport, Error};
use clap::Args;

use crate::session::Session;

/// List which tools can be called, and what is missing for the others
#[derive(Args, Debug)]
pub(crate) struct ContractsArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &ContractsArgs) -> Result<ContractsReport, Error> {
    session.workspace()?.contracts()
}
