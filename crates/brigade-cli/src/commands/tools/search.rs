//! `brigade tools search`

use brigade::{Error, SearchReport};
use clap::Args;

use crate::session::Session;

/// Find tools by id, name, family or description
#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// Text to search for, ignoring case
    query: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &SearchArgs) -> Result<SearchReport, Error> {
    session.workspace()?.catalog().search(&arguments.query)
}
