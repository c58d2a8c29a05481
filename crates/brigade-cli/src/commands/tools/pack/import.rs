//! `brigade tools pack import`

use std::path::PathBuf;

use brigade::Error;
use brigade::daily::OnExisting;
use brigade::report::PackImportReport;
use clap::Args;

use crate::session::Session;

/// Add the entries and sources of a pack to this workspace
///
/// Nothing is run. If an entry or a source of the pack differs from one that exists, nothing is written.
#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// Directory of the pack
    #[arg(value_name = "DIRECTORY")]
    pack: PathBuf,

    /// Replace entries and sources that differ
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ImportArgs) -> Result<PackImportReport, Error> {
    let existing = if arguments.force { OnExisting::Overwrite } else { OnExisting::Keep };
    session.workspace()?.packs().import(&arguments.pack, existing)
}
