//! What MCP servers offer an agent besides their tools.

use std::sync::Weak;
use std::time::Duration;

use brigade_access::Offer;
use brigade_catalog::Tool;
use brigade_core::codes;
use brigade_mcp::{Offered, OfferedNames, OfferedNow, RequestTerms};
use brigade_ops::{
    Error, ErrorKind,
    upstreams::{Found, Kept},
};
use brigade_workspace::gather;

use crate::agent_calls::AgentCalls;

/// The maximum time for listing. The tool can lower it.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a server listed, and the server that did.
pub struct Listed {
    /// What gateway.toml offers of it.
    pub offered: Offered,
    now: OfferedNow,
    kept: Weak<Kept>,
}

impl Listed {
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
    pub fn offered(&self, offer: &Offer) -> Result<Listed, Error> {
        let room = &*self.room;
        let config = gather::config(room)?;
        let silent = |why: &str| {
            let message = format!("`{}` did not list what it has: {why}", offer.server);
            Error::new(ErrorKind::Refused, message).coded(codes::RUN_FAILED)
        };
        let upstreams = room.env.upstreams.clone().unwrap_or_default();
        let (kept, _held) = match upstreams.server_listing(room, &config, &offer.entry)? {
            Found::Ready(kept, held) => (kept, held),
            Found::Refused(reasons) => {
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
        let Offered { mut resources, mut templates, mut prompts } = std::mem::take(&mut now.offered);
        resources.retain(|resource| offer.includes(&resource.uri));
        templates.retain(|template| offer.includes(&template.uri));
        prompts.retain(|prompt| offer.includes(&prompt.name));
        let offered = Offered { resources, templates, prompts };
        OfferedNames::keep(&*room.fs, &offer.server, offer.reads, &offered);
        Ok(Listed { offered, now, kept: std::sync::Arc::downgrade(&kept) })
    }
}

fn patience(tool: &Tool) -> Duration {
    tool.timeout.map_or(PATIENCE, |timeout| timeout.duration().min(PATIENCE))
}
