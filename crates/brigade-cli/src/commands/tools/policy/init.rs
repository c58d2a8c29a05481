//! `brigade tools policy init`

use brigade::Error;
use brigade::daily::OnExisting;
use brigade::report::InitReport;
use clap::Args;

use crate::session::Session;

/// Create a policy for this host
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Overwrite an existing policy
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &InitArgs) -> Result<InitReport, Error> {
    let existing = if arguments.force { OnExisting::Overwrite } else { OnExisting::Keep };
    session.workspace()?.policy().init(existing)
}
