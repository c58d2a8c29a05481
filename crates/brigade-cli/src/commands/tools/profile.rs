//! `brigade tools profile`

use brigade::{Error, Exit};
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Profile {
    /// List the profiles that agents can have, by slot
    List,
    /// Show what a profile shows, hides and says about calls
    Show {
        /// Name of the profile, such as `permission.plan`
        name: String,
    },
    /// Explain whether an agent sees a tool, and what each of its profiles says
    Explain {
        /// Id of the tool
        id: String,

        /// The agent
        #[arg(long = "as", value_name = "AGENT")]
        agent: String,
    },
}

pub(crate) fn run(
    command: &Profile,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    Ok(match command {
        Profile::List => output.finish(session.workspace()?.agents().profiles()?),
        Profile::Show { name } => output.finish(session.workspace()?.agents().profile(name)?),
        Profile::Explain { id, agent } => output.finish(session.workspace()?.agents().explain(id, agent)?),
    })
}
