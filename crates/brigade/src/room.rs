//! What every handle works over: the files of one workspace and the seams of its host.

use std::path::Path;
use std::sync::Arc;

use brigade_core::Timestamp;
use brigade_facts::{Config, Digests};
use brigade_fs::{Fs, RelPath};
use brigade_queue::{JournalStore, Queue, Store, ThisHost};
use brigade_upkeep::{InboxStore, Site};

use crate::env::Env;
use crate::gather;

pub use brigade_call::{CALLS, CHECKPOINTS, RUNS};
pub(crate) use brigade_facts::CONFIG_LIMIT;
pub use brigade_facts::{CATALOG, POLICY};
pub use brigade_upkeep::RUNTIMES;

/// The files, the seams of the host, and what was learned of programs on the way.
pub(crate) struct Room {
    pub(crate) fs: Arc<dyn Fs>,
    pub(crate) env: Env,
    pub(crate) digests: Digests,
}

impl Room {
    pub(crate) fn now(&self) -> Timestamp {
        self.env.clock.now()
    }

    /// Opens the queue; touches nothing.
    pub(crate) fn queue(&self) -> Queue {
        let store: Arc<dyn Store> = match &self.env.store {
            Some(store) => store.clone(),
            None => Arc::new(self.files_of_calls()),
        };
        Queue::new(store, Arc::new(ThisHost::new(self.fs.clone())))
    }

    /// Returns the journal that calls are kept in; `None` when the host keeps them in a store of its own.
    pub(crate) fn journal(&self) -> Option<JournalStore> {
        self.env.store.is_none().then(|| self.files_of_calls())
    }

    fn files_of_calls(&self) -> JournalStore {
        let holder = format!("process {}, since {}", std::process::id(), self.now());
        JournalStore::new(self.fs.clone(), holder, self.env.lock_timeout)
    }

    /// Returns the workspace as what looks it over needs it.
    pub(crate) fn site<'a>(&'a self, config: &'a Config) -> Site<'a> {
        Site {
            host: gather::host(self),
            config,
            queue: self.queue(),
            journal: self.journal(),
            caller: &self.env.caller,
            cancel: self.env.cancel.as_ref(),
            timeout: self.env.lock_timeout,
        }
    }

    /// Returns where the inbox is.
    pub(crate) fn inbox(&self) -> InboxStore<'_> {
        InboxStore { fs: &*self.fs, clock: &*self.env.clock, timeout: self.env.lock_timeout }
    }

    /// Returns the workspace as reports name it.
    pub(crate) fn target(&self) -> String {
        self.fs.root().display().to_string()
    }

    /// Makes a path absolute, as reports have it; absolute ones stay.
    pub(crate) fn absolute(&self, path: &str) -> String {
        absolute(self.fs.root(), self.env.home(), path)
    }

    /// Returns what makes paths absolute, for rows that outlive the operation.
    pub(crate) fn absolute_paths(&self) -> impl Fn(&str) -> String + Clone + Send + Sync + 'static {
        let root = self.fs.root().to_owned();
        let home = self.env.home().map(Path::to_owned);
        move |path| absolute(&root, home.as_deref(), path)
    }
}

fn absolute(root: &Path, home: Option<&Path>, path: &str) -> String {
    match path.strip_prefix("~/").zip(home) {
        Some((rest, home)) => home.join(rest).display().to_string(),
        // Thousands of plain paths stand in one document.
        None => match root.to_str().filter(|root| *root != "/" && !path.starts_with('/')) {
            Some(root) => [root, "/", path].concat(),
            None => root.join(path).display().to_string(),
        },
    }
}

/// Makes a path of one that is written in this program.
pub(crate) fn rel(path: &str) -> RelPath {
    path.parse().expect("paths in the program stay inside the workspace")
}
