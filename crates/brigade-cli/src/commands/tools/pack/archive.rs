//! `brigade tools pack archive`

use brigade::Error;
use brigade::core::IdPrefix;
use brigade::report::PackArchiveReport;
use clap::Args;

use crate::session::Session;

/// Move a pack to the archive
#[derive(Args, Debug)]
pub(crate) struct ArchiveArgs {
    /// Id of the pack, a unique prefix, or latest
    pack: IdPrefix,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ArchiveArgs) -> Result<PackArchiveReport, Error> {
    session.workspace()?.packs().archive(&arguments.pack)
}
