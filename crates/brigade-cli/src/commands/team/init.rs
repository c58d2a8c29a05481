//! `brigade team init`

use brigade::{Error, TeamInitReport};
use clap::Args;

use super::PlaceArgs;
use crate::session::Session;

/// Make the tables, functions and roles of a team in a PostgreSQL database
///
/// Run it once, as the owner of the database, who may create roles. Again, it changes nothing.
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) fn run(session: &Session<'_>, arguments: &InitArgs) -> Result<TeamInitReport, Error> {
    super::team(session)?.init(arguments.place.place())
}
