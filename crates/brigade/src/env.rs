//! What an operation needs from outside the workspace: its seams and settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use brigade_call::Caller;
use brigade_command::find_program;
use brigade_core::{Clock, NeutralWords, Spell, SystemClock};
use brigade_exec::HostEnvironment;
use brigade_fs::{DiskFs, Fs};
use brigade_process::CancelToken;
use brigade_queue::Store;

use brigade_facts::is_program;

/// How long a writer waits for another one unless told otherwise.
pub const DEFAULT_LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The seams and settings of a host: files, clock, variables, who asks, and how long to wait.
#[derive(Clone)]
pub struct Env {
    pub(crate) files: Option<Arc<dyn Fs>>,
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) environment: HostEnvironment,
    pub(crate) caller: Caller,
    pub(crate) lock_timeout: Duration,
    pub(crate) cancel: Option<CancelToken>,
    pub(crate) speller: Arc<dyn Spell>,
}

impl Env {
    /// Takes the system's clock and the variables of this process; the caller is the command line.
    pub fn of_process() -> Env {
        Env {
            files: None,
            store: None,
            clock: Arc::new(SystemClock),
            environment: HostEnvironment::new(brigade_process::variables()),
            caller: Caller::CommandLine,
            lock_timeout: DEFAULT_LOCK_TIMEOUT,
            cancel: None,
            speller: Arc::new(NeutralWords),
        }
    }

    /// Names the program that embeds this library; approvals of its calls hold for it alone.
    #[must_use]
    pub fn caller(mut self, caller: Caller) -> Env {
        self.caller = caller;
        self
    }

    /// Replaces the disk: a workspace that is opened is these files, whatever its target.
    #[must_use]
    pub fn files(mut self, files: Arc<dyn Fs>) -> Env {
        self.files = Some(files);
        self
    }

    /// Keeps calls, receipts and checkpoints in this store and not in files of the workspace. Logs stay files.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Env {
        self.store = Some(store);
        self
    }

    /// Replaces the clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Env {
        self.clock = clock;
        self
    }

    /// Replaces the variables.
    #[must_use]
    pub fn environment(mut self, environment: HostEnvironment) -> Env {
        self.environment = environment;
        self
    }

    /// Leaves out every variable but those that each run inherits, such as PATH and HOME.
    #[must_use]
    pub fn usual_environment(mut self) -> Env {
        self.environment = self.environment.usual();
        self
    }

    /// Sets how long a writer waits for another one.
    #[must_use]
    pub fn lock_timeout(mut self, timeout: Duration) -> Env {
        self.lock_timeout = timeout;
        self
    }

    /// Puts the next steps of reports and records into the words of a face; without one they are in neutral words.
    #[must_use]
    pub fn speller(mut self, speller: Arc<dyn Spell>) -> Env {
        self.speller = speller;
        self
    }

    /// Sets what ends a run early.
    #[must_use]
    pub fn cancel(mut self, cancel: CancelToken) -> Env {
        self.cancel = Some(cancel);
        self
    }

    /// Tells whether a program of this name is found on PATH.
    pub fn finds_program(&self, name: &str) -> bool {
        let root = Path::new("/");
        let fs = match &self.files {
            Some(files) => files.clone(),
            None => match DiskFs::open(root) {
                Ok(disk) => Arc::new(disk),
                Err(_) => return false,
            },
        };
        let path_variable = self.environment.get("PATH");
        find_program(name, root, path_variable, |path| is_program(&*fs, path)).is_some()
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.environment.get("HOME").map(Path::new).filter(|home| home.is_absolute())
    }

    /// Expands `~/` at the start of a path that a person typed.
    pub(crate) fn expand(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.home()) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_owned(),
        }
    }
}
