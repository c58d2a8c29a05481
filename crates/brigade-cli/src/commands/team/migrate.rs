//! `brigade team migrate`

use brigade::Error;
use brigade::report::TeamMigrateReport;
use clap::Args;

use super::PlaceArgs;
use crate::session::Session;

/// Update the tables and functions of the team for this version of Brigade
///
/// Run it as the owner of the database. Earlier versions of Brigade cannot use the team any more. Again, it changes
/// nothing.
#[derive(Args, Debug)]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) fn run(session: &Session<'_>, arguments: &MigrateArgs) -> Result<TeamMigrateReport, Error> {
    super::team(session)?.migrate(arguments.place.place())
}
