//! `brigade tools search`

use brigade::report::SearchReport;
use brigade::{Error, Family};
use clap::Args;

use crate::session::Session;

/// Find tools by words, in any order
///
/// Searches id, name, family, description, aliases, categories and capabilities. More than half of the words must
/// occur.
#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// Text to search for, ignoring case
    #[arg(value_name = "WORD", required = true)]
    query: Vec<String>,

    /// Only tools of this family; can be repeated
    #[arg(long)]
    family: Vec<Family>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &SearchArgs) -> Result<SearchReport, Error> {
    session.workspace()?.catalog().search(&arguments.query.join(" "), &arguments.family)
}
