//! Resolves names in arguments of built-in tools. Returns what an approval binds and why a call is blocked.

use std::sync::Arc;

use brigade_access::Worker;
use brigade_access::builtin::LaneWork;
use brigade_call::{Caller, NamedThings};
use brigade_core::Json;
use brigade_core::text::escape_terminal;
use brigade_db::Stores;
use brigade_db::records::Lane;
use brigade_policy::Blocker;
use brigade_redact::Redactor;
use brigade_toolset::{ArgumentReferences, Context, argument_references, names_things};
use brigade_workspace::{Config, Host, Names};

use crate::hands::worker_of;

/// Looks up names in the store and the configuration of a workspace.
pub struct NameResolver {
    stores: Arc<Stores>,
}

impl NameResolver {
    /// Creates a resolver. Opens no files.
    pub fn new(stores: Arc<Stores>) -> NameResolver {
        NameResolver { stores }
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
        if !names_things(tool) {
            return NamedThings::default();
        }
        // A call without its lane is blocked for that reason, whatever it names.
        let Ok(files) = host.files(root) else { return NamedThings::default() };
        let (caller, redactor) = (caller.as_record(), Redactor::new(&[]));
        let context = Context {
            environment: Some(host.environment),
            guards: config.guards(host),
            git_urls: config.git_urls(),
            files: files.fs(),
            root,
            ..Context::new(host.fs, &caller, host.clock, &redactor, &self.stores)
        };
        let ArgumentReferences { mut things, agent, against, mut for_person } =
            argument_references(&context, tool, args);
        if let Some(worker) = agent.and_then(|agent| worker_of(config, host, &agent).ok()) {
            things.append(&mut host.worker_files(&worker));
            let problem = host.reviewed_worker(&config.policy, &worker).problem();
            for_person = for_person.or(problem.map(|problem| not_reviewed(&worker, &problem)));
        }
        let against = against.map(|failure| Blocker::new(failure.code, failure.message.as_str()));
        NamedThings { things, against: against.into_iter().collect(), for_person }
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
pub(crate) fn not_reviewed(worker: &Worker, problem: &str) -> String {
    let id = escape_terminal(&worker.id);
    format!("worker {id}: {problem}; `brigade tools trust worker:{id}` shows it and asks")
}
