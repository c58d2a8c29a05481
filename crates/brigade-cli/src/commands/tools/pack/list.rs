//! `brigade tools pack list`

use brigade::Error;
use brigade::report::PackListReport;
use clap::Args;

use crate::arguments::count;
use crate::session::Session;

/// List the packs, newest first
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// List at most this many of the newest packs
    #[arg(long, value_name = "COUNT", default_value = "20", value_parser = count, allow_hyphen_values = true)]
    limit: usize,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ListArgs) -> Result<PackListReport, Error> {
    session.workspace()?.packs().list(arguments.limit)
}
