//! The shared state of all handles: the files of one workspace and its environment.

use std::ops::Deref;
use std::sync::Arc;

use brigade_call::{Paths, StoreKind};
use brigade_fs::Fs;
use brigade_ops::{Calls, Checkpoints, joined_store};
use brigade_queue::JournalStore;
use brigade_workspace::{DeferredSync, Digests, Memory, TrustStore, WorkspaceContext, workspace_key};

use crate::env::Env;
use crate::workflow::RunningTasks;

pub use brigade_workspace::{CATALOG, POLICY};

/// The context of one workspace, the environment that they were made from, and records on the way to the disk.
pub(crate) struct WorkspaceInner {
    pub(crate) context: Arc<WorkspaceContext>,
    pub(crate) env: Env,
    memory: Arc<Memory>,
    /// What built-in tools remember.
    #[cfg(feature = "builtin")]
    pub(crate) stores: Arc<brigade_db::Stores>,
    /// The tasks that run in this process.
    pub(crate) running: Arc<RunningTasks>,
    pub(crate) late: Arc<DeferredSync>,
}

impl Deref for WorkspaceInner {
    type Target = WorkspaceContext;

    fn deref(&self) -> &WorkspaceContext {
        &self.context
    }
}

impl WorkspaceInner {
    /// Reads and writes nothing.
    pub(crate) fn new(fs: Arc<dyn Fs>, env: Env) -> WorkspaceInner {
        let holder = format!("process {}", std::process::id());
        let late = Arc::new(DeferredSync::new(fs.clone()));
        let key = workspace_key(&*fs, &env.environment, env.files.as_ref());
        let files_of_calls = JournalStore::new(fs.clone(), key.clone(), holder, env.lock_timeout);
        let files_of_calls = Arc::new(files_of_calls.with_late(late.files().clone()));
        let memory = Arc::default();
        #[cfg(feature = "builtin")]
        let stores = Arc::new(brigade_db::Stores::new(env.lock_timeout, key.clone()));
        let trust = Arc::new(TrustStore::new(key.clone()));
        let context = WorkspaceContext {
            #[cfg(feature = "builtin")]
            names: Some(crate::workflow::names(stores.clone())),
            store: env
                .store
                .clone()
                .or_else(|| joined_store(&fs, &key, &env.environment, env.lock_timeout, env.cancel.clone())),
            ..context(fs, &env, &memory, (Arc::default(), trust), files_of_calls)
        };
        WorkspaceInner {
            #[cfg(feature = "builtin")]
            stores,
            running: Arc::default(),
            context: Arc::new(context),
            env,
            memory,
            late,
        }
    }

    /// Returns the same workspace with another environment. Files and caches are shared.
    pub(crate) fn with_env(&self, change: impl FnOnce(Env) -> Env) -> WorkspaceInner {
        let WorkspaceContext { fs, digests, trust, files_of_calls, .. } = &*self.context;
        let (env, memory) = (change(self.env.clone()), self.memory.clone());
        let context = WorkspaceContext {
            names: self.context.names.clone(),
            store: env.store.clone().or_else(|| self.context.store.clone()),
            ..context(fs.clone(), &env, &memory, (digests.clone(), trust.clone()), files_of_calls.clone())
        };
        WorkspaceInner {
            context: Arc::new(context),
            env,
            memory,
            #[cfg(feature = "builtin")]
            stores: self.stores.clone(),
            running: self.running.clone(),
            late: self.late.clone(),
        }
    }

    /// Returns the operations on calls. What may run is run in this environment.
    pub(crate) fn calls(self: &Arc<WorkspaceInner>) -> Calls {
        Calls::new(self.context.clone(), self.clone())
    }

    /// Returns the operations on checkpoints, which continue in this environment.
    pub(crate) fn checkpoints(self: &Arc<WorkspaceInner>) -> Checkpoints {
        Checkpoints::new(self.context.clone(), self.clone())
    }

    /// Returns what writes the records of a call with these effects, if they may be synced late.
    pub(crate) fn late_for(&self, effects: &[String]) -> Option<&DeferredSync> {
        let reads = !effects.is_empty() && effects.iter().all(|effect| effect == "local-read");
        (self.env.syncs_late && reads && self.store.is_none() && self.late.is_working())
            .then_some(&*self.late)
    }
}

fn context(
    fs: Arc<dyn Fs>,
    env: &Env,
    memory: &Arc<Memory>,
    (digests, trust): (Arc<Digests>, Arc<TrustStore>),
    files_of_calls: Arc<JournalStore>,
) -> WorkspaceContext {
    // Who keeps servers, or runs calls of another store, makes many calls on the disk of this machine.
    let remembers = (env.upstreams.is_some() || env.store.is_some()) && env.files.is_none();
    WorkspaceContext {
        fs,
        key: files_of_calls.key().clone(),
        files: env.files.clone(),
        clock: env.clock.clone(),
        environment: env.environment.clone(),
        caller: env.caller.clone(),
        timeout: env.lock_timeout,
        cancel: env.cancel.clone(),
        speller: env.speller.clone(),
        digests,
        trust,
        project: env.project.clone(),
        memory: remembers.then(|| memory.clone()),
        files_of_calls,
        store: env.store.clone(),
        names: None,
    }
}

impl Paths for WorkspaceInner {
    fn target(&self) -> String {
        self.context.target()
    }

    fn absolute(&self, path: &str) -> String {
        self.context.absolute(path)
    }

    fn calls_path(&self) -> String {
        self.context.calls_path()
    }

    fn store(&self) -> StoreKind {
        self.context.store_kind()
    }
}
