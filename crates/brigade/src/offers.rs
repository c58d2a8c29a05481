//! What MCP servers offer an agent besides their tools.

use brigade_core::codes;
use brigade_mcp::{Offered, OfferedNames};
use brigade_profile::Offer;

use crate::agent_calls::AgentCalls;
use crate::error::{Error, ErrorKind};
use crate::gather;
use crate::live;

impl AgentCalls {
    /// Asks a server for the resources or prompts that gateway.toml offers of it. What no pattern matches is left out.
    ///
    /// # Errors
    /// Fails if the policy does not let the server start, or it does not answer.
    pub fn offered(&self, offer: &Offer) -> Result<Offered, Error> {
        let room = &*self.room;
        let config = gather::config(room)?;
        let exchange = live::ask(room, &config, &offer.entry).map_err(|silence| {
            let message = format!("`{}` did not list what it has: {silence}", offer.server);
            Error::new(ErrorKind::Refused, message).coded(codes::RUN_FAILED)
        })?;
        let Offered { mut resources, mut templates, mut prompts } = exchange.offered;
        resources.retain(|resource| offer.includes(&resource.uri));
        templates.retain(|template| offer.includes(&template.uri));
        prompts.retain(|prompt| offer.includes(&prompt.name));
        let offered = Offered { resources, templates, prompts };
        OfferedNames::keep(&*room.fs, &offer.server, offer.reads, &offered);
        Ok(offered)
    }
}
