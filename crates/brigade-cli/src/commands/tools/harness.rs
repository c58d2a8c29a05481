//! `brigade tools harness`

use brigade::{Error, Exit};
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Harness {
    /// List the supported harnesses
    List,
    /// Show which files a harness reads, and their format
    Show {
        /// Name of the harness
        name: String,
    },
}

pub(crate) fn run(
    command: &Harness,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    Ok(match command {
        Harness::List => output.finish(session.workspace()?.projections().harnesses()?),
        Harness::Show { name } => output.finish(session.workspace()?.projections().harness(name)?),
    })
}
