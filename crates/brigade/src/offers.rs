//! What MCP servers offer an agent in addition to their tools.

use std::sync::{Arc, Weak};
use std::time::Duration;

use brigade_access::Offer;
use brigade_catalog::Tool;
use brigade_core::ErrorCode;
use brigade_mcp::{LiveOffers, OfferSet, OfferedNames, RequestTerms};
use brigade_ops::{Error, ErrorKind, upstreams::KeptServer};

use crate::agent_calls::AgentCalls;

/// The maximum time for listing. The tool can lower it.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// What a server lists.
pub struct ServerOffers {
    /// What gateway.toml offers of it.
    pub offered: OfferSet,
    /// The server that was asked; `None` for the last list.
    live: Option<(LiveOffers, Weak<KeptServer>)>,
}

impl ServerOffers {
    /// Returns whether the server said since that something changed.
    pub fn has_changed(&self) -> bool {
        self.live.as_ref().is_some_and(|(now, _)| now.has_changed())
    }

    /// Returns whether the server still runs, so that it would say if something changed.
    pub fn is_followed(&self) -> bool {
        self.live.as_ref().and_then(|(_, kept)| kept.upgrade()).is_some_and(|kept| kept.is_alive())
    }
}

impl AgentCalls {
    /// Returns the resources or prompts that gateway.toml offers of a server. What no pattern matches is left out.
    ///
    /// A list approves nothing, so it starts no server. It is read from the server that an approved call started, if
    /// that still runs. Otherwise it is the last list, or what the patterns name exactly.
    ///
    /// # Errors
    /// Fails if the running server does not answer.
    pub fn offered(&self, offer: &Offer) -> Result<ServerOffers, Error> {
        let inner = &*self.inner;
        let upstreams = inner.env.upstreams.clone().unwrap_or_default();
        let Some((kept, _held)) = upstreams.running(inner, &offer.entry) else {
            let mut offered = OfferedNames::read(&*inner.fs, &offer.server).offered(offer.reads);
            if offered.is_empty() {
                offered = OfferSet::named(offer.reads, offer.exact_names());
            }
            return Ok(ServerOffers { offered: only_offered(offer, offered), live: None });
        };
        let terms = RequestTerms {
            timeout: Some(list_timeout(&offer.entry)),
            cancel: inner.env.cancel.clone(),
            ..RequestTerms::default()
        };
        let listed = kept.server.offered(offer.reads, &terms, &kept.redactor);
        let mut now = listed.map_err(|fault| {
            let message = format!("`{}` did not list what it has: {}", offer.server, fault.message);
            Error::new(ErrorKind::Refused, message).coded(ErrorCode::RunFailed)
        })?;
        let offered = only_offered(offer, std::mem::take(&mut now.offered));
        OfferedNames::keep(&*inner.fs, &offer.server, offer.reads, &offered);
        Ok(ServerOffers { offered, live: Some((now, Arc::downgrade(&kept))) })
    }
}

/// Drops what no pattern of gateway.toml matches.
fn only_offered(offer: &Offer, listed: OfferSet) -> OfferSet {
    let OfferSet { mut resources, mut templates, mut prompts } = listed;
    resources.retain(|resource| offer.includes(&resource.uri));
    templates.retain(|template| offer.includes(&template.uri));
    prompts.retain(|prompt| offer.includes(&prompt.name));
    OfferSet { resources, templates, prompts }
}

fn list_timeout(tool: &Tool) -> Duration {
    tool.timeout.map_or(LIST_TIMEOUT, |timeout| timeout.duration().min(LIST_TIMEOUT))
}
