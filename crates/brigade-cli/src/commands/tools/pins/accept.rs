//! `brigade tools pins accept`

use brigade::Error;
use brigade::report::PinReport;
use clap::Args;

use crate::session::Session;

/// Accept a change of a pinned MCP tool, so that it can be called again
///
/// With the id of a server's list, accepts the tools that appeared or vanished there. Accepts exactly what `pins show`
/// shows, without starting the server.
#[derive(Args, Debug)]
pub(crate) struct AcceptArgs {
    /// Id of a pin, a unique prefix, a tool id, or a server's list (`servers/NAME`)
    #[arg(value_name = "PIN")]
    id: String,

    /// Only accept the listing with this fingerprint, or its prefix, as shown by `pins show`
    #[arg(long, value_name = "FINGERPRINT")]
    fingerprint: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &AcceptArgs) -> Result<PinReport, Error> {
    session.workspace()?.pins().accept(&arguments.id, arguments.fingerprint.as_deref())
}
