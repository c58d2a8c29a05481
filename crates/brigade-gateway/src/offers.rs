//! Lists the resources and prompts of MCP servers, and finds the server of a name.
//!
//! A running server is asked for its lists when a client first asks, and again after it reports a change. A list starts
//! no server: without one, the last list is shown. Only URIs, names, media types and arguments are listed. Titles and
//! descriptions of servers are left out, because they are not reviewed.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use brigade::gateway::{OfferSet, OfferedPrompt, OfferedResource, ServerOffers};
use brigade::profile::{Offer, Share};
use brigade::tools::Reads;
use rmcp::model::{Prompt, PromptArgument, Resource, ResourceTemplate};

use crate::blocking::blocking;
use crate::call::workspace_of;
use crate::gateway::Gateway;
use crate::view::View;

/// How long a server is not asked again after it failed to list.
const FAILED: Duration = Duration::from_secs(10);

/// The lists of servers.
#[derive(Default)]
pub(crate) struct Listings(Mutex<HashMap<Key, Arc<Slot>>>);

/// The agent (empty for a server that all agents share), the server, and the kind of list.
type Key = (Arc<str>, String, Reads);

/// One list.
#[derive(Default)]
struct Slot {
    /// The holder of the lock asks the server, and others wait.
    known: tokio::sync::Mutex<Option<CachedList>>,
    /// How often the list changed.
    changes: AtomicU64,
}

struct CachedList {
    /// The offer that was listed. Another offer has another list.
    offer: Offer,
    /// The agent that the list is for.
    agent: Arc<str>,
    /// Until when the list is valid after its server has ended, or although no server was asked.
    until: Instant,
    /// The list; `None` if the server did not answer.
    listed: Option<ServerOffers>,
    offered: Arc<OfferSet>,
}

impl CachedList {
    /// Returns whether the list is still valid for this offer.
    fn holds(&self, offer: &Offer) -> bool {
        let is_followed = || self.listed.as_ref().is_some_and(ServerOffers::is_followed);
        self.offer.is_same(offer) && !self.has_changed() && (Instant::now() < self.until || is_followed())
    }

    fn has_changed(&self) -> bool {
        self.listed.as_ref().is_some_and(ServerOffers::has_changed)
    }
}

/// The owner of a URI or name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NameOwner {
    /// The gateway itself.
    Own,
    /// The server with this id.
    Server(String),
    /// Unknown, or several owners.
    Nobody,
}

impl Listings {
    fn slot(&self, key: Key) -> Arc<Slot> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slots.entry(key).or_default().clone()
    }

    fn all(&self) -> Vec<Arc<Slot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Returns how often the lists of an agent's servers changed.
    pub(crate) fn changes(&self, agent: &str, reads: Reads) -> u64 {
        let slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_its = |(owner, _, its): &Key| *its == reads && (owner.is_empty() || **owner == *agent);
        let its = slots.iter().filter(|(key, _)| is_its(key));
        its.map(|(_, slot)| slot.changes.load(Ordering::SeqCst)).sum()
    }
}

impl Gateway {
    /// Returns the list of a server.
    async fn listing(self: Arc<Self>, agent: Arc<str>, offer: Offer) -> Arc<OfferSet> {
        let settings = self.config().upstream(&offer.server);
        let owner = match settings.share {
            Share::Agent => agent.clone(),
            Share::Workspace => Arc::from(""),
        };
        let slot = self.listings.slot((owner, offer.server.clone(), offer.reads));
        let mut known = slot.known.lock().await;
        if let Some(known) = known.as_ref().filter(|known| known.holds(&offer)) {
            return known.offered.clone();
        }
        let workspace = workspace_of(&self.workspace, &agent, None);
        let offer_to_list = offer.clone();
        let (keep, listed) = match blocking(move || workspace.agent_calls().offered(&offer_to_list)).await {
            Ok(listed) if listed.is_followed() => (Duration::from_secs(settings.keep), Some(listed)),
            // The next call may start the server.
            Ok(listed) => (Duration::ZERO, Some(listed)),
            Err(error) => {
                self.say(&error.to_string());
                (FAILED, None)
            }
        };
        let offered = Arc::new(listed.as_ref().map(|listed| listed.offered.clone()).unwrap_or_default());
        if known.as_ref().is_some_and(|before| before.offer.is_same(&offer) && before.offered != offered) {
            slot.changes.fetch_add(1, Ordering::SeqCst);
            let gateway = self.clone();
            tokio::spawn(async move {
                gateway.changed.notify_waiters();
                gateway.notify_listeners().await;
            });
        }
        let until = Instant::now() + keep;
        *known = Some(CachedList { offer, agent, until, listed, offered: offered.clone() });
        offered
    }

    /// Asks again for the lists that servers reported as changed, and for those whose server a call has started since.
    pub(crate) fn relist(self: &Arc<Self>) {
        for slot in self.listings.all() {
            // A list that is being read is current.
            let Ok(known) = slot.known.try_lock() else { continue };
            let Some(known) = known.as_ref() else { continue };
            let is_followed = known.listed.as_ref().is_some_and(ServerOffers::is_followed);
            let runs_now = || !is_followed && self.upstreams.serves(&known.offer.server, &known.agent);
            if known.has_changed() && is_followed || runs_now() {
                tokio::spawn(self.clone().listing(known.agent.clone(), known.offer.clone()));
            }
        }
    }

