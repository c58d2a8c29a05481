//! `brigade tools parity status`

use brigade::{Error, ParityReport};
use clap::Args;

use crate::session::Session;

/// Say which issues of projections count, and which the last closeout quiets
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &StatusArgs) -> Result<ParityReport, Error> {
    session.workspace()?.parity().status()
}
