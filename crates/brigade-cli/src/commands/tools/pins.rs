//! `brigade tools pins`

use brigade::{Error, Exit};
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Pins {
    /// List pinned MCP tools, and which changed, appeared or vanished
    List {
        /// Start the MCP servers of enabled tools and compare their tool lists; calls no tool
        #[arg(long)]
        live: bool,
    },
    /// Show a pinned tool or a server's tool list, with its changes
    Show {
        /// Id of a pin, a unique prefix, a tool id, or a server's list (`servers/NAME`)
        #[arg(value_name = "PIN")]
        id: String,
    },
    /// Accept a change of a pinned MCP tool, so that it can be called again
    ///
    /// With the id of a server's list, accepts the tools that appeared or vanished there. Accepts exactly what
    /// `pins show` shows, without starting the server.
    Accept {
        /// Id of a pin, a unique prefix, a tool id, or a server's list (`servers/NAME`)
        #[arg(value_name = "PIN")]
        id: String,

        /// Only accept the listing with this fingerprint, or its prefix, as shown by `pins show`
        #[arg(long, value_name = "FINGERPRINT")]
        fingerprint: Option<String>,
    },
}

pub(crate) fn run(command: &Pins, session: &Session<'_>, output: &mut Output<'_, '_>) -> Result<Exit, Error> {
    Ok(match command {
        Pins::List { live: true } => output.finish(session.workspace_to_run()?.pins().list_live()?),
        Pins::List { live: false } => output.finish(session.workspace()?.pins().list()?),
        Pins::Show { id } => output.finish(session.workspace()?.pins().show(id)?),
        Pins::Accept { id, fingerprint } => {
            output.finish(session.workspace()?.pins().accept(id, fingerprint.as_deref())?)
        }
    })
}
