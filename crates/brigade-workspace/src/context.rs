//! The context of operations: the files of a workspace, its clock, its variables and its queue.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::{Digests, Host, Memory, Names, SourceFiles, TrustStore};
use brigade_access::LiveSession;
use brigade_call::{CALLS, Caller, Paths, StoreKind};
use brigade_catalog::edit::OnExisting;
use brigade_core::{Clock, ErrorCode, ErrorKind, NeutralWords, StepFormatter, SystemClock, Timestamp};
use brigade_exec::HostEnvironment;
use brigade_fs::{CancelReading, Fs, WorkspaceKey};
use brigade_policy::Failure;
use brigade_process::CancelToken;
use brigade_queue::{JournalStore, LocalHost, Queue, SharedHost, Store};
use brigade_redact::Redactor;

use crate::gather;

/// Everything that an operation needs to read and write a workspace. Makes no decisions.
pub struct WorkspaceContext {
    /// The files.
    pub fs: Arc<dyn Fs>,
    /// The files, if the host supplies files other than those of the disk.
    pub files: Option<Arc<dyn Fs>>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The variables of the host.
    pub environment: Arc<HostEnvironment>,
    /// The caller.
    pub caller: Caller,
    /// How long a writer waits for a lock.
    pub timeout: Duration,
    /// Cancels started programs.
    pub cancel: Option<CancelToken>,
    /// How next steps are spelled.
    pub speller: Arc<dyn StepFormatter>,
    /// The digests of programs that were read so far.
    pub digests: Arc<Digests>,
    /// What a person has reviewed.
    pub trust: Arc<TrustStore>,
    /// The project whose policy narrows that of this workspace, which is the gateway of the user.
    pub project: Option<Arc<WorkspaceContext>>,
    /// Cached facts, for a process that makes many calls. `None` reads everything for each call.
    pub memory: Option<Arc<Memory>>,
    /// The key of this host, which signs what approves, answers or resumes.
    pub key: Arc<WorkspaceKey>,
    /// The journal of calls in the files.
    pub files_of_calls: Arc<JournalStore>,
    /// The store of calls, if it is not the journal.
    pub store: Option<Arc<dyn Store>>,
    /// What looks up the names in arguments of built-in tools.
    pub names: Option<Arc<dyn Names>>,
}

/// What to do with records that this host has not signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdoptStep {
    /// List them.
    Show,
    /// Sign them.
    Adopt,
}

/// Opens sessions for the workers of tasks. Implemented by servers of agents.
pub trait TaskSessions: Send + Sync {
    /// Serves a process over two pipes until they close. It acts as this agent in this session.
    ///
    /// # Errors
    /// Fails if the pipes cannot be served.
    fn open(&self, agent: &str, session: LiveSession, input: File, output: File) -> io::Result<()>;
}

impl WorkspaceContext {
    /// Creates a context for the command line, with these files, the system clock, no variables, and a temporary key.
    pub fn new(fs: Arc<dyn Fs>) -> WorkspaceContext {
        let timeout = Duration::from_secs(10);
        let holder = format!("process {}", std::process::id());
        let key = Arc::new(WorkspaceKey::temporary());
        WorkspaceContext {
            files_of_calls: Arc::new(JournalStore::new(fs.clone(), key.clone(), holder, timeout)),
            trust: Arc::new(TrustStore::new(key.clone())),
            key,
            fs,
            files: None,
            clock: Arc::new(SystemClock),
            environment: Arc::default(),
            caller: Caller::CommandLine,
            timeout,
            cancel: None,
            speller: Arc::new(NeutralWords),
            digests: Arc::default(),
            project: None,
            memory: None,
            store: None,
            names: None,
        }
    }

    /// Returns the same workspace over other files, with a key that nothing else knows. What it signs counts nowhere
    /// else.
    pub fn over(&self, fs: Arc<dyn Fs>) -> WorkspaceContext {
        WorkspaceContext {
            files: self.files.clone(),
            clock: self.clock.clone(),
            environment: self.environment.clone(),
            caller: self.caller.clone(),
            timeout: self.timeout,
            cancel: self.cancel.clone(),
            speller: self.speller.clone(),
            store: self.store.clone(),
            project: self.project.clone(),
            ..WorkspaceContext::new(fs)
        }
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the host for reading facts.
    pub fn host(&self) -> Host<'_> {
        Host {
            fs: &*self.fs,
            environment: &self.environment,
            digests: &self.digests,
            trust: &self.trust,
            clock: &*self.clock,
            names: self.names.as_deref(),
        }
    }

    /// Ends reading of bound files in this thread when the operation is cancelled, while the guard exists.
    pub fn cancels_reading(&self) -> Option<CancelReading> {
        let token = self.cancel.clone()?;
        Some(CancelReading::when(move || token.is_cancelled()))
    }

    /// Opens the queue. Reads and writes nothing.
    pub fn queue(&self) -> Queue {
        let store = self.store.clone().unwrap_or_else(|| self.files_of_calls.clone());
        let local = LocalHost::new(self.fs.clone());
        match store.shared_name() {
            Some(_) => Queue::new(store, Arc::new(SharedHost(local))),
            None => Queue::new(store, Arc::new(local)),
        }
    }

