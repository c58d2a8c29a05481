//! Resolves names in arguments of built-in tools. Returns what an approval binds and why a call is blocked.

use std::sync::Arc;

use brigade_access::Worker;
use brigade_access::builtin::{Definition, LaneWork};
use brigade_call::{Caller, NamedThings};
use brigade_core::Json;
use brigade_core::text::escape_terminal;
use brigade_db::Stores;
use brigade_db::records::Lane;
use brigade_policy::Blocker;
use brigade_redact::Redactor;
use brigade_workspace::{Config, Host, Names};

use crate::context::Context;
use crate::references::{ArgumentReferences, Reference, argument_references};

/// Looks up names in the store and the configuration of a workspace.
pub struct NameResolver {
    stores: Arc<Stores>,
    reference: fn(&str) -> Option<Reference>,
    is_built: fn(&Definition) -> bool,
}

impl NameResolver {
    /// Creates a resolver. `reference` finds what arguments of a tool refer to, and `is_built` says whether this build
    /// has a tool. Opens no files.
    pub fn new(
        stores: Arc<Stores>,
        reference: fn(&str) -> Option<Reference>,
        is_built: fn(&Definition) -> bool,
    ) -> NameResolver {
        NameResolver { stores, reference, is_built }
    }
}

impl Names for NameResolver {
    fn named(
        &self,
        host: &Host<'_>,
        config: &Config,
        caller: &Caller,
        root: Option<&str>,
        tool: &str,
        args: &Json,
    ) -> NamedThings {
        let Some(reference) = (self.reference)(tool) else { return NamedThings::default() };
        // A call without its lane is blocked for that reason, whatever it names.
        let Ok(files) = host.files(root) else { return NamedThings::default() };
        let (caller, redactor) = (caller.as_record(), Redactor::new(&[]));
        let context = Context {
            environment: Some(host.environment),
            guards: config.guards(host),
            workers: config.workers(host),
            git_urls: config.git_urls(),
            files: files.fs(),
            root,
            ..Context::new(host.fs, &caller, host.clock, &redactor, &self.stores)
        };
        let ArgumentReferences { mut things, worker, against, mut for_person } =
            argument_references(reference, tool, args, &context);
        if let Some(worker) = worker {
            things.append(&mut host.worker_files(&worker));
            let problem = host.reviewed_worker(&config.policy, &worker).problem();
            for_person = for_person.or(problem.map(|problem| not_reviewed(&worker, &problem)));
        }
        let against = against.map(|failure| Blocker::new(failure.code, failure.message.as_str()));
        NamedThings { things, against: against.into_iter().collect(), for_person }
    }

    fn is_built(&self, row: &Definition) -> bool {
        (self.is_built)(row)
    }

    fn lane(&self, host: &Host<'_>, id: &str) -> Option<LaneWork> {
        let lane = self.stores.reading(host.fs).ok()??.record::<Lane>(None, id).ok()?.record;
        Some(LaneWork {
            branch: lane.branch,
            base: lane.base_branch.unwrap_or(lane.base),
            name: lane.name,
            description: lane.description.unwrap_or_default(),
        })
    }
}

/// Says that a person must review a worker, and how.
pub fn not_reviewed(worker: &Worker, problem: &str) -> String {
    let id = escape_terminal(&worker.id);
    format!("worker {id}: {problem}; `brigade tools trust worker:{id}` shows it and asks")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use brigade_access::builtin::Fact;
    use brigade_fs::{MemoryFs, WorkspaceKey};
    use brigade_workspace::{WorkspaceContext, gather};

    use super::*;

    #[test]
    fn tools_that_a_build_lacks_are_missing() {
        let stores = Arc::new(Stores::new(Duration::ZERO, Arc::new(WorkspaceKey::temporary())));
        let names = NameResolver::new(stores, crate::reference, crate::is_built);
        let workspace = WorkspaceContext::new(Arc::new(MemoryFs::new()));
        let workspace = WorkspaceContext { names: Some(Arc::new(names)), ..workspace };
        let missing = gather::config(&workspace).unwrap().missing_facts(&workspace.host());
        for (id, expect) in
            [("agent.list", true), ("workflow.run", true), ("fs.read", false), ("cmd.run", false)]
        {
            let lacks =
                |(row, facts): &(&Definition, Vec<Fact>)| row.id == id && facts.contains(&Fact::Built);
            assert_eq!(missing.iter().any(lacks), expect, "{id}");
        }
    }
}
