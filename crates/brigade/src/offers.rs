//! What MCP servers offer an agent in addition to their tools.

use std::sync::Weak;
use std::time::Duration;

use brigade_access::Offer;
use brigade_catalog::Tool;
use brigade_core::codes;
use brigade_mcp::{LiveOffers, OfferSet, OfferedNames, RequestTerms};
use brigade_ops::{
    Error, ErrorKind,
    upstreams::{KeptServer, ServerLookup},
};
use brigade_workspace::gather;

use crate::agent_calls::AgentCalls;

/// The maximum time for listing. The tool can lower it.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// What a server listed, and the server that did.
pub struct ServerOffers {
    /// What gateway.toml offers of it.
    pub offered: OfferSet,
    now: LiveOffers,
    kept: Weak<KeptServer>,
}

impl ServerOffers {
    /// Returns whether the server said since that something changed.
    pub fn has_changed(&self) -> bool {
        self.now.has_changed()
    }

    /// Returns whether the server still runs, so that it would say if something changed.
    pub fn is_followed(&self) -> bool {
        self.kept.upgrade().is_some_and(|kept| kept.is_alive())
    }
}

impl AgentCalls {
    /// Asks a server for the resources or prompts that gateway.toml offers of it. What no pattern matches is left out.
    ///
    /// The server is the one that is kept for the calls of the agent, if servers are kept.
    ///
    /// # Errors
    /// Fails if the policy does not let the server start, or it does not answer.
    pub fn offered(&self, offer: &Offer) -> Result<ServerOffers, Error> {
        let room = &*self.room;
        let config = gather::config(room)?;
        let silent = |why: &str| {
            let message = format!("`{}` did not list what it has: {why}", offer.server);
            Error::new(ErrorKind::Refused, message).coded(codes::RUN_FAILED)
        };
        let upstreams = room.env.upstreams.clone().unwrap_or_default();
        let (kept, _held) = match upstreams.server_listing(room, &config, &offer.entry)? {
            ServerLookup::Ready(kept, held) => (kept, held),
            ServerLookup::Refused(reasons) => {
                let reasons: Vec<&str> = reasons.iter().map(|reason| reason.message.as_str()).collect();
                return Err(silent(&format!("not started: {}", reasons.join("; "))));
            }
        };
        let terms = RequestTerms {
            timeout: Some(patience(&offer.entry)),
            cancel: room.env.cancel.clone(),
            ..RequestTerms::default()
        };
        let listed = kept.server.offered(offer.reads, &terms, &kept.redactor);
        let mut now = listed.map_err(|fault| silent(&fault.message))?;
        let OfferSet { mut resources, mut templates, mut prompts } = std::mem::take(&mut now.offered);
        resources.retain(|resource| offer.includes(&resource.uri));
        templates.retain(|template| offer.includes(&template.uri));
        prompts.retain(|prompt| offer.includes(&prompt.name));
        let offered = OfferSet { resources, templates, prompts };
        OfferedNames::keep(&*room.fs, &offer.server, offer.reads, &offered);
        Ok(ServerOffers { offered, now, kept: std::sync::Arc::downgrade(&kept) })
    }
}

fn patience(tool: &Tool) -> Duration {
    tool.timeout.map_or(LIST_TIMEOUT, |timeout| timeout.duration().min(LIST_TIMEOUT))
}