    /// Returns the name of the store of calls, if several hosts share it.
    pub fn shared_name(&self) -> Option<String> {
        self.store.as_ref()?.shared_name()
    }

    /// Returns where calls are stored, for reports: the file of the queue, or the address of the team's database.
    pub fn calls_path(&self) -> String {
        self.shared_name().unwrap_or_else(|| self.absolute(CALLS))
    }

    /// Returns what calls are stored in, for reports.
    pub fn store_kind(&self) -> StoreKind {
        if self.shared_name().is_some() { StoreKind::Team } else { StoreKind::Files }
    }

    /// Returns the journal of calls; `None` if the host uses another store.
    pub fn journal(&self) -> Option<&JournalStore> {
        self.store.is_none().then_some(&*self.files_of_calls)
    }

    /// Returns the reader of source lines for messages.
    pub fn sources(&self) -> SourceFiles {
        SourceFiles::new(self.fs.clone(), Redactor::new(&gather::telling_values(self)))
    }

    /// Refuses to replace a file that may widen rights if the caller is a program of a run.
    ///
    /// # Errors
    /// As [`WorkspaceContext::require_outside_run`].
    pub fn replaces(&self, existing: OnExisting) -> Result<(), Failure> {
        match existing {
            OnExisting::Overwrite => self.require_outside_run(),
            OnExisting::Keep => Ok(()),
        }
    }

    /// Refuses an operation that decides or widens rights if the caller is a program of a run. Does not trust its
    /// environment.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Refused`] inside a run, unless the workspace is in the run's own directory.
    pub fn require_outside_run(&self) -> Result<(), Failure> {
        self.require_outside_run_at(self.fs.root())
    }

    /// Like [`WorkspaceContext::require_outside_run`], for a path that is written: it must be in the run's own
    /// directory.
    ///
    /// # Errors
    /// As [`WorkspaceContext::require_outside_run`].
    pub fn require_outside_run_at(&self, path: &Path) -> Result<(), Failure> {
        // Files that the host supplies are not on the disk.
        if self.files.is_some() || !brigade_process::is_inside_run(path) {
            return Ok(());
        }
        let message = "a program of a run asked for this, and only a person outside of runs decides";
        Err(Failure::new(ErrorKind::Refused, message).coded(ErrorCode::InsideARun))
    }

    /// Returns the workspace path for reports.
    pub fn target(&self) -> String {
        self.fs.root().display().to_string()
    }

    /// Returns an absolute path for reports.
    pub fn absolute(&self, path: &str) -> String {
        absolute(self.fs.root(), self.environment.home(), path)
    }

    /// Returns a function that makes paths absolute, for rows that outlive the operation.
    pub fn absolute_paths(&self) -> impl Fn(&str) -> String + Clone + Send + Sync + 'static {
        let root = self.fs.root().to_owned();
        let home = self.environment.home().map(Path::to_owned);
        move |path| absolute(&root, home.as_deref(), path)
    }

    /// Makes a path from the command line absolute.
    pub fn typed_path(&self, path: &Path) -> PathBuf {
        let path = self.environment.expand(path);
        match brigade_process::current_dir() {
            Ok(folder) => folder.join(path),
            Err(_) => path,
        }
    }

    /// Returns the directory of the user's configuration files.
    ///
    /// # Errors
    /// Fails without a home directory.
    pub fn config_folder(&self) -> Result<PathBuf, Failure> {
        self.environment.config_folder().ok_or_else(|| no_home(&self.environment))
    }
}

/// Returns the key of this host for a workspace. Files that an embedding program keeps need none.
pub fn workspace_key(
    fs: &dyn Fs,
    environment: &HostEnvironment,
    given: Option<&Arc<dyn Fs>>,
) -> Arc<WorkspaceKey> {
    if given.is_some() {
        return Arc::new(WorkspaceKey::for_given_files());
    }
    let directory = environment.state_folder().map(|folder| folder.join("brigade"));
    Arc::new(WorkspaceKey::new(directory, fs.root()))
}

/// Returns the failure for a missing home directory.
pub fn no_home(environment: &HostEnvironment) -> Failure {
    let (message, hint) = match environment.get("HOME").is_some_and(|home| !home.is_empty()) {
        true => {
            ("HOME is not an absolute path, so there is no home directory", "set HOME to an absolute path")
        }
        false => ("there is no home directory", "set HOME"),
    };
    Failure::new(ErrorKind::Environment, message).hint(hint)
}

impl Paths for WorkspaceContext {
    fn target(&self) -> String {
        WorkspaceContext::target(self)
    }

    fn absolute(&self, path: &str) -> String {
        WorkspaceContext::absolute(self, path)
    }

    fn calls_path(&self) -> String {
        WorkspaceContext::calls_path(self)
    }

    fn store(&self) -> StoreKind {
        self.store_kind()
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

#[cfg(test)]
mod tests;
