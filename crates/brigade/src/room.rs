//! The shared state of all handles: the files of one workspace and its environment.

use std::path::Path;
use std::sync::Arc;

use brigade_call::Paths;
use brigade_core::{Timestamp, codes};
use brigade_facts::{Config, Digests, Memory, SourceFiles};
use brigade_fs::{Fs, RelPath};
use brigade_queue::{JournalStore, Queue, ThisHost};
use brigade_redact::Redactor;
use brigade_upkeep::{InboxStore, Setup, Site};

use crate::calls;
use crate::env::Env;
use crate::error::{Error, ErrorKind};
use crate::gather;
use crate::late::LateWrites;

pub use brigade_call::{CALLS, CHECKPOINTS, RUNS};
pub use brigade_facts::{CATALOG, POLICY};
pub use brigade_upkeep::RUNTIMES;

/// The files, the environment, and the digests of programs read so far.
pub(crate) struct Room {
    pub(crate) fs: Arc<dyn Fs>,
    pub(crate) env: Env,
    pub(crate) digests: Arc<Digests>,
    memory: Arc<Memory>,
    pub(crate) late: Arc<LateWrites>,
    files_of_calls: Arc<JournalStore>,
}

impl Room {
    /// Reads and writes nothing.
    pub(crate) fn new(fs: Arc<dyn Fs>, env: Env) -> Room {
        let holder = format!("process {}", std::process::id());
        let late = Arc::new(LateWrites::new(fs.clone()));
        let files_of_calls = JournalStore::new(fs.clone(), holder, env.lock_timeout);
        let files_of_calls = Arc::new(files_of_calls.with_late(late.files().clone()));
        Room { fs, env, digests: Arc::default(), memory: Arc::default(), late, files_of_calls }
    }

    /// Returns the same workspace with another environment. Files and caches are shared.
    pub(crate) fn with_env(&self, change: impl FnOnce(Env) -> Env) -> Room {
        let Room { fs, env, digests, memory, late, files_of_calls } = self;
        let (fs, digests, files_of_calls) = (fs.clone(), digests.clone(), files_of_calls.clone());
        let (memory, late) = (memory.clone(), late.clone());
        Room { fs, env: change(env.clone()), digests, memory, late, files_of_calls }
    }

    /// Returns what was read for the last calls, if servers are kept for the next ones, on the disk of this machine.
    pub(crate) fn memory(&self) -> Option<&Memory> {
        (self.env.upstreams.is_some() && self.env.files.is_none()).then_some(&*self.memory)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.env.clock.now()
    }

    /// Returns what writes the records of a call with these effects, if they may be synced late.
    pub(crate) fn late_for(&self, effects: &[String]) -> Option<&LateWrites> {
        let reads = !effects.is_empty() && effects.iter().all(|effect| effect == "local-read");
        (self.env.syncs_late && reads && self.env.store.is_none() && self.late.is_working())
            .then_some(&*self.late)
    }

    /// Opens the queue. Reads and writes nothing.
    pub(crate) fn queue(&self) -> Queue {
        let store = self.env.store.clone().unwrap_or_else(|| self.files_of_calls.clone());
        Queue::new(store, Arc::new(ThisHost::new(self.fs.clone())))
    }

    /// Returns the journal of calls; `None` if the host uses another store.
    pub(crate) fn journal(&self) -> Option<&JournalStore> {
        self.env.store.is_none().then_some(&*self.files_of_calls)
    }

    /// Returns the workspace in the form that a survey takes.
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

    /// Returns the configuration files, for writing.
    pub(crate) fn setup(&self) -> Setup<'_> {
        Setup { fs: &*self.fs, clock: &*self.env.clock, timeout: self.env.lock_timeout }
    }

    /// Returns the store of the inbox.
    pub(crate) fn inbox(&self) -> InboxStore<'_> {
        InboxStore { fs: &*self.fs, clock: &*self.env.clock, timeout: self.env.lock_timeout }
    }

    /// Returns the reader of source lines for messages.
    pub(crate) fn sources(&self) -> SourceFiles {
        SourceFiles::new(self.fs.clone(), Redactor::new(&calls::telling_values(self).unwrap_or_default()))
    }

    /// Refuses what decides or widens when a program of a run asks for it, whatever its environment says.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Refused`] inside a run, unless the workspace lies in the run's own directory.
    pub(crate) fn decides(&self) -> Result<(), Error> {
        // Other files than those of the disk are the host's own.
        if self.env.files.is_some() || !brigade_process::is_inside_run(self.fs.root()) {
            return Ok(());
        }
        let message = "a program of a run asked for this, and only a person outside of runs decides";
        Err(Error::new(ErrorKind::Refused, message).coded(codes::INSIDE_A_RUN))
    }

    /// Returns the workspace path for reports.
    pub(crate) fn target(&self) -> String {
        self.fs.root().display().to_string()
    }

    /// Returns an absolute path for reports.
    pub(crate) fn absolute(&self, path: &str) -> String {
        absolute(self.fs.root(), self.env.home(), path)
    }

    /// Returns a function that makes paths absolute, for rows that outlive the operation.
    pub(crate) fn absolute_paths(&self) -> impl Fn(&str) -> String + Clone + Send + Sync + 'static {
        let root = self.fs.root().to_owned();
        let home = self.env.home().map(Path::to_owned);
        move |path| absolute(&root, home.as_deref(), path)
    }
}

impl Paths for Room {
    fn target(&self) -> String {
        Room::target(self)
    }

    fn absolute(&self, path: &str) -> String {
        Room::absolute(self, path)
    }
}

fn absolute(root: &Path, home: Option<&Path>, path: &str) -> String {
    match path.strip_prefix("~/").zip(home) {
        Some((rest, home)) => home.join(rest).display().to_string(),
        // A fast path, because one document can have thousands of paths.
        None => match root.to_str().filter(|root| *root != "/" && !path.starts_with('/')) {
            Some(root) => [root, "/", path].concat(),
            None => root.join(path).display().to_string(),
        },
    }
}

/// Parses a path constant.
pub(crate) fn rel(path: &str) -> RelPath {
    path.parse().expect("paths in the program stay inside the workspace")
}
