//! Resolves names in arguments of built-in tools. Returns what an approval binds and why a call is blocked.

use std::collections::BTreeMap;
use std::sync::Arc;

use brigade_access::Worker;
use brigade_access::builtin::LaneWork;
use brigade_call::{Caller, NamedThings};
use brigade_core::{Fingerprint, Json};
use brigade_db::Stores;
use brigade_db::records::Lane;
use brigade_exec::file_fingerprint;
use brigade_fs::Location;
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
        let ArgumentReferences { mut things, agent, against, for_person } =
            argument_references(&context, tool, args);
        if let Some(worker) = agent.and_then(|agent| worker_of(config, host, &agent).ok()) {
            things.append(&mut files_of(&worker, host));
        }
        let against = against.map(|failure| Blocker::new(&failure, failure.message.as_str()));
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

/// Returns fingerprints of the worker's command and of each workspace file that its words name. Programs outside of the
/// workspace are not bound, because they update themselves.
pub(crate) fn files_of(worker: &Worker, host: &Host<'_>) -> BTreeMap<String, Fingerprint> {
    let words = worker.command.words();
    let table = words.iter().enumerate().map(|(at, word)| (format!("{at:04}"), word.clone()));
    let command = Fingerprint::builder("brigade.worker.v1").table("words", table).finish();
    let mut found = BTreeMap::from([(format!("worker {}", worker.id), command)]);
    for word in words {
        let Ok(Location::Inside(path)) = host.fs.resolve(word, None) else { continue };
        if let Ok(bytes) = file_fingerprint(host.fs, path.as_str()) {
            found.insert(format!("file {path} of worker {}", worker.id), bytes);
        }
    }
    found
}
