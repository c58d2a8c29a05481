//! `brigade tools pack show`

use brigade::Error;
use brigade::core::IdPrefix;
use brigade::report::PackShowReport;
use clap::Args;

use crate::session::Session;

/// Show a pack
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id of the pack, a unique prefix, or latest
    pack: IdPrefix,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ShowArgs) -> Result<PackShowReport, Error> {
    session.workspace()?.packs().show(&arguments.pack)
}
