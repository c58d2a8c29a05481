//! `brigade tools pins accept`

use brigade::{Error, PinReport};
use clap::Args;

use crate::session::Session;

/// Accept what a server changed of a pinned tool, so that calls may use it again
///
/// With the id of a server's list, tools that appeared or vanished there are accepted: they are no issue any more.
/// Accepts exactly what `pins show` shows; no server is asked.
#[derive(Args, Debug)]
pub(crate) struct AcceptArgs {
    /// Id of the pin, its beginning, the id of a tool in the catalog, or that of a server's list (`servers/NAME`)
    #[arg(value_name = "PIN")]
    id: String,

    /// Beginning of the fingerprint that `pins show` shows: refuse if the server has offered something else since
    #[arg(long, value_name = "FINGERPRINT")]
    fingerprint: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &AcceptArgs) -> Result<PinReport, Error> {
    session.workspace()?.pins().accept(&arguments.id, arguments.fingerprint.as_deref())
}
