//! `brigade tools pack build`

use brigade::Error;
use brigade::report::PackBuildReport;
use clap::Args;

use crate::session::Session;

/// Build a pack of the catalog and the sources of its entries
///
/// The pack is a directory below .brigade/tools/packs. It contains no secrets, and nothing from outside the workspace.
#[derive(Args, Debug)]
pub(crate) struct BuildArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &BuildArgs) -> Result<PackBuildReport, Error> {
    session.workspace()?.packs().build()
}
