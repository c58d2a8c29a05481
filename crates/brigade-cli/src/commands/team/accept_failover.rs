//! `brigade team accept-failover`

use brigade::Error;
use brigade::report::TeamAcceptFailoverReport;
use clap::Args;

use crate::session::Session;

/// Let runners claim calls after the database was replaced
///
/// A promoted replica or a restored backup may have forgotten claims, so nothing is claimed before all hosts have
/// reported theirs. Accept it if a host does not come back, and nothing runs there any more.
#[derive(Args, Debug)]
pub(crate) struct AcceptFailoverArgs {}

pub(crate) fn run(session: &Session<'_>, _: &AcceptFailoverArgs) -> Result<TeamAcceptFailoverReport, Error> {
    super::team(session)?.accept_failover()
}
