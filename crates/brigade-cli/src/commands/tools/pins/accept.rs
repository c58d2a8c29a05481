//! `brigade tools pins accept`

use brigade::{Error, PinReport};
use clap::Args;

use crate::session::Session;

/// Accept what a server changed of a pinned tool, so that calls may use it again
///
/// Accepts exactly what `pins show` shows; no server is asked.
#[derive(Args, Debug)]
pub(crate) struct AcceptArgs {
    /// Id of the pin, its beginning, or the id of a tool in the catalog
    #[arg(value_name = "PIN")]
    id: String,

    /// Beginning of the fingerprint that `pins show` shows: refuse if the server has offered something else since
    #[arg(long, value_name = "FINGERPRINT")]
    fingerprint: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &AcceptArgs) -> Result<PinReport, Error> {
    session.workspace()?.pin_accept(&arguments.id, arguments.fingerprint.as_deref())
}
