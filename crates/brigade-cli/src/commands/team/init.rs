//! `brigade team init`

use brigade::Error;
use brigade::report::TeamInitReport;
use brigade::team::LogPlace;
use clap::Args;
use clap::builder::PossibleValuesParser;

use super::PlaceArgs;
use crate::session::Session;

/// Make the tables, functions and roles of a team in a PostgreSQL database
///
/// Run it once, as the owner of the database, who may create roles. Again, it only changes where logs are, if that is
/// said.
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Where raw logs of runs are: only on the host that ran, or the end of each also in the database
    #[arg(long, value_name = "PLACE", value_parser = PossibleValuesParser::new(LogPlace::ALL.iter().map(|place| place.as_str())))]
    logs: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) fn run(session: &Session<'_>, arguments: &InitArgs) -> Result<TeamInitReport, Error> {
    let logs = arguments.logs.as_deref().and_then(LogPlace::from_word);
    super::team(session)?.init(arguments.place.place(), logs)
}
