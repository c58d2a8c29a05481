//! What arguments of built-in tools name besides files, for what an approval binds.

use std::collections::BTreeMap;
use std::sync::Arc;

use brigade_builtin::named;
use brigade_core::{Fingerprint, Json};
use brigade_exec::file_fingerprint;
use brigade_facts::{Config, Host, Names};
use brigade_fs::Location;
use brigade_profile::Worker;
use brigade_store::Stores;

use crate::hands::worker_of;

/// Looks names up in the store of a workspace, and in its configuration.
pub struct NamesOf {
    stores: Arc<Stores>,
}

impl NamesOf {
    /// Opens nothing.
    pub fn new(stores: Arc<Stores>) -> NamesOf {
        NamesOf { stores }
    }
}

impl Names for NamesOf {
    fn named(
        &self,
        host: &Host<'_>,
        config: &Config,
        tool: &str,
        args: &Json,
    ) -> BTreeMap<String, Fingerprint> {
        let mut names = BTreeMap::new();
        if !["workflow.", "task."].iter().any(|group| tool.starts_with(group)) {
            return names;
        }
        let store = self.stores.reading(host.fs).ok().flatten();
        let Some(found) = store.and_then(|store| named(&store, tool, args)) else { return names };
        names.insert(found.name, found.fingerprint);
        if let Some(worker) = found.agent.and_then(|agent| worker_of(config, host, &agent).ok()) {
            bind(&worker, host, &mut names);
        }
        names
    }
}

/// Binds the command of a worker, and the files of the workspace that its words name. Programs elsewhere bring
/// themselves up to date.
fn bind(worker: &Worker, host: &Host<'_>, names: &mut BTreeMap<String, Fingerprint>) {
    let words = worker.command.words();
    let table = words.iter().enumerate().map(|(at, word)| (format!("{at:04}"), word.clone()));
    let command = Fingerprint::builder("brigade.worker.v1").table("words", table).finish();
    names.insert(format!("worker {}", worker.id), command);
    for word in words {
        let Ok(Location::Inside(path)) = host.fs.resolve(word, None) else { continue };
        if let Ok(bytes) = file_fingerprint(host.fs, path.as_str()) {
            names.insert(format!("file {path} of worker {}", worker.id), bytes);
        }
    }
}
