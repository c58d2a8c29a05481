//! `brigade tools agent`

use brigade::core::AgentName;
use brigade::{Error, Exit};
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// List the agents that the gateway serves, with their profiles
    List,
    /// Add an agent to gateway.toml, and print its token once
    ///
    /// The file holds only the sha256 of the token. A new file keeps the agent `local`.
    Add {
        /// Name of the agent: letters, digits, `-` and `_`, at most 64
        name: AgentName,
    },
    /// Give an agent a new token, and print it once
    Rotate {
        /// Name of the agent: letters, digits, `-` and `_`, at most 64
        name: AgentName,
    },
    /// Remove an agent from gateway.toml
    Remove {
        /// Name of the agent: letters, digits, `-` and `_`, at most 64
        name: AgentName,
    },
}

pub(crate) fn run(
    command: &Agent,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    Ok(match command {
        Agent::List => output.finish(session.workspace()?.agents().list()?),
        Agent::Add { name } => output.finish(session.workspace()?.agents().add(name)?),
        Agent::Rotate { name } => output.finish(session.workspace()?.agents().rotate(name)?),
        Agent::Remove { name } => output.finish(session.workspace()?.agents().remove(name)?),
    })
}