    /// Returns the lists of these servers, in the same order.
    async fn listings_of(self: &Arc<Self>, agent: &Arc<str>, offers: &[Offer]) -> Vec<Arc<OfferSet>> {
        let pending: Vec<_> = offers
            .iter()
            .map(|offer| tokio::spawn(self.clone().listing(agent.clone(), offer.clone())))
            .collect();
        let mut listings = Vec::new();
        for pending in pending {
            listings.push(pending.await.unwrap_or_default());
        }
        listings
    }

    async fn all_listings(
        self: &Arc<Self>,
        agent: &Arc<str>,
        view: &View,
        reads: Reads,
    ) -> Vec<Arc<OfferSet>> {
        let offers: Vec<Offer> = view.offers(reads).cloned().collect();
        self.listings_of(agent, &offers).await
    }

    /// Lists the resources of servers.
    pub(crate) async fn resources(self: &Arc<Self>, agent: &Arc<str>, view: &View) -> Vec<Resource> {
        let listings = self.all_listings(agent, view, Reads::Resource).await;
        let lists = listings.iter().map(|offered| offered.resources.as_slice());
        let row = |(_, resource): (usize, &OfferedResource)| {
            let mut row = Resource::new(&*resource.uri, &*resource.uri);
            row.mime_type.clone_from(&resource.media_type);
            row.size = resource.size;
            row
        };
        unique(lists, |resource| &resource.uri).into_iter().map(row).collect()
    }

    /// Lists the templates of resources of servers.
    pub(crate) async fn templates(self: &Arc<Self>, agent: &Arc<str>, view: &View) -> Vec<ResourceTemplate> {
        let listings = self.all_listings(agent, view, Reads::Resource).await;
        let lists = listings.iter().map(|offered| offered.templates.as_slice());
        let row = |(_, template): (usize, &OfferedResource)| {
            let mut row = ResourceTemplate::new(&*template.uri, &*template.uri);
            row.mime_type.clone_from(&template.media_type);
            row
        };
        unique(lists, |template| &template.uri).into_iter().map(row).collect()
    }

    /// Lists the prompts of the catalog and of servers. Prompts that share a name are left out.
    pub(crate) async fn prompts(self: &Arc<Self>, agent: &Arc<str>, view: &View) -> Vec<Prompt> {
        let offers: Vec<Offer> = view.offers(Reads::Prompt).cloned().collect();
        let listings = self.listings_of(agent, &offers).await;
        let row = |(place, prompt): (usize, &OfferedPrompt)| {
            let arguments = prompt.arguments.iter();
            let arguments = arguments
                .map(|argument| PromptArgument::new(&*argument.name).with_required(argument.required))
                .collect();
            // Clients expect a description, but that of the server is not reviewed.
            let description =
                offers.get(place).map(|offer| format!("A prompt of the MCP server `{}`", offer.server));
            Prompt::new(&*prompt.name, description, Some(arguments))
        };
        let is_listed = |name: &str| {
            listings.iter().any(|offered| offered.prompts.iter().any(|prompt| prompt.name == name))
        };
        let mut rows: Vec<Prompt> = crate::workspace_offers::prompts(view, &|name| !is_listed(name));
        // Only prompts with a readable source are listed.
        let workspace = workspace_of(&self.workspace, agent, None);
        let mut rows = blocking(move || {
            let calls = workspace.agent_calls();
            rows.retain(|prompt| calls.source_text(&prompt.name).is_ok_and(|text| text.is_some()));
            rows
        })
        .await;
        let lists = listings.iter().map(|offered| offered.prompts.as_slice());
        let theirs = unique(lists, |prompt| &prompt.name);
        rows.extend(theirs.into_iter().filter(|(_, prompt)| !view.has_prompt(&prompt.name)).map(row));
        rows
    }

    /// Returns the owner of a URI or name. Servers are asked only if several could own it.
    pub(crate) async fn owner_of(
        self: &Arc<Self>,
        agent: &Arc<str>,
        view: &View,
        reads: Reads,
        name: &str,
    ) -> NameOwner {
        let is_own = reads == Reads::Prompt && view.has_prompt(name);
        let offers: Vec<Offer> = view.offers(reads).filter(|offer| offer.includes(name)).cloned().collect();
        let offers = match (offers.as_slice(), is_own) {
            ([] | [_], false) | ([], true) => offers,
            _ => {
                let listings = self.listings_of(agent, &offers).await;
                let lists = |offered: &OfferSet| {
                    offered.resources.iter().any(|resource| resource.uri == name)
                        || offered.prompts.iter().any(|prompt| prompt.name == name)
                };
                let with = offers.into_iter().zip(listings);
                with.filter(|(_, listing)| lists(listing)).map(|(offer, _)| offer).collect()
            }
        };
        match (offers.as_slice(), is_own) {
            ([], true) => NameOwner::Own,
            ([offer], false) => NameOwner::Server(offer.server.clone()),
            _ => NameOwner::Nobody,
        }
    }
}

/// Returns the items whose name occurs in only one of the lists, with the position of the list.
fn unique<'a, T>(lists: impl Iterator<Item = &'a [T]>, name: fn(&T) -> &String) -> Vec<(usize, &'a T)> {
    let mut found: BTreeMap<&str, Option<(usize, &T)>> = BTreeMap::new();
    for (place, list) in lists.enumerate() {
        for row in list {
            found
                .entry(name(row))
                .and_modify(|known| *known = known.filter(|(other, _)| *other == place))
                .or_insert(Some((place, row)));
        }
    }
    found.into_values().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_two_servers_is_not_listed() {
        let list = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let lists = [list(&["b", "a", "a"]), list(&["c", "b"]), list(&["b"])];
        let found = unique(lists.iter().map(Vec::as_slice), |name| name);
        assert_eq!(found, [(0, &"a".to_owned()), (1, &"c".to_owned())]);
    }
}
