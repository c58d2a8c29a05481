//! `brigade team doctor`

use brigade::Error;
use brigade::report::TeamDoctorReport;
use clap::Args;

use super::PlaceArgs;
use crate::session::Session;

/// Check the database of the team, and the connection to it
///
/// Checks the team that the workspace has joined, or else the database of the owner. Exits with 1 if a check failed.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) fn run(session: &Session<'_>, arguments: &DoctorArgs) -> Result<TeamDoctorReport, Error> {
    super::team(session)?.doctor(arguments.place.place())
}
