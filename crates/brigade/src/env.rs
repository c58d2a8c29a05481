//! The environment of operations: files, store, clock, variables and settings.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use brigade_access::LiveSession;
use brigade_call::Caller;
use brigade_cmdline::find_program;
use brigade_core::{CallId, Clock, NeutralWords, StepFormatter, SystemClock};
use brigade_exec::{HostEnvironment, Progress};
use brigade_fs::{DiskFs, Fs};
use brigade_mcp::{Listener, Requester};
use brigade_process::CancelToken;
use brigade_queue::Store;

use brigade_workspace::{TaskSessions, WorkspaceContext, is_program};

use brigade_ops::upstreams::Upstreams;

/// The default time that a writer waits for a lock.
pub const DEFAULT_LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Ends calls that run.
pub trait CallEnder: Send + Sync {
    /// Ends a call, in the name of a caller. Returns whether it did.
    fn end(&self, call: &CallId, who: &str) -> bool;
}

/// The environment of operations: files, store, clock, variables, caller and lock timeout.
#[derive(Clone)]
pub struct Env {
    pub(crate) files: Option<Arc<dyn Fs>>,
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) environment: Arc<HostEnvironment>,
    pub(crate) caller: Caller,
    pub(crate) session: Option<Arc<LiveSession>>,
    pub(crate) lock_timeout: Duration,
    pub(crate) cancel: Option<CancelToken>,
    pub(crate) progress: Option<Arc<dyn Progress>>,
    pub(crate) listener: Option<Listener>,
    pub(crate) requester: Option<Arc<dyn Requester>>,
    pub(crate) upstreams: Option<Upstreams>,
    pub(crate) task_sessions: Option<Arc<dyn TaskSessions>>,
    pub(crate) at_once: Option<u64>,
    pub(crate) ender: Option<Arc<dyn CallEnder>>,
    pub(crate) syncs_late: bool,
    pub(crate) project: Option<Arc<WorkspaceContext>>,
    pub(crate) speller: Arc<dyn StepFormatter>,
}

impl Env {
    /// Uses the system clock and the variables of this process. The caller is the command line.
    pub fn of_process() -> Env {
        Env {
            files: None,
            store: None,
            clock: Arc::new(SystemClock),
            environment: Arc::new(HostEnvironment::new(brigade_process::variables())),
            caller: Caller::CommandLine,
            session: None,
            lock_timeout: DEFAULT_LOCK_TIMEOUT,
            cancel: None,
            progress: None,
            listener: None,
            requester: None,
            upstreams: None,
            task_sessions: None,
            at_once: None,
            ender: None,
            syncs_late: false,
            project: None,
            speller: Arc::new(NeutralWords),
        }
    }

    /// Sets the name of the embedding program. Approvals of its calls are valid only for this program.
    #[must_use]
    pub fn caller(mut self, caller: Caller) -> Env {
        self.caller = caller;
        self
    }

    /// Sets the session that the agent calls in. Calls of tools that change a session change this one.
    #[must_use]
    pub fn session(mut self, session: Arc<LiveSession>) -> Env {
        self.session = Some(session);
        self
    }

    /// Replaces the disk: an opened workspace uses these files, and ignores its target path.
    #[must_use]
    pub fn files(mut self, files: Arc<dyn Fs>) -> Env {
        self.files = Some(files);
        self
    }

    /// Keeps calls, receipts and checkpoints in this store instead of workspace files. Logs stay files.
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
        self.environment = Arc::new(environment);
        self
    }

    /// Keeps only the variables that every run inherits, such as PATH and HOME.
    #[must_use]
    pub fn usual_environment(mut self) -> Env {
        self.environment = Arc::new(self.environment.usual());
        self
    }

    /// Keeps only the variables that every run inherits, with this home directory.
    #[must_use]
    pub fn home(mut self, home: &Path) -> Env {
        let usual = self.environment.usual();
        let others = usual.variables().filter(|(name, _)| *name != "HOME");
        let others = others.map(|(name, value)| (name.clone(), value.clone()));
        let environment = HostEnvironment::new(others.chain([("HOME".into(), home.into())]));
        self.environment = Arc::new(environment);
        self
    }

    /// Sets how long a writer waits for a lock.
    #[must_use]
    pub fn lock_timeout(mut self, timeout: Duration) -> Env {
        self.lock_timeout = timeout;
        self
    }

    /// Sets how next steps in reports and records are spelled. The default wording names no command.
    #[must_use]
    pub fn speller(mut self, speller: Arc<dyn StepFormatter>) -> Env {
        self.speller = speller;
        self
    }

    /// Sets the token that cancels runs.
    #[must_use]
    pub fn cancel(mut self, cancel: CancelToken) -> Env {
        self.cancel = Some(cancel);
        self
    }

    /// Sets what follows runs while they last.
    #[must_use]
    pub fn progress(mut self, progress: Arc<dyn Progress>) -> Env {
        self.progress = Some(progress);
        self
    }

    /// Sets what hears how far MCP servers are with calls. What they say is masked.
    #[must_use]
    pub fn listener(mut self, listener: Listener) -> Env {
        self.listener = Some(listener);
        self
    }

    /// Sets who hears and answers what MCP servers say while they make calls. Only servers that are kept are answered.
    #[must_use]
    pub fn requester(mut self, requester: Arc<dyn Requester>) -> Env {
        self.requester = Some(requester);
        self
    }

    /// Sets the servers that are kept for the calls of agents. Without them, each call starts its own process.
    #[must_use]
    pub fn upstreams(mut self, upstreams: Upstreams) -> Env {
        self.upstreams = Some(upstreams);
        self
    }

    /// Sets who serves the workers of tasks. Without it, they can call no tools.
    #[must_use]
    pub fn task_sessions(mut self, sessions: Arc<dyn TaskSessions>) -> Env {
        self.task_sessions = Some(sessions);
        self
    }

    /// Sets how many calls of an agent run at once, over all processes of the workspace. Of those that write in it, one
    /// runs at a time. Without it, as many run as are asked for.
    #[must_use]
    pub fn at_once(mut self, most: u64) -> Env {
        self.at_once = Some(most);
        self
    }

    /// Sets what ends calls that run in this process. Without it, none is ended by another call.
    #[must_use]
    pub fn ender(mut self, ender: Arc<dyn CallEnder>) -> Env {
        self.ender = Some(ender);
        self
    }

    /// Lets records of calls that read and that a rule approved be synced a moment after the call, together. They are
    /// written before its result is returned, so that only a power loss can take them. [`Workspace::sync`] does it now.
    ///
    /// [`Workspace::sync`]: crate::Workspace::sync
    #[must_use]
    pub fn syncs_late(mut self, late: bool) -> Env {
        self.syncs_late = late;
        self
    }

    /// Tells whether PATH has a program with this name.
    pub fn finds_program(&self, name: &str) -> bool {
        let (root, path_variable) = (Path::new("/"), self.environment.get("PATH"));
        let disk = || DiskFs::open(root).ok().map(|disk| Arc::new(disk) as Arc<dyn Fs>);
        self.files.clone().or_else(disk).is_some_and(|fs| {
            find_program(name, root, path_variable, |path| is_program(&*fs, path)).is_some()
        })
    }
}
