//! The agents of the gateway, and what each is shown.

use std::sync::Arc;

use brigade_core::codes;
use brigade_facts::{AgentConfig, AgentTools, GATEWAY, agent_tools, read_agents};
use brigade_policy::Failure;
use brigade_profile::{Agent, GatewayConfig, NameStyle, Rights};

use crate::error::{Error, ErrorKind};
use crate::gather;
use crate::room::Room;

/// The agents of the gateway, and what each is shown.
#[derive(Clone)]
pub struct Agents {
    pub(crate) room: Arc<Room>,
}

impl Agents {
    /// Reads gateway.toml. Without the file, there is the agent `local`.
    ///
    /// # Errors
    /// Fails with [`codes::GATEWAY_CONFIG_INVALID`] and the place of each error of gateway.toml or profiles.toml.
    pub fn config(&self) -> Result<GatewayConfig, Error> {
        Ok(config(&self.room)?.gateway)
    }

    /// Reads what an agent is shown: catalog, policy, profiles and gateway.toml once, and the schemas of its tools.
    ///
    /// Overlays are names of profiles that are laid over those of the agent, which only narrows. Nothing else changes
    /// what is visible, and what is visible can be called.
    ///
    /// # Errors
    /// Fails if there is no such agent or profile, a file has an error, or a file cannot be read.
    pub fn tools(&self, agent: &str, overlays: &[String], names: NameStyle) -> Result<AgentTools, Error> {
        let agents = config(&self.room)?;
        let agent = find(&agents.gateway, agent)?.clone();
        let rights = Rights::of(&agents.profiles, &agent, overlays)?;
        let config = Arc::new(gather::config(&self.room)?);
        let host = gather::host(&self.room);
        Ok(agent_tools(host, config, Arc::new(agents), agent, rights, names)?)
    }
}

/// Reads profiles.toml and gateway.toml.
pub(crate) fn config(room: &Room) -> Result<AgentConfig, Error> {
    read_agents(&*room.fs).map_err(|issues| {
        let file = issues.first().map_or(GATEWAY, |issue| issue.place.file.as_str());
        Failure::invalid_config(codes::GATEWAY_CONFIG_INVALID, file, &issues).into()
    })
}

/// Finds an agent by its name.
pub(crate) fn find<'a>(config: &'a GatewayConfig, name: &str) -> Result<&'a Agent, Error> {
    config.agent(name).ok_or_else(|| {
        let shown = brigade_core::text::escape_terminal(name).into_owned();
        let names = config.agents.iter().map(|agent| agent.name.as_str());
        Failure::new(ErrorKind::NotFound, format!("there is no agent `{shown}` in {}", config.file))
            .coded(codes::AGENT_MISSING)
            .near(name, names)
            .into()
    })
}

#[cfg(test)]
mod tests;
