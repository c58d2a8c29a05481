//! The entries that one kept server process serves, and what its sandbox opens for them.
//!
//! Entries share a process when their command, directory and variables are the same. Its sandbox allows the effects,
//! code and data of all these entries, except disabled entries and entries that the policy refuses. An approval binds
//! and shows everything that is opened, whichever entry is called.

use std::collections::BTreeSet;
use std::sync::Arc;

use brigade_call::{BoundBy, ServerFact};
use brigade_catalog::{Family, Runtime, Tool};
use brigade_fs::FsError;
use brigade_policy::{CallFacts, Decision, decide};

use crate::config::Config;
use crate::host::Host;
use crate::named::NamedFiles;
use crate::tool::FactReader;

/// Returns whether one process serves both entries.
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
    /// Lists the entries that the process of a tool's server serves, the tool itself first. They are enabled tools and
    /// offers of gateway.toml that the policy does not refuse.
    pub fn served_with<'c>(&'c self, host: &Host<'_>, tool: &'c Tool) -> Vec<&'c Tool> {
        let enabled = self.catalog.tools().iter().filter(|other| other.enabled && !other.is_broken);
        let offered = self.offers(host).iter().map(|offer| &offer.entry);
        let runtime =
            |tool: &Tool| self.runtime_of(host, tool).map(|runtime| (runtime.home_path(), &runtime.env));
        let own = runtime(tool);
        let others = enabled.chain(offered).filter(|other| {
            !std::ptr::eq(*other, tool)
                && is_shared(tool, other)
                && runtime(other) == own
                && self.decision_on(host, other).is_allowed()
        });
        std::iter::once(tool).chain(others).collect()
    }

    /// Returns the runtime whose command is the server of an MCP tool.
    pub fn runtime_of(&self, host: &Host<'_>, tool: &Tool) -> Option<&Runtime> {
        let id = tool.runtime_id.as_deref().filter(|_| tool.family == Some(Family::Mcp))?;
        let runtime = self.runtimes(host).runtime(id)?;
        (!runtime.is_broken && tool.command.as_deref() == Some(&*runtime.command)).then_some(runtime)
    }

    /// Decides on calls of a tool, with what the runtime of its server asks for.
    pub(crate) fn decision_on(&self, host: &Host<'_>, tool: &Tool) -> Decision {
        self.decision_as(host, tool, &CallFacts::from_tool(tool))
    }

    /// Like [`Config::decision_on`], with the facts of one call.
    pub(crate) fn decision_as(&self, host: &Host<'_>, tool: &Tool, facts: &CallFacts<'_>) -> Decision {
        let mut decision = decide(&self.policy, facts, &|name: &str| host.is_set(name));
        if let Some(runtime) = self.runtime_of(host, tool) {
            decision.add_runtime(runtime);
        }
        decision
    }
}

impl FactReader<'_, '_> {
    /// Widens the decision on a tool, and its bound files, to all entries that its server's process serves. `None` for
    /// other tools than MCP tools.
    ///
    /// # Errors
    /// When the disk fails.
    pub(crate) fn share(
        &self,
        tool: &Tool,
        decision: &mut Decision,
        named: &mut NamedFiles,
    ) -> Result<Option<ServerFact>, FsError> {
        if tool.family != Some(Family::Mcp) {
            return Ok(None);
        }
        let (mut tools, mut effects, mut data) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut known = BTreeSet::from([(&tool.code, &tool.data)]);
        for (place, other) in self.config.served_with(&self.host, tool).into_iter().enumerate() {
            if 0 < place {
                decision.sandbox.share(&self.config.decision_on(&self.host, other).sandbox);
                // Most entries of one server declare the same files.
                if known.insert((&other.code, &other.data)) {
                    data.extend(self.share_files(other, named)?);
                }
            }
            tools.insert(other.id.to_string());
            effects.extend(other.effects.iter().cloned());
        }
        data.retain(|pattern| !tool.data.contains(pattern));
        let (tools, effects, data) = (Arc::new(tools), Arc::new(effects), Arc::new(data));
        Ok(Some(ServerFact { tools, effects, data }))
    }

    /// Binds the code of another entry that the process serves, and returns the patterns of its data. The command is
    /// the same. Patterns that cannot be bound open nothing, and block only calls of that entry.
    fn share_files(&self, other: &Tool, named: &mut NamedFiles) -> Result<Vec<String>, FsError> {
        let mut bound = NamedFiles::default();
        bound.bind_patterns(self.host.fs, other)?;
        if !bound.refused.is_empty() {
            return Ok(Vec::new());
        }
        for (path, sha256) in bound.files {
            named.code.by.entry(path.clone()).or_insert(BoundBy::Code);
            named.files.entry(path).or_insert(sha256);
        }
        Ok(other.data.clone())
    }
}

#[cfg(test)]
mod tests;
