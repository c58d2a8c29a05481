//! `brigade tools checkpoint list`

use brigade::Error;
use brigade::report::CheckpointListReport;
use clap::Args;

use crate::session::Session;

/// List checkpoints, newest first
#[derive(Args, Debug)]
pub(crate) struct ListArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &ListArgs) -> Result<CheckpointListReport, Error> {
    session.workspace()?.checkpoints().list()
}
