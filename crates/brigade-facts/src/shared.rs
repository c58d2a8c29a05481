//! The entries that one kept server process serves, and what its sandbox opens for them.
//!
//! Entries share a process when their command, directory and variables are the same. The process is opened for the
//! effects of all of them that are enabled and that the policy does not refuse: an entry that cannot be called opens
//! nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use brigade_call::ServerFact;
use brigade_catalog::{Family, Tool};
use brigade_policy::{CallFacts, Decision, decide};

use crate::config::Config;
use crate::host::Host;
use crate::tool::FactReader;

/// Returns whether two entries would be served by one process.
fn is_shared(one: &Tool, other: &Tool) -> bool {
    let labels = |tool: &Tool| tool.env_labels.iter().cloned().collect::<BTreeSet<_>>();
    let is_server = |tool: &Tool| tool.family == Some(Family::Mcp);
    is_server(one)
        && is_server(other)
        && one.command == other.command
        && one.cwd.as_deref().unwrap_or(".") == other.cwd.as_deref().unwrap_or(".")
        && labels(one) == labels(other)
}

impl Config {
    /// Lists the entries whose calls the process of a tool's server serves, the tool itself first: enabled tools of the
    /// catalog, and what gateway.toml offers of the server.
    pub fn served_with<'c>(&'c self, host: &Host<'_>, tool: &'c Tool) -> Vec<&'c Tool> {
        let enabled = self.catalog.tools().iter().filter(|other| other.enabled && !other.is_broken);
        let offered = self.offers(host).iter().map(|offer| &offer.entry);
        let others =
            enabled.chain(offered).filter(|other| !std::ptr::eq(*other, tool) && is_shared(tool, other));
        std::iter::once(tool).chain(others).collect()
    }
}

impl FactReader<'_, '_> {
    /// Widens the decision on a tool to that on the process of its server. `None` for what is no MCP tool.
    pub(crate) fn share(&self, tool: &Tool, decision: &mut Decision) -> Option<ServerFact> {
        if tool.family != Some(Family::Mcp) {
            return None;
        }
        let (mut tools, mut effects) = (BTreeSet::new(), BTreeSet::new());
        for (place, other) in self.config.served_with(&self.host, tool).into_iter().enumerate() {
            if 0 < place {
                let theirs =
                    decide(&self.config.policy, &CallFacts::of(other), &|name: &str| self.host.is_set(name));
                if !theirs.is_allowed() {
                    continue;
                }
                decision.sandbox.share(&theirs.sandbox);
            }
            tools.insert(other.id.to_string());
            effects.extend(other.effects.iter().cloned());
        }
        Some(ServerFact { tools: Arc::new(tools), effects: Arc::new(effects) })
    }
}
