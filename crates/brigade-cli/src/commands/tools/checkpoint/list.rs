//! `brigade tools checkpoint list`

use brigade::{CheckpointListReport, Error};
use clap::Args;

use crate::session::Session;

/// List checkpoints, newest first
#[derive(Args, Debug)]
pub(crate) struct ListArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &ListArgs) -> Result<CheckpointListReport, Error> {
    session.workspace()?.checkpoints().list()
}
