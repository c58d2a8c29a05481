//! `brigade tools runtime init`

use brigade::Error;
use brigade::daily::OnExisting;
use brigade::report::InitReport;
use clap::Args;

use crate::session::Session;

/// Create runtimes.toml with an example
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &InitArgs) -> Result<InitReport, Error> {
    let existing = if arguments.force { OnExisting::Overwrite } else { OnExisting::Keep };
    session.workspace()?.runtimes().init(existing)
}
